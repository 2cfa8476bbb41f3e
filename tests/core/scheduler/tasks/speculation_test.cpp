// Second copies of slow tasks: who wins, and what is lost. Ids are those of spec/11, section T.
#include "tests/core/scheduler/tasks/speculation_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

TEST_CASE("the running median is the greater of the two in the middle", "[speculation]") {
  RunningMedian m;
  std::vector<Duration> sorted;
  uint32_t x = 12345;
  for (int i = 0; i < 500; ++i) {
    x = x * 1664525 + 1013904223;
    const Duration d(x >> 22);
    m.add(d);
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), d), d);
    REQUIRE(m.value() == sorted[sorted.size() / 2]);
  }
}

TEST_CASE("T30 a copy that wins ends the original", "[speculation]") {
  Race c(eager(GENERATE(0, 8)));
  const uint64_t t = c.job(rdd(4));
  c.executor("B", 8);
  for (int32_t p = 0; p < 3; ++p) c.succeed(c.on("A", p), std::to_string(p));
  CHECK(c.copies().empty());
  c.advance(100ms);
  CHECK(c.submitted() == Ints{3});
  REQUIRE(c.copies().size() == 1);
  const Sent copy = c.copies()[0], original = c.on("A", 3);
  CHECK(copy.number == 1);
  CHECK(c.seen<TaskStarted>().back().task.speculative);
  c.update(copy, with_accumulator(c.result(copy, "won")));
  REQUIRE(c.messages<KillTask>("A").size() == 1);
  CHECK(c.messages<KillTask>("A")[0] == KillTask{original.id, true, kKilled});
  REQUIRE(c.ended(t));
  CHECK(c.error(t).empty());
  CHECK(c.results[t][3] == "won");
  c.killed(original);
  CHECK(c.seen<TaskEnded>().back().reason->description == kKilled);
  CHECK(c.accumulated.size() == 1);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T39 an original that wins ends the copy, which counts for nothing", "[speculation]") {
  Race c(eager(GENERATE(0, 8)));
  const uint64_t t = c.job(rdd(4));
  c.executor("B", 8);
  for (int32_t p = 0; p < 2; ++p) c.succeed(c.on("A", p), std::to_string(p));
  c.advance(100ms);
  CHECK(c.submitted() == Ints{2, 3});
  const Sent copy = c.on("B", 2), original = c.on("A", 2);
  c.update(original, with_accumulator(c.result(original, "original")));
  CHECK(c.messages<KillTask>("B") == std::vector{KillTask{copy.id, true, kKilled}});
  // It finished before the message came.
  c.update(copy, with_accumulator(c.result(copy, "copy")));
  const TaskEnded lost = c.seen<TaskEnded>().back();
  CHECK(lost.task.attempt == 1);
  CHECK(lost.kind() == TaskEndKind::TaskKilled);
  CHECK(lost.reason->description == "Finish but did not commit due to another attempt succeeded");
  CHECK_FALSE(lost.metrics);
  CHECK(c.accumulated.size() == 1);
  CHECK_FALSE(c.ended(t));
  const Sent last = c.on("B", 3);
  c.succeed(last, "copy of 3");
  REQUIRE(c.ended(t));
  CHECK(c.results[t] ==
        std::map<int32_t, std::string>{{0, "0"}, {1, "1"}, {2, "original"}, {3, "copy of 3"}});
  // A result that lies in a block is not even fetched.
  TaskUpdate late = c.result(c.on("A", 3), "");
  late.result_block = "taskresult_9";
  late.result_size = 5;
  c.update(c.on("A", 3), late);
  CHECK(c.effects<FetchResult>().empty());
  CHECK(c.messages<RemoveBlocks>("A") == std::vector{RemoveBlocks{{"taskresult_9"}}});
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE(
    "a copy's result that is being fetched is dropped when the original wins, also if it fails",
    "[speculation]") {
  Race c(eager());
  const Result<Payload> fetched =
      GENERATE(Result<Payload>(Payload(Bytes("copy"))), Error{"the disk is full", true});
  const uint64_t t = c.job(rdd(3));
  c.executor("B", 8);
  c.succeed(c.on("A", 0), "0");
  c.advance(100ms);
  const Sent copy = c.on("B", 1);
  TaskUpdate u = c.result(copy, "");
  u.result_block = "taskresult_5";
  u.result_size = 5;
  c.update(copy, u);
  REQUIRE(c.effects<FetchResult>().size() == 1);
  c.succeed(c.on("A", 1), "original");
  c.on(ResultFetched{copy.id, fetched});
  CHECK(c.messages<RemoveBlocks>("B") == std::vector{RemoveBlocks{{"taskresult_5"}}});
  c.succeed(c.on("A", 2), "2");
  REQUIRE(c.ended(t));
  CHECK(c.error(t).empty());
  c.killed(c.on("B", 2));
  CHECK(c.results[t][1] == "original");
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T31 a task that failed thrice is saved by its copy", "[speculation]") {
  DriverOptions o = eager(GENERATE(0, 8));
  o.speculation.quantile = 0.6;
  Race c(o);
  const uint64_t t = c.job(rdd(5));
  for (int32_t p = 0; p < 3; ++p) c.succeed(c.on("A", p), "x");
  for (int32_t p : {3, 4})
    for (int i = 0; i < 3; ++i) c.fail(c.on("A", p));
  CHECK(c.on("A", 3).number == 3);
  c.executor("B", 8);
  c.advance(100ms);
  for (int32_t p : {3, 4}) {
    const Sent original = c.on("A", p), copy = c.on("B", p);
    CHECK(copy.number == 4);
    c.succeed(copy, "copy");
    c.killed(original);
    CHECK(c.ended(t) == (p == 4));
  }
  CHECK(c.error(t).empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T52 a task that succeeded is not failed by the end of its other attempt",
          "[speculation]") {
  DriverOptions o = eager(GENERATE(0, 8));
  o.speculation.quantile = 0.6;
  Race c(o);
  const uint64_t t = c.job(rdd(5));
  for (int32_t p = 0; p < 3; ++p) c.succeed(c.on("A", p), "x");
  for (int i = 0; i < 3; ++i) c.fail(c.on("A", 3));
  c.executor("B", 8);
  c.advance(100ms);
  const Sent original = c.on("A", 3);
  c.succeed(c.on("B", 3), "copy");
  c.fail(original);  // the fourth failure, had the success not ended the count
  REQUIRE_FALSE(c.ended(t));
  for (const Sent& s : c.live()) CHECK(s.partition == 4);  // nor is it run again
  c.succeed(c.on("A", 4), "x");
  CHECK(c.error(t).empty());
  CHECK(c.results[t][3] == "copy");
  for (const Sent& s : c.live()) c.killed(s);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T21 a copy's executor that is lost after the original won undoes nothing",
          "[speculation]") {
  DriverOptions o = speculating(GENERATE(0, 8));
  o.speculation.duration_threshold = 1s;
  Race c(o);
  const ShufflePtr s = shuffle(rdd(1), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.executor("B", 1);
  c.advance(1200ms);
  const Sent original = c.on("A", 0), copy = c.on("B", 0);
  c.map_ok(original);
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->zombie());
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->running() == 1);
  c.lose("B");
  CHECK(c.driver.tasks().task_set(StageId{0}, 0) == nullptr);
  for (const TaskEnded& e : c.seen<TaskEnded>()) CHECK(e.kind() != TaskEndKind::Resubmitted);
  c.results_ok(1);
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T22 only the winner's executor takes an output with it", "[speculation]") {
  const bool lose_winner = GENERATE(false, true);
  Race c(eager(GENERATE(0, 8)));
  const ShufflePtr s = shuffle(rdd(4), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.executor("keeper", 0, "hK");
  c.executor("B", 1);
  for (int32_t p : {0, 1}) {
    TaskUpdate u = c.output(c.on("A", p));
    c.update(c.on("A", p), u);
  }
  c.advance(100ms);
  REQUIRE(c.copies().size() == 1);
  const Sent copy = c.copies()[0], original = c.on("A", copy.partition);
  c.map_ok(copy);
  CHECK(c.messages<KillTask>("A") == std::vector{KillTask{original.id, true, kKilled}});
  c.lose(lose_winner ? "B" : "A");
  Ints undone;
  for (const TaskEnded& e : c.seen<TaskEnded>()) {
    if (e.kind() != TaskEndKind::Resubmitted) continue;
    undone.push_back(e.task.index);
    if (e.task.index == copy.index) CHECK(e.task.attempt == copy.number);
  }
  CHECK(std::count(undone.begin(), undone.end(), copy.index) == (lose_winner ? 1 : 0));
  c.on(CancelJob{t, ""});
  while (!c.live().empty()) c.killed(c.live()[0], "Stage cancelled");
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("an output that is lost is told of as the attempt that made it", "[speculation]") {
  Race c(eager());
  const ShufflePtr s = shuffle(rdd(4), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.executor("B", 1);
  for (int32_t p : {0, 1}) c.map_ok(c.on("A", p));
  c.advance(100ms);
  REQUIRE(c.copies().size() == 1);
  const Sent copy = c.copies()[0], original = c.on("A", copy.partition);
  const auto may_commit = [&](const Sent& one) {
    c.from(one.executor, AskPermissionToCommit{1, one.stage, 0, one.partition, one.number, one.id});
    return c.messages<CommitAnswer>(one.executor).at(0).allowed;
  };
  CHECK(may_commit(original));
  c.map_ok(original);
  c.killed(copy);
  c.lose("A");
  std::vector<TaskInfo> undone;
  for (const TaskEnded& e : c.seen<TaskEnded>())
    if (e.kind() == TaskEndKind::Resubmitted && e.task.index == copy.index)
      undone.push_back(e.task);
  REQUIRE(undone.size() == 1);
  CHECK(undone[0].attempt == original.number);
  CHECK(undone[0].executor.value == "A");
  c.executor("C", 8);
  CHECK(may_commit(c.on("C", copy.partition)));  // what it replaces holds the commit no longer
  c.on(CancelJob{t, ""});
  while (!c.live().empty()) c.killed(c.live()[0], "Stage cancelled");
  CHECK(c.driver.idle_state_is_clean());
}

// ---- launch-ahead ------------------------------------------------------------------------------

TEST_CASE("a task that was sent ahead does not run: it is never slow", "[speculation]") {
  Race c(eager(8), 1);
  c.job(rdd(6));
  CHECK(c.live().size() == 6);  // one runs, five wait
  for (int i = 0; i < 3; ++i) c.succeed(c.live()[0], "x");
  c.advance(10s);
  CHECK(c.submitted() == Ints{3});
  c.executor("B", 1);
  // The slot of B goes to what waits behind the slow task, then to its copy.
  c.answer_revocations();
  c.advance(1s);
  REQUIRE(c.copies().size() == 1);
  CHECK(c.copies()[0].index != 3);
  for (int guard = 0; guard < 4 && c.copies()[0].index != 3; ++guard) {
    c.succeed(c.copies()[0], "x");
    c.answer_revocations();
    c.advance(1s);
    REQUIRE_FALSE(c.copies().empty());
  }
  CHECK(c.copies()[0].index == 3);
  CHECK(c.copies()[0].number == 1);
}

TEST_CASE("a copy that was sent ahead and is taken back waits again", "[speculation]") {
  Race c(eager(8), 2);
  const uint64_t first = c.job(rdd(2));
  c.executor("B", 1, "hB");
  const uint64_t second = c.job(rdd(1));
  REQUIRE(c.on("B", 0).partition == 0);
  c.succeed(c.on("A", 0), "x");  // A has a slot free, but task 1 runs on that host
  c.advance(100ms);
  CHECK(c.submitted() == Ints{1});
  c.job(rdd(1));  // takes the slot: now copies may be sent ahead
  REQUIRE(c.messages<LaunchTasks>("B").size() == 1);
  const Sent ahead = c.on("B", 1);
  CHECK(c.driver.executors().at(1).ahead == 1);
  c.executor("C", 1, "hC");
  REQUIRE(c.revocations.size() == 1);
  c.answer_revocations();
  const Sent copy = c.on("C", 1);
  CHECK(copy.number == ahead.number);
  c.succeed(copy, "copy");
  CHECK(c.ended(first));
  CHECK_FALSE(c.ended(second));
  for (const Sent& s : c.live()) c.succeed(s, "x");
  CHECK(c.ended(second));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("nothing looks for slow tasks while there are none, or while speculation is off",
          "[speculation]") {
  const auto timers = [](const Cluster& c) {
    return std::count_if(c.timers.begin(), c.timers.end(), [](const auto& t) {
      return t.second.kind == DriverTimer::Kind::Speculation;
    });
  };
  Race off(test_options(8));
  off.job(rdd(4));
  CHECK(timers(off) == 0);
  Race c(speculating(8));
  CHECK(timers(c) == 0);
  c.job(rdd(1));
  c.job(rdd(1));
  CHECK(timers(c) == 1);
  while (!c.live().empty()) c.succeed(c.live()[0], "x");
  c.advance(100ms);
  CHECK(timers(c) == 0);
  c.job(rdd(1));
  CHECK(timers(c) == 1);
}

TEST_CASE("the commit of a partition is given to one of its two attempts", "[speculation]") {
  Race c(eager(GENERATE(0, 8)));
  c.job(rdd(2));
  c.executor("B", 8);
  c.succeed(c.on("A", 0), "x");
  c.advance(100ms);
  const Sent copy = c.on("B", 1), original = c.on("A", 1);
  const auto ask = [&](const Sent& s) {
    c.from(s.executor, AskPermissionToCommit{1, s.stage, 0, s.partition, s.number, s.id});
    return c.messages<CommitAnswer>(s.executor).at(0).allowed;
  };
  CHECK(ask(copy));
  CHECK_FALSE(ask(original));
  TaskEndReason denied;
  denied.kind = TaskEndKind::TaskCommitDenied;
  c.fail(original, denied);
  CHECK(c.live().size() == 1);  // not tried again while the copy runs
  c.succeed(copy, "y");
  CHECK(c.driver.idle_state_is_clean());
}
