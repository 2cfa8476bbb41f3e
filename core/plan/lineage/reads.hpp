// What a task reads of shuffles, told from its stage's lineage alone.
#pragma once

#include <vector>

#include "core/plan/lineage/lineage.hpp"

namespace tinderbox::core {

/// A task reads these adjacent partitions of a shuffle, as if they were one.
struct ShuffleRead {
  ShuffleId shuffle;
  int32_t reduce = 0;
  int32_t count = 1;
  bool operator==(const ShuffleRead&) const = default;
};

/// Runs of adjacent partitions of the parent that `p` reads, in order: f(first, count). Runs are of
/// one unless the parent has such, computed anew. Source: Spark's
/// ShuffleBlockFetcherIterator.mergeContinuousShuffleBlockIdsIfNeeded.
template <class F>
void each_run(const NarrowDependency& dependency, int32_t p, F&& f) {
  const Node& parent = *dependency.parent;
  const bool runs = dependency.kind == NarrowDependency::Kind::Table &&
                    parent.storage_bits.load(std::memory_order_relaxed) == 0 && parent.has_runs();
  int32_t first = 0, count = 0;
  dependency.each_parent(p, [&](int32_t q) {
    if (runs && count > 0 && q == first + count) {
      ++count;
      return;
    }
    if (count > 0) f(first, count);
    first = q, count = 1;
  });
  if (count > 0) f(first, count);
}

/// Appends what partition `p` of `root` reads, each once, through narrow dependencies; not what
/// lies behind a step whose partitions are kept, since those may be there.
void add_shuffle_reads(const Node& root, int32_t p, std::vector<ShuffleRead>& reads);
/// Some partition may read a shuffle.
bool reads_shuffles(const Node& root);

}  // namespace tinderbox::core
