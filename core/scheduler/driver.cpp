// The Driver machine: routing, and the life of executors.
#include "core/scheduler/driver.hpp"

#include <algorithm>

#include "core/status/exit_codes.hpp"
#include "net/log.hpp"

namespace tinderbox::core {

namespace {

constexpr const char* kDisassociated =
    "Remote RPC client disassociated. Likely due to containers exceeding thresholds, or network "
    "issues. Check driver logs for WARN messages.";

}  // namespace

Driver::Driver(DriverOptions options, ProgramCodec codec)
    : options_(std::move(options)),
      codec_(std::move(codec)),
      executors_(options_),
      tasks_(options_, codec_, executors_, dag_),
      dag_(options_, codec_, tasks_, outputs_, blocks_, commits_),
      migration_(options_.migration, executors_, outputs_, blocks_),
      replication_(options_.replication, executors_, blocks_) {
  if (options_.allocation) allocation_.emplace(*options_.allocation);
  if (options_.rolling) rolling_.emplace(*options_.rolling);
}

void Driver::on(const DriverEvent& event, Time now, DriverEffects& out) {
  on(DriverEvent(event), now, out);
}

void Driver::on(DriverEvent&& event, Time now, DriverEffects& out) {
  Turn turn(now, ++turns_, out);
  std::visit([&](auto& e) { handle(e, turn); }, event);
  tasks_.settle(turn);
  if (options_.exclusion.on()) end_excluded(turn);
  finish_drained(turn);
  if (allocation_ || rolling_) observe(turn);
}

bool Driver::idle_state_is_clean() const {
  return dag_.idle() && tasks_.idle() && commits_.empty() && (!allocation_ || allocation_->idle());
}

int32_t Driver::total_cores() const {
  int32_t cores = 0;
  for (const int32_t e : executors_.active()) cores += executors_.at(e).cores;
  return cores;
}

/// Those that get no offers yet or any more have blocks too, and have to end.
void Driver::to_all(const ToExecutor& message, Turn& turn) {
  for (const int32_t slot : executors_.connected()) turn.send(executors_.at(slot).peer, message);
}

// ---- messages ----------------------------------------------------------------------------------

void Driver::handle(Received<ToDriver>& event, Turn& turn) {
  const int32_t slot = executors_.of_peer(event.from);
  if (slot >= 0) executors_.at(slot).last_seen = turn.now;
  std::visit([&](auto& m) { message(event.from, slot, m, turn); }, event.message);
}

void Driver::message(PeerId from, int32_t slot, ExecutorHello& m, Turn& turn) {
  if (slot < 0) executors_.hello(from, m, turn);
}

void Driver::message(PeerId from, int32_t slot, RegisterExecutor& m, Turn& turn) {
  if (slot >= 0) return;
  const int32_t fresh = executors_.register_executor(from, m, turn);
  if (fresh < 0) return;
  const Executor& e = executors_.at(fresh);
  ExecutorJoined& event = turn.post<ExecutorJoined>();
  event.executor = e.id;
  event.host = m.host;
  event.cores = m.cores;
  event.time = turn.now;
  event.profile = m.profile;
  if (!std::exchange(heartbeat_timer_set_, true)) check_heartbeats_later(turn);
  if (!early_.empty()) decommission_early(fresh, turn);
}

void Driver::know_blocks_of(const Executor& e, Turn& turn) {
  blocks_.add_executor(e.address, e.local_dirs);
  BlockManagerAdded& event = turn.post<BlockManagerAdded>();
  event.id = e.address;
  event.time = turn.now;
}

void Driver::message(PeerId, int32_t slot, ExecutorReady&, Turn& turn) {
  if (slot < 0 || executors_.at(slot).state != Executor::State::Registered) return;
  executors_.activate(slot);
  dag_.executor_added(executors_.at(slot).id);
  know_blocks_of(executors_.at(slot), turn);
  for (const AddFiles& files : shipped_) turn.send(executors_.at(slot).peer, files);
  tasks_.executor_ready(slot);
  migration_.executor_ready(slot, turn);
}

void Driver::message(PeerId, int32_t slot, StatusUpdates& m, Turn& turn) {
  if (slot >= 0) tasks_.status(slot, std::move(m), turn);
}

void Driver::message(PeerId, int32_t slot, TasksRevoked& m, Turn& turn) {
  if (slot >= 0) tasks_.revoked(slot, m, turn);
}

void Driver::message(PeerId from, int32_t slot, ExecutorHeartbeat& m, Turn& turn) {
  bool reregister = true;
  if (slot >= 0) {
    tasks_.progress(slot, m.tasks);
    ExecutorMetricsUpdated& event = turn.post<ExecutorMetricsUpdated>();
    event.time = turn.now;
    event.executor = executors_.at(slot).id;
    event.resident_bytes = m.resident_bytes;
    event.tasks = std::move(m.tasks);
  }
  if (slot >= 0 && executors_.connected(slot)) {
    reregister = !blocks_.knows(executors_.at(slot).id);
    if (reregister) know_blocks_of(executors_.at(slot), turn);
  }
  turn.send(from, HeartbeatAnswer{reregister});
  // Its worker was lost, or it was silent for too long: nobody else would ever end it.
  if (slot >= 0 && executors_.at(slot).state == Executor::State::Removed)
    turn.send(from, StopExecutor{});
}

void Driver::message(PeerId, int32_t slot, BlockUpdates& m, Turn& turn) {
  if (slot < 0) return;
  const ExecutorId& id = executors_.at(slot).id;
  for (BlockUpdate& block : m.blocks) {
    if (replication_.unwanted(slot, block)) continue;
    const bool put = replication_.is_put(slot, block) && !migration_.takes(slot, block.block);
    if (!blocks_.update(id, block)) return;  // the next heartbeat's answer asks for all of them
    if (put) replication_.put(block.block, turn);
    BlockUpdated& event = turn.post<BlockUpdated>();
    event.executor = id;
    event.block = std::move(block);
  }
}

void Driver::message(PeerId from, int32_t slot, MapOutputsRequest& m, Turn& turn) {
  if (slot < 0) return;
  turn.out.push_back(SendShared{from, dag_.outputs(m.shuffle)});
}

void Driver::message(PeerId from, int32_t slot, BlockLocationsRequest& m, Turn& turn) {
  if (slot < 0) return;
  BlockLocations answer{m.request, {}};
  answer.locations.reserve(m.blocks.size());
  for (const std::string& block : m.blocks) answer.locations.push_back(blocks_.locations(block));
  turn.send(from, std::move(answer));
}

void Driver::message(PeerId from, int32_t slot, AskPermissionToCommit& m, Turn& turn) {
  if (slot < 0) return;
  const bool allowed = tasks_.runs(slot, m.task, turn) && dag_.may_commit(m);
  turn.send(from, CommitAnswer{m.request, allowed});
}

void Driver::message(PeerId from, int32_t slot, BarrierSync& m, Turn& turn) {
  if (slot >= 0) dag_.barriers().sync(from, std::move(m), turn);
}

// ---- the end of executors ----------------------------------------------------------------------

namespace {
/// Source: Spark StandaloneSchedulerBackend.executorRemoved.
ExecutorLoss exit_loss(std::optional<int32_t> code, const std::string& message, bool worker_gone) {
  if (!code) return {message, !worker_gone};
  return {message, *code != kExitHeartbeatFailure && *code != kExitDiskStoreFailure};
}
bool ended_by_signal(int32_t code) { return code > kExitSignalBase && code < kExitNoArguments; }
}  // namespace

void Driver::message(PeerId, int32_t slot, ExecutorExiting& m, Turn& turn) {
  if (slot < 0) return;
  // Somebody ended it: the cluster manager knows who, and whether its tasks are to blame.
  if (ended_by_signal(m.code) && manager_may_tell(slot))
    return await_reason(slot, std::move(m.reason), turn);
  ExecutorLoss loss = exit_loss(m.code, m.reason, false);
  loss.culprit = m.task;
  remove_executor(slot, loss, {}, turn);
}

void Driver::handle(BackendExecutorExited& event, Turn& turn) {
  remove_executor(
      executors_.slot(event.executor),
      exit_loss(event.exit_code, event.message, !event.worker_host.empty() || event.by_manager),
      event.worker_host, turn);
}

void Driver::handle(BackendWorkerRemoved& event, Turn& turn) {
  turn.log(Level::Info, "Worker on " + event.host + " is gone: " + event.message);
  dag_.worker_removed(event.host);
}

void Driver::handle(PeerLost& event, Turn& turn) {
  const int32_t slot = executors_.of_peer(event.peer);
  executors_.peer_lost(event.peer);
  if (slot < 0 || executors_.at(slot).state == Executor::State::Removed) return;
  if (executors_.at(slot).state == Executor::State::LossPending) return;
  if (!manager_may_tell(slot)) return remove_executor(slot, {kDisassociated, true}, {}, turn);
  await_reason(slot, {}, turn);
}

/// Nobody else needs to say why one went that was to go.
bool Driver::manager_may_tell(int32_t slot) const {
  return options_.cluster_manager && !stopped_ && !executors_.at(slot).killing;
}

/// The cluster manager has some time to say why it is gone. Else it counts what the executor itself
/// said, if anything.
void Driver::await_reason(int32_t slot, std::string last_words, Turn& turn) {
  Executor& e = executors_.at(slot);
  const bool gone = e.state == Executor::State::LossPending || e.state == Executor::State::Removed;
  if (gone) return;
  e.last_words = std::move(last_words);
  executors_.deactivate(slot, Executor::State::LossPending);
  tasks_.executor_suspended(slot);
  turn.after(options_.remove_delay, DriverTimer::Kind::RemoveDelay, slot);
}

void Driver::check_heartbeats_later(Turn& turn) {
  heartbeat_check_due_ = turn.now + options_.executor_check_interval;
  turn.after(options_.executor_check_interval, DriverTimer::Kind::Heartbeats);
}

/// While the driver itself is held up (stopped, swapped out) nobody is silent: what they sent is
/// still to be read.
void Driver::check_heartbeats(Turn& turn) {
  const Time heard = std::min(turn.now, heartbeat_check_due_);
  for (const int32_t slot : executors_.connected()) {
    const Executor& e = executors_.at(slot);
    const Duration silent = heard - e.last_seen;
    if (silent <= options_.executor_timeout) continue;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silent).count();
    turn.send(e.peer, StopExecutor{});
    turn.out.push_back(KillBackendExecutor{e.id});
    remove_executor(
        slot, {"Executor heartbeat timed out after " + std::to_string(ms) + " ms", true}, {}, turn);
  }
  check_heartbeats_later(turn);
}

