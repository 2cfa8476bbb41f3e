// Where tasks would rather run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/scheduler/executors/executors.hpp"

namespace tinderbox::core {

/// A location preference as text: `host`, `hdfs_cache_<host>` or `executor_<host>_<id>`.
/// Source: Spark TaskLocation.
struct TaskLocation {
  std::string host;
  ExecutorId executor;  // empty: any of the host
  bool hdfs_cached = false;
  bool operator==(const TaskLocation&) const = default;
};
TaskLocation parse_task_location(std::string_view text);

/// A TaskLocation in the numbers of Executors.
struct Place {
  static constexpr int32_t kAnyExecutor = -1, kCached = -2;
  int32_t host = -1;
  int32_t executor = kAnyExecutor;  // kCached: each one of the host has it
};

/// Those of the tasks of a set: 4 bytes a task and 8 a place, until so many tasks in a row are
/// done.
class Places {
 public:
  static constexpr size_t kChunk = 1024;  // tasks

  /// The next task's.
  void add(const std::vector<std::string>& texts, Executors& executors);
  /// All tasks have theirs.
  void complete();
  /// Some task has one.
  bool any() const { return any_; }
  /// Empty: it has none, or had.
  std::span<const Place> of(int32_t task) const;
  /// That task runs no more. To be called once for each.
  void done(int32_t task);

 private:
  struct Chunk {
    std::vector<uint32_t> ends;  // of its task i in `places`
    std::vector<Place> places;
    size_t done = 0;
    void complete();
  };
  std::vector<Chunk> chunks_;
  bool any_ = false;
};

}  // namespace tinderbox::core
