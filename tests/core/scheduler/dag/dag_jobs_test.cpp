// Jobs: results, cancellation, accumulators, order of events.
//
// Through the whole machine; ids are those of spec/11, section D.
#include "tests/core/scheduler/dag/dag_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {
using Updates = std::vector<AccumulatorUpdate>;
}

TEST_CASE("D4 a job without partitions ends at once, with both events", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(3), {}, {{"k", "v"}});
  CHECK(c.error(t).empty());
  CHECK(c.sent.empty());
  REQUIRE(c.seen<JobStarted>().size() == 1);
  CHECK(c.seen<JobStarted>()[0].properties.at("k") == "v");
  CHECK(c.seen<JobStarted>()[0].stages.empty());
  REQUIRE(c.seen<JobEnded>().size() == 1);
  CHECK(c.seen<JobEnded>()[0].succeeded);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a partition that is not there is refused", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(3), {0, 3});
  CHECK(c.error(t) ==
        "Attempting to access a non-existent partition: 3. Total number of partitions: 3");
  CHECK(c.seen<JobStarted>().empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("D6 D7 T1 one partition, one task, one result", "[dag]") {
  Dag c;
  const bool through_narrow = GENERATE(false, true);
  const uint64_t t = c.job(through_narrow ? rdd(1, {narrow(rdd(1))}) : rdd(1));
  REQUIRE(c.live().size() == 1);
  c.succeed(c.live()[0], "42");
  CHECK(c.results[t] == Values{{0, "42"}});
  REQUIRE(c.seen<TaskEnded>().size() == 1);
  CHECK(c.seen<TaskEnded>()[0].kind() == TaskEndKind::Success);
  CHECK(c.completed(false) == Ints{0});
  c.check_clean();
}

TEST_CASE("D12 a stage that can't be encoded fails its job", "[dag]") {
  ProgramCodec codec = test_codec();
  codec.program = [](const Node&, const Descriptor*, std::string_view) -> Bytes {
    throw std::runtime_error("a socket can't travel");
  };
  Cluster c(test_options(GENERATE(0, 8)), codec);
  c.executor("A");
  const uint64_t t = c.job(rdd(1));
  CHECK(c.error(t) ==
        "Job aborted due to stage failure: Task not serializable: a socket can't travel");
  CHECK(c.seen<StageSubmitted>().size() == 1);
  CHECK(c.completed(true) == Ints{0});
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("D13 a task set that fails fails its job", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1));
  for (int i = 0; i < 4; ++i) c.fail(c.live()[0], "some failure");
  REQUIRE(c.ended(t));
  CHECK(
      c.error(t).starts_with("Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 "
                             "times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (h"));
  CHECK(c.error(t).ends_with("std::runtime_error: some failure\nDriver stacktrace:"));
  CHECK(c.completed(true) == Ints{0});
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("D14 cancel", "[dag]") {
  Dag c;
  const uint64_t t =
      c.job(rdd(1), {0}, {{"spark.job.interruptOnCancel", GENERATE("true", "True", "false")}});
  c.on(CancelJob{t, ""});
  CHECK(c.error(t) == "Job 0 cancelled ");
  CHECK(c.completed(true) == Ints{0});
  REQUIRE(c.messages<KillTask>().size() == 1);
  CHECK(c.messages<KillTask>()[0].reason == "Stage cancelled: Job 0 cancelled ");
  CHECK(c.messages<KillTask>()[0].interrupt ==
        (c.seen<JobStarted>()[0].properties.at("spark.job.interruptOnCancel") != "false"));
  c.on(CancelJob{t, "again"});
  CHECK_FALSE(c.driver.idle_state_is_clean());
  c.check_clean();
}

TEST_CASE("D48 a value of interruptOnCancel that is none counts as false", "[dag]") {
  Dag c;
  const uint64_t t =
      c.job(rdd(2), {0, 1}, {{"spark.job.interruptOnCancel", GENERATE("yes", "TRUE ", "")}});
  const Sent other = c.task(0, 0, 1);
  for (int i = 0; i < 4; ++i) c.fail(c.task(0, 0, 0), "some failure");
  REQUIRE(c.ended(t));
  CHECK(c.error(t).find("Task 0 in stage 0.0 failed 4 times") != std::string::npos);
  CHECK(c.error(t).find("some failure") != std::string::npos);
  REQUIRE(c.messages<KillTask>().size() == 1);
  CHECK(c.messages<KillTask>()[0].id == other.id);
  CHECK_FALSE(c.messages<KillTask>()[0].interrupt);
  c.killed(other);
  const uint64_t next = c.job(rdd(1));
  c.results_ok(1);
  c.check_succeeded(next);
}

TEST_CASE("D40 a shared stage runs on when one of its jobs is cancelled", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(1), 1);
  const ShufflePtr s1 = shuffle(rdd(1, {s0}), 1);
  const uint64_t t1 = c.job(rdd(1, {s1}), {0}, {{"who", "one"}});
  const uint64_t t2 = c.job(rdd(1, {s1}), {0}, {{"who", "two"}});
  const Sent m0 = c.task(0, 0, 0);
  c.on(CancelJob{t1, ""});
  CHECK(c.messages<KillTask>().empty());
  REQUIRE(c.driver.tasks().task_set(StageId{0}, 0));
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->spec().priority == JobId{0});
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->spec().properties->at("who") == "one");
  c.map_ok(m0);
  REQUIRE(c.driver.tasks().task_set(StageId{1}, 0));
  CHECK(c.driver.tasks().task_set(StageId{1}, 0)->spec().priority == JobId{1});
  CHECK(c.driver.tasks().task_set(StageId{1}, 0)->spec().properties->at("who") == "two");
  c.maps_ok(1);
  c.succeed(c.live()[0], "42");
  CHECK(c.results[t2] == Values{{0, "42"}});
  CHECK(c.error(t1) == "Job 0 cancelled ");
  const auto submitted = c.seen<StageSubmitted>();
  REQUIRE(submitted.size() == 3);
  CHECK(submitted[0].properties.at("who") == "one");
  CHECK(submitted[1].properties.at("who") == "two");
  c.check_clean();
}

