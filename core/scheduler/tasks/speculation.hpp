// Second copies of slow tasks: which tasks of one set are slow, and which copies wait for a slot.
//
// A task is slow when it has run longer than a multiple of the median of those that succeeded, and
// (with the efficiency rule) also reads its records slower than they did or runs much longer still.
// It gets one copy in a set's life, on a host that never had it. Source: Spark 4.3 TaskSetManager.
#pragma once

#include <map>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <vector>

#include "core/scheduler/options.hpp"
#include "core/scheduler/tasks/pending_tasks.hpp"

namespace tinderbox::core {

/// The middle one of values that only come; of an even number the greater of the two.
/// Cost: O(log n) a value.
class RunningMedian {
 public:
  void add(Duration value);
  /// At least one value must have come.
  Duration value() const { return upper_.top(); }
  size_t count() const { return lower_.size() + upper_.size(); }

 private:
  std::priority_queue<Duration> lower_;
  std::priority_queue<Duration, std::vector<Duration>, std::greater<>> upper_;
};

class Speculation {
 public:
  /// `slots`: tasks of the set that one executor runs at once.
  Speculation(const SpeculationOptions& options, const Places& places, Executors& executors,
              int32_t tasks, int32_t slots);

  // ---- what happened ----
  /// An attempt of this set succeeded.
  void succeeded(Duration runtime, const std::optional<TaskMetrics>& metrics);
  /// What a running attempt has read so far. Unit of `run_time`: microseconds.
  void progressed(TaskId attempt, int64_t records, int64_t run_time);
  void attempt_ended(TaskId attempt) { rates_.erase(attempt); }
  /// An attempt was on `host`; to be told of attempts that failed.
  void ran_on(int32_t index, int32_t host) { hosts_[index].insert(host); }
  bool has_run_on(int32_t index, int32_t host) const;
  /// The task needs no copy any more.
  void done(int32_t index) { waiting_.erase(index); }

  // ---- which tasks are slow ----
  /// A task is slow from this run time on. `checks_rate`: the efficiency rule has a say.
  struct Rule {
    Duration threshold{};
    bool checks_rate = false;
  };
  /// None: too little is known. Valid until the next success.
  std::optional<Rule> rule() const;
  bool slow(const Rule& rule, TaskId attempt, Duration runtime) const;
  /// Of an attempt on an executor that is being decommissioned since `leaving`: it ends too late.
  bool outlives(Time leaving, Time launched) const;

  // ---- copies ----
  bool had_copy(int32_t index) const { return known_.contains(index); }
  /// A copy of it may start. `slow`: its attempt, which runs on `host`.
  void submit(int32_t index, TaskId slow, int32_t host);
  int32_t submitted() const { return static_cast<int32_t>(known_.size()); }
  bool any_waiting() const { return !waiting_.empty(); }
  /// An attempt of the task starts; `copy`: the one that waited.
  void started(int32_t index, TaskId attempt, int32_t host, bool copy);
  /// Of a task that had a copy: its slow attempt and those that started since; some have ended.
  std::span<const TaskId> attempts(int32_t index) const;
  /// The copy did not run there after all: it waits again.
  void taken_back(int32_t index, int32_t host);
  /// A waiting copy for that executor; `fits` as in PendingTasks::pop. It waits until started().
  template <class Fits>
  std::optional<PendingTasks::Pick> pop(int32_t executor, Locality max, Fits&& fits) {
    return copies_.pop(
        executor, max, [&](int32_t i) { return waiting_.contains(i); }, fits);
  }

 private:
  const SpeculationOptions& options_;
  const int32_t tasks_, slots_;
  const size_t needed_;  // successes before the quantile is reached
  RunningMedian runtimes_;
  int64_t records_ = 0, run_time_ = 0;  // of all that succeeded
  std::map<TaskId, double> rates_;      // of those that run. Unit: records a second
  std::map<int32_t, std::set<int32_t>> hosts_;
  std::map<int32_t, std::vector<TaskId>> known_;  // attempts of each task that had a copy
  std::set<int32_t> waiting_;
  PendingTasks copies_;
};

}  // namespace tinderbox::core
