// A standalone cluster: the real Master, Worker and AppClient machines in their real shells.
#include <algorithm>
#include <map>

#include "core/deploy/client/app_client.hpp"
#include "core/deploy/master/master.hpp"
#include "core/deploy/worker/worker.hpp"
#include "tests/sim/manager.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {

constexpr const char* kMasterAddress = "master:7077";
constexpr const char* kMasterUrl = "spark://master:7077";
/// Peers of masters and workers count from here, a thousand each.
constexpr PeerId kFirstPeer = 10'000'000;
constexpr int64_t kMemory = 1 << 20;

ProcessPtr make_process(const std::string& name, const std::string& host) {
  auto process = std::make_shared<Process>();
  process->name = name;
  process->host = host;
  return process;
}

/// One incarnation of the master. `disk` is its recovery log, which outlives it.
class SimMaster {
 public:
  SimMaster(Surroundings in, PeerId first_peer, Bytes& disk)
      : in_(in),
        disk_(disk),
        process_(make_process("master", "master")),
        loop_(in.world, process_),
        endpoint_(in.network, process_, kMasterAddress, first_peer),
        board_(endpoint_),
        machine_(options(in.settings), in.world.random().next()),
        shell_(loop_, board_, machine_, *this, "Master") {
    shell_.listen<ToMaster>();
    shell_.listen_losses();
  }
  void start() {
    Replay replayed = replay(disk_);
    in_.world.trace("master", "starts with " + std::to_string(replayed.records) + " records");
    if (!replayed.state.apps.empty()) in_.checks.reached(Path::MasterRecovered);
    disk_ = compacted(replayed.state);
    shell_.feed(ElectedLeader{std::move(replayed.state)});
  }
  void die(bool silent) {
    process_->alive = false;
    in_.network.process_died(*process_, silent);
  }
  /// The next record reaches the disk in part, and is the last.
  void tear_next() { torn_ = true; }
  const ProcessPtr& process() const { return process_; }

  void apply(const Persist& e) {
    if (!process_->alive) return;
    if (torn_) {
      disk_ += e.record.substr(0, e.record.size() / 2);
      return die(false);
    }
    disk_ += e.record;
  }
  void apply(const Exit& e) { throw Broken("the master gave up", e.reason); }
  void end_of_turn() {
    for (const WorkerRow& w : machine_.status(loop_.now()).workers)
      if (w.cores_used < 0 || w.cores_used > w.cores || w.memory_used_mib > w.memory_mib)
        throw Broken("a core given twice", w.id.value + " uses " + std::to_string(w.cores_used) +
                                               " of " + std::to_string(w.cores) + " cores");
  }

 private:
  static MasterOptions options(const Settings& settings) {
    MasterOptions o;
    o.url = kMasterUrl;
    o.persist = true;
    o.worker_timeout = settings.executor_timeout;
    o.recovery_timeout = settings.executor_timeout;
    o.dead_worker_persistence = 15;
    o.max_executor_retries = -1;
    o.default_cores = 1 << 20;
    o.retained_apps = o.retained_drivers = 10;
    o.app_id_pattern = "app-%s-%04d";
    o.driver_id_pattern = "driver-%s-%04d";
    return o;
  }

  Surroundings in_;
  Bytes& disk_;
  const ProcessPtr process_;
  SimLoop loop_;
  SimEndpoint endpoint_;
  Switchboard board_;
  Master machine_;
  Shell<Master, SimMaster> shell_;
  bool torn_ = false;
};

/// One incarnation of a worker; its executors outlive it.
class SimWorker {
 public:
  using OnExit = std::function<void(const std::string& host)>;
  SimWorker(Surroundings in, Fleet& fleet, const std::string& host, int32_t executors,
            PeerId first_peer, OnExit on_exit)
      : in_(in),
        fleet_(fleet),
        on_exit_(std::move(on_exit)),
        process_(make_process("worker " + host, host)),
        loop_(in.world, process_),
        endpoint_(in.network, process_, host + ":7078", first_peer),
        board_(endpoint_),
        machine_(options(in.settings, host, executors), in.world.random().next()),
        shell_(loop_, board_, machine_, *this, "Worker") {
    shell_.listen<ToWorker>();
    shell_.listen_losses();
  }
  void start() { shell_.feed(StartWorker{}); }
  void die(bool silent) {
    if (!process_->alive) return;
    process_->alive = false;
    in_.world.trace(process_->name, "ends");
    in_.network.process_died(*process_, silent);
    on_exit_(process_->host);
  }
  const ProcessPtr& process() const { return process_; }

