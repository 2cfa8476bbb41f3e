// The Driver machine: executors that come and go by will, of dynamic allocation and of whoever
// decommissions them.
#include <algorithm>

#include "core/scheduler/driver.hpp"
#include "core/status/exit_reasons.hpp"

namespace tinderbox::core {

// ---- dynamic allocation ------------------------------------------------------------------------

void Driver::handle(StartDriver&, Turn& turn) {
  dag_.tell_profiles(turn);
  if (rolling_) turn.after(rolling_->options().interval, DriverTimer::Kind::Roll);
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
void Driver::ask_for_executors(Turn& turn) { ask_for_executors(allocation_->totals(), turn); }

void Driver::ask_for_executors(const Allocation::Totals& totals, Turn& turn) {
  RequestTotalExecutors request{totals, {}, {}};
  for (const auto& [profile, total] : request.totals)
    if (profile != kDefaultProfile)
      request.profiles.push_back(executors_.profiles().request(profile, total));
  if (options_.tells_local_tasks) request.local_tasks = local_tasks();
  turn.out.push_back(std::move(request));
}

std::map<std::string, int32_t> Driver::local_tasks() const {
  std::vector<int32_t> by_host;
  for (const auto& set : tasks_.task_sets()) set->count_local(by_host);
  std::map<std::string, int32_t> named;
  for (size_t host = 0; host < by_host.size(); ++host)
    if (by_host[host] > 0) named[executors_.host_name(static_cast<int32_t>(host))] = by_host[host];
  return named;
}

void Driver::observe(Turn& turn) {
  const Profiles& known = executors_.profiles();
  for (; allocation_ && profiles_told_ < known.count(); ++profiles_told_)
    allocation_->set_tasks_per_executor(profiles_told_, known.planned_slots(profiles_told_));
  const std::vector<ListenerEvent>* events = turn.posted();
  if (!events) return;
  if (rolling_) rolling_->observe(*events);
  if (allocation_ && allocation_->observe(*events, turn.now)) ask_for_executors(turn);
}

/// The cluster manager replaces it: how many are wanted stays.
void Driver::roll(Turn& turn) {
  turn.after(rolling_->options().interval, DriverTimer::Kind::Roll);
  const auto disk_used = [&](const ExecutorId& id) -> std::optional<int64_t> {
    if (!executors_.alive(executors_.slot(id))) return std::nullopt;
    int64_t bytes = 0;
    for (const BlockUpdate& block : blocks_.rdd_blocks_on(id)) bytes += block.disk_bytes;
    return bytes;
  };
  const std::optional<ExecutorId> chosen = rolling_->choose(disk_used);
  if (!chosen) return turn.log(Level::Info, "There is nothing to roll.");
  decommission(executors_.slot(*chosen), "Executor rolling", {}, turn);
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
  return !tasks_.busy(slot) && kill_wanted(slot, "which was idle for too long", turn);
}

/// False: it is not here, or on its way out already. What it runs is tried elsewhere.
bool Driver::kill_wanted(int32_t slot, const std::string& why, Turn& turn) {
  Executor& e = executors_.at(slot);
  if (!here(slot)) return false;
  turn.log(Level::Info, "Killing executor " + e.id.value + ", " + why);
  executors_.deactivate(slot, Executor::State::Draining);
  tasks_.executor_draining(slot, turn);
  kill(e, turn);
  return true;
}

// ---- the application's own will ----------------------------------------------------------------

/// Source: Spark 4.3 CoarseGrainedSchedulerBackend.requestExecutors, killExecutors.
void Driver::handle(ScaleExecutors& event, Turn& turn) {
  std::string error = scale(event, turn);
  if (!error.empty()) turn.log(Level::Warn, error);
  turn.out.push_back(DeliverJobEnd{event.ticket, {}, std::move(error)});
}

/// Empty: done. The cluster manager hears of the number first, as it replaces whom it ends.
std::string Driver::scale(const ScaleExecutors& event, Turn& turn) {
  if (options_.is_local) return "Requesting and killing executors is not supported in local mode.";
  std::set<int32_t> to_kill;
  for (const ExecutorId& id : event.kill)
    if (const int32_t slot = executors_.slot(id); here(slot)) to_kill.insert(slot);
  if (!event.kill.empty() && to_kill.empty()) return "None of the executors to be killed is there.";
  const int64_t before = event.in_all ? 0 : executors_wanted();
  const int64_t wanted = before - static_cast<int64_t>(to_kill.size()) + event.executors;
  wanted_ = static_cast<int32_t>(std::clamp<int64_t>(wanted, 0, INT32_MAX));
  Allocation::Totals totals = allocation_ ? allocation_->totals() : Allocation::Totals{};
  totals[kDefaultProfile] = *wanted_;
  turn.log(Level::Info, "The application wants " + std::to_string(*wanted_) + " executors in all.");
  ask_for_executors(totals, turn);
  for (const int32_t slot : to_kill) kill_wanted(slot, "as the application wants it", turn);
  return {};
}

/// Until the application says how many, those that are there.
int32_t Driver::executors_wanted() const {
  if (allocation_) return allocation_->totals().at(kDefaultProfile);
  if (wanted_) return *wanted_;
  int32_t count = 0;
  for (const int32_t slot : executors_.connected()) count += here(slot) ? 1 : 0;
  return count;
}

/// Not on its way out.
bool Driver::here(int32_t slot) const {
  const Executor::State state = executors_.at(slot).state;
  return state == Executor::State::Registered || state == Executor::State::Active;
}

// ---- decommissioning ---------------------------------------------------------------------------

void Driver::handle(BackendExecutorDecommissioned& event, Turn& turn) {
  const int32_t slot = executors_.slot(event.executor);
  if (executors_.at(slot).state == Executor::State::LossPending)
    return ended_at_once(slot, event, turn);
  if (executors_.at(slot).state == Executor::State::Named) early_.push_back(event);
  while (static_cast<int64_t>(early_.size()) > options_.max_retained_unknown_decommissioned)
    early_.pop_front();
  decommission(slot, event.message, event.worker_host, turn);
}

/// The connection was gone before the word came that its worker ends it.
void Driver::ended_at_once(int32_t slot, const BackendExecutorDecommissioned& why, Turn& turn) {
  const bool host_goes = !executors_.others_on_host(slot);
  remove_executor(slot, {kDecommissionPrefix + why.message, false},
                  host_goes ? why.worker_host : "", turn);
}

/// It was asked for before the executor registered.
void Driver::decommission_early(int32_t slot, Turn& turn) {
  const auto asked = std::find_if(early_.begin(), early_.end(), [&](const auto& e) {
    return e.executor == executors_.at(slot).id;
  });
  if (asked == early_.end()) return;
  decommission(slot, asked->message, asked->worker_host, turn);
  early_.erase(asked);
}

void Driver::message(PeerId, int32_t slot, ExecutorDecommissioning& m, Turn& turn) {
  if (slot >= 0) decommission(slot, "Executor " + m.id.value + " is decommissioned.", {}, turn);
}

/// False: it is not here, or on its way out already.
bool Driver::decommission(int32_t slot, std::string message, std::string worker_host, Turn& turn) {
  const Executor& e = executors_.at(slot);
  if (!here(slot)) return false;
  turn.log(Level::Info, "Decommissioning executor " + e.id.value + ": " + message);
  turn.send(e.peer, DecommissionExecutor{message});
  turn.out.push_back(DecommissionBackendExecutor{e.id});
  executors_.decommission(slot, {turn.now, std::move(worker_host), std::move(message)});
  tasks_.executor_draining(slot, turn);
  draining_.insert(slot);
  executors_.settle(slot);
  if (options_.migration.on()) migration_.start(slot, turn);
  if (options_.force_kill_timeout)
    turn.after(*options_.force_kill_timeout, DriverTimer::Kind::ForceKill, slot);
  return true;
}

/// Those that have nothing left to do are told to end. Thousands may drain at once, so only those
/// of which something ended are looked at; all of them where nobody is left who could take what
/// they hold.
void Driver::finish_drained(Turn& turn) {
  std::vector<int32_t> due = executors_.take_settled();
  if (draining_.empty()) return;
  if (!migration_.any_peer()) due.assign(draining_.begin(), draining_.end());
  for (const int32_t slot : due) {
    if (!draining_.contains(slot)) continue;
    const Executor& e = executors_.at(slot);
    const bool here = e.state == Executor::State::Draining;
    if (here && (tasks_.busy(slot) || !migration_.finished(slot, turn))) continue;
    if (here) turn.send(e.peer, StopExecutor{});
    draining_.erase(slot);
  }
}

void Driver::message(PeerId, int32_t slot, BlockTaken& m, Turn& turn) {
  if (slot < 0 || replication_.taken(slot, m, turn)) return;
  if (migration_.taken(slot, m, turn)) dag_.blocks_moved();
}

void Driver::force_kill(int32_t slot, Turn& turn) {
  Executor& e = executors_.at(slot);
  if (e.state != Executor::State::Draining || e.killing) return;
  turn.log(Level::Warn, "Executor " + e.id.value +
                            " did not finish decommissioning in time; it is killed now "
                            "(spark.executor.decommission.forceKillTimeout)");
  kill(e, turn);
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
