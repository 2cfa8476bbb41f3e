// The executor role: one process of one application, told by its command line where its driver is.
#include <absl/strings/ascii.h>

#include "cmd/process_conf.hpp"
#include "cmd/roles/entrypoint.hpp"
#include "cmd/roles/roles.hpp"
#include "conf/values/address.hpp"
#include "core/executor/executor_service.hpp"
#include "core/status/exit_codes.hpp"
#include "net/log.hpp"
#include "net/names.hpp"
#include "net/process/elf.hpp"
#include "net/process/environment.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::cmd {
namespace {

struct ExecutorOptions {
  std::string driver_url, id, hostname, bind_address, app_id, worker_url, resources_file, pod_name,
      elf;
  int cores = 0, profile = 0;
  ProcessConfOptions conf;
};

void declare(CommandLine& line, ExecutorOptions& o) {
  using Rule = CommandLine::Rule;
  line.option("--driver-url", &o.driver_url, "spark://CoarseGrainedScheduler@HOST:PORT",
              Rule::Required);
  line.option("--executor-id", &o.id, "this executor's id", Rule::Required);
  line.option("--hostname", &o.hostname, "name or address under which others reach this host");
  line.option("--bind-address", &o.bind_address, "address to listen on (default: the host name)");
  line.option("--cores", &o.cores, "task slots", Rule::RequiredPositive);
  line.option("--app-id", &o.app_id, "the application's id", Rule::Required);
  line.option("--worker-url", &o.worker_url, "worker that started this executor");
  line.option("--resourcesFile", &o.resources_file,
              "JSON file of the addresses of custom resources that the worker gave");
  line.option("--resourceProfileId", &o.profile, "resource profile");
  line.option("--podName", &o.pod_name, "name of this executor's pod");
  line.option("--elf", &o.elf, "application's ELF file, a path or URL, to run instead of this one");
  declare_process_conf(line, o.conf);
}

/// SPARK_LOG_URL_STDERR=u → {stderr, u}.
std::map<std::string, std::string> with_prefix(const std::string& prefix, bool lower) {
  std::map<std::string, std::string> found;
  for (const auto& [variable, value] : net::environment()) {
    if (!variable.starts_with(prefix)) continue;
    std::string name = variable.substr(prefix.size());
    found[lower ? absl::AsciiStrToLower(name) : name] = value;
  }
  return found;
}

core::ExecutorServiceOptions service_options(const ExecutorOptions& o) {
  core::ExecutorServiceOptions s;
  // Not this machine's file: its settings would count wherever the driver, which did not read it,
  // has none.
  s.startup = process_conf(o.conf, conf::Scope::kNode, false);
  warn_of_misspellings(s.startup, o.conf);
  std::string host = o.driver_url.substr(o.driver_url.rfind('@') + 1);
  auto address = conf::parse_host_port(host);
  if (!address)
    throw conf::Error("--driver-url is '" + o.driver_url +
                      "'; give spark://CoarseGrainedScheduler@HOST:PORT");
  core::ExecutorOptions& e = s.executor;
  e.driver_address = conf::to_string(*address);
  e.id = {o.id};
  e.pod = o.pod_name;
  e.host = net::without_brackets(o.hostname.empty() ? advertised_host(s.startup) : o.hostname);
  e.cores = o.cores;
  e.profile = o.profile;
  e.resources_file = o.resources_file;
  e.who = {net::user_name(), {o.app_id}, 0, ""};
  e.build_id = net::own_build_id();
  e.code_hash = net::own_code_hash();
  e.pid = net::process_id();
  e.log_urls = with_prefix("SPARK_LOG_URL_", true);
  e.attributes = with_prefix("SPARK_EXECUTOR_ATTRIBUTE_", false);
  e.seed = std::hash<std::string>{}(o.id + o.pod_name + o.app_id);
  s.bind_host = o.bind_address.empty() ? e.host : o.bind_address;
  return s;
}

}  // namespace

int executor(Args args) {
  CommandLine line("executor", "Runs tasks of one application; workers and pods start it");
  ExecutorOptions o;
  declare(line, o);
  const std::optional<std::vector<std::string>> of_pod = executor_of_pod(args);
  std::vector<char*> words;
  if (of_pod)
    for (const std::string& word : *of_pod) words.push_back(const_cast<char*>(word.c_str()));
  if (std::optional<int> code = line.parse(of_pod ? Args(words) : args)) return *code;
  if (!o.elf.empty()) exec_other("executor", o.elf, args);
  int code = core::kExitOk;
  auto loop = net::make_poll_loop();
  auto endpoint = net::make_socket_endpoint(*loop);
  core::ExecutorService service(
      *loop, *endpoint, service_options(o), [&](int c, const std::string& why) {
        code = c;
        net::log(c == 0 ? net::Level::Info : net::Level::Error, "Executor", why);
        loop->stop();
      });
  net::StopSignals signals(*loop, [&](int signal) {
    service.request_stop(core::kExitSignalBase + signal,
                         "received signal " + std::to_string(signal));
  });
  service.start();
  loop->run();
  if (!service.stop()) net::exit_now(code);
  return code;
}

}  // namespace tinderbox::cmd
