#include "core/executor/executor_service.hpp"

#include "conf/keys.hpp"
#include "conf/values/custom_resources.hpp"
#include "core/executor/app_files.hpp"
#include "core/executor/held_orders.hpp"
#include "core/executor/task_reaper.hpp"
#include "core/executor/task_runner.hpp"
#include "core/executor/task_services.hpp"
#include "core/resources/discovery.hpp"
#include "core/shell.hpp"
#include "core/status/exit_codes.hpp"
#include "net/mutex.hpp"
#include "net/process/crash_watch.hpp"
#include "net/process/environment.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::core {
namespace {

constexpr Duration kReportRunning = std::chrono::milliseconds(20);
/// For the last message to leave before a process that is given up ends.
constexpr Duration kLastWords = std::chrono::milliseconds(200);

/// Source: Spark Executor.isFatalError, for which an executor ends.
bool out_of_memory(const TaskUpdate& u) {
  return u.state == TaskState::Failed && u.reason && u.reason->out_of_memory;
}
/// For killed tasks to touch a record when the executor ends. Spark's do not outlive its JVM at
/// all.
constexpr Duration kTasksEnd = std::chrono::seconds(1);
/// For a fetch of shipped files to see that it is cancelled: one whose server is silent does not.
constexpr std::chrono::milliseconds kFetchEnds = std::chrono::seconds(1);

conf::Conf merge(conf::Conf startup, const std::map<std::string, std::string>& properties) {
  for (const auto& [name, value] : properties) startup = startup.with(name, value);
  return startup;
}

/// What TaskRunner::kill tells of a task that had not begun.
TaskUpdate killed(const KillTask& kill) {
  TaskEndReason reason;
  reason.kind = TaskEndKind::TaskKilled;
  reason.description = kill.reason;
  TaskUpdate update;
  update.id = kill.id;
  update.state = TaskState::Killed;
  update.reason = std::move(reason);
  return update;
}

}  // namespace

class ExecutorService::Impl final : public DriverLink {
 public:
  Impl(net::PollLoop& loop, net::Endpoint& endpoint, ExecutorServiceOptions options, OnExit on_exit)
      : loop_(loop),
        options_(std::move(options)),
        on_exit_(std::move(on_exit)),
        board_(endpoint),
        machine_(options_.executor),
        shell_(loop, board_, machine_, *this, "Executor") {
    shell_.listen<ToExecutor>();
    shell_.listen_losses();
  }
  ~Impl() override {
    if (services_) services_->stop("the executor stops");
    if (runner_) runner_->stop();
  }
  bool stop() {
    if (services_) services_->stop("the executor stops");
    const bool fetched = !fetcher_ || fetcher_->stop_within(kFetchEnds);
    if ((!runner_ || runner_->stop_within(kTasksEnd)) && fetched) return true;
    remove_own_blocks();
    return false;
  }

  void start() { shell_.feed(StartExecutor{}); }
  void request_stop(int code, std::string reason) {
    shell_.post(StopRequested{code, std::move(reason)});
  }

  /// Thread: any; a task body asks the driver.
  void send(ToDriver message) override { shell_.post(ServiceRequest{std::move(message)}); }

  void apply(const BuildServices& e) {
    conf_ = merge(options_.startup, e.config.properties);
    shell_.feed(build(e.config));
  }
  void apply(KeepProgram& e) { after_files(std::move(e)); }
  void apply(const DropProgram& e) { after_files(e); }
  void apply(StartTasks& e) {
    // They may be had by now.
    for (const AddFiles& files : held_.take_missing()) add_files(files);
    after_files(std::move(e));
  }
  void apply(const StopTask& e) {
    if (!held_.take_back({e.kill.id}).empty()) return shell_.feed(TasksMoved{{killed(e.kill)}});
    runner_->kill(e.kill);
    if (reaping_) reaping_->shell.feed(e.kill);
  }
  void apply(const LookAtTask& e) {
    const std::vector<TaskId> running = runner_->running();
    reaping_->shell.feed(
        TaskSeen{e.task, std::find(running.begin(), running.end(), e.task) != running.end()});
  }
  void apply(const GiveUpProcess& e) { give_up(e.code, e.reason, {}); }
  /// A task thread never ends: nothing is joined.
  void give_up(int32_t code, const std::string& reason, TaskId culprit) {
    net::log(net::Level::Error, "Executor", reason);
    shell_.feed(ServiceRequest{ExecutorExiting{options_.executor.id, code, reason, culprit}});
    loop_.after(kLastWords, [this, code] {
      remove_own_blocks();
      net::exit_now(code);
    });
  }
  void apply(const TakeBack& e) {
    std::vector<TaskId> revoked = runner_->revoke(e.tasks);
    const std::vector<TaskId> held = held_.take_back(e.tasks);
    revoked.insert(revoked.end(), held.begin(), held.end());
    shell_.feed(RevokeAnswered{std::move(revoked)});
  }
  void apply(const ForServices& e) {
    if (std::holds_alternative<HeartbeatAnswer>(e.message))
      shell_.feed(BlocksMoved{blocks_->manager->state()});
    else if (auto* files = std::get_if<AddFiles>(&e.message))
      add_files(*files);
    else if (auto* take = std::get_if<TakeBlock>(&e.message))
      blocks_->transfer->take(
          *take, [this](BlockTaken taken) { shell_.post(ServiceRequest{std::move(taken)}); });
    else
      services_->on_driver_message(e.message);
  }
  void apply(const MeasureAndBeat&) {
    shell_.feed(ServiceRequest{
        ExecutorHeartbeat{options_.executor.id, net::resident_bytes(), runner_->progress()}});
  }
  void apply(const Exit& e) {
    if (services_) services_->stop(e.reason);
    on_exit_(e.code, e.reason);
  }