TEST_CASE("D51 accumulators count a result once, a map output each time", "[dag]") {
  Dag c;
  const AccumulatorUpdate add{AccumulatorId{1}, "5", false};
  const ShufflePtr s = shuffle(rdd(1, {}, at({"A"})), 2);
  const uint64_t t = c.job(rdd(2, {s}));
  TaskUpdate m = c.output(c.task(0, 0, 0));
  m.accumulators = {add};
  c.update(c.task(0, 0, 0), m);
  CHECK(c.accumulated.size() == 1);
  const Sent first = c.task(1, 0, 0), other = c.task(1, 0, 1);
  c.fetch_failed(other, s->id, 0, "A");
  c.advance(200ms);
  m = c.output(c.task(0, 1, 0));
  m.accumulators = {add};
  c.update(c.task(0, 1, 0), m);
  CHECK(c.accumulated.size() == 2);
  const Sent again = c.task(1, 1, 0);
  TaskUpdate r = c.result(first, "a");
  r.accumulators = {add};
  c.update(first, r);
  CHECK(c.accumulated.size() == 3);
  r = c.result(again, "b");
  r.accumulators = {add};
  c.update(again, r);
  CHECK(c.accumulated.size() == 3);
  CHECK(c.results[t] == Values{{0, "a"}});
  c.results_ok(1, 1);
  CHECK(c.ended(t));
  c.check_clean();
}

TEST_CASE("D67 the end of a task brings those of its updates that count", "[dag]") {
  Dag c;
  const AccumulatorUpdate add{AccumulatorId{1}, "5", false};
  const uint64_t t = c.job(rdd(10));
  for (const Sent& s : c.live()) {
    TaskUpdate r = c.result(s, "x");
    r.accumulators = {add};
    c.update(s, r);
    const size_t ends = c.seen<TaskEnded>().size();
    CHECK(c.accumulated.size() == ends);
  }
  REQUIRE(c.seen<TaskEnded>().size() == 10);
  for (const TaskEnded& e : c.seen<TaskEnded>()) CHECK(e.accumulators == Updates{add});
  CHECK(c.ended(t));
  // One that fails: what is its own doing does not count.
  const uint64_t second = c.job(rdd(1));
  TaskUpdate u;
  u.id = c.live()[0].id;
  u.state = TaskState::Failed;
  u.reason = TaskEndReason{};
  u.reason->kind = TaskEndKind::ExceptionFailure;
  u.accumulators = {add, {AccumulatorId{2}, "7", true}};
  c.update(c.live()[0], u);
  CHECK(c.seen<TaskEnded>().back().accumulators == Updates{{AccumulatorId{2}, "7", true}});
  c.on(CancelJob{second, ""});
  c.check_clean();
}

TEST_CASE("D52 failed tasks' updates count only for internal metrics", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1));
  const auto end = [&](TaskEndKind kind, TaskState state) {
    TaskUpdate u;
    u.id = c.live()[0].id;
    u.state = state;
    u.reason = TaskEndReason{};
    u.reason->kind = kind;
    u.accumulators = {{AccumulatorId{1}, "15", true}, {AccumulatorId{2}, "13", false}};
    c.update(c.live()[0], u);
  };
  end(TaskEndKind::ExceptionFailure, TaskState::Failed);
  end(TaskEndKind::TaskKilled, TaskState::Killed);
  end(TaskEndKind::TaskCommitDenied, TaskState::Killed);
  CHECK(c.accumulated == std::vector<AccumulatorUpdate>(2, {AccumulatorId{1}, "15", true}));
  c.results_ok(0);
  c.check_succeeded(t);
}

