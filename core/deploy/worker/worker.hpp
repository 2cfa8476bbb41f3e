// The standalone worker: offers a machine's cores and memory to a master, starts, watches and ends
// executors and drivers. A pure machine.
//
// Connections. The worker opens its own connection to the master and registers on it; the
// connection is gone when the master is. It listens too: a master that recovered connects there to
// say MasterChanged, and the worker answers it on a connection of its own. LaunchExecutor and
// KillExecutor count only when they come from the master that the worker is registered with.
//
// Source: Spark 4.3 org.apache.spark.deploy.worker.{Worker, ExecutorRunner, DriverRunner}.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "conf/conf.hpp"
#include "core/deploy/cluster_status.hpp"
#include "core/machine.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

struct WorkerOptions {
  std::string host;
  int32_t port = 0;        // where it listens
  std::string web_ui_url;  // http://host:port
  int32_t cores = 0;
  int64_t memory_mib = 0;
  ResourceAddresses resources;
  std::vector<std::string> masters;  // spark://host:port each
  std::string work_dir;
  std::vector<std::string> local_dirs;
  Zone zone;
  std::string id_pattern;
  Duration heartbeat_interval{};
  int32_t initial_retries = 0, max_retries = 0;  // of registration
  bool prefer_configured_master = false;
  Duration ask_timeout{};
  int32_t state_sync_attempts = 0;
  Duration driver_terminate_timeout{};
  int32_t retained_executors = 0, retained_drivers = 0;
  bool cleanup = false;
  Duration cleanup_interval{}, app_data_ttl{};
};
/// All but host, port, pages' URL, cores, memory, resources, masters, work directory and zone.
/// Errors: conf::Error for a value that cannot be used.
WorkerOptions worker_options(const conf::Conf& conf);

/// `id` is what it was set for: an epoch, a ticket or a request.
struct WorkerTimer {
  enum class Kind : uint8_t {
    Register,
    Heartbeat,
    Clean,
    KillHard,
    GiveUp,
    Report,
    Relaunch
  } kind{};
  uint64_t id = 0;
  bool operator==(const WorkerTimer&) const = default;
};
struct StartWorker {};
/// End what runs, tell the master, exit.
struct StopWorker {};
/// The machine goes soon: take nothing more, and tell the master.
struct DecommissionWorker {};
/// Answer to CleanWorkDirs.
struct WorkDirsCleaned {
  std::vector<std::string> removed;
  std::string error;
};

/// Make these directories, for the owner only.
struct MakeDirectories {
  std::vector<std::string> paths;
  bool operator==(const MakeDirectories&) const = default;
};
struct RemoveDirectories {
  std::vector<std::string> paths;
  bool operator==(const RemoveDirectories&) const = default;
};
/// Remove the directories in `work_dir` that are not in `keep` and hold nothing younger than `ttl`.
struct CleanWorkDirs {
  std::string work_dir;
  std::set<std::string> keep;
  Duration ttl{};
  bool operator==(const CleanWorkDirs&) const = default;
};

/// Whether `id`, which came from a peer, may name a directory below the work directory.
bool is_directory_name(const std::string& id);

/// Drops the oldest tenth, at least one, when there are more than `kept`.
template <class T>
void trim(std::deque<T>& finished, int32_t kept) {
  auto limit = static_cast<size_t>(std::max(0, kept));
  if (finished.size() <= limit) return;
  auto drop = static_cast<std::ptrdiff_t>(std::max<size_t>(limit / 10, 1));
  finished.erase(finished.begin(), finished.begin() + drop);
}

class Worker {
 public:
  using Event =
      std::variant<Received<ToWorker>, PeerLost, Connected, ProcessStarted, ProcessExited,
                   WorkerTimer, StartWorker, StopWorker, WorkDirsCleaned, DecommissionWorker>;
  using Effect = std::variant<Send<ToMaster>, Connect, Disconnect, After<WorkerTimer>, Spawn,
                              Signal, MakeDirectories, RemoveDirectories, CleanWorkDirs, Log, Exit>;
  using Effects = std::vector<Effect>;

  /// `seed` is of the generator that spreads registration in time and names local directories.
  Worker(WorkerOptions options, uint64_t seed);
  void on(const Event& event, Time now, Effects& out);
  WorkerStatus status() const;

 private:
  struct Turn {
    Time now;
    Effects& out;
  };
  using ExecutorKey = std::pair<AppId, int32_t>;
  struct Executor {
    LaunchExecutor launch;
    uint64_t ticket = 0;
    ExecutorState state = ExecutorState::Launching;
    bool killed = false;
  };
  struct Driver {
    DriverId id;
    DriverDescription description;
    ResourceAddresses resources;
    uint64_t ticket = 0;  // of its latest run
    Time submitted{}, started{};
    int64_t wait_seconds = 1;
    bool waiting = false;  // to be run again
    bool killed = false;
    bool moves_on = false;  // the master runs it elsewhere when this worker is gone
    DriverState state = DriverState::Running;
    std::string exception;
  };
  struct Report {
    ExecutorStateChanged change;
    int32_t tries = 1;
  };
  using ProcessOwner = std::variant<ExecutorKey, DriverId>;
  struct Ticket {
    std::string url;
    bool adopt = false;  // answer MasterChanged there; else register
  };

