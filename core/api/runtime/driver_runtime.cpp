#include "core/api/runtime/driver_runtime.hpp"

#include <filesystem>
#include <thread>

#include "conf/keys.hpp"
#include "conf/secret.hpp"
#include "conf/sources/allocation_file.hpp"
#include "conf/sources/environment.hpp"
#include "conf/values/custom_resources.hpp"
#include "conf/values/master_url.hpp"
#include "conf/values/resources.hpp"
#include "core/api/runtime/accumulator_table.hpp"
#include "core/api/runtime/driver_options.hpp"
#include "core/api/runtime/failure_options.hpp"
#include "core/api/runtime/job_waiters.hpp"
#include "core/backend/backend.hpp"
#include "core/deploy/s3_access.hpp"
#include "core/executor/app_files.hpp"
#include "core/executor/process_blocks.hpp"
#include "core/executor/task_services.hpp"
#include "core/plan/program.hpp"
#include "core/resources/discovery.hpp"
#include "core/scheduler/driver.hpp"
#include "core/shell.hpp"
#include "core/status/exit_codes.hpp"
#include "core/status/status_listener.hpp"
#include "net/http/url.hpp"
#include "net/names.hpp"
#include "net/process/elf.hpp"
#include "net/process/environment.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::core {
namespace {

/// So long main has to return after a signal.
constexpr Duration kMainsGrace = std::chrono::seconds(5);

std::string host_of(const conf::Conf& conf) {
  const auto bound = conf.get(conf::kDriverBindAddress);
  // A pod's address needs no name server, and is there before its service is.
  if (bound && conf.get(conf::kKubernetesSubmitInDriver) && conf.get(conf::kKubernetesDriverPodIp))
    return *bound;
  if (auto host = conf.get(conf::kDriverHost)) return *host;
  if (conf.get(conf::kMaster).starts_with("local")) return "127.0.0.1";
  return conf.get(conf::kLocalIp).value_or(net::local_host_address());
}

constexpr const char* kAfterTheEnd = "SparkContext has been shutdown";

size_t retained(const conf::Conf& conf, const conf::Key<int>& key) {
  return static_cast<size_t>(std::max(0, conf.get(key)));
}

ProgramCodec program_codec() {
  return {[](const Node& root, const Descriptor* terminal, std::string_view captured) {
            return encode_program(root, terminal, captured);
          },
          [](const Node& root, int32_t p) { return encode_inputs(root, p); }};
}

/// The driver asks itself nothing: its own services never send.
struct NoLink final : DriverLink {
  void send(ToDriver) override {}
};

class RealDriverRuntime final : public DriverRuntime {
 public:
  RealDriverRuntime(conf::Conf conf, std::vector<std::shared_ptr<Listener>> listeners)
      : conf_(std::move(conf)),
        host_(net::without_brackets(host_of(conf_))),
        loop_(net::make_poll_loop()),
        bus_(bus_options()) {
    bus_.add(status_);
    for (auto& listener : listeners) bus_.add(std::move(listener));
    bus_.start();
  }
  ~RealDriverRuntime() override { stop(); }

  void open(bool signals) {
    // From here on there is something to remove at the end.
    if (signals)
      signals_ = std::make_unique<net::StopSignals>(*loop_, [this](int n) { signalled(n); });
    check_own_program();
    read_pools();
    check_driver_settings(conf_, local_threads(conf_.get(conf::kMaster)));
    for (const std::string& line : check_default_profile(conf_))
      net::log(net::Level::Warn, "Driver", line);
    if (conf_.get(conf::kLogConf)) log_settings();
    try {
      open_blocks();
      find_own_resources();
      backend_ = make_backend(conf_.get(conf::kMaster), place());
    } catch (const conf::Error&) {
      // The loop, which would hear of the signal, does not run yet.
      if (signals && net::stop_asked()) throw StoppedBySignal{net::stop_signal()};
      throw;
    }
    board_ = std::make_unique<Switchboard>(backend_->endpoint());
    loop_->post([this] { backend_->start(*board_); });
    thread_ = std::thread([this] { loop_->run(); });
    wait_for_registration();
    told_ = conf_.with(conf::kAppId, app_.value);
    wait_for_executors();
  }

