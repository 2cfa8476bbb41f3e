// What may come twice.
#pragma once

#include "net/transport/endpoint.hpp"

namespace tinderbox::sim {

/// A machine may say it again, without knowing whether it was heard, and whoever hears it twice is
/// to do nothing more than once.
bool may_repeat(const net::Packet& packet);

}  // namespace tinderbox::sim
