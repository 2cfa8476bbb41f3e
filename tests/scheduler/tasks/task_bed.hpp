// A TaskScheduler with executors, offers made by hand, and a recorder in the DAG scheduler's place.
#pragma once

#include "tests/scheduler/scheduler_fixture.hpp"

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

struct TaskBed : StageProgress {
  DriverOptions options;
  ProgramCodec codec = test_codec();
  Executors executors{options};
  TaskScheduler tasks{options, codec, executors, *this};
  Time now{1000s};
  DriverEffects out;
  std::vector<ListenerEvent> events;
  std::vector<ExecutorRemoval> removals;
  uint64_t turns = 0;
  NodePtr root = rdd(1000);

  struct Ended {
    int32_t index;
    TaskEndReason reason;
  };
  std::vector<Ended> ended;
  std::vector<std::string> failed;  // reasons of task sets

  explicit TaskBed(DriverOptions o) : options(std::move(o)) {}

  void task_ended(TaskEnd& end, Turn&) override { ended.push_back({end.index, end.reason}); }
  void task_set_failed(const TaskSet&, const std::string& reason, Turn&) override {
    failed.push_back(reason);
  }
  struct Launch {
    std::string executor;
    int32_t stage, index;
    TaskId id;
  };
  /// What the turn launched.
  template <class F>
  std::vector<Launch> turn(F&& f) {
    out.clear();
    Turn t(now, ++turns, out);
    f(t);
    for (ExecutorRemoval& r : tasks.take_removals()) removals.push_back(std::move(r));
    std::vector<Launch> v;
    for (const DriverEffect& e : out) {
      if (const auto* p = std::get_if<Publish>(&e))
        events.insert(events.end(), p->events.begin(), p->events.end());
      if (const auto* s = std::get_if<Send<ToExecutor>>(&e))
        if (const auto* m = std::get_if<LaunchTasks>(&s->message))
          for (const TaskLaunch& l : m->tasks)
            v.push_back(
                {executors.at(executors.of_peer(s->to)).id.value, m->stage.value, l.index, l.id});
    }
    return v;
  }
  /// Without cores it gives nothing of itself: offers are made by hand.
  int32_t add(const std::string& id, const std::string& host) {
    int32_t slot = -1;
    turn([&](Turn& t) {
      const PeerId peer = 100 + turns;
      executors.hello(peer, {Identity{"", options.app, 0, ""}, ExecutorId{id}, "b1", "c1"}, t);
      RegisterExecutor m;
      m.id = ExecutorId{id};
      m.host = host;
      slot = executors.register_executor(peer, m, t);
      executors.activate(slot);
      tasks.executor_ready(slot);
    });
    return slot;
  }
  void lose(int32_t slot, bool caused_by_app = false) {
    turn([&](Turn& t) {
      executors.deactivate(slot, Executor::State::Removed);
      tasks.executor_lost(slot, {"lost", caused_by_app}, t);
    });
  }
  void submit(int32_t stage, int32_t n, Locations preferred = {}) {
    turn([&](Turn& t) {
      TaskSetSpec spec;
      spec.stage = StageId{stage};
      spec.priority = JobId{stage};
      spec.root = root;
      for (int32_t i = 0; i < n; ++i) spec.ids.push_back(i);
      spec.preferred = std::move(preferred);
      tasks.submit(std::move(spec), t);
    });
  }
  std::vector<Launch> offer(std::vector<TaskScheduler::Offer> offers) {
    return turn([&](Turn& t) { tasks.resource_offers(std::move(offers), true, false, t); });
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
  void fail(const Launch& l, TaskEndKind kind = TaskEndKind::ExceptionFailure) {
    TaskUpdate u;
    u.state = TaskState::Failed;
    u.reason = task_reason(kind);
    end(l, u);
  }
  static TaskEndReason task_reason(TaskEndKind kind) {
    TaskEndReason r;
    r.kind = kind;
    r.class_name = "boom";
    return r;
  }
  const TaskSet& set(int32_t stage) { return *tasks.task_set(StageId{stage}, 0); }
  template <class E>
  std::vector<E> seen() const {
    std::vector<E> v;
    for (const ListenerEvent& e : events)
      if (const E* x = std::get_if<E>(&e)) v.push_back(*x);
    return v;
  }
};

}  // namespace tinderbox::core::scheduling
