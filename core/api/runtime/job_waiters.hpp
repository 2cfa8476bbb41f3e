// User threads that wait for jobs: the driver's loop puts results in, the thread that runs the job
// takes them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/scheduler/driver_io.hpp"
#include "net/mutex.hpp"

namespace tinderbox::core {

/// Thread: put() and the ends of a turn the driver's loop; the rest any user thread, merge_now()
/// that of the listeners too.
class JobWaiters {
 public:
  struct Taken {
    std::vector<DeliverResult> results;
    bool ended = false;
    std::string error;  // without the heading of a stack trace, which there is none of
  };
  /// Makes a ticket that put() knows.
  uint64_t open();
  using Merge = std::function<void(const std::vector<AccumulatorUpdate>&)>;
  /// Waits until there is something for `ticket`. All updates that came before it, of whatever job,
  /// are merged when it returns. After `ended` the ticket is forgotten.
  Taken wait(uint64_t ticket, const Merge& merge);
  /// All updates that came before the last end_of_updates() are merged when it returns.
  void merge_now(const Merge& merge);

  void put(DeliverResult result);
  void put(DeliverJobEnd end);
  void put(const ApplyAccumulators& updates);
  /// merge_now() finds what was put: before listeners get the events that tell of it, which come
  /// before the waiters wake.
  void end_of_updates();
  /// Wakes those who have got something since the last call.
  void end_of_turn();
  /// Nothing will be put any more: every ticket that has not ended ends with this error, those
  /// that are made later too.
  void close(const std::string& error);

 private:
  struct Waiter {
    Taken taken;
    net::Condition changed;
  };
  void wait_for_news(uint64_t ticket);

  net::Mutex merge_mutex_;  // taken before mutex_: held from taking updates to their merge
  net::Mutex mutex_;
  uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::string closed_ GUARDED_BY(mutex_);  // with that error; empty: it is not
  std::unordered_map<uint64_t, std::unique_ptr<Waiter>> waiters_ GUARDED_BY(mutex_);
  std::vector<AccumulatorUpdate> updates_ GUARDED_BY(mutex_);
  // The loop's own until end_of_turn(), so that a turn takes the mutex once.
  std::vector<DeliverResult> results_of_turn_;
  std::vector<DeliverJobEnd> ends_of_turn_;
  std::vector<AccumulatorUpdate> updates_of_turn_;
};

}  // namespace tinderbox::core
