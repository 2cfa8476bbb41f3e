#include "net/http/url.hpp"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "net/names.hpp"

namespace tinderbox::net {
namespace {

std::optional<int> parse_port(const std::string& text) {
  if (text.empty() || text.size() > 5 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  int port = std::atoi(text.c_str());
  return port >= 1 && port <= 65535 ? std::optional(port) : std::nullopt;
}

/// Whether `host` is an address of `network`, which is ADDRESS/BITS. As Go's and curl's no_proxy.
bool is_in_network(const std::string& host, const std::string& network) {
  const size_t slash = network.find('/');
  if (slash == std::string::npos) return false;
  for (const int family : {AF_INET, AF_INET6}) {
    unsigned char address[16] = {}, base[16] = {};
    if (inet_pton(family, host.c_str(), address) != 1 ||
        inet_pton(family, network.substr(0, slash).c_str(), base) != 1)
      continue;
    int bits = -1;
    if (!absl::SimpleAtoi(network.substr(slash + 1), &bits) || bits < 0) return false;
    if (bits > (family == AF_INET ? 32 : 128)) return false;
    const int whole = bits / 8;
    const auto mask = static_cast<unsigned char>(0xff00 >> bits % 8);
    return std::equal(address, address + whole, base) &&
           (bits % 8 == 0 || ((address[whole] ^ base[whole]) & mask) == 0);
  }
  return false;
}

/// no_proxy: comma list of hosts, domains (with or without leading dot), networks, `*`.
bool goes_direct(const std::string& host) {
  std::istringstream list(either_case_variable("no_proxy"));
  for (std::string entry; std::getline(list, entry, ',');) {
    entry.erase(std::remove(entry.begin(), entry.end(), ' '), entry.end());
    entry = absl::AsciiStrToLower(entry);
    if (entry == "*" || is_in_network(host, entry)) return true;
    if (entry.starts_with('.')) entry.erase(0, 1);
    if (!entry.empty() && (absl::AsciiStrToLower(host) == entry ||
                           absl::AsciiStrToLower(host).ends_with("." + entry)))
      return true;
  }
  return false;
}

}  // namespace

std::optional<Url> parse_url(const std::string& text) {
  size_t colon = text.find("://");
  if (colon == std::string::npos) return std::nullopt;
  Url url;
  url.scheme = absl::AsciiStrToLower(text.substr(0, colon));
  std::string rest = text.substr(colon + 3, text.find('#') - colon - 3);
  size_t end = rest.find_first_of("/?");
  std::string authority = rest.substr(0, end);
  if (end != std::string::npos) url.target = (rest[end] == '?' ? "/" : "") + rest.substr(end);
  if (size_t at = authority.rfind('@'); at != std::string::npos) {
    std::string user = authority.substr(0, at);
    url.user = user.substr(0, user.find(':'));
    if (user.find(':') != std::string::npos) url.password = user.substr(user.find(':') + 1);
    authority.erase(0, at + 1);
  }
  size_t port = authority.find(':', authority.starts_with('[') ? authority.find(']') : 0);
  url.host = without_brackets(authority.substr(0, port));
  url.port = url.scheme == "https" ? 443 : 80;
  if (port != std::string::npos) {
    auto number = parse_port(authority.substr(port + 1));
    if (!number) return std::nullopt;
    url.port = *number;
  }
  bool clean = text.find_first_of(" \r\n\t") == std::string::npos && !url.host.empty();
  return clean ? std::optional(url) : std::nullopt;
}

std::string server_of(const std::string& url) {
  const size_t colon = url.find("://");
  return url.substr(0, colon == std::string::npos ? 0 : url.find_first_of("/?#", colon + 3));
}

std::string target_of(const std::string& url) {
  const size_t end = server_of(url).size();
  std::string target = url.substr(end, url.find('#', end) - end);
  return target.starts_with('/') ? target : "/" + target;
}

namespace {
/// It begins with a scheme. Source: RFC 3986 §3.1.
bool is_absolute(const std::string& location) {
  const std::string scheme = location.substr(0, location.find("://"));
  const auto fits = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '+' || c == '-' || c == '.';
  };
  return scheme.size() < location.size() && !scheme.empty() && std::ranges::all_of(scheme, fits);
}
}  // namespace

std::string redirected(const Url& from, const std::string& location) {
  if (is_absolute(location)) return location;
  const std::string who =
      from.user.empty() && from.password.empty() ? "" : from.user + ":" + from.password + "@";
  const std::string root =
      from.scheme + "://" + who + bracketed(from.host) + ":" + std::to_string(from.port);
  if (location.starts_with("//")) return from.scheme + ":" + location;
  if (location.starts_with('/')) return root + location;
  const std::string path = from.target.substr(0, from.target.find('?'));
  return root + path.substr(0, path.rfind('/') + 1) + location;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string shown_url(const std::string& url) {
  std::string out = url.substr(0, url.find_first_of("?#"));
  size_t start = out.find("://");
  if (start == std::string::npos) return out;
  start += 3;
  size_t at = out.substr(0, out.find('/', start)).rfind('@');
  if (at != std::string::npos && at >= start) out.erase(start, at + 1 - start);
  return out;
}

std::string either_case_variable(const std::string& name) {
  for (const std::string& n : {name, absl::AsciiStrToUpper(name)})
    if (const char* value = std::getenv(n.c_str()); value && *value) return value;
  return {};
}

std::optional<Url> proxy_for(const Url& url) {
  std::string proxy = either_case_variable(url.scheme + "_proxy");
  if (proxy.empty()) proxy = either_case_variable("all_proxy");
  if (proxy.empty() || goes_direct(url.host)) return std::nullopt;
  if (proxy.find("://") == std::string::npos) proxy = "http://" + proxy;
  return parse_url(proxy);
}

}  // namespace tinderbox::net
