// How executors and their queues are kept. The queue stands beside a deque that is told the same.
#include "core/scheduler/executors/ahead_queue.hpp"

#include "tests/core/scheduler/tasks/set_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

TEST_CASE("a queue of tasks ahead gives them back in the order of launch", "[launch_ahead]") {
  AheadQueue queue;
  std::deque<TaskId> want;
  int64_t next = 0;
  const auto push = [&](int n) {
    for (int i = 0; i < n; ++i) {
      queue.push_back(TaskId{next});
      want.push_back(TaskId{next++});
    }
  };
  const auto pop = [&](int n) {
    for (int i = 0; i < n; ++i) {
      CHECK(queue.front() == want.front());
      queue.pop_front();
      want.pop_front();
    }
    REQUIRE(queue.size() == want.size());
    CHECK(queue.empty() == want.empty());
    for (size_t i = 0; i < want.size(); ++i) CHECK(queue[i] == want[i]);
  };
  push(3);
  pop(2);
  push(300);
  pop(130);  // fewer than are left
  pop(60);   // more, so that the others move to the front
  push(40);
  pop(151);
  CHECK(queue.empty());
  push(1);
  pop(1);
  push(200);
  queue.clear();
  CHECK(queue.empty());
  want.clear();
  push(2);
  pop(1);
}

TEST_CASE("executors keep their places while others come", "[driver]") {
  ExecutorBed bed(test_options());
  Executors& executors = bed.executors;
  const int32_t first = executors.slot(ExecutorId{"first"});
  const Executor* const there = &executors.at(first);
  for (int32_t i = 0; i < 100; ++i) executors.slot(ExecutorId{std::to_string(i)});
  CHECK(executors.count() == 101);
  CHECK(&executors.at(first) == there);
  CHECK(executors.slot(ExecutorId{"first"}) == first);
  for (int32_t i = 0; i < 100; ++i) {
    const int32_t slot = executors.slot(ExecutorId{std::to_string(i)});
    CHECK(slot == i + 1);
    CHECK(executors.at(slot).slot == slot);
    CHECK(executors.at(slot).id.value == std::to_string(i));
  }
}
