// Which blocks a reducer reads.
#pragma once

#include <vector>

#include "core/plan/lineage/reads.hpp"
#include "core/plan/tasks/task.hpp"
#include "net/wire/task_messages.hpp"

namespace tinderbox::core {

/// Blocks of what is read, by map; partitions that are known to be empty, and outputs that are
/// missing, are left out. Adjacent partitions of one output are one block, up to a fifth of
/// spark.reducer.maxSizeInFlight, so that five of them can be on their way. Small blocks in the
/// memory of another executor are one, too, as many as make a group (map_output_group.hpp), where
/// the first of them is; not where spark.reducer.maxBlocksInFlightPerAddress bounds them.
/// Source: Spark ShuffleBlockFetcherIterator.
struct ShuffleWants {
  std::vector<BlockWant> blocks;
  bool complete = true;  // no output is missing
};
ShuffleWants shuffle_wants(const MapOutputs& outputs, const ShuffleRead& read,
                           const TaskServices& services);
/// Those of them that lie with other executors.
std::vector<BlockWant> wants_of_others(const MapOutputs& outputs, const ShuffleRead& read,
                                       const TaskServices& services);

}  // namespace tinderbox::core
