// The events of an application as its StatusTracker tells them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/status/listener.hpp"
#include "core/status/status_tracker.hpp"
#include "net/mutex.hpp"

namespace tinderbox::core {

/// Keeps what a StatusTracker tells. Thread: any.
/// Source: Spark AppStatusListener.
class StatusListener final : public StatusTracker, public Listener {
 public:
  /// nullopt: it has no name.
  using LookUp = std::function<std::optional<AccumulatorStatus>(AccumulatorId)>;
  /// So many jobs and stages that ended are remembered, the last ones.
  StatusListener(size_t retained_jobs, size_t retained_stages, LookUp accumulator = {});

  std::vector<JobId> job_ids_for_group(const std::optional<std::string>& group) const override;
  std::vector<JobId> job_ids_for_tag(const std::string& tag) const override;
  std::vector<JobId> active_job_ids() const override;
  std::vector<StageId> active_stage_ids() const override;
  std::optional<JobInfo> job_info(JobId job) const override;
  std::optional<StageStatus> stage_info(StageId stage) const override;
  std::vector<ExecutorStatus> executor_infos() const override;
  RddStorage rdd_storage(RddId rdd) const override;

  void on_events(std::span<const ListenerEvent> events) override;

 private:
  struct Job {
    JobInfo info;
    std::optional<std::string> group;
    std::vector<std::string> tags;
  };
  struct Held {
    int64_t memory_bytes = 0, disk_bytes = 0;
  };
  using Blocks = std::map<std::string, Held>;
  struct Executor {
    ExecutorStatus progress;
    Blocks blocks;
  };
  void apply(const JobStarted& e) REQUIRES(mutex_);
  void apply(const JobEnded& e) REQUIRES(mutex_);
  void apply(const StageSubmitted& e) REQUIRES(mutex_);
  void apply(const StageCompleted& e) REQUIRES(mutex_);
  void apply(const TaskStarted& e) REQUIRES(mutex_);
  void apply(const TaskEnded& e) REQUIRES(mutex_);
  void apply(const ExecutorJoined& e) REQUIRES(mutex_);
  void apply(const ExecutorRemoved& e) REQUIRES(mutex_);
  void apply(const BlockUpdated& e) REQUIRES(mutex_);
  void apply(const RddUnpersisted& e) REQUIRES(mutex_);
  template <class Other>
  void apply(const Other&) REQUIRES(mutex_) {}
  StageStatus* attempt_of(const TaskInfo& task) REQUIRES(mutex_);

  const size_t retained_jobs_, retained_stages_;
  const LookUp accumulator_;
  mutable net::Mutex mutex_;
  std::map<JobId, Job> jobs_ GUARDED_BY(mutex_);
  std::map<StageId, StageStatus> stages_ GUARDED_BY(mutex_);
  std::map<StageId, std::set<AccumulatorId>> added_ GUARDED_BY(mutex_);  // to which, of stages_
  std::set<StageId> active_stages_ GUARDED_BY(mutex_);
  std::map<ExecutorId, Executor> executors_ GUARDED_BY(mutex_);
  std::deque<JobId> ended_jobs_ GUARDED_BY(mutex_);
  std::deque<StageId> ended_stages_ GUARDED_BY(mutex_);
};

}  // namespace tinderbox::core
