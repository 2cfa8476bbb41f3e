// Exclusion on failure as task sets and offers see it. Ids are those of spec/11, sections T and S.
#include "tests/core/scheduler/tasks/task_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {
using Strings = std::vector<std::string>;

/// Executor 1 on host "bad" is excluded for the application; 2 on host "good" is not.
struct OneExcluded : Cluster {
  OneExcluded(DriverOptions o, int32_t cores_of_other) : Cluster(std::move(o)) {
    executor("1", 4, "bad");
    executor("2", cores_of_other, "good");
    const uint64_t t = job(rdd(8));
    for (int i = 0; i < 2; ++i) fail(one_on("1"));
    finish(t, 1s);
    REQUIRE(driver.tasks().health()->executor_excluded(0));
  }
};
}  // namespace

// ---- task sets and offers ----------------------------------------------------------------------

TEST_CASE("T10 a task is not tried where it failed, and the fourth failure ends its job",
          "[health]") {
  DriverOptions o = excluding(GENERATE(0, 8));
  o.locality_wait_process = o.locality_wait_node = 0s;
  o.executor_timeout = 100h;
  Cluster c(o);
  c.executor("1", 1, "h1");
  c.executor("1.1", 1, "h1");
  c.executor("2", 1, "h2");
  const uint64_t t = c.job(rdd(1, {}, {{"executor_h1_1"}}));
  Strings tried;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(c.live().size() == 1);
    tried.push_back(c.live()[0].executor);
    c.fail(c.live()[0]);
    if (i == 1) c.advance(2h);  // a stage does not forget
    if (i == 2) c.executor("3", 1, "h3");
  }
  CHECK(tried == Strings{"1", "1.1", "2"});
  REQUIRE(c.live().size() == 1);
  CHECK(c.live()[0].executor == "3");
  c.fail(c.live()[0]);
  REQUIRE(c.ended(t));
  CHECK(c.error(t).find("failed 4 times") != std::string::npos);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T34 ends that are no failures exclude nobody", "[health]") {
  TaskBed b(excluding());
  const int32_t e = b.add("e1", "h1");
  b.submit(0, 5);
  const auto l = b.offer({{e, 4}});
  b.fail(l[0], TaskEndKind::TaskCommitDenied);
  b.fail(l[1], TaskEndKind::TaskKilled);
  CHECK(b.set(0).exclusion() == nullptr);
  b.lose(e);
  CHECK(b.set(0).exclusion() == nullptr);
  const int32_t e2 = b.add("e2", "h1");
  const auto again = b.offer({{e2, 4}});
  b.fail(again[0], TaskEndKind::FetchFailed);
  CHECK(b.set(0).exclusion() == nullptr);
}

TEST_CASE("T36 the failure is known when the task is pending again", "[health]") {
  TaskBed b(excluding());
  const int32_t e1 = b.add("e1", "h1"), e2 = b.add("e2", "h2");
  b.submit(0, 1);
  const auto l = b.offer({{e1, 1}});
  b.fail(l[0]);
  CHECK(b.offer({{e1, 1}}).empty());
  CHECK(b.offer({{e2, 1}}).size() == 1);
}

TEST_CASE("T6 an executor excluded for a set takes no part in its delays", "[health]") {
  TaskBed b(excluding());
  const int32_t e1 = b.add("e1", "h1"), e2 = b.add("e2", "h2");
  b.submit(0, 4);
  const auto l = b.offer({{e1, 2}});
  b.fail(l[0]);
  b.fail(l[1]);
  CHECK(b.set(0).exclusion()->excludes(e1));
  CHECK(b.offer({{e1, 4}}).empty());
  CHECK(b.set(0).no_rejects_since_reset);
  CHECK(b.offer({{e2, 4}}).size() == 4);
}

TEST_CASE("T6 a host excluded for a set takes no part in its delays", "[health]") {
  TaskBed b(excluding());
  const int32_t e1 = b.add("e1", "h1"), e2 = b.add("e2", "h1");
  b.submit(0, 6);
  for (const int32_t e : {e1, e2})
    for (const auto& l : b.offer({{e, 2}})) b.fail(l);
  const int32_t fresh = b.add("e3", "h1"), other = b.add("e4", "h2");
  CHECK(b.seen<NodeExcludedForStage>().size() == 1);
  CHECK(b.offer({{fresh, 4}}).empty());
  CHECK(b.set(0).no_rejects_since_reset);
  CHECK(b.offer({{other, 6}}).size() == 6);
}

