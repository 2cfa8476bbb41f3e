// The worker role: a machine's cores and memory for a standalone cluster, on one loop.
#include <filesystem>

#include "cmd/process_conf.hpp"
#include "cmd/roles/roles.hpp"
#include "conf/keys.hpp"
#include "conf/values/master_url.hpp"
#include "conf/values/units.hpp"
#include "core/deploy/service_parts.hpp"
#include "core/deploy/worker/worker_service.hpp"
#include "core/status/exit_codes.hpp"
#include "net/log.hpp"
#include "net/names.hpp"
#include "net/process/environment.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::cmd {
namespace {

constexpr int64_t kReservedMib = 1024, kLeastMib = 1024;  // for the system; for a small machine

struct WorkerOptions {
  std::string host, ip, memory, work_dir, masters;
  std::optional<int> port, web_ui_port, cores;
  ProcessConfOptions conf;
};

void declare(CommandLine& line, WorkerOptions& o) {
  using Rule = CommandLine::Rule;
  line.long_help_only();
  line.option("-h,--host", &o.host, "name or address to listen on and to announce");
  line.option("-i,--ip", &o.ip, "the same; deprecated, use --host");
  line.option("-p,--port", &o.port, "port to listen on (default: any)");
  line.option("--webui-port", &o.web_ui_port,
              "port of the pages, 0 for any; spark.worker.ui.port beats it (default: 8081)");
  line.option("-c,--cores", &o.cores, "cores to offer (default: all)", Rule::Positive);
  line.option("-m,--memory", &o.memory,
              "memory to offer, such as 1000m or 2g (default: all but 1g)");
  line.option("-d,--work-dir", &o.work_dir,
              "folder for executors and drivers (default: $SPARK_HOME/work, else work)");
  line.option("master", &o.masters, "spark://host:port[,host:port]", Rule::Required);
  declare_process_conf(line, o.conf, "--conf");
}

std::vector<std::string> masters_of(const std::string& text) {
  conf::MasterUrl url = conf::parse_master_url(text);
  auto* standalone = std::get_if<conf::StandaloneMaster>(&url);
  if (!standalone)
    throw conf::Error("Invalid master URL: " + text +
                      "; a worker needs spark://host:port[,host:port]");
  std::vector<std::string> masters;
  for (const conf::HostPort& m : standalone->masters) masters.push_back(conf::to_url(m));
  return masters;
}

int64_t memory_mib(const WorkerOptions& o, const conf::Conf& conf) {
  std::optional<int64_t> bytes = conf.get(conf::kWorkerMemory);
  if (!o.memory.empty()) bytes = conf::parse_size(o.memory, conf::Unit::kByte);
  if (!bytes) return std::max(net::memory_mib() - kReservedMib, kLeastMib);
  int64_t mib = *bytes >> 20;
  if (mib <= 0)
    throw conf::Error(
        "Memory is below 1MB, or missing a M/G at the end of the memory specification?");
  return mib;
}

std::string work_dir(const WorkerOptions& o, const conf::Conf& conf) {
  std::string path = o.work_dir.empty() ? conf.get(conf::kWorkerDir) : o.work_dir;
  if (o.work_dir.empty() && !conf.has(conf::kWorkerDir)) {
    auto environment = net::environment();
    if (auto home = environment.find("SPARK_HOME");
        home != environment.end() && !home->second.empty())
      path = home->second + "/" + path;
  }
  return std::filesystem::absolute(path).lexically_normal().string();
}

core::WorkerServiceOptions service_options(const WorkerOptions& o) {
  core::WorkerServiceOptions s;
  s.conf = process_conf(o.conf, conf::Scope::kWorker);
  warn_of_misspellings(s.conf, o.conf);
  s.masters = masters_of(o.masters);
  std::string named = o.host.empty() ? o.ip : o.host;
  if (named.empty()) named = s.conf.get(conf::kWorkerHost).value_or(advertised_host(s.conf));
  s.host = net::without_brackets(named);
  s.bind_host = s.host;
  s.public_host = s.conf.get(conf::kPublicDns).value_or(s.host);
  s.port = o.port.value_or(s.conf.get(conf::kWorkerPort));
  s.web_ui_port = core::web_ui_port(s.conf, conf::kWorkerUiPort, o.web_ui_port);
  s.cores = o.cores.value_or(s.conf.get(conf::kWorkerCores).value_or(net::available_processors()));
  if (s.cores <= 0)
    throw conf::Error("Cores to offer are " + std::to_string(s.cores) + "; give a number above 0");
  s.memory_mib = memory_mib(o, s.conf);
  s.work_dir = work_dir(o, s.conf);
  return s;
}

/// Null unless decommissioning is enabled.
std::unique_ptr<net::SignalWatch> watch_for_decommission(net::PollLoop& loop,
                                                         const conf::Conf& conf,
                                                         core::WorkerService& service) {
  if (!conf.get(conf::kDecommissionEnabled)) return nullptr;
  auto watch = net::SignalWatch::make(loop, conf.get(conf::kWorkerDecommissionSignal),
                                      [&service] { service.decommission(); });
  if (watch) return std::move(*watch);
  throw conf::Error(std::string(conf::kWorkerDecommissionSignal.spec.name) + ": " +
                    watch.error().message);
}

}  // namespace

int worker(Args args) {
  CommandLine line("worker", "Offers this machine's cores and memory to a master");
  WorkerOptions o;
  declare(line, o);
  if (std::optional<int> code = line.parse(args)) return *code;
  if (!o.ip.empty()) net::write_error("Warning: --ip is deprecated, please use --host\n");
  int code = core::kExitOk;
  int signal = 0;
  auto loop = net::make_poll_loop();
  core::WorkerServiceOptions options = service_options(o);
  const conf::Conf conf = options.conf;
  core::WorkerService service(*loop, std::move(options), [&](int c, const std::string& why) {
    net::log(c == 0 ? net::Level::Info : net::Level::Error, "Worker", why);
    code = signal ? core::kExitSignalBase + signal : c;
    loop->stop();
  });
  net::StopSignals signals(*loop, [&](int n) {
    signal = n;
    net::log(net::Level::Info, "Worker", "received signal " + std::to_string(n) + ", draining");
    service.stop();
  });
  auto decommission = watch_for_decommission(*loop, conf, service);
  service.start();
  loop->run();
  return code;
}

}  // namespace tinderbox::cmd
