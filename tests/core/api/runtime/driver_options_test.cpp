// Settings that the driver refuses at its start, and what becomes of the others.
#include "core/api/runtime/driver_options.hpp"

#include "conf/error.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

TEST_CASE("cores of a task are at least one, and no more than an executor has",
          "[driver_options]") {
  struct Case {
    const char *cpus, *cores, *allocation;  // "": not set
    std::optional<int32_t> local;           // threads
    const char* error;                      // "": none
  };
  const std::string none =
      "spark.task.cpus was 0, but must be > 0: give each task at least one core.";
  const std::string too_few =
      "The number of cores per executor (=4) has to be >= the number of cpus per task = 8. "
      "Increase spark.executor.cores or decrease spark.task.cpus.";
  const std::string few_threads =
      "The number of cores per executor (=2) has to be >= the number of cpus per task = 3. "
      "Increase N of local[N] or decrease spark.task.cpus.";
  const Case cases[] = {
      {"1", "", "false", {}, ""},
      {"4", "4", "false", {}, ""},
      {"8", "", "false", {}, ""},  // as many as a worker has
      {"8", "4", "false", 8, ""},  // a local executor has threads
      {"3", "4", "false", 2, few_threads.c_str()},
      {"8", "4", "false", {}, too_few.c_str()},
      {"0", "4", "false", {}, none.c_str()},
      {"0", "", "false", 1, none.c_str()},
      {"0", "4", "true", {}, none.c_str()},
  };
  for (const Case& c : cases) {
    CAPTURE(c.cpus, c.cores, c.local);
    conf::Conf conf = conf::Conf{}
                          .with("spark.task.cpus", c.cpus)
                          .with("spark.dynamicAllocation.enabled", c.allocation);
    if (*c.cores) conf = conf.with("spark.executor.cores", c.cores);
    std::string error;
    try {
      check_driver_settings(conf, c.local);
    } catch (const conf::Error& e) {
      error = e.what();
    }
    CHECK(error == c.error);
  }
}

