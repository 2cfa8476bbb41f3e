// Dynamic allocation: how many executors there should be, and which may go.
#include "core/scheduler/allocation/allocation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/resources/resource_profile.hpp"

namespace tinderbox::core {

namespace {
StageAttempt attempt_of(const TaskInfo& task) { return {task.stage, task.stage_attempt}; }

int32_t share(int64_t tasks, double ratio, int32_t slots) {
  return static_cast<int32_t>(std::ceil(static_cast<double>(tasks) * ratio / slots));
}
}  // namespace

Allocation::Allocation(AllocationOptions options)
    : options_(std::move(options)), monitor_(options_) {
  slots_[kDefaultProfile] = options_.tasks_per_executor;
  targets_[kDefaultProfile] = options_.initial_executors;
  to_add_[kDefaultProfile] = 1;
}

void Allocation::reset() {
  initializing_ = true;
  add_time_.reset();
  for (auto& [profile, target] : targets_) target = options_.initial_executors;
  for (auto& [profile, add] : to_add_) add = 1;
  monitor_.reset();
}

int32_t Allocation::slots(int32_t profile) const {
  const auto at = slots_.find(profile);
  return at == slots_.end() ? options_.tasks_per_executor : at->second;
}

int32_t Allocation::to_add(int32_t profile) const {
  const auto at = to_add_.find(profile);
  return at == to_add_.end() ? 1 : at->second;
}

// ---- what happens ------------------------------------------------------------------------------

bool Allocation::observe(const std::vector<ListenerEvent>& events, Time now) {
  bool ask = false;
  for (const ListenerEvent& event : events)
    ask |= std::visit([&](const auto& e) { return on(e, now); }, event);
  return ask;
}

void Allocation::backlogged(Time now) {
  if (!add_time_) add_time_ = now + options_.backlog_timeout;
}

void Allocation::queue_empty() {
  add_time_.reset();
  for (auto& [profile, add] : to_add_) add = 1;
}

bool Allocation::on(const StageSubmitted& e, Time now) {
  const StageInfo& stage = e.stage;
  initializing_ = false;
  backlog_.stage_submitted({stage.stage, stage.attempt}, stage.num_tasks, stage.profile);
  backlogged(now);
  to_add_.try_emplace(stage.profile, 1);
  const bool fresh = targets_.try_emplace(stage.profile, options_.initial_executors).second;
  return fresh && options_.initial_executors > 0;
}

bool Allocation::on(const StageCompleted& e, Time) {
  backlog_.stage_completed({e.stage.stage, e.stage.attempt});
  if (backlog_.empty()) queue_empty();
  return false;
}

bool Allocation::on(const SpeculativeTaskSubmitted& e, Time now) {
  speculative_task_submitted({e.stage, e.stage_attempt}, e.index, now);
  return false;
}

bool Allocation::on(const UnschedulableTaskSetAdded& e, Time now) {
  set_unschedulable({e.stage, e.stage_attempt}, true, now);
  return false;
}

bool Allocation::on(const UnschedulableTaskSetRemoved& e, Time now) {
  set_unschedulable({e.stage, e.stage_attempt}, false, now);
  return false;
}

bool Allocation::on(const TaskStarted& e, Time now) {
  backlog_.task_started(attempt_of(e.task), e.task.index, e.task.speculative);
  if (add_time_ && !backlog_.anything_pending()) queue_empty();
  monitor_.task_started(e.task.executor, now);
  return false;
}

bool Allocation::on(const TaskEnded& e, Time now) {
  const TaskEndKind how = e.kind();
  const StageAttempt attempt = attempt_of(e.task);
  const bool again = how == TaskEndKind::TaskKilled
                         ? !e.task.speculative && backlog_.lacks(attempt, e.task.index)
                         : how != TaskEndKind::Success;
  // That may need an executor.
  if (again && !backlog_.anything_pending()) backlogged(now);
  backlog_.task_ended(attempt, e.task.index, e.task.speculative, how);
  monitor_.task_ended(e.task.executor, e.task.stage, how == TaskEndKind::Success, now);
  return false;
}

void Allocation::speculative_task_submitted(StageAttempt attempt, int32_t index, Time now) {
  backlog_.speculative_submitted(attempt, index);
  backlogged(now);
}

void Allocation::set_unschedulable(StageAttempt attempt, bool unschedulable, Time now) {
  backlog_.set_unschedulable(attempt, unschedulable);
  if (unschedulable) backlogged(now);
}

bool Allocation::on(const JobStarted& e, Time) {
  monitor_.job_started(e.job, e.stages);
  return false;
}
bool Allocation::on(const JobEnded& e, Time) {
  monitor_.job_ended(e.job);
  return false;
}
bool Allocation::on(const ExecutorJoined& e, Time now) {
  monitor_.executor_added(e.executor, e.profile, now);
  return false;
}
bool Allocation::on(const ExecutorRemoved& e, Time) {
  monitor_.executor_removed(e.executor, e.reason);
  return false;
}
bool Allocation::on(const BlockUpdated& e, Time) {
  monitor_.block_updated(e.executor, e.block);
  return false;
}
bool Allocation::on(const RddUnpersisted& e, Time) {
  monitor_.rdd_unpersisted(e.rdd);
  return false;
}

// ---- targets -----------------------------------------------------------------------------------

int32_t Allocation::max_needed(int32_t profile) const {
  const Backlog::Load load = backlog_.load(profile);
  const int32_t n = slots(profile);
  const int64_t tasks = int64_t{load.pending} + load.speculative + load.running;
  int32_t needed = share(tasks, options_.ratio, n);
  // The copy of a slow task wants another host.
  if (n > 1 && needed == 1 && load.speculative > 0) needed = 2;
  if (load.unschedulable == 0) return needed;
  return std::max(needed, monitor_.count(profile) + share(load.unschedulable, options_.ratio, n));
}

/// The next target on the way up.
int32_t Allocation::raised(int32_t profile, int32_t target, int32_t needed) const {
  if (target >= options_.max_executors) return target;
  // There is no point in a slow way up to what is there already.
  const int64_t wish = int64_t{std::max(target, monitor_.count(profile))} + to_add_.at(profile);
  const int64_t next = std::min<int64_t>(wish, needed);
  return static_cast<int32_t>(
      std::clamp<int64_t>(next, options_.min_executors, options_.max_executors));
}

bool Allocation::update_targets(Time now) {
  if (initializing_) return false;
  bool changed = false;
  const bool add = add_time_ && now >= *add_time_;
  for (auto& [profile, target] : targets_) {
    const int32_t needed = max_needed(profile);
    const int32_t before = target;
    int32_t& step = to_add_.at(profile);
    if (needed < target) {
      target = std::max(needed, options_.min_executors);
      step = 1;
    } else if (add) {
      target = raised(profile, target, needed);
      step = target > before && target - before == step ? 2 * step : 1;
      if (target > before) add_time_ = now + options_.sustained_timeout;
    }
    changed |= target != before;
  }
  return changed;
}

// ---- removal -----------------------------------------------------------------------------------

std::vector<ExecutorId> Allocation::removable(
    const std::vector<ExecutorMonitor::Idle>& idle) const {
  std::vector<ExecutorId> chosen;
  std::map<int32_t, int32_t> live;
  for (const ExecutorMonitor::Idle& one : idle) {
    const auto target = targets_.find(one.profile);
    if (target == targets_.end()) continue;
    const auto [at, fresh] = live.try_emplace(one.profile);
    if (fresh)
      at->second = monitor_.count(one.profile) - monitor_.pending_removal(one.profile) -
                   monitor_.decommissioning(one.profile);
    if (at->second - 1 < target->second) continue;  // which is the minimum or more
    --at->second;
    chosen.push_back(one.executor);
  }
  return chosen;
}

Allocation::Step Allocation::step(Time now) {
  const std::vector<ExecutorMonitor::Idle> idle = monitor_.timed_out(now);
  if (!idle.empty()) initializing_ = false;
  Step step;
  step.ask = update_targets(now);
  step.removable = removable(idle);
  return step;
}

void Allocation::leaving(const std::vector<ExecutorId>& executors) {
  if (executors.empty()) return;
  if (options_.decommission)
    monitor_.decommissioned(executors);
  else
    monitor_.killed(executors);
}

}  // namespace tinderbox::core
