// A standalone cluster: the real Master, Worker and AppClient machines in their real shells.
#include <algorithm>
#include <map>

#include "core/deploy/client/app_client.hpp"
#include "tests/sim/managers/manager.hpp"
#include "tests/sim/roles/master.hpp"
#include "tests/sim/roles/worker.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {

/// Peers of masters and workers count from here, a thousand each.
constexpr PeerId kFirstPeer = 10'000'000;

class Standalone final : public Manager {
 public:
  Standalone(Surroundings in, Fleet& fleet, SimDriver& driver, const Scenario& scenario)
      : in_(in), fleet_(fleet), driver_(driver), scenario_(scenario) {}

  void start() override {
    start_master();
    for (int32_t i = 0; i < scenario_.hosts; ++i) start_worker(host_name(scenario_, i));
  }
  void driver_started() override {
    clients_.push_back(std::make_unique<Client>(client_options(), driver_, *this));
    feed(1ms, StartApp{});
  }
  void want(const RequestTotalExecutors& wanted) override {
    feed(Duration{1}, WantExecutors{wanted.totals.at(kDefaultProfile), wanted.profiles});
  }
  void kill(const ExecutorId& id) override { feed(Duration{1}, EndExecutors{{id}}); }
  void lose_host(const std::string& host) override {
    for (size_t i = 0; i < fleet_.all().size(); ++i)
      if (SimExecutor& e = *fleet_.all()[i]; e.process()->host == host)
        e.die(1, true, "its host is gone");
    if (SimWorker* w = worker_on(host)) w->die(true);
  }
  bool decommission_host(const std::string& host, Duration length) override {
    SimWorker* const worker = worker_on(host);
    if (!worker) return false;
    worker->decommission();
    in_.world.after(worker->process(), length, [this, host] { lose_host(host); });
    return true;
  }

  /// Only what runs now holds anything at the master.
  std::string left_over() const override {
    if (!masters_.back()->process()->alive) return "the master is away";
    int32_t used = 0, granted = 0;
    const ClusterStatus status = masters_.back()->status();
    for (const WorkerRow& w : status.workers) used += w.cores_used;
    for (const AppRow& app : status.active_apps) {
      if (app.id != in_.application.id) return "application " + app.id.value;
      granted += app.cores_granted;
    }
    return used == granted ? "" : std::to_string(used - granted) + " cores";
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
        restart_master_after(f.length);
        // The loss of a worker is written down at once; else it may take long until something is.
        if (worker && f.other % 2 == 0) worker->die(false);
        return false;
      case Fault::Kind::CrashWorker:
        if (worker) worker->die(f.other % 4 == 0);
        return worker;
      case Fault::Kind::CutMaster:
        return master && in_.network.cut(*masters_.back()->process(), f.other % 2 == 0 || !worker
                                                                          ? *driver_.process()
                                                                          : *worker->process());
      case Fault::Kind::PartitionMaster:
        in_.network.partition("master",
                              f.other % 3 == 0 ? "driver" : host_name(scenario_, f.target),
                              f.length, [this, kind = f.kind] { in_.checks.reached(kind); });
        return false;
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
  void apply(const WorkerGone& e) { driver_.post(BackendWorkerRemoved{e.host, e.message}); }
  void apply(const ExecutorCondemned& e) {
    driver_.post(BackendExecutorDecommissioned{e.executor, e.message, e.worker_host});
  }
  void apply(const SchedulingReason& e) { driver_.post(BackendStatus{e.reason}); }

 private:
  /// Of one incarnation of the driver.
  struct Client {
    Client(AppClientOptions options, SimDriver& driver, Standalone& host)
        : machine(std::move(options)),
          shell(driver.loop(), driver.board(), machine, host, "AppClient") {
      shell.listen<ToApp>();
      shell.listen_losses();
    }
    AppClient machine;
    Shell<AppClient, Standalone> shell;
  };
  void feed(Duration delay, AppClient::Event event) {
    in_.world.after(driver_.process(), delay,
                    [this, event = std::move(event)] { clients_.back()->shell.feed(event); });
  }
  AppClientOptions client_options() const {
    AppClientOptions o;
    o.masters = {kMasterUrl};
    o.driver_address = kDriverAddress;
    o.registration_timeout = 20s;
    o.registration_attempts = 20;
    o.description.name = "simulated";
    o.description.cores_per_executor = in_.settings.cores;
    if (in_.settings.gpus > 0) o.description.resources_per_executor[kGpu] = in_.settings.gpus;
    if (in_.settings.allocation)
      o.description.initial_executor_limit = in_.settings.allocation->initial_executors;
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
  /// A supervisor brings back what ends, not within a second: a worker's id is the date of its
  /// start in seconds, and the next one's must differ.
  void start_worker(const std::string& host) {
    workers_.push_back(std::make_unique<SimWorker>(
        in_, fleet_, host, room_of_worker(), next_peers(), [this](const std::string& where) {
          in_.world.after(nullptr, in_.world.random().between(Duration{1500ms}, Duration{10s}),
                          [this, where] { start_worker(where); });
        }));
    SimWorker& started = *workers_.back();
    in_.world.after(started.process(), in_.world.random().between(Duration{0}, Duration{300ms}),
                    [&started] { started.start(); });
  }
  /// Executors. Those of one resource profile must not keep others from having any: an idle one may
  /// stay for ever.
  int32_t room_of_worker() const {
    if (!in_.settings.allocation || in_.settings.profiles.empty())
      return executors_a_host(scenario_);
    constexpr int32_t kProfiles = 4;  // the default one, two of nodes, both together
    return kProfiles * in_.settings.allocation->max_executors;
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
  std::vector<std::unique_ptr<Client>> clients_;  // the last one speaks
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
