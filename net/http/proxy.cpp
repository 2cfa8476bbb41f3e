#include "net/http/proxy.hpp"

#include "net/names.hpp"

namespace tinderbox::net {

Result<bool> go_through(httplib::ClientImpl& client, const Url& proxy) {
  if (proxy.scheme != "http")
    return Error{"the proxy " + proxy.scheme + "://" + bracketed(proxy.host) + ":" +
                 std::to_string(proxy.port) + " cannot be used: only http:// proxies are"};
  client.set_proxy(proxy.host, proxy.port);
  if (!proxy.user.empty()) client.set_proxy_basic_auth(proxy.user, proxy.password);
  return true;
}

}  // namespace tinderbox::net
