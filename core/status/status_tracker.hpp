// What an application may ask about its own jobs, stages and executors while they run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/types.hpp"

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
/// What executors hold of a persisted Rdd. Bytes: of all copies.
struct RddStorage {
  int32_t cached_partitions = 0;
  int64_t memory_bytes = 0, disk_bytes = 0;
  bool operator==(const RddStorage&) const = default;
};

/// It hears of everything a little later than it happens, as listeners do. Thread: any.
/// Source: Spark SparkStatusTracker.
class StatusTracker {
 public:
  virtual ~StatusTracker() = default;
  /// Of all jobs that are remembered. nullopt: those without a group.
  virtual std::vector<JobId> job_ids_for_group(const std::optional<std::string>& group) const = 0;
  virtual std::vector<JobId> job_ids_for_tag(const std::string& tag) const = 0;
  virtual std::vector<JobId> active_job_ids() const = 0;
  virtual std::vector<StageId> active_stage_ids() const = 0;
  /// nullopt: there was none of that number, or it is forgotten.
  virtual std::optional<JobInfo> job_info(JobId job) const = 0;
  virtual std::optional<StageStatus> stage_info(StageId stage) const = 0;
  virtual std::vector<ExecutorStatus> executor_infos() const = 0;
  /// All zero: nothing is held. Source: Spark SparkContext.getRDDStorageInfo.
  virtual RddStorage rdd_storage(RddId rdd) const = 0;
};

}  // namespace tinderbox::core
