// Which resource profile a stage has: that of its Rdds.
// Source: Spark 4.3 DAGScheduler.mergeResourceProfilesForStage.
#pragma once

#include "core/plan/lineage/lineage.hpp"
#include "core/scheduler/resources/profiles.hpp"

namespace tinderbox::core {

/// The profile of the stage that ends in `root`. `merge`: several become the most of each.
/// Errors: several and not `merge`; executors of the merged one could not run its tasks.
Result<int32_t> stage_profile(const NodePtr& root, Profiles& profiles, bool merge);

/// Why some stage of a job over `root` has no profile; empty: each has one.
std::string profile_conflict(const NodePtr& root, Profiles& profiles, bool merge);

}  // namespace tinderbox::core