 private:
  void remove_own_blocks() {
    if (own_blocks_) own_blocks_->manager->remove_directories();
  }

  ServicesBuilt build(const ApplicationConfig& e) {
    ServicesBuilt built = services_built(conf_);
    if (!e.executor.value.empty()) options_.executor.id = e.executor;
    task_cpus_ = std::max(1, e.task_cpus > 0 ? e.task_cpus : conf_.get(conf::kTaskCpus));
    Result<ResourceAddresses> resources = find_own_resources(e);
    if (!resources) return not_built(resources.error());
    built.resources = std::move(*resources);
    if (!open_blocks(built)) return built;
    files_root_ = options_.shared_blocks ? blocks_->manager->local_dirs().front() + "/files" : ".";
    if (Result<bool> got = fetch_app_files(app_files(conf_), conf_, files_root_); !got)
      return not_built(got.error());
    for (const std::string& line : blocks_->manager->skipped_dirs())
      net::log(net::Level::Warn, "Executor", line);
    ExecutorServicesOptions services = executor_services_options(conf_);
    services.self = blocks_->id;
    services.driver = {{"driver"}, "", e.driver_block_address};
    services.properties = e.properties;
    services.properties[kFilesRoot] = files_root_;
    services.seed = options_.executor.seed;
    if (options_.shared_blocks) services.max_message_size = 0;  // none goes over a socket
    services_ =
        std::make_unique<ExecutorServices>(services, *blocks_->manager, *blocks_->transfer, *this);
    try {
      start_runner();
    } catch (const std::runtime_error& e) {
      return not_built(Error{e.what()});
    }
    make_fetcher();
    watch_killed_tasks();
    watch_for_decommission();
    watch_for_crashes();
    built.ok = true;
    built.block_address = blocks_->id.address;
    built.local_dirs = blocks_->manager->local_dirs();
    return built;
  }

  /// A signal that came meanwhile is why: the loop has not heard of it yet.
  ServicesBuilt not_built(const Error& why) const {
    ServicesBuilt built;
    const int signal = options_.shared_blocks ? 0 : net::stop_signal();
    built.exit_code = signal ? kExitSignalBase + signal : kExitFailure;
    built.error = signal ? "received signal " + std::to_string(signal) : why.message;
    return built;
  }

  Result<ResourceAddresses> find_own_resources(const ApplicationConfig& e) const {
    if (e.resources.empty()) return ResourceAddresses{};
    const auto files = net::make_real_files();
    Result<ResourceAddresses> found =
        find_resources(*files, conf::component_of(conf::ResourceOwner::kExecutor), e.resources,
                       options_.executor.resources_file);
    if (found)
      net::log(net::Level::Info, "Executor", "Custom resources: " + show_resources(*found));
    return found;
  }

  void make_fetcher() {
    FetchFiles fetch = options_.fetch_files;
    if (!fetch)
      fetch = [conf = conf_, root = files_root_](const AddFiles& files,
                                                 const std::atomic<bool>& cancelled) {
        return fetch_app_files(files, conf, root, &cancelled);
      };
    fetcher_ = std::make_unique<FileFetcher>(std::move(fetch), [this](Result<bool> got) {
      loop_.post([this, got = std::move(got)] { files_came(got); });
    });
  }