TEST_CASE("S14 exclusions of one stage leave another one alone; only success is reported",
          "[health]") {
  TaskBed b(excluding());
  const int32_t e0 = b.add("e0", "h0"), e1 = b.add("e1", "h1");
  b.submit(0, 2);
  b.submit(1, 2);
  const auto first = b.offer({{e0, 2}});
  CHECK(first[0].stage == 0);
  b.fail(first[0]);
  b.fail(first[1]);
  // Stage 0 may not run on e0 any more, stage 1 may.
  const auto second = b.offer({{e0, 4}});
  REQUIRE(second.size() == 2);
  CHECK(second[0].stage == 1);
  b.fail(second[0]);
  b.fail(second[1]);
  CHECK_FALSE(b.tasks.health()->any_excluded());
  // Stage 1 is given up: its failures are forgotten.
  b.turn([&](Turn& t) { b.tasks.cancel(StageId{1}, "x", true, t); });
  CHECK_FALSE(b.tasks.health()->any_excluded());
  for (const auto& l : b.offer({{e1, 4}})) b.succeed(l);
  CHECK(b.tasks.health()->executor_excluded(e0));
  CHECK(b.seen<ExecutorExcluded>().size() == 1);
  CHECK(b.tasks.idle());
}

TEST_CASE("S14 a host, an executor and a task are excluded each for their own stage", "[health]") {
  TaskBed b(excluding());
  const int32_t e0 = b.add("e0", "h0"), e1 = b.add("e1", "h0");
  const int32_t e2 = b.add("e2", "h1"), e3 = b.add("e3", "h1");
  // Earlier stages go first, so the last one is tried before the others are there.
  const auto fail_on = [&](int32_t executor, int32_t stage, int32_t tasks) {
    const auto launched = b.offer({{executor, tasks}});
    REQUIRE(launched.size() == static_cast<size_t>(tasks));
    for (const auto& l : launched) {
      REQUIRE(l.stage == stage);
      b.fail(l);
    }
    return launched[0].index;
  };
  b.submit(2, 4);
  const int32_t not_on_e0 = fail_on(e0, 2, 1);
  b.submit(1, 4);
  fail_on(e3, 1, 2);
  b.submit(0, 4);
  fail_on(e0, 0, 2);
  fail_on(e1, 0, 2);
  int32_t elsewhere = 0;
  const auto launched = b.offer({{e0, 8}, {e1, 8}, {e2, 8}, {e3, 8}});
  CHECK(launched.size() == 12);
  for (const auto& l : launched) {
    CAPTURE(l.stage, l.index, l.executor);
    const bool on_h0 = l.executor == "e0" || l.executor == "e1";
    if (l.stage == 0) CHECK_FALSE(on_h0);
    if (l.stage == 1) CHECK(l.executor != "e3");
    if (l.stage == 2 && l.index == not_on_e0) CHECK(l.executor != "e0");
    elsewhere += l.stage > 0 && on_h0;
  }
  CHECK(elsewhere > 0);
  CHECK(b.failed.empty());
}

TEST_CASE("S15 S22 executors and hosts excluded for the application get no offers", "[health]") {
  OneExcluded c(excluding(GENERATE(0, 8)), 1);
  c.job(rdd(6));
  size_t running = 0;
  for (const Sent& s : c.live()) {
    CHECK(s.executor == "2");
    ++running;
  }
  CHECK(running == (c.launch_ahead == 0 ? 1u : 6u));
  CHECK(c.seen<TaskStarted>().size() == c.seen<TaskEnded>().size() + 1);
}

TEST_CASE("an executor that joins on an excluded host gets no tasks until its time is over",
          "[health]") {
  DriverOptions o = excluding(GENERATE(0, 8));
  o.exclusion.application_executors_per_host = 1;
  o.executor_timeout = 24h;
  OneExcluded c(o, 4);
  c.executor("3", 4, "bad");
  const uint64_t second = c.job(rdd(20));
  for (const Sent& s : c.live()) CHECK(s.executor == "2");
  c.advance(1h + 1s);
  c.answer_revocations();
  c.advance(1s);
  CHECK_FALSE(c.live().empty());
  CHECK(c.one_on("3").executor == "3");
  c.on(CancelJob{second, ""});
}

TEST_CASE("S26 excluded executors come back with the first round of offers after their time",
          "[health]") {
  Cluster c(excluding(GENERATE(0, 8)));
  c.executor("1", 2, "h1");
  const uint64_t t = c.job(rdd(4));
  c.executor("2", 2, "h2");
  for (int i = 0; i < 2; ++i) c.fail(c.one_on("1"));
  c.finish(t);
  REQUIRE(c.driver.tasks().health()->any_excluded());
  c.lose("2");
  c.executor("3", 2, "h3");
  c.advance(100s);
  const uint64_t second = c.job(rdd(100));
  for (const Sent& s : c.live()) CHECK(s.executor == "3");
  for (int i = 0; i < 40; ++i) {
    c.from("1", ExecutorHeartbeat{ExecutorId{"1"}, 0, {}});
    c.from("3", ExecutorHeartbeat{ExecutorId{"3"}, 0, {}});
    c.advance(90s);
  }
  CHECK(c.seen<ExecutorUnexcluded>().size() == 1);
  c.answer_revocations();
  c.advance(1s);
  size_t on_one = 0;
  for (const Sent& s : c.live()) on_one += s.executor == "1";
  CHECK(on_one > 0);
  c.on(CancelJob{second, ""});
}

