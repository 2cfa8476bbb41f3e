// Executors in turns of a machine, alone and with a TaskScheduler: offers made by hand, and a
// recorder in the DAG scheduler's place.
#pragma once

#include "tests/core/scheduler/scheduler_fixture.hpp"

namespace tinderbox::core::scheduling {

/// Spark's defaults, with exclusion on.
inline ExclusionOptions limits() {
  ExclusionOptions o;
  o.application = o.task_and_stage = true;
  o.task_attempts_per_executor = 1;
  o.task_attempts_per_host = 2;
  o.stage_tasks_per_executor = o.stage_executors_per_host = 2;
  o.application_tasks_per_executor = o.application_executors_per_host = 2;
  o.timeout = 1h;
  o.unschedulable_timeout = 120s;
  return o;
}

inline DriverOptions excluding(int32_t launch_ahead = 0) {
  DriverOptions o = test_options(launch_ahead);
  o.exclusion = limits();
  o.cluster_manager = true;
  return o;
}

/// Executors that do nothing of themselves, and what the turns of a machine gave.
struct ExecutorBed {
  DriverOptions options;
  Executors executors{options};
  Time start{1000s}, now = start;
  DriverEffects out;  // of the last turn
  std::vector<ListenerEvent> events;
  uint64_t turns = 0;

  explicit ExecutorBed(DriverOptions o) : options(std::move(o)) {}
  template <class F>
  void turn(F&& f) {
    out.clear();
    Turn t(now, ++turns, out);
    f(t);
    for (const Publish& p : of_kind<Publish>(out))
      events.insert(events.end(), p.events.begin(), p.events.end());
  }
  int32_t add(const std::string& id, const std::string& host, int32_t cores = 4) {
    int32_t slot = -1;
    turn([&](Turn& t) {
      const PeerId peer = 100 + turns;
      executors.hello(peer, {Identity{"", options.app, 0, ""}, ExecutorId{id}, "b1", "c1"}, t);
      RegisterExecutor m;
      m.id = ExecutorId{id};
      m.host = host;
      m.cores = cores;
      slot = executors.register_executor(peer, m, t);
      executors.activate(slot);
    });
    return slot;
  }
  template <class E>
  std::vector<E> seen() const {
    return of_kind<E>(events);
  }
  /// Lines of the last turn; of one level only.
  std::vector<std::string> logged(std::optional<Level> level = {}) const {
    std::vector<std::string> lines;
    for (const Log& l : of_kind<Log>(out))
      if (!level || l.level == *level) lines.push_back(l.line);
    return lines;
  }
};

struct TaskBed : ExecutorBed, StageProgress {
  ProgramCodec codec = test_codec();
  TaskScheduler tasks{options, codec, executors, *this};
  std::vector<ExecutorRemoval> removals;
  NodePtr root = rdd(1000);

  struct Ended {
    int32_t index;
    TaskEndReason reason;
    bool zombie;  // its set
  };
  std::vector<Ended> ended;
  std::vector<std::string> failed;  // reasons of task sets

  explicit TaskBed(DriverOptions o = test_options()) : ExecutorBed(std::move(o)) {}

  void task_ended(TaskEnd& end, Turn&) override {
    ended.push_back({end.index, end.reason, end.set.zombie()});
  }
  void task_set_failed(const TaskSet&, const std::string& reason, Turn&) override {
    failed.push_back(reason);
  }
  struct Launch {
    std::string executor;
    int32_t stage, attempt, index;
    TaskId id;
  };
  /// What the turn launched.
  template <class F>
  std::vector<Launch> turn(F&& f) {
    ExecutorBed::turn(f);
    for (ExecutorRemoval& r : tasks.take_removals()) removals.push_back(std::move(r));
    std::vector<Launch> v;
    for (const Send<ToExecutor>& s : of_kind<Send<ToExecutor>>(out))
      if (const auto* m = std::get_if<LaunchTasks>(&s.message))
        for (const TaskLaunch& l : m->tasks)
          v.push_back({executors.at(executors.of_peer(s.to)).id.value, m->stage.value,
                       m->stage_attempt, l.index, l.id});
    return v;
  }
  /// Without cores it gives nothing of itself: offers are made by hand.
  int32_t add(const std::string& id, const std::string& host) {
    const int32_t slot = ExecutorBed::add(id, host, 0);
    tasks.executor_ready(slot);
    return slot;
  }
  void lose(int32_t slot, bool caused_by_app = false) {
    turn([&](Turn& t) {
      executors.deactivate(slot, Executor::State::Removed);
      tasks.executor_lost(slot, {"lost", caused_by_app}, t);
    });
  }
  TaskSetSpec spec(int32_t stage, int32_t n, const Locations& preferred = {}, int32_t attempt = 0) {
    TaskSetSpec s;
    s.stage = StageId{stage};
    s.attempt = attempt;
    s.priority = JobId{stage};
    s.root = root;
    for (int32_t i = 0; i < n; ++i) s.ids.push_back(i);
    for (const auto& texts : preferred) s.places.add(texts, executors);
    return s;
  }
  void submit(TaskSetSpec spec) {
    turn([&](Turn& t) { tasks.submit(std::move(spec), t); });
  }
  void submit(int32_t stage, int32_t n, Locations preferred = {}, int32_t attempt = 0) {
    submit(spec(stage, n, preferred, attempt));
  }
  void submit_barrier(int32_t stage, int32_t n, Locations preferred = {}) {
    TaskSetSpec s = spec(stage, n, preferred);
    s.barrier = true;
    submit(std::move(s));
  }
  static constexpr bool kPartial = false, kFull = true;
  std::vector<Launch> offer(std::vector<TaskScheduler::Offer> offers, bool all = kFull) {
    return turn([&](Turn& t) { tasks.resource_offers(std::move(offers), all, false, t); });
  }
  void end(const Launch& l, TaskUpdate u) {
    u.id = l.id;
    turn([&](Turn& t) { tasks.status(executors.slot(ExecutorId{l.executor}), {{u}}, t); });
  }
  void succeed(const Launch& l) {
    TaskUpdate u;
    u.state = TaskState::Finished;
    end(l, u);
  }
  void fail(const Launch& l, TaskEndKind kind = TaskEndKind::ExceptionFailure,
            TaskState state = TaskState::Failed) {
    TaskUpdate u;
    u.state = state;
    u.reason = task_reason(kind);
    end(l, u);
  }
  /// As each turn of the machine ends.
  void settle() {
    turn([&](Turn& t) { tasks.settle(t); });
  }
  static TaskEndReason task_reason(TaskEndKind kind) {
    TaskEndReason r;
    r.kind = kind;
    r.class_name = "boom";
    return r;
  }
  const TaskSet& set(int32_t stage, int32_t attempt = 0) {
    return *tasks.task_set(StageId{stage}, attempt);
  }
};

}  // namespace tinderbox::core::scheduling
