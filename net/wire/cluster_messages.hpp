// The standalone cluster: master, workers, applications and clients, and the master's recovery log.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/types.hpp"
#include "net/wire/identity.hpp"
#include "net/wire/resources.hpp"

namespace tinderbox {

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
constexpr ExecutorState last_value(ExecutorState) { return ExecutorState::Decommissioned; }
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
constexpr DriverState last_value(DriverState) { return DriverState::Error; }

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
  ResourceAmounts resources_per_executor;
  bool operator==(const ApplicationDescription&) const = default;
};

struct DriverDescription {
  Command command;
  int64_t memory_mib = 1024;
  int32_t cores = 1;
  bool supervise = false;
  ResourceAmounts resources;
  bool operator==(const DriverDescription&) const = default;
};

struct ExecutorDescription {
  AppId app;
  int32_t executor = 0;
  int32_t profile = 0;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  ExecutorState state = ExecutorState::Launching;
  ResourceAddresses resources;
  bool operator==(const ExecutorDescription&) const = default;
};

/// Addresses that a driver on a worker has.
struct DriverResources {
  DriverId id;
  ResourceAddresses resources;
  bool operator==(const DriverResources&) const = default;
};

/// Executors of one resource profile that an application wants, the default profile apart. No
/// cores: as the application's. Source: Spark ResourceProfile, DeployMessages.RequestExecutors.
struct ProfileRequest {
  int32_t profile = 0;
  int32_t total = 0;
  std::optional<int32_t> cores;
  std::optional<int64_t> memory_mib;
  ResourceAmounts resources;
  bool operator==(const ProfileRequest&) const = default;
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
  ResourceAddresses resources;
  bool decommissioned = false;  // it ends when what it runs has ended
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
/// A request: answered by DriverStateAccepted with the same number.
struct DriverStateChanged {
  DriverId id;
  DriverState state = DriverState::Submitted;
  std::string exception;
  uint64_t request = 0;
  bool operator==(const DriverStateChanged&) const = default;
};
/// Answer to MasterChanged: what runs on the worker.
struct WorkerSchedulerState {
  WorkerId id;
  std::vector<ExecutorDescription> executors;
  std::vector<DriverId> drivers;
  std::vector<DriverResources> driver_resources;  // of those that have any
  bool operator==(const WorkerSchedulerState&) const = default;
};
/// Sent after each registration, so that the master can end what it does not know.
struct WorkerLatestState {
  WorkerId id;
  std::vector<ExecutorDescription> executors;
  std::vector<DriverId> drivers;
  std::vector<DriverResources> driver_resources;  // of those that have any
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
  int32_t next_executor = 0;  // the first number it has not seen
  bool operator==(const MasterChangeAcknowledged&) const = default;
};
/// Answered by ExecutorRequestAnswer.
struct RequestExecutors {
  uint64_t request = 0;
  AppId app;
  int32_t total = 0;  // of the default resource profile
  std::vector<ProfileRequest> profiles;
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
  ResourceAddresses resources;
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
  ResourceAddresses resources;
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
struct DriverStateAccepted {
  uint64_t request = 0;
  bool operator==(const DriverStateAccepted&) const = default;
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
                 ExecutorStateAccepted, MasterChanged, DriverStateAccepted>;

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
  ResourceAddresses resources;
  int64_t epoch = 0;  // Identity::epoch of its registration
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
