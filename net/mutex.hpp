// A mutex that clang's thread safety analysis understands; std::mutex carries no annotations.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define TINDERBOX_TSA(x) __attribute__((x))
#else
#define TINDERBOX_TSA(x)
#endif
/// The member may be touched only while `mutex` is held.
#define GUARDED_BY(mutex) TINDERBOX_TSA(guarded_by(mutex))
/// The function must be called while `mutex` is held.
#define REQUIRES(...) TINDERBOX_TSA(requires_capability(__VA_ARGS__))
/// The function takes `mutex` itself.
#define EXCLUDES(...) TINDERBOX_TSA(locks_excluded(__VA_ARGS__))

namespace tinderbox::net {

class TINDERBOX_TSA(capability("mutex")) Mutex {
 public:
  void lock() TINDERBOX_TSA(acquire_capability()) { mutex_.lock(); }
  void unlock() TINDERBOX_TSA(release_capability()) { mutex_.unlock(); }
  std::mutex& native() { return mutex_; }

 private:
  std::mutex mutex_;
};

/// Holds a mutex for a scope.
class TINDERBOX_TSA(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) TINDERBOX_TSA(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~Lock() TINDERBOX_TSA(release_capability()) {
    if (held_) mutex_.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  /// Lets go early; lock() takes it again.
  void unlock() TINDERBOX_TSA(release_capability()) {
    held_ = false;
    mutex_.unlock();
  }
  void lock() TINDERBOX_TSA(acquire_capability()) {
    mutex_.lock();
    held_ = true;
  }
  std::mutex& native() { return mutex_.native(); }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Waits for a change of what a Mutex guards. Callers loop: while (!changed) condition.wait(lock);
class Condition {
 public:
  /// The lock is held again when it returns.
  void wait(Lock& lock) TINDERBOX_TSA(no_thread_safety_analysis) {
    std::unique_lock<std::mutex> native(lock.native(), std::adopt_lock);
    condition_.wait(native);
    native.release();
  }
  /// As wait(), for at most `patience`; callers look at their own deadline.
  void wait_for(Lock& lock, std::chrono::microseconds patience)
      TINDERBOX_TSA(no_thread_safety_analysis) {
    std::unique_lock<std::mutex> native(lock.native(), std::adopt_lock);
    condition_.wait_for(native, patience);
    native.release();
  }
  /// The same; what is left of `patience`, 0 when it is over.
  std::chrono::milliseconds wait_some(Lock& lock, std::chrono::milliseconds patience)
      TINDERBOX_TSA(no_thread_safety_analysis) {
    const auto end = std::chrono::steady_clock::now() + patience;
    wait_for(lock, patience);
    const auto left = end - std::chrono::steady_clock::now();
    return std::max({}, std::chrono::duration_cast<std::chrono::milliseconds>(left));
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace tinderbox::net
