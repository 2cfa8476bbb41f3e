// Second copies of slow tasks.
#include "core/scheduler/tasks/speculation.hpp"

#include <algorithm>
#include <cmath>

#include "core/scheduler/tasks/task_scheduler.hpp"

namespace tinderbox::core {

void RunningMedian::add(Duration value) {
  if (!upper_.empty() && value >= upper_.top()) {
    upper_.push(value);
  } else {
    lower_.push(value);
  }
  // Of n values the lower half holds n / 2, rounded down.
  while (lower_.size() > count() / 2) {
    upper_.push(lower_.top());
    lower_.pop();
  }
  while (lower_.size() < count() / 2) {
    lower_.push(upper_.top());
    upper_.pop();
  }
}

namespace {
/// Unit: records a second.
double rate(int64_t records, int64_t micros) {
  return static_cast<double>(records) * 1e6 / static_cast<double>(micros);
}

Duration times(double factor, Duration d) {
  return Duration(static_cast<int64_t>(factor * static_cast<double>(d.count())));
}

size_t quantile(double share, int32_t tasks) {
  return static_cast<size_t>(std::max(std::floor(share * tasks), 1.0));
}
}  // namespace

Speculation::Speculation(const SpeculationOptions& options, const Places& places,
                         Executors& executors, int32_t tasks, int32_t slots)
    : options_(options),
      tasks_(tasks),
      slots_(slots),
      needed_(quantile(options.quantile, tasks)),
      copies_(places, executors, 0) {}

void Speculation::succeeded(Duration runtime, const std::optional<TaskMetrics>& metrics) {
  runtimes_.add(runtime);
  if (!metrics) return;
  records_ += metrics->input_records + metrics->shuffle_read_records;
  run_time_ += metrics->run_time;
}

void Speculation::progressed(TaskId attempt, int64_t records, int64_t run_time) {
  if (records > 0 && run_time > 0) rates_[attempt] = rate(records, run_time);
}

bool Speculation::has_run_on(int32_t index, int32_t host) const {
  const auto hosts = hosts_.find(index);
  return hosts != hosts_.end() && hosts->second.contains(host);
}

std::optional<Speculation::Rule> Speculation::rule() const {
  const bool limited = options_.duration_threshold > Duration{0};  // false: unset, too
  // One task alone has nothing to be compared with.
  if (tasks_ == 1 && !limited) return std::nullopt;
  if (runtimes_.count() >= needed_)
    return Rule{std::max(times(options_.multiplier, runtimes_.value()), options_.min_runtime),
                options_.efficiency};
  if (limited && tasks_ <= slots_) return Rule{*options_.duration_threshold, false};
  return std::nullopt;
}

bool Speculation::slow(const Rule& rule, TaskId attempt, Duration runtime) const {
  if (runtime <= rule.threshold) return false;
  if (!rule.checks_rate || runtime > times(options_.long_run_factor, rule.threshold)) return true;
  // Without any count of records nothing speaks for the task.
  if (records_ == 0 || run_time_ == 0) return true;
  const auto own = rates_.find(attempt);
  return (own == rates_.end() ? 0.0 : own->second) <
         core::rate(records_, run_time_) * options_.process_rate_multiplier;
}

bool Speculation::outlives(Time leaving, Time launched) const {
  return options_.decommission_kill_interval && runtimes_.count() > 0 &&
         leaving + *options_.decommission_kill_interval < launched + runtimes_.value();
}

void Speculation::submit(int32_t index, TaskId slow, int32_t host) {
  ran_on(index, host);
  known_[index] = {slow};
  waiting_.insert(index);
  copies_.push(index);
}

void Speculation::started(int32_t index, TaskId attempt, int32_t host, bool copy) {
  if (copy) waiting_.erase(index);
  const auto known = known_.find(index);
  if (known == known_.end()) return;
  ran_on(index, host);
  known->second.push_back(attempt);
}

std::span<const TaskId> Speculation::attempts(int32_t index) const {
  const auto known = known_.find(index);
  if (known == known_.end()) return {};
  return known->second;
}

void Speculation::taken_back(int32_t index, int32_t host) {
  hosts_[index].erase(host);
  waiting_.insert(index);
  copies_.push(index);
}

// ---- the check, over all attempts that run -----------------------------------------------------

void TaskScheduler::start_speculation_timer(Turn& turn) {
  if (!options_.speculation.enabled || std::exchange(speculation_timer_set_, true)) return;
  turn.after(options_.speculation.interval, DriverTimer::Kind::Speculation);
}

void TaskScheduler::speculation_timer(Turn& turn) {
  speculation_timer_set_ = false;
  if (queue_.empty()) return;
  check_speculation(turn);
  start_speculation_timer(turn);
}

void TaskScheduler::check_speculation(Turn& turn) {
  std::map<const TaskSet*, Speculation::Rule> rules;
  for (const auto& set : queue_)
    if (set->speculation() && !set->zombie())
      if (const auto rule = set->speculation()->rule()) rules.emplace(set.get(), *rule);
  if (rules.empty()) return;
  attempts_.each([&](TaskId id, const Attempt& a) {
    if (const auto rule = rules.find(a.set); rule != rules.end())
      speculate(id, a, rule->second, turn);
  });
}

/// A task that was sent ahead and waits there does not run: another copy would win nothing.
void TaskScheduler::speculate(TaskId id, const Attempt& a, const Speculation::Rule& rule,
                              Turn& turn) {
  TaskSet& set = *a.set;
  Speculation& speculation = *set.speculation();
  if (!a.announced || a.ahead || set.successful(a.index) || set.copies_running(a.index) != 1 ||
      speculation.had_copy(a.index))
    return;
  const Executor& e = executors_.at(a.executor);
  const Decommission* decommission = executors_.decommission_of(a.executor);
  const bool leaving = decommission && speculation.outlives(decommission->since, a.launched);
  if (!leaving && !speculation.slow(rule, id, turn.now - a.launched)) return;
  speculation.submit(a.index, id, e.host);
  offer_all_ = true;
  SpeculativeTaskSubmitted& event = turn.post<SpeculativeTaskSubmitted>();
  event.stage = set.spec().stage;
  event.stage_attempt = set.spec().attempt;
  event.index = a.index;
  event.partition = set.partition(a.index);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(rule.threshold).count();
  turn.log(Level::Info, "Marking task " + std::to_string(a.index) + " in stage " + set.id() +
                            " (on " + e.address.host + ") as speculatable because " +
                            (leaving ? "its executor is being decommissioned"
                                     : "it ran more than " + std::to_string(ms) + " ms") +
                            " (" + std::to_string(speculation.submitted()) +
                            " speculatable tasks in this task set now)");
}

void TaskScheduler::progress(int32_t executor, const std::vector<TaskProgress>& tasks) {
  for (const TaskProgress& p : tasks) {
    const Attempt* a = attempts_.find(p.id);
    if (a && a->executor == executor && a->set->speculation())
      a->set->speculation()->progressed(p.id, p.records_read, p.run_time);
  }
}

/// `failed_on`: the host of an attempt that did not succeed, or −1.
void TaskScheduler::note_end(TaskId id, const Attempt& a, int32_t failed_on) {
  Speculation& speculation = *a.set->speculation();
  speculation.attempt_ended(id);
  if (failed_on >= 0) speculation.ran_on(a.index, failed_on);
}

}  // namespace tinderbox::core
