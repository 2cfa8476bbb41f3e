// Which blocks a reducer reads.
#pragma once

#include <vector>

#include "core/plan/reads.hpp"
#include "core/plan/task.hpp"

namespace tinderbox::core {

/// Blocks of what is read, by map; partitions that are known to be empty, and outputs that are
/// missing, are left out. Adjacent partitions of one output are one block, up to a fifth of
/// spark.reducer.maxSizeInFlight, so that five of them can be on their way.
/// Source: Spark ShuffleBlockFetcherIterator.
struct ShuffleWants {
  std::vector<BlockWant> blocks;
  bool complete = true;  // no output is missing
};
ShuffleWants shuffle_wants(const MapOutputs& outputs, const ShuffleRead& read,
                           const TaskServices& services);

}  // namespace tinderbox::core
