// Barrier stages: which jobs may have one, what a failed task means, and the barrier itself.
//
// Through the whole machine; ids are those of spec/11, section D.
#include "conf/error.hpp"
#include "conf/keys.hpp"
#include "core/api/runtime/failure_options.hpp"
#include "core/plan/tasks/task.hpp"
#include "tests/core/scheduler/dag/dag_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

std::shared_ptr<Node> together(int32_t partitions, std::vector<Dependency> deps = {},
                               Locations preferred = {}) {
  auto node = rdd(partitions, std::move(deps), std::move(preferred));
  node->starts_barrier = node->barrier = true;
  return node;
}

constexpr const char* kChain =
    "[SPARK-24820][SPARK-24821]: Barrier execution mode does not allow the following pattern of "
    "RDD chain within a barrier stage:\n1. ";
constexpr const char* kSlots =
    "[SPARK-24819]: Barrier execution mode does not allow run a barrier stage that requires more "
    "slots than the total number of slots in the cluster currently. ";

void kill_rest(Dag& c, int32_t stage, int32_t attempt) {
  for (const Sent& s : c.live(stage, attempt)) c.killed(s);
}

}  // namespace

// ---- failures ----------------------------------------------------------------------------------

TEST_CASE("D28 a lost output of a barrier map stage loses all of them", "[dag]") {
  TwoStages c(shuffle(together(2, {}, at({"A", "B"})), 2));
  c.first_lost();
  CHECK(c.driver.map_outputs().missing(c.s->id) == Ints{0, 1});
  c.advance(200ms);
  c.maps_ok(0, 1, {0, 1});
  c.results_ok(1, 1);
  CHECK(c.results[c.ticket].size() == 2);
  c.check_clean();
}

TEST_CASE("D29 a barrier task that fails in any way runs all of them again", "[dag]") {
  TwoStages c(shuffle(together(2, {}, at({"A", "B"})), 2));
  c.map_ok(c.task(0, 0, 0));
  CHECK(c.driver.map_outputs().missing(c.s->id) == Ints{1});
  c.killed(c.task(0, 0, 1), "by a test");
  CHECK(c.completed(true) == Ints{0});
  CHECK(c.seen<StageCompleted>()[0].stage.failure_reason ==
        "Stage failed because barrier task ShuffleMapTask(0, 1) finished unsuccessfully.\n"
        "TaskKilled (by a test)");
  CHECK(c.driver.map_outputs().missing(c.s->id) == Ints{0, 1});
  c.advance(200ms);
  c.maps_ok(0, 1, {0, 1});
  c.results_ok(1);
  c.check_succeeded(c.ticket);
}

TEST_CASE("D30 a barrier result stage is not tried again", "[dag]") {
  Dag c;
  const uint64_t t = c.job(together(2));
  const Sent other = c.task(0, 0, 1);
  c.fail(c.task(0, 0, 0), "no");
  REQUIRE(c.messages<KillTask>().size() >= 1);
  CHECK(c.messages<KillTask>()[0].id == other.id);
  CHECK(c.messages<KillTask>()[0].reason ==
        "Task ResultTask(0, 0) from barrier stage ResultStage 0 () failed.");
  REQUIRE(c.ended(t));
  CHECK(c.error(t).starts_with(
      "Job aborted due to stage failure: Could not recover from a failed barrier ResultStage. Most "
      "recent failure reason: Stage failed because barrier task ResultTask(0, 0) finished "
      "unsuccessfully.\n"));
  c.check_clean();
}

TEST_CASE("D68 two failures of one attempt are one, those of an old attempt none", "[dag]") {
  TwoStages c(shuffle(together(3), 1));
  const std::vector<Sent> first = c.live(0, 0);
  c.fail(first[0], "one");
  c.fail(first[1], "two");
  CHECK(c.completed(true) == Ints{0});
  c.advance(200ms);
  CHECK(c.submissions(0) == 2);
  c.fail(first[2], "late");
  c.advance(200ms);
  CHECK(c.submissions(0) == 2);
  c.maps_ok(0, 1, {0, 1, 2});
  c.results_ok(1);
  c.check_succeeded(c.ticket);
}