  // ---- Runtime: user threads ----

  void run_job(JobRequest job, const OnResult& on_result) override {
    uint64_t ticket = job.ticket = waiters_.open();
    post(SubmitJob{std::move(job)});
    std::exception_ptr thrown;
    for (bool ended = false; !ended;) {
      JobWaiters::Taken taken = wait(ticket);
      for (DeliverResult& r : taken.results) {
        if (thrown) break;
        try {
          on_result(r.position, std::move(r.value));
        } catch (...) {
          thrown = std::current_exception();
          post(CancelJob{ticket, "because its result could not be used"});
        }
      }
      ended = taken.ended;
      if (ended && !thrown && !taken.error.empty()) throw JobFailed(taken.error);
    }
    if (thrown) std::rethrow_exception(thrown);
    // The listeners learn of the end later than the application, which may print now.
    net::show_status_line({});
  }
  int32_t default_parallelism() const override {
    if (auto n = conf_.get(conf::kDefaultParallelism)) return *n;
    int32_t known = backend_ ? backend_->known_cores() : 0;  // none: after the end
    return known > 0 ? known : std::max(2, cores_.load());
  }
  const conf::Conf& conf() const override { return told_; }
  const ResourceAddresses& resources() const override { return resources_; }
  net::Files& files() override { return *blocks_->files; }

  void put_broadcast(BroadcastId id, Payload value) override {
    Result<bool> made = services_->create_broadcast(id, std::move(value));
    if (!made) throw JobFailed(made.error().message);
  }
  void remove_broadcast(BroadcastId id, bool keep_on_driver) override {
    // A local executor shares the driver's blocks: there is nothing to free but all of it.
    if (!keep_on_driver || !backend_ || !backend_->local_executor()) post(DestroyBroadcast{id});
    if (!keep_on_driver) services_->on_driver_message(RemoveBroadcast{id});
  }
  void unpersist(RddId id) override { post(UnpersistRdd{id}); }
  void forget_shuffle(ShuffleId id) override { post(ForgetShuffle{id}); }
  void checkpointed(const NodePtr& rdd) override { post(CheckpointDone{rdd}); }
  void register_accumulator(AccumulatorId id, const std::string& name, MergeAccumulator merge,
                            ShowAccumulator show) override {
    accumulators_.add(id, name, std::move(merge), std::move(show));
  }
  void forget_accumulator(AccumulatorId id, const std::string& last) override {
    accumulators_.forget(id, last);
  }
  void add_file(const std::string& path, bool archive) override {
    if (!backend_) throw JobFailed(kAfterTheEnd);
    const std::string url = conf::resolve_uri(path, std::filesystem::current_path().string());
    std::optional<std::string> shipped;  // none: it was before
    if (!backend_->local_executor())
      shipped = hand_out_app_file(url, archive, conf_, *blocks_->manager, blocks_->id.address);
    else if (check_app_file(url, archive, conf_, *blocks_->manager))
      shipped = url;
    if (!shipped)
      return net::log(net::Level::Warn, "Driver",
                      net::shown_url(url) + " was added before: executors keep what they have");
    post(ShipFiles{archive ? AddFiles{{}, {*shipped}} : AddFiles{{*shipped}, {}}});
  }
  void add_listener(std::shared_ptr<Listener> listener) override { bus_.add(std::move(listener)); }
  const StatusTracker& status() const override { return *status_; }
  void cancel_job_group(const std::string& group, bool future) override {
    post(CancelJobGroup{group, future});
  }
  void cancel_jobs_with_tag(const std::string& tag) override { post(CancelJobsWithTag{tag}); }
  void cancel_job(JobId job, const std::string& reason) override {
    post(CancelJobById{job, reason});
  }
  void cancel_stage(StageId stage, const std::string& reason) override {
    post(CancelStage{stage, reason});
  }
  void kill_task_attempt(TaskId task, bool interrupt, const std::string& reason) override {
    post(KillTaskAttempt{task, interrupt, reason});
  }
  void cancel_all_jobs() override { post(CancelAllJobs{}); }
  bool request_executors(int32_t executors, bool in_all) override {
    return scale({waiters_.open(), executors, in_all, {}});
  }
  bool kill_executors(const std::vector<ExecutorId>& executors) override {
    return scale({waiters_.open(), 0, false, executors});
  }

