// host:port, IPv6 in brackets.
#include "conf/values/address.hpp"

#include <charconv>

namespace tinderbox::conf {
namespace {

constexpr std::string_view kNotInHosts = " \t\r\n/@?#[]\\,";
constexpr std::string_view kV6 = "0123456789abcdefABCDEF:.";

/// Hexadecimal digits, colons and dots, then an optional %zone.
bool is_v6(std::string_view host) {
  const size_t zone = host.find('%');
  if (zone != std::string_view::npos && zone + 1 == host.size()) return false;
  const std::string_view address = host.substr(0, zone);
  return address.find(':') != std::string_view::npos &&
         address.find_first_not_of(kV6) == std::string_view::npos &&
         host.find_first_of(kNotInHosts) == std::string_view::npos;
}

}  // namespace

std::optional<HostPort> parse_host_port(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size()) return {};
  if (host.starts_with('[') && host.ends_with(']') && host.size() > 2) {
    host = host.substr(1, host.size() - 2);
    if (!is_v6(host)) return {};
  } else if (host.find_first_of(kNotInHosts) != std::string_view::npos ||
             host.find(':') != std::string_view::npos) {
    return {};
  }
  return HostPort{std::string(host), port};
}

std::string to_string(const HostPort& address) {
  const bool brackets = address.host.find(':') != std::string::npos;
  return (brackets ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace tinderbox::conf
