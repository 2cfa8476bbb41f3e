// The master role: a standalone cluster's manager on one loop.
#include "cmd/process_conf.hpp"
#include "cmd/roles/roles.hpp"
#include "conf/keys.hpp"
#include "core/deploy/master/master_service.hpp"
#include "core/deploy/service_parts.hpp"
#include "core/status/exit_codes.hpp"
#include "net/log.hpp"
#include "net/names.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::cmd {
namespace {

struct MasterOptions {
  std::string host, ip;
  std::optional<int> port, web_ui_port;
  ProcessConfOptions conf;
};

core::MasterServiceOptions service_options(const MasterOptions& o) {
  core::MasterServiceOptions s;
  s.conf = process_conf(o.conf, conf::Scope::kMaster);
  warn_of_misspellings(s.conf, o.conf);
  std::string named = o.host.empty() ? o.ip : o.host;
  if (named.empty()) named = s.conf.get(conf::kMasterHost).value_or(advertised_host(s.conf));
  s.host = net::without_brackets(named);
  s.bind_host = s.host;
  s.public_host = s.conf.get(conf::kPublicDns).value_or(s.host);
  s.port = o.port.value_or(s.conf.get(conf::kMasterPort));
  s.web_ui_port = core::web_ui_port(s.conf, conf::kMasterUiPort, o.web_ui_port);
  return s;
}

}  // namespace

int master(Args args) {
  CommandLine line("master", "Gives workers' cores and memory to applications");
  line.long_help_only();
  MasterOptions o;
  line.option("-h,--host", &o.host, "name or address to listen on and to announce");
  line.option("-i,--ip", &o.ip, "the same; deprecated, use --host");
  line.option("-p,--port", &o.port, "port to listen on, 0 for any (default: 7077)");
  line.option("--webui-port", &o.web_ui_port,
              "port of the pages, 0 for any; spark.master.ui.port beats it (default: 8080)");
  declare_process_conf(line, o.conf);
  if (std::optional<int> code = line.parse(args)) return *code;
  if (!o.ip.empty()) net::write_error("Warning: --ip is deprecated, please use --host\n");
  int code = core::kExitOk;
  auto loop = net::make_poll_loop();
  core::MasterService service(*loop, service_options(o), [&](int c, const std::string& why) {
    net::log(c == 0 ? net::Level::Info : net::Level::Error, "Master", why);
    code = c;
    loop->stop();
  });
  net::StopSignals signals(*loop, [&](int n) {
    net::log(net::Level::Info, "Master", "received signal " + std::to_string(n) + ", stopping");
    code = core::kExitSignalBase + n;
    loop->stop();
  });
  service.start();
  loop->run();
  return code;
}

}  // namespace tinderbox::cmd
