// A thread of an application that runs jobs beside its maker.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "core/api/context.hpp"

namespace tinderbox::core {

/// A thread that runs jobs of its own, with the local properties of the one that made it.
/// Thread: any.
class AsyncJob {
 public:
  /// Errors of `body` come with rethrow().
  AsyncJob(Context& context, std::function<void()> body);
  ~AsyncJob();  // waits for the end
  AsyncJob(const AsyncJob&) = delete;
  AsyncJob& operator=(const AsyncJob&) = delete;
  /// Cancels what it runs and waits for the end; what is over stays as it is.
  void cancel();
  void wait() const;
  /// Waits that long at most. False: it still runs.
  bool wait_for(std::chrono::milliseconds time) const;
  bool done() const;
  /// Those that it has begun and the status tracker remembers.
  std::vector<JobId> job_ids() const;
  /// After the end: throws what the body threw.
  void rethrow() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tinderbox::core
