// host:port as people write it, IPv6 in brackets.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tinderbox::conf {

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;
  auto operator<=>(const HostPort&) const = default;
};

/// `host:port`, `1.2.3.4:port`, `[v6]:port`. None for anything else: no port, port above 65535,
/// blanks, an IPv6 address without brackets.
std::optional<HostPort> parse_host_port(std::string_view text);
/// The inverse.
std::string to_string(const HostPort& address);

}  // namespace tinderbox::conf