namespace {

/// On a cluster, and without any executor.
struct NoExecutors final : Backend {
  net::Endpoint& endpoint() override { throw std::logic_error("nobody speaks to this driver"); }
  void start(Switchboard&) override {}
  void want(int32_t, std::vector<ProfileRequest>, const HostTasks&) override {}
  void kill(const ExecutorId&) override {}
  bool stop() override { return true; }
};

/// A key with a value that is not its default, and what the driver makes of it.
struct Honoured {
  const char *key, *value;
  double want;
  double (*seen)(const DriverOptions& o);
};

/// None: 0.
double in_seconds(std::optional<Duration> d) {
  return std::chrono::duration<double>(d.value_or(Duration{0})).count();
}

// clang-format off
#define SEEN(expression) [](const DriverOptions& o) { return static_cast<double>(expression); }
const Honoured kHonoured[] = {
    {"spark.task.cpus", "2", 2, SEEN(o.task_cpus)},
    {"spark.task.maxFailures", "70000", 70000, SEEN(o.max_task_failures)},
    {"tinderbox.task.launchAhead", "7", 7, SEEN(o.launch_ahead)},
    {"tinderbox.task.launchAhead.window", "7s", 7, SEEN(in_seconds(o.launch_ahead_window))},
    {"spark.stage.maxConsecutiveAttempts", "7", 7, SEEN(o.max_consecutive_attempts)},
    {"spark.stage.maxAttempts", "7", 7, SEEN(o.max_stage_attempts)},
    {"spark.scheduler.numCancelledJobGroupsToTrack", "7", 7, SEEN(o.max_cancelled_groups)},
    {"spark.scheduler.numCancelledJobGroupsToTrack", "-1", 0, SEEN(o.max_cancelled_groups)},
    {"spark.locality.wait", "7s", 7, SEEN(in_seconds(o.locality_wait_process))},
    {"spark.locality.wait.process", "7s", 7, SEEN(in_seconds(o.locality_wait_process))},
    {"spark.locality.wait.node", "7s", 7, SEEN(in_seconds(o.locality_wait_node))},
    {"spark.locality.wait.legacyResetOnTaskLaunch", "true", 1, SEEN(o.locality_legacy_reset)},
    {"spark.shuffle.reduceLocality.enabled", "false", 0, SEEN(o.reduce_locality)},
    {"spark.scheduler.revive.interval", "7s", 7, SEEN(in_seconds(o.revive_interval))},
    {"spark.starvation.timeout", "7s", 7, SEEN(in_seconds(o.starvation_timeout))},
    {"spark.standalone.executorRemoveDelayOnDisconnection", "7s", 7, SEEN(in_seconds(o.remove_delay))},
    {"spark.network.timeout", "77s", 77, SEEN(in_seconds(o.executor_timeout))},
    {"spark.storage.blockManagerHeartbeatTimeoutMs", "77s", 77, SEEN(in_seconds(o.executor_timeout))},
    {"spark.network.timeoutInterval", "7s", 7, SEEN(in_seconds(o.executor_check_interval))},
    {"spark.driver.maxResultSize", "7b", 7, SEEN(o.max_result_size)},
    {"spark.rpc.message.maxSize", "7", 7 << 20, SEEN(o.max_message_size)},
    {"spark.executor.cores", "7", 7, SEEN(o.profile.executor.cores.value_or(0))},
    {"spark.executor.memory", "777m", 777, SEEN(o.profile.executor.memory_mib.value_or(0))},
    {"spark.executor.resource.gpu.amount", "7", 1, SEEN(o.profile.executor.resources.size())},
    {"spark.task.resource.gpu.amount", "7", 1, SEEN(o.profile.task.resources.size())},
    {"spark.scheduler.resource.profileMergeConflicts", "true", 1, SEEN(o.merge_profiles)},

    {"spark.excludeOnFailure.enabled", "false", 0, SEEN(o.exclusion.on())},
    {"spark.excludeOnFailure.application.enabled", "false", 0, SEEN(o.exclusion.application)},
    {"spark.excludeOnFailure.taskAndStage.enabled", "false", 0, SEEN(o.exclusion.task_and_stage)},
    {"spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor", "3", 3, SEEN(o.exclusion.task_attempts_per_executor)},
    {"spark.excludeOnFailure.task.maxTaskAttemptsPerNode", "3", 3, SEEN(o.exclusion.task_attempts_per_host)},
    {"spark.excludeOnFailure.stage.maxFailedTasksPerExecutor", "7", 7, SEEN(o.exclusion.stage_tasks_per_executor)},
    {"spark.excludeOnFailure.stage.maxFailedExecutorsPerNode", "7", 7, SEEN(o.exclusion.stage_executors_per_host)},
    {"spark.excludeOnFailure.application.maxFailedTasksPerExecutor", "7", 7, SEEN(o.exclusion.application_tasks_per_executor)},
    {"spark.excludeOnFailure.application.maxFailedExecutorsPerNode", "7", 7, SEEN(o.exclusion.application_executors_per_host)},
    {"spark.excludeOnFailure.timeout", "7s", 7, SEEN(in_seconds(o.exclusion.timeout))},
    {"spark.scheduler.executorTaskExcludeOnFailureTime", "7s", 7, SEEN(in_seconds(o.exclusion.timeout))},
    {"spark.excludeOnFailure.killExcludedExecutors", "true", 1, SEEN(o.exclusion.kill)},
    {"spark.excludeOnFailure.killExcludedExecutors.decommission", "true", 1, SEEN(o.exclusion.decommission)},
    {"spark.excludeOnFailure.application.fetchFailure.enabled", "true", 1, SEEN(o.exclusion.fetch_failure)},
    {"spark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout", "7s", 7, SEEN(in_seconds(o.exclusion.unschedulable_timeout))},

    {"spark.speculation", "false", 0, SEEN(o.speculation.enabled)},
    {"spark.speculation.interval", "7s", 7, SEEN(in_seconds(o.speculation.interval))},
    {"spark.speculation.multiplier", "7", 7, SEEN(o.speculation.multiplier)},
    {"spark.speculation.quantile", "0.5", 0.5, SEEN(o.speculation.quantile)},
    {"spark.speculation.minTaskRuntime", "7s", 7, SEEN(in_seconds(o.speculation.min_runtime))},
    {"spark.speculation.task.duration.threshold", "7s", 7, SEEN(in_seconds(o.speculation.duration_threshold))},
    {"spark.speculation.efficiency.enabled", "false", 0, SEEN(o.speculation.efficiency)},
    {"spark.speculation.efficiency.longRunTaskFactor", "7", 7, SEEN(o.speculation.long_run_factor)},
    {"spark.speculation.efficiency.processRateMultiplier", "0.5", 0.5, SEEN(o.speculation.process_rate_multiplier)},
    {"spark.executor.decommission.killInterval", "7s", 7, SEEN(in_seconds(o.speculation.decommission_kill_interval))},

    {"spark.barrier.sync.timeout", "7s", 7, SEEN(in_seconds(o.barrier.sync_timeout))},
    {"spark.scheduler.barrier.maxConcurrentTasksCheck.interval", "7s", 7, SEEN(in_seconds(o.barrier.slots_interval))},
    {"spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures", "7", 7, SEEN(o.barrier.slots_max_failures)},

    {"spark.dynamicAllocation.enabled", "false", 0, SEEN(o.allocation.has_value())},
    {"spark.dynamicAllocation.minExecutors", "7", 7, SEEN(o.allocation->min_executors)},
    {"spark.dynamicAllocation.maxExecutors", "7", 7, SEEN(o.allocation->max_executors)},
    {"spark.dynamicAllocation.initialExecutors", "7", 7, SEEN(o.allocation->initial_executors)},
    {"spark.executor.instances", "7", 7, SEEN(o.allocation->initial_executors)},
    {"spark.dynamicAllocation.schedulerBacklogTimeout", "7s", 7, SEEN(in_seconds(o.allocation->backlog_timeout))},
    {"spark.dynamicAllocation.sustainedSchedulerBacklogTimeout", "7s", 7, SEEN(in_seconds(o.allocation->sustained_timeout))},
    {"spark.dynamicAllocation.executorIdleTimeout", "7s", 7, SEEN(in_seconds(o.allocation->idle_timeout))},
    {"spark.dynamicAllocation.cachedExecutorIdleTimeout", "7s", 7, SEEN(in_seconds(o.allocation->cached_idle_timeout))},
    {"spark.dynamicAllocation.shuffleTracking.timeout", "7s", 7, SEEN(in_seconds(o.allocation->shuffle_timeout))},
    {"spark.dynamicAllocation.shuffleTracking.enabled", "false", 0, SEEN(o.allocation->shuffle_tracking)},
    {"spark.dynamicAllocation.executorAllocationRatio", "0.5", 0.5, SEEN(o.allocation->ratio)},
    {"spark.decommission.enabled", "false", 0, SEEN(o.allocation->decommission)},

    {"spark.storage.decommission.enabled", "false", 0, SEEN(o.migration.on())},
    {"spark.storage.decommission.shuffleBlocks.enabled", "false", 0, SEEN(o.migration.shuffles)},
    {"spark.storage.decommission.rddBlocks.enabled", "false", 0, SEEN(o.migration.rdds)},
    {"spark.storage.decommission.maxReplicationFailuresPerBlock", "7", 7, SEEN(o.migration.max_failures)},
    {"spark.storage.decommission.replicationReattemptInterval", "7s", 7, SEEN(in_seconds(o.migration.reattempt_interval))},
    {"spark.storage.decommission.shuffleBlocks.maxThreads", "7", 7, SEEN(o.migration.max_threads)},
    {"spark.executor.decommission.forceKillTimeout", "7s", 7, SEEN(in_seconds(o.force_kill_timeout))},
    {"spark.scheduler.maxRetainedRemovedDecommissionExecutors", "7", 7, SEEN(o.max_retained_decommissioned)},
    {"spark.scheduler.maxRetainedUnknownDecommissionExecutors", "7", 7, SEEN(o.max_retained_unknown_decommissioned)},
    {"spark.stage.ignoreDecommissionFetchFailure", "false", 0, SEEN(o.ignore_decommission_fetch_failure)},
    {"spark.files.fetchFailure.unRegisterOutputOnHost", "true", 1, SEEN(o.unregister_outputs_on_host)},

    {"spark.kubernetes.executor.rollInterval", "7s", 7, SEEN(o.rolling ? in_seconds(o.rolling->interval) : 0)},
};
#undef SEEN
// clang-format on

}  // namespace

