// One task set: pending lists, locality levels, delay scheduling. Ids are those of spec/11, section
// T.
#include "core/scheduler/tasks/task_end.hpp"
#include "tests/core/scheduler/tasks/set_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

constexpr Duration kWait = 3s;  // LW

}  // namespace

TEST_CASE("T1 a task without preference takes the first NO_PREF offer", "[task_set]") {
  SetBed b;
  b.add("exec1", "host1");
  b.tasks({{}});
  const auto p = b.pick("exec1", kNoPref);
  REQUIRE(p);
  CHECK(*p == TaskSet::Pick{0, kProcess});
  b.succeed(0);
  CHECK(b.set->zombie());
  CHECK(b.set->running() == 0);
}

TEST_CASE("T2 three offers take three tasks, a fourth none", "[task_set]") {
  SetBed b;
  b.add("exec1", "host1");
  b.tasks({{}, {}, {}});
  for (int32_t i = 0; i < 3; ++i) CHECK(b.offer("exec1", kNoPref) == i);
  CHECK(b.offer("exec1", kNoPref) == -1);
  b.succeed(0);
  b.succeed(1);
  CHECK_FALSE(b.set->zombie());
  b.succeed(2);
  CHECK(b.set->zombie());
}

TEST_CASE("T3 a level whose executors are gone is skipped", "[task_set]") {
  SetBed b;
  b.add("execA", "host1");
  b.add("execC", "host2");
  b.tasks({{at("host1", "execB")}});
  CHECK(b.offer("execC", kAny) == -1);
  CHECK(b.rejected);
  CHECK(b.offer("execA", kAny) == 0);
}

TEST_CASE("T4 delay scheduling widens one level a wait", "[task_set]") {
  SetBed b;
  b.add_each(2);
  b.tasks({{at("h1", "e1")}, {at("h2", "e2")}, {"h1", at("h2", "e2")}, {}});
  CHECK(b.offer("e1", kAny) == 0);
  CHECK(b.offer("e1", kProcess) == -1);
  b.now += kWait;
  CHECK(b.offer("e1", kNode) == 2);
  CHECK(b.offer("e2", kNode) == 1);
  CHECK(b.offer("e2", kNode) == -1);
  b.now += kWait;
  CHECK(b.offer("e2", kNoPref) == 3);
}

TEST_CASE("T4 each level has its own wait, whatever would be taken", "[task_set]") {
  SetBed b;
  b.add_each(2);
  b.tasks({{at("h1", "e1")}});
  CHECK(b.offer("e2", kAny) == -1);
  b.now += kWait;
  CHECK(b.offer("e2", kAny) == -1);
  b.now += kWait;
  CHECK(b.offer("e2", kAny) == 0);
}

TEST_CASE("T5 NO_PREF tasks don't wait for local ones", "[task_set]") {
  SetBed b;
  b.add("e1", "h1");
  b.add("e3", "h2");
  b.tasks({{at("h1", "e1")}, {at("h2", "e3")}, {}});
  CHECK(b.offer("e1", kProcess) == 0);
  CHECK(b.offer("e3", kProcess) == 1);
  CHECK(b.offer("e3", kNode) == -1);
  CHECK(b.offer("e3", kNoPref) == 2);
}

TEST_CASE("T6 legacy reset: each launch starts the wait again at its level", "[task_set]") {
  SetBed b;
  b.options.locality_legacy_reset = true;
  b.add_each(3);
  b.tasks({{"h1"}, {"h2"}, {"h2"}, {"h3"}, {"h2"}});
  CHECK(b.offer("e1", kAny) == 0);
  CHECK(b.offer("e1", kAny) == -1);
  b.now += kWait;
  CHECK(b.offer("e1", kAny) == 1);
  CHECK(b.offer("e1", kAny) == 2);
  CHECK(b.offer("e2", kAny) == 4);
  CHECK(b.offer("e2", kAny) == -1);
  CHECK(b.rejected);
  b.now += kWait;
  CHECK(b.offer("e2", kAny) == 3);
  CHECK(b.offer("e2", kAny) == -1);
  CHECK_FALSE(b.rejected);
}

