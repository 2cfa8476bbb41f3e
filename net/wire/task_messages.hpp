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

namespace tinderbox {

// ---- tasks: values -----------------------------------------------------------------------------

/// Source: Spark TaskState.
enum class TaskState : uint8_t { Launching, Running, Finished, Failed, Killed, Lost };
constexpr TaskState last_value(TaskState) { return TaskState::Lost; }

/// Source: Spark TaskEndReason and its cases.
enum class TaskEndKind : uint8_t {
  Success,
  Resubmitted,
  FetchFailed,
  ExceptionFailure,
  TaskResultLost,
  TaskKilled,
  TaskCommitDenied,
  ExecutorLostFailure,
  UnknownReason,
};
constexpr TaskEndKind last_value(TaskEndKind) { return TaskEndKind::UnknownReason; }

/// Where an executor serves blocks. `address` is host:port of its block socket.
struct BlockManagerId {
  ExecutorId executor;
  std::string host;
  std::string address;
  auto operator<=>(const BlockManagerId&) const = default;
};

/// Why a task attempt ended. Only the fields of `kind` are set.
struct TaskEndReason {
  TaskEndKind kind = TaskEndKind::Success;
  std::string class_name;   // ExceptionFailure: type of what was thrown
  std::string description;  // message of the exception, of the kill or of the loss
  std::string stack;
  BlockManagerId address;  // FetchFailed: who should have had it; empty executor: metadata missing
  ShuffleId shuffle;
  int64_t map_id = -1;
  int32_t map_index = -1;
  int32_t reduce = -1;
  ExecutorId executor;  // ExecutorLostFailure
  bool exit_caused_by_app = false;
  bool out_of_memory = false;  // ExceptionFailure: that, or one of its causes, is a std::bad_alloc
  bool operator==(const TaskEndReason&) const = default;
};

/// Where a map task left its output, and how much there is for each reducer.
/// Shape: sizes has one byte a reducer, Spark's log scale (core/shuffle/map_status).
struct MapStatus {
  BlockManagerId location;
  int64_t map_id = -1;  // the task attempt's id: unique an attempt
  Bytes sizes;
  int64_t records = 0;
  bool in_memory = false;  // of its holder; only a hint, which readers of the same host use
  bool operator==(const MapStatus&) const = default;
};

struct AccumulatorUpdate {
  AccumulatorId id;
  Bytes value;  // encoded delta; only the user's thread decodes it
  bool internal_metric = false;
  bool operator==(const AccumulatorUpdate&) const = default;
};

/// Source: Spark TaskMetrics. Unit: microseconds, bytes, records.
struct TaskMetrics {
  int64_t run_time = 0;
  int64_t cpu_time = 0;
  int64_t deserialize_time = 0;
  int64_t input_bytes = 0, input_records = 0;
  int64_t output_bytes = 0, output_records = 0;
  int64_t shuffle_read_local_bytes = 0, shuffle_read_remote_bytes = 0;
  int64_t shuffle_read_records = 0, fetch_wait_time = 0;
  int64_t shuffle_write_bytes = 0, shuffle_write_records = 0, shuffle_write_time = 0;
  int64_t memory_spilled = 0, disk_spilled = 0, peak_memory = 0;
  bool operator==(const TaskMetrics&) const = default;
};

/// A block's state on one executor, as the driver's block table keeps it.
struct BlockUpdate {
  std::string block;  // rdd_R_P, broadcast_I_pieceN, …
  bool in_memory = false;
  bool on_disk = false;  // neither: the block is gone
  int64_t memory_bytes = 0;
  int64_t disk_bytes = 0;
  bool use_memory = false, use_disk = false;  // its level; neither: not told
  int32_t replication = 0;                    // its level's number of copies; 0: not told
  bool operator==(const BlockUpdate&) const = default;
};

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
  Payload result;            // Finished result task: its encoded value
  std::string result_block;  // set instead of `result` when it lies in the block store
  int64_t result_size = 0;
  HeapOptional<MapStatus> map_status;  // Finished map task
  HeapOptional<TaskEndReason> reason;  // Failed, Killed
  std::vector<AccumulatorUpdate> accumulators;
  std::optional<TaskMetrics> metrics;
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
/// What a running task has read so far. Unit of `run_time`: microseconds.
struct TaskProgress {
  TaskId id;
  int64_t records_read = 0;
  int64_t run_time = 0;
  bool operator==(const TaskProgress&) const = default;
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

/// What an executor must have of one custom resource. Source: Spark ExecutorResourceRequest.
struct ExecutorResource {
  int32_t amount = 0;
  std::string discovery_script;  // a program that prints the addresses; empty: none
  auto operator<=>(const ExecutorResource&) const = default;
};
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
