// http and https URLs, and which proxy the environment puts before one.
#pragma once

#include <optional>
#include <string>

namespace tinderbox::net {

struct Url {
  std::string scheme, user, password, host;  // host: without brackets
  int port = 0;
  std::string target = "/";  // path and query
};

/// scheme://[user[:password]@]host[:port][/path][?query]. None: it is no such URL.
std::optional<Url> parse_url(const std::string& text);

/// scheme://authority of `url`.
std::string server_of(const std::string& url);
/// What stands behind that: path and query, at least a slash.
std::string target_of(const std::string& url);
/// Where a redirect to `location` leads, seen from `from`; on the same server as the same user.
std::string redirected(const Url& from, const std::string& location);
bool is_redirect(int status);

/// `url` without password, query and fragment, as it may be shown.
std::string shown_url(const std::string& url);

/// What http_proxy, https_proxy, all_proxy and no_proxy (hosts, domains, networks such
/// as 10.0.0.0/8, *) say, in small or capital letters. None: go there directly.
std::optional<Url> proxy_for(const Url& url);

/// The environment variable of this name in small or, if that is not set, capital letters.
std::string either_case_variable(const std::string& name);

}  // namespace tinderbox::net