TEST_CASE("T6 legacy reset: a task without preference does not start the wait again",
          "[task_set]") {
  SetBed b;
  b.options.locality_legacy_reset = true;
  b.add_each(2);
  b.tasks({{"h2"}, {}});
  CHECK(b.offer("e1", kAny) == -1);
  b.now += kWait / 2;
  CHECK(b.offer("e1", kNoPref) == 1);
  b.now += kWait / 2;
  CHECK(b.offer("e1", kAny) == 0);
}

TEST_CASE("T6 a zombie gives nothing and rejects nothing", "[task_set]") {
  SetBed b;
  b.add("e1", "h1");
  b.tasks({{"h2"}});
  b.set->make_zombie();
  CHECK(b.offer("e1", kAny) == -1);
  CHECK_FALSE(b.rejected);
}

TEST_CASE("T7 tasks of a lost executor's host wait, then run elsewhere", "[task_set]") {
  SetBed b;
  b.add_each(3);
  b.tasks({{"h1"}, {"h2"}, {"h3"}});
  CHECK(b.offer("e1", kAny) == 0);
  CHECK(b.offer("e1", kAny) == -1);
  b.lose("e2");
  CHECK(b.offer("e1", kAny) == -1);
  b.now += 2 * kWait;
  CHECK(b.offer("e1", kAny) == 1);
  CHECK(b.offer("e1", kAny) == 2);
  CHECK(b.offer("e1", kAny) == -1);
  CHECK(b.offer("e3", kAny) == -1);
}

TEST_CASE("T11 levels follow the executors that are alive (no racks known)", "[task_set]") {
  SetBed b;
  b.tasks({{at("h1", "execA")}, {at("h2", "execC")}, {}});
  using L = std::vector<Locality>;
  CHECK(b.levels() == L{kNoPref, kAny});
  b.add("execD", "h1");
  CHECK(b.levels() == L{kNode, kNoPref, kAny});
  b.add("execC", "h2");
  CHECK(b.levels() == L{kProcess, kNode, kNoPref, kAny});
  b.lose("execC");
  CHECK(b.levels() == L{kNode, kNoPref, kAny});
  b.lose("execD");
  CHECK(b.levels() == L{kNoPref, kAny});
}

TEST_CASE("T13 a preferred executor that joins makes the set local again", "[task_set]") {
  SetBed b;
  b.tasks({{at("h1", "execA")}, {at("h1", "execA")}});
  b.add("execC", "h3");
  CHECK(b.offer("execC", kAny) == 0);
  b.add("execA", "h1");
  CHECK(b.levels() == std::vector<Locality>{kProcess, kNode, kAny});
  CHECK(b.offer("execC", kAny) == -1);
  CHECK(b.offer("execA", kAny) == 1);
}

TEST_CASE("T21 nothing of a finished set is undone with its executor", "[task_set]") {
  SetBed b;
  const int32_t e1 = b.add("e1", "h1");
  b.tasks({{}, {}}, true);
  for (int32_t i : {0, 1}) {
    CHECK(b.offer("e1", kNoPref) == i);
    b.succeed(i, e1);
  }
  CHECK(b.set->zombie());
  CHECK(b.set->undo(e1).empty());
}

TEST_CASE("T24 node-local tasks go at once, the others with NO_PREF", "[task_set]") {
  SetBed b;
  b.add_each(3);
  b.tasks({{"h1"}, {"h2"}, {}, {"h3"}});
  CHECK(b.offer("e1", kNode) == 0);
  CHECK(b.offer("e2", kNode) == 1);
  CHECK(b.offer("e3", kNode) == 3);
  CHECK(b.offer("e3", kNode) == -1);
  CHECK(b.offer("e2", kNoPref) == 2);
}

