// What is told about tasks and blocks: values that messages carry, and that applications see too.
#pragma once

#include <cstdint>
#include <string>

#include "net/types.hpp"

namespace tinderbox {

/// Source: Spark TaskState.
enum class TaskState : uint8_t { Launching, Running, Finished, Failed, Killed, Lost };
constexpr TaskState last_value(TaskState) { return TaskState::Lost; }

/// Source: Spark TaskEndReason and its cases.
enum class TaskEndKind : uint8_t {
  Success,
  Resubmitted,
  FetchFailed,
  ExceptionFailure,
  TaskResultLost,
  TaskKilled,
  TaskCommitDenied,
  ExecutorLostFailure,
  UnknownReason,
};
constexpr TaskEndKind last_value(TaskEndKind) { return TaskEndKind::UnknownReason; }

/// Where an executor serves blocks. `address` is host:port of its block socket.
struct BlockManagerId {
  ExecutorId executor;
  std::string host;
  std::string address;
  auto operator<=>(const BlockManagerId&) const = default;
};

/// Why a task attempt ended. Only the fields of `kind` are set.
struct TaskEndReason {
  TaskEndKind kind = TaskEndKind::Success;
  std::string class_name;   // ExceptionFailure: type of what was thrown
  std::string description;  // message of the exception, of the kill or of the loss
  std::string stack;
  BlockManagerId address;  // FetchFailed: who should have had it; empty executor: metadata missing
  ShuffleId shuffle;
  int64_t map_id = -1;
  int32_t map_index = -1;
  int32_t reduce = -1;
  ExecutorId executor;  // ExecutorLostFailure
  bool exit_caused_by_app = false;
  bool out_of_memory = false;  // ExceptionFailure: that, or one of its causes, is a std::bad_alloc
  bool operator==(const TaskEndReason&) const = default;
};

/// Where a map task left its output, and how much there is for each reducer.
/// Shape: sizes has one byte a reducer, Spark's log scale (core/shuffle/blocks/map_status).
struct MapStatus {
  BlockManagerId location;
  int64_t map_id = -1;  // the task attempt's id: unique an attempt
  Bytes sizes;
  int64_t records = 0;
  bool in_memory = false;  // of its holder; only a hint, which readers of the same host use
  bool operator==(const MapStatus&) const = default;
};

struct AccumulatorUpdate {
  AccumulatorId id;
  Bytes value;  // encoded delta; only the user's thread decodes it
  bool internal_metric = false;
  bool operator==(const AccumulatorUpdate&) const = default;
};

/// Source: Spark TaskMetrics. Unit: microseconds, bytes, records.
struct TaskMetrics {
  int64_t run_time = 0;
  int64_t cpu_time = 0;
  int64_t deserialize_time = 0;
  int64_t input_bytes = 0, input_records = 0;
  int64_t output_bytes = 0, output_records = 0;
  int64_t shuffle_read_local_bytes = 0, shuffle_read_remote_bytes = 0;
  int64_t shuffle_read_records = 0, fetch_wait_time = 0;
  int64_t shuffle_write_bytes = 0, shuffle_write_records = 0, shuffle_write_time = 0;
  int64_t memory_spilled = 0, disk_spilled = 0, peak_memory = 0;
  bool operator==(const TaskMetrics&) const = default;
};

/// A block's state on one executor, as the driver's block table keeps it.
struct BlockUpdate {
  std::string block;  // rdd_R_P, broadcast_I_pieceN, …
  bool in_memory = false;
  bool on_disk = false;  // neither: the block is gone
  int64_t memory_bytes = 0;
  int64_t disk_bytes = 0;
  bool use_memory = false, use_disk = false;  // its level; neither: not told
  int32_t replication = 0;                    // its level's number of copies; 0: not told
  bool operator==(const BlockUpdate&) const = default;
};
/// What a running task has read so far. Unit of `run_time`: microseconds.
struct TaskProgress {
  TaskId id;
  int64_t records_read = 0;
  int64_t run_time = 0;
  bool operator==(const TaskProgress&) const = default;
};

}  // namespace tinderbox
