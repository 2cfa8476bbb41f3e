// What one step of a task holds of its process's memory, and where it puts what it can't hold.
#pragma once

#include <algorithm>

#include "core/plan/tasks/task.hpp"

namespace tinderbox::core {

/// Asks the pool in large steps and gives everything back at its end. The first megabyte is free:
/// a step that gets nothing else can still work. Thread: one task's.
class TaskMemory {
 public:
  /// `storing`: the Rdd that the step keeps partitions of. Its blocks are not thrown out for it.
  explicit TaskMemory(TaskContext& context, RddId storing = {})
      : context_(context), storing_(storing) {}
  ~TaskMemory() { release(); }
  TaskMemory(const TaskMemory&) = delete;
  TaskMemory& operator=(const TaskMemory&) = delete;
  /// False: there is no more, the caller must hold less. Unit: bytes, of all that it holds.
  bool hold(int64_t bytes) { return bytes <= limit_ || grow(bytes); }
  /// What the whole task may hold, as things are.
  int64_t share() const;
  /// Everything but the first megabyte goes back.
  void release();
  /// The caller can't hold less than `bytes`: it may have as much again before it must ask.
  void overdraw(int64_t bytes) { limit_ = std::max(limit_, 2 * bytes); }

 private:
  static constexpr int64_t kFree = 1 << 20;
  bool grow(int64_t bytes);

  TaskContext& context_;
  const RddId storing_;
  int64_t limit_ = kFree;  // more than kFree + acquired_ while it is overdrawn
  int64_t acquired_ = 0;
};

/// A new name for a file of this task, in a directory for temporary ones.
/// Errors: throws std::runtime_error when no directory can be written.
std::string temporary_path(TaskContext& context, const std::string& name);

}  // namespace tinderbox::core
