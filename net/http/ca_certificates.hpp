// The certificate authorities that this program was built with.
#pragma once

#include <string_view>

namespace tinderbox::net {

/// PEM text; empty when the building machine had no bundle. For machines (and scratch images) that
/// have no bundle of their own.
std::string_view built_in_ca_certificates();

}  // namespace tinderbox::net