TEST_CASE("each setting of the scheduler reaches the driver", "[driver_options]") {
  // What would keep others from being looked at is on.
  conf::Conf base = conf::Conf{}.with("spark.master", "spark://m:7077");
  for (const auto& [key, value] : conf::Pairs{{"spark.executor.cores", "4"},
                                              {"spark.dynamicAllocation.enabled", "true"},
                                              {"spark.decommission.enabled", "true"},
                                              {"spark.storage.decommission.enabled", "true"},
                                              {"spark.excludeOnFailure.enabled", "true"},
                                              {"spark.speculation", "true"}})
    base = base.with(key, value);
  const NoExecutors backend;
  const DriverOptions before = driver_options(base, backend, AppId{"app-1"});
  for (const Honoured& h : kHonoured) {
    CAPTURE(h.key);
    const DriverOptions o = driver_options(base.with(h.key, h.value), backend, AppId{"app-1"});
    CHECK(h.seen(before) != h.want);
    CHECK(h.seen(o) == h.want);
  }
  const DriverOptions rolled =
      driver_options(base.with("spark.kubernetes.executor.rollInterval", "7s")
                         .with("spark.kubernetes.executor.rollPolicy", "IDLE_TIME")
                         .with("spark.kubernetes.executor.minTasksPerExecutorBeforeRolling", "7"),
                     backend, AppId{"app-1"});
  REQUIRE(rolled.rolling);
  CHECK(rolled.rolling->policy == RollPolicy::IdleTime);
  CHECK(rolled.rolling->min_tasks == 7);
}
