#include "tests/sim/scenario/settings.hpp"

#include <algorithm>

namespace tinderbox::sim {
namespace {

core::AllocationOptions random_allocation(Random& r, const Settings& s) {
  core::AllocationOptions o;
  o.min_executors = static_cast<int32_t>(r.between(0, 2));
  o.max_executors = static_cast<int32_t>(r.between(std::max(1, o.min_executors), 6));
  o.initial_executors = static_cast<int32_t>(r.between(o.min_executors, o.max_executors));
  o.backlog_timeout = r.between(Duration{100ms}, Duration{2s});
  o.sustained_timeout = r.between(Duration{100ms}, Duration{2s});
  o.idle_timeout = r.between(Duration{200ms}, Duration{10s});
  o.cached_idle_timeout = r.chance(500) ? core::kNever : r.between(Duration{1s}, Duration{20s});
  o.shuffle_timeout = r.chance(500) ? core::kNever : r.between(Duration{500ms}, Duration{20s});
  o.ratio = r.chance(700) ? 1 : 0.5;
  o.tasks_per_executor = s.cores / s.task_cpus;
  o.shuffle_tracking = true;
  o.decommission = r.chance(500);
  return o;
}

core::ExclusionOptions random_exclusion(Random& r, const Settings& s) {
  core::ExclusionOptions o;
  o.application = r.chance(850);
  o.task_and_stage = !o.application || r.chance(700);
  const auto few = [&] { return static_cast<int32_t>(r.between(1, 2)); };
  o.task_attempts_per_executor = few();
  o.task_attempts_per_host = std::min(s.max_failures - 1, few());
  o.stage_tasks_per_executor = few();
  o.stage_executors_per_host = few();
  o.application_tasks_per_executor = few();
  o.application_executors_per_host = few();
  o.timeout = r.between(Duration{200ms}, Duration{8s});
  o.kill = r.chance(300);
  o.decommission = r.chance(500);
  o.fetch_failure = r.chance(300);
  o.dynamic_allocation = s.allocation.has_value();
  o.unschedulable_timeout = r.between(Duration{1s}, Duration{60s});
  return o;
}

}  // namespace

Settings random_settings(Random& r) {
  Settings s;
  s.launch_ahead = r.chance(500) ? 0 : static_cast<int32_t>(r.between(1, 8));
  s.task_cpus = r.chance(100) ? 2 : 1;
  s.cores = static_cast<int32_t>(r.between(s.task_cpus, 4));
  s.max_failures = r.chance(700) ? 4 : static_cast<int32_t>(r.between(1, 3));
  s.max_attempts = r.chance(700) ? 4 : 2;
  s.reduce_locality = r.chance(500);
  s.legacy_locality = r.chance(200);
  s.skewed = r.chance(500);
  s.locality_wait = r.chance(500) ? Duration{0} : r.between(Duration{100ms}, Duration{3s});
  s.heartbeat = r.between(Duration{1s}, Duration{5s});
  s.executor_timeout = r.between(Duration{10s}, Duration{30s});
  s.check_interval = r.between(Duration{2s}, Duration{10s});
  s.remove_delay = r.between(Duration{500ms}, Duration{5s});
  s.ask_timeout = r.between(Duration{5s}, Duration{20s});
  s.retry_wait = r.between(Duration{500ms}, Duration{5s});
  s.silence = r.between(Duration{5s}, Duration{20s});
  s.max_retries = static_cast<int32_t>(r.between(0, 3));
  s.task_time = r.chance(300) ? Duration{2ms} : r.between(Duration{20ms}, Duration{800ms});
  s.usual_delay = r.between(Duration{50us}, Duration{1ms});
  s.tail = r.chance(300) ? r.between(1, 50) : 0;
  s.tail_delay = r.between(Duration{10ms}, Duration{1s});
  s.untold = r.chance(700) ? 50 : 500;
  s.manager_delay = r.between(Duration{10ms}, Duration{3s});
  s.start_delay = r.between(Duration{100ms}, Duration{4s});
  s.speculation = r.chance(400);
  s.fair = r.chance(300);
  s.min_share = static_cast<int32_t>(r.between(0, 4));
  if (r.chance(300)) s.allocation = random_allocation(r, s);
  if (r.chance(400) && s.max_failures > 1) s.exclusion = random_exclusion(r, s);
  if (r.chance(300)) s.force_kill = r.between(Duration{100ms}, Duration{5s});
  s.retained_decommissioned = static_cast<int32_t>(r.between(0, 8));
  s.forgive_decommissioned = r.chance(700);
  s.unregister_on_host = r.chance(300);
  return s;
}

}  // namespace tinderbox::sim
