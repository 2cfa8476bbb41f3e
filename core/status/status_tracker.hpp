// What an application may ask about its own jobs, stages and executors while they run.
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

#include "core/status/listener_bus.hpp"
#include "net/mutex.hpp"

namespace tinderbox::core {

enum class JobStatus : uint8_t { Running, Succeeded, Failed };
struct JobInfo {
  JobId job;
  std::vector<StageId> stages;
  JobStatus status = JobStatus::Running;
  bool operator==(const JobInfo&) const = default;
};
/// `value`: as save_as_text_file would write it; empty for types that have no text form.
struct AccumulatorStatus {
  AccumulatorId accumulator;
  std::string name, value;
  bool operator==(const AccumulatorStatus&) const = default;
};
/// Of a stage's last attempt.
struct StageStatus {
  StageId stage;
  int32_t attempt = 0;
  std::string name;
  Time submitted{};
  int32_t num_tasks = 0, num_active_tasks = 0, num_completed_tasks = 0, num_failed_tasks = 0;
  /// Those with a name that its tasks added to, as they are now. Source: Spark
  /// StageInfo.accumulables.
  std::vector<AccumulatorStatus> accumulators{};
  bool operator==(const StageStatus&) const = default;
};
struct ExecutorStatus {
  ExecutorId executor;
  std::string host;
  int64_t cached_bytes = 0;  // of persisted partitions and the like, in memory
  int32_t num_running_tasks = 0;
  bool operator==(const ExecutorStatus&) const = default;
};

/// It hears of everything a little later than it happens, as listeners do. Thread: any.
/// Source: Spark SparkStatusTracker.
class StatusTracker final : public Listener {
 public:
  /// nullopt: it has no name.
  using LookUp = std::function<std::optional<AccumulatorStatus>(AccumulatorId)>;
  /// So many jobs and stages that ended are remembered, the last ones.
  StatusTracker(size_t retained_jobs, size_t retained_stages, LookUp accumulator = {});

  /// Of all jobs that are remembered. nullopt: those without a group.
  std::vector<JobId> job_ids_for_group(const std::optional<std::string>& group) const;
  std::vector<JobId> job_ids_for_tag(const std::string& tag) const;
  std::vector<JobId> active_job_ids() const;
  std::vector<StageId> active_stage_ids() const;
  /// nullopt: there was none of that number, or it is forgotten.
  std::optional<JobInfo> job_info(JobId job) const;
  std::optional<StageStatus> stage_info(StageId stage) const;
  std::vector<ExecutorStatus> executor_infos() const;

  void on_events(std::span<const ListenerEvent> events) override;

 private:
  struct Job {
    JobInfo info;
    std::optional<std::string> group;
    std::vector<std::string> tags;
  };
  struct Executor {
    ExecutorStatus progress;
    std::map<std::string, int64_t> blocks;  // in memory
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
