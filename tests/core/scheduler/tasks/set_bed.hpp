// One task set over executors; offers are written as in the scenarios: executor @ level → task.
#pragma once

#include "tests/core/scheduler/tasks/task_bed.hpp"

namespace tinderbox::core::scheduling {

inline constexpr Locality kProcess = Locality::Process, kNode = Locality::Node,
                          kNoPref = Locality::NoPref, kAny = Locality::Any;

struct SetBed : ExecutorBed {
  std::unique_ptr<TaskSet> set;
  bool rejected = false;

  explicit SetBed(DriverOptions o = test_options()) : ExecutorBed(std::move(o)) {}
  int32_t add(const std::string& id, const std::string& host) {
    const int32_t slot = ExecutorBed::add(id, host);
    if (set) set->recompute_locality();
    return slot;
  }
  /// "e1" on "h1", "e2" on "h2" and so on.
  void add_each(int32_t count) {
    for (int32_t i = 1; i <= count; ++i) add("e" + std::to_string(i), "h" + std::to_string(i));
  }
  void lose(const std::string& id) {
    executors.deactivate(executors.slot(ExecutorId{id}), Executor::State::Removed);
    if (set) set->recompute_locality();
  }
  void tasks(const Locations& preferred, bool map_tasks = false) {
    TaskSetSpec spec;
    spec.stage = StageId{0};
    spec.map_tasks = map_tasks;
    for (size_t i = 0; i < preferred.size(); ++i) spec.ids.push_back(static_cast<int32_t>(i));
    spec.num_partitions = static_cast<int32_t>(preferred.size());
    for (const auto& texts : preferred) spec.places.add(texts, executors);
    set = std::make_unique<TaskSet>(std::move(spec), executors, options, 0, now);
  }
  std::optional<TaskSet::Pick> pick(const std::string& id, Locality max) {
    const int32_t slot = executors.slot(ExecutorId{id});
    const auto p = set->offer(slot, max, now, rejected);
    if (!p) return p;
    if (Speculation* s = set->speculation())
      s->started(p->index, TaskId{p->index}, executors.at(slot).host, p->copy);
    set->start(p->index);
    return p;
  }
  /// Index that starts; −1: none. A copy is told by its index + 100.
  int32_t offer(const std::string& id, Locality max) {
    const auto p = pick(id, max);
    return p ? p->index + (p->copy ? 100 : 0) : -1;
  }
  void slow(int32_t index, const std::string& runs_on) {
    set->speculation()->submit(index, TaskId{index}, executors.host(runs_on));
  }
  std::vector<Locality> levels() const { return {set->levels().begin(), set->levels().end()}; }
  void succeed(int32_t index, int32_t slot = 0) {
    set->stop(index);
    set->succeed(index, {TaskId{index}, slot});
  }
  /// It is pending again.
  void stop(int32_t index) {
    set->stop(index);
    set->requeue(index);
  }
};

}  // namespace tinderbox::core::scheduling