TEST_CASE("tasks that were sent ahead don't wait where their stage is excluded", "[health]") {
  Cluster c(excluding(8));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(6));
  c.fail(c.live()[0]);
  CHECK(c.revocations.empty());
  c.fail(c.live()[0]);  // a second task: A is excluded for the stage
  REQUIRE(c.revocations.size() == 1);
  CHECK(c.revocations[0].second.size() == 4);
  c.executor("B", 1);
  c.answer_revocations();
  for (const Sent& s : c.live()) CHECK(s.executor == "B");
  c.finish(t);
  CHECK(c.driver.idle_state_is_clean());
}

// ---- task sets that can run nowhere ------------------------------------------------------------

TEST_CASE("S16 a set is given up when every executor is excluded and busy", "[health]") {
  TaskBed b(excluding());
  const int32_t e0 = b.add("e0", "h0"), e1 = b.add("e1", "h1");
  b.submit(0, 4);
  auto l = b.offer({{e0, 2}, {e1, 2}});
  const auto of = [&](const std::string& executor) {
    for (auto it = l.begin(); it != l.end(); ++it)
      if (it->executor == executor) {
        const auto one = *it;
        l.erase(it);
        return one;
      }
    return TaskBed::Launch{};
  };
  const auto a = of("e0");
  b.fail(a);
  // e1 may still run it.
  CHECK(b.offer({{e0, 1}}).empty());
  CHECK(b.failed.empty());
  CHECK(b.tasks.unschedulable() == 0);
  const auto again = b.offer({{e1, 1}});
  REQUIRE(again.size() == 1);
  CHECK(again[0].index == a.index);
  b.fail(again[0]);
  b.offer({});
  REQUIRE(b.failed.size() == 1);
  CHECK(b.failed[0].starts_with("\nAborting TaskSet 0.0 because task " + std::to_string(a.index) +
                                " (partition " + std::to_string(a.index) +
                                ")\ncannot run anywhere due to node and executor "
                                "excludeOnFailure.\nMost recent failure:\nLost task "));
  CHECK(b.failed[0].ends_with(
      "\n\nExcludeOnFailure behavior can be configured via spark.excludeOnFailure.*.\n"));
}

