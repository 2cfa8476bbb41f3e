// Where a partition would rather be computed, by what it is computed from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/plan/lineage/lineage.hpp"

namespace tinderbox::core {

/// What `own` says of the partition or, where that is nothing, of the first of those that it is
/// computed from without a shuffle, the first parent first. Source: Spark
/// DAGScheduler.getPreferredLocsInternal. Thread: the driver's loop, or with lineage_mutex() held.
std::vector<std::string> first_preference(
    const Node& root, int32_t partition,
    const std::function<std::vector<std::string>(const Node&, int32_t)>& own);

/// Where the partitions of `parents`, side by side, would all rather be: the hosts that all of them
/// name, else all that one names. Empty: none names any. Source: Spark ZippedPartitionsBaseRDD.
std::vector<std::vector<std::string>> zipped_preference(const std::vector<const Node*>& parents);

}  // namespace tinderbox::core
