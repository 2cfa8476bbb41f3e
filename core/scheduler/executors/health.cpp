// Executors and hosts that get no tasks after failures.
#include "core/scheduler/executors/health.hpp"

#include <algorithm>

namespace tinderbox::core {

// ---- one stage attempt -------------------------------------------------------------------------

TaskSetExclusion::TaskSetExclusion(const ExclusionOptions& options, const Executors& executors,
                                   StageId stage, int32_t attempt)
    : options_(options), executors_(executors), stage_(stage), attempt_(attempt) {}

bool TaskSetExclusion::excludes(int32_t executor) const {
  return excluded_executors_.contains(executor) ||
         excluded_hosts_.contains(executors_.at(executor).host);
}

bool TaskSetExclusion::excludes_task(int32_t executor, int32_t index) const {
  if (!options_.task_and_stage) return false;
  if (const auto of = failures_.find(executor); of != failures_.end())
    if (const auto task = of->second.tasks.find(index);
        task != of->second.tasks.end() && task->second.count >= options_.task_attempts_per_executor)
      return true;
  const auto tasks = tasks_by_host_.find(executors_.at(executor).host);
  return tasks != tasks_by_host_.end() && tasks->second.contains(index);
}

void TaskSetExclusion::task_failed(int32_t executor, int32_t index, std::string reason,
                                   Turn& turn) {
  latest_reason_ = std::move(reason);
  ExecutorFailures& here = failures_[executor];
  here.host = executors_.at(executor).host;
  ExecutorFailures::Failure& failure = here.tasks[index];
  ++failure.count;
  failure.last = turn.now;
  if (!options_.task_and_stage) return;
  exclude_task_on_host(here.host, index);
  const int32_t failed_tasks = static_cast<int32_t>(here.tasks.size());
  if (failed_tasks >= options_.stage_tasks_per_executor)
    exclude_executor(executor, failed_tasks, turn);
}

/// Attempts count, not executors: a job is aborted by attempts, and another host should come first.
void TaskSetExclusion::exclude_task_on_host(int32_t host, int32_t index) {
  int32_t attempts = 0;
  for (const auto& [executor, of] : failures_)
    if (const auto task = of.tasks.find(index); of.host == host && task != of.tasks.end())
      attempts += task->second.count;
  if (attempts >= options_.task_attempts_per_host) tasks_by_host_[host].insert(index);
}

void TaskSetExclusion::exclude_executor(int32_t executor, int32_t failed_tasks, Turn& turn) {
  if (!excluded_executors_.insert(executor).second) return;
  const Executor& e = executors_.at(executor);
  const std::string stage = std::to_string(stage_.value);
  turn.log(Level::Info, "Excluding executor " + e.id.value + " for stage " + stage);
  turn.post<ExecutorExcludedForStage>() = {turn.now, e.id, failed_tasks, stage_, attempt_};
  const auto here =
      std::count_if(excluded_executors_.begin(), excluded_executors_.end(),
                    [&](int32_t other) { return executors_.at(other).host == e.host; });
  if (here < options_.stage_executors_per_host || !excluded_hosts_.insert(e.host).second) return;
  const std::string& host = executors_.host_name(e.host);
  turn.log(Level::Info, "Excluding " + host + " for stage " + stage);
  turn.post<NodeExcludedForStage>() = {turn.now, host, static_cast<int32_t>(here), stage_,
                                       attempt_};
}

// ---- the application ---------------------------------------------------------------------------

HealthTracker::HealthTracker(const ExclusionOptions& options, Executors& executors)
    : options_(options), known_(executors) {}

void HealthTracker::task_set_succeeded(const SetFailures& failures, Turn& turn) {
  for (const auto& [executor, of] : failures) {
    const int32_t failed_tasks = failures_of(executor, of, turn.now);
    if (failed_tasks < options_.application_tasks_per_executor || executor_excluded(executor))
      continue;
    failures_.erase(executor);
    exclude_executor(executor, of.host, failed_tasks, turn);
    const int32_t here = static_cast<int32_t>(excluded_on_[of.host].size());
    if (here >= options_.application_executors_per_host && !host_excluded(of.host))
      exclude_host(of.host, here, turn);
  }
}

/// Each failure has its own time, however long its task set took.
int32_t HealthTracker::failures_of(int32_t executor, const ExecutorFailures& fresh, Time now) {
  std::vector<Time>& until = failures_[executor];
  for (const auto& [index, failure] : fresh.tasks) until.push_back(failure.last + options_.timeout);
  std::erase_if(until, [&](Time t) { return t < now; });
  return static_cast<int32_t>(until.size());
}

/// The host of an external shuffle service would fail for all its executors; there is none yet, so
/// it is the executor's own. One failure is enough: its stage is not tried there again.
void HealthTracker::fetch_failed(int32_t executor, int32_t host, Turn& turn) {
  if (!options_.fetch_failure) return;
  if (options_.shuffle_service) {
    if (!host_excluded(host)) exclude_host(host, 1, turn);
  } else if (!executor_excluded(executor)) {
    exclude_executor(executor, host, 1, turn);
  }
}

void HealthTracker::exclude_executor(int32_t executor, int32_t host, int32_t failed_tasks,
                                     Turn& turn) {
  const ExecutorId& id = known_.at(executor).id;
  executors_excluded_[executor] = {host, turn.now + options_.timeout};
  excluded_on_[host].insert(executor);
  changed_ = true;
  update_next_expiry();
  turn.log(Level::Info, "Excluding executor " + id.value + " because it has " +
                            std::to_string(failed_tasks) + " task failures");
  turn.post<ExecutorExcluded>() = {turn.now, id, failed_tasks};
  if (options_.kill)
    remove(executor, "Killing excluded executor id " + id.value +
                         " since spark.excludeOnFailure.killExcludedExecutors is set.");
}

void HealthTracker::exclude_host(int32_t host, int32_t excluded_executors, Turn& turn) {
  const std::string& name = known_.host_name(host);
  hosts_excluded_[host] = turn.now + options_.timeout;
  changed_ = true;
  update_next_expiry();
  turn.log(Level::Info, "Excluding node " + name + " because it has " +
                            std::to_string(excluded_executors) + " executors excluded");
  turn.post<NodeExcluded>() = {turn.now, name, excluded_executors};
  if (!options_.kill) return;
  for (const int32_t e : known_.active())
    if (known_.at(e).host == host)
      remove(e, "Killing all executors on excluded host " + name +
                    " since spark.excludeOnFailure.killExcludedExecutors is set.");
}

void HealthTracker::remove(int32_t executor, std::string reason) {
  if (options_.decommission) reason += " (actually decommissioning)";
  removals_.push_back({executor, options_.decommission, std::move(reason)});
}

void HealthTracker::expire(Turn& turn) {
  if (!next_expiry_ || turn.now <= *next_expiry_) return;
  changed_ = true;
  readmit_executors(turn);
  readmit_hosts(turn);
  update_next_expiry();
}

void HealthTracker::readmit_executors(Turn& turn) {
  for (auto it = executors_excluded_.begin(); it != executors_excluded_.end();) {
    const auto [executor, excluded] = *it;
    if (excluded.until >= turn.now) {
      ++it;
      continue;
    }
    it = executors_excluded_.erase(it);
    std::set<int32_t>& here = excluded_on_[excluded.host];
    here.erase(executor);
    if (here.empty()) excluded_on_.erase(excluded.host);
    const ExecutorId& id = known_.at(executor).id;
    turn.log(Level::Info, "Executor " + id.value + " is no longer excluded: its time is over");
    turn.post<ExecutorUnexcluded>() = {turn.now, id};
  }
}

void HealthTracker::readmit_hosts(Turn& turn) {
  for (auto it = hosts_excluded_.begin(); it != hosts_excluded_.end();) {
    if (it->second >= turn.now) {
      ++it;
      continue;
    }
    const std::string& name = known_.host_name(it->first);
    turn.log(Level::Info, "Node " + name + " is no longer excluded: its time is over");
    turn.post<NodeUnexcluded>() = {turn.now, name};
    it = hosts_excluded_.erase(it);
  }
}

void HealthTracker::update_next_expiry() {
  next_expiry_.reset();
  const auto at = [&](Time t) { next_expiry_ = next_expiry_ ? std::min(*next_expiry_, t) : t; };
  for (const auto& [executor, excluded] : executors_excluded_) at(excluded.until);
  for (const auto& [host, until] : hosts_excluded_) at(until);
}

}  // namespace tinderbox::core