/// Its host, if that is decommissioned and this is the last executor there: the others still move
/// what they have. Empty: the host stays.
std::string Driver::host_gone_with(int32_t slot) const {
  const Decommission* why = executors_.decommission_of(slot);
  return why && !executors_.others_on_host(slot) ? why->worker_host : std::string();
}

void Driver::remove_executor(int32_t slot, const ExecutorLoss& told, const std::string& worker_host,
                             Turn& turn) {
  Executor& e = executors_.at(slot);
  if (e.state == Executor::State::Removed) return;
  const ExecutorLoss loss = attributed(slot, told);
  const std::string host = worker_host.empty() ? host_gone_with(slot) : worker_host;
  executors_.deactivate(slot, Executor::State::Removed);
  replication_.executor_leaves(slot);
  turn.log(stopped_ ? Level::Info : Level::Warn, "Lost executor " + e.id.value +
                                                     (e.host < 0 ? "" : " on " + e.address.host) +
                                                     ": " + net::one_line(loss.reason));
  tasks_.executor_lost(slot, loss, turn);
  dag_.executor_lost(e.id, host, turn);
  draining_.erase(slot);
  migration_.executor_gone(slot, turn);
  if (!stopped_) replication_.executor_gone(slot, turn);
  ExecutorRemoved& event = turn.post<ExecutorRemoved>();
  event.executor = e.id;
  event.reason = loss.reason;
  event.time = turn.now;
}

