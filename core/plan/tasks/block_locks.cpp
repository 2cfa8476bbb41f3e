#include "core/plan/tasks/block_locks.hpp"

namespace tinderbox::core {

bool BlockLocks::try_take(const std::string& block) {
  net::Lock lock(mutex_);
  return taken_.insert(block).second;
}

bool BlockLocks::take(const std::string& block, const std::atomic<bool>& killed) {
  net::Lock lock(mutex_);
  while (!killed) {
    if (taken_.insert(block).second) return true;
    changed_.wait(lock);
  }
  return false;
}

void BlockLocks::let_go(const std::string& block) {
  net::Lock lock(mutex_);
  taken_.erase(block);
  changed_.notify_all();
}

void BlockLocks::interrupt() {
  net::Lock lock(mutex_);
  changed_.notify_all();
}

}  // namespace tinderbox::core