  void apply(const Spawn& e) {
    const Duration delay =
        std::min<Duration>(in_.world.random().long_tailed(in_.settings.start_delay), 20s);
    in_.world.after(process_, delay, [this, e] { spawned(e); });
  }
  void apply(const Signal& e) {
    const auto it = children_.find(e.ticket);
    if (it == children_.end()) return;
    SimExecutor& child = *it->second;
    const int number = e.number;
    in_.world.after(child.process(), in_.world.random().between(Duration{1ms}, Duration{500ms}),
                    [&child, number] { child.die(128 + number, false, "a signal"); });
  }
  void apply(const MakeDirectories&) {}
  void apply(const RemoveDirectories&) {}
  void apply(const CleanWorkDirs&) {}
  void apply(const Exit&) { die(false); }

 private:
  static WorkerOptions options(const Settings& settings, const std::string& host,
                               int32_t executors) {
    WorkerOptions o;
    o.host = host;
    o.port = 7078;
    o.cores = settings.cores * executors;
    o.memory_mib = kMemory;
    o.masters = {kMasterUrl};
    o.work_dir = "/work";
    o.id_pattern = "worker-%s-%s-%d";
    o.heartbeat_interval = settings.executor_timeout / 4;
    o.initial_retries = 6;
    o.max_retries = 16;
    o.ask_timeout = settings.ask_timeout;
    o.state_sync_attempts = 5;
    o.driver_terminate_timeout = 10s;
    o.retained_executors = o.retained_drivers = 10;
    return o;
  }
  static std::string argument(const Spawn& e, const std::string& name) {
    const auto at = std::ranges::find(e.arguments, name);
    return at == e.arguments.end() ? "" : *std::next(at);
  }
  void spawned(const Spawn& e) {
    children_[e.ticket] = &fleet_.start(
        argument(e, "--executor-id"), process_->host,
        [this, ticket = e.ticket](int code, const std::string&) {
          in_.world.after(process_, in_.world.random().between(Duration{100us}, Duration{20ms}),
                          [this, ticket, code] {
                            shell_.feed(ProcessExited{ticket, code});
                          });
        });
    shell_.feed(ProcessStarted{e.ticket, static_cast<int64_t>(1000 + e.ticket), ""});
  }

  Surroundings in_;
  Fleet& fleet_;
  const OnExit on_exit_;
  const ProcessPtr process_;
  SimLoop loop_;
  SimEndpoint endpoint_;
  Switchboard board_;
  Worker machine_;
  Shell<Worker, SimWorker> shell_;
  std::map<uint64_t, SimExecutor*> children_;
};

class Standalone final : public Manager {
 public:
  Standalone(Surroundings in, Fleet& fleet, SimDriver& driver, const Scenario& scenario)
      : in_(in),
        fleet_(fleet),
        driver_(driver),
        scenario_(scenario),
        client_(client_options()),
        shell_(driver.loop(), driver.board(), client_, *this, "AppClient") {
    shell_.listen<ToApp>();
    shell_.listen_losses();
  }

  void start() override {
    start_master();
    for (int32_t i = 0; i < scenario_.hosts; ++i) start_worker(host_name(scenario_, i));
    in_.world.after(driver_.process(), 1ms, [this] { shell_.feed(StartApp{}); });
  }
  void kill(const ExecutorId& id) override {
    in_.world.after(driver_.process(), Duration{1},
                    [this, id] { shell_.feed(EndExecutors{{id}}); });
  }
  void lose_host(const std::string& host) override {
    for (size_t i = 0; i < fleet_.all().size(); ++i)
      if (SimExecutor& e = *fleet_.all()[i]; e.process()->host == host)
        e.die(1, true, "its host is gone");
    if (SimWorker* w = worker_on(host)) w->die(true);
  }

