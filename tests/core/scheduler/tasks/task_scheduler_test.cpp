// Offers, launches, retries, launch-ahead. Ids are those of spec/11, sections S and T.
#include "tests/core/scheduler/tasks/task_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

Locations everywhere(int32_t n, std::string place) {
  return Locations(static_cast<size_t>(n), {std::move(place)});
}

}  // namespace

// ---- offers ------------------------------------------------------------------------------------

TEST_CASE("S2 no executor is always asked first", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  c.executor("B", 1);
  std::map<std::string, int> used;
  for (int i = 0; i < 1000; ++i) {
    c.job(rdd(1));
    const Sent s = c.live()[0];
    ++used[s.executor];
    c.succeed(s, "x");
  }
  CHECK(used.size() == 2);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S3 a task takes spark.task.cpus cores", "[task_scheduler]") {
  DriverOptions o = test_options(0);
  o.task_cpus = 2;
  const auto launched = [&](int32_t a, int32_t b) {
    Cluster c(o);
    c.executor("A", a);
    c.executor("B", b);
    c.job(rdd(1));
    return c.live();
  };
  CHECK(launched(0, 0).empty());
  CHECK(launched(1, 1).empty());
  REQUIRE(launched(2, 1).size() == 1);
  CHECK(launched(2, 1)[0].executor == "A");
}

// Delay timer: 8 tasks that all want exec1 on h1; "far" is another executor of that host.
namespace {
struct Delay : TaskBed {
  int32_t exec1, far;
  Delay() {
    exec1 = add("exec1", "h1");
    far = add("exec2", "h1");
    submit(0, 8, everywhere(8, "executor_h1_exec1"));
  }
  std::vector<Launch> one(int32_t e, bool all) { return offer({{e, 1}}, all); }
};
}  // namespace

TEST_CASE("S4 a partial offer taken before any full one resets the timer", "[task_scheduler]") {
  Delay d;
  d.now += 3s;
  CHECK(d.one(d.exec1, TaskBed::kPartial).size() == 1);
  CHECK(d.one(d.far, TaskBed::kPartial).empty());
}

TEST_CASE("S5 a full offer that is taken wholly resets the timer", "[task_scheduler]") {
  Delay d;
  d.now += 3s;
  CHECK(d.one(d.exec1, TaskBed::kFull).size() == 1);
  CHECK(d.one(d.far, TaskBed::kPartial).empty());
}

TEST_CASE("S6 a set without preferences doesn't starve one with them", "[task_scheduler]") {
  Delay d;
  d.submit(1, 8);
  // Stage 0 goes first: the far executor is refused by it and taken by stage 1.
  CHECK(d.one(d.far, TaskBed::kPartial).at(0).stage == 1);
  d.now += 2s;
  CHECK(d.one(d.far, TaskBed::kPartial).at(0).stage == 1);
  CHECK(d.offer({{d.exec1, 0}}, TaskBed::kFull).empty());
  d.now += 2s;
  CHECK(d.one(d.far, TaskBed::kPartial).at(0).stage == 0);
}

TEST_CASE("S7 partial offers go on resetting after a full one without a reject",
          "[task_scheduler]") {
  Delay d;
  CHECK(d.offer({{d.exec1, 0}}, TaskBed::kFull).empty());
  d.now += 3s;
  CHECK(d.one(d.exec1, TaskBed::kPartial).size() == 1);
  d.now += 3s;
  CHECK(d.one(d.exec1, TaskBed::kPartial).size() == 1);
  CHECK(d.one(d.far, TaskBed::kPartial).empty());
}

