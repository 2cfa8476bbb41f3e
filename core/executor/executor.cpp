#include "core/executor/executor.hpp"

#include <algorithm>
#include <iterator>

#include "core/plan/tasks/task_result.hpp"
#include "core/status/exit_codes.hpp"
#include "core/status/exit_reasons.hpp"

namespace tinderbox::core {
namespace {

constexpr int kConnectTries = 3;
constexpr Duration kConnectRetryDelay = std::chrono::seconds(1);

/// About what it takes in the body of a message, where larger results are not.
int64_t bytes_in_body(const TaskUpdate& update) {
  constexpr size_t kFixed = 512, kLargestResult = 8192;
  size_t bytes = kFixed + std::min(update.result.size(), kLargestResult);
  if (update.map_status) bytes += update.map_status->sizes.size();
  if (const auto& reason = update.reason)
    bytes += reason->class_name.size() + reason->description.size() + reason->stack.size();
  return static_cast<int64_t>(bytes) + accumulator_bytes(update.accumulators);
}

}  // namespace

void ExecutorMachine::on(Event event, Time, Effects& out) {
  if (state_ == State::Ended) return;
  std::visit([&](auto& e) { this->on(e, out); }, event);
}

void ExecutorMachine::to_driver(ToDriver message, Effects& out) {
  out.push_back(Send<ToDriver>{driver_, std::move(message)});
}

void ExecutorMachine::on(const StartExecutor&, Effects& out) {
  ++tries_;
  out.push_back(Connect{0, options_.driver_address});
}

void ExecutorMachine::on(const Connected& e, Effects& out) {
  if (e.peer == 0) return connect_failed(out);
  driver_ = e.peer;
  state_ = State::Configuring;
  to_driver(ExecutorHello{options_.who, options_.id, options_.build_id, options_.code_hash,
                          options_.profile, options_.pod},
            out);
}

void ExecutorMachine::connect_failed(Effects& out) {
  driver_ = 0;
  state_ = State::Connecting;
  if (tries_ >= kConnectTries)
    return end(kExitFailure,
               "cannot reach the driver at " + options_.driver_address + " (" +
                   std::to_string(tries_) + " tries)",
               out);
  out.push_back(After<ExecutorTimer>{kConnectRetryDelay, {ExecutorTimer::Kind::RetryConnect}});
}

void ExecutorMachine::on(const PeerLost& e, Effects& out) {
  if (e.peer != driver_) return;
  if (state_ == State::Configuring) return connect_failed(out);
  end(kExitFailure, "Driver " + options_.driver_address + " disassociated! Shutting down.", out);
}

void ExecutorMachine::on(Received<ToExecutor>& e, Effects& out) {
  if (e.from != driver_) return;
  std::visit(overloaded{
                 [&](ApplicationConfig& m) { on_message(m, out); },
                 [&](ExecutorRefused& m) { on_message(m, out); },
                 [&](ExecutorRegistered& m) { on_message(m, out); },
                 [&](HeartbeatAnswer& m) { on_message(m, out); },
                 [&](StopExecutor& m) { on_message(m, out); },
                 [&](DecommissionExecutor& m) { on_message(m, out); },
                 [&](StageProgram& m) { out.push_back(KeepProgram{std::move(m)}); },
                 [&](ForgetProgram& m) { out.push_back(DropProgram{m.program}); },
                 [&](LaunchTasks& m) { out.push_back(StartTasks{std::move(m)}); },
                 [&](KillTask& m) { out.push_back(StopTask{std::move(m)}); },
                 [&](RevokeTasks& m) { out.push_back(TakeBack{std::move(m.tasks)}); },
                 [&](auto& m) { out.push_back(ForServices{std::move(m)}); },
             },
             e.message);
}

void ExecutorMachine::on_message(const ApplicationConfig& m, Effects& out) {
  if (state_ != State::Configuring) return;
  state_ = State::Registering;
  if (!m.executor.value.empty()) options_.id = m.executor;
  out.push_back(BuildServices{m});
}

void ExecutorMachine::on_message(const ExecutorRefused& m, Effects& out) {
  end(kExitFailure, "Cannot register with driver: " + options_.driver_address + ": " + m.reason,
      out);
}

void ExecutorMachine::on(const ServicesBuilt& e, Effects& out) {
  if (!e.ok) {
    // The driver hears only those that registered; a task comes no sooner than ExecutorReady.
    register_with_driver(e, out);
    to_driver(ExecutorExiting{options_.id, e.exit_code, e.error}, out);
    return end(e.exit_code, e.error, out);
  }
  heartbeat_interval_ = e.heartbeat_interval;
  heartbeat_max_failures_ = e.heartbeat_max_failures;
  max_message_size_ = e.max_message_size;
  register_with_driver(e, out);
}

void ExecutorMachine::register_with_driver(const ServicesBuilt& e, Effects& out) {
  to_driver(RegisterExecutor{options_.id, options_.host, e.block_address, options_.cores,
                             options_.profile, options_.pid, e.local_dirs, options_.log_urls,
                             options_.attributes, e.resources},
            out);
}

/// Heartbeats of a thousand executors that start together are spread over one interval.
void ExecutorMachine::on_message(const ExecutorRegistered&, Effects& out) {
  if (state_ != State::Registering) return;
  state_ = State::Running;
  to_driver(ExecutorReady{options_.id}, out);
  auto spread =
      Duration(static_cast<int64_t>(options_.seed % 1000) * heartbeat_interval_.count() / 1000);
  out.push_back(
      After<ExecutorTimer>{heartbeat_interval_ + spread, {ExecutorTimer::Kind::Heartbeat}});
}

void ExecutorMachine::on_message(const HeartbeatAnswer& m, Effects& out) {
  unanswered_ = 0;
  if (m.reregister) out.push_back(ForServices{m});
}

void ExecutorMachine::on(const DecommissionSignalled&, Effects& out) {
  if (state_ == State::Running) to_driver(ExecutorDecommissioning{options_.id}, out);
}

void ExecutorMachine::on_message(const DecommissionExecutor& m, Effects& out) {
  decommissioned_ = true;
  out.push_back(Log{Level::Info, "decommissioned: " + m.reason});
}

void ExecutorMachine::on_message(const StopExecutor&, Effects& out) {
  if (decommissioned_) {
    to_driver(ExecutorExiting{options_.id, kExitOk, kDecommissionFinished}, out);
    return end(kExitOk, kDecommissionFinished, out);
  }
  end(kExitOk, "the driver is done", out);
}

/// A larger message than the driver takes would cost the connection: each is told in half of that,
/// so that what bytes_in_body() does not know of has room.
void ExecutorMachine::on(TasksMoved& e, Effects& out) {
  auto first = e.updates.begin();
  int64_t bytes = 0;
  for (auto u = first; u != e.updates.end(); ++u) {
    const int64_t more = bytes_in_body(*u);
    if (u != first && bytes + more > max_message_size_ / 2) {
      std::vector<TaskUpdate> part(std::make_move_iterator(first), std::make_move_iterator(u));
      to_driver(StatusUpdates{std::move(part)}, out);
      first = u;
      bytes = 0;
    }
    bytes += more;
  }
  e.updates.erase(e.updates.begin(), first);
  to_driver(StatusUpdates{std::move(e.updates)}, out);
}
void ExecutorMachine::on(RevokeAnswered& e, Effects& out) {
  to_driver(TasksRevoked{std::move(e.tasks)}, out);
}
void ExecutorMachine::on(BlocksMoved& e, Effects& out) {
  to_driver(BlockUpdates{options_.id, std::move(e.blocks)}, out);
}
void ExecutorMachine::on(ServiceRequest& e, Effects& out) { to_driver(std::move(e.message), out); }

void ExecutorMachine::on(const StopRequested& e, Effects& out) {
  if (driver_ != 0) to_driver(ExecutorExiting{options_.id, e.code, e.reason}, out);
  end(e.code, e.reason, out);
}

void ExecutorMachine::on(const ExecutorTimer& e, Effects& out) {
  if (e.kind == ExecutorTimer::Kind::RetryConnect) return on(StartExecutor{}, out);
  if (unanswered_ >= heartbeat_max_failures_)
    return end(kExitHeartbeatFailure,
               std::to_string(unanswered_) +
                   " heartbeats in a row were not "
                   "answered by the driver at " +
                   options_.driver_address,
               out);
  ++unanswered_;
  out.push_back(MeasureAndBeat{});
  out.push_back(After<ExecutorTimer>{heartbeat_interval_, {ExecutorTimer::Kind::Heartbeat}});
}

void ExecutorMachine::end(int code, std::string reason, Effects& out) {
  state_ = State::Ended;
  out.push_back(Exit{code, std::move(reason)});
}

}  // namespace tinderbox::core
