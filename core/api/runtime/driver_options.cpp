#include "core/api/runtime/driver_options.hpp"

#include "conf/error.hpp"
#include "conf/keys.hpp"
#include "conf/sources/environment.hpp"
#include "core/api/runtime/failure_options.hpp"
#include "core/deploy/service_parts.hpp"

namespace tinderbox::core {

namespace {

void check_task_cpus(const conf::Conf& conf, std::optional<int32_t> local_threads) {
  const std::string name(conf::kTaskCpus.spec.name);
  const int32_t cpus = conf.get(conf::kTaskCpus);
  if (cpus < 1)
    throw conf::Error(name + " was " + std::to_string(cpus) +
                      ", but must be > 0: give each task at least one core.");
  const std::optional<int32_t> cores =
      local_threads ? local_threads : conf.get(conf::kExecutorCores);
  if (!cores || *cores >= cpus) return;
  throw conf::Error(
      "The number of cores per executor (=" + std::to_string(*cores) +
      ") has to be >= the number of cpus per task = " + std::to_string(cpus) + ". Increase " +
      (local_threads ? "N of local[N]" : std::string(conf::kExecutorCores.spec.name)) +
      " or decrease " + name + ".");
}

}  // namespace

void check_driver_settings(const conf::Conf& conf, std::optional<int32_t> local_threads) {
  const bool is_local = local_threads.has_value();
  check_task_cpus(conf, local_threads);
  for (const conf::Key<int>* key :
       {&conf::kDriverPort, &conf::kBlockManagerPort, &conf::kDriverBlockManagerPort})
    check_port(conf.get(*key), std::string(key->spec.name));
  const Duration timeout = conf.get(conf::kExecutorTimeout);
  const auto not_longer = [&](const conf::Key<conf::Duration>& key) {
    if (conf.get(key) > timeout)
      throw conf::Error(std::string(key.spec.name) + " should be less than or equal to " +
                        std::string(conf::kExecutorTimeout.spec.name) + ".");
  };
  not_longer(conf::kNetworkTimeoutInterval);
  not_longer(conf::kExecutorHeartbeatInterval);
  if (dynamic_allocation(conf)) allocation_options(conf);
  exclusion_options(conf, is_local);
  migration_options(conf, is_local);
  rolling_options(conf, is_local);
  barrier_options(conf);
}

std::vector<std::string> check_default_profile(const conf::Conf& conf) {
  const ResourceProfile profile = default_profile(conf);
  if (profile.executor.resources.empty() && profile.task.resources.empty()) return {};
  Result<std::vector<std::string>> warnings = check_profile(profile, profile);
  if (!warnings) throw conf::Error(warnings.error().message);
  return std::move(*warnings);
}

DriverOptions driver_options(const conf::Conf& conf, const Backend& backend, const AppId& app) {
  DriverOptions o;
  o.app = app;
  for (const auto& [name, value] : conf::without_node_values(conf).pairs())
    o.properties[name] = value;
  o.properties["spark.app.id"] = app.value;
  o.is_local = backend.is_local();
  o.cluster_manager = !backend.is_local();
  o.tells_local_tasks = backend.tells_local_tasks();
  o.task_cpus = conf.get(conf::kTaskCpus);
  int32_t of_backend = backend.max_task_failures();
  o.max_task_failures = of_backend >= 0 ? of_backend : conf.get(conf::kTaskMaxFailures);
  o.launch_ahead = conf.get(conf::kTaskLaunchAhead);
  o.launch_ahead_window = conf.get(conf::kTaskLaunchAheadWindow);
  o.max_consecutive_attempts = conf.get(conf::kStageMaxConsecutiveAttempts);
  o.max_stage_attempts = conf.get(conf::kStageMaxAttempts);
  o.max_cancelled_groups = static_cast<size_t>(std::max(0, conf.get(conf::kCancelledGroups)));
  o.locality_wait_process = conf.get(conf::kLocalityWaitProcess);
  o.locality_wait_node = conf.get(conf::kLocalityWaitNode);
  o.locality_legacy_reset = conf.get(conf::kLocalityLegacyReset);
  o.reduce_locality = conf.get(conf::kShuffleReduceLocality);
  o.revive_interval = conf.get(conf::kSchedulerReviveInterval);
  o.starvation_timeout = conf.get(conf::kStarvationTimeout);
  o.remove_delay = conf.get(conf::kExecutorRemoveDelay);
  o.executor_timeout = conf.get(conf::kExecutorTimeout);
  o.executor_check_interval = conf.get(conf::kNetworkTimeoutInterval);
  o.max_result_size = conf.get(conf::kDriverMaxResultSize);
  o.max_message_size = conf.get(conf::kRpcMessageMaxSize);
  o.profile = default_profile(conf);
  o.merge_profiles = conf.get(conf::kProfileMergeConflicts);
  o.exclusion = exclusion_options(conf, o.is_local);
  o.speculation = speculation_options(conf, o.is_local);
  o.barrier = barrier_options(conf);
  if (dynamic_allocation(conf)) o.allocation = allocation_options(conf);
  o.rolling = rolling_options(conf, o.is_local);
  o.migration = migration_options(conf, o.is_local);
  o.replication = replication_options(conf);
  o.force_kill_timeout = conf.get(conf::kDecommissionForceKillTimeout);
  o.max_retained_decommissioned = conf.get(conf::kMaxRetainedDecommissioned);
  o.max_retained_unknown_decommissioned = conf.get(conf::kMaxRetainedUnknownDecommissioned);
  o.ignore_decommission_fetch_failure = conf.get(conf::kIgnoreDecommissionFetchFailure);
  o.unregister_outputs_on_host = conf.get(conf::kUnregisterOutputOnHost);
  return o;
}

}  // namespace tinderbox::core
