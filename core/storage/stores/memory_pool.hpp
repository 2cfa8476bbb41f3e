// The memory of one process that tasks and cached blocks share. Source: Spark UnifiedMemoryManager
// and ExecutionMemoryPool 4.3.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>

#include "net/mutex.hpp"
#include "net/types.hpp"

namespace tinderbox::core {

/// Counts bytes, owns none. Blocks may take what no task uses; tasks may throw blocks out until
/// these have their region left. Unit: bytes. Thread: any.
class MemoryPool {
 public:
  struct Use {
    int64_t execution = 0;
    int64_t storage = 0;
  };
  /// Shape: region ≤ size.
  MemoryPool(int64_t size, int64_t storage_region) : size_(size), region_(storage_region) {}
  /// Makes room: blocks of so many bytes should go, but none of `keep`.
  using Evict = std::function<void(int64_t bytes, RddId keep)>;
  /// What is called, without a lock, when tasks lack memory that blocks have. Before tasks run.
  void on_shortage(Evict evict) { evict_ = std::move(evict); }

  /// Gives a task up to `bytes`. Of n tasks that want memory each gets at most 1/n; while others
  /// leave it less than 1/2n it waits, but not for ever: they may be waiting for it elsewhere.
  /// `storing`: the Rdd that it is for, whose blocks are not thrown out for one more of them.
  int64_t acquire(TaskId task, int64_t bytes, const std::atomic<bool>& killed, RddId storing = {});
  void release(TaskId task, int64_t bytes);
  /// What each of the tasks that hold some may have in all, as things are.
  int64_t share() const;
  /// A task was killed: whoever waits looks at its mark again.
  void interrupt();

  /// What blocks may take without one being thrown out. Negative: never.
  int64_t free() const;
  /// False: there is less than that. Blocks are not thrown out for it.
  bool take_storage(int64_t bytes);
  void give_storage(int64_t bytes);
  Use use() const;
  int64_t size() const { return size_; }

 private:
  int64_t share_of(size_t tasks) const REQUIRES(mutex_) {
    return (size_ - std::min(use_.storage, region_)) / static_cast<int64_t>(tasks);
  }
  /// What task may have, of `bytes` more, as things are. Whoever waits here may find its entry
  /// gone: a task has a second thread where it pipes, and that one may have given back all it held.
  int64_t grant(TaskId task, int64_t bytes) REQUIRES(mutex_);
  int64_t left() const REQUIRES(mutex_) { return size_ - use_.execution - use_.storage; }

  const int64_t size_;
  const int64_t region_;
  Evict evict_;
  mutable net::Mutex mutex_;
  net::Condition changed_;
  Use use_ GUARDED_BY(mutex_);
  std::map<TaskId, int64_t> held_ GUARDED_BY(mutex_);  // also by those who wait
};

}  // namespace tinderbox::core
