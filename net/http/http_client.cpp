// cpp-httplib does one exchange; redirects, proxies and trust are decided here.
#include "net/http/http_client.hpp"

#include <optional>

#include "net/http/httplib.hpp"
#include "net/http/proxy.hpp"
#include "net/http/trust.hpp"
#include "net/http/url.hpp"
#include "net/names.hpp"

namespace tinderbox::net {
namespace {

/// Errors: the host's name can't be resolved, a proxy that cannot be used.
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
  if (auto proxy = proxy_for(url)) return go_through(client, *proxy);
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

std::unique_ptr<httplib::ClientImpl> make_client(const Url& url, Trust& trust) {
  if (url.scheme == "http") return std::make_unique<httplib::ClientImpl>(url.host, url.port);
  auto client = std::make_unique<httplib::SSLClient>(url.host, url.port);
  trust = usual_trust();
  trust_only(*client, trust.pem);
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
                 std::to_string(url.port) + ": " +
                 failure_text(static_cast<int>(result.error()), trust.name)};
  return out;
}

}  // namespace

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
    next = redirected(*at, done->location);
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
