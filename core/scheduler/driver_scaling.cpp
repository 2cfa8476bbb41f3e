// The Driver machine: executors that come and go by will, of dynamic allocation and of whoever
// decommissions them.
#include "core/exit_reasons.hpp"
#include "core/scheduler/driver.hpp"

namespace tinderbox::core {

// ---- dynamic allocation ------------------------------------------------------------------------

void Driver::handle(StartDriver&, Turn& turn) {
  if (!allocation_) return;
  const AllocationOptions& o = allocation_->options();
  for (const std::string& note : o.notes) turn.log(Level::Warn, note);
  turn.log(Level::Info, "Using initial executors = " + std::to_string(o.initial_executors) +
                            ", max of spark.dynamicAllocation.initialExecutors, "
                            "spark.dynamicAllocation.minExecutors and spark.executor.instances");
  ask_for_executors(turn);
  turn.after(Allocation::kInterval, DriverTimer::Kind::Allocation);
}

/// The cluster manager's client repeats the request until a master has it: it counts as granted.
void Driver::ask_for_executors(Turn& turn) {
  turn.out.push_back(RequestTotalExecutors{allocation_->totals()});
}

void Driver::observe(Turn& turn) {
  const std::vector<ListenerEvent>* events = turn.posted();
  if (events && allocation_->observe(*events, turn.now)) ask_for_executors(turn);
}

void Driver::allocate(Turn& turn) {
  turn.after(Allocation::kInterval, DriverTimer::Kind::Allocation);
  const Allocation::Step step = allocation_->step(turn.now);
  if (step.ask) ask_for_executors(turn);
  std::vector<ExecutorId> leaving;
  for (const ExecutorId& id : step.removable) {
    const int32_t slot = executors_.slot(id);
    if (allocation_->options().decommission ? decommission(slot, "spark scale down", {}, turn)
                                            : kill_idle(slot, turn))
      leaving.push_back(id);
  }
  if (leaving.empty()) return;
  ask_for_executors(turn);  // so that they are not replaced
  allocation_->leaving(leaving);
}

/// False: it is busy, or on its way out already.
bool Driver::kill_idle(int32_t slot, Turn& turn) {
  Executor& e = executors_.at(slot);
  const bool here = e.state == Executor::State::Registered || e.state == Executor::State::Active;
  if (!here || tasks_.busy(slot)) return false;
  turn.log(Level::Info, "Killing executor " + e.id.value + ", which was idle for too long");
  e.killing = true;
  executors_.deactivate(slot, Executor::State::Draining);
  tasks_.executor_draining(slot, turn);
  turn.out.push_back(KillBackendExecutor{e.id, false});
  return true;
}

// ---- decommissioning ---------------------------------------------------------------------------

void Driver::handle(BackendExecutorDecommissioned& event, Turn& turn) {
  decommission(executors_.slot(event.executor), event.message, event.worker_host, turn);
}

void Driver::message(PeerId, int32_t slot, ExecutorDecommissioning& m, Turn& turn) {
  if (slot >= 0) decommission(slot, "Executor " + m.id.value + " is decommissioned.", {}, turn);
}

/// False: it is not here, or on its way out already.
bool Driver::decommission(int32_t slot, std::string message, std::string worker_host, Turn& turn) {
  const Executor& e = executors_.at(slot);
  if (e.state != Executor::State::Registered && e.state != Executor::State::Active) return false;
  turn.log(Level::Info, "Decommissioning executor " + e.id.value + ": " + message);
  turn.send(e.peer, DecommissionExecutor{message});
  executors_.decommission(slot, {turn.now, std::move(worker_host), std::move(message)});
  tasks_.executor_draining(slot, turn);
  draining_.push_back(slot);
  if (options_.force_kill_timeout)
    turn.after(*options_.force_kill_timeout, DriverTimer::Kind::ForceKill, slot);
  return true;
}

/// Those that have nothing left to do are told to end.
void Driver::finish_drained(Turn& turn) {
  std::erase_if(draining_, [&](int32_t slot) {
    const Executor& e = executors_.at(slot);
    if (e.state != Executor::State::Draining) return true;
    if (tasks_.busy(slot)) return false;
    turn.send(e.peer, StopExecutor{});
    return true;
  });
}

void Driver::force_kill(int32_t slot, Turn& turn) {
  Executor& e = executors_.at(slot);
  if (e.state != Executor::State::Draining || e.killing) return;
  turn.log(Level::Warn, "Executor " + e.id.value +
                            " did not finish decommissioning in time; it is killed now "
                            "(spark.executor.decommission.forceKillTimeout)");
  e.killing = true;
  turn.out.push_back(KillBackendExecutor{e.id, false});
}

/// What the driver wanted itself is no task's fault, however the process ended.
ExecutorLoss Driver::attributed(int32_t slot, const ExecutorLoss& loss) const {
  if (executors_.at(slot).killing) return {kKilledByDriver, false};
  const Decommission* why = executors_.decommission_of(slot);
  if (!why) return loss;
  if (loss.reason == kDecommissionFinished) return {loss.reason, false};
  return {kDecommissionPrefix + why->message, false};
}

}  // namespace tinderbox::core
