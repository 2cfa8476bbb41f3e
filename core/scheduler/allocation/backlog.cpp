// How many tasks wait and run, by stage attempt.
#include "core/scheduler/allocation/backlog.hpp"

#include <utility>

namespace tinderbox::core {

void Backlog::stage_submitted(StageAttempt attempt, int32_t tasks, int32_t profile) {
  Entry& e = entries_[attempt];
  if (std::exchange(e.submitted, true)) return;
  ++submitted_;
  e.profile = profile;
  e.pending = tasks;
  e.started.assign(static_cast<size_t>(tasks), false);
  e.done = e.started;
  pending_ += tasks;
}

void Backlog::stage_completed(StageAttempt attempt) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end() || !at->second.submitted) return;
  Entry& e = at->second;
  e.submitted = false;
  --submitted_;
  pending_ -= std::exchange(e.pending, 0);
  e.started.clear();
  e.done.clear();
  speculative_ -= static_cast<int64_t>(e.speculative.size());
  e.speculative.clear();
  erase_if_done(at);
}

void Backlog::erase_if_done(Entries::iterator at) {
  if (!at->second.submitted && at->second.running == 0) entries_.erase(at);
}

void Backlog::set_started(Entry& e, int32_t index, bool started) {
  const size_t i = static_cast<size_t>(index);
  if (i >= e.started.size() || e.started[i] == started) return;
  e.started[i] = started;
  e.pending += started ? -1 : 1;
  pending_ += started ? -1 : 1;
}

void Backlog::drop_copy(Entry& e, int32_t index) {
  if (!e.speculative.empty() && e.speculative.erase(index) > 0) --speculative_;
}

void Backlog::task_started(StageAttempt attempt, int32_t index, bool speculative) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end()) return;
  ++at->second.running;
  if (speculative)
    drop_copy(at->second, index);
  else
    set_started(at->second, index, true);
}

void Backlog::task_ended(StageAttempt attempt, int32_t index, bool speculative, TaskEndKind how) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end()) return;
  Entry& e = at->second;
  // A task whose output is lost ended long ago.
  if (how != TaskEndKind::Resubmitted && e.running > 0) --e.running;
  const bool again = how != TaskEndKind::TaskKilled || lacks(attempt, index);
  const size_t i = static_cast<size_t>(index);
  if (i < e.done.size() && (how == TaskEndKind::Success || how == TaskEndKind::Resubmitted))
    e.done[i] = how == TaskEndKind::Success;
  if (how == TaskEndKind::Success) {
    drop_copy(e, index);
    set_started(e, index, true);
  } else if (again && !speculative) {
    set_started(e, index, false);
  }
  erase_if_done(at);
}

bool Backlog::lacks(StageAttempt attempt, int32_t index) const {
  const auto at = entries_.find(attempt);
  const size_t i = static_cast<size_t>(index);
  return at != entries_.end() && i < at->second.done.size() && !at->second.done[i];
}

void Backlog::speculative_submitted(StageAttempt attempt, int32_t index) {
  const auto at = entries_.find(attempt);
  if (at == entries_.end() || !at->second.submitted) return;
  if (at->second.speculative.insert(index).second) ++speculative_;
}

void Backlog::set_unschedulable(StageAttempt attempt, bool unschedulable) {
  const auto at = entries_.find(attempt);
  if (at != entries_.end()) at->second.unschedulable = unschedulable;
}

Backlog::Load Backlog::load(int32_t profile) const {
  Load sum;
  for (const auto& [attempt, e] : entries_) {
    if (e.profile != profile) continue;
    sum.pending += e.pending;
    sum.speculative += static_cast<int32_t>(e.speculative.size());
    sum.running += e.running;
    sum.unschedulable += e.unschedulable;
  }
  return sum;
}

}  // namespace tinderbox::core