TEST_CASE("D83 stopping fails what runs", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(2));
  c.on(StopDriver{});
  CHECK(c.error(t) == "Job 0 cancelled because SparkContext was shut down");
  REQUIRE(c.seen<StageCompleted>().size() == 1);
  CHECK(c.seen<StageCompleted>()[0].stage.failure_reason ==
        "Stage cancelled because SparkContext was shut down");
  CHECK(c.messages<StopExecutor>().size() == 4);
  const uint64_t late = c.job(rdd(1));
  CHECK(c.error(late) == "SparkContext has been shutdown");
}

TEST_CASE("D83 a job that comes after a stop is told its cause too", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(2));
  c.on(StopDriver{"the driver received signal 15"});
  CHECK(c.error(t) ==
        "Job 0 cancelled because SparkContext was shut down: the driver received signal 15");
  const uint64_t late = c.job(rdd(1));
  CHECK(c.error(late) == "SparkContext has been shutdown: the driver received signal 15");
}

TEST_CASE("D84 D85 D86 cancelling by group, stage, tag and all", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(1), 1);
  const uint64_t g = c.job(rdd(1, {s}), {0}, {{"spark.jobGroup.id", "G"}});
  const uint64_t tagged = c.job(rdd(1, {s}), {0}, {{"spark.job.tags", "a,b"}});
  const uint64_t tag_like = c.job(rdd(1), {0}, {{"spark.job.tags", "ab"}});
  const uint64_t plain1 = c.job(rdd(1, {s})), plain2 = c.job(rdd(1, {s})), last = c.job(rdd(1));
  c.on(CancelJobGroup{"G"});
  CHECK(c.error(g) == "Job 0 cancelled part of cancelled job group G");
  CHECK(c.warnings().empty());
  c.on(CancelJobGroup{"G"});
  CHECK(c.warnings() == Strings{"Failed to cancel job group G. Cannot find active jobs for it."});
  c.on(CancelJobsWithTag{"b"});
  CHECK(c.error(tagged) == "Job 1 cancelled part of cancelled job tag(s) b");
  c.on(CancelJobsWithTag{"a"});  // its other tag: it is over
  CHECK(c.seen<JobEnded>().size() == 2);
  CHECK_FALSE(c.ended(tag_like));
  c.on(CancelStage{StageId{0}, ""});
  CHECK(c.error(plain1) == "Job 3 cancelled because Stage 0 was cancelled");
  CHECK(c.error(plain2) == "Job 4 cancelled because Stage 0 was cancelled");
  c.on(CancelAllJobs{});
  CHECK(c.error(last) == "Job 5 cancelled as part of cancellation of all jobs");
  CHECK(c.error(tag_like) == "Job 2 cancelled as part of cancellation of all jobs");
  c.check_clean();
}

TEST_CASE("D84 a job is cancelled by its number, a group for later jobs too", "[dag]") {
  Dag c;
  const std::map<std::string, std::string> of_group{{"spark.jobGroup.id", "G"}};
  const uint64_t first = c.job(rdd(1)), second = c.job(rdd(1)), g = c.job(rdd(1), {0}, of_group);
  c.on(CancelJobById{JobId{1}, "by hand"});
  c.on(CancelJobById{JobId{99}, "never was"});
  CHECK(c.error(second) == "Job 1 cancelled by hand");
  CHECK_FALSE(c.ended(first));
  c.on(CancelJobGroup{"G", true});
  CHECK(c.error(g) == "Job 2 cancelled part of cancelled job group G");
  CHECK(c.error(c.job(rdd(1), {0}, of_group)) ==
        "Job 3 cancelled: Skip running a job that belongs to the cancelled job group G");
  const uint64_t other = c.job(rdd(1), {0}, {{"spark.jobGroup.id", "H"}});
  CHECK_FALSE(c.ended(other));
  c.on(CancelJobGroup{"H"});
  CHECK_FALSE(c.ended(c.job(rdd(1), {0}, {{"spark.jobGroup.id", "H"}})));
  c.on(CancelAllJobs{});
  CHECK(c.ended(first));
  c.check_clean();
}

