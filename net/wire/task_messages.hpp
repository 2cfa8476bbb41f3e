// Driver and executors.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/types.hpp"
#include "net/wire/heap_optional.hpp"
#include "net/wire/identity.hpp"
#include "net/wire/resources.hpp"
#include "net/wire/task_values.hpp"

namespace tinderbox {

// ---- Executor → Driver -------------------------------------------------------------------------

/// The id of an executor that has none yet: its driver gives it a number.
inline constexpr const char* kUnnamedExecutor = "EXECID";

/// First message. Answered by ApplicationConfig or ExecutorRefused.
struct ExecutorHello {
  Identity who;
  ExecutorId id;
  std::string build_id;
  std::string code_hash;  // of the loaded code and read-only segments
  int32_t profile = 0;    // resource profile
  std::string pod;        // where it runs; with kUnnamedExecutor
  bool operator==(const ExecutorHello&) const = default;
};
/// Source: Spark RegisterExecutor. Answered by ExecutorRegistered or ExecutorRefused.
struct RegisterExecutor {
  ExecutorId id;
  std::string host;
  std::string block_address;
  int32_t cores = 0;
  int32_t profile = 0;
  int64_t pid = 0;
  std::vector<std::string> local_dirs;  // where its shuffle files lie, for readers on the same host
  std::map<std::string, std::string> log_urls;
  std::map<std::string, std::string> attributes;
  ResourceAddresses resources;
  bool operator==(const RegisterExecutor&) const = default;
};
/// Source: Spark LaunchedExecutor: only now may tasks be offered.
struct ExecutorReady {
  ExecutorId id;
  bool operator==(const ExecutorReady&) const = default;
};
struct TaskUpdate {
  TaskId id;
  TaskState state = TaskState::Running;
  Payload result;                      // Finished result task: its encoded value
  std::string result_block;            // set instead of `result` when it lies in the block store
  int64_t result_size = 0;             // with the accumulators
  HeapOptional<MapStatus> map_status;  // Finished map task
  HeapOptional<TaskEndReason> reason;  // Failed, Killed
  std::vector<AccumulatorUpdate> accumulators;
  std::optional<TaskMetrics> metrics;
  bool accumulators_in_block = false;  // `result_block` has them, too: core/plan/tasks/task_result
  bool operator==(const TaskUpdate&) const = default;
};
struct StatusUpdates {
  std::vector<TaskUpdate> tasks;
  bool operator==(const StatusUpdates&) const = default;
};
/// Answer to RevokeTasks: these had not started and never will.
struct TasksRevoked {
  std::vector<TaskId> tasks;
  bool operator==(const TasksRevoked&) const = default;
};
struct ExecutorHeartbeat {
  ExecutorId id;
  int64_t resident_bytes = 0;
  std::vector<TaskProgress> tasks;  // those that run
  bool operator==(const ExecutorHeartbeat&) const = default;
};
struct BlockUpdates {
  ExecutorId id;
  std::vector<BlockUpdate> blocks;
  bool operator==(const BlockUpdates&) const = default;
};
/// Answered by MapOutputs.
struct MapOutputsRequest {
  ShuffleId shuffle;
  bool operator==(const MapOutputsRequest&) const = default;
};
/// Answered by BlockLocations.
struct BlockLocationsRequest {
  uint64_t request = 0;
  std::vector<std::string> blocks;
  bool operator==(const BlockLocationsRequest&) const = default;
};
/// The executor ends by itself. Source: Spark RemoveExecutor sent by the executor.
struct ExecutorExiting {
  ExecutorId id;
  int32_t code = 0;
  std::string reason;
  TaskId task;  // that made it end; none: it is not known, or it was no task
  bool operator==(const ExecutorExiting&) const = default;
};
/// Source: Spark OutputCommitCoordinator. Answered by CommitAnswer.
struct AskPermissionToCommit {
  uint64_t request = 0;
  StageId stage;
  int32_t stage_attempt = 0;
  int32_t partition = 0;
  int32_t attempt = 0;
  TaskId task;
  bool operator==(const AskPermissionToCommit&) const = default;
};
/// The executor was told by a signal that it ends soon. Source: Spark ExecutorDecommissioning.
struct ExecutorDecommissioning {
  ExecutorId id;
  bool operator==(const ExecutorDecommissioning&) const = default;
};
/// Answer to TakeBlock.
struct BlockTaken {
  uint64_t request = 0;
  bool taken = false;
  std::string reason;  // why not
  bool operator==(const BlockTaken&) const = default;
};
/// A task of a barrier stage waits for the others. Source: Spark RequestToSync. Answered by
/// BarrierReached.
struct BarrierSync {
  uint64_t request = 0;
  TaskId task;
  StageId stage;
  int32_t stage_attempt = 0;
  int32_t partition = 0;
  int32_t epoch = 0;     // how often the task has passed a barrier
  bool gathers = false;  // allGather, not barrier
  std::string message;   // to all of them
  bool operator==(const BarrierSync&) const = default;
};

using ToDriver = std::variant<ExecutorHello, RegisterExecutor, ExecutorReady, StatusUpdates,
                              TasksRevoked, ExecutorHeartbeat, BlockUpdates, MapOutputsRequest,
                              BlockLocationsRequest, ExecutorExiting, AskPermissionToCommit,
                              ExecutorDecommissioning, BlockTaken, BarrierSync>;

// ---- Driver → Executor -------------------------------------------------------------------------

/// Source: Spark SparkAppConfig.
struct ApplicationConfig {
  std::map<std::string, std::string> properties;
  std::string driver_block_address;
  std::map<std::string, ExecutorResource> resources;  // of the executor's resource profile
  int32_t task_cpus = 0;                              // of its tasks; 0: as the properties say
  ExecutorId executor;  // the id that it has from now on, if it had none. Source: GenerateExecID
  bool operator==(const ApplicationConfig&) const = default;
};
struct ExecutorRefused {
  std::string reason;
  bool operator==(const ExecutorRefused&) const = default;
};
struct ExecutorRegistered {
  bool operator==(const ExecutorRegistered&) const = default;
};
/// What all tasks of a stage attempt run. Sent once an executor, before their LaunchTasks.
struct StageProgram {
  int64_t program = 0;
  Payload code;  // core/plan/program
  std::map<std::string, std::string> properties;
  bool operator==(const StageProgram&) const = default;
};
struct TaskLaunch {
  TaskId id;
  int32_t index = 0;  // in the task set
  int32_t partition = 0;
  int32_t attempt = 0;
  Payload inputs;  // bytes of the partition's sources; core/plan/program
  bool operator==(const TaskLaunch&) const = default;
};
struct LaunchTasks {
  int64_t program = 0;
  StageId stage;
  int32_t stage_attempt = 0;
  int32_t num_partitions = 0;
  int64_t epoch = 0;  // map outputs known to be stale before it
  std::vector<TaskLaunch> tasks;
  int32_t cpus = 1;                          // of each task
  std::vector<ResourceAddresses> resources;  // of tasks[i]; where it is shorter: none
  bool operator==(const LaunchTasks&) const = default;
};
struct KillTask {
  TaskId id;
  bool interrupt = false;
  std::string reason;
  bool operator==(const KillTask&) const = default;
};
/// Take back launched-ahead tasks that have not started. Answered by TasksRevoked.
struct RevokeTasks {
  std::vector<TaskId> tasks;
  bool operator==(const RevokeTasks&) const = default;
};
/// The stage attempt is over: its program may be forgotten.
struct ForgetProgram {
  int64_t program = 0;
  bool operator==(const ForgetProgram&) const = default;
};
/// The answer to a MapOutputsRequest; also told unasked, before the first tasks that read the
/// shuffle.
/// Shape: statuses[i] is map i's; nullopt: missing.
struct MapOutputs {
  ShuffleId shuffle;
  int64_t epoch = 0;
  std::vector<std::optional<MapStatus>> statuses;
  std::map<std::string, std::vector<std::string>> local_dirs;  // executor id → its directories
  bool operator==(const MapOutputs&) const = default;
};
struct BlockLocations {
  uint64_t request = 0;
  std::vector<std::vector<BlockManagerId>> locations;  // as many as blocks were asked for
  bool operator==(const BlockLocations&) const = default;
};
struct RemoveRdd {
  RddId rdd;
  bool operator==(const RemoveRdd&) const = default;
};
struct RemoveShuffle {
  ShuffleId shuffle;
  bool operator==(const RemoveShuffle&) const = default;
};
struct RemoveBroadcast {
  BroadcastId broadcast;
  bool operator==(const RemoveBroadcast&) const = default;
};
struct HeartbeatAnswer {
  bool reregister = false;
  bool operator==(const HeartbeatAnswer&) const = default;
};
struct StopExecutor {
  bool operator==(const StopExecutor&) const = default;
};
struct CommitAnswer {
  uint64_t request = 0;
  bool allowed = false;
  bool operator==(const CommitAnswer&) const = default;
};
/// Drop these single blocks (fetched indirect results).
struct RemoveBlocks {
  std::vector<std::string> blocks;
  bool operator==(const RemoveBlocks&) const = default;
};

/// Fetch these URLs into the working directory before the tasks that come after this message.
/// Source: Spark SparkContext.addFile, addArchive.
struct AddFiles {
  std::vector<std::string> files;
  std::vector<std::string> archives;
  bool operator==(const AddFiles&) const = default;
};
/// No task comes any more; StopExecutor follows when all is done. Source: Spark
/// DecommissionExecutor.
struct DecommissionExecutor {
  std::string reason;
  bool operator==(const DecommissionExecutor&) const = default;
};
/// Fetch this block from `from`, which is decommissioned, and keep it. A map output is named by its
/// data file and comes whole. Answered by BlockTaken. Source: Spark UploadBlock, the other way
/// round.
struct TakeBlock {
  uint64_t request = 0;
  BlockManagerId from;
  std::string block;                        // rdd_R_P, shuffle_S_M_0.data
  bool in_memory = false, on_disk = false;  // where a block of an Rdd may be kept
  int32_t replication = 0;                  // how many copies of it there are to be
  bool operator==(const TakeBlock&) const = default;
};
/// Shape: messages[p] is what the task of partition p said. With an error: they did not meet.
struct BarrierReached {
  uint64_t request = 0;
  std::string error;
  std::vector<std::string> messages;
  bool operator==(const BarrierReached&) const = default;
};

using ToExecutor =
    std::variant<ApplicationConfig, ExecutorRefused, ExecutorRegistered, StageProgram, LaunchTasks,
                 KillTask, RevokeTasks, ForgetProgram, MapOutputs, BlockLocations, RemoveRdd,
                 RemoveShuffle, RemoveBroadcast, HeartbeatAnswer, StopExecutor, CommitAnswer,
                 RemoveBlocks, AddFiles, DecommissionExecutor, TakeBlock, BarrierReached>;

}  // namespace tinderbox