TEST_CASE("T25 no wait once the process-local queue is empty", "[task_set]") {
  SetBed b;
  b.add("eA", "h1");
  b.add("eB", "h2");
  b.tasks({{"h1"}, {"h2"}, {at("h1", "eA")}, {at("h2", "eB")}});
  CHECK(b.offer("eA", kNode) == 2);
  CHECK(b.offer("eB", kNode) == 3);
  CHECK(b.offer("eA", kNode) == 0);
  CHECK(b.offer("eB", kNode) == 1);
}

TEST_CASE("T26 process-local tasks first, then the one without preference", "[task_set]") {
  SetBed b;
  b.add("eA", "h1");
  b.add("eB", "h2");
  b.tasks({{}, {at("h1", "eA")}, {at("h2", "eB")}});
  CHECK(b.offer("eA", kProcess) == 1);
  CHECK(b.offer("eB", kProcess) == 2);
  CHECK(b.offer("eA", kNoPref) == 0);
}

TEST_CASE("T27 levels may shrink below the current one", "[task_set]") {
  SetBed b;
  b.tasks({{at("h1", "execA")}, {at("h2", "execB.2")}});
  CHECK(b.levels() == std::vector<Locality>{kAny});
  b.add("execA", "h1");
  b.add("execB.2", "h2");
  CHECK(b.levels() == std::vector<Locality>{kProcess, kNode, kAny});
  b.now += 2 * kWait;
  b.lose("execA");
  b.lose("execB.2");
  b.add("stranger", "h9");
  CHECK(b.offer("stranger", kAny) == 0);
}

TEST_CASE("T28 an HDFS-cached block makes executors of its host process-local", "[task_set]") {
  SetBed b;
  b.add("e3", "host3");
  b.tasks({{"host1"}, {"hdfs_cache_host3"}});
  CHECK(b.levels() == std::vector<Locality>{kProcess, kNode, kAny});
  b.lose("e3");
  CHECK(b.levels() == std::vector<Locality>{kAny});
}

TEST_CASE("T29 location strings", "[task_set]") {
  struct Case {
    const char* text;
    TaskLocation want;
  };
  const std::vector<Case> cases = {
      {"host1", {"host1", {}, false}},
      {"hdfs_cache_host1", {"host1", {}, true}},
      {"executor_host1_3", {"host1", ExecutorId{"3"}, false}},
      {"executor_host1", {"executor_host1", {}, false}},
      {"executor_some.host1_executor_task_3", {"some.host1", ExecutorId{"executor_task_3"}, false}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(parse_task_location(c.text) == c.want);
  }
}

TEST_CASE("T33 names say stage and attempt", "[task_set]") {
  SetBed b;
  for (const auto& [stage, attempt, name] : std::vector<std::tuple<int, int, const char*>>{
           {0, 0, "TaskSet_0.0"}, {0, 1, "TaskSet_0.1"}, {1, 1, "TaskSet_1.1"}}) {
    TaskSetSpec spec;
    spec.stage = StageId{stage};
    spec.attempt = attempt;
    CHECK(TaskSet(std::move(spec), b.executors, b.options, 0, b.now).name() == name);
  }
}

TEST_CASE("T38 a partition made elsewhere while its copy runs counts once", "[task_set]") {
  SetBed b;
  b.add("e1", "h1");
  b.tasks(Locations(10));
  for (int i = 0; i < 8; ++i) b.offer("e1", kNoPref);
  b.set->complete(3);
  b.set->complete(8);
  CHECK(b.set->pending() == 1);
  CHECK(b.set->running() == 8);
  CHECK(b.offer("e1", kNoPref) == 9);
  CHECK(b.offer("e1", kNoPref) == -1);
  for (int i = 0; i < 10; ++i)
    if (i != 8) b.succeed(i);
  CHECK(b.set->successes() == 10);
  CHECK(b.set->zombie());
}

TEST_CASE("T52 a success forgets the task's failures", "[task_set]") {
  SetBed b;
  const int32_t e1 = b.add("e1", "h1");
  b.tasks({{}, {}}, true);
  for (int i = 0; i < 3; ++i) {
    CHECK(b.offer("e1", kNoPref) == 0);
    b.set->stop(0);
    b.set->count_failure(0);
    b.set->requeue(0);
  }
  CHECK(b.set->failures(0) == 3);
  CHECK(b.offer("e1", kNoPref) == 0);
  b.succeed(0, e1);
  CHECK(b.set->failures(0) == 0);
  CHECK(b.set->undo(e1).size() == 1);
  CHECK(b.offer("e1", kNoPref) == 0);
  CHECK(b.set->failures(0) == 0);
}

TEST_CASE("as many failures are counted as spark.task.maxFailures may allow", "[task_set]") {
  SetBed b;
  b.tasks({{}});
  for (int i = 0; i < 70000; ++i) b.set->count_failure(0);
  CHECK(b.set->failures(0) == 70000);
}

TEST_CASE("an output made here after one of another stage attempt is lost with its executor",
          "[task_set]") {
  SetBed b;
  const int32_t e1 = b.add("e1", "h1");
  b.tasks({{}, {}}, true);
  CHECK(b.offer("e1", kNoPref) == 0);
  b.set->complete(0);
  b.succeed(0, e1);
  const auto lost = b.set->undo(e1);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].first == 0);
  CHECK(lost[0].second.executor == e1);
  CHECK(b.set->pending() == 2);
}

