// Settings of dynamic allocation, checked.
#include "core/scheduler/allocation/options.hpp"

#include <algorithm>

#include "conf/error.hpp"
#include "conf/keys.hpp"
#include "core/resources/resource_profile.hpp"

namespace tinderbox::core {

namespace {

std::string name(const conf::KeySpec& key) { return std::string(key.name); }

void check_bounds(const AllocationOptions& o) {
  const std::string min = name(conf::kAllocationMinExecutors.spec);
  const std::string max = name(conf::kAllocationMaxExecutors.spec);
  if (o.min_executors < 0 || o.max_executors < 0)
    throw conf::Error(min + " and " + max + " must be positive!");
  if (o.max_executors == 0) throw conf::Error(max + " cannot be 0!");
  if (o.min_executors > o.max_executors)
    throw conf::Error(min + " (" + std::to_string(o.min_executors) +
                      ") must be less than or equal to " + max + " (" +
                      std::to_string(o.max_executors) + ")!");
}

void check_times(const AllocationOptions& o) {
  const auto positive = [](Duration d, const conf::KeySpec& key) {
    if (d <= Duration{0}) throw conf::Error(name(key) + " must be > 0!");
  };
  positive(o.backlog_timeout, conf::kAllocationBacklogTimeout.spec);
  positive(o.sustained_timeout, conf::kAllocationSustainedTimeout.spec);
  const auto not_negative = [](Duration d, const conf::KeySpec& key) {
    if (d < Duration{0}) throw conf::Error(name(key) + " is negative. Timeout must be >= 0.");
  };
  not_negative(o.idle_timeout, conf::kAllocationIdleTimeout.spec);
  not_negative(o.cached_idle_timeout, conf::kAllocationCachedIdleTimeout.spec);
  not_negative(o.shuffle_timeout, conf::kAllocationShuffleTimeout.spec);
}

/// Outputs on executors that go would be lost, and computed again by whoever reads them. Spark has
/// a further condition, a shuffle service; there is none here.
void check_shuffles(const AllocationOptions& o, const conf::Conf& conf) {
  const bool moved =
      o.decommission && conf.get(conf::kMigration) && conf.get(conf::kMigrateShuffles);
  if (o.shuffle_tracking || moved) return;
  throw conf::Error(
      "Dynamic allocation of executors requires one of the following conditions: 1) enabling "
      "shuffle tracking through " +
      name(conf::kAllocationShuffleTracking.spec) +
      ". 2) enabling shuffle blocks decommission through " + name(conf::kDecommissionEnabled.spec) +
      ", " + name(conf::kMigration.spec) + " and " + name(conf::kMigrateShuffles.spec) + ".");
}

int32_t tasks_per_executor(const conf::Conf& conf) {
  const int32_t cores = conf.get(conf::kExecutorCores).value_or(1);
  const int32_t cpus = conf.get(conf::kTaskCpus);
  if (cpus <= 0 || cores < cpus)
    throw conf::Error("The number of cores per executor (=" + std::to_string(cores) +
                      ") has to be >= the number of cpus per task = " + std::to_string(cpus) + ".");
  const ResourceProfile profile = default_profile(conf);
  return std::max(1, slots_of(needs_of(profile, profile), cores, amounts_of(profile)));
}

void choose_initial(AllocationOptions& o, const conf::Conf& conf) {
  const int32_t initial = conf.get(conf::kAllocationInitialExecutors);
  const std::optional<int32_t> instances = conf.get(conf::kExecutorInstances);
  const auto too_few = [&](const conf::KeySpec& key) {
    o.notes.push_back(name(key) + " less than " + name(conf::kAllocationMinExecutors.spec) +
                      " is invalid, ignoring its setting, please update your configs.");
  };
  if (initial < o.min_executors) too_few(conf::kAllocationInitialExecutors.spec);
  if (instances && *instances < o.min_executors) too_few(conf::kExecutorInstances.spec);
  o.initial_executors = std::max({initial, o.min_executors, instances.value_or(0)});
}

}  // namespace

bool dynamic_allocation(const conf::Conf& conf) {
  const std::string master = conf.get(conf::kMaster);
  const bool local = master == "local" || master.starts_with("local[");
  return conf.get(conf::kDynamicAllocationEnabled) && !local;
}

AllocationOptions allocation_options(const conf::Conf& conf) {
  AllocationOptions o;
  o.min_executors = conf.get(conf::kAllocationMinExecutors);
  o.max_executors = conf.get(conf::kAllocationMaxExecutors);
  o.backlog_timeout = conf.get(conf::kAllocationBacklogTimeout);
  o.sustained_timeout = conf.get(conf::kAllocationSustainedTimeout);
  o.idle_timeout = conf.get(conf::kAllocationIdleTimeout);
  o.cached_idle_timeout = conf.get(conf::kAllocationCachedIdleTimeout);
  o.shuffle_timeout = conf.get(conf::kAllocationShuffleTimeout).value_or(kNever);
  o.ratio = conf.get(conf::kAllocationRatio);
  o.shuffle_tracking = conf.get(conf::kAllocationShuffleTracking);
  o.decommission = conf.get(conf::kDecommissionEnabled);
  check_bounds(o);
  check_times(o);
  check_shuffles(o, conf);
  if (!(o.ratio > 0 && o.ratio <= 1))
    throw conf::Error(name(conf::kAllocationRatio.spec) + " must be > 0 and <= 1.0");
  o.tasks_per_executor = tasks_per_executor(conf);
  choose_initial(o, conf);
  if (!conf.get(conf::kExecutorCores))
    o.notes.push_back("Dynamic allocation enabled without " + name(conf::kExecutorCores.spec) +
                      " explicitly set, you may get more executors allocated than expected. It's "
                      "recommended to set " +
                      name(conf::kExecutorCores.spec) + " explicitly.");
  return o;
}

}  // namespace tinderbox::core
