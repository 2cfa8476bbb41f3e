// Every message on the wire, grouped by direction. Plain aggregates; net/codec reflects their
// fields. Compatibility: alternatives and fields are only appended, appended fields have defaults.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/types.hpp"

namespace tinderbox {

/// Who speaks, in every first message of a conversation. The fields stay empty without
/// authentication.
struct Identity {
  std::string user;
  AppId app;
  int64_t epoch = 0;  // of the sender's incarnation
  std::string token;
  bool operator==(const Identity&) const = default;
};

// ---- standalone cluster: values ----------------------------------------------------------------

/// Source: Spark ExecutorState.
enum class ExecutorState : uint8_t {
  Launching,
  Running,
  Killed,
  Failed,
  Lost,
  Exited,
  Decommissioned
};
/// Source: Spark DriverState.
enum class DriverState : uint8_t {
  Submitted,
  Running,
  Finished,
  Relaunching,
  Unknown,
  Killed,
  Failed,
  Error
};

/// A process to start for an application: the ELF at `elf` (path or URL) with arguments and
/// environment.
struct Command {
  std::string elf;
  std::string main_class;  // name of the registered application
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> properties;  // spark.* handed to the process
  std::string build_id;  // of `elf`, hex; refused by the worker when the file differs
  bool operator==(const Command&) const = default;
};

struct ApplicationDescription {
  std::string name;
  std::optional<int32_t> max_cores;
  int64_t memory_per_executor_mib = 1024;
  std::optional<int32_t> cores_per_executor;
  Command command;  // of one executor; {{PLACEHOLDERS}} are filled in by the worker
  std::string ui_url;
  std::string user;
  std::optional<int32_t> initial_executor_limit;
  bool operator==(const ApplicationDescription&) const = default;
};

struct DriverDescription {
  Command command;
  int64_t memory_mib = 1024;
  int32_t cores = 1;
  bool supervise = false;
  bool operator==(const DriverDescription&) const = default;
};

struct ExecutorDescription {
  AppId app;
  int32_t executor = 0;
  int32_t profile = 0;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  ExecutorState state = ExecutorState::Launching;
  bool operator==(const ExecutorDescription&) const = default;
};

// ---- Worker → Master ---------------------------------------------------------------------------

struct RegisterWorker {
  Identity who;
  WorkerId id;
  std::string host;
  int32_t port = 0;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  std::string web_ui_url;
  std::string master_address_used;
  bool operator==(const RegisterWorker&) const = default;
};
struct WorkerHeartbeat {
  WorkerId id;
  bool operator==(const WorkerHeartbeat&) const = default;
};
/// A request: answered by ExecutorStateAccepted with the same number.
struct ExecutorStateChanged {
  uint64_t request = 0;
  AppId app;
  int32_t executor = 0;
  ExecutorState state = ExecutorState::Launching;
  std::string message;
  std::optional<int32_t> exit_status;
  bool operator==(const ExecutorStateChanged&) const = default;
};
struct DriverStateChanged {
  DriverId id;
  DriverState state = DriverState::Submitted;
  std::string exception;
  bool operator==(const DriverStateChanged&) const = default;
};
/// Answer to MasterChanged: what runs on the worker.
struct WorkerSchedulerState {
  WorkerId id;
  std::vector<ExecutorDescription> executors;
  std::vector<DriverId> drivers;
  bool operator==(const WorkerSchedulerState&) const = default;
};
/// Sent after each registration, so that the master can end what it does not know.
struct WorkerLatestState {
  WorkerId id;
  std::vector<ExecutorDescription> executors;
  std::vector<DriverId> drivers;
  bool operator==(const WorkerLatestState&) const = default;
};
struct WorkerDecommissioning {
  WorkerId id;
  bool operator==(const WorkerDecommissioning&) const = default;
};

// ---- App (driver) → Master ---------------------------------------------------------------------

struct RegisterApplication {
  Identity who;
  ApplicationDescription description;
  std::string driver_address;  // host:port where the driver's control socket listens
  int32_t next_executor = 0;   // of one that registers again: the first number it has not seen
  bool operator==(const RegisterApplication&) const = default;
};
struct UnregisterApplication {
  AppId app;
  bool operator==(const UnregisterApplication&) const = default;
};
struct MasterChangeAcknowledged {
  AppId app;
  bool operator==(const MasterChangeAcknowledged&) const = default;
};
/// Answered by ExecutorRequestAnswer.
struct RequestExecutors {
  uint64_t request = 0;
  AppId app;
  int32_t total = 0;  // of the default resource profile
  bool operator==(const RequestExecutors&) const = default;
};
/// Answered by ExecutorRequestAnswer.
struct KillExecutors {
  uint64_t request = 0;
  AppId app;
  std::vector<std::string> executors;
  bool operator==(const KillExecutors&) const = default;
};

// ---- Client (submit) → Master ------------------------------------------------------------------

struct RequestSubmitDriver {
  Identity who;
  DriverDescription description;
  bool operator==(const RequestSubmitDriver&) const = default;
};
struct RequestKillDriver {
  DriverId id;
  bool operator==(const RequestKillDriver&) const = default;
};
struct RequestDriverStatus {
  DriverId id;
  bool operator==(const RequestDriverStatus&) const = default;
};

using ToMaster = std::variant<RegisterWorker, WorkerHeartbeat, ExecutorStateChanged,
                              DriverStateChanged, WorkerSchedulerState, WorkerLatestState,
                              WorkerDecommissioning, RegisterApplication, UnregisterApplication,
                              MasterChangeAcknowledged, RequestExecutors, KillExecutors,
                              RequestSubmitDriver, RequestKillDriver, RequestDriverStatus>;

// ---- Master → Worker ---------------------------------------------------------------------------

struct RegisteredWorker {
  std::string master_address;
  std::string master_web_ui_url;
  bool duplicate = false;
  bool operator==(const RegisteredWorker&) const = default;
};
struct RegisterWorkerFailed {
  std::string message;
  bool operator==(const RegisterWorkerFailed&) const = default;
};
struct MasterInStandby {
  bool operator==(const MasterInStandby&) const = default;
};
struct ReconnectWorker {
  std::string master_address;
  bool operator==(const ReconnectWorker&) const = default;
};
struct LaunchExecutor {
  std::string master_address;
  AppId app;
  int32_t executor = 0;
  int32_t profile = 0;
  ApplicationDescription description;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  bool operator==(const LaunchExecutor&) const = default;
};
struct KillExecutor {
  std::string master_address;
  AppId app;
  int32_t executor = 0;
  bool operator==(const KillExecutor&) const = default;
};
struct LaunchDriver {
  DriverId id;
  DriverDescription description;
  bool operator==(const LaunchDriver&) const = default;
};
struct KillDriver {
  DriverId id;
  bool operator==(const KillDriver&) const = default;
};
struct ApplicationFinished {
  AppId app;
  bool operator==(const ApplicationFinished&) const = default;
};
struct ExecutorStateAccepted {
  uint64_t request = 0;
  bool operator==(const ExecutorStateAccepted&) const = default;
};
/// From a recovered master, to workers and applications that it knew. Sent to their own sockets.
struct MasterChanged {
  std::string master_address;
  std::string master_web_ui_url;
  bool operator==(const MasterChanged&) const = default;
};

using ToWorker =
    std::variant<RegisteredWorker, RegisterWorkerFailed, MasterInStandby, ReconnectWorker,
                 LaunchExecutor, KillExecutor, LaunchDriver, KillDriver, ApplicationFinished,
                 ExecutorStateAccepted, MasterChanged>;

// ---- Master → App ------------------------------------------------------------------------------

struct RegisteredApplication {
  AppId app;
  std::string master_address;
  std::string master_web_ui_url;
  bool operator==(const RegisteredApplication&) const = default;
};
struct ExecutorAdded {
  int32_t executor = 0;
  WorkerId worker;
  std::string host_port;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  bool operator==(const ExecutorAdded&) const = default;
};
struct ExecutorUpdated {
  int32_t executor = 0;
  ExecutorState state = ExecutorState::Launching;
  std::string message;
  std::optional<int32_t> exit_status;
  std::string worker_host;  // empty unless the worker itself is gone
  bool operator==(const ExecutorUpdated&) const = default;
};
struct ApplicationRemoved {
  std::string message;
  bool operator==(const ApplicationRemoved&) const = default;
};
struct WorkerRemoved {
  WorkerId id;
  std::string host;
  std::string message;
  bool operator==(const WorkerRemoved&) const = default;
};
struct ExecutorRequestAnswer {
  uint64_t request = 0;
  bool accepted = false;
  bool operator==(const ExecutorRequestAnswer&) const = default;
};
/// Why nothing could be launched for the application, in words, when that changes.
struct SchedulingStatus {
  std::string reason;
  bool operator==(const SchedulingStatus&) const = default;
};

using ToApp =
    std::variant<RegisteredApplication, ExecutorAdded, ExecutorUpdated, ApplicationRemoved,
                 WorkerRemoved, ExecutorRequestAnswer, SchedulingStatus, MasterChanged>;

// ---- Master → Client ---------------------------------------------------------------------------

struct SubmitDriverAnswer {
  bool success = false;
  DriverId id;
  std::string message;
  bool operator==(const SubmitDriverAnswer&) const = default;
};
struct KillDriverAnswer {
  DriverId id;
  bool success = false;
  std::string message;
  bool operator==(const KillDriverAnswer&) const = default;
};
struct DriverStatusAnswer {
  bool found = false;
  std::optional<DriverState> state;
  WorkerId worker;
  std::string worker_host_port;
  std::string exception;
  bool operator==(const DriverStatusAnswer&) const = default;
};

using ToClient = std::variant<SubmitDriverAnswer, KillDriverAnswer, DriverStatusAnswer>;

// ---- tasks: values -----------------------------------------------------------------------------

/// Source: Spark TaskState.
enum class TaskState : uint8_t { Launching, Running, Finished, Failed, Killed, Lost };

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
  bool operator==(const TaskEndReason&) const = default;
};