TEST_CASE("S8 after a reject partial offers don't reset until a full one is taken",
          "[task_scheduler]") {
  Delay d;
  CHECK(d.one(d.far, TaskBed::kFull).empty());
  d.now += 3s;
  CHECK(d.one(d.exec1, TaskBed::kPartial).size() == 1);
  CHECK(d.one(d.far, TaskBed::kPartial).size() == 1);
  CHECK(d.one(d.exec1, TaskBed::kFull).size() == 1);
  CHECK(d.offer({{d.far, 1}, {d.exec1, 1}}, TaskBed::kPartial).size() == 1);
  d.now += 3s;
  CHECK(d.one(d.exec1, TaskBed::kPartial).size() == 1);
  CHECK(d.one(d.far, TaskBed::kPartial).size() == 1);
}

TEST_CASE("S10 a stage has one attempt that is not a zombie", "[task_scheduler]") {
  TaskBed b;
  const int32_t e = b.add("e", "h");
  b.submit(0, 1);
  b.offer({{e, 1}});
  b.submit(0, 1, {}, 1);
  CHECK(b.set(0, 0).zombie());
  b.offer({{e, 1}});
  b.submit(0, 1, {}, 2);
  CHECK(b.set(0, 1).zombie());
  CHECK_FALSE(b.set(0, 2).zombie());
}

TEST_CASE("S11 a zombie gets no slots, the new attempt does", "[task_scheduler]") {
  TaskBed b;
  const int32_t e = b.add("e", "h");
  b.submit(0, 10);
  CHECK(b.offer({{e, 1}}).size() == 1);
  b.submit(0, 10, {}, 1);
  const auto launched = b.offer({{e, 10}});
  CHECK(launched.size() == 10);
  for (const auto& l : launched) CHECK(l.attempt == 1);
}

TEST_CASE("S12 a zombie that finishes doesn't stop the new attempt", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 20);
  const ShufflePtr s = shuffle(rdd(1), 10);
  const uint64_t t = c.job(rdd(10, {s}));
  c.maps_ok(0);
  const std::vector<Sent> old = c.live(1, 0);
  c.fetch_failed(old[0], s->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(0, 1);
  CHECK(c.live(1, 1).size() == 10);
  for (size_t i = 1; i < old.size(); ++i) c.fail(old[i], "zombie");
  CHECK(c.driver.tasks().task_set(StageId{1}, 0) == nullptr);
  CHECK(c.live(1, 1).size() == 10);
  c.results_ok(1, 1);
  CHECK(c.error(t).empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S25 a preferred executor that joins late is used as such", "[task_scheduler]") {
  TaskBed b;
  const int32_t e0 = b.add("executor0", "h0");
  b.submit(0, 2, {{"h0"}, {"executor_h1_executor2"}});
  CHECK(b.set(0).levels().level[0] == Locality::Node);
  auto launched = b.offer({{e0, 1}});
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].index == 0);
  const int32_t e2 = b.add("executor2", "h1");
  CHECK(b.set(0).levels().level[0] == Locality::Process);
  launched = b.offer({{e2, 1}});
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].index == 1);
  const int32_t e3 = b.add("executor3", "h1");
  CHECK(b.offer({{e3, 1}}).empty());
  CHECK(b.executors.alive(e3));
  CHECK(b.executors.at(e3).host == b.executors.at(e2).host);
}

TEST_CASE("S29 with wait 0 the local one of two offers is chosen", "[task_scheduler]") {
  DriverOptions o = test_options();
  o.locality_wait_process = o.locality_wait_node = 0s;
  TaskBed b(o);
  const int32_t near = b.add("near", "h1"), far = b.add("far", "h2");
  b.submit(0, 1, {{"executor_h1_near"}});
  const bool near_first = GENERATE(true, false);
  const auto launched =
      b.offer(near_first ? std::vector<TaskScheduler::Offer>{{near, 1}, {far, 1}}
                         : std::vector<TaskScheduler::Offer>{{far, 1}, {near, 1}});
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].executor == "near");
}

TEST_CASE("S30 with wait 0 a single remote offer is taken at once", "[task_scheduler]") {
  DriverOptions o = test_options();
  o.locality_wait_process = o.locality_wait_node = 0s;
  TaskBed b(o);
  b.add("near", "h1");
  const int32_t far = b.add("far", "h2");
  b.submit(0, 1, {{"executor_h1_near"}});
  CHECK(b.offer({{far, 1}}).size() == 1);
}

