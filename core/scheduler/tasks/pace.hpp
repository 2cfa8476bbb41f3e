// How long a set's tasks take, and so how many of them may wait in an executor's queue.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/scheduler/options.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// A queue that holds less than a round trip's work runs empty while the driver is asked for more;
/// one that holds much more is taken back in vain when others idle. So it gets what the executor
/// runs within `launch_ahead_window`, and `launch_ahead` tasks at least.
class Pace {
 public:
  /// No queue is longer.
  static constexpr int32_t kMost = 4096;

  explicit Pace(const DriverOptions& options) : options_(options) {}

  /// An attempt succeeded.
  void ended(const TaskMetrics& metrics) {
    mean_ = mean_ < 0 ? metrics.run_time : mean_ + (metrics.run_time - mean_) / kWeight;
    if (ends_++ % kWeight == 0) a_slot_ = within_window();
  }
  /// Tasks beyond an executor's slots.
  int32_t ahead(int32_t slots) const {
    const int64_t wanted = int64_t{a_slot_} * std::max(slots, 1);
    return std::max(options_.launch_ahead, static_cast<int32_t>(std::min<int64_t>(wanted, kMost)));
  }

 private:
  /// What a task costs the executor beside its run time. Unit: microseconds.
  static constexpr int64_t kOverhead = 2;
  static constexpr int64_t kWeight = 8;  // of the mean against one more task

  int32_t within_window() const {
    if (options_.launch_ahead == 0) return 0;
    const int64_t n = options_.launch_ahead_window.count() / (mean_ + kOverhead);
    return static_cast<int32_t>(std::min<int64_t>(n, kMost));
  }

  const DriverOptions& options_;
  int64_t mean_ = -1;  // run time of the last tasks. Unit: microseconds
  int64_t ends_ = 0;
  int32_t a_slot_ = 0;
};

}  // namespace tinderbox::core
