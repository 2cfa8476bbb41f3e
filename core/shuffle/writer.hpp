// A map task's output: records gathered by reduce partition, spilled when memory is short,
// committed at the end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plan/task.hpp"

namespace tinderbox::core {

/// What a map task may hold in memory before it spills: its share of the executor's memory.
/// Unit: bytes. Source: spark.memory.fraction of spark.executor.memory over the executor's cores.
int64_t shuffle_memory_budget(const TaskServices& services);

/// Records of a partition are appended to its buffer; a full buffer is sealed into a piece. When
/// the pieces of all partitions exceed the budget, they go to a temporary file as one run,
/// ascending by partition. Thread: one task's.
class ShuffleWriter {
 public:
  ShuffleWriter(TaskContext& context, ShuffleId shuffle, int32_t num_reduces, int64_t budget);
  ~ShuffleWriter();
  ShuffleWriter(const ShuffleWriter&) = delete;
  ShuffleWriter& operator=(const ShuffleWriter&) = delete;

  /// Append one encoded record to this, then call added(r).
  Bytes& buffer(int32_t r) { return parts_[static_cast<size_t>(r)].open; }
  void added(int32_t r) {
    ++records_;
    if (buffer(r).size() >= kFull) seal(r);
  }
  /// Joins what was spilled and what is in memory and hands it to the store.
  /// Errors: throws std::runtime_error when a disk fails.
  TaskOutput commit();

 private:
  static constexpr size_t kFull = 256 << 10;
  struct Part {
    Bytes open;    // records
    Bytes sealed;  // pieces
  };
  /// Shape: partition r lies at [offsets[r], offsets[r+1]).
  struct Run {
    std::string path;
    std::vector<int64_t> offsets;
  };
  void seal(int32_t r);
  void spill();
  Bytes joined(int32_t r, const std::vector<std::unique_ptr<net::ReadFile>>& files);
  void remove_runs();

  TaskContext& context_;
  ShuffleId shuffle_;
  int64_t budget_;
  bool compress_;
  std::vector<Part> parts_;
  std::vector<Run> runs_;
  int64_t sealed_bytes_ = 0;
  int64_t records_ = 0;
};

}  // namespace tinderbox::core
