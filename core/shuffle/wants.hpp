// Which blocks a reducer reads.
#pragma once

#include <vector>

#include "core/plan/task.hpp"

namespace tinderbox::core {

/// Blocks of one reducer, by map; those that are known to be empty, and outputs that are missing,
/// are left out.
struct ShuffleWants {
  std::vector<BlockWant> blocks;
  bool complete = true;  // no output is missing
};
ShuffleWants shuffle_wants(const MapOutputs& outputs, int32_t reduce);

}  // namespace tinderbox::core