  bool begin(const Fault& f) override {
    SimWorker* const worker = worker_on(host_name(scenario_, f.target));
    const bool master = masters_.back()->process()->alive;
    switch (f.kind) {
      case Fault::Kind::CrashMaster:
        if (!master) return false;
        masters_.back()->die(f.other % 4 == 0);
        return restart_master_after(f.length);
      case Fault::Kind::TearLog:
        if (!master) return false;
        masters_.back()->tear_next();
        return restart_master_after(f.length);
      case Fault::Kind::CrashWorker:
        if (worker) worker->die(f.other % 4 == 0);
        return worker;
      case Fault::Kind::CutMaster:
        return master && in_.network.cut(*masters_.back()->process(), f.other % 2 == 0 || !worker
                                                                          ? *driver_.process()
                                                                          : *worker->process());
      case Fault::Kind::PartitionMaster:
        in_.network.partition(
            "master", f.other % 3 == 0 ? "driver" : host_name(scenario_, f.target), f.length);
        return true;
      default:
        return false;
    }
  }

  // ---- effects of the AppClient: as StandaloneBackend ----
  void apply(const AppRegistered& e) { driver_.open(e.app); }
  /// A master that could not hear the driver while it recovered takes it for ended.
  void apply(const AppDead& e) {
    if (!driver_.opened()) throw Broken("the application never began", e.reason);
    in_.checks.given_up(e.reason);
    driver_.post(BackendDead{e.reason});
  }
  void apply(const ExecutorGranted&) {}
  void apply(const ExecutorGone& e) {
    if (!e.worker_host.empty()) in_.checks.reached(Path::HostLost);
    driver_.post(BackendExecutorExited{e.executor, e.exit_code, e.message, e.worker_host});
  }
  void apply(const WorkerGone& e) {
    in_.checks.reached(Path::WorkerRemoved);
    driver_.post(BackendWorkerRemoved{e.host, e.message});
  }
  void apply(const ExecutorCondemned& e) {
    driver_.post(BackendExecutorDecommissioned{e.executor, e.message, e.worker_host});
  }
  void apply(const SchedulingReason& e) { driver_.post(BackendStatus{e.reason}); }

 private:
  AppClientOptions client_options() const {
    AppClientOptions o;
    o.masters = {kMasterUrl};
    o.driver_address = kDriverAddress;
    o.registration_timeout = 20s;
    o.registration_attempts = 20;
    o.description.name = "simulated";
    o.description.cores_per_executor = in_.settings.cores;
    o.description.command.elf = "application";
    o.description.command.arguments = executor_arguments(kDriverAddress);
    return o;
  }
  void start_master() {
    masters_.push_back(std::make_unique<SimMaster>(in_, next_peers(), disk_));
    masters_.back()->start();
  }
  bool restart_master_after(Duration length) {
    in_.world.after(nullptr, std::min<Duration>(length, 40s), [this] {
      if (masters_.back()->process()->alive) masters_.back()->die(false);
      start_master();
    });
    return true;
  }
  /// A supervisor brings back what ends.
  void start_worker(const std::string& host) {
    workers_.push_back(std::make_unique<SimWorker>(
        in_, fleet_, host, std::max(1, scenario_.executors / scenario_.hosts), next_peers(),
        [this](const std::string& where) {
          in_.world.after(nullptr, in_.world.random().between(Duration{200ms}, Duration{10s}),
                          [this, where] { start_worker(where); });
        }));
    SimWorker& started = *workers_.back();
    in_.world.after(started.process(), in_.world.random().between(Duration{0}, Duration{300ms}),
                    [&started] { started.start(); });
  }
  SimWorker* worker_on(const std::string& host) {
    for (const auto& w : workers_)
      if (w->process()->alive && w->process()->host == host) return w.get();
    return nullptr;
  }
  PeerId next_peers() { return kFirstPeer + 1000 * static_cast<PeerId>(incarnations_++); }

  Surroundings in_;
  Fleet& fleet_;
  SimDriver& driver_;
  const Scenario& scenario_;
  AppClient client_;
  Shell<AppClient, Standalone> shell_;
  Bytes disk_ = compacted({});
  std::vector<std::unique_ptr<SimMaster>> masters_;  // the last one leads
  std::vector<std::unique_ptr<SimWorker>> workers_;
  int32_t incarnations_ = 0;
};

}  // namespace

std::unique_ptr<Manager> make_standalone_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                                 const Scenario& scenario) {
  return std::make_unique<Standalone>(in, fleet, driver, scenario);
}

}  // namespace tinderbox::sim