  // ---- DriverRuntime ----

  bool stop() override {
    if (!thread_.joinable()) return !backend_;
    bool all_over = true;
    post(StopDriver{});
    loop_->post([this, &all_over] {
      exit_code_ = backend_->exit_code();
      all_over = backend_->stop();
      signals_.reset();
      shared_.reset();
      loop_->stop();
    });
    thread_.join();
    waiters_.close(kAfterTheEnd);
    services_->stop("the driver stops");
    bus_.post(ListenerEvent(ApplicationEnded{loop_->now()}));
    bus_.stop();
    blocks_->manager->remove_directories();
    if (!all_over) return false;
    shell_.reset();
    board_.reset();
    backend_.reset();
    return true;
  }
  const AppId& app_id() const override { return app_; }
  net::Loop& loop() override { return *loop_; }
  int exit_code() const override { return exit_code_; }
  int stop_signal() const override { return signal_; }

  // ---- effects: the loop's thread ----

  void apply(DeliverResult& e) { waiters_.put(std::move(e)); }
  void apply(DeliverJobEnd& e) { waiters_.put(std::move(e)); }
  void apply(const ApplyAccumulators& e) { waiters_.put(e); }
  void apply(Publish& e) {
    for (const ListenerEvent& event : e.events) {
      if (auto* joined = std::get_if<ExecutorJoined>(&event)) {
        executor_joined(*joined);
        backend_->joined(joined->executor);
      }
      if (auto* removed = std::get_if<ExecutorRemoved>(&event)) {
        executor_left(removed->executor);
        backend_->left(removed->executor);
      }
    }
    if (events_.empty()) return events_.swap(e.events);
    std::move(e.events.begin(), e.events.end(), std::back_inserter(events_));
  }
  void apply(const FetchResult& e) {
    blocks_->transfer->fetch_async({.from = e.from, .block = e.block, .size = e.size},
                                   [this, task = e.task](Result<Payload> bytes) {
                                     post(ResultFetched{task, std::move(bytes)});
                                   });
  }
  void apply(const SendShared& e) {
    if (e.message != shared_) shared_packet_ = net::encode(*e.message);
    shared_ = e.message;
    board_->endpoint().send(e.to, shared_packet_);
  }
  void apply(const RequestTotalExecutors& e) {
    if (auto total = e.totals.find(kDefaultProfile); total != e.totals.end())
      backend_->want(total->second, e.profiles, e.local_tasks);
  }
  void apply(const KillBackendExecutor& e) { backend_->kill(e.executor); }
  void apply(const DecommissionBackendExecutor& e) { backend_->decommissioned(e.executor); }
  void apply(const NameBackendExecutor& e) { backend_->named(e.executor, e.pod); }
  void end_of_turn() {
    waiters_.end_of_updates();
    if (!events_.empty()) bus_.post(std::exchange(events_, {}));
    waiters_.end_of_turn();
  }

