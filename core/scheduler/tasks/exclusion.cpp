// What the task scheduler does about excluded executors, and about task sets that can run nowhere.
#include <algorithm>

#include "core/scheduler/tasks/task_scheduler.hpp"

namespace tinderbox::core {

// ---- who gets no offers ------------------------------------------------------------------------

void TaskScheduler::update_excluded(Executor& e) {
  e.excluded = health_->executor_excluded(e.slot) || health_->host_excluded(e.host);
  update_idle(e.slot);
}

void TaskScheduler::refresh_excluded(Turn& turn) {
  for (const int32_t slot : executors_.active()) {
    Executor& e = executors_.at(slot);
    update_excluded(e);
    if (e.excluded) ask_back(e, e.ahead, turn);
  }
}

/// Tasks that wait in the queue of an executor that is excluded for their set go elsewhere.
void TaskScheduler::recall_excluded(const TaskSet& set, Turn& turn) {
  if (set.ahead == 0) return;
  for (const int32_t slot : executors_.active()) {
    Executor& e = executors_.at(slot);
    if (e.ahead > 0 && set.exclusion()->excludes(slot)) ask_back(e, e.ahead, turn);
  }
}

void TaskScheduler::readmit_excluded(Turn& turn) {
  health_->expire(turn);
  if (health_->take_changed()) refresh_excluded(turn);
}

void TaskScheduler::drop_excluded(std::vector<Offer>& offers, Turn& turn) {
  readmit_excluded(turn);
  std::erase_if(offers, [&](const Offer& o) { return executors_.at(o.executor).excluded; });
}

std::vector<ExecutorRemoval> TaskScheduler::take_removals() {
  std::vector<ExecutorRemoval> removals = std::exchange(removals_, {});
  if (!health_) return removals;
  for (ExecutorRemoval& r : health_->take_removals()) removals.push_back(std::move(r));
  return removals;
}

// ---- what failed -------------------------------------------------------------------------------

void TaskScheduler::fetch_failed_from(const BlockManagerId& address, Turn& turn) {
  if (!health_ || address.executor.value.empty()) return;
  health_->fetch_failed(executors_.slot(address.executor), executors_.host(address.host), turn);
  if (health_->take_changed()) refresh_excluded(turn);
}

/// Only failures of sets that succeed say something about executors.
void TaskScheduler::judge_executors(const TaskSet& set, Turn& turn) {
  if (!health_ || !set.exclusion() || !set.all_successful()) return;
  health_->task_set_succeeded(set.exclusion()->failures(), turn);
  if (health_->take_changed()) refresh_excluded(turn);
}

// ---- task sets that can run nowhere ------------------------------------------------------------

/// To be called after a round of offers. As long as something can be launched, whatever it is, no
/// set is given up; tasks that were sent ahead are launched when a slot becomes theirs.
void TaskScheduler::look_for_unschedulable(Turn& turn) {
  const bool launched = total_ahead_ > 0 ||
                        std::any_of(queue_.begin(), queue_.end(),
                                    [&](const auto& set) { return set->launched_turn == turn.id; });
  if (launched) forget_unschedulable(turn);
  if (total_ahead_ > 0) return;
  std::vector<TaskSet*> stuck;
  for (const auto& set : queue_)
    if (set->launched_turn != turn.id && set->pending() > 0) stuck.push_back(set.get());
  for (TaskSet* set : stuck)
    if (const std::optional<int32_t> index = set->excluded_everywhere())
      cannot_run(*set, *index, turn);
}

void TaskScheduler::forget_unschedulable(Turn& turn) {
  for (const auto& [program, entry] : std::exchange(unschedulable_, {})) {
    if (!entry.announced) continue;
    UnschedulableTaskSetRemoved& event = turn.post<UnschedulableTaskSetRemoved>();
    event.stage = entry.stage;
    event.stage_attempt = entry.stage_attempt;
  }
}

/// An idle executor is exchanged for a new one, as often as a task may fail: with it go outputs,
/// and making them again would give all sets their time again, for ever. A busy cluster may grow by
/// dynamic allocation.
void TaskScheduler::cannot_run(TaskSet& set, int32_t index, Turn& turn) {
  const std::vector<int32_t>& active = executors_.active();
  const auto idle = std::find_if(active.begin(), active.end(), [&](int32_t slot) {
    const Executor& e = executors_.at(slot);
    return e.running == 0 && executors_.profiles().may_run(set.spec().profile, e.profile);
  });
  if (idle == active.end() && !options_.exclusion.dynamic_allocation)
    return abort_excluded(set, index, turn);
  const TaskSetSpec& spec = set.spec();
  const Duration timeout = options_.exclusion.unschedulable_timeout;
  const bool exchange = idle != active.end() && set.exchanges < options_.max_task_failures;
  const bool grow = !exchange && options_.exclusion.dynamic_allocation;
  const Unschedulable entry{spec.stage, spec.attempt, index, turn.now + timeout, grow};
  if (!unschedulable_.emplace(set.program(), entry).second) return;
  turn.after(timeout, DriverTimer::Kind::Unschedulable, set.program());
  if (grow) {
    UnschedulableTaskSetAdded& event = turn.post<UnschedulableTaskSetAdded>();
    event.stage = spec.stage;
    event.stage_attempt = spec.attempt;
  }
  if (!exchange) return;
  ++set.exchanges;
  removals_.push_back({*idle, options_.exclusion.decommission,
                       "Killing excluded idle executor id " + executors_.at(*idle).id.value +
                           " because of task unschedulability and trying to acquire a new "
                           "executor."});
}

void TaskScheduler::unschedulable_timer(int64_t program, Turn& turn) {
  const auto entry = unschedulable_.find(program);
  if (entry == unschedulable_.end() || entry->second.until > turn.now) return;
  const int32_t index = entry->second.index;
  unschedulable_.erase(entry);
  const auto set = std::find_if(queue_.begin(), queue_.end(),
                                [&](const auto& s) { return s->program() == program; });
  if (set != queue_.end() && !(*set)->zombie()) abort_excluded(**set, index, turn);
}

void TaskScheduler::abort_excluded(TaskSet& set, int32_t index, Turn& turn) {
  const std::string why = set.exclusion() ? set.exclusion()->latest_reason() : "none";
  abort(set,
        "\nAborting TaskSet " + set.id() + " because task " + std::to_string(index) +
            " (partition " + std::to_string(set.partition(index)) +
            ")\ncannot run anywhere due to node and executor excludeOnFailure.\n"
            "Most recent failure:\n" +
            why + "\n\nExcludeOnFailure behavior can be configured via spark.excludeOnFailure.*.\n",
        turn);
}

}  // namespace tinderbox::core
