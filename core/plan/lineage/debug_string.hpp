// Lineage as a person reads it.
#pragma once

#include <functional>
#include <string>

#include "core/plan/lineage/lineage.hpp"

namespace tinderbox::core {

/// Spark's words for a level: "Disk Memory Deserialized 1x Replicated".
std::string describe(const StorageLevel& level);

/// A line an Rdd, the last one first; `+-(n)` where a shuffle was, `|` along what one stage
/// computes. A checkpoint stands below its Rdd in place of the parents; each line has the level of
/// `node` itself. `held`: a line below that of an Rdd, unless it is empty. Source: Spark
/// RDD.toDebugString.
std::string debug_string(const Node& node,
                         const std::function<std::string(const Node& rdd)>& held = {});

}  // namespace tinderbox::core
