// The Executor machine: finds its driver, builds itself from the driver's settings, runs what it is
// sent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/machine.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// What the executor's command line says. Source: Spark CoarseGrainedExecutorBackend.Arguments.
struct ExecutorOptions {
  std::string driver_address;  // host:port
  ExecutorId id;
  std::string pod;  // its name; empty: it is in none
  std::string host;
  int32_t cores = 1;
  int32_t profile = 0;
  std::string resources_file;  // addresses that the worker gave; empty: none
  Identity who;
  std::string build_id;
  std::string code_hash;
  int64_t pid = 0;
  std::map<std::string, std::string> log_urls;
  std::map<std::string, std::string> attributes;
  uint64_t seed = 0;  // spreads the first heartbeat
};

// ---- events beside Received<ToExecutor>, PeerLost, Connected ------------------------------------

struct StartExecutor {};
/// Block manager, transfer and task threads stand. Not `ok`: the process must end with `exit_code`.
struct ServicesBuilt {
  bool ok = false;
  int exit_code = 1;
  std::string error;
  std::string block_address;
  std::vector<std::string> local_dirs;
  Duration heartbeat_interval{};
  int32_t heartbeat_max_failures = 0;
  ResourceAddresses resources;
  int64_t max_message_size = int64_t{128} << 20;  // spark.rpc.message.maxSize. Unit: bytes
};
/// Task attempts moved on; in the order in which they did.
struct TasksMoved {
  std::vector<TaskUpdate> updates;
};
struct RevokeAnswered {
  std::vector<TaskId> tasks;
};
struct BlocksMoved {
  std::vector<BlockUpdate> blocks;
};
/// A task body needs the driver's answer.
struct ServiceRequest {
  ToDriver message;
};
/// SIGTERM or SIGINT.
struct StopRequested {
  int code = 0;
  std::string reason;
};
/// The signal of spark.executor.decommission.signal.
struct DecommissionSignalled {};
struct ExecutorTimer {
  enum class Kind : uint8_t { RetryConnect, Heartbeat } kind{};
  bool operator==(const ExecutorTimer&) const = default;
};

// ---- effects beside Send<ToDriver>, Connect, After<ExecutorTimer>, Log, Exit

/// Make everything that needs the application's settings; answered by ServicesBuilt.
struct BuildServices {
  ApplicationConfig config;
};
struct KeepProgram {
  StageProgram program;
};
struct DropProgram {
  int64_t program = 0;
};
struct StartTasks {
  LaunchTasks launch;
};
struct StopTask {
  KillTask kill;
};
/// Answered by RevokeAnswered with those that had not started.
struct TakeBack {
  std::vector<TaskId> tasks;
};
/// An answer or a removal for the block and shuffle services.
struct ForServices {
  ToExecutor message;
};
/// Send a heartbeat with what the process measures now.
struct MeasureAndBeat {};

/// Not named Executor: that is what the scheduler calls its entry for one (core/scheduler/tasks).
/// Thread: one loop's.
class ExecutorMachine {
 public:
  using Event = std::variant<StartExecutor, Received<ToExecutor>, PeerLost, Connected,
                             ServicesBuilt, TasksMoved, RevokeAnswered, BlocksMoved, ServiceRequest,
                             StopRequested, ExecutorTimer, DecommissionSignalled>;
  using Effect = std::variant<Send<ToDriver>, Connect, After<ExecutorTimer>, Log, Exit,
                              BuildServices, KeepProgram, DropProgram, StartTasks, StopTask,
                              TakeBack, ForServices, MeasureAndBeat>;
  using Effects = std::vector<Effect>;

  explicit ExecutorMachine(ExecutorOptions options) : options_(std::move(options)) {}
  void on(Event event, Time now, Effects& out);

 private:
  void on(const StartExecutor&, Effects& out);
  void on(Received<ToExecutor>& e, Effects& out);
  void on(const PeerLost& e, Effects& out);
  void on(const Connected& e, Effects& out);
  void on(const ServicesBuilt& e, Effects& out);
  void on(TasksMoved& e, Effects& out);
  void on(RevokeAnswered& e, Effects& out);
  void on(BlocksMoved& e, Effects& out);
  void on(ServiceRequest& e, Effects& out);
  void on(const StopRequested& e, Effects& out);
  void on(const ExecutorTimer& e, Effects& out);
  void on(const DecommissionSignalled&, Effects& out);
  void on_message(const ApplicationConfig& m, Effects& out);
  void on_message(const ExecutorRefused& m, Effects& out);
  void on_message(const ExecutorRegistered& m, Effects& out);
  void on_message(const HeartbeatAnswer& m, Effects& out);
  void on_message(const StopExecutor& m, Effects& out);
  void on_message(const DecommissionExecutor& m, Effects& out);
  void connect_failed(Effects& out);
  void register_with_driver(const ServicesBuilt& e, Effects& out);
  void end(int code, std::string reason, Effects& out);
  void to_driver(ToDriver message, Effects& out);

  ExecutorOptions options_;
  enum class State : uint8_t { Connecting, Configuring, Registering, Running, Ended };
  State state_ = State::Connecting;
  PeerId driver_ = 0;
  int tries_ = 0;
  bool decommissioned_ = false;  // the driver says so
  Duration heartbeat_interval_{};
  int32_t heartbeat_max_failures_ = 0;
  int64_t max_message_size_ = 0;
  int32_t unanswered_ = 0;  // heartbeats in a row
};

}  // namespace tinderbox::core