TEST_CASE("the others of a failed barrier task are killed once", "[dag]") {
  TwoStages c(shuffle(together(4), 1));
  const std::vector<Sent> first = c.live(0, 0);
  c.fail(first[0], "no");
  CHECK(c.messages<KillTask>().size() == 3);
  for (size_t i = 1; i < 4; ++i) {
    c.killed(first[i]);
    CHECK(c.messages<KillTask>().empty());
  }
  c.advance(200ms);
  c.maps_ok(0, 1, {0, 1, 2, 3});
  c.results_ok(1);
  c.check_succeeded(c.ticket);
}

TEST_CASE("outputs of a barrier attempt that failed don't count, however late", "[dag]") {
  TwoStages c(shuffle(together(2), 1));
  const Sent late = c.task(0, 0, 1);
  c.fail(c.task(0, 0, 0), "no");
  const bool in_time = GENERATE(false, true);
  if (in_time) c.map_ok(late);
  c.advance(200ms);
  CHECK(c.live_partitions(0, 1) == Ints{0, 1});
  if (!in_time) c.map_ok(late);
  CHECK(c.driver.map_outputs().available(c.s->id) == 0);
  c.maps_ok(0, 1);
  c.results_ok(1);
  c.check_succeeded(c.ticket);
}

TEST_CASE("a barrier task that fails by what no further attempt can help fails its job", "[dag]") {
  TwoStages c(shuffle(together(2), 1));
  TaskEndReason exists;
  exists.kind = TaskEndKind::ExceptionFailure;
  exists.class_name = "FileAlreadyExistsException";
  exists.description = "/out/part-00000";
  c.fail(c.task(0, 0, 0), exists);
  c.check_failed(c.ticket,
                 "Job aborted due to stage failure: Task 0 in stage 0.0 can not write to output "
                 "file: /out/part-00000; not retrying");
  kill_rest(c, 0, 0);
  c.check_clean();
}

// Spark too hears of the task's end before its set gives up.
TEST_CASE("a barrier result task that fails in vain fails its job as any other of its stage",
          "[dag]") {
  Dag c;
  const uint64_t t = c.job(together(2));
  TaskEndReason open;
  open.kind = TaskEndKind::ExceptionFailure;
  open.class_name = "NotSerializableException";
  open.description = "it is open";
  c.fail(c.task(0, 0, 1), open);
  REQUIRE(c.ended(t));
  CHECK(c.error(t).starts_with(
      "Job aborted due to stage failure: Could not recover from a failed barrier ResultStage. Most "
      "recent failure reason: "));
  CHECK_THAT(c.error(t), Catch::Contains("it is open"));
  CHECK(c.seen<TaskEnded>().size() == 1);
  kill_rest(c, 0, 0);
  CHECK(c.submitted().size() == 1);
  c.check_clean();
}

TEST_CASE("the fourth failed attempt of a barrier map stage aborts", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1, {shuffle(together(2), 1)}));
  for (int attempt = 0; attempt < 4; ++attempt) {
    CHECK_FALSE(c.ended(t));
    c.fail(c.task(0, attempt, 0), "no");
    kill_rest(c, 0, attempt);
    c.advance(200ms);
  }
  REQUIRE(c.ended(t));
  CHECK(c.error(t).starts_with(
      "Job aborted due to stage failure: ShuffleMapStage 0 (rdd at test) has failed the maximum "
      "allowable number of times: 4. Most recent failure reason:\nStage failed because barrier "
      "task ShuffleMapTask(0, 0) "));
  c.check_clean();
}

TEST_CASE("a barrier stage that can't fetch is given up as a whole", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(1, {}, at({"A"})), 2);
  SECTION("a map stage is tried again") {
    const ShufflePtr s1 = shuffle(together(2, {s0}), 1);
    const uint64_t t = c.job(rdd(1, {s1}));
    c.maps_ok(0);
    const Sent waits = c.task(1, 0, 1);
    c.fetch_failed(c.task(1, 0, 0), s0->id, 0, "A");
    REQUIRE(c.messages<KillTask>().size() == 1);
    CHECK(c.messages<KillTask>()[0].id == waits.id);
    kill_rest(c, 1, 0);
    c.advance(200ms);
    c.maps_ok(0, 1);
    c.maps_ok(1, 1, {0, 1});
    c.results_ok(2);
    CHECK(c.error(t).empty());
  }
  SECTION("a result stage is not") {
    const uint64_t t = c.job(together(2, {s0}));
    c.maps_ok(0);
    c.fetch_failed(c.task(1, 0, 0), s0->id, 0, "A");
    REQUIRE(c.ended(t));
    CHECK(c.error(t).find("Could not recover from a failed barrier ResultStage. Most recent "
                          "failure reason: FetchFailed(") != std::string::npos);
  }
  c.check_clean();
}

