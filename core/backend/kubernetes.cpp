// k8s://URL: executors in pods that this driver creates.
#include <cmath>
#include <deque>

#include "conf/keys.hpp"
#include "conf/values/address.hpp"
#include "core/backend/application_file.hpp"
#include "core/backend/factories.hpp"
#include "core/deploy/kubernetes/api_service.hpp"
#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/pods/pod_manager.hpp"
#include "core/deploy/service_parts.hpp"
#include "core/scheduler/allocation/options.hpp"
#include "net/files/files.hpp"
#include "net/files/sha256.hpp"
#include "net/mutex.hpp"
#include "net/process/elf.hpp"
#include "net/process/environment.hpp"

namespace tinderbox::core {
namespace {

namespace k8s = kubernetes;

constexpr int kConnections = 8;  // to the API server, when many pods are created
constexpr double kUsualRatio = 0.8;
/// The API server is given so long to hear what is to be deleted.
constexpr Duration kStopPatience = std::chrono::seconds(8);

class KubernetesBackend final : public Backend {
 public:
  KubernetesBackend(const conf::KubernetesMaster& master, BackendPlace place)
      : place_(std::move(place)), endpoint_(net::make_socket_endpoint(place_.loop)) {
    const conf::Conf& conf = place_.conf;
    const std::string bind = conf.get(conf::kDriverBindAddress).value_or(place_.host);
    const int port = listen_on(*endpoint_, conf, bind, conf.get(conf::kDriverPort), "driver");
    k8s::PodManagerOptions options = k8s::pod_manager_options(conf);
    options.seed = run_seed(place_.loop.now());
    options.conf_files = conf_files();
    fill(options, conf::to_string({place_.host, static_cast<uint16_t>(port)}));
    // What is wrong with the keys is told now, and not by each pod.
    k8s::check_executors(options);
    app_ = {options.executors.names.app_id};
    manager_ = std::make_unique<k8s::PodManager>(std::move(options));
    service_ = std::make_unique<k8s::ApiService>(
        service_options(master), [this](k8s::ApiEvent e) { deliver(std::move(e)); });
  }
  ~KubernetesBackend() override { service_.reset(); }

  net::Endpoint& endpoint() override { return *endpoint_; }

  void start(Switchboard& board) override {
    shell_ = std::make_unique<Shell<k8s::PodManager, KubernetesBackend>>(
        place_.loop, board, *manager_, *this, "Kubernetes");
    if (!dynamic_allocation(place_.conf)) want(initial_executors(), {}, {});
    shell_->feed(k8s::StartPods{});
  }
  bool tells_local_tasks() const override { return true; }
  void want(int32_t executors, std::vector<ProfileRequest> profiles,
            const HostTasks& local_tasks) override {
    k8s::WantPods want;
    want.hosts = local_tasks;
    want.totals[0] = executors;
    for (ProfileRequest& p : profiles) {
      want.totals[p.profile] = p.total;
      k8s::ProfileSpec spec{p.profile, p.cores, p.memory_mib, {}};
      for (const auto& [name, amount] : p.resources) spec.resources[name] = amount;
      want.profiles.push_back(std::move(spec));
    }
    shell_->feed(std::move(want));
  }
  void kill(const ExecutorId& executor) override { shell_->feed(k8s::EndPod{executor}); }
  void joined(const ExecutorId& id) override { shell_->feed(k8s::ExecutorRegistered{id}); }
  void decommissioned(const ExecutorId& id) override { shell_->feed(k8s::MarkPod{id}); }
  void named(const ExecutorId& id, const std::string& pod) override {
    shell_->feed(k8s::NamePod{id, pod});
  }
  void left(const ExecutorId& id) override { shell_->feed(k8s::ExecutorLeft{id}); }
  int exit_code() const override { return exit_code_; }

  double cores_to_begin() const override {
    const double ratio =
        std::min(1.0, place_.conf.get(conf::kSchedulerMinRegisteredRatio).value_or(kUsualRatio));
    // So many executors must be there.
    const double executors = std::ceil(ratio * initial_executors());
    return executors * k8s::executor_cores(place_.conf);
  }

  bool stop() override {
    if (!shell_ || stopped_) return true;
    shell_->feed(k8s::StopPods{});
    const Time until = place_.loop.now() + kStopPatience;
    while (!stopped_ && place_.loop.now() < until) take_delivered(true);
    const auto calls = service_->calls();
    std::string text;
    for (const auto& [method, n] : calls)
      text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + method;
    net::log(net::Level::Info, "Kubernetes", "Requests to the API server: " + text);
    shell_->halt();
    return true;
  }

  void apply(k8s::CallApi& e) { service_->call(std::move(e)); }
  void apply(k8s::WatchApi& e) { service_->watch(std::move(e)); }
  void apply(const k8s::StopWatch& e) { service_->stop(e); }
  void apply(const k8s::PodsBegun&) {
    net::log(net::Level::Info, "Kubernetes", "Application ID: " + app_.value);
    place_.registered(app_);
  }
  void apply(const k8s::PodGone& e) {
    place_.post(BackendExecutorExited{e.executor, e.exit_code, e.message, "", !e.exit_code});
  }
  void apply(const k8s::PodLeaving& e) {
    place_.post(BackendExecutorDecommissioned{e.executor, e.message, ""});
  }
  void apply(const k8s::PodsHeld& e) { place_.post(BackendStatus{e.reason}); }
  void apply(const k8s::PodsGiveUp& e) {
    net::log(net::Level::Error, "Kubernetes", e.reason);
    exit_code_ = e.exit_code;
    place_.post(BackendDead{e.reason});
  }
  void apply(const k8s::PodsStopped&) { stopped_ = true; }