TEST_CASE("S17 without time to wait the set is given up at once", "[health]") {
  DriverOptions o = excluding(GENERATE(0, 8));
  o.exclusion.unschedulable_timeout = 0s;
  Cluster c(o);
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  c.fail(c.live()[0]);
  c.advance(400ms);
  REQUIRE(c.ended(t));
  CHECK(c.error(t).find("cannot run anywhere due to node and executor excludeOnFailure.") !=
        std::string::npos);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S18 an idle executor is exchanged, and the set waits for the new one", "[health]") {
  DriverOptions o = excluding(GENERATE(0, 8));
  o.exclusion.unschedulable_timeout = 10s;
  const bool comes = GENERATE(true, false);
  Cluster c(o);
  c.executor("0", 1, "h");
  const uint64_t t = c.job(rdd(1));
  c.fail(c.live()[0]);
  REQUIRE(c.effects<KillBackendExecutor>().size() == 1);
  CHECK(c.effects<KillBackendExecutor>()[0].executor.value == "0");
  CHECK(c.messages<StopExecutor>("0").size() == 1);
  CHECK(c.driver.tasks().unschedulable() == 1);
  c.lose("0", 143);
  c.advance(5s);
  if (comes) {
    c.executor("1", 1, "h");
    REQUIRE(c.live().size() == 1);
    CHECK(c.driver.tasks().unschedulable() == 0);
    c.advance(20s);
    c.succeed(c.live()[0], "x");
  }
  CHECK_FALSE(c.ended(t) != comes);
  c.advance(6s);
  REQUIRE(c.ended(t));
  CHECK(c.error(t).empty() == comes);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("outputs that are made again on each new executor do not hold a set up for ever",
          "[health]") {
  DriverOptions o = excluding();
  o.exclusion.unschedulable_timeout = 10s;
  o.exclusion.task_attempts_per_host = 1;
  Cluster c(o);
  c.executor("0", 1, "h");
  const uint64_t t = c.job(rdd(1, {shuffle(rdd(2), 1)}));
  c.fail(c.task(0, 0, 0));  // not on this host again
  int32_t executors = 1;
  for (; executors < 20 && !c.ended(t); ++executors) {
    while (!c.live().empty()) c.map_ok(c.live()[0]);
    if (c.kills.size() != static_cast<size_t>(executors)) break;
    c.lose(std::to_string(executors - 1), 143);
    c.executor(std::to_string(executors), 1, "h");
  }
  CHECK(executors == 1 + o.max_task_failures);
  CHECK_FALSE(c.ended(t));
  c.advance(11s);
  REQUIRE(c.ended(t));
  CHECK(c.error(t).find("cannot run anywhere due to node and executor excludeOnFailure.") !=
        std::string::npos);
  c.lose(std::to_string(executors - 1), 143);
  c.advance(1s);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S19 anything that can be launched gives all sets their time again", "[health]") {
  TaskBed b(excluding());
  const int32_t e0 = b.add("e0", "h0");
  b.submit(0, 1);
  b.submit(1, 1);
  for (const auto& l : b.offer({{e0, 2}})) b.fail(l);
  CHECK(b.offer({{e0, 2}}).empty());
  CHECK(b.tasks.unschedulable() == 2);
  CHECK(b.removals.size() == 2);  // of the same executor
  const int32_t e1 = b.add("e1", "h1");
  CHECK(b.offer({{e1, 1}}).size() == 1);
  CHECK(b.tasks.unschedulable() == 0);
  b.now += 200s;
  b.turn([&](Turn& t) {
    b.tasks.unschedulable_timer(b.set(0).program(), t);
    b.tasks.unschedulable_timer(b.set(1).program(), t);
  });
  CHECK(b.failed.empty());
}

TEST_CASE("S20 S24 a set that only waits for a better place is not given up", "[health]") {
  DriverOptions o = excluding();
  o.exclusion.unschedulable_timeout = 0s;
  o.locality_wait_process = 30s;
  TaskBed b(o);
  const int32_t e0 = b.add("e0", "h0"), e1 = b.add("e1", "h0");
  b.submit(0, 2, {{"executor_h0_e0"}, {"executor_h0_e0"}});
  for (const auto& l : b.offer({{e0, 2}})) b.fail(l);
  CHECK(b.offer({{e0, 1}, {e1, 1}}).empty());
  CHECK(b.tasks.unschedulable() == 0);
  CHECK(b.failed.empty());
}

TEST_CASE("S21 with dynamic allocation a busy cluster may grow first", "[health]") {
  DriverOptions o = excluding();
  o.exclusion.dynamic_allocation = true;
  o.exclusion.unschedulable_timeout = 0s;
  TaskBed b(o);
  const int32_t e0 = b.add("e0", "h0");
  b.submit(0, 2);
  const auto l = b.offer({{e0, 2}});
  b.fail(l[0]);
  b.offer({});
  CHECK(b.failed.empty());
  CHECK(b.removals.empty());
  CHECK(b.tasks.unschedulable() == 1);
  CHECK(b.seen<UnschedulableTaskSetAdded>().size() == 1);
  b.turn([&](Turn& t) { b.tasks.unschedulable_timer(b.set(0).program(), t); });
  CHECK(b.failed.size() == 1);
  CHECK(b.set(0).zombie());
}

TEST_CASE("S23 the loss of the other executor leaves a task nowhere to run", "[health]") {
  TaskBed b(excluding());
  const int32_t e0 = b.add("e0", "h0"), e1 = b.add("e1", "h1");
  b.submit(0, 2);
  auto l = b.offer({{e0, 1}, {e1, 1}});
  if (l[0].executor != "e0") std::swap(l[0], l[1]);
  b.fail(l[0]);
  b.lose(e1);
  const auto again = b.offer({{e0, 1}});
  REQUIRE(again.size() == 1);
  CHECK(again[0].index == l[1].index);
  CHECK(b.offer({{e0, 0}}).empty());
  REQUIRE(b.failed.size() == 1);
  CHECK(b.failed[0].find("because task " + std::to_string(l[0].index) + " (partition ") !=
        std::string::npos);
}

TEST_CASE("in a process of its own an executor is not exchanged: there is no cluster manager",
          "[health]") {
  DriverOptions o = excluding();
  o.cluster_manager = false;
  o.exclusion.unschedulable_timeout = 0s;
  Cluster c(o);
  c.executor("driver", 2);
  const uint64_t t = c.job(rdd(1));
  c.fail(c.live()[0]);
  CHECK(c.effects<KillBackendExecutor>().empty());
  c.advance(100ms);
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("while exclusion is off failures leave nothing behind", "[health]") {
  TaskBed b(test_options());
  const int32_t e = b.add("e", "h");
  b.submit(0, 1);
  b.fail(b.offer({{e, 1}})[0]);
  CHECK(b.tasks.health() == nullptr);
  CHECK(b.set(0).exclusion() == nullptr);
  CHECK(b.offer({{e, 1}}).size() == 1);
}
