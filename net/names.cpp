// /etc/hosts is read by hand; DNS goes through getaddrinfo, restricted to the built-in modules.
#include "net/names.hpp"

#include <absl/strings/ascii.h>
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

namespace tinderbox::net {
namespace {

bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

/// Addresses that /etc/hosts gives `host`, in the file's order.
std::vector<std::string> from_hosts_file(const std::string& host) {
  std::vector<std::string> out;
  std::ifstream file("/etc/hosts");
  std::string wanted = absl::AsciiStrToLower(host);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address, name;
    if (!(words >> address) || !is_address(address)) continue;
    while (words >> name) {
      if (absl::AsciiStrToLower(name) != wanted) continue;
      out.push_back(address);
      break;
    }
  }
  return out;
}

std::string numeric(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST];
  if (::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text;
}

Result<std::vector<std::string>> from_dns(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0)
    return Error{"host name '" + host + "' cannot be resolved: " + ::gai_strerror(error)};
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::vector<std::string> out;
  for (addrinfo* a = found; a != nullptr; a = a->ai_next) {
    std::string address = numeric(a->ai_addr, a->ai_addrlen);
    if (!address.empty() && std::find(out.begin(), out.end(), address) == out.end())
      out.push_back(address);
  }
  return out;
}

void ipv4_first(std::vector<std::string>& addresses) {
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const std::string& a) { return !is_ipv6(a); });
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 16) == 0xA9FE;  // 169.254/16
  }
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

/// The first usable address of the family on any interface, by interface order.
std::optional<std::string> interface_address(int family) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return std::nullopt;
  std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
  for (ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != family) continue;
    if (!(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK) || is_link_local(i->ifa_addr))
      continue;
    socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::string address = numeric(i->ifa_addr, size);
    if (!address.empty()) return address.substr(0, address.find('%'));
  }
  return std::nullopt;
}

}  // namespace

void configure_names() { ::__nss_configure_lookup("hosts", "files dns"); }

std::string without_brackets(const std::string& host) {
  bool has = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return has ? host.substr(1, host.size() - 2) : host;
}

std::string bracketed(const std::string& host) {
  return is_ipv6(host) && host.front() != '[' ? "[" + host + "]" : host;
}

Result<std::vector<std::string>> resolve(const std::string& host) {
  std::string name = without_brackets(host);
  if (is_address(name)) return std::vector<std::string>{name};
  if (name.empty()) return Error{"host name '' is empty: a name or an address was to be given"};
  std::string plain =
      absl::AsciiStrToLower(name.ends_with('.') ? name.substr(0, name.size() - 1) : name);
  std::vector<std::string> addresses = from_hosts_file(plain);
  if (addresses.empty() && (plain == "localhost" || plain.ends_with(".localhost")))
    addresses = {"127.0.0.1", "::1"};
  if (addresses.empty()) {
    Result<std::vector<std::string>> asked = from_dns(name);
    if (!asked) return asked;
    addresses = std::move(*asked);
  }
  ipv4_first(addresses);
  return addresses;
}

bool is_address(const std::string& host) {
  in6_addr v6;
  in_addr v4;
  std::string address = host.substr(0, host.find('%'));
  return ::inet_pton(AF_INET, host.c_str(), &v4) == 1 ||
         ::inet_pton(AF_INET6, address.c_str(), &v6) == 1;
}

bool is_host_port(const std::string& text) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  std::string host = text.substr(0, colon);
  std::string port = text.substr(colon + 1);
  return !port.empty() && port.size() <= 5 &&
         port.find_first_not_of("0123456789") == std::string::npos && std::stoi(port) <= 65535 &&
         (!is_ipv6(host) || (host.front() == '[' && host.back() == ']'));
}

Result<std::string> resolve_address(const std::string& host_port) {
  if (!is_host_port(host_port))
    return Error{"address '" + host_port + "' is not of the form host:port ([v6]:port for IPv6)"};
  size_t colon = host_port.rfind(':');
  Result<std::vector<std::string>> addresses = resolve(host_port.substr(0, colon));
  if (!addresses) return addresses.error();
  return bracketed(addresses->front()) + host_port.substr(colon);
}

std::string host_name() {
  utsname name{};
  return ::uname(&name) == 0 ? name.nodename : "localhost";
}

std::string local_host_address() {
  for (const std::string& address : from_hosts_file(host_name()))
    if (!is_loopback(address)) return address;
  for (int family : {AF_INET, AF_INET6})
    if (auto address = interface_address(family)) return *address;
  return "127.0.0.1";
}

}  // namespace tinderbox::net