TEST_CASE("tasks without preference spread evenly, earlier jobs first", "[task_scheduler]") {
  TaskBed b;
  const int32_t x = b.add("x", "h1"), y = b.add("y", "h2"), z = b.add("z", "h3");
  b.submit(1, 3);
  b.submit(0, 3);
  std::map<std::string, int> per;
  for (const auto& l : b.offer({{x, 4}, {y, 4}, {z, 4}})) {
    ++per[l.executor + std::to_string(l.stage)];
  }
  CHECK(per == std::map<std::string, int>{
                   {"x0", 1}, {"y0", 1}, {"z0", 1}, {"x1", 1}, {"y1", 1}, {"z1", 1}});
  b.submit(3, 2);
  b.submit(2, 2);
  const auto order = b.offer({{x, 3}});
  REQUIRE(order.size() == 3);
  CHECK(order[0].stage == 2);
  CHECK(order[1].stage == 2);
  CHECK(order[2].stage == 3);
}

// ---- loss --------------------------------------------------------------------------------------

TEST_CASE("S13 while the reason of a loss is pending nothing is rescheduled", "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.cluster_manager = true;
  Cluster c(o);
  c.executor("A", 1);
  c.executor("B", 1);
  c.job(rdd(1));
  const Sent s = c.live()[0];
  const std::string other = s.executor == "A" ? "B" : "A";
  c.on(PeerLost{c.peers.at(s.executor)});
  c.advance(4s);
  CHECK(c.live().size() == 1);
  CHECK(c.seen<ExecutorRemoved>().empty());
  c.lose(s.executor, 1);
  REQUIRE(c.live().size() == 1);
  CHECK(c.live()[0].executor == other);
  CHECK(c.live()[0].number == 1);
  CHECK(c.seen<ExecutorRemoved>().size() == 1);
  c.advance(5s);
  CHECK(c.seen<ExecutorRemoved>().size() == 1);
  c.succeed(c.live()[0], "x");
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S27 a lost executor leaves nothing behind", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 2);
  const uint64_t t = c.job(rdd(20));
  CHECK(c.live().size() == (c.launch_ahead == 0 ? 2u : 10u));
  c.lose("A");
  CHECK(c.driver.executors().active().empty());
  CHECK(c.driver.executors().at(0).running == 0);
  CHECK(c.driver.executors().at(0).ahead == 0);
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->running() == 0);
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->pending() == 20);
  c.on(CancelJob{t, ""});
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T12 S43 only a task known to run is blamed for its executor's end", "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.max_task_failures = 1;
  struct Case {
    bool reported_running;
    std::optional<int32_t> code;
    const char* worker_host;
    bool job_fails;
  };
  const std::vector<Case> cases = {
      {false, 1, "", false},  // LAUNCHING
      {true, 1, "", true},    // RUNNING, and the process ended by itself
      {true, 0, "", true},
      {true, 137, "", true},
      {true, 53, "", false},              // disk
      {true, 56, "", false},              // heartbeats
      {true, std::nullopt, "", true},     // nobody knows
      {true, std::nullopt, "hA", false},  // the worker is gone
  };
  for (const Case& k : cases) {
    CAPTURE(k.reported_running, k.code.value_or(-1), k.worker_host);
    Cluster c(o);
    c.executor("A", 1);
    const uint64_t t = c.job(rdd(1));
    const Sent s = c.live()[0];
    if (k.reported_running) c.running(s);
    c.lose("A", k.code, k.worker_host);
    CHECK(c.ended(t) == k.job_fails);
    const TaskEnded end = c.seen<TaskEnded>().at(0);
    CHECK(end.kind() == TaskEndKind::ExecutorLostFailure);
    CHECK(end.reason->exit_caused_by_app == k.job_fails);
    if (k.job_fails)
      CHECK(c.error(t).find("ExecutorLostFailure (executor A exited caused by one of the running "
                            "tasks) Reason: ") != std::string::npos);
    if (!k.job_fails) c.on(CancelJob{t, ""});
    CHECK(c.driver.idle_state_is_clean());
  }
}