/// Its tasks are not blamed, and another executor comes in its place.
void Driver::end_excluded(Turn& turn) {
  for (const ExecutorRemoval& removal : tasks_.take_removals()) {
    Executor& e = executors_.at(removal.executor);
    if (e.state != Executor::State::Active || e.killing) continue;
    if (!options_.cluster_manager) {
      turn.log(Level::Info, "Not attempting to kill excluded executor id " + e.id.value +
                                ": there is no cluster manager that could replace it");
      continue;
    }
    turn.log(Level::Info, removal.reason);
    if (removal.decommission) {
      decommission(removal.executor, removal.reason, {}, turn);
      continue;
    }
    executors_.deactivate(removal.executor, Executor::State::Draining);
    tasks_.executor_draining(removal.executor, turn);
    kill(e, turn);
  }
}

/// The cluster manager may not know it any more, when its worker is lost and it goes on: so it is
/// told itself too.
void Driver::kill(Executor& e, Turn& turn) {
  e.killing = true;
  turn.send(e.peer, StopExecutor{});
  turn.out.push_back(KillBackendExecutor{e.id});
}

// ---- the rest ----------------------------------------------------------------------------------

void Driver::handle(KillTaskAttempt& event, Turn& turn) {
  if (!tasks_.kill(event.task, event.interrupt, event.reason, turn))
    turn.log(Level::Warn, "Could not kill task " + std::to_string(event.task.value) +
                              ": no such attempt is running");
}

