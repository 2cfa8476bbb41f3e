// How the machines of a run are set, and how its world behaves when nothing fails.
#pragma once

#include <optional>
#include <vector>

#include "core/scheduler/options.hpp"
#include "tests/sim/world/world.hpp"

namespace tinderbox::sim {

/// Of executors in pods.
struct PodSettings {
  int32_t batch_size = 5, max_pending = INT32_MAX, max_pending_per_profile = INT32_MAX;
  int32_t max_failures = 1000;
  Duration batch_delay = 1s, creation_timeout = 600s, delete_grace = 5s, missing_delta = 30s;
  Duration api_delay = 2ms;     // of a request on its way, usually
  Duration place_delay = 50ms;  // until a pod has a node, usually
  int32_t claims = 0;           // of each executor
  bool own_claims = true, reuse_claims = true, wait_for_claims = false;
  bool delete_pods = true, decommission = false, watch = true;
};

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
  int32_t min_share = 0, weight = 1;          // of the first group's pool
  int32_t other_share = 0, other_weight = 1;  // of the second group's
  core::ExclusionOptions exclusion;           // by default off
  std::optional<core::AllocationOptions> allocation;
  std::optional<Duration> force_kill;  // of executors that drain for too long
  int32_t retained_decommissioned = 0;
  bool forgive_decommissioned = true, unregister_on_host = false;
  int32_t gpus = 0;      // addresses of each executor of the default resource profile
  double task_gpus = 0;  // of its tasks
  core::BarrierOptions barrier;
  PodSettings pods;
  core::MigrationOptions migration;             // by default off
  std::vector<core::ResourceProfile> profiles;  // that nodes name
  /// Tasks need more than slots.
  bool custom_resources() const { return task_gpus > 0 || !profiles.empty(); }
};
inline constexpr const char* kGpu = "gpu";

Settings random_settings(Random& r);

}  // namespace tinderbox::sim
