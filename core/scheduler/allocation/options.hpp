// Settings of dynamic allocation, checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conf/conf.hpp"
#include "net/types.hpp"

namespace tinderbox::core {

/// Longer than anything runs: such a timeout never passes.
inline constexpr Duration kNever = Duration::max();

/// spark.dynamicAllocation.* and what else decides about the number of executors. Defaults live in
/// conf/keys.hpp.
struct AllocationOptions {
  int32_t min_executors{}, max_executors{}, initial_executors{};
  Duration backlog_timeout{}, sustained_timeout{};
  Duration idle_timeout{}, cached_idle_timeout{};
  Duration shuffle_timeout = kNever;
  double ratio = 1;              // of full parallelism
  int32_t tasks_per_executor{};  // of the default resource profile
  bool shuffle_tracking = false;
  bool shuffle_service = false;    // outputs outlive executors: nothing to track
  bool service_has_rdds = false;   // cached blocks on disk outlive them too
  bool decommission = false;       // idle executors are decommissioned, not killed
  std::vector<std::string> notes;  // for the log, at the start
};

/// Whether the number of executors follows the load: never in local mode.
bool dynamic_allocation(const conf::Conf& conf);

/// Errors: conf::Error, in Spark's words.
AllocationOptions allocation_options(const conf::Conf& conf);

}  // namespace tinderbox::core