void Driver::handle(UnpersistRdd& event, Turn& turn) {
  blocks_.remove_rdd(event.rdd);
  replication_.forget(event.rdd);
  for (const int32_t slot : draining_) executors_.settle(slot);
  to_all(RemoveRdd{event.rdd}, turn);
  turn.post<RddUnpersisted>().rdd = event.rdd;
}

void Driver::handle(DestroyBroadcast& event, Turn& turn) {
  blocks_.remove_broadcast(event.broadcast);
  to_all(RemoveBroadcast{event.broadcast}, turn);
}

void Driver::handle(ForgetShuffle& event, Turn& turn) {
  outputs_.unregister_shuffle(event.shuffle);
  for (const int32_t slot : draining_) executors_.settle(slot);
  if (allocation_) allocation_->shuffle_cleaned(event.shuffle);
  to_all(RemoveShuffle{event.shuffle}, turn);
}

void Driver::handle(ShipFiles& event, Turn& turn) {
  for (const int32_t e : executors_.active()) turn.send(executors_.at(e).peer, event.files);
  shipped_.push_back(std::move(event.files));
}

void Driver::handle(StopDriver& event, Turn& turn) {
  if (std::exchange(stopped_, true)) return;
  dag_.stop(event.cause, turn);
  to_all(StopExecutor{}, turn);
}

void Driver::handle(DriverTimer& event, Turn& turn) {
  if (stopped_) return;
  switch (event.kind) {
    case DriverTimer::Kind::ResubmitFailedStages:
      return dag_.resubmit_failed_stages(turn);
    case DriverTimer::Kind::Revive:
      return tasks_.revive_timer();
    case DriverTimer::Kind::Heartbeats:
      return check_heartbeats(turn);
    case DriverTimer::Kind::Starvation:
      return tasks_.starvation(turn);
    case DriverTimer::Kind::RemoveDelay: {
      const int32_t slot = static_cast<int32_t>(event.id);
      const Executor& e = executors_.at(slot);
      if (e.state == Executor::State::LossPending && e.last_words.empty())
        remove_executor(slot, {kDisassociated, true}, {}, turn);
      else if (e.state == Executor::State::LossPending)
        remove_executor(slot, {e.last_words, false}, {}, turn);
      return;
    }
    case DriverTimer::Kind::Speculation:
      return tasks_.speculation_timer(turn);
    case DriverTimer::Kind::Unschedulable:
      return tasks_.unschedulable_timer(event.id, turn);
    case DriverTimer::Kind::Allocation:
      return allocate(turn);
    case DriverTimer::Kind::ForceKill:
      return force_kill(static_cast<int32_t>(event.id), turn);
    case DriverTimer::Kind::Migration:
      return migration_.timer(static_cast<int32_t>(event.id), turn);
    case DriverTimer::Kind::Roll:
      return roll(turn);
    case DriverTimer::Kind::BarrierSlots:
      return dag_.retry_job(JobId{static_cast<int32_t>(event.id)}, turn);
    case DriverTimer::Kind::BarrierSync:
      return dag_.barriers().timer(event.id, turn);
  }
}

}  // namespace tinderbox::core