/// Where a map task left its output, and how much there is for each reducer.
/// Shape: sizes has one byte a reducer, Spark's log scale (core/shuffle/map_status).
struct MapStatus {
  BlockManagerId location;
  int64_t map_id = -1;  // the task attempt's id: unique an attempt
  Bytes sizes;
  int64_t records = 0;
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
  bool operator==(const BlockUpdate&) const = default;
};

// ---- Executor → Driver -------------------------------------------------------------------------

/// First message. Answered by ApplicationConfig or ExecutorRefused.
struct ExecutorHello {
  Identity who;
  ExecutorId id;
  std::string build_id;
  std::string code_hash;  // of the loaded code and read-only segments
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
  std::optional<MapStatus> map_status;  // Finished map task
  std::optional<TaskEndReason> reason;  // Failed, Killed
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
  std::vector<AccumulatorUpdate> accumulators;
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
  bool operator==(const AskPermissionToCommit&) const = default;
};
/// The executor was told by a signal that it ends soon. Source: Spark ExecutorDecommissioning.
struct ExecutorDecommissioning {
  ExecutorId id;
  bool operator==(const ExecutorDecommissioning&) const = default;
};

using ToDriver =
    std::variant<ExecutorHello, RegisterExecutor, ExecutorReady, StatusUpdates, TasksRevoked,
                 ExecutorHeartbeat, BlockUpdates, MapOutputsRequest, BlockLocationsRequest,
                 ExecutorExiting, AskPermissionToCommit, ExecutorDecommissioning>;