 private:
  void log_settings() const {
    for (const auto& [name, value] : conf_.pairs())
      net::log(net::Level::Info, "Context", name + "=" + conf::redact(conf_, name, value));
  }
  /// Whether anything came of it.
  bool scale(ScaleExecutors order) {
    const uint64_t ticket = order.ticket;
    post(std::move(order));
    return wait(ticket).error.empty();
  }
  JobWaiters::Taken wait(uint64_t ticket) {
    return waiters_.wait(ticket, [this](const std::vector<AccumulatorUpdate>& updates) {
      accumulators_.merge(updates);
    });
  }
  void post(DriverEvent event) {
    auto shared = std::make_shared<DriverEvent>(std::move(event));
    loop_->post([this, shared] {
      const auto* dead = std::get_if<BackendDead>(shared.get());
      if (dead) backend_is_dead(dead->reason);
      if (shell_)
        shell_->feed(std::move(*shared));
      else if (!dead)
        early_.push_back(std::move(*shared));
    });
  }

  ListenerBus::Options bus_options() {
    ListenerBus::Options o;
    o.capacity = static_cast<size_t>(std::max(0, conf_.get(conf::kListenerQueueCapacity)));
    o.warn = [](const std::string& line) { net::log(net::Level::Warn, "ListenerBus", line); };
    o.now = [loop = loop_.get()] { return loop->now(); };
    o.before_batch = [this] {
      waiters_.merge_now(
          [this](const std::vector<AccumulatorUpdate>& updates) { accumulators_.merge(updates); });
    };
    return o;
  }

  /// Executors are told by it that they run the same code.
  static void check_own_program() {
    if (!net::own_build_id().empty()) return;
    const Result<net::ElfInfo> program = net::read_application(net::own_path());
    throw conf::Error(program ? "this program has no build id" : program.error().message);
  }

  /// Jobs that run fail with this; the user's thread goes on with that.
  void signalled(int number) {
    post(StopDriver{"the driver received signal " + std::to_string(number)});
    net::Lock lock(registration_mutex_);
    signal_ = number;
    registration_.notify_all();
    loop_->after(kMainsGrace, [this, number] { end_without_main(number); });
  }

  /// Main computes on and asks for nothing, so it never hears that all is over. A JVM would not
  /// wait for it.
  [[noreturn]] void end_without_main(int signal) {
    if (backend_) backend_->stop();
    if (blocks_) blocks_->manager->remove_directories();
    net::exit_now(kExitSignalBase + signal);
  }

  void read_pools() {
    const std::map<std::string, std::string> variables = net::environment();
    pools_ = conf::pool_settings(conf_, {variables.begin(), variables.end()}, conf::read_file);
    for (const std::string& line : pools_.notes) net::log(net::Level::Info, "Pools", line);
    for (const std::string& line : pools_.warnings) net::log(net::Level::Warn, "Pools", line);
  }

  std::string bind_host() const {
    const std::string host = conf_.get(conf::kDriverBindAddress).value_or(host_);
    if (const auto found = net::resolve(host); !found)
      throw conf::Error("The driver's address (spark.driver.host, spark.driver.bindAddress): " +
                        found.error().message);
    return host;
  }

