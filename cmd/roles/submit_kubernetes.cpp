// Cluster deploy mode on Kubernetes, and --kill and --status there: conversations with the API
// server.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cmd/roles/submit.hpp"
#include "conf/keys.hpp"
#include "conf/sources/environment.hpp"
#include "conf/values/master_url.hpp"
#include "core/deploy/kubernetes/api_service.hpp"
#include "core/deploy/kubernetes/submission/plan.hpp"
#include "core/deploy/kubernetes/submission/pod_actions.hpp"
#include "core/deploy/kubernetes/submission/store_service.hpp"
#include "core/shell.hpp"
#include "core/status/exit_codes.hpp"
#include "net/files/files.hpp"
#include "net/files/sha256.hpp"
#include "net/log.hpp"
#include "net/process/elf.hpp"
#include "net/process/environment.hpp"
#include "net/process/exec.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::cmd {
namespace {

namespace k8s = core::kubernetes;

conf::Environment this_environment() { return conf::environment_of(environ); }

/// The URL behind k8s://.
std::string server_of(const conf::Conf& conf) {
  return std::get<conf::KubernetesMaster>(conf::parse_master_url(conf.get(conf::kMaster))).url;
}

k8s::ApiService::Options service_options(const conf::Conf& conf) {
  k8s::ApiService::Options o;
  o.access = k8s::client_access(conf, server_of(conf), "spark.kubernetes.authenticate.submission.",
                                this_environment(), conf::read_file);
  o.connect_timeout = std::chrono::milliseconds(conf.get(conf::kKubernetesSubmitConnectTimeout));
  o.answer_timeout = std::chrono::milliseconds(conf.get(conf::kKubernetesSubmitRequestTimeout));
  return o;
}

/// Carries out what both machines ask for, and remembers how it ended.
template <class Machine>
class Conversation {
 public:
  Conversation(const conf::Conf& conf, Machine& machine)
      : loop_(net::make_poll_loop()),
        endpoint_(net::make_socket_endpoint(*loop_)),
        board_(*endpoint_),
        shell_(*loop_, board_, machine, *this, "Submit"),
        service_(service_options(conf), [this](k8s::ApiEvent e) { deliver(std::move(e)); }),
        store_([this](k8s::ApiAnswered e) { deliver(std::move(e)); }) {}

  template <class Start>
  int run() {
    net::share_one_heap();
    net::StopSignals signals(*loop_, [&](int n) {
      code_ = core::kExitSignalBase + n;
      loop_->stop();
    });
    shell_.feed(Start{});
    loop_->run();
    return code_;
  }

  void apply(k8s::CallApi& e) { service_.call(std::move(e)); }
  void apply(k8s::WatchApi& e) { service_.watch(std::move(e)); }
  void apply(const k8s::SendFile& e) {
    service_.call({e.ticket, {"PUT", e.path, "application/octet-stream", "", e.file}});
  }
  void apply(k8s::AskStore& e) { store_.ask(std::move(e)); }
  void apply(const k8s::Report& e) {
    const size_t end = e.text.find('\n');
    net::log(net::Level::Info, "Submit", e.text.substr(0, end));
    if (end != std::string::npos) net::write_error(printable(e.text.substr(end + 1)) + "\n");
  }
  void apply(const k8s::Tell& e) { net::write_error(printable(e.text) + "\n"); }
  void apply(const core::Exit& e) {
    if (!e.reason.empty()) net::write_error("Error: " + printable(e.reason) + "\n");
    code_ = e.code;
    loop_->stop();
  }

 private:
  /// What pods say of themselves is shown without control characters.
  static std::string printable(std::string text) {
    for (char& c : text)
      if (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') c = ' ';
    return text;
  }
  void deliver(k8s::ApiEvent event) {
    auto shared = std::make_shared<k8s::ApiEvent>(std::move(event));
    loop_->post([this, shared] {
      std::visit(
          [this](auto& e) {
            if constexpr (std::is_constructible_v<typename Machine::Event, decltype(e)>)
              shell_.feed(std::move(e));
          },
          *shared);
    });
  }

  std::unique_ptr<net::PollLoop> loop_;
  std::unique_ptr<net::SocketEndpoint> endpoint_;
  core::Switchboard board_;
  core::Shell<Machine, Conversation> shell_;
  k8s::ApiService service_;
  k8s::StoreService store_;
  int code_ = core::kExitFailure;
};

std::string without_dashes(std::string uuid) {
  std::erase(uuid, '-');
  return uuid;
}

k8s::PlanWorld plan_world() {
  k8s::PlanWorld world;
  world.environment = this_environment();
  world.read = conf::read_file;
  world.list = net::names_in;
  world.sha256 = net::sha256_of_file;
  world.is_own_program = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::equivalent(path, net::own_path(), error);
  };
  world.check_application = [](const std::string& path) {
    const Result<net::ElfInfo> info = net::read_application(path);
    if (!info) throw conf::Error(info.error().message);
  };
  world.user = net::user_name();
  world.uuid = without_dashes(net::unique_name());
  world.now_ms = epoch_millis(net::wall_clock());
  return world;
}

}  // namespace

int submit_to_kubernetes(const conf::SubmitRequest& request) {
  k8s::SubmissionOptions plan = k8s::plan_submission(request, plan_world());
  if (request.dry_run) {
    std::fputs(k8s::show_objects(plan, request.conf).c_str(), stdout);
    return core::kExitOk;
  }
  k8s::Submission machine(std::move(plan));
  return Conversation<k8s::Submission>(request.conf, machine).run<k8s::StartSubmission>();
}

int kubernetes_action(const conf::SubmitRequest& request) {
  k8s::PodActionOptions options;
  options.kill = request.action == conf::Action::kKill;
  options.master = request.master;
  options.submission_id = request.submission_id;
  options.name_space = request.conf.get(conf::kKubernetesNamespace);
  if (const auto grace = request.conf.get(conf::kKubernetesKillGrace))
    options.grace = std::chrono::duration_cast<std::chrono::seconds>(*grace).count();
  k8s::PodActions machine(std::move(options));
  return Conversation<k8s::PodActions>(request.conf, machine).run<k8s::StartPodAction>();
}

}  // namespace tinderbox::cmd
