// What a master's and a worker's service have in common: ports, the zone, pages.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "conf/conf.hpp"
#include "core/deploy/calendar.hpp"
#include "net/http/http_server.hpp"
#include "net/loop.hpp"
#include "net/transport/endpoint.hpp"

namespace tinderbox::core {

/// The zone of this machine at `now`.
Zone local_zone(Time now);
/// A generator's seed that differs from run to run and from process to process.
uint64_t run_seed(Time now);

/// Errors: conf::Error for a port that is neither 0 nor in 1024…65535.
void check_port(int port, const std::string& what);
/// Listens, a fixed port that is in use is tried upwards. Returns the port.
/// Errors: conf::Error that names `service`.
int listen_on(net::SocketEndpoint& endpoint, const conf::Conf& conf, const std::string& host,
              int port, const std::string& service);

/// The configuration's own word for a port of pages beats the command line's, unlike everywhere
/// else. Source: Spark 4.3 MasterArguments, WorkerArguments.
int web_ui_port(const conf::Conf& conf, const conf::Key<int>& key, std::optional<int> option);

/// The pages of one service: `/` and `/json`, answered on the loop, and more, answered on the
/// server's threads.
class StatusPages {
 public:
  using Page = std::function<std::string()>;
  /// Given the field of `/json/FIELD`, empty for all.
  using Json = std::function<std::string(const std::string& field)>;
  using More = std::map<std::string, net::HttpHandler>;
  /// Errors: conf::Error when the port can't be had.
  StatusPages(net::Loop& loop, const conf::Conf& conf, const std::string& bind_host, int port,
              const std::string& service, Page page, Json json, const More& more = {});
  int port() const { return port_; }

 private:
  net::HttpServer server_;
  int port_ = 0;
};

}  // namespace tinderbox::core