  void open_blocks() {
    ProcessBlocksOptions o;
    // The id that the application will be given may be another one than the user's.
    o.conf = conf_.without(conf::kAppId.spec.name);
    o.self = {"driver"};
    o.host = host_;
    o.bind_host = bind_host();
    o.port = conf_.get(conf::kDriverBlockManagerPort);
    o.network = !local_threads(conf_.get(conf::kMaster));
    o.memory = conf_.get(conf::kDriverMemory);
    auto opened = ProcessBlocks::open(
        o, [this](std::vector<BlockUpdate> updates) { blocks_moved(std::move(updates)); });
    if (!opened) throw NoLocalDirectory(opened.error().message);
    blocks_ = std::move(*opened);
    if (Result<bool> listening = blocks_->listen(o); !listening)
      throw conf::Error(listening.error().message);
    if (o.network) log_skipped_dirs();
    file_properties_ = o.network ? hand_out_app_files(conf_, *blocks_->manager, blocks_->id.address)
                                 : check_app_files(conf_, *blocks_->manager);
    ExecutorServicesOptions services = executor_services_options(conf_);
    services.self = blocks_->id;
    services.ask_timeout = {};  // who is asked is this process
    services_ =
        std::make_unique<ExecutorServices>(services, *blocks_->manager, *blocks_->transfer, link_);
  }
  /// A local executor, which shares them, tells of them itself.
  void log_skipped_dirs() const {
    for (const std::string& line : blocks_->manager->skipped_dirs())
      net::log(net::Level::Warn, "Driver", line);
  }
  void find_own_resources() {
    std::map<std::string, ExecutorResource> wanted;
    for (const auto& [name, setting] : conf::resource_settings(conf_, conf::ResourceOwner::kDriver))
      wanted[name] = {setting.amount, setting.discovery_script};
    Result<ResourceAddresses> found =
        find_resources(*blocks_->files, conf::component_of(conf::ResourceOwner::kDriver), wanted,
                       conf_.get(conf::kDriverResourcesFile));
    if (!found) throw conf::Error(found.error().message);
    resources_ = std::move(*found);
    if (!resources_.empty())
      net::log(net::Level::Info, "Driver",
               "Custom resources for spark.driver: " + show_resources(resources_));
  }
  /// Executors find the driver's own blocks without the table; only a local executor's count in it.
  void blocks_moved(std::vector<BlockUpdate> updates) {
    if (PeerId self = backend_ ? backend_->local_executor() : 0)
      post(Received<ToDriver>{self, BlockUpdates{{"driver"}, std::move(updates)}});
  }
  /// Of an executor in this process; none: executors have processes of their own.
  static std::optional<int32_t> local_threads(const std::string& master) {
    const conf::MasterUrl url = conf::parse_master_url(master);
    const auto* local = std::get_if<conf::LocalMaster>(&url);
    if (!local) return {};
    return local->threads.value_or(net::available_processors());
  }

  BackendPlace place() {
    return {.loop = *loop_,
            .conf = conf_,
            .app_name = conf_.get(conf::kAppName).value_or(""),
            .build_id = net::own_build_id(),
            .code_hash = net::own_code_hash(),
            .blocks = blocks_.get(),
            .host = host_,
            .post = [this](DriverEvent e) { post(std::move(e)); },
            .registered = [this](AppId app) { registered(std::move(app)); }};
  }

  /// The machine exists from now on; what came before waits no longer. Thread: the loop's.
  void registered(AppId app) {
    DriverOptions options = driver_options(conf_, *backend_, app);
    options.build_id = net::own_build_id();
    options.code_hash = net::own_code_hash();
    options.driver_block_address = blocks_->id.address;
    options.scheduling_mode = pools_.mode;
    options.pools = pools_.pools;
    for (auto& [name, value] : file_properties_) options.properties[name] = value;
    const std::map<std::string, std::string> variables = net::environment();
    options.properties.merge(s3_keys_of({variables.begin(), variables.end()}, conf_));
    driver_ = std::make_unique<Driver>(std::move(options), program_codec());
    shell_ = std::make_unique<Shell<Driver, RealDriverRuntime>>(*loop_, *board_, *driver_, *this,
                                                                "Driver");
    shell_->listen<ToDriver>();
    shell_->listen_losses();
    bus_.post(ListenerEvent(ApplicationStarted{conf_.get(conf::kAppName).value_or(""), app,
                                               net::user_name(), loop_->now()}));
    shell_->feed(StartDriver{});
    for (DriverEvent& event : std::exchange(early_, {})) shell_->feed(std::move(event));
    net::Lock lock(registration_mutex_);
    app_ = std::move(app);
    registration_.notify_all();
  }

  void backend_is_dead(const std::string& reason) {
    net::Lock lock(registration_mutex_);
    backend_dead_ = reason;
    registration_.notify_all();
  }

  void wait_for_registration() {
    net::Lock lock(registration_mutex_);
    while (app_.value.empty() && backend_dead_.empty() && !signal_) registration_.wait(lock);
    if (signal_) throw StoppedBySignal{signal_};
    if (app_.value.empty()) throw conf::Error(backend_dead_);
  }