TEST_CASE("S43 a loss that is nobody's fault leaves the next one without blame",
          "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.max_task_failures = 1;
  Cluster c(o);
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  c.lose("A", std::nullopt, "hA");  // with its worker
  c.executor("B", 1);
  c.lose("B");  // by itself, before the task was known to run
  CHECK_FALSE(c.ended(t));
  c.executor("C", 1);
  c.lose("C");  // and again
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

namespace {
/// Why tasks were killed in the last turn, one by one.
std::vector<std::string> kill_reasons(const TaskBed& b) {
  std::vector<std::string> reasons;
  for (const Send<ToExecutor>& s : of_kind<Send<ToExecutor>>(b.out))
    if (const auto* k = std::get_if<KillTask>(&s.message)) reasons.push_back(k->reason);
  return reasons;
}
}  // namespace

TEST_CASE("S34 cancelling kills what runs and launches no more", "[task_scheduler]") {
  TaskBed b;
  const int32_t e = b.add("e", "h");
  b.submit(0, 10);
  const auto launched = b.offer({{e, 2}});
  b.turn([&](Turn& t) { b.tasks.cancel(StageId{0}, "test message", false, t); });
  CHECK(kill_reasons(b) == std::vector<std::string>(2, "Stage cancelled: test message"));
  CHECK(b.set(0).zombie());
  CHECK(b.offer({{e, 8}}).empty());
  for (const auto& l : launched) {
    b.fail(l, TaskEndKind::TaskKilled, TaskState::Killed);
    b.settle();
  }
  CHECK(b.tasks.idle());
  CHECK(b.ended.size() == 2);
}

TEST_CASE("S35 killing all attempts of a stage leaves its set alive", "[task_scheduler]") {
  TaskBed b;
  const int32_t e = b.add("e", "h");
  b.submit(0, 10);
  REQUIRE(b.offer({{e, 2}}).size() == 2);
  b.turn([&](Turn& t) { b.tasks.kill_attempts_of(StageId{0}, "test message", false, t); });
  CHECK(kill_reasons(b) == std::vector<std::string>(2, "test message"));
  REQUIRE(b.tasks.task_set(StageId{0}, 0));
  CHECK_FALSE(b.set(0).zombie());
  CHECK(b.offer({{e, 8}}).size() == 8);
}

TEST_CASE("S35 killing attempts leaves the set alive", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 10);
  const uint64_t t = c.job(rdd(10));
  const Sent s = c.live()[3];
  c.on(KillTaskAttempt{s.id, true, "killed via SparkContext.killTaskAttempt"});
  REQUIRE(c.messages<KillTask>().size() == 1);
  CHECK(c.messages<KillTask>()[0] ==
        KillTask{s.id, true, "killed via SparkContext.killTaskAttempt"});
  CHECK_FALSE(c.driver.tasks().task_set(StageId{0}, 0)->zombie());
  // Killed as often as it likes: that is no failure.
  for (int i = 0; i < 10; ++i) c.killed(c.task(0, 0, s.partition));
  CHECK_FALSE(c.ended(t));
  CHECK(c.task(0, 0, s.partition).number == 10);
  c.on(KillTaskAttempt{TaskId{9999}, true, "x"});
  CHECK(c.messages<KillTask>().empty());
  c.results_ok(0);
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T32 the set is a zombie when its last end is told", "[task_scheduler]") {
  TaskBed b;
  const int32_t e = b.add("e", "h");
  b.submit(0, 1);
  const auto launched = b.offer({{e, 1}});
  b.succeed(launched.at(0));
  b.settle();
  REQUIRE(b.ended.size() == 1);
  CHECK(b.ended[0].zombie);
  CHECK(b.tasks.idle());
}
