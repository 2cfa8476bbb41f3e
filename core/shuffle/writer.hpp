// A map task's output: records gathered by reduce partition, committed at the end.
#pragma once

#include "core/shuffle/spilling/spilled_parts.hpp"

namespace tinderbox::core {

/// Thread: one task's.
class ShuffleWriter {
 public:
  ShuffleWriter(TaskContext& context, ShuffleId shuffle, int32_t num_reduces);

  /// Append one encoded record to this, then call added(r).
  Bytes& buffer(int32_t r) { return parts_.buffer(r); }
  void added(int32_t r) { parts_.added(r); }
  /// Joins what was spilled and what is in memory and hands it to the store.
  /// Errors: throws std::runtime_error when a disk fails.
  TaskOutput commit();

 private:
  TaskContext& context_;
  ShuffleId shuffle_;
  SpilledParts parts_;
};

}  // namespace tinderbox::core
