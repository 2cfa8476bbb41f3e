#include "core/api/runtime/failure_options.hpp"

#include <algorithm>
#include <string>

#include "conf/error.hpp"
#include "conf/keys.hpp"

namespace tinderbox::core {

namespace {

using std::chrono::hours;

/// The older key turns exclusion on by itself.
bool exclusion_enabled(const conf::Conf& conf) {
  if (const std::optional<bool> on = conf.get(conf::kExclude)) return *on;
  return conf.get(conf::kExcludeLegacyTimeout).value_or(Duration{0}) > Duration{0};
}

void must_be_positive(const conf::KeySpec& key, int64_t value) {
  if (value > 0) return;
  throw conf::Error(std::string(key.name) + " was " + std::to_string(value) + ", but must be > 0.");
}

/// A task that may fail as often on one host as in all never gets to a second host.
void check_attempts(const ExclusionOptions& o, int32_t max_failures) {
  if (o.task_attempts_per_host < max_failures) return;
  const std::string ours(conf::kExcludeTaskAttemptsPerNode.spec.name);
  const std::string theirs(conf::kTaskMaxFailures.spec.name);
  throw conf::Error(ours + " ( = " + std::to_string(o.task_attempts_per_host) +
                    ") was >= " + theirs + " ( = " + std::to_string(max_failures) +
                    " ). Though excludeOnFailure is enabled, with this configuration, Spark will "
                    "not be robust to one bad node. Decrease " +
                    ours + ", increase " + theirs + ", or disable excludeOnFailure with " +
                    std::string(conf::kExclude.spec.name));
}

void check(const ExclusionOptions& o, const conf::Conf& conf) {
  must_be_positive(conf::kExcludeTaskAttemptsPerExecutor.spec, o.task_attempts_per_executor);
  must_be_positive(conf::kExcludeTaskAttemptsPerNode.spec, o.task_attempts_per_host);
  must_be_positive(conf::kExcludeStageTasksPerExecutor.spec, o.stage_tasks_per_executor);
  must_be_positive(conf::kExcludeStageExecutorsPerNode.spec, o.stage_executors_per_host);
  must_be_positive(conf::kExcludeApplicationTasksPerExecutor.spec,
                   o.application_tasks_per_executor);
  must_be_positive(conf::kExcludeApplicationExecutorsPerNode.spec,
                   o.application_executors_per_host);
  const bool own = conf.get(conf::kExcludeTimeout).has_value();
  must_be_positive(own ? conf::kExcludeTimeout.spec : conf::kExcludeLegacyTimeout.spec,
                   o.timeout.count() / 1000);
  check_attempts(o, conf.get(conf::kTaskMaxFailures));
}

}  // namespace

ExclusionOptions exclusion_options(const conf::Conf& conf, bool is_local) {
  ExclusionOptions o;
  const bool both = exclusion_enabled(conf);
  o.application = conf.get(conf::kExcludeApplication).value_or(both);
  o.task_and_stage = conf.get(conf::kExcludeTaskAndStage).value_or(both);
  o.task_attempts_per_executor = conf.get(conf::kExcludeTaskAttemptsPerExecutor);
  o.task_attempts_per_host = conf.get(conf::kExcludeTaskAttemptsPerNode);
  o.stage_tasks_per_executor = conf.get(conf::kExcludeStageTasksPerExecutor);
  o.stage_executors_per_host = conf.get(conf::kExcludeStageExecutorsPerNode);
  o.application_tasks_per_executor = conf.get(conf::kExcludeApplicationTasksPerExecutor);
  o.application_executors_per_host = conf.get(conf::kExcludeApplicationExecutorsPerNode);
  o.timeout = conf.get(conf::kExcludeTimeout)
                  .value_or(conf.get(conf::kExcludeLegacyTimeout).value_or(hours(1)));
  o.kill = conf.get(conf::kExcludeKill);
  o.decommission = conf.get(conf::kExcludeKillDecommission);
  o.fetch_failure = conf.get(conf::kExcludeFetchFailure);
  o.dynamic_allocation = conf.get(conf::kDynamicAllocationEnabled);
  o.unschedulable_timeout = conf.get(conf::kExcludeUnschedulableTimeout);
  if (o.on() && !is_local) check(o, conf);
  return o;
}

SpeculationOptions speculation_options(const conf::Conf& conf, bool is_local) {
  SpeculationOptions o;
  o.enabled = conf.get(conf::kSpeculation) && !is_local;
  o.interval = conf.get(conf::kSpeculationInterval);
  o.multiplier = conf.get(conf::kSpeculationMultiplier);
  o.quantile = conf.get(conf::kSpeculationQuantile);
  o.min_runtime = conf.get(conf::kSpeculationMinTaskRuntime);
  o.duration_threshold = conf.get(conf::kSpeculationDurationThreshold);
  o.efficiency = conf.get(conf::kSpeculationEfficiency);
  o.long_run_factor = conf.get(conf::kSpeculationLongRunFactor);
  o.process_rate_multiplier = conf.get(conf::kSpeculationProcessRateMultiplier);
  o.decommission_kill_interval = conf.get(conf::kDecommissionKillInterval);
  return o;
}

MigrationOptions migration_options(const conf::Conf& conf, bool is_local) {
  MigrationOptions o;
  if (is_local || !conf.get(conf::kMigration)) return o;
  o.shuffles = conf.get(conf::kMigrateShuffles);
  o.rdds = conf.get(conf::kMigrateRdds);
  o.max_failures = conf.get(conf::kMigrationMaxFailures);
  o.reattempt_interval = conf.get(conf::kMigrationReattempt);
  o.max_threads = conf.get(conf::kMigrationThreads);
  must_be_positive(conf::kMigrationMaxFailures.spec, o.max_failures);
  must_be_positive(conf::kMigrationThreads.spec, o.max_threads);
  must_be_positive(conf::kMigrationReattempt.spec, o.reattempt_interval.count());
  return o;
}

ReplicationOptions replication_options(const conf::Conf& conf) {
  ReplicationOptions o;
  o.max_failures = conf.get(conf::kStorageMaxReplicationFailures);
  o.proactive = conf.get(conf::kStorageReplicationProactive);
  return o;
}

BarrierOptions barrier_options(const conf::Conf& conf) {
  BarrierOptions o;
  o.sync_timeout = conf.get(conf::kBarrierSyncTimeout);
  o.slots_interval = conf.get(conf::kBarrierSlotsInterval);
  o.slots_max_failures = conf.get(conf::kBarrierSlotsMaxFailures);
  must_be_positive(conf::kBarrierSyncTimeout.spec, o.sync_timeout.count());
  must_be_positive(conf::kBarrierSlotsInterval.spec, o.slots_interval.count());
  must_be_positive(conf::kBarrierSlotsMaxFailures.spec, o.slots_max_failures);
  return o;
}

}  // namespace tinderbox::core
