// Listener events: value types, named as Spark's SparkListener events. Times are the driver's.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/resources/resource_profile.hpp"
#include "net/types.hpp"
#include "net/wire/heap_optional.hpp"
#include "net/wire/task_values.hpp"

namespace tinderbox::core {

struct StageInfo {
  StageId stage;
  int32_t attempt = 0;
  std::string name;
  int32_t num_tasks = 0;
  std::vector<StageId> parents;
  std::vector<RddId> rdds;
  Time submitted{}, completed{};
  std::string failure_reason;  // empty: did not fail
  ShuffleId shuffle;           // what its tasks write; negative: a result stage
  int32_t profile = 0;         // resource profile
};
/// One task attempt. `locality`: 0 PROCESS_LOCAL … 4 ANY.
struct TaskInfo {
  TaskId id;
  StageId stage;
  int32_t stage_attempt = 0;
  int32_t index = 0;
  int32_t attempt = 0;
  int32_t partition = 0;
  int32_t locality = 0;
  bool speculative = false;
  ExecutorId executor;
  std::string host;
  Time launched{}, finished{};
};

struct ApplicationStarted {
  std::string name;
  AppId app;
  std::string user;
  Time time{};
};
struct ApplicationEnded {
  Time time{};
};
struct ExecutorJoined {
  ExecutorId executor;
  std::string host;
  int32_t cores = 0;
  Time time{};
  int32_t profile = 0;  // resource profile
};
struct ExecutorRemoved {
  ExecutorId executor;
  std::string reason;
  Time time{};
};
struct JobStarted {
  JobId job;
  Time time{};
  std::vector<StageInfo> stages;
  std::map<std::string, std::string> properties;
};
struct JobEnded {
  JobId job;
  Time time{};
  bool succeeded = false;
  std::string error;
};
struct StageSubmitted {
  StageInfo stage;
  std::map<std::string, std::string> properties{};  // of the job for which it runs
};
struct StageCompleted {
  StageInfo stage;
};
struct TaskStarted {
  TaskInfo task;
};
struct TaskGettingResult {
  TaskInfo task;
};
struct TaskEnded {
  TaskInfo task;
  HeapOptional<TaskEndReason> reason;  // none: Success
  std::optional<TaskMetrics> metrics;
  /// What it added, as far as it counts; an Accumulator's added() reads it. The accumulators have
  /// it by the time a listener hears of it. Source: Spark TaskInfo.accumulables.
  std::vector<AccumulatorUpdate> accumulators{};
  TaskEndKind kind() const { return reason ? reason->kind : TaskEndKind::Success; }
};
struct BlockManagerAdded {
  BlockManagerId id;
  Time time{};
};
struct BlockManagerRemoved {
  BlockManagerId id;
  Time time{};
};
struct BlockUpdated {
  ExecutorId executor;
  BlockUpdate block;
};
struct RddUnpersisted {
  RddId rdd;
};
/// A slow task may get a second copy.
struct SpeculativeTaskSubmitted {
  StageId stage;
  int32_t stage_attempt = 0;
  int32_t index = 0;
  int32_t partition = 0;
};
struct ExecutorExcluded {
  Time time{};
  ExecutorId executor;
  int32_t task_failures = 0;
};
struct ExecutorExcludedForStage {
  Time time{};
  ExecutorId executor;
  int32_t task_failures = 0;
  StageId stage;
  int32_t stage_attempt = 0;
};
struct ExecutorUnexcluded {
  Time time{};
  ExecutorId executor;
};
struct NodeExcluded {
  Time time{};
  std::string host;
  int32_t executor_failures = 0;
};
struct NodeExcludedForStage {
  Time time{};
  std::string host;
  int32_t executor_failures = 0;
  StageId stage;
  int32_t stage_attempt = 0;
};
struct NodeUnexcluded {
  Time time{};
  std::string host;
};
/// Every executor is excluded for some task of the set; it waits for another one.
struct UnschedulableTaskSetAdded {
  StageId stage;
  int32_t stage_attempt = 0;
};
struct UnschedulableTaskSetRemoved {
  StageId stage;
  int32_t stage_attempt = 0;
};

/// What a heartbeat says. Source: Spark SparkListenerExecutorMetricsUpdate.
struct ExecutorMetricsUpdated {
  Time time{};
  ExecutorId executor;
  int64_t resident_bytes = 0;
  std::vector<TaskProgress> tasks;  // those that run
};

/// Stages may have it from now on. The default profile, number 0, comes first.
struct ResourceProfileAdded {
  int32_t number = 0;
  ResourceProfile profile;
};

using AnyListenerEvent =
    std::variant<ApplicationStarted, ApplicationEnded, ExecutorJoined, ExecutorRemoved, JobStarted,
                 JobEnded, StageSubmitted, StageCompleted, TaskStarted, TaskGettingResult,
                 TaskEnded, BlockManagerAdded, BlockManagerRemoved, BlockUpdated, RddUnpersisted,
                 SpeculativeTaskSubmitted, ExecutorExcluded, ExecutorExcludedForStage,
                 ExecutorUnexcluded, NodeExcluded, NodeExcludedForStage, NodeUnexcluded,
                 UnschedulableTaskSetAdded, UnschedulableTaskSetRemoved, ResourceProfileAdded,
                 ExecutorMetricsUpdated>;
/// A class of its own, so that one source compiles what copying and destroying it takes.
struct ListenerEvent : AnyListenerEvent {
  using AnyListenerEvent::variant;
  ListenerEvent(const ListenerEvent&);
  ListenerEvent(ListenerEvent&&) noexcept;
  ListenerEvent& operator=(const ListenerEvent&);
  ListenerEvent& operator=(ListenerEvent&&) noexcept;
  ~ListenerEvent();
};

}  // namespace tinderbox::core