  /// Source: Spark TaskSchedulerImpl.waitBackendReady, StandaloneSchedulerBackend.
  void wait_for_executors() {
    double wanted = backend_->cores_to_begin();
    if (const auto ratio = conf_.get(conf::kSchedulerMinRegisteredRatio); wanted == 0 && ratio)
      wanted = std::min(1.0, *ratio) * conf_.get(conf::kCoresMax).value_or(0);
    if (backend_->is_local() || wanted <= 0) return;
    loop_->post([this, longest = conf_.get(conf::kSchedulerMaxRegisteredWait)] {
      loop_->after(longest, [this] {
        net::Lock lock(registration_mutex_);
        waited_long_ = true;
        registration_.notify_all();
      });
    });
    net::Lock lock(registration_mutex_);
    while (cores_ < wanted && !waited_long_ && !signal_ && backend_dead_.empty())
      registration_.wait(lock);
    if (signal_) throw StoppedBySignal{signal_};
    if (!backend_dead_.empty()) return;  // the first job is told why
    net::log(net::Level::Info, "Driver",
             "Ready for scheduling after reaching " +
                 std::string(waited_long_ ? conf::kSchedulerMaxRegisteredWait.spec.name
                                          : conf::kSchedulerMinRegisteredRatio.spec.name));
  }
  void executor_joined(const ExecutorJoined& e) {
    net::Lock lock(registration_mutex_);
    if (cores_of_.emplace(e.executor, e.cores).second) cores_ += e.cores;
    registration_.notify_all();
  }
  /// It may never have joined.
  void executor_left(const ExecutorId& executor) {
    net::Lock lock(registration_mutex_);
    if (const auto gone = cores_of_.extract(executor)) cores_ -= gone.mapped();
  }

  const conf::Conf conf_;
  conf::Conf told_;  // to the application: with the id that it was given
  const std::string host_;
  std::unique_ptr<net::PollLoop> loop_;
  JobWaiters waiters_;
  AccumulatorTable accumulators_{
      [](const std::string& line) { net::log(net::Level::Warn, "Accumulators", line); }};
  const std::shared_ptr<StatusListener> status_ = std::make_shared<StatusListener>(
      retained(conf_, conf::kUiRetainedJobs), retained(conf_, conf::kUiRetainedStages),
      [this](AccumulatorId id) { return accumulators_.named(id); });
  ListenerBus bus_;  // merges what waits for waiters_ before it delivers
  NoLink link_;
  std::unique_ptr<ProcessBlocks> blocks_;
  std::unique_ptr<ExecutorServices> services_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Switchboard> board_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Shell<Driver, RealDriverRuntime>> shell_;
  std::unique_ptr<net::StopSignals> signals_;
  std::map<std::string, std::string> file_properties_;
  conf::PoolSettings pools_;
  ResourceAddresses resources_;
  std::vector<DriverEvent> early_;
  std::vector<ListenerEvent> events_;
  std::shared_ptr<const ToExecutor> shared_;  // what shared_packet_ is
  net::Packet shared_packet_;
  std::atomic<int32_t> cores_{0};  // those of cores_of_, in all
  std::atomic<int> exit_code_{0};
  net::Mutex registration_mutex_;
  std::map<ExecutorId, int32_t> cores_of_ GUARDED_BY(registration_mutex_);
  std::string backend_dead_ GUARDED_BY(registration_mutex_);
  bool waited_long_ GUARDED_BY(registration_mutex_) = false;
  std::atomic<int> signal_{0};  // changes under registration_mutex_
  net::Condition registration_;
  AppId app_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<DriverRuntime> DriverRuntime::start(
    conf::Conf conf, std::vector<std::shared_ptr<Listener>> listeners, bool signals) {
  auto runtime = std::make_unique<RealDriverRuntime>(std::move(conf), std::move(listeners));
  runtime->open(signals);
  return runtime;
}

}  // namespace tinderbox::core
