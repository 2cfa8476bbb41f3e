// One stage attempt's tasks.
#include "core/scheduler/tasks/task_set.hpp"

#include <algorithm>

namespace tinderbox::core {

TaskLocation parse_task_location(std::string_view text) {
  constexpr std::string_view kExecutor = "executor_", kHdfs = "hdfs_cache_";
  if (text.starts_with(kExecutor)) {
    const std::string_view rest = text.substr(kExecutor.size());
    if (const size_t cut = rest.find('_'); cut != rest.npos)
      return {std::string(rest.substr(0, cut)), {std::string(rest.substr(cut + 1))}, false};
  }
  if (text.starts_with(kHdfs)) return {std::string(text.substr(kHdfs.size())), {}, true};
  return {std::string(text), {}, false};
}

TaskSet::TaskSet(TaskSetSpec spec, Executors& executors, const DriverOptions& options,
                 int64_t program, Time now)
    : spec_(std::move(spec)),
      program_(program),
      executors_(executors),
      options_(options),
      tasks_(spec_.ids.size()),
      pending_(static_cast<int32_t>(spec_.ids.size())),
      last_reset_(now) {
  if (spec_.map_tasks) winners_.resize(tasks_.size());
  located_ = std::any_of(spec_.preferred.begin(), spec_.preferred.end(),
                         [](const std::vector<std::string>& p) { return !p.empty(); });
  if (located_)
    for (int32_t i = size(); i-- > 0;) push(i);
  set_levels();
}

std::string TaskSet::id() const {
  return std::to_string(spec_.stage.value) + "." + std::to_string(spec_.attempt);
}

int32_t TaskSet::index_of(int32_t output) const {
  const auto it = std::lower_bound(spec_.ids.begin(), spec_.ids.end(), output);
  return it == spec_.ids.end() || *it != output ? -1 : static_cast<int32_t>(it - spec_.ids.begin());
}

// ---- pending lists -----------------------------------------------------------------------------

void TaskSet::push(int32_t index) {
  const std::vector<std::string>& preferred = spec_.preferred[static_cast<size_t>(index)];
  if (preferred.empty()) no_prefs_.push_back(index);
  for (const std::string& text : preferred) {
    const TaskLocation at = parse_task_location(text);
    const int32_t host = executors_.host(at.host);
    if (!at.executor.value.empty()) for_executor_[executors_.slot(at.executor)].push_back(index);
    if (at.hdfs_cached)
      for (const int32_t e : executors_.active())
        if (executors_.at(e).host == host) for_executor_[e].push_back(index);
    for_host_[host].push_back(index);
  }
}

std::optional<int32_t> TaskSet::pop(Stack& stack) {
  while (!stack.empty()) {
    const int32_t index = stack.back();
    stack.pop_back();
    if (wanted(index)) return index;
  }
  return std::nullopt;
}

std::optional<int32_t> TaskSet::pop(Range& range) {
  if (const std::optional<int32_t> again = pop(range.again)) return again;
  while (range.next < size()) {
    const int32_t index = range.next++;
    if (wanted(index)) return index;
  }
  return std::nullopt;
}

std::optional<int32_t> TaskSet::pop(std::map<int32_t, Stack>& lists, int32_t key) {
  const auto it = lists.find(key);
  return it == lists.end() ? std::nullopt : pop(it->second);
}

std::optional<TaskSet::Pick> TaskSet::dequeue(int32_t executor, Locality max) {
  if (located_) {
    if (const auto i = pop(for_executor_, executor)) return Pick{*i, Locality::Process};
    if (max >= Locality::Node)
      if (const auto i = pop(for_host_, executors_.at(executor).host))
        return Pick{*i, Locality::Node};
    if (max >= Locality::NoPref)
      if (const auto i = pop(no_prefs_)) return Pick{*i, Locality::Process};
    if (max >= Locality::Any)
      if (const auto i = pop(all_)) return Pick{*i, Locality::Any};
  } else if (max >= Locality::NoPref) {
    if (const auto i = pop(all_)) return Pick{*i, Locality::Process};
  }
  return std::nullopt;
}

void TaskSet::requeue(int32_t index) {
  if (zombie_ || !wanted(index)) return;
  Task& t = task(index);
  if (!t.queued) ++pending_;
  t.queued = true;
  if (located_) push(index);
  all_.again.push_back(index);
}

// ---- delay scheduling --------------------------------------------------------------------------

bool TaskSet::more_in(Stack& stack) {
  while (!stack.empty() && !wanted(stack.back())) stack.pop_back();
  return !stack.empty();
}

bool TaskSet::more_in(std::map<int32_t, Stack>& lists) {
  for (auto it = lists.begin(); it != lists.end();) {
    if (more_in(it->second)) return true;
    it = lists.erase(it);
  }
  return false;
}

bool TaskSet::more_at(Locality level) {
  switch (level) {
    case Locality::Process:
      return more_in(for_executor_);
    case Locality::Node:
      return more_in(for_host_);
    case Locality::NoPref:
      return located_ ? more_in(no_prefs_) : pending_ > 0;
    default:
      return false;
  }
}

void TaskSet::set_levels() {
  Levels levels;
  const auto add = [&](Locality l) { levels.level[levels.count++] = l; };
  const auto any = [](const std::map<int32_t, Stack>& lists, auto alive) {
    return std::any_of(lists.begin(), lists.end(), [&](const auto& kv) { return alive(kv.first); });
  };
  if (any(for_executor_, [&](int32_t e) { return executors_.alive(e); })) add(Locality::Process);
  if (any(for_host_, [&](int32_t h) { return executors_.host_alive(h); })) add(Locality::Node);
  if (located_ ? !no_prefs_.empty() : pending_ > 0) add(Locality::NoPref);
  add(Locality::Any);
  levels_ = levels;
}

size_t TaskSet::level_index(Locality locality) const {
  size_t i = 0;
  while (locality > levels_.level[i]) ++i;
  return i;
}

void TaskSet::recompute_locality() {
  if (!located_) return;  // [NoPref, Any] wherever executors are
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
    case Locality::Rack:
      return options_.locality_wait_rack;
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
  if (zombie_ || pending_ == 0) return std::nullopt;
  const Locality limit = max == Locality::NoPref ? max : std::min(allowed(now), max);
  std::optional<Pick> pick = dequeue(executor, limit);
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

void TaskSet::take_back(int32_t index, int32_t number) {
  stop(index);
  if (task(index).attempts == number + 1) --task(index).attempts;
  requeue(index);
}

bool TaskSet::succeed(int32_t index, Winner winner) {
  Task& t = task(index);
  t.failures = 0;
  if (t.successful) return false;
  t.successful = true;
  ++successes_;
  if (!winners_.empty()) winners_[static_cast<size_t>(index)] = winner;
  if (all_successful()) zombie_ = true;
  return true;
}

void TaskSet::complete(int32_t index) {
  Task& t = task(index);
  if (t.successful) return;
  unqueue(t);
  t.successful = true;
  ++successes_;
  if (all_successful()) zombie_ = true;
}

std::vector<std::pair<int32_t, TaskSet::Winner>> TaskSet::undo(int32_t executor) {
  std::vector<std::pair<int32_t, Winner>> lost;
  if (zombie_) return lost;
  for (size_t i = 0; i < winners_.size(); ++i) {
    Winner& w = winners_[i];
    if (w.executor != executor || !tasks_[i].successful) continue;
    lost.emplace_back(static_cast<int32_t>(i), std::exchange(w, Winner{}));
    tasks_[i].successful = false;
    --successes_;
    requeue(lost.back().first);
  }
  return lost;
}

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