TEST_CASE("failed tasks are tried again first, in a set with preferences too", "[task_set]") {
  const bool located = GENERATE(false, true);
  SetBed b;
  b.add("e1", "h1");
  b.tasks(Locations(4, located ? std::vector<std::string>{"h1"} : std::vector<std::string>{}));
  CHECK(b.offer("e1", kAny) == 0);
  CHECK(b.offer("e1", kAny) == 1);
  b.stop(0);
  CHECK(b.set->pending() == 3);
  CHECK(b.offer("e1", kAny) == 0);
  CHECK(b.offer("e1", kAny) == 2);
}

TEST_CASE("a task taken back leaves no trace", "[task_set]") {
  SetBed b;
  b.add("e1", "h1");
  b.tasks({{}, {}});
  CHECK(b.set->start(0) == 0);
  b.set->take_back(0, 0);
  CHECK(b.set->pending() == 2);
  CHECK(b.set->running() == 0);
  CHECK(b.set->start(0) == 0);
}

TEST_CASE("reasons in words", "[task_set]") {
  struct Case {
    TaskEndReason reason;
    const char* text;
    bool counts;
  };
  const auto of = [](TaskEndKind k, auto fill) {
    TaskEndReason r;
    r.kind = k;
    fill(r);
    return r;
  };
  const std::vector<Case> cases = {
      {of(TaskEndKind::ExceptionFailure,
          [](auto& r) {
            r.class_name = "E";
            r.description = "d";
            r.stack = "at f";
          }),
       "E: d\nat f", true},
      {of(TaskEndKind::TaskKilled, [](auto& r) { r.description = "why"; }), "TaskKilled (why)",
       false},
      {of(TaskEndKind::TaskResultLost, [](auto&) {}),
       "TaskResultLost (result lost from block manager)", true},
      {of(TaskEndKind::ExecutorLostFailure,
          [](auto& r) {
            r.executor = ExecutorId{"1"};
            r.exit_caused_by_app = true;
            r.description = "x";
          }),
       "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: x",
       true},
      {of(TaskEndKind::ExecutorLostFailure,
          [](auto& r) {
            r.executor = ExecutorId{"1"};
            r.description = "x";
          }),
       "ExecutorLostFailure (executor 1 exited unrelated to the running tasks) Reason: x", false},
      {of(TaskEndKind::FetchFailed,
          [](auto& r) {
            r.shuffle = ShuffleId{3};
            r.reduce = 2;
            r.description = "m";
          }),
       "FetchFailed(null, shuffleId=3, mapIndex=-1, mapId=-1, reduceId=2, message=\nm\n)", false},
      {of(TaskEndKind::UnknownReason, [](auto&) {}), "UnknownReason", true},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(error_text(c.reason) == c.text);
    CHECK(counts_as_failure(c.reason) == c.counts);
  }
}
