// Cluster deploy mode on a standalone master, and --kill and --status: one short conversation.
#include "cmd/roles/submit.hpp"
#include "conf/keys.hpp"
#include "conf/values/custom_resources.hpp"
#include "conf/values/master_url.hpp"
#include "core/deploy/client/submission_client.hpp"
#include "core/shell.hpp"
#include "core/status/exit_codes.hpp"
#include "net/log.hpp"
#include "net/process/elf.hpp"
#include "net/process/environment.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::cmd {
namespace {

/// Carries out the client's effects and remembers how it ended.
struct Host {
  net::PollLoop& loop;
  int code = core::kExitFailure;
  void apply(const core::Print& e) { net::write_error(e.line + "\n"); }
  void apply(const core::Exit& e) {
    if (!e.reason.empty()) net::write_error("Error: " + e.reason + "\n");
    code = e.code;
    loop.stop();
  }
};

int converse(core::SubmissionOptions options) {
  auto loop = net::make_poll_loop();
  auto endpoint = net::make_socket_endpoint(*loop);
  core::Switchboard board(*endpoint);
  core::SubmissionClient client(std::move(options));
  Host host{*loop};
  core::Shell<core::SubmissionClient, Host> shell(*loop, board, client, host, "Submit");
  shell.listen<ToClient>();
  shell.listen_losses();
  net::StopSignals signals(*loop, [&](int n) {
    host.code = core::kExitSignalBase + n;
    loop->stop();
  });
  shell.feed(core::StartSubmission{});
  loop->run();
  return host.code;
}

std::vector<std::string> masters_of(const conf::Conf& conf) {
  std::string url = conf.get(conf::kMaster);
  auto parsed = conf::parse_master_url(url);
  auto* standalone = std::get_if<conf::StandaloneMaster>(&parsed);
  if (!standalone)
    throw conf::Error("No external SparkSubmitOperations clients found for master url: '" + url +
                      "'");
  std::vector<std::string> masters;
  for (const conf::HostPort& m : standalone->masters) masters.push_back(conf::to_string(m));
  return masters;
}

/// Build id of the application's file; empty when only the worker can reach it.
std::string build_id_of(const std::string& resource) {
  if (resource == conf::kInternalResource) return net::own_build_id();
  auto path = conf::local_path(resource);
  if (!path) return {};
  Result<net::ElfInfo> info = net::read_application(*path);
  if (!info) throw conf::Error(info.error().message);
  return info->build_id;
}

DriverDescription description_of(const conf::SubmitRequest& request) {
  DriverDescription d;
  d.memory_mib = request.conf.get(conf::kDriverMemory) >> 20;
  d.cores = request.conf.get(conf::kDriverCores);
  d.supervise = request.conf.get(conf::kDriverSupervise);
  for (const auto& [name, setting] :
       conf::resource_settings(request.conf, conf::ResourceOwner::kDriver))
    d.resources[name] = setting.amount;
  d.command.elf = request.primary_resource == conf::kInternalResource ? "file:" + net::own_path()
                                                                      : request.primary_resource;
  d.command.build_id = build_id_of(request.primary_resource);
  d.command.main_class = request.main_class;
  d.command.arguments = request.app_args;
  for (const auto& [name, value] : conf::without_node_values(request.conf).pairs())
    d.command.properties[name] = value;
  for (const auto& [name, value] : net::environment())
    if (name.starts_with("SPARK_") && name != "SPARK_ENV_LOADED" && name != "SPARK_HOME" &&
        name != "SPARK_CONF_DIR" && !name.starts_with("SPARK_LOCAL_"))
      d.command.environment[name] = value;
  return d;
}

/// What the worker will run; its properties go another way, as they may hold secrets.
std::vector<std::string> arguments_of(const Command& command) {
  std::vector<std::string> arguments = {"driver"};
  if (!command.main_class.empty())
    arguments.insert(arguments.end(), {"--class", command.main_class});
  arguments.push_back("--");
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  return arguments;
}

}  // namespace

int submit_to_master(const conf::SubmitRequest& request) {
  core::SubmissionOptions options;
  options.masters = masters_of(request.conf);
  const DriverDescription driver = description_of(request);
  print_launch_command(driver.command.elf, arguments_of(driver.command));
  options.request = RequestSubmitDriver{{net::user_name(), {}, 0, ""}, driver};
  options.wait_for_completion = request.conf.get(conf::kSubmitWaitAppCompletion);
  return converse(std::move(options));
}

int submission_action(const conf::SubmitRequest& request) {
  core::SubmissionOptions options;
  options.masters = masters_of(request.conf);
  DriverId id{request.submission_id};
  if (request.action == conf::Action::kKill)
    options.request = RequestKillDriver{id};
  else
    options.request = RequestDriverStatus{id};
  return converse(std::move(options));
}

}  // namespace tinderbox::cmd