// ---- Driver → Executor -------------------------------------------------------------------------

/// Source: Spark SparkAppConfig.
struct ApplicationConfig {
  std::map<std::string, std::string> properties;
  std::string driver_block_address;
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

using ToExecutor =
    std::variant<ApplicationConfig, ExecutorRefused, ExecutorRegistered, StageProgram, LaunchTasks,
                 KillTask, RevokeTasks, ForgetProgram, MapOutputs, BlockLocations, RemoveRdd,
                 RemoveShuffle, RemoveBroadcast, HeartbeatAnswer, StopExecutor, CommitAnswer,
                 RemoveBlocks, AddFiles, DecommissionExecutor>;

// ---- block plane: any process → block server and back ------------------------------------------

/// Ask for a block or a range of it (shuffle_S_M_R, shuffle_S_M_R1_R2, rdd_R_P, broadcast_I_pieceN,
/// taskresult_T, file/NAME). The server answers with chunks of at most `chunk` bytes and sends at
/// most `credit` bytes ahead of what was granted by GrantCredit.
struct OpenBlock {
  Identity who;
  uint64_t stream = 0;
  std::string block;
  int64_t offset = 0;
  int64_t length = -1;  // negative: to the end
  int64_t chunk = 1 << 20;
  int64_t credit = 4 << 20;
  bool operator==(const OpenBlock&) const = default;
};
struct GrantCredit {
  uint64_t stream = 0;
  int64_t bytes = 0;
  bool operator==(const GrantCredit&) const = default;
};
struct CancelStream {
  uint64_t stream = 0;
  bool operator==(const CancelStream&) const = default;
};

using ToBlocks = std::variant<OpenBlock, GrantCredit, CancelStream>;

struct BlockChunk {
  uint64_t stream = 0;
  int64_t offset = 0;
  int64_t total = 0;      // of the whole answer
  uint64_t checksum = 0;  // xxh3 of `bytes`
  Payload bytes;
  bool operator==(const BlockChunk&) const = default;
};
struct BlockMissing {
  uint64_t stream = 0;
  std::string reason;
  bool operator==(const BlockMissing&) const = default;
};

using FromBlocks = std::variant<BlockChunk, BlockMissing>;

// ---- standalone recovery log ---------------------------------------------------------------

/// What a master must know again after a restart. Unit of `submitted`: microseconds since the
/// epoch.
struct PersistedApplication {
  AppId id;
  ApplicationDescription description;
  std::string driver_address;
  int64_t submitted = 0;
  bool operator==(const PersistedApplication&) const = default;
};
struct PersistedDriver {
  DriverId id;
  DriverDescription description;
  int64_t submitted = 0;
  bool operator==(const PersistedDriver&) const = default;
};
struct PersistedWorker {
  WorkerId id;
  std::string host;
  int32_t port = 0;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  std::string web_ui_url;
  bool operator==(const PersistedWorker&) const = default;
};
struct ForgottenApplication {
  AppId id;
  bool operator==(const ForgottenApplication&) const = default;
};
struct ForgottenDriver {
  DriverId id;
  bool operator==(const ForgottenDriver&) const = default;
};
struct ForgottenWorker {
  WorkerId id;
  bool operator==(const ForgottenWorker&) const = default;
};

/// One entry of the log, in core/deploy/recovery's framing.
using PersistedRecord = std::variant<PersistedApplication, PersistedDriver, PersistedWorker,
                                     ForgottenApplication, ForgottenDriver, ForgottenWorker>;

}  // namespace tinderbox