TEST_CASE("D84 D86 a job without group or tag is in none, whatever is cancelled", "[dag]") {
  Dag c;
  const uint64_t plain = c.job(rdd(1));
  const uint64_t unnamed = c.job(rdd(1), {0}, {{"spark.jobGroup.id", ""}});
  const uint64_t tagged = c.job(rdd(1), {0}, {{"spark.job.tags", "a,b"}});
  for (const char* tag : {"", "a,b", ",", "b,"}) c.on(CancelJobsWithTag{tag});
  for (const uint64_t t : {plain, unnamed, tagged}) CHECK_FALSE(c.ended(t));
  c.on(CancelJobGroup{""});
  CHECK(c.error(unnamed) == "Job 1 cancelled part of cancelled job group ");
  CHECK_FALSE(c.ended(plain));
  CHECK_FALSE(c.ended(tagged));
  c.on(CancelAllJobs{});
  c.check_clean();
}

TEST_CASE("D84 as many groups are cancelled for ever as are tracked, the last ones", "[dag]") {
  DriverOptions o = test_options();
  o.max_cancelled_groups = 2;
  Dag c(o);
  const auto of = [](const char* group) {
    return std::map<std::string, std::string>{{"spark.jobGroup.id", group}};
  };
  for (const char* group : {"A", "B", "A", "C", "C"}) c.on(CancelJobGroup{group, true});
  CHECK(c.ended(c.job(rdd(1), {0}, of("A"))));
  CHECK(c.ended(c.job(rdd(1), {0}, of("C"))));
  CHECK_FALSE(c.ended(c.job(rdd(1), {0}, of("B"))));
  const uint64_t empty = c.job(rdd(1), {}, of("A"));
  REQUIRE(c.ended(empty));
  CHECK(c.error(empty).empty());
  c.on(CancelAllJobs{});
  c.check_clean();
}

TEST_CASE("a cluster manager that gives up fails jobs now and later", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1));
  c.on(BackendDead{"Master removed our application: FAILED"});
  CHECK(c.error(t) == "Job aborted due to stage failure: Master removed our application: FAILED");
  CHECK(c.error(c.job(rdd(1))) == c.error(t));
  c.check_clean();
}

TEST_CASE("events of a job come in order, the end of the job before its last result", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1, {shuffle(rdd(1), 1)}));
  c.maps_ok(0);
  c.succeed(c.live()[0], "42");
  std::string order;
  for (const ListenerEvent& e : c.events)
    std::visit(
        overloaded{
            [&](const JobStarted&) { order += "J"; },
            [&](const StageSubmitted& s) { order += "S" + std::to_string(s.stage.stage.value); },
            [&](const TaskStarted&) { order += "t"; }, [&](const TaskEnded&) { order += "e"; },
            [&](const StageCompleted& s) { order += "C" + std::to_string(s.stage.stage.value); },
            [&](const JobEnded&) { order += "E"; }, [](const auto&) {}},
        e);
  CHECK(order == "JS0teC0S1teC1E");
  CHECK(c.ended(t));
  size_t publish = 99, deliver = 0;
  for (size_t i = 0; i < c.last.size(); ++i) {
    if (std::holds_alternative<Publish>(c.last[i])) publish = i;
    if (std::holds_alternative<DeliverResult>(c.last[i])) deliver = i;
  }
  CHECK(publish < deliver);
}

TEST_CASE("a job of partitions that are not there is refused", "[dag]") {
  Dag c;
  for (const int32_t p : {-1, 2}) {
    const uint64_t t = c.job(rdd(2), {0, p});
    CHECK(c.error(t) == "Attempting to access a non-existent partition: " + std::to_string(p) +
                            ". Total number of partitions: 2");
  }
  c.check_clean();
}

TEST_CASE("a stage is cancelled, and a cluster manager dies, with a reason or without", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1));
  c.on(CancelStage{StageId{0}, "it is dull"});
  CHECK(c.error(t) == "Job 0 cancelled because it is dull");
  const uint64_t last = c.job(rdd(1));
  c.on(BackendDead{""});
  CHECK(c.error(last) == "Job aborted due to stage failure: the cluster manager is gone");
}

TEST_CASE("a program that is large to send is worth a warning", "[dag]") {
  ProgramCodec codec = test_codec();
  codec.program = [](const Node&, const Descriptor*, std::string_view) {
    return std::string(2'000'000, 'x');
  };
  Cluster c(test_options(), codec);
  c.executor("A");
  c.job(rdd(1));
  REQUIRE(c.warnings().size() == 1);
  CHECK(c.warnings()[0].starts_with("Broadcasting large task binary with size "));
}

TEST_CASE("a failed fetch of a shuffle that a stage does not read fails its job", "[dag]") {
  TwoStages c({"A", "A"});
  c.maps_ok(0);
  c.fetch_failed(c.task(1, 0, 0), ShuffleId{1 << 20}, 0, "A");
  CHECK(c.error(c.ticket).find("which its stage does not read") != std::string::npos);
  c.check_clean();
}
