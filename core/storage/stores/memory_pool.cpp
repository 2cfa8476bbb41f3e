#include "core/storage/stores/memory_pool.hpp"

namespace tinderbox::core {
namespace {

constexpr std::chrono::milliseconds kLook{100};
constexpr int kLooks = 50;  // that a task waits for its share

}  // namespace

int64_t MemoryPool::grant(TaskId task, int64_t bytes) {
  const int64_t held = held_[task];  // it counts among those who share
  return std::clamp<int64_t>(share_of(held_.size()) - held, 0, bytes);
}

int64_t MemoryPool::acquire(TaskId task, int64_t bytes, const std::atomic<bool>& killed,
                            RddId storing) {
  net::Lock lock(mutex_);
  held_.try_emplace(task, 0);
  changed_.notify_all();  // there is one more to share with
  for (int looks = 0;; ++looks) {
    int64_t wanted = grant(task, bytes);
    if (const int64_t lack = std::min(wanted - left(), use_.storage - region_);
        lack > 0 && evict_) {
      lock.unlock();
      evict_(lack, storing);
      lock.lock();
      wanted = grant(task, bytes);
    }
    const int64_t given = std::clamp<int64_t>(left(), 0, wanted);
    int64_t& held = held_[task];
    const int64_t share = (size_ - use_.storage) / (2 * static_cast<int64_t>(held_.size()));
    if (given == bytes || held + given >= share || looks == kLooks || killed) {
      held += given;
      use_.execution += given;
      if (held == 0) held_.erase(task);
      return given;
    }
    changed_.wait_for(lock, kLook);
  }
}

void MemoryPool::release(TaskId task, int64_t bytes) {
  net::Lock lock(mutex_);
  const auto it = held_.find(task);
  if (it == held_.end()) return;
  const int64_t given = std::min(bytes, it->second);
  use_.execution -= given;
  it->second -= given;
  if (it->second == 0) held_.erase(it);
  changed_.notify_all();
}

int64_t MemoryPool::share() const {
  net::Lock lock(mutex_);
  return share_of(std::max<size_t>(held_.size(), 1));
}

void MemoryPool::interrupt() {
  net::Lock lock(mutex_);
  changed_.notify_all();
}

int64_t MemoryPool::free() const {
  net::Lock lock(mutex_);
  return left();
}

bool MemoryPool::take_storage(int64_t bytes) {
  net::Lock lock(mutex_);
  if (bytes > left()) return false;
  use_.storage += bytes;
  return true;
}

void MemoryPool::give_storage(int64_t bytes) {
  net::Lock lock(mutex_);
  use_.storage -= bytes;
  changed_.notify_all();
}

MemoryPool::Use MemoryPool::use() const {
  net::Lock lock(mutex_);
  return use_;
}

}  // namespace tinderbox::core
