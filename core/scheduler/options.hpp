// What the Driver machine is told at its start: settings, and how a stage becomes bytes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/values/pools.hpp"
#include "core/plan/lineage/lineage.hpp"
#include "core/resources/resource_profile.hpp"
#include "core/scheduler/allocation/options.hpp"
#include "core/scheduler/allocation/rolling.hpp"
#include "net/types.hpp"

namespace tinderbox::core {

/// spark.excludeOnFailure.*: where tasks that fail are not tried again.
struct ExclusionOptions {
  bool application = false;     // executors and hosts, for every job
  bool task_and_stage = false;  // for one task, for one stage attempt
  int32_t task_attempts_per_executor{};
  int32_t task_attempts_per_host{};
  int32_t stage_tasks_per_executor{};
  int32_t stage_executors_per_host{};
  int32_t application_tasks_per_executor{};
  int32_t application_executors_per_host{};
  Duration timeout{};
  bool kill = false;
  bool decommission = false;
  bool fetch_failure = false;
  bool shuffle_service = false;      // outputs are served by their host, not by their executor
  bool dynamic_allocation = false;   // more executors may come
  Duration unschedulable_timeout{};  // spark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout
  bool on() const { return application || task_and_stage; }
};

/// spark.speculation.*: second copies of slow tasks.
struct SpeculationOptions {
  bool enabled = false;
  Duration interval{};
  double multiplier{};
  double quantile{};
  Duration min_runtime{};
  std::optional<Duration> duration_threshold;
  bool efficiency = false;
  double long_run_factor{};
  double process_rate_multiplier{};
  std::optional<Duration> decommission_kill_interval;  // spark.executor.decommission.killInterval
};

/// spark.storage.decommission.*: what becomes of the blocks of executors that are decommissioned.
struct MigrationOptions {
  bool shuffles = false, rdds = false;  // which are moved
  int32_t max_failures{};
  Duration reattempt_interval{};
  int32_t max_threads{};
  bool on() const { return shuffles || rdds; }
};

/// Copies of cached partitions.
struct ReplicationOptions {
  int32_t max_failures =
      1;                  // peers that may fail to take one: spark.storage.maxReplicationFailures
  bool proactive = true;  // also when a holder is lost: spark.storage.replication.proactive
};

/// Stages whose tasks run together.
struct BarrierOptions {
  Duration sync_timeout{};         // spark.barrier.sync.timeout
  Duration slots_interval{};       // spark.scheduler.barrier.maxConcurrentTasksCheck.interval
  int32_t slots_max_failures = 0;  // spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures
};

/// Settings of one application's driver. Defaults live in conf/keys.hpp: the driver's wiring sets
/// every field.
struct DriverOptions {
  AppId app;
  std::string build_id;  // compared with what each executor says
  std::string code_hash;
  std::map<std::string, std::string> properties;  // handed to executors in ApplicationConfig
  std::string driver_block_address;
  bool is_local = false;  // local[…]: no starvation warning
  bool cluster_manager =
      false;  // someone will tell why an executor went: wait `remove_delay` for it

  bool tells_local_tasks = false;  // the cluster manager places executors by what they are to read

  int32_t task_cpus{};                 // spark.task.cpus
  int32_t max_task_failures{};         // spark.task.maxFailures
  int32_t launch_ahead{};              // tinderbox.task.launchAhead; tasks an executor
  Duration launch_ahead_window{};      // tinderbox.task.launchAhead.window
  int32_t max_consecutive_attempts{};  // spark.stage.maxConsecutiveAttempts
  int32_t max_stage_attempts{};        // spark.stage.maxAttempts
  size_t max_cancelled_groups = 0;     // spark.scheduler.numCancelledJobGroupsToTrack
  Duration locality_wait_process{};    // spark.locality.wait.process, .node
  Duration locality_wait_node{};
  bool locality_legacy_reset = false;  // spark.locality.wait.legacyResetOnTaskLaunch
  bool reduce_locality = false;        // spark.shuffle.reduceLocality.enabled
  Duration revive_interval{};          // spark.scheduler.revive.interval
  Duration starvation_timeout{};       // spark.starvation.timeout
  Duration remove_delay{};             // spark.standalone.executorRemoveDelayOnDisconnection
  Duration executor_timeout{};         // spark.storage.blockManagerHeartbeatTimeoutMs
  Duration executor_check_interval{};  // spark.network.timeoutInterval
  int64_t max_result_size{};           // spark.driver.maxResultSize; 0: no limit. Unit: bytes
  int64_t max_message_size{};          // spark.rpc.message.maxSize. Unit: bytes

  conf::SchedulingMode scheduling_mode{};  // spark.scheduler.mode
  std::vector<conf::PoolSpec> pools;       // FAIR: those of the allocation file
  ResourceProfile profile;                 // the default one
  bool merge_profiles = false;             // spark.scheduler.resource.profileMergeConflicts
  ExclusionOptions exclusion;
  SpeculationOptions speculation;
  BarrierOptions barrier;
  std::optional<AllocationOptions> allocation;  // none: the number of executors is not ours
  std::optional<RollingOptions> rolling;        // none: executors stay as long as they are wanted
  MigrationOptions migration;
  ReplicationOptions replication;
  std::optional<Duration> force_kill_timeout;  // spark.executor.decommission.forceKillTimeout
  int32_t max_retained_decommissioned =
      0;  // spark.scheduler.maxRetainedRemovedDecommissionExecutors
  int32_t max_retained_unknown_decommissioned =
      0;  // spark.scheduler.maxRetainedUnknownDecommissionExecutors
  bool ignore_decommission_fetch_failure = true;  // spark.stage.ignoreDecommissionFetchFailure
  bool unregister_outputs_on_host = false;        // spark.files.fetchFailure.unRegisterOutputOnHost
};

/// How a stage and a partition's source data become bytes (core/plan/program in a real driver).
/// Errors: may throw what the encoding of captured values throws; that aborts the stage.
struct ProgramCodec {
  std::function<Bytes(const Node& root, const Descriptor* terminal, std::string_view captured)>
      program;
  std::function<Bytes(const Node& root, int32_t partition)> inputs;
};

}  // namespace tinderbox::core
