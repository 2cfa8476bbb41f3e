// How many executors failed lately, and how long to wait before new ones. Pure.
#pragma once

#include <deque>

#include "conf/conf.hpp"
#include "net/types.hpp"

namespace tinderbox::core::kubernetes {

struct FailureOptions {
  int32_t max_failures = 3;
  Duration validity = Duration::max();  // so long a failure counts
};
/// Source: Spark 4.3 ExecutorFailureTracker.maxNumExecutorFailures.
FailureOptions failure_options(const conf::Conf& conf);

class Failures {
 public:
  explicit Failures(FailureOptions options) : options_(options) {}
  /// An executor failed. `served`: it had registered with the driver.
  void failed(bool served, Time now);
  /// Its pod could not be made: no failure of the executor's, but a reason to pause.
  void refused() { ++in_a_row_; }
  /// One registered: creating more makes sense.
  void served() { in_a_row_ = 0; }
  int32_t count(Time now);
  bool too_many(Time now) { return count(now) > options_.max_failures; }
  /// None while few failed in a row before they could serve; doubled with each more. So a cluster
  /// is not flooded with pods that cannot start.
  Duration pause() const;

 private:
  const FailureOptions options_;
  std::deque<Time> times_;
  int32_t in_a_row_ = 0;
};

}  // namespace tinderbox::core::kubernetes
