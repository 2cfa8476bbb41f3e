// Dynamic allocation: how many executors there should be, and which may go.
//
// The target of each resource profile follows its tasks: down to what they need at once, up step by
// step (1, 2, 4, … executors) while some wait longer than a timeout. An executor that was idle for
// too long goes, as long as no fewer than the target and the minimum stay. The driver feeds it the
// events that it publishes and calls step() every kInterval; it makes no decision in between.
// Pure. Source: Spark 4.3 ExecutorAllocationManager.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/scheduler/allocation/backlog.hpp"
#include "core/scheduler/allocation/executor_monitor.hpp"
#include "core/scheduler/allocation/options.hpp"
#include "core/status/events.hpp"

namespace tinderbox::core {

class Allocation {
 public:
  static constexpr Duration kInterval = std::chrono::milliseconds(100);
  /// Executors wanted in all, by resource profile.
  using Totals = std::map<int32_t, int32_t>;

  explicit Allocation(AllocationOptions options);

  /// Events in the order in which they happened. True: totals() changed and must be asked for now.
  bool observe(const std::vector<ListenerEvent>& events, Time now);
  /// A copy of a slow task is wanted.
  void speculative_task_submitted(StageAttempt attempt, int32_t index, Time now);
  /// Whether exclusion keeps tasks of the set from every executor.
  void set_unschedulable(StageAttempt attempt, bool unschedulable, Time now);
  void shuffle_cleaned(ShuffleId shuffle) { monitor_.shuffle_cleaned(shuffle); }
  /// How many tasks an executor of the profile runs at once; those not told of are like profile 0.
  void set_tasks_per_executor(int32_t profile, int32_t tasks) { slots_[profile] = tasks; }

  struct Step {
    bool ask = false;                   // totals() changed
    std::vector<ExecutorId> removable;  // ask for their end
    bool operator==(const Step&) const = default;
  };
  Step step(Time now);
  /// Of those, the ones that really go: killed, or decommissioned.
  void leaving(const std::vector<ExecutorId>& executors);
  /// The cluster manager has forgotten everything.
  void reset();

  /// Nothing is left of ended jobs.
  bool idle() const { return backlog_.idle() && monitor_.idle(); }
  const Totals& totals() const { return targets_; }
  /// Executors of the profile that all its tasks could use at once.
  int32_t max_needed(int32_t profile) const;
  int32_t to_add(int32_t profile) const;
  /// When to ask for more; none: nothing waits.
  std::optional<Time> add_time() const { return add_time_; }
  const AllocationOptions& options() const { return options_; }
  const Backlog& backlog() const { return backlog_; }
  const ExecutorMonitor& monitor() const { return monitor_; }

 private:
  bool on(const StageSubmitted& e, Time now);
  bool on(const StageCompleted& e, Time now);
  bool on(const TaskStarted& e, Time now);
  bool on(const TaskEnded& e, Time now);
  bool on(const JobStarted& e, Time now);
  bool on(const JobEnded& e, Time now);
  bool on(const ExecutorJoined& e, Time now);
  bool on(const ExecutorRemoved& e, Time now);
  bool on(const BlockUpdated& e, Time now);
  bool on(const RddUnpersisted& e, Time now);
  bool on(const SpeculativeTaskSubmitted& e, Time now);
  bool on(const UnschedulableTaskSetAdded& e, Time now);
  bool on(const UnschedulableTaskSetRemoved& e, Time now);
  template <class E>
  bool on(const E&, Time) {
    return false;
  }
  void backlogged(Time now);
  void queue_empty();
  int32_t slots(int32_t profile) const;
  bool update_targets(Time now);
  int32_t raised(int32_t profile, int32_t target, int32_t needed) const;
  std::vector<ExecutorId> removable(const std::vector<ExecutorMonitor::Idle>& idle) const;

  const AllocationOptions options_;
  Backlog backlog_;
  ExecutorMonitor monitor_;
  std::map<int32_t, int32_t> slots_;  // tasks an executor, by resource profile
  Totals targets_;
  std::map<int32_t, int32_t> to_add_;  // in the next step up, by resource profile
  std::optional<Time> add_time_;
  bool initializing_ = true;  // what was asked for first may still come: don't take it back
};

}  // namespace tinderbox::core
