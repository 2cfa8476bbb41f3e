// Messages and events in words, for the trace.
#pragma once

#include <string>

#include "core/status/events.hpp"
#include "net/transport/endpoint.hpp"

namespace tinderbox::sim {

std::string describe(const core::ListenerEvent& event);
/// Empty: not worth a line (blocks, heartbeats).
std::string describe(const net::Packet& packet);

}  // namespace tinderbox::sim
