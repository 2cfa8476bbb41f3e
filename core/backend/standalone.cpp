// spark://host:port[,…]: executors that a standalone master gives.
#include "core/backend/standalone.hpp"
#include "conf/keys.hpp"
#include "conf/values/custom_resources.hpp"
#include "core/backend/application_file.hpp"
#include "core/deploy/client/app_client.hpp"
#include "core/scheduler/allocation/options.hpp"
#include "net/process/elf.hpp"
#include "net/process/environment.hpp"

namespace tinderbox::core {
namespace {

class StandaloneBackend final : public Backend {
 public:
  StandaloneBackend(std::vector<std::string> masters, BackendPlace place, int32_t known_cores)
      : place_(std::move(place)),
        known_cores_(known_cores),
        masters_(std::move(masters)),
        endpoint_(net::make_socket_endpoint(place_.loop)) {
    net::Listen where;
    where.host = place_.conf.get(conf::kDriverBindAddress).value_or(place_.host);
    where.port = place_.conf.get(conf::kDriverPort);
    where.retries = place_.conf.get(conf::kPortMaxRetries);
    where.max_message_bytes = place_.conf.get(conf::kRpcMessageMaxSize);
    Result<int> port = endpoint_->listen(where);
    if (!port) throw conf::Error("driver: " + port.error().message);
    address_ = conf::to_string({place_.host, static_cast<uint16_t>(*port)});
    application_ = hand_out_application(*place_.blocks);
  }

  net::Endpoint& endpoint() override { return *endpoint_; }
  int32_t known_cores() const override { return known_cores_; }

  void start(Switchboard& board) override {
    client_ = std::make_unique<AppClient>(client_options());
    shell_ = std::make_unique<Shell<AppClient, StandaloneBackend>>(place_.loop, board, *client_,
                                                                   *this, "AppClient");
    shell_->listen<ToApp>();
    shell_->listen_losses();
    shell_->feed(StartApp{});
  }
  void want(int32_t executors, std::vector<ProfileRequest> profiles, const HostTasks&) override {
    shell_->feed(WantExecutors{executors, std::move(profiles)});
  }
  void kill(const ExecutorId& executor) override { shell_->feed(EndExecutors{{executor}}); }
  bool stop() override {
    if (shell_) shell_->feed(StopApp{});
    return true;
  }

  void apply(const AppRegistered& e) {
    net::log(net::Level::Info, "Standalone",
             "Connected to Spark cluster with app ID " + e.app.value);
    place_.registered(e.app);
  }
  void apply(const AppDead& e) { place_.post(BackendDead{e.reason}); }
  void apply(const ExecutorGranted& e) {
    net::log(net::Level::Info, "Standalone",
             "Granted executor " + e.executor.value + " on " + e.host_port + " with " +
                 std::to_string(e.cores) + " core(s), " + std::to_string(e.memory_mib) + " MiB");
  }
  void apply(const ExecutorGone& e) {
    place_.post(BackendExecutorExited{e.executor, e.exit_code, e.message, e.worker_host});
  }
  void apply(const ExecutorCondemned& e) {
    place_.post(BackendExecutorDecommissioned{e.executor, e.message, e.worker_host});
  }
  void apply(const WorkerGone& e) { place_.post(BackendWorkerRemoved{e.host, e.message}); }
  void apply(const SchedulingReason& e) { place_.post(BackendStatus{e.reason}); }

 private:
  AppClientOptions client_options() const {
    AppClientOptions o;
    o.masters = masters_;
    o.driver_address = address_;
    o.user = net::user_name();
    o.registration_timeout = place_.conf.get(conf::kAppRegistrationTimeout);
    o.registration_attempts = place_.conf.get(conf::kAppRegistrationAttempts);
    ApplicationDescription& d = o.description;
    d.name = place_.app_name;
    d.max_cores = place_.conf.get(conf::kCoresMax);
    d.memory_per_executor_mib = place_.conf.get(conf::kExecutorMemory) >> 20;
    d.cores_per_executor = place_.conf.get(conf::kExecutorCores);
    for (const auto& [name, setting] :
         conf::resource_settings(place_.conf, conf::ResourceOwner::kExecutor))
      d.resources_per_executor[name] = setting.amount;
    // The first request says how many; until then none.
    if (dynamic_allocation(place_.conf)) d.initial_executor_limit = 0;
    d.user = o.user;
    d.command = executor_command();
    return o;
  }
  /// Source: Spark StandaloneSchedulerBackend.start.
  Command executor_command() const {
    Command c;
    c.elf = application_;
    c.build_id = place_.build_id;
    c.arguments = executor_arguments(address_);
    for (const auto& [name, value] : place_.conf.with_prefix("spark.executorEnv."))
      c.environment[name] = value;
    c.environment["SPARK_USER"] = net::user_name();
    c.environment["SPARK_EXECUTOR_MEMORY"] =
        std::to_string(place_.conf.get(conf::kExecutorMemory) >> 20) + "m";
    c.environment.emplace("OMP_NUM_THREADS", std::to_string(place_.conf.get(conf::kTaskCpus)));
    return c;
  }

  BackendPlace place_;
  int32_t known_cores_;
  std::vector<std::string> masters_;
  std::unique_ptr<net::SocketEndpoint> endpoint_;
  std::string address_, application_;
  std::unique_ptr<AppClient> client_;
  std::unique_ptr<Shell<AppClient, StandaloneBackend>> shell_;
};

}  // namespace

std::unique_ptr<Backend> make_standalone_backend(std::vector<std::string> masters,
                                                 BackendPlace place, int32_t known_cores) {
  return std::make_unique<StandaloneBackend>(std::move(masters), std::move(place), known_cores);
}

std::unique_ptr<Backend> make_standalone_backend(const conf::StandaloneMaster& master,
                                                 BackendPlace place) {
  std::vector<std::string> masters;
  for (const conf::HostPort& m : master.masters) masters.push_back(conf::to_url(m));
  return make_standalone_backend(std::move(masters), std::move(place), 0);
}

}  // namespace tinderbox::core
