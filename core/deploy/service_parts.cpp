#include "core/deploy/service_parts.hpp"

#include <ctime>

#include "conf/keys.hpp"
#include "net/names.hpp"
#include "net/process/environment.hpp"

namespace tinderbox::core {

Zone local_zone(Time now) {
  auto seconds = static_cast<std::time_t>(epoch_millis(now) / 1000);
  std::tm fields{};
  if (!localtime_r(&seconds, &fields)) return {};
  return {static_cast<int32_t>(fields.tm_gmtoff), fields.tm_zone ? fields.tm_zone : ""};
}

uint64_t run_seed(Time now) {
  return static_cast<uint64_t>(now.time_since_epoch().count()) * 0x9e3779b97f4a7c15 ^
         static_cast<uint64_t>(net::process_id());
}

void check_port(int port, const std::string& what) {
  if (port == 0 || (port >= 1024 && port <= 65535)) return;
  throw conf::Error(
      what + " is " + std::to_string(port) +
      "; a port should be between 1024 and 65535 (inclusive), or 0 for a random free port");
}

int listen_on(net::SocketEndpoint& endpoint, const conf::Conf& conf, const std::string& host,
              int port, const std::string& service) {
  check_port(port, "The port of service '" + service + "'");
  Result<std::vector<std::string>> addresses = net::resolve(host);
  if (!addresses) throw conf::Error("Service '" + service + "': " + addresses.error().message);
  net::Listen where;
  where.host = addresses->front();
  where.port = port;
  where.retries = port ? conf.get(conf::kPortMaxRetries) : 0;
  where.max_message_bytes = conf.get(conf::kRpcMessageMaxSize);
  Result<int> bound = endpoint.listen(where);
  if (!bound) throw conf::Error("Service '" + service + "': " + bound.error().message);
  return *bound;
}

int web_ui_port(const conf::Conf& conf, const conf::Key<int>& key, std::optional<int> option) {
  auto set = conf.all().find(key.spec.name);
  bool configured = set != conf.all().end() && set->second.source > conf::Source::kEnvironment;
  return option && !configured ? *option : conf.get(key);
}

StatusPages::StatusPages(net::Loop& loop, const conf::Conf& conf, const std::string& bind_host,
                         int port, const std::string& service, Page page, Json json,
                         const More& more) {
  check_port(port, "The port of service '" + service + "'");
  auto html = [page = std::move(page)](const net::HttpRequest&) {
    net::HttpAnswer answer;
    answer.body = page();
    return answer;
  };
  auto data = [json = std::move(json)](const net::HttpRequest& request) {
    constexpr std::string_view kPrefix = "/json";
    std::string field = request.path.substr(kPrefix.size());
    while (!field.empty() && field.front() == '/') field.erase(0, 1);
    while (!field.empty() && field.back() == '/') field.pop_back();
    net::HttpAnswer answer;
    answer.content_type = "application/json;charset=utf-8";
    answer.body = json(field);
    return answer;
  };
  server_.handle("/", net::on_loop(loop, std::move(html)));
  server_.handle("/json", net::on_loop(loop, std::move(data)));
  for (const auto& [path, handler] : more) server_.handle(path, handler);
  net::HttpServer::Options where;
  where.host = bind_host;
  where.port = port;
  where.retries = port ? conf.get(conf::kPortMaxRetries) : 0;
  Result<int> bound = server_.start(where);
  if (!bound) throw conf::Error("Service '" + service + "': " + bound.error().message);
  port_ = *bound;
}

}  // namespace tinderbox::core
