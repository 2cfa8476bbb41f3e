// Lineage as a person reads it.
#pragma once

#include <string>

#include "core/plan/lineage.hpp"

namespace tinderbox::core {

/// Spark's words for a level: "Disk Memory Deserialized 1x Replicated".
std::string describe(const StorageLevel& level);

/// A line an Rdd, the last one first; `+-(n)` where a shuffle was, `|` along what one stage
/// computes. A checkpoint stands below its Rdd in place of the parents. Source: Spark
/// RDD.toDebugString.
std::string debug_string(const Node& node);

}  // namespace tinderbox::core