  // worker.cpp: start, the conversation with the master
  void handle(const Turn& t, const Received<ToWorker>& e);
  void handle(const Turn& t, const PeerLost& e);
  void handle(const Turn& t, const Connected& e);
  void handle(const Turn& t, const ProcessStarted& e);
  void handle(const Turn& t, const ProcessExited& e);
  void handle(const Turn& t, const WorkerTimer& e);
  void handle(const Turn& t, const StartWorker& e);
  void handle(const Turn& t, const StopWorker& e);
  void tell_decommission(const Turn& t) const;
  void handle(const Turn& t, const WorkDirsCleaned& e);
  void handle(const Turn& t, const DecommissionWorker& e);
  void handle(const Turn& t, PeerId from, const RegisteredWorker& m);
  void handle(const Turn& t, PeerId from, const RegisterWorkerFailed& m);
  void handle(const Turn& t, PeerId from, const MasterInStandby& m);
  void handle(const Turn& t, PeerId from, const ReconnectWorker& m);
  void handle(const Turn& t, PeerId from, const MasterChanged& m);
  void register_with_master(const Turn& t);
  void register_again(const Turn& t, uint64_t epoch);
  void try_masters(const Turn& t, const std::vector<std::string>& urls);
  void drop_attempts(const Turn& t, PeerId but);
  void connected_to(const Turn& t, PeerId master, const std::string& url);
  void adopt(const Turn& t, PeerId master);
  void heartbeat(const Turn& t, uint64_t epoch);
  void clean(const Turn& t);
  void drain(const Turn& t, int code, std::string reason);
  void exit_if_drained(const Turn& t);
  void log(const Turn& t, Level level, std::string line) const;

  // worker_executors.cpp
  void handle(const Turn& t, PeerId from, const LaunchExecutor& m);
  void handle(const Turn& t, PeerId from, const KillExecutor& m);
  void handle(const Turn& t, PeerId from, const ApplicationFinished& m);
  void handle(const Turn& t, PeerId from, const ExecutorStateAccepted& m);
  Spawn spawn_of(const Executor& e);
  const std::vector<std::string>& app_dirs(const Turn& t, const AppId& app);
  void executor_started(const Turn& t, const ExecutorKey& key, const ProcessStarted& e);
  void executor_ended(const Turn& t, const ExecutorKey& key, ExecutorState state,
                      std::string message, std::optional<int32_t> status);
  void kill_executor(const Turn& t, Executor& e);
  void forget_app_if_done(const Turn& t, const AppId& app);
  void report(const Turn& t, ExecutorStateChanged change);
  void send_report(const Turn& t, uint64_t request);
  void report_due(const Turn& t, uint64_t request);
  std::vector<ExecutorDescription> running_executors() const;
  static WorkerExecutorRow row_of(const Executor& e);

  // worker_drivers.cpp
  void handle(const Turn& t, PeerId from, const LaunchDriver& m);
  void handle(const Turn& t, PeerId from, const KillDriver& m);
  void handle(const Turn& t, PeerId from, const DriverStateAccepted& m);
  void run_driver(const Turn& t, Driver& d);
  void driver_started(const Turn& t, Driver& d, const ProcessStarted& e);
  void driver_exited(const Turn& t, Driver& d, std::optional<int32_t> status);
  void kill_driver(const Turn& t, Driver& d);
  void end_driver(const Turn& t, const DriverId& id, DriverState state, std::string exception);
  void tell_end(const Turn& t, DriverStateChanged change);
  void relaunch(const Turn& t, uint64_t ticket);
  std::vector<DriverId> running_drivers() const;
  std::vector<DriverResources> driver_resources() const;
  DriverRow row_of(const Driver& d) const;

  // worker_executors.cpp: processes of both kinds
  void terminate(const Turn& t, uint64_t ticket, Duration patience);
  void kill_hard(const Turn& t, uint64_t ticket);
  void give_up(const Turn& t, uint64_t ticket);
  std::string worker_url() const;

  WorkerOptions options_;
  std::mt19937_64 random_;
  double fuzz_ = 1;  // of the registration's intervals
  WorkerId id_;
  int64_t epoch_ = 0;  // tells this process from another one with the same id

  bool stopping_ = false, exited_ = false, decommissioned_ = false;
  int exit_code_ = 0;
  std::string exit_reason_;

  std::string master_url_, master_web_ui_url_;  // of the master it is or was registered with
  PeerId master_ = 0;                           // the connection to it; 0: none
  bool registered_ = false;
  bool registering_ = false;
  bool cleaning_ = false;
  int32_t attempts_ = 0;
  uint64_t registration_epoch_ = 0, heartbeat_epoch_ = 0;
  uint64_t next_ticket_ = 1, next_request_ = 1;
  std::map<uint64_t, Ticket> tickets_;   // Connects that are not answered
  std::map<PeerId, std::string> tried_;  // connections that RegisterWorker went out on

  std::map<ExecutorKey, Executor> executors_;
  std::deque<WorkerExecutorRow> finished_executors_;
  std::map<AppId, std::vector<std::string>> app_dirs_;
  std::set<AppId> finished_apps_;
  std::map<uint64_t, Report> reports_;  // executor states that the master has not accepted

  std::map<DriverId, Driver> drivers_;
  std::deque<DriverRow> finished_drivers_;
  std::map<uint64_t, DriverStateChanged> driver_ends_;  // that the master has not accepted

  std::map<uint64_t, ProcessOwner> processes_;  // started or starting
  int32_t cores_used_ = 0;
  int64_t memory_used_mib_ = 0;
};

}  // namespace tinderbox::core
