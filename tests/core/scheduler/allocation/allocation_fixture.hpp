// Dynamic allocation with virtual executors, and what it asked for.
#pragma once

#include <catch2/catch.hpp>

#include "core/scheduler/allocation/allocation.hpp"
#include "core/status/exit_reasons.hpp"

namespace tinderbox::core::scheduling {

using namespace std::chrono_literals;

using Ints = std::vector<int32_t>;
using Names = std::vector<std::string>;

/// Backlog 1 s, sustained 2 s, idle 3 s; one task an executor.
inline AllocationOptions with(int32_t min, int32_t max, int32_t initial) {
  AllocationOptions o;
  o.min_executors = min;
  o.max_executors = max;
  o.initial_executors = initial;
  o.backlog_timeout = 1s;
  o.sustained_timeout = 2s;
  o.idle_timeout = 3s;
  o.cached_idle_timeout = kNever;
  o.tasks_per_executor = 1;
  o.shuffle_tracking = true;
  return o;
}

inline Names names(const std::vector<ExecutorId>& ids) {
  Names v;
  for (const ExecutorId& id : ids) v.push_back(id.value);
  return v;
}

struct Manager {
  explicit Manager(AllocationOptions options) : a(std::move(options)) {}
  Manager(int32_t min, int32_t max, int32_t initial) : a(with(min, max, initial)) {}

  template <class E>
  bool post(E event) {
    return a.observe({ListenerEvent(std::move(event))}, now);
  }
  bool stage(int32_t id, int32_t tasks, int32_t attempt = 0, int32_t profile = 0) {
    StageSubmitted e;
    e.stage.stage = StageId{id};
    e.stage.attempt = attempt;
    e.stage.num_tasks = tasks;
    e.stage.profile = profile;
    return post(e);
  }
  void done(int32_t id, int32_t attempt = 0) {
    StageCompleted e;
    e.stage.stage = StageId{id};
    e.stage.attempt = attempt;
    post(e);
  }
  struct Task {
    int32_t stage = 0, index = 0;
    std::string executor = "1";
    bool copy = false;
    int32_t attempt = 0;
  };
  static TaskInfo info(const Task& t) {
    TaskInfo i;
    i.stage = StageId{t.stage};
    i.stage_attempt = t.attempt;
    i.index = t.index;
    i.speculative = t.copy;
    i.executor = ExecutorId{t.executor};
    return i;
  }
  void start(const Task& t) { post(TaskStarted{info(t)}); }
  void end(const Task& t, TaskEndKind how = TaskEndKind::Success) {
    TaskEnded e;
    e.task = info(t);
    if (how != TaskEndKind::Success) e.reason.emplace().kind = how;
    post(e);
  }
  void start(int32_t stage, int32_t from, int32_t to, bool copy = false) {
    for (int32_t i = from; i < to; ++i) start({stage, i, "1", copy});
  }
  void end(int32_t stage, int32_t from, int32_t to, bool copy = false,
           TaskEndKind how = TaskEndKind::Success) {
    for (int32_t i = from; i < to; ++i) end({stage, i, "1", copy}, how);
  }
  void want_copy(int32_t stage, int32_t index) {
    a.speculative_task_submitted({StageId{stage}, 0}, index, now);
  }
  void unschedulable(int32_t stage, bool yes) {
    a.set_unschedulable({StageId{stage}, 0}, yes, now);
  }
  void join(const std::string& id, int32_t profile = 0) {
    ExecutorJoined e;
    e.executor = ExecutorId{id};
    e.profile = profile;
    post(e);
  }
  void join(int32_t from, int32_t to) {
    for (int32_t i = from; i <= to; ++i) join(std::to_string(i));
  }
  void leave(const std::string& id, const std::string& reason = kKilledByDriver) {
    post(ExecutorRemoved{ExecutorId{id}, reason, now});
  }

  int32_t target(int32_t profile = 0) const { return a.totals().at(profile); }
  /// One step on the way up, when its time has come. How much more is wanted.
  int32_t add(int32_t profile = 0) {
    if (a.add_time()) now = std::max(now, *a.add_time());
    return sync(profile);
  }
  int32_t sync(int32_t profile = 0) {
    const int32_t before = target(profile);
    a.step(now);
    return target(profile) - before;
  }
  /// Time passes; then the executors that were asked to end, which all agree.
  Names after(Duration d) {
    now += d;
    const Allocation::Step step = a.step(now);
    a.leaving(step.removable);
    return names(step.removable);
  }
  int32_t pending() const { return a.monitor().pending_removal(); }

  Allocation a;
  Time now{std::chrono::duration_cast<Duration>(1000s)};
};

}  // namespace tinderbox::core::scheduling
