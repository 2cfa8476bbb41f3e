// What a task reads of shuffles, told from its stage's lineage alone.
#pragma once

#include <vector>

#include "core/plan/lineage.hpp"

namespace tinderbox::core {

/// A task reads this partition of a shuffle.
struct ShuffleRead {
  ShuffleId shuffle;
  int32_t reduce = 0;
  bool operator==(const ShuffleRead&) const = default;
};

/// Appends what partition `p` of `root` reads, each once, through narrow dependencies; not what
/// lies behind a step whose partitions are kept, since those may be there.
void add_shuffle_reads(const Node& root, int32_t p, std::vector<ShuffleRead>& reads);
/// Some partition may read a shuffle.
bool reads_shuffles(const Node& root);

}  // namespace tinderbox::core
