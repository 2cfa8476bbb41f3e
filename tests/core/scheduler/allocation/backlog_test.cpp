// How many tasks wait and run: what is said twice, too late or of nobody.
#include "core/scheduler/allocation/backlog.hpp"

#include <catch2/catch.hpp>

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

const StageAttempt kFirst{StageId{1}, 0}, kOther{StageId{2}, 0};

/// Shape: pending, copies, running, unschedulable.
std::vector<int32_t> load(const Backlog& b) {
  const Backlog::Load l = b.load(0);
  return {l.pending, l.speculative, l.running, l.unschedulable};
}

/// Two tasks of one stage.
struct TwoTasks : Backlog {
  TwoTasks() { stage_submitted(kFirst, 2, 0); }
};

using Load = std::vector<int32_t>;

}  // namespace

TEST_CASE("a backlog ignores stages that nobody submitted", "[allocation]") {
  TwoTasks b;
  b.stage_completed(kOther);
  b.task_started(kOther, 0, false);
  b.task_ended(kOther, 0, false, TaskEndKind::Success);
  b.speculative_submitted(kOther, 0);
  b.set_unschedulable(kOther, true);
  CHECK(load(b) == Load{2, 0, 0, 0});
  CHECK_FALSE(b.empty());
}

TEST_CASE("what is said twice counts once in a backlog", "[allocation]") {
  TwoTasks b;
  b.stage_submitted(kFirst, 5, 0);
  CHECK(load(b) == Load{2, 0, 0, 0});
  b.task_started(kFirst, 0, false);
  b.task_started(kFirst, 0, false);  // again, after its failure was not heard of
  CHECK(load(b) == Load{1, 0, 2, 0});
  b.speculative_submitted(kFirst, 0);
  b.speculative_submitted(kFirst, 0);
  CHECK(load(b) == Load{1, 1, 2, 0});
  b.task_started(kFirst, 1, true);  // the copy of another one: nothing waits for it
  CHECK(load(b) == Load{1, 1, 3, 0});
  b.set_unschedulable(kFirst, true);
  b.set_unschedulable(kFirst, true);
  CHECK(load(b) == Load{1, 1, 3, 1});
  b.stage_completed(kFirst);
  b.stage_completed(kFirst);
  CHECK(load(b) == Load{0, 0, 3, 1});
  CHECK_FALSE(b.anything_pending());
}

TEST_CASE("a stage that is over counts what still runs of it and nothing else", "[allocation]") {
  TwoTasks b;
  b.task_started(kFirst, 0, false);
  b.stage_completed(kFirst);
  CHECK(b.empty());
  b.speculative_submitted(kFirst, 0);
  b.task_started(kFirst, 1, false);
  CHECK(load(b) == Load{0, 0, 2, 0});
  b.task_ended(kFirst, 0, false, TaskEndKind::ExceptionFailure);
  b.task_ended(kFirst, 1, false, TaskEndKind::Success);
  CHECK(load(b) == Load{0, 0, 0, 0});
}

TEST_CASE("a task that ended without a result, and is no copy, is pending again", "[allocation]") {
  struct Case {
    TaskEndKind how;
    bool copy;
    int32_t pending;
  };
  const auto c = GENERATE(
      Case{TaskEndKind::ExceptionFailure, false, 2}, Case{TaskEndKind::ExceptionFailure, true, 1},
      Case{TaskEndKind::TaskKilled, false, 2}, Case{TaskEndKind::TaskKilled, true, 1},
      Case{TaskEndKind::Success, false, 1});
  TwoTasks b;
  b.task_started(kFirst, 0, false);
  b.task_ended(kFirst, 0, c.copy, c.how);
  CHECK(load(b) == Load{c.pending, 0, 0, 0});
  b.task_ended(kFirst, 0, true, TaskEndKind::TaskKilled);  // its start was not heard of
  CHECK(load(b) == Load{c.pending, 0, 0, 0});
}

TEST_CASE("a task that is killed is pending again unless its result is there", "[allocation]") {
  TwoTasks b;
  b.task_started(kFirst, 0, false);
  b.task_started(kFirst, 0, true);
  SECTION("its copy won") {
    b.task_ended(kFirst, 0, true, TaskEndKind::Success);
    CHECK_FALSE(b.lacks(kFirst, 0));
    b.task_ended(kFirst, 0, false, TaskEndKind::TaskKilled);
    CHECK(load(b) == Load{1, 0, 0, 0});
    b.task_ended(kFirst, 0, true, TaskEndKind::Resubmitted);
    CHECK(b.lacks(kFirst, 0));
  }
  SECTION("its copy runs, and wins later") {
    b.task_ended(kFirst, 0, false, TaskEndKind::TaskKilled);
    CHECK(load(b) == Load{2, 0, 1, 0});
    b.task_ended(kFirst, 0, true, TaskEndKind::Success);
    CHECK(load(b) == Load{1, 0, 0, 0});
  }
  SECTION("its stage is over") {
    b.stage_completed(kFirst);
    b.task_ended(kFirst, 0, false, TaskEndKind::TaskKilled);
    CHECK_FALSE(b.lacks(kFirst, 0));
    CHECK(load(b) == Load{0, 0, 1, 0});
  }
}
