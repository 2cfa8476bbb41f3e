// Actions that answer after a given time with what they know by then.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>

#include "core/api/operations/async_job.hpp"
#include "core/api/operations/estimates.hpp"
#include "core/api/rdd.hpp"
#include "net/mutex.hpp"

namespace tinderbox {

namespace core {

/// What the partitions of a job add up to so far. Thread: any.
template <class All>
class Tally {
 public:
  explicit Tally(int32_t partitions) : partitions_(partitions) {}
  /// Another partition's result: merge(all, part).
  template <class Part, class Merge>
  void add(Part part, const Merge& merge) {
    net::Lock lock(mutex_);
    merge(all_, std::move(part));
    ++added_;
  }
  /// What look(all, share of the partitions that were added) says. Nothing is added meanwhile.
  template <class Look>
  auto look(const Look& look) const {
    net::Lock lock(mutex_);
    return look(all_, partitions_ == 0 ? 1.0 : static_cast<double>(added_) / partitions_);
  }

 private:
  const int32_t partitions_;
  mutable net::Mutex mutex_;
  All all_ GUARDED_BY(mutex_) = {};
  int32_t added_ GUARDED_BY(mutex_) = 0;
};

/// A job that fills a tally. One that nobody holds any more is cancelled: there is no way to ask
/// for its result.
template <class All>
struct TalliedJob {
  template <class Body>
  TalliedJob(Context& context, int32_t partitions, Body body)
      : tally(partitions), job(context, [this, body] { body(tally); }) {}
  ~TalliedJob() { job.cancel(); }
  Tally<All> tally;
  AsyncJob job;
};

/// Counts of one partition by key, or of all that were added.
template <class K>
using CountsByKey = MapBy<K, int64_t>;

struct CountKeys {
  template <class T>
  auto operator()(Cursor<T>& in, TaskContext& context) const {
    CountsByKey<owned_t<T>> counts;
    drive<T>(in, context, [&](T&& key) { return ++counts[own<T>(std::move(key))], true; });
    return counts;
  }
};

}  // namespace core

/// What an action knew when its time was over, and what it knows at its end. While somebody holds a
/// copy the job goes on. Source: Spark PartialResult.
template <class R>
class PartialResult {
 public:
  /// Waits for `timeout` or the end; look(all, share) says what is known. Errors: what the job
  /// threw.
  template <class All, class Look>
  PartialResult(std::shared_ptr<core::TalliedJob<All>> job, std::chrono::milliseconds timeout,
                Look look)
      : final_(job->job.wait_for(timeout)),
        initial_(known(*job, final_, look)),
        wait_([job, look] { return job->job.wait(), known(*job, true, look); }) {}
  const R& initial_value() const { return initial_; }
  bool is_initial_value_final() const { return final_; }
  /// Waits for the end. Errors: what the job threw.
  R final_value() const { return final_ ? initial_ : wait_(); }

 private:
  template <class All, class Look>
  static R known(const core::TalliedJob<All>& job, bool ended, const Look& look) {
    if (ended) job.job.rethrow();
    return job.tally.look(look);
  }
  bool final_;
  R initial_;
  std::function<R()> wait_;
};

/// Bounds hold with `confidence`, a number in [0, 1]. Source: Spark RDD.countApprox and the like.
template <class T>
class ApproximateActions {
  using Milliseconds = std::chrono::milliseconds;

 public:
  PartialResult<BoundedDouble> count_approx(Milliseconds timeout, double confidence = 0.95,
                                            Site site = Site::current()) const {
    return tally<int64_t>(
        core::CountRecords{}, timeout, confidence, "countApprox", site,
        [](int64_t& all, int64_t part) { all += part; }, core::estimate_count);
  }
  /// Each partition counts its values in memory: for few different ones.
  auto count_by_value_approx(Milliseconds timeout, double confidence = 0.95,
                             Site site = Site::current()) const {
    core::check_ordered<owned_t<T>>();
    using Counts = core::CountsByKey<owned_t<T>>;
    return tally<Counts>(
        core::CountKeys{}, timeout, confidence, "countByValueApprox", site,
        [](Counts& all, Counts part) {
          for (const auto& [key, n] : part) all[key] += n;
        },
        [](const Counts& all, double share, double sure) {
          core::MapBy<owned_t<T>, BoundedDouble> bounded;
          for (const auto& [key, n] : all) bounded[key] = core::estimate_count(n, share, sure);
          return bounded;
        });
  }
  auto count_by_key_approx(Milliseconds timeout, double confidence = 0.95,
                           Site site = Site::current()) const
    requires core::kIs<T, std::pair>
  {
    return self().keys(site).count_by_value_approx(timeout, confidence, site);
  }

  // ---- for operators ----

  /// f counts a partition, merge(all, part) adds it, estimate(all, share, confidence) says what
  /// that is worth.
  template <class All, class F, class Merge, class Estimate>
  auto tally(F f, Milliseconds timeout, double confidence, const char* operation, Site site,
             Merge merge, Estimate estimate) const {
    core::check_confidence(confidence);
    const auto rdd = self();
    auto job = std::make_shared<core::TalliedJob<All>>(
        rdd.context(), rdd.num_partitions(), [=](core::Tally<All>& tally) {
          rdd.act(f, rdd.all(), operation, site,
                  [&](int32_t, All part) { tally.add(std::move(part), merge); });
        });
    const auto look = [=](const All& all, double share) {
      return estimate(all, share, confidence);
    };
    using Result = decltype(look(std::declval<const All&>(), 1.0));
    return PartialResult<Result>(std::move(job), timeout, look);
  }

 private:
  const Rdd<T>& self() const { return static_cast<const Rdd<T>&>(*this); }
};

}  // namespace tinderbox