  /// Beside the loop, which hears and tells of running tasks meanwhile. Source: Spark
  /// Executor.updateDependencies, which delays only tasks that wait for it.
  void add_files(const AddFiles& files) {
    held_.files_ordered(files);
    fetcher_->add(files);
  }
  void files_came(const Result<bool>& got) {
    if (!got) net::log(net::Level::Error, "Executor", got.error().message);
    HeldOrders::Released released = held_.files_came(got);
    for (HeldOrders::Order& order : released.orders) carry_out(order);
    if (!released.failed.empty()) shell_.feed(TasksMoved{std::move(released.failed)});
  }
  void after_files(HeldOrders::Order order) {
    if (held_.holds()) return held_.hold(std::move(order));
    carry_out(order);
  }
  void carry_out(HeldOrders::Order& order) {
    std::visit([this](auto& e) { begin(e); }, order);
  }
  void begin(const KeepProgram& e) { runner_->keep_program(e.program); }
  void begin(const DropProgram& e) {
    runner_->forget_program(e.program);
    services_->forget_program(e.program);
  }
  void begin(StartTasks& e) {
    // Tasks of a profile that runs here beside the executor's own.
    if (e.launch.cpus < task_cpus_)
      runner_->grow(options_.executor.cores / std::max(1, e.launch.cpus));
    runner_->start(std::move(e.launch));
    report_running_later();
  }

  /// False: `built` says why not.
  bool open_blocks(ServicesBuilt& built) {
    if (options_.shared_blocks) {
      blocks_ = options_.shared_blocks;
      return true;
    }
    ProcessBlocksOptions o;
    o.conf = conf_;
    o.self = options_.executor.id;
    o.host = options_.executor.host;
    o.bind_host = options_.bind_host;
    o.port = conf_.get(conf::kBlockManagerPort);
    o.memory = conf_.get(conf::kExecutorMemory);
    auto opened = ProcessBlocks::open(
        o, [this](std::vector<BlockUpdate> updates) { blocks_moved(std::move(updates)); });
    if (!opened) {
      built.exit_code = kExitDiskStoreFailure;
      built.error = opened.error().message;
      return false;
    }
    own_blocks_ = std::move(*opened);
    blocks_ = own_blocks_.get();
    if (Result<bool> listening = blocks_->listen(o); !listening) {
      built.exit_code = kExitFailure;
      built.error = listening.error().message;
      return false;
    }
    return true;
  }

  /// A process of its own only: in local mode the signal is the application's.
  void watch_for_decommission() {
    if (options_.shared_blocks || !conf_.get(conf::kDecommissionEnabled)) return;
    const std::string name = conf_.get(conf::kDecommissionSignal);
    auto watch =
        net::SignalWatch::make(loop_, name, [this] { shell_.feed(DecommissionSignalled{}); });
    if (watch)
      decommission_signal_ = std::move(*watch);
    else
      net::log(net::Level::Warn, "Executor",
               std::string(conf::kDecommissionSignal.spec.name) + ": " + watch.error().message);
  }

  /// A process of its own only. Tasks ahead begin before the driver hears that those before them
  /// ended: without a last word one that crashes at once would be taken for its predecessor.
  void watch_for_crashes() {
    if (options_.shared_blocks) return;
    auto watch = net::CrashWatch::make(
        loop_, [this] { tell_updates(); }, kLastWords);
    if (watch)
      crash_watch_ = std::move(*watch);
    else
      net::log(net::Level::Warn, "Executor", watch.error().message);
  }

  /// Errors: as TaskRunner's constructor.
  void start_runner() {
    TaskRunnerOptions o;
    o.threads = std::max(1, options_.executor.cores / task_cpus_);
    o.max_result_size = conf_.get(conf::kDriverMaxResultSize);
    // The driver takes no larger message, and accumulators are not all that is in one.
    o.max_direct_result_size = std::min(conf_.get(conf::kTaskMaxDirectResultSize),
                                        conf_.get(conf::kRpcMessageMaxSize) / 2);
    o.decode = Program::decode;
    o.now = [this] { return loop_.now(); };
    o.on_updates = [this] { loop_.post([this] { tell_updates(); }); };
    o.on_kill = [this] { services_->interrupt(); };
    runner_ = std::make_unique<TaskRunner>(std::move(o), *services_);
  }

