// Lineage as a person reads it.
#pragma once

#include <functional>
#include <string>

#include "core/plan/lineage.hpp"

namespace tinderbox::core {

/// Spark's words for a level: "Disk Memory Deserialized 1x Replicated".
std::string describe(const StorageLevel& level);

/// A line an Rdd, the last one first; `+-(n)` where a shuffle was, `|` along what one stage
/// computes. What replaced(id) gives stands below Rdd `id` in place of its parents; null: nothing
/// does. Source: Spark RDD.toDebugString.
std::string debug_string(
    const Node& node,
    const std::function<NodePtr(RddId)>& replaced = [](RddId) { return NodePtr(); });

}  // namespace tinderbox::core
