// Which executors have been idle for too long. Source: Spark 4.3 ExecutorMonitor.
//
// An executor is idle while no task runs on it. What it holds prolongs how long it may be: cached
// blocks, and outputs of shuffles. Without a shuffle service an executor whose outputs a running
// job may read stays whatever happens; which shuffles those are is known from the stages of the
// jobs that run. Executors join before their first task and are told once when they go, so events
// of unknown ones come late and are ignored.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler/allocation/options.hpp"
#include "core/status/events.hpp"

namespace tinderbox::core {

/// Why executors went, since the start.
struct RemovalCounts {
  int64_t gracefully_decommissioned = 0;
  int64_t decommission_unfinished = 0;
  int64_t killed_by_driver = 0;
  int64_t exited_unexpectedly = 0;
  bool operator==(const RemovalCounts&) const = default;
};

class ExecutorMonitor {
 public:
  /// `options` must outlive it.
  explicit ExecutorMonitor(const AllocationOptions& options);

  void job_started(JobId job, const std::vector<StageInfo>& stages);
  void job_ended(JobId job);
  void task_started(const ExecutorId& executor, Time now);
  void task_ended(const ExecutorId& executor, StageId stage, bool success, Time now);
  void executor_added(const ExecutorId& executor, int32_t profile, Time now);
  void executor_removed(const ExecutorId& executor, const std::string& reason);
  void block_updated(const ExecutorId& executor, const BlockUpdate& block);
  void rdd_unpersisted(RddId rdd);
  /// Nothing can read the shuffle any more.
  void shuffle_cleaned(ShuffleId shuffle);

  struct Idle {
    ExecutorId executor;
    int32_t profile = 0;
    bool operator==(const Idle&) const = default;
  };
  /// Ordered by id, without those that are on their way out.
  std::vector<Idle> timed_out(Time now);
  void killed(const std::vector<ExecutorId>& executors);
  void decommissioned(const std::vector<ExecutorId>& executors);
  /// Forgets all executors.
  void reset();
  /// Nothing is left of jobs: no task runs, and no output is kept for one.
  bool idle() const;

  /// Of executors.
  int32_t count() const { return static_cast<int32_t>(executors_.size()); }
  int32_t count(int32_t profile) const { return counts_of(profile).all; }
  int32_t pending_removal(int32_t profile) const { return counts_of(profile).pending_removal; }
  int32_t decommissioning(int32_t profile) const { return counts_of(profile).decommissioning; }
  int32_t pending_removal() const;
  int32_t decommissioning() const;
  const RemovalCounts& removals() const { return removals_; }

 private:
  struct Tracker {
    int32_t profile = 0;
    int32_t running = 0;
    Time idle_since{};
    Time deadline = Time::max();
    bool timed_out = false;  // in the list
    bool pending_removal = false, decommissioning = false;
    bool active_shuffle = false;
    std::map<RddId, std::set<int32_t>> cached;
    std::set<ShuffleId> shuffles;
  };
  struct Counts {
    int32_t all = 0, pending_removal = 0, decommissioning = 0;
  };
  bool tracks_shuffles() const { return options_.shuffle_tracking && !options_.shuffle_service; }
  Tracker* find(const ExecutorId& executor);
  Counts counts_of(int32_t profile) const;
  void running(Tracker& tracker, int32_t change, Time now);
  void update_deadline(Tracker& tracker);
  void uncache(Tracker& tracker, RddId rdd, int32_t partition);
  void took_output(Tracker& tracker, ShuffleId shuffle);
  void activate(Tracker& tracker, const std::set<ShuffleId>& active);

  const AllocationOptions& options_;
  std::map<ExecutorId, Tracker> executors_;
  std::map<int32_t, Counts> counts_;  // by resource profile
  std::vector<Idle> timed_out_;
  Time next_ = Time::max();  // no executor times out before it

  std::map<ShuffleId, std::set<JobId>> jobs_of_;  // that may read the shuffle
  std::map<StageId, ShuffleId> shuffle_of_;       // what a stage of a running job writes
  std::map<JobId, std::vector<StageId>> map_stages_;
  RemovalCounts removals_;
};

}  // namespace tinderbox::core