  /// Thread: any.
  void blocks_moved(std::vector<BlockUpdate> updates) {
    net::Lock lock(moved_mutex_);
    if (moved_.empty()) loop_.post([this] { tell_blocks(); });
    std::move(updates.begin(), updates.end(), std::back_inserter(moved_));
  }
  void tell_blocks() {
    BlocksMoved moved;
    {
      net::Lock lock(moved_mutex_);
      moved.blocks.swap(moved_);
    }
    if (!moved.blocks.empty()) shell_.feed(std::move(moved));
  }
  /// What a task did to blocks is told before its end: the next job looks for them at once.
  void tell_updates() {
    auto updates = runner_->take_updates();
    if (updates.empty()) return;
    tell_blocks();
    const auto fatal = options_.shared_blocks
                           ? updates.end()
                           : std::find_if(updates.begin(), updates.end(), out_of_memory);
    if (fatal != updates.end()) return end_out_of_memory(updates, fatal);
    shell_.feed(TasksMoved{std::move(updates)});
  }
  /// The task's failure is this executor's end, and told by that alone: between two messages it
  /// would be tried again here, and fail at once.
  void end_out_of_memory(std::vector<TaskUpdate>& updates,
                         std::vector<TaskUpdate>::iterator fatal) {
    const std::string why = fatal->reason->description;
    const TaskId culprit = fatal->id;
    updates.erase(fatal);
    if (!updates.empty()) shell_.feed(TasksMoved{std::move(updates)});
    give_up(kExitOutOfMemory, "A task ran out of memory: " + why, culprit);
  }

  void watch_killed_tasks() {
    if (!conf_.get(conf::kReaperEnabled)) return;
    TaskReaperOptions o;
    o.polling_interval = conf_.get(conf::kReaperPollingInterval);
    o.kill_timeout = conf_.get(conf::kReaperKillTimeout);
    o.is_local = options_.shared_blocks != nullptr;
    reaping_ = std::make_unique<Reaping>(*this, o);
  }

  /// Ends of tasks ring by themselves; that a long one runs is told from here.
  void report_running_later() {
    if (reporting_) return;
    reporting_ = true;
    loop_.after(kReportRunning, [this] {
      reporting_ = false;
      tell_updates();
      if (runner_->unfinished() > 0) report_running_later();
    });
  }

  struct Reaping {
    Reaping(Impl& host, TaskReaperOptions options)
        : machine(options), shell(host.loop_, host.board_, machine, host, "TaskReaper") {}
    TaskReaper machine;
    Shell<TaskReaper, Impl> shell;
  };

  net::PollLoop& loop_;
  ExecutorServiceOptions options_;
  OnExit on_exit_;
  Switchboard board_;
  ExecutorMachine machine_;
  Shell<ExecutorMachine, Impl> shell_;
  conf::Conf conf_;
  net::Mutex moved_mutex_;
  std::vector<BlockUpdate> moved_ GUARDED_BY(moved_mutex_);
  std::unique_ptr<ProcessBlocks> own_blocks_;  // its thread uses what stands above
  ProcessBlocks* blocks_ = nullptr;
  std::unique_ptr<ExecutorServices> services_;
  std::unique_ptr<TaskRunner> runner_;
  std::unique_ptr<Reaping> reaping_;  // null: killed tasks are not watched
  std::unique_ptr<net::SignalWatch> decommission_signal_;
  std::unique_ptr<net::CrashWatch> crash_watch_;
  int32_t task_cpus_ = 1;  // of tasks of its own resource profile
  bool reporting_ = false;
  std::string files_root_;  // where shipped files lie
  HeldOrders held_;
  std::unique_ptr<FileFetcher> fetcher_;
};

ServicesBuilt services_built(const conf::Conf& conf) {
  ServicesBuilt built;
  built.heartbeat_interval = conf.get(conf::kExecutorHeartbeatInterval);
  built.heartbeat_max_failures = conf.get(conf::kExecutorHeartbeatMaxFailures);
  built.max_message_size = conf.get(conf::kRpcMessageMaxSize);
  return built;
}

ExecutorService::ExecutorService(net::PollLoop& loop, net::Endpoint& endpoint,
                                 ExecutorServiceOptions options, OnExit on_exit)
    : impl_(std::make_unique<Impl>(loop, endpoint, std::move(options), std::move(on_exit))) {}
ExecutorService::~ExecutorService() = default;
void ExecutorService::start() { impl_->start(); }
bool ExecutorService::stop() { return impl_->stop(); }
void ExecutorService::request_stop(int code, std::string reason) {
  impl_->request_stop(code, std::move(reason));
}

}  // namespace tinderbox::core
