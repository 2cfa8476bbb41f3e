// GET over HTTP and HTTPS, with bounds on everything.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "net/types.hpp"

namespace tinderbox::net {

struct HttpLimits {
  Duration timeout = std::chrono::seconds(60);  // for connecting, and between two parts
  int redirects = 10;
  int64_t max_bytes = -1;                        // negative: any size
  const std::atomic<bool>* cancelled = nullptr;  // looked at between parts
};

/// GETs `url` and hands the body of a 200 answer to `sink` part by part (false: stop); returns its
/// size. Redirects are followed, never from https to http. Certificates are always checked, against
/// SSL_CERT_FILE, the system's bundle or the built-in one. http_proxy, https_proxy, all_proxy and
/// no_proxy are honoured. Thread: any; blocks. Errors, one line without passwords: unreachable,
/// refused, untrusted, another status than 200, too large, cut short.
Result<int64_t> http_download(const std::string& url,
                              const std::function<bool(std::string_view)>& sink,
                              const HttpLimits& limits = {});

/// The body as one string; at most 16 MiB unless `limits` says otherwise.
Result<Bytes> http_get(const std::string& url, HttpLimits limits = {});

}  // namespace tinderbox::net
