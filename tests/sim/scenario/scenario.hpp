// What one run is about: a value that a seed makes, and that can be cut down.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/scheduler/options.hpp"
#include "tests/sim/scenario/lineage.hpp"

namespace tinderbox::sim {

/// One action. Shape: as JobRequest.
struct JobPlan {
  int32_t node = 0;
  std::vector<int32_t> partitions;
  Duration at{};
  std::string group, tag;
  bool commits = false;        // its result tasks ask whether they may commit
  bool large_results = false;  // results go by block
  int32_t poison = -1;         // this partition's result task always throws
};

struct Fault {
  enum class Kind : uint8_t {
    Crash,        // an executor's process ends with a code
    SilentCrash,  // its machine does: nobody says goodbye
    HostLoss,     // all executors of a host, and the worker
    Cut,          // driver and executor
    CutBlocks,    // two executors
    PartitionDriver,
    PartitionExecutors,
    SlowPeer,
    Pause,  // an executor stands still
    PauseDriver,
    LoseFiles,    // some map outputs of an executor are gone
    LoseBlocks,   // its cached blocks are gone
    LoseResults,  // for a while, results that lie in its block store are
    DiskFull,
    TasksThrow,  // for a while, some of an executor's tasks do
    KillTask,    // by the user
    BuildFails,  // an executor ends, and the next one can't open its disk
    DecommissionExecutor,
    DecommissionHost,  // it goes when the time is over
    CrashDriver,       // the application is run again
    CancelJob,
    CancelGroup,
    CancelTag,
    CancelStage,
    CancelAll,
    Unpersist,
    // of a standalone cluster
    CrashMaster,  // it comes back with its recovery log
    TearLog,      // it crashes while it writes it
    CrashWorker,  // its executors go on
    CutMaster,    // and the driver, or a worker
    PartitionMaster,
  };
  Kind kind = Kind::Crash;
  Duration at{}, length{};
  int32_t target = 0, other = 0;  // places in a list, taken modulo its length then
};
inline constexpr size_t kFaultKinds = 31;
inline constexpr Fault::Kind kFirstOfManager = Fault::Kind::CrashMaster;
const char* name_of(Fault::Kind kind);

struct Settings {
  int32_t launch_ahead = 0, cores = 2, task_cpus = 1, max_failures = 4, max_attempts = 4;
  bool reduce_locality = true, legacy_locality = false, skewed = false;
  Duration locality_wait{}, heartbeat{}, executor_timeout{}, check_interval{}, remove_delay{};
  Duration ask_timeout{}, retry_wait{}, silence{}, task_time{}, usual_delay{}, tail_delay{};
  int32_t max_retries = 0;
  int64_t tail = 0;    // per mille of messages
  int64_t untold = 0;  // per mille of ended executors of which the cluster manager says nothing
  Duration manager_delay{}, start_delay{};
  bool speculation = false, fair = false;
  int32_t min_share = 0;             // of the first group's pool
  core::ExclusionOptions exclusion;  // by default off
  std::optional<core::AllocationOptions> allocation;
  std::optional<Duration> force_kill;  // of executors that drain for too long
  int32_t retained_decommissioned = 0;
  bool forgive_decommissioned = true, unregister_on_host = false;
  int32_t gpus = 0;      // addresses of each executor of the default resource profile
  double task_gpus = 0;  // of its tasks
  core::BarrierOptions barrier;
  core::MigrationOptions migration;             // by default off
  std::vector<core::ResourceProfile> profiles;  // that nodes name
  /// Tasks need more than slots.
  bool custom_resources() const { return task_gpus > 0 || !profiles.empty(); }
};
inline constexpr const char* kGpu = "gpu";

struct Scenario {
  uint64_t seed = 0;
  Settings settings;
  bool standalone = false;
  int32_t executors = 2, hosts = 2;
  std::vector<NodePlan> nodes;
  std::vector<JobPlan> jobs;
  std::vector<Fault> faults;
};

Scenario make_scenario(uint64_t seed);
/// Executors that a worker of a standalone cluster without dynamic allocation has room for.
inline int32_t executors_a_host(const Scenario& s) { return std::max(1, s.executors / s.hosts); }
std::string describe(const Scenario& scenario);
/// After this no fault begins or lasts, and every job was submitted.
Duration end_of_faults(const Scenario& scenario);

}  // namespace tinderbox::sim
