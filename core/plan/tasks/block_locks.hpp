// Which cached partitions the tasks of one process compute.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <utility>

#include "net/mutex.hpp"

namespace tinderbox::core {

/// A task that wants what another computes waits for it. They never wait in a ring: who has the
/// lock of a partition takes, until that is kept, only those of ancestors. Source: Spark
/// BlockInfoManager. Thread: any.
class BlockLocks {
 public:
  /// False: another task has it.
  bool try_take(const std::string& block);
  /// Waits until it has it. False: the task was killed.
  bool take(const std::string& block, const std::atomic<bool>& killed);
  void let_go(const std::string& block);
  /// A task was killed: whoever waits looks at its mark again.
  void interrupt();

 private:
  net::Mutex mutex_;
  net::Condition changed_;
  std::set<std::string> taken_ GUARDED_BY(mutex_);
};

/// One task's lock of one block, let go at its end.
class BlockLock {
 public:
  BlockLock(BlockLocks& locks, std::string block) : locks_(locks), block_(std::move(block)) {}
  ~BlockLock() {
    if (taken_) locks_.let_go(block_);
  }
  BlockLock(const BlockLock&) = delete;
  BlockLock& operator=(const BlockLock&) = delete;
  bool try_take() { return taken_ = locks_.try_take(block_); }
  bool take(const std::atomic<bool>& killed) { return taken_ = locks_.take(block_, killed); }
  const std::string& block() const { return block_; }

 private:
  BlockLocks& locks_;
  const std::string block_;
  bool taken_ = false;
};

}  // namespace tinderbox::core
