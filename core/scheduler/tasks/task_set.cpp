// One stage attempt's tasks.
#include "core/scheduler/tasks/task_set.hpp"

#include <algorithm>
#include <set>

namespace tinderbox::core {

TaskSet::TaskSet(TaskSetSpec spec, Executors& executors, const DriverOptions& options,
                 int64_t program, Time now)
    : pace(options),
      spec_(std::move(spec)),
      program_(program),
      executors_(executors),
      options_(options),
      tasks_(spec_.ids.size()),
      pending_(static_cast<int32_t>(spec_.ids.size())),
      pending_tasks_(spec_.places, executors, size()),
      last_reset_(now) {
  if (spec_.map_tasks) winners_.resize(tasks_.size());
  if (options.speculation.enabled && !spec_.barrier)
    speculation_ =
        std::make_unique<Speculation>(options.speculation, spec_.places, executors, size(),
                                      executors.profiles().planned_slots(spec_.profile));
  drop_plain_ids();
  set_levels();
}

/// Most sets make all of what their stage makes. Assigning `{}` would keep the memory.
void TaskSet::drop_plain_ids() {
  using Ids = std::vector<int32_t>;
  if (spec_.partitions == spec_.ids) spec_.partitions = Ids();
  for (size_t i = 0; i < spec_.ids.size(); ++i)
    if (spec_.ids[i] != static_cast<int32_t>(i)) return;
  spec_.ids = Ids();
}

std::string TaskSet::id() const {
  return std::to_string(spec_.stage.value) + "." + std::to_string(spec_.attempt);
}

void TaskSet::count_local(std::vector<int32_t>& tasks) const {
  if (zombie_ || !spec_.places.any()) return;
  for (int32_t i = 0; i < size(); ++i) {
    if (!wanted(i)) continue;
    std::set<int32_t> hosts;  // several executors of one host count once
    for (const core::Place& place : spec_.places.of(i)) hosts.insert(place.host);
    for (const int32_t host : hosts) {
      tasks.resize(std::max(tasks.size(), static_cast<size_t>(host) + 1));
      ++tasks[static_cast<size_t>(host)];
    }
  }
}

int32_t TaskSet::index_of(int32_t output) const {
  if (spec_.ids.empty()) return output < size() ? output : -1;
  const auto it = std::lower_bound(spec_.ids.begin(), spec_.ids.end(), output);
  return it == spec_.ids.end() || *it != output ? -1 : static_cast<int32_t>(it - spec_.ids.begin());
}

// ---- pending tasks -----------------------------------------------------------------------------

bool TaskSet::excluded(int32_t executor, int32_t index) const {
  return exclusion_ && exclusion_->excludes_task(executor, index);
}

std::optional<TaskSet::Pick> TaskSet::dequeue(int32_t executor, Locality max) {
  const auto free = [&](int32_t i) { return wanted(i); };
  const auto pick = exclusion_
                        ? pending_tasks_.pop(executor, max, free,
                                             [&](int32_t i) { return !excluded(executor, i); })
                        : pending_tasks_.pop(executor, max, free, [](int32_t) { return true; });
  if (!pick) return std::nullopt;
  return Pick{pick->index, pick->locality};
}

/// Only of a task that runs once, and never on a host where it was tried.
std::optional<TaskSet::Pick> TaskSet::dequeue_copy(int32_t executor, Locality max) {
  const int32_t host = executors_.at(executor).host;
  const auto pick = speculation_->pop(executor, max, [&](int32_t i) {
    return task(i).copies == 1 && !speculation_->has_run_on(i, host) && !excluded(executor, i);
  });
  if (!pick) return std::nullopt;
  return Pick{pick->index, pick->locality, true};
}

void TaskSet::requeue(int32_t index) {
  if (zombie_ || !wanted(index)) return;
  Task& t = task(index);
  if (!t.queued) ++pending_;
  t.queued = true;
  pending_tasks_.push(index);
}

// ---- delay scheduling --------------------------------------------------------------------------

bool TaskSet::more_at(Locality level) {
  if (!pending_tasks_.located()) return level == Locality::NoPref && pending_ > 0;
  return pending_tasks_.any_at(level, [&](int32_t i) { return wanted(i); });
}

void TaskSet::set_levels() {
  Levels levels;
  const auto add = [&](Locality l) { levels.level[levels.count++] = l; };
  if (pending_tasks_.executor_alive()) add(Locality::Process);
  if (pending_tasks_.host_alive()) add(Locality::Node);
  if (pending_tasks_.located() ? pending_tasks_.without_preference() : pending_ > 0)
    add(Locality::NoPref);
  add(Locality::Any);
  levels_ = levels;
}

size_t TaskSet::level_index(Locality locality) const {
  size_t i = 0;
  while (locality > levels_.level[i]) ++i;
  return i;
}

void TaskSet::recompute_locality() {
  if (!pending_tasks_.located()) return;  // [NoPref, Any] wherever executors are
  const Levels before = levels_;
  const size_t index = level_;
  const Locality level = before.level[index];
  set_levels();
  level_ = level_index(level);
  if (level_ <= index) return;
  // A more local level became possible: go there rather than stay.
  for (const Locality l : levels_)
    if (std::find(before.begin(), before.end(), l) == before.end()) {
      level_ = level_index(l);
      return;
    }
}

Duration TaskSet::wait(Locality level) const {
  switch (level) {
    case Locality::Process:
      return options_.locality_wait_process;
    case Locality::Node:
      return options_.locality_wait_node;
    default:
      return Duration{0};
  }
}

Locality TaskSet::allowed(Time now) {
  while (level_ + 1 < levels_.count) {
    const Locality level = levels_.level[level_];
    if (!more_at(level)) {
      last_reset_ = now;  // don't wait for a level that nothing wants
    } else if (now - last_reset_ >= wait(level)) {
      last_reset_ += wait(level);
    } else {
      break;
    }
    ++level_;
  }
  return levels_.level[level_];
}

void TaskSet::reset_delay(Time now, Locality best) {
  last_reset_ = now;
  level_ = level_index(best);
}

std::optional<TaskSet::Pick> TaskSet::offer(int32_t executor, Locality max, Time now,
                                            bool& rejected) {
  rejected = false;
  if (!wants_offers()) return std::nullopt;
  if (exclusion_ && exclusion_->excludes(executor)) return std::nullopt;
  const Locality limit = max == Locality::NoPref ? max : std::min(allowed(now), max);
  std::optional<Pick> pick = dequeue(executor, limit);
  if (!pick && copies_wait()) pick = dequeue_copy(executor, limit);
  rejected = !pick && max == Locality::Any;
  if (pick && options_.locality_legacy_reset && max != Locality::NoPref)
    reset_delay(now, pick->locality);
  return pick;
}

// ---- one attempt's life ------------------------------------------------------------------------

void TaskSet::unqueue(Task& t) {
  if (t.queued) --pending_;
  t.queued = false;
}

int32_t TaskSet::start(int32_t index) {
  Task& t = task(index);
  unqueue(t);
  ++t.copies;
  ++running_;
  return t.attempts++;
}

void TaskSet::stop(int32_t index) {
  --task(index).copies;
  --running_;
}

void TaskSet::take_back(int32_t index, int32_t number, int32_t copy_on) {
  stop(index);
  if (task(index).attempts == number + 1) --task(index).attempts;
  if (copy_on >= 0 && !successful(index)) speculation_->taken_back(index, copy_on);
  requeue(index);
}

bool TaskSet::succeed(int32_t index, Winner winner) {
  Task& t = task(index);
  t.failures = 0;
  if (!winners_.empty()) winners_[static_cast<size_t>(index)] = winner;
  if (t.successful) return false;
  make_successful(index);
  return true;
}

void TaskSet::complete(int32_t index) {
  Task& t = task(index);
  if (t.successful) return;
  unqueue(t);
  make_successful(index);
}

/// The output of a map task may be lost, and the task run again; a result is there for good.
void TaskSet::make_successful(int32_t index) {
  task(index).successful = true;
  ++successes_;
  if (speculation_) speculation_->done(index);
  if (!spec_.map_tasks) spec_.places.done(index);
  if (all_successful()) zombie_ = true;
}

std::vector<std::pair<int32_t, TaskSet::Winner>> TaskSet::undo(
    int32_t executor, const std::function<bool(int32_t index, TaskId made_by)>& moved) {
  std::vector<std::pair<int32_t, Winner>> lost;
  if (zombie_) return lost;
  for (size_t i = 0; i < winners_.size(); ++i) {
    Winner& w = winners_[i];
    if (w.executor != executor || !tasks_[i].successful) continue;
    if (moved && moved(static_cast<int32_t>(i), w.task)) continue;
    lost.emplace_back(static_cast<int32_t>(i), std::exchange(w, Winner{}));
    tasks_[i].successful = false;
    --successes_;
    requeue(lost.back().first);
  }
  return lost;
}

// ---- exclusion ---------------------------------------------------------------------------------

void TaskSet::exclude_after_failure(int32_t executor, int32_t index, std::string reason,
                                    Turn& turn) {
  if (!exclusion_)
    exclusion_ = std::make_unique<TaskSetExclusion>(options_.exclusion, executors_, spec_.stage,
                                                    spec_.attempt);
  exclusion_->task_failed(executor, index, std::move(reason), turn);
}

/// Executors of other resource profiles are no hope: where Spark 4.3 counts them it waits for ever.
std::optional<int32_t> TaskSet::excluded_everywhere() {
  const std::vector<int32_t>& active = executors_.active();
  if (pending() == 0 || active.empty()) return std::nullopt;
  const auto closed = [&](int32_t e, int32_t i) {
    return executors_.at(e).excluded ||
           (exclusion_ && (exclusion_->excludes(e) || exclusion_->excludes_task(e, i)));
  };
  const std::optional<int32_t> index = pending_tasks_.front([&](int32_t i) { return wanted(i); });
  bool any = false;
  for (const int32_t e : active) {
    if (!index || !executors_.profiles().may_run(spec_.profile, executors_.at(e).profile)) continue;
    if (!closed(e, *index)) return std::nullopt;
    any = true;
  }
  return any ? index : std::nullopt;
}

// ---- programs ----------------------------------------------------------------------------------

bool TaskSet::sent_to(int32_t executor) const {
  const size_t word = static_cast<size_t>(executor) / 64;
  return word < sent_.size() && (sent_[word] >> (executor % 64) & 1);
}

void TaskSet::mark_sent(int32_t executor) {
  const size_t word = static_cast<size_t>(executor) / 64;
  if (word >= sent_.size()) sent_.resize(word + 1);
  sent_[word] |= uint64_t{1} << (executor % 64);
}

}  // namespace tinderbox::core