 private:
  int32_t initial_executors() const {
    if (dynamic_allocation(place_.conf)) return allocation_options(place_.conf).initial_executors;
    return k8s::executor_instances(place_.conf);
  }

  void fill(k8s::PodManagerOptions& options, const std::string& driver_address) {
    k8s::ExecutorInput& x = options.executors;
    x.conf = place_.conf;
    std::string uuid = net::unique_name();
    std::erase(uuid, '-');
    x.names.app_id = place_.conf.get(conf::kAppId).value_or("spark-" + uuid);
    x.names.app_name = place_.app_name;
    x.names.unique = k8s::unique_id(run_seed(place_.loop.now()), epoch_millis(place_.loop.now()));
    x.names.prefix = k8s::resource_prefix(place_.app_name, x.names.unique);
    x.names.name_space = place_.conf.get(conf::kKubernetesNamespace);
    x.names.user = net::user_name();
    x.pod_prefix = k8s::executor_pod_prefix(place_.conf, x.names);
    x.driver_pod = place_.conf.get(conf::kKubernetesDriverPodName).value_or("");
    x.driver_address = driver_address;
    x.decommission = place_.conf.get(conf::kDecommissionEnabled);
    x.pod_template =
        k8s::template_of(place_.conf, conf::kKubernetesExecutorTemplate, conf::read_file);
    place_application(x);
  }

  /// Those beside this driver's own go to the executors too.
  static k8s::ConfFiles conf_files() {
    const auto variables = net::environment();
    const auto folder = variables.find("SPARK_CONF_DIR");
    if (folder == variables.end()) return {};
    return k8s::travelling(k8s::conf_folder(folder->second, net::names_in, conf::read_file));
  }

  /// Executors that do not have the application in their image get it from this driver.
  void place_application(k8s::ExecutorInput& x) {
    const auto where = place_.conf.get(conf::kKubernetesApplication);
    if (where == "image") return;
    if (where) {
      x.application = *where;
      return;
    }
    const std::string url = hand_out_application(*place_.blocks);
    const Result<std::string> sum = net::sha256_of_file(net::own_path());
    if (!sum) throw conf::Error(sum.error().message);
    x.app_files.push_back({url, kApplicationFile, *sum});
    x.application = std::string(k8s::kAppDir) + "/" + kApplicationFile;
  }

  k8s::ApiService::Options service_options(const conf::KubernetesMaster& master) const {
    const conf::Conf& conf = place_.conf;
    const auto variables = net::environment();
    const conf::Environment environment(variables.begin(), variables.end());
    k8s::ApiService::Options o;
    o.access = conf.get(conf::kKubernetesSubmitInDriver)
                   ? k8s::driver_access(conf, environment, conf::read_file)
                   : k8s::client_access(conf, master.url, "spark.kubernetes.authenticate.",
                                        environment, conf::read_file);
    o.connect_timeout = std::chrono::milliseconds(conf.get(conf::kKubernetesDriverConnectTimeout));
    o.answer_timeout = std::chrono::milliseconds(conf.get(conf::kKubernetesDriverRequestTimeout));
    o.connections = kConnections;
    return o;
  }

  /// Thread: the service's.
  void deliver(k8s::ApiEvent event) {
    {
      net::Lock lock(mutex_);
      delivered_.push_back(std::move(event));
      came_.notify_all();
    }
    place_.loop.post([this] { take_delivered(false); });
  }
  /// `wait`: for one, a little, as the loop does not run while this backend stops.
  void take_delivered(bool wait) {
    std::deque<k8s::ApiEvent> events;
    {
      constexpr Duration kLook = std::chrono::milliseconds(50);
      net::Lock lock(mutex_);
      if (wait && delivered_.empty()) came_.wait_for(lock, kLook);
      events.swap(delivered_);
    }
    for (k8s::ApiEvent& event : events)
      if (shell_) std::visit([this](auto& e) { shell_->feed(std::move(e)); }, event);
  }

  BackendPlace place_;
  std::unique_ptr<net::SocketEndpoint> endpoint_;
  AppId app_;
  std::unique_ptr<k8s::PodManager> manager_;
  std::unique_ptr<Shell<k8s::PodManager, KubernetesBackend>> shell_;
  int exit_code_ = 0;
  bool stopped_ = false;
  net::Mutex mutex_;
  net::Condition came_;
  std::deque<k8s::ApiEvent> delivered_ GUARDED_BY(mutex_);
  std::unique_ptr<k8s::ApiService> service_;
};

}  // namespace

std::unique_ptr<Backend> make_kubernetes_backend(const conf::KubernetesMaster& master,
                                                 BackendPlace place) {
  return std::make_unique<KubernetesBackend>(master, std::move(place));
}

}  // namespace tinderbox::core