TEST_CASE("an output lost with its executor fails the barrier attempt", "[dag]") {
  TwoStages c(shuffle(together(2, {}, at({"A", "B"})), 1));
  c.map_ok(c.task(0, 0, 0));
  c.lose("A");
  CHECK(c.completed(true) == Ints{0});
  kill_rest(c, 0, 0);
  c.advance(200ms);
  c.advance(8s);  // A's place is not to be had
  c.maps_ok(0, 1, {0, 1});
  c.results_ok(1);
  c.check_succeeded(c.ticket);
}

// ---- which jobs may start ----------------------------------------------------------------------

TEST_CASE("a barrier stage of an unsupported shape is refused", "[dag]") {
  Dag c;
  const auto base = together(2);
  const auto refused = [&](uint64_t t) {
    REQUIRE(c.ended(t));
    CHECK(c.error(t).starts_with(kChain));
  };
  refused(c.job(base, {0}));  // take() and first() look at some partitions only
  auto wider = rdd(4, {narrow(base)});
  wider->barrier = true;
  refused(c.job(wider));
  auto zipped = rdd(2, {narrow(base), narrow(together(2))});
  zipped->barrier = true;
  refused(c.job(zipped));
  refused(c.job(together(2, {narrow(rdd(4))})));
  refused(c.map_stage_job(shuffle(wider, 1)));
  refused(c.job(rdd(1, {shuffle(wider, 1)})));
  CHECK(c.seen<JobStarted>().empty());
  auto child = rdd(2, {narrow(base), narrow(rdd(2))});
  child->barrier = true;
  const uint64_t t = c.job(child);
  c.results_ok(c.live().at(0).stage.value);
  c.check_succeeded(t);
}

TEST_CASE("a barrier stage is refused while dynamic allocation is on", "[dag]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.allocation.emplace().tasks_per_executor = 1;
  Dag c(o);
  const uint64_t t = c.job(together(2));
  CHECK(c.error(t) ==
        "[SPARK-24942]: Barrier execution mode does not support dynamic resource allocation for "
        "now. You can disable dynamic resource allocation by setting Spark conf "
        "\"spark.dynamicAllocation.enabled\" to \"false\".");
  c.check_clean();
}

