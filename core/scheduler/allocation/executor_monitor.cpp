// Which executors have been idle for too long.
#include "core/scheduler/allocation/executor_monitor.hpp"

#include <algorithm>

#include "core/status/exit_reasons.hpp"
#include "core/storage/block_id.hpp"

namespace tinderbox::core {

ExecutorMonitor::ExecutorMonitor(const AllocationOptions& options) : options_(options) {}

ExecutorMonitor::Tracker* ExecutorMonitor::find(const ExecutorId& executor) {
  const auto at = executors_.find(executor);
  return at == executors_.end() ? nullptr : &at->second;
}

ExecutorMonitor::Counts ExecutorMonitor::counts_of(int32_t profile) const {
  const auto at = counts_.find(profile);
  return at == counts_.end() ? Counts{} : at->second;
}

int32_t ExecutorMonitor::pending_removal() const {
  int32_t sum = 0;
  for (const auto& [profile, counts] : counts_) sum += counts.pending_removal;
  return sum;
}

int32_t ExecutorMonitor::decommissioning() const {
  int32_t sum = 0;
  for (const auto& [profile, counts] : counts_) sum += counts.decommissioning;
  return sum;
}

void ExecutorMonitor::reset() {
  executors_.clear();
  counts_.clear();
  timed_out_.clear();
  next_ = Time::max();
}

bool ExecutorMonitor::idle() const {
  return map_stages_.empty() && shuffle_of_.empty() &&
         std::ranges::none_of(executors_, [](const auto& e) {
           return e.second.running > 0 || e.second.active_shuffle;
         });
}

// ---- deadlines ---------------------------------------------------------------------------------

void ExecutorMonitor::update_deadline(Tracker& t) {
  const Time before = t.deadline;
  t.deadline = Time::max();
  if (t.running == 0) {
    Duration timeout = options_.idle_timeout;
    if (!t.cached.empty()) timeout = std::max(timeout, options_.cached_idle_timeout);
    if (!t.shuffles.empty()) timeout = std::max(timeout, options_.shuffle_timeout);
    if (timeout < Time::max() - t.idle_since) t.deadline = t.idle_since + timeout;
  }
  // One that was in the list and no longer belongs there: look at all again.
  if (t.deadline > before && t.timed_out)
    next_ = Time::min();
  else
    next_ = std::min(next_, t.deadline);
}

void ExecutorMonitor::running(Tracker& t, int32_t change, Time now) {
  t.running = std::max(0, t.running + change);
  if (t.running == 0) t.idle_since = now;
  update_deadline(t);
}

std::vector<ExecutorMonitor::Idle> ExecutorMonitor::timed_out(Time now) {
  if (now < next_) return timed_out_;
  next_ = Time::max();
  timed_out_.clear();
  for (auto& [id, t] : executors_) {
    if (t.pending_removal || t.active_shuffle || t.decommissioning) continue;
    t.timed_out = t.deadline <= now;
    if (t.timed_out)
      timed_out_.push_back({id, t.profile});
    else
      next_ = std::min(next_, t.deadline);
  }
  return timed_out_;
}

void ExecutorMonitor::killed(const std::vector<ExecutorId>& executors) {
  for (const ExecutorId& id : executors)
    if (Tracker* t = find(id); t && !std::exchange(t->pending_removal, true))
      ++counts_[t->profile].pending_removal;
  next_ = Time::min();
}

void ExecutorMonitor::decommissioned(const std::vector<ExecutorId>& executors) {
  for (const ExecutorId& id : executors)
    if (Tracker* t = find(id); t && !std::exchange(t->decommissioning, true))
      ++counts_[t->profile].decommissioning;
  next_ = Time::min();
}

// ---- executors and their tasks -----------------------------------------------------------------

void ExecutorMonitor::executor_added(const ExecutorId& executor, int32_t profile, Time now) {
  const auto [at, fresh] = executors_.try_emplace(executor);
  if (fresh) ++counts_[profile].all;
  if (fresh) at->second.profile = profile;
  running(at->second, 0, now);
}

void ExecutorMonitor::executor_removed(const ExecutorId& executor, const std::string& reason) {
  const auto at = executors_.find(executor);
  if (at == executors_.end()) return;
  const Tracker& t = at->second;
  Counts& counts = counts_[t.profile];
  --counts.all;
  counts.pending_removal -= t.pending_removal;
  counts.decommissioning -= t.decommissioning;
  if (t.decommissioning)
    ++(reason == kDecommissionFinished ? removals_.gracefully_decommissioned
                                       : removals_.decommission_unfinished);
  else if (t.pending_removal)
    ++removals_.killed_by_driver;
  else
    ++removals_.exited_unexpectedly;
  executors_.erase(at);
  next_ = Time::min();
}

void ExecutorMonitor::task_started(const ExecutorId& executor, Time now) {
  if (Tracker* t = find(executor)) running(*t, 1, now);
}

void ExecutorMonitor::task_ended(const ExecutorId& executor, StageId stage, bool success,
                                 Time now) {
  Tracker* t = find(executor);
  if (!t) return;
  // Before the deadline: it depends on what the executor holds now.
  if (success && tracks_shuffles())
    if (const auto shuffle = shuffle_of_.find(stage);
        shuffle != shuffle_of_.end() && t->shuffles.insert(shuffle->second).second)
      t->active_shuffle = true;
  running(*t, -1, now);
}

// ---- what they hold ----------------------------------------------------------------------------

void ExecutorMonitor::uncache(Tracker& t, RddId rdd, int32_t partition) {
  const auto at = t.cached.find(rdd);
  if (at == t.cached.end()) return;
  at->second.erase(partition);
  if (!at->second.empty()) return;
  t.cached.erase(at);
  if (t.cached.empty()) update_deadline(t);
}

void ExecutorMonitor::block_updated(const ExecutorId& executor, const BlockUpdate& block) {
  Tracker* t = find(executor);
  if (!t) return;
  const std::optional<BlockId> id = parse_block_id(block.block);
  if (id && id->kind == BlockId::Kind::ShuffleData) return took_output(*t, ShuffleId{id->owner});
  if (!id || id->kind != BlockId::Kind::Rdd) return;
  const bool held = (block.in_memory || block.on_disk) &&
                    !(options_.shuffle_service && options_.service_has_rdds && block.on_disk);
  if (!held) return uncache(*t, RddId{id->owner}, id->part);
  const bool first = t->cached.empty();
  t->cached[RddId{id->owner}].insert(id->part);
  if (first) update_deadline(*t);
}

/// From a decommissioned executor. Source: Spark ExecutorMonitor.onBlockUpdated.
void ExecutorMonitor::took_output(Tracker& t, ShuffleId shuffle) {
  if (!tracks_shuffles() || !t.shuffles.insert(shuffle).second) return;
  const auto jobs = jobs_of_.find(shuffle);
  t.active_shuffle |= jobs != jobs_of_.end() && !jobs->second.empty();
  update_deadline(t);
}

void ExecutorMonitor::rdd_unpersisted(RddId rdd) {
  for (auto& [id, t] : executors_)
    if (t.cached.erase(rdd) > 0 && t.cached.empty()) update_deadline(t);
}

void ExecutorMonitor::activate(Tracker& t, const std::set<ShuffleId>& active) {
  const bool before = t.active_shuffle;
  t.active_shuffle = std::any_of(t.shuffles.begin(), t.shuffles.end(),
                                 [&](ShuffleId s) { return active.contains(s); });
  if (t.active_shuffle != before) next_ = Time::min();
  if (before && t.running == 0) update_deadline(t);
}

void ExecutorMonitor::shuffle_cleaned(ShuffleId shuffle) {
  if (!tracks_shuffles()) return;
  jobs_of_.erase(shuffle);
  for (auto& [id, t] : executors_) {
    if (t.shuffles.erase(shuffle) == 0 || !t.shuffles.empty()) continue;
    t.active_shuffle = false;
    update_deadline(t);
  }
}

// ---- jobs --------------------------------------------------------------------------------------

void ExecutorMonitor::job_started(JobId job, const std::vector<StageInfo>& stages) {
  if (!tracks_shuffles()) return;
  std::set<ShuffleId> read;
  bool used_again = false;
  for (const StageInfo& stage : stages) {
    if (stage.shuffle.value < 0) continue;
    const auto [at, fresh] = jobs_of_.try_emplace(stage.shuffle);
    used_again |= !fresh;
    at->second.insert(job);
    read.insert(stage.shuffle);
    shuffle_of_[stage.stage] = stage.shuffle;
    map_stages_[job].push_back(stage.stage);
  }
  if (!used_again) return;
  for (auto& [id, t] : executors_)
    if (!t.active_shuffle) activate(t, read);
}

void ExecutorMonitor::job_ended(JobId job) {
  if (!tracks_shuffles()) return;
  std::set<ShuffleId> active;
  bool some_idle = false;
  for (auto& [shuffle, jobs] : jobs_of_) {
    jobs.erase(job);
    if (jobs.empty())
      some_idle = true;
    else
      active.insert(shuffle);
  }
  if (some_idle)
    for (auto& [id, t] : executors_)
      if (t.active_shuffle) activate(t, active);
  const auto ended = map_stages_.extract(job);
  if (ended.empty()) return;
  for (const StageId stage : ended.mapped()) {
    const bool shared = std::any_of(map_stages_.begin(), map_stages_.end(), [&](const auto& other) {
      return std::find(other.second.begin(), other.second.end(), stage) != other.second.end();
    });
    if (!shared) shuffle_of_.erase(stage);
  }
}

}  // namespace tinderbox::core
