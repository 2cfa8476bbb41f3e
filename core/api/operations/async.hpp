// Actions that run beside their caller and can be cancelled.
#pragma once

#include <memory>
#include <optional>

#include "core/api/operations/async_job.hpp"
#include "core/api/rdd.hpp"

namespace tinderbox {

/// What an action will give. Copies are the same action; the last one that goes waits for its end.
/// Source: Spark FutureAction.
template <class R>
class FutureAction {
 public:
  template <class F>
  FutureAction(Context& context, F action) : state_(std::make_shared<State>()) {
    state_->job.emplace(context, [state = state_.get(), action = std::move(action)] {
      if constexpr (std::is_void_v<R>)
        action();
      else
        state->value = action();
    });
  }
  /// Waits. Errors: what the action threw; JobFailed when it was cancelled.
  R get() const {
    state_->job->wait();
    state_->job->rethrow();
    if constexpr (!std::is_void_v<R>) return *state_->value;
  }
  void wait() const { state_->job->wait(); }
  bool is_completed() const { return state_->job->done(); }
  /// Of the jobs that it has begun, as the status tracker knows them.
  std::vector<JobId> job_ids() const { return state_->job->job_ids(); }
  /// Ends it where it is, and waits for that.
  void cancel() const { state_->job->cancel(); }

 private:
  struct State {
    std::optional<std::conditional_t<std::is_void_v<R>, bool, R>> value;
    std::optional<core::AsyncJob> job;  // ends before the value goes
  };
  std::shared_ptr<State> state_;
};

/// Source: Spark AsyncRDDActions.
template <class T>
class AsyncActions {
 public:
  FutureAction<int64_t> count_async(Site site = Site::current()) const {
    return {self().context(), [rdd = self(), site] { return rdd.count(site); }};
  }
  FutureAction<std::vector<owned_t<T>>> collect_async(Site site = Site::current()) const {
    return {self().context(), [rdd = self(), site] { return rdd.collect(site); }};
  }
  FutureAction<std::vector<owned_t<T>>> take_async(int64_t n, Site site = Site::current()) const {
    return {self().context(), [rdd = self(), n, site] { return rdd.take(n, site); }};
  }
  template <class F>
  FutureAction<void> foreach_async(F f, Site site = Site::current()) const {
    return {self().context(), [rdd = self(), f, site] { rdd.foreach (f, site); }};
  }
  template <class F>
  FutureAction<void> foreach_partition_async(F f, Site site = Site::current()) const {
    return {self().context(), [rdd = self(), f, site] { rdd.foreach_partition(f, site); }};
  }

 private:
  const Rdd<T>& self() const { return static_cast<const Rdd<T>&>(*this); }
};

}  // namespace tinderbox