TEST_CASE("a job waits for slots for its barrier stage, and starts when they are there", "[dag]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 2);
  const uint64_t t = c.job(together(3), {0, 1, 2}, {{"k", "v"}});
  CHECK(c.seen<JobStarted>().empty());
  CHECK(c.warnings().back() ==
        "Barrier stage in job 0 requires 3 slots, but only 2 are available. Will retry up to 40 "
        "more times");
  CHECK_FALSE(c.driver.idle_state_is_clean());
  c.advance(15s);
  CHECK(c.warnings().back().ends_with("Will retry up to 39 more times"));
  c.executor("B", 1);
  CHECK(c.sent.empty());
  c.advance(15s);
  REQUIRE(c.live().size() == 3);
  CHECK(c.seen<JobStarted>().at(0).properties.at("k") == "v");
  c.results_ok(c.live()[0].stage.value);
  CHECK(c.error(t).empty());
  CHECK(c.results[t].size() == 3);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("nothing is left of a job that becomes unsupported while it waits for slots", "[dag]") {
  Cluster c(test_options(0));
  c.executor("A", 2);
  const auto base = rdd(3);
  const uint64_t t = c.job(together(3, {narrow(base)}));
  CHECK_FALSE(c.ended(t));
  write_checkpoint(base, rdd(4));
  c.on(CheckpointDone{base});
  c.advance(15s);
  REQUIRE(c.ended(t));
  CHECK(c.error(t).starts_with(kChain));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("after forty tries without slots the job fails", "[dag]") {
  Cluster c(test_options(0));
  c.executor("A", 2);
  const uint64_t t = c.job(rdd(1, {shuffle(together(3), 1)}));
  c.advance(15s * 40 - 1s);
  CHECK_FALSE(c.ended(t));
  c.advance(1s);
  REQUIRE(c.ended(t));
  CHECK(c.error(t).starts_with(kSlots));
  CHECK(c.seen<JobStarted>().empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a job that waits for slots can be cancelled", "[dag]") {
  Cluster c(test_options(0));
  c.executor("A", 1);
  const uint64_t t = c.job(together(2), {0, 1}, {{"spark.jobGroup.id", "g"}});
  std::string why;
  SECTION("by itself") {
    c.on(CancelJob{t, "because"});
    why = "Job 0 cancelled because";
  }
  SECTION("by its group") {
    c.on(CancelJobGroup{"other"});
    CHECK_FALSE(c.ended(t));
    c.on(CancelJobGroup{"g"});
    why = "Job 0 cancelled part of cancelled job group g";
  }
  SECTION("by the end of the application") {
    c.on(StopDriver{"the driver received signal 15"});
    why = "Job 0 cancelled because SparkContext was shut down: the driver received signal 15";
  }
  SECTION("by the cluster manager's") {
    c.on(BackendDead{"no masters"});
    why = "Job aborted due to stage failure: no masters";
  }
  CHECK(c.error(t) == why);
  c.executor("B", 1);
  c.advance(30s);
  CHECK(c.sent.empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("limits that would let no barrier stage run are refused", "[dag]") {
  const BarrierOptions defaults = barrier_options({});
  CHECK(defaults.sync_timeout == 24h * 365);
  CHECK(defaults.slots_interval == 15s);
  CHECK(defaults.slots_max_failures == 40);
  for (const conf::KeySpec& key : {conf::kBarrierSyncTimeout.spec, conf::kBarrierSlotsInterval.spec,
                                   conf::kBarrierSlotsMaxFailures.spec}) {
    const std::string name(key.name);
    CHECK_THROWS_WITH(barrier_options(conf::Conf().with(name, "0")),
                      name + " was 0, but must be > 0.");
    CHECK_NOTHROW(barrier_options(conf::Conf().with(name, "1")));
  }
}

// ---- the barrier -------------------------------------------------------------------------------

namespace {

/// Three tasks of a map stage, and what the driver answered them.
struct Meeting : TwoStages {
  explicit Meeting(DriverOptions o = test_options(GENERATE(0, 8)))
      : TwoStages(shuffle(together(3), 1), std::move(o)) {}

  BarrierSync request(int32_t partition, int32_t epoch, bool gathers, int32_t attempt = 0) const {
    BarrierSync r;
    r.request = static_cast<uint64_t>(partition) + 7;
    r.task = task(0, attempt, partition).id;
    r.stage_attempt = attempt;
    r.stage = StageId{0};
    r.partition = partition;
    r.epoch = epoch;
    r.gathers = gathers;
    r.message = "m" + std::to_string(partition);
    return r;
  }
  /// Answers of this turn, by request.
  std::map<uint64_t, BarrierReached> ask(int32_t partition, int32_t epoch = 0, bool gathers = true,
                                         int32_t attempt = 0) {
    from(task(0, attempt, partition).executor, request(partition, epoch, gathers, attempt));
    return answers();
  }
  std::map<uint64_t, BarrierReached> answers() const {
    std::map<uint64_t, BarrierReached> all;
    for (const BarrierReached& m : messages<BarrierReached>()) all[m.request] = m;
    return all;
  }
  void end() {
    on(CancelJob{ticket, ""});
    check_clean();
  }
};

}  // namespace

TEST_CASE("tasks at a barrier are answered when the last one has come", "[dag]") {
  Meeting c;
  for (int32_t epoch = 0; epoch < 2; ++epoch) {
    CHECK(c.ask(2, epoch).empty());
    CHECK(c.ask(0, epoch).empty());
    CHECK(c.ask(0, epoch).empty());  // the same request again
    const auto answers = c.ask(1, epoch);
    REQUIRE(answers.size() == 3);
    for (int32_t p = 0; p < 3; ++p) {
      const BarrierReached& m = answers.at(static_cast<uint64_t>(p) + 7);
      CHECK(m.error.empty());
      CHECK(m.messages == Strings{"m0", "m1", "m2"});
      CHECK(c.messages<BarrierReached>(c.task(0, 0, p).executor).size() >= 1);
    }
  }
  c.end();
}

TEST_CASE("a request for a barrier that is over, or was never there, is refused", "[dag]") {
  Meeting c;
  for (const int32_t p : {0, 1, 2}) c.ask(p);
  CHECK(c.ask(1, 0).at(8).error ==
        "The request to sync of Stage 0 (Attempt 0) with barrier epoch 0 has already finished. "
        "Maybe task 1 is not properly killed.");
  BarrierSync stray = c.request(1, 1, true);
  stray.partition = 3;
  c.from("A", stray);
  CHECK_FALSE(c.answers().at(8).error.empty());
  stray = c.request(1, 1, true);
  stray.stage = StageId{5};
  c.from("A", stray);
  CHECK(c.answers().at(8).error.starts_with("The request to sync of Stage 5 (Attempt 0) with "));
  for (const auto& [attempt, epoch, partition] : {std::tuple{1, 1, 1}, {0, 5, 1}, {0, 1, -1}}) {
    stray = c.request(1, epoch, true);
    stray.stage_attempt = attempt;
    stray.partition = partition;
    c.from("A", stray);
    CHECK_FALSE(c.answers().at(8).error.empty());
  }
  c.peers["X"] = 66;
  c.from("X", c.request(1, 1, true));
  CHECK(c.last.empty());
  c.end();
}

TEST_CASE("barrier() and all_gather() don't meet", "[dag]") {
  Meeting c;
  c.ask(0, 0, true);
  const auto answers = c.ask(1, 0, false);
  REQUIRE(answers.size() == 2);
  for (const auto& [request, m] : answers)
    CHECK(m.error ==
          "Stage 0 (Attempt 0) tried to use requestMethod `BARRIER` during barrier epoch 0, which "
          "does not match the current synchronized requestMethod `ALL_GATHER`");
  CHECK_FALSE(c.ask(2).at(9).error.empty());
  c.end();
}

TEST_CASE("a barrier's timer that comes when nobody waits is no failure", "[dag]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.barrier.sync_timeout = 10s;
  Meeting c(o);
  for (const int32_t p : {0, 1, 2}) c.ask(p);
  c.advance(10s);
  CHECK(c.answers().empty());
  c.on(DriverTimer{DriverTimer::Kind::BarrierSync, 77});
  CHECK(c.last.empty());
  c.end();
}

TEST_CASE("who waits too long at a barrier fails", "[dag]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.barrier.sync_timeout = 10s;
  Meeting c(o);
  const auto timers = [&] {
    return std::count_if(c.timers.begin(), c.timers.end(), [](const auto& t) {
      return t.second.kind == DriverTimer::Kind::BarrierSync;
    });
  };
  c.ask(0);
  c.advance(9s);
  for (const int32_t p : {1, 2}) c.ask(p);
  for (const int32_t p : {0, 1}) c.ask(p, 1);
  CHECK(timers() == 1);  // however many barriers there are
  c.last.clear();
  c.advance(10s - 1us);
  CHECK(c.answers().empty());
  c.advance(1us);
  const auto answers = c.answers();
  REQUIRE(answers.size() == 2);
  CHECK(answers.at(7).error ==
        "The coordinator didn't get all barrier sync requests for barrier epoch 1 from Stage 0 "
        "(Attempt 0) within 10 second(s).");
  c.fail(c.task(0, 0, 0), "timed out");
  kill_rest(c, 0, 0);
  c.advance(200ms);
  for (const int32_t p : {0, 1}) CHECK(c.ask(p, 0, false, 1).empty());
  CHECK(c.ask(2, 0, false, 1).size() == 3);
  c.end();
}

TEST_CASE("tasks of a barrier stage know where all of them run", "[dag]") {
  Dag c;
  c.on(SubmitJob{[] {
    JobRequest r;
    r.ticket = 1;
    r.root = together(2, {}, at({"C", "A"}));
    r.partitions = {0, 1};
    r.properties = {{"k", "v"}};
    return r;
  }()});
  const std::vector<StageProgram> programs = c.messages<StageProgram>();
  REQUIRE(programs.size() == 2);
  for (const StageProgram& p : programs) {
    CHECK(p.properties.at(kBarrierAddresses) == "hC:7079,hA:7079");
    CHECK(p.properties.at("k") == "v");
  }
  c.results_ok(0);
  c.check_clean();
}

TEST_CASE("the others of a failed barrier task are interrupted if the job asks for it", "[dag]") {
  const bool interrupts = GENERATE(false, true);
  Dag c;
  std::map<std::string, std::string> properties;
  if (interrupts) properties["spark.job.interruptOnCancel"] = "true";
  const uint64_t t = c.job(rdd(1, {shuffle(together(2), 1)}), {0}, properties);
  c.fail(c.task(0, 0, 0));
  REQUIRE(c.messages<KillTask>().size() == 1);
  CHECK(c.messages<KillTask>()[0].interrupt == interrupts);
  c.on(CancelJob{t, ""});
  c.check_clean();
}
