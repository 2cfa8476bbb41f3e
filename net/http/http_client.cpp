// cpp-httplib does one exchange; redirects, proxies and trust are decided here.
#include "net/http/http_client.hpp"

#include <absl/strings/ascii.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "net/http/ca_certificates.hpp"
#include "net/http/httplib.hpp"
#include "net/names.hpp"

namespace tinderbox::net {
namespace {

struct Url {
  std::string scheme, user, password, host;  // host: without brackets
  int port = 0;
  std::string target = "/";  // path and query
};

std::optional<int> parse_port(const std::string& text) {
  if (text.empty() || text.size() > 5 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  int port = std::atoi(text.c_str());
  return port >= 1 && port <= 65535 ? std::optional(port) : std::nullopt;
}

/// scheme://[user[:password]@]host[:port][/path][?query]
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

std::string variable(const std::string& name) {
  for (const std::string& n : {name, absl::AsciiStrToUpper(name)})
    if (const char* value = std::getenv(n.c_str()); value && *value) return value;
  return {};
}

/// no_proxy: comma list of hosts, domains (with or without leading dot), `*`.
bool goes_direct(const std::string& host) {
  std::istringstream list(variable("no_proxy"));
  for (std::string entry; std::getline(list, entry, ',');) {
    entry.erase(std::remove(entry.begin(), entry.end(), ' '), entry.end());
    entry = absl::AsciiStrToLower(entry);
    if (entry == "*") return true;
    if (entry.starts_with('.')) entry.erase(0, 1);
    if (!entry.empty() && (absl::AsciiStrToLower(host) == entry ||
                           absl::AsciiStrToLower(host).ends_with("." + entry)))
      return true;
  }
  return false;
}

std::optional<Url> proxy_for(const Url& url) {
  std::string proxy = variable(url.scheme + "_proxy");
  if (proxy.empty()) proxy = variable("all_proxy");
  if (proxy.empty() || goes_direct(url.host)) return std::nullopt;
  if (proxy.find("://") == std::string::npos) proxy = "http://" + proxy;
  return parse_url(proxy);
}

/// The bundle that is in force, and its name for messages.
struct Trust {
  std::string pem;
  std::string name;
};

Trust find_trust() {
  std::string chosen = variable("ssl_cert_file");
  std::vector<std::string> places = {"/etc/ssl/certs/ca-certificates.crt",
                                     "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};
  if (!chosen.empty()) places = {chosen};
  for (const std::string& place : places) {
    std::ifstream file(place, std::ios::binary);
    std::ostringstream text;
    if (file && text << file.rdbuf()) return {text.str(), "'" + place + "'"};
  }
  // A file that was asked for but is not there must not silently become another one.
  if (!chosen.empty()) return {"", "'" + chosen + "' (SSL_CERT_FILE), which cannot be read"};
  return {std::string(built_in_ca_certificates()), "the built-in bundle"};
}

/// The caller owns the store. Empty pem: a store that trusts nobody.
X509_STORE* make_store(const std::string& pem) {
  X509_STORE* store = X509_STORE_new();
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  while (X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr)) {
    X509_STORE_add_cert(store, certificate);
    X509_free(certificate);
  }
  BIO_free(bio);
  return store;
}

/// Errors: the host's name can't be resolved.
Result<bool> set_up(httplib::ClientImpl& client, const Url& url, const HttpLimits& limits) {
  client.set_connection_timeout(limits.timeout);
  client.set_read_timeout(limits.timeout);
  client.set_write_timeout(limits.timeout);
  client.set_follow_location(false);
  client.set_decompress(false);
  client.set_keep_alive(false);
  client.set_url_encode(false);
  client.set_tcp_nodelay(true);
  if (!url.user.empty()) client.set_basic_auth(url.user, url.password);
  if (auto proxy = proxy_for(url)) {
    client.set_proxy(proxy->host, proxy->port);
    if (!proxy->user.empty()) client.set_proxy_basic_auth(proxy->user, proxy->password);
    return true;
  }
  Result<std::vector<std::string>> addresses = resolve(url.host);
  if (!addresses) return addresses.error();
  // Of several, httplib tries one after the other by itself.
  if (addresses->size() == 1) client.set_hostname_addr_map({{url.host, addresses->front()}});
  return true;
}

/// What came of one exchange.
struct Exchange {
  int status = 0;
  std::string location;
  int64_t bytes = 0;
  bool stopped = false, too_large = false;
};

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string reason(httplib::Error error, const Trust& trust) {
  using E = httplib::Error;
  switch (error) {
    case E::Connection:
      return "no connection";
    case E::ConnectionTimeout:
      return "no connection in time";
    case E::Read:
      return "the answer was cut short or too slow";
    case E::Write:
      return "the request could not be sent";
    case E::SSLConnection:
      return "no TLS connection";
    case E::SSLLoadingCerts:
    case E::SSLServerVerification:
      return "its certificate is not trusted by " + trust.name +
             ": set SSL_CERT_FILE to a bundle that has its issuer";
    default:
      return httplib::to_string(error);
  }
}

std::unique_ptr<httplib::ClientImpl> make_client(const Url& url, Trust& trust) {
  if (url.scheme == "http") return std::make_unique<httplib::ClientImpl>(url.host, url.port);
  auto client = std::make_unique<httplib::SSLClient>(url.host, url.port);
  trust = find_trust();
  client->set_ca_cert_store(make_store(trust.pem));
  client->enable_server_certificate_verification(true);
  SSL_CTX_set_min_proto_version(client->ssl_context(), TLS1_2_VERSION);
  return client;
}

Result<Exchange> exchange(const Url& url, const std::string& shown,
                          const std::function<bool(std::string_view)>& sink,
                          const HttpLimits& limits) {
  Exchange out;
  Trust trust;
  std::unique_ptr<httplib::ClientImpl> client = make_client(url, trust);
  if (!client->is_valid()) return Error{"cannot fetch '" + shown + "': no TLS on this machine"};
  if (Result<bool> ready = set_up(*client, url, limits); !ready)
    return Error{"cannot fetch '" + shown + "': " + ready.error().message};
  auto on_header = [&](const httplib::Response& r) {
    out.status = r.status;
    out.location = r.get_header_value("Location");
    return r.status == 200;
  };
  auto on_part = [&](const char* data, size_t n) {
    out.bytes += static_cast<int64_t>(n);
    out.too_large = limits.max_bytes >= 0 && out.bytes > limits.max_bytes;
    out.stopped = (limits.cancelled && *limits.cancelled) || out.too_large || !sink({data, n});
    return !out.stopped;
  };
  httplib::Headers headers = {{"User-Agent", "tinderbox"}, {"Accept", "*/*"}};
  httplib::Result result = client->Get(url.target.c_str(), headers, on_header, on_part);
  bool answered = out.status != 0 && out.status != 200;
  if (out.too_large)
    return Error{"cannot fetch '" + shown + "': it is larger than " +
                 std::to_string(limits.max_bytes) + " bytes"};
  if (out.stopped) return Error{"fetching '" + shown + "' was stopped"};
  if (!result && !answered)
    return Error{"cannot fetch '" + shown + "' from " + bracketed(url.host) + ":" +
                 std::to_string(url.port) + ": " + reason(result.error(), trust)};
  return out;
}

/// Where a redirect leads, seen from `from`.
std::string absolute(const Url& from, const std::string& location) {
  if (location.find("://") != std::string::npos) return location;
  std::string root = from.scheme + "://" + bracketed(from.host) + ":" + std::to_string(from.port);
  if (location.starts_with("//")) return from.scheme + ":" + location;
  if (location.starts_with('/')) return root + location;
  std::string path = from.target.substr(0, from.target.find('?'));
  return root + path.substr(0, path.rfind('/') + 1) + location;
}

}  // namespace

std::string shown_url(const std::string& url) {
  std::string out = url.substr(0, url.find_first_of("?#"));
  size_t start = out.find("://");
  if (start == std::string::npos) return out;
  start += 3;
  size_t at = out.substr(0, out.find('/', start)).rfind('@');
  if (at != std::string::npos && at >= start) out.erase(start, at + 1 - start);
  return out;
}

Result<int64_t> http_download(const std::string& url,
                              const std::function<bool(std::string_view)>& sink,
                              const HttpLimits& limits) {
  const std::string shown = shown_url(url);
  std::string next = url;
  bool secure = false;
  for (int hop = 0; hop <= limits.redirects; ++hop) {
    std::optional<Url> at = parse_url(next);
    if (!at || (at->scheme != "http" && at->scheme != "https"))
      return Error{"cannot fetch '" + shown + "': '" + shown_url(next) +
                   "' is not an http:// or https:// URL"};
    if (secure && at->scheme == "http")
      return Error{"cannot fetch '" + shown + "': it redirects from https to '" + shown_url(next) +
                   "', which is not encrypted"};
    secure = at->scheme == "https";
    Result<Exchange> done = exchange(*at, shown, sink, limits);
    if (!done) return done.error();
    if (done->status == 200) return done->bytes;
    if (!is_redirect(done->status) || done->location.empty())
      return Error{"cannot fetch '" + shown + "': the server answered status " +
                   std::to_string(done->status)};
    next = absolute(*at, done->location);
  }
  return Error{"cannot fetch '" + shown + "': more than " + std::to_string(limits.redirects) +
               " redirects"};
}

Result<Bytes> http_get(const std::string& url, HttpLimits limits) {
  if (limits.max_bytes < 0) limits.max_bytes = 16 << 20;
  Bytes body;
  Result<int64_t> size = http_download(
      url, [&](std::string_view part) { return body.append(part), true; }, limits);
  if (!size) return size.error();
  return body;
}

}  // namespace tinderbox::net
