// Results, limits on sizes, messages. Ids are those of spec/11, sections S and T.
#include "core/plan/tasks/task_result.hpp"
#include "core/scheduler/tasks/task_end.hpp"
#include "tests/core/scheduler/scheduler_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

// ---- results -----------------------------------------------------------------------------------

namespace {

TaskUpdate indirect(const Sent& s, int64_t size) {
  TaskUpdate u;
  u.id = s.id;
  u.state = TaskState::Finished;
  u.result_block = "taskresult_" + std::to_string(s.id.value);
  u.result_size = size;
  return u;
}

/// A's first task has left a result of 5 bytes in a block.
struct ResultInBlock : Cluster {
  explicit ResultInBlock(int32_t tasks) : Cluster(test_options(GENERATE(0, 8))) {
    executor("A", 1);
    ticket = job(rdd(tasks));
    first = task(0, 0, 0);
    update(first, indirect(first, 5));
  }
  uint64_t ticket = 0;
  Sent first;
};

}  // namespace

TEST_CASE("an indirect result is fetched, then removed from its executor", "[task_scheduler]") {
  ResultInBlock c(2);
  REQUIRE(c.effects<FetchResult>().size() == 1);
  CHECK(c.effects<FetchResult>()[0].block == "taskresult_0");
  CHECK(c.effects<FetchResult>()[0].from == c.place("A"));
  CHECK(c.seen<TaskGettingResult>().size() == 1);
  CHECK(c.task(0, 0, 1).executor == "A");  // the slot is free meanwhile
  c.on(ResultFetched{c.first.id, Payload(Bytes("12345"))});
  REQUIRE(c.messages<RemoveBlocks>().size() == 1);
  CHECK(c.messages<RemoveBlocks>()[0].blocks == std::vector<std::string>{"taskresult_0"});
  CHECK(c.results[c.ticket].at(0) == "12345");
  c.results_ok(0);
  CHECK(c.ended(c.ticket));
  CHECK(c.driver.executors().at(0).running == 0);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T8 T9 a result that is lost is a failure, the fourth aborts", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  for (int i = 0; i < 4; ++i) {
    CHECK_FALSE(c.ended(t));
    const Sent s = c.task(0, 0, 0);
    CHECK(s.number == i);
    c.update(s, indirect(s, 5));
    c.on(ResultFetched{s.id, Error{"no such block"}});
    CHECK(c.seen<TaskEnded>().back().kind() == TaskEndKind::TaskResultLost);
    CHECK(c.messages<RemoveBlocks>("A").size() == 1);
  }
  REQUIRE(c.ended(t));
  CHECK(c.error(t).find("failed 4 times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) "
                        "(hA executor A): "
                        "TaskResultLost (result lost from block manager): no such block") !=
        std::string::npos);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE(
    "a result for which the driver's disk has no room fails its task, and excludes no executor",
    "[task_scheduler]") {
  const bool own_disk = GENERATE(true, false);
  DriverOptions o = test_options(GENERATE(0, 8));
  o.exclusion.task_and_stage = true;
  o.exclusion.task_attempts_per_executor = 1;
  o.exclusion.task_attempts_per_host = 9;
  o.exclusion.stage_tasks_per_executor = 9;
  o.exclusion.stage_executors_per_host = 9;
  Cluster c(o);
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  const auto fail = [&] {
    const Sent s = c.task(0, 0, 0);
    c.update(s, indirect(s, 5));
    c.on(ResultFetched{s.id, Error{"the disk is full", own_disk}});
    CHECK(c.seen<TaskEnded>().back().kind() == TaskEndKind::TaskResultLost);
  };
  fail();
  CHECK(c.live().size() == (own_disk ? 1 : 0));
  if (!own_disk) return;
  for (int i = 1; i < 4; ++i) fail();
  REQUIRE(c.ended(t));
  CHECK_THAT(c.error(t), Catch::Contains("failed 4 times") &&
                             Catch::Contains("TaskResultLost (result lost from block manager): "
                                             "the disk is full"));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a block brings what the task added to accumulators beside its result",
          "[task_scheduler]") {
  const std::vector<AccumulatorUpdate> added{
      AccumulatorUpdate{AccumulatorId{1}, Bytes(50, 'a'), false}};
  struct Case {
    const char* name;
    bool map_task;
    Payload block;
    bool counts;
  };
  const Case cases[] = {{"a result", false, pack_result(Payload(Bytes("42")), added), true},
                        {"of a map task", true, pack_result({}, added), true},
                        {"empty", false, {}, false},
                        {"no number", false, Payload(Bytes("\xff")), false},
                        {"cut off", true, Payload(Bytes("\x01 an id and a text")), false}};
  for (const Case& k : cases) {
    CAPTURE(k.name);
    Cluster c(test_options());
    c.executor("A", 1);
    const uint64_t t = c.job(k.map_task ? rdd(1, {shuffle(rdd(1), 1)}) : rdd(1));
    const Sent s = c.task(0, 0, 0);
    TaskUpdate u = k.map_task ? c.output(s) : c.result(s, "");
    u.result_block = "taskresult_0";
    u.result_size = 68;
    u.accumulators_in_block = true;
    c.update(s, u);
    REQUIRE(c.effects<FetchResult>().size() == 1);
    CHECK(c.seen<TaskEnded>().empty());
    c.on(ResultFetched{s.id, k.block});
    CHECK(c.messages<RemoveBlocks>("A") == std::vector{RemoveBlocks{{"taskresult_0"}}});
    CHECK(c.accumulated == (k.counts ? added : std::vector<AccumulatorUpdate>{}));
    REQUIRE(c.seen<TaskEnded>().size() == 1);
    CHECK(c.seen<TaskEnded>()[0].kind() ==
          (k.counts ? TaskEndKind::Success : TaskEndKind::TaskResultLost));
    if (!k.counts) {
      CHECK(c.task(0, 0, 0).number == 1);
      continue;
    }
    if (k.map_task) c.succeed(c.task(1, 0, 0), "42");
    CHECK(c.results[t].at(0) == "42");
    CHECK(c.ended(t));
  }
}

TEST_CASE("S42 a result that arrives after its executor is lost is ignored", "[task_scheduler]") {
  ResultInBlock c(1);
  c.lose("A");
  c.on(ResultFetched{c.first.id, Payload(Bytes("late"))});
  CHECK(c.results[c.ticket].empty());
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->successes() == 0);
  c.executor("B", 1);
  c.succeed(c.task(0, 0, 0), "42");
  CHECK(c.results[c.ticket].at(0) == "42");
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T20 what map tasks send back doesn't count as a result", "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.max_result_size = 20 << 10;
  Cluster c(o);
  c.executor("A", 16);
  const uint64_t t = c.job(rdd(1, {shuffle(rdd(2000), 1)}));
  while (!c.live(0).empty()) {
    TaskUpdate u = c.output(c.live(0)[0]);
    u.result = Payload(Bytes(100, 'x'));
    u.result_size = 100;
    c.update(c.live(0)[0], u);
  }
  c.succeed(c.task(1, 0, 0), "tiny");
  CHECK(c.error(t).empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("what result tasks add to accumulators counts for spark.driver.maxResultSize",
          "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.max_result_size = 2 << 20;
  Cluster c(o);
  c.executor("A", 16);
  const uint64_t t = c.job(rdd(10));
  while (!c.live().empty()) {
    const Sent s = c.live()[0];
    TaskUpdate u = c.result(s, "x");
    u.accumulators.push_back({AccumulatorId{1}, Bytes(1 << 20, 'a'), false});
    c.update(s, u);
  }
  REQUIRE(c.ended(t));
  CHECK(c.error(t) ==
        "Job aborted due to stage failure: Total size of serialized results of 2 tasks (2.0 MiB) "
        "is bigger "
        "than spark.driver.maxResultSize (2.0 MiB)");
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T19 results over spark.driver.maxResultSize abort", "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.max_result_size = 2 << 20;
  const std::string kib(1024, 'x'), mib(1 << 20, 'x');
  const auto run = [&](int tasks, bool is_indirect, const std::string& value) {
    Cluster c(o);
    c.executor("A", 16);
    const uint64_t t = c.job(rdd(tasks));
    while (!c.live().empty()) {
      const Sent s = c.live()[0];
      if (is_indirect && !c.ended(t))
        c.update(s, indirect(s, 10 << 20));
      else
        c.succeed(s, value);
    }
    REQUIRE(c.ended(t));
    CHECK(c.driver.idle_state_is_clean());
    return c.error(t);
  };
  CHECK(run(10, false, kib).empty());
  CHECK(run(10, false, mib) ==
        "Job aborted due to stage failure: Total size of serialized results of 3 tasks (3.0 MiB) "
        "is bigger "
        "than spark.driver.maxResultSize (2.0 MiB)");
  CHECK(run(1, true, "") ==
        "Job aborted due to stage failure: Total size of serialized results of 1 tasks (10.0 MiB) "
        "is bigger "
        "than spark.driver.maxResultSize (2.0 MiB)");
}

TEST_CASE("T53 an output file that exists, a result without bytes abort at the first failure",
          "[task_scheduler]") {
  const bool exists = GENERATE(true, false);
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  TaskEndReason r;
  r.kind = TaskEndKind::ExceptionFailure;
  r.class_name = exists ? "FileAlreadyExistsException" : "NotSerializableException";
  r.description = exists ? "/out/part-00000" : "it is open";
  c.fail(c.live()[0], r);
  REQUIRE(c.ended(t));
  CHECK(c.error(t) == std::string("Job aborted due to stage failure: Task 0 in stage 0.0 ") +
                          (exists ? "can not write to output file: /out/part-00000; not retrying"
                                  : "had a not serializable result: it is open; not retrying"));
  REQUIRE(c.seen<TaskEnded>().size() == 1);
  CHECK(c.seen<TaskEnded>()[0].reason->class_name == r.class_name);
  CHECK(c.live().empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T17 a large task is worth one warning", "[task_scheduler]") {
  const bool large = GENERATE(true, false);
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 4);
  const auto root = rdd(3);
  root->source_data.assign(3, Bytes(large ? 1000 * 1024 + 1 : 1000, 'x'));
  const uint64_t t = c.job(root);
  int warned = 0;
  for (const std::string& w : c.warnings())
    warned += w ==
              "Stage 0 contains a task of very large size (1000 KiB). The maximum recommended task "
              "size is 1000 KiB.";
  CHECK(warned == (large ? 1 : 0));
  c.results_ok(0);
  CHECK(c.ended(t));
}

TEST_CASE("S9 T18 a task that can't be encoded aborts its set, others get the slot",
          "[task_scheduler]") {
  ProgramCodec codec = test_codec();
  codec.inputs = [](const Node& root, int32_t) -> Bytes {
    if (root.name == "bad") throw std::runtime_error("no");
    return "good";
  };
  Cluster c(test_options(GENERATE(0, 8)), codec);
  c.executor("A", 1);
  const auto busy = rdd(1), bad = rdd(1), good = rdd(1);
  bad->name = "bad";
  for (const auto& r : {bad, good}) r->source_data.assign(1, "x");
  c.job(busy);
  const Sent first = c.live()[0];
  const uint64_t tb = c.job(bad), tg = c.job(good);
  c.succeed(first, "x");
  REQUIRE(c.ended(tb));
  CHECK(c.error(tb).starts_with("Job aborted due to stage failure: Failed to serialize task "));
  CHECK(c.error(tb).ends_with(", not attempting to retry it. Exception during serialization: no"));
  REQUIRE(c.live().size() == 1);
  c.succeed(c.live()[0], "y");
  CHECK(c.error(tg).empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a task over the message limit aborts its set", "[task_scheduler]") {
  DriverOptions o = test_options();
  o.max_message_size = 100;
  Cluster c(o);
  c.executor("A", 1);
  const auto root = rdd(1);
  root->source_data.assign(1, Bytes(101, 'x'));
  const uint64_t t = c.job(root);
  REQUIRE(c.ended(t));
  CHECK(
      c.error(t).starts_with("Job aborted due to stage failure: Serialized task 0:0 was 101 bytes, "
                             "which exceeds max allowed: spark.rpc.message.maxSize (100 bytes). "));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S45 the starvation warning repeats until something runs", "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  Cluster c(o);
  c.on(BackendStatus{"no worker has 4096 MiB free"});
  c.job(rdd(1));
  c.advance(31s);
  CHECK(c.warnings().size() == 2);
  CHECK(c.warnings()[0] ==
        "Initial job has not accepted any resources; check your cluster UI to ensure that workers "
        "are registered and have sufficient resources: no worker has 4096 MiB free");
  c.executor("A", 1);
  c.advance(60s);
  CHECK(c.warnings().size() == 2);
}

// ---- messages ----------------------------------------------------------------------------------

TEST_CASE("one program an executor and stage attempt, one launch message a turn",
          "[task_scheduler]") {
  Cluster c(test_options(8));
  c.executor("A", 4);
  const uint64_t t = c.job(rdd(100),
                           [] {
                             std::vector<int32_t> p;
                             for (int i = 0; i < 100; ++i) p.push_back(i);
                             return p;
                           }(),
                           {{"k", "v"}});
  REQUIRE(c.messages<StageProgram>().size() == 1);
  CHECK(c.messages<StageProgram>()[0].properties.at("k") == "v");
  REQUIRE(c.messages<LaunchTasks>().size() == 1);
  CHECK(c.messages<LaunchTasks>()[0].tasks.size() == 12);
  CHECK(c.messages<LaunchTasks>()[0].num_partitions == 100);
  const int64_t program = c.messages<LaunchTasks>()[0].program;
  StatusUpdates many;
  for (const Sent& s : c.live()) many.tasks.push_back(c.result(s, "x"));
  for (Sent& s : c.sent) s.ended = true;
  c.from("A", many);
  CHECK(c.messages<StageProgram>().empty());
  REQUIRE(c.messages<LaunchTasks>().size() == 1);
  CHECK(c.messages<LaunchTasks>()[0].tasks.size() == 12);
  while (!c.live().empty()) c.succeed(c.live()[0], "x");
  CHECK(c.results[t].size() == 100);
  REQUIRE(c.messages<ForgetProgram>("A").size() == 1);
  CHECK(c.messages<ForgetProgram>("A")[0].program == program);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("updates about tasks of other executors or of none are ignored", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  c.executor("B", 1);
  const uint64_t t = c.job(rdd(1));
  const Sent s = c.live()[0];
  const std::string other = s.executor == "A" ? "B" : "A";
  TaskUpdate u = c.result(s, "forged");
  c.from(other, StatusUpdates{{u}});
  u.id = TaskId{77};
  c.from(s.executor, StatusUpdates{{u}});
  u.id = TaskId{-5};
  c.from(s.executor, StatusUpdates{{u}});
  CHECK_FALSE(c.ended(t));
  c.succeed(s, "42");
  c.from(s.executor, StatusUpdates{{c.result(s, "twice")}});
  CHECK(c.results[t].at(0) == "42");
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S28 a task whose state is LOST has failed, and its executor goes on",
          "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  for (int i = 0; i < 4; ++i) {
    CHECK_FALSE(c.ended(t));
    TaskUpdate lost;
    lost.id = c.task(0, 0, 0).id;
    lost.state = TaskState::Lost;
    c.update(c.by_id(lost.id), lost);
    CHECK(c.seen<TaskEnded>().back().kind() == TaskEndKind::UnknownReason);
  }
  REQUIRE(c.ended(t));
  CHECK(c.error(t).find("failed 4 times") != std::string::npos);
  CHECK(c.seen<ExecutorRemoved>().empty());
  CHECK(c.driver.executors().alive(0));
  CHECK(c.driver.executors().at(0).running == 0);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a map task that says nothing of its output has failed", "[task_scheduler]") {
  Cluster c(test_options());
  c.executor("A", 1);
  c.job(rdd(1, {shuffle(rdd(1), 1)}));
  c.succeed(c.live()[0], "no status");
  REQUIRE(c.live().size() == 1);
  CHECK(c.live()[0].number == 1);
}

TEST_CASE("updates that say little, or nothing that fits", "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.max_result_size = 0;  // no limit
  o.max_task_failures = 9;
  Cluster c(o);
  c.executor("A", 1);
  c.executor("B", 1);
  const uint64_t t = c.job(rdd(1));
  TaskUpdate u;
  u.id = c.live()[0].id;
  u.state = TaskState::Launching;
  c.from(c.live()[0].executor, StatusUpdates{{u}});
  CHECK(c.seen<TaskEnded>().empty());
  const std::string elsewhere = c.live()[0].executor == "A" ? "B" : "A";
  u.state = TaskState::Failed;
  c.from(elsewhere, StatusUpdates{{u}});
  CHECK(c.seen<TaskEnded>().empty());
  struct Case {
    TaskState state;
    HeapOptional<TaskEndReason> reason;
    TaskEndKind told;
  };
  TaskEndReason success;
  success.kind = TaskEndKind::Success;
  for (const Case& k : {Case{TaskState::Failed, {}, TaskEndKind::UnknownReason},
                        Case{TaskState::Failed, success, TaskEndKind::UnknownReason},
                        Case{TaskState::Lost, {}, TaskEndKind::UnknownReason},
                        Case{TaskState::Killed, {}, TaskEndKind::TaskKilled}}) {
    REQUIRE(c.live().size() == 1);
    const Sent s = c.live()[0];
    TaskUpdate end;
    end.id = s.id;
    end.state = k.state;
    end.reason = k.reason;
    c.update(s, end);
    CHECK(c.seen<TaskEnded>().back().kind() == k.told);
  }
  c.on(KillTaskAttempt{TaskId{-1}, true, ""});
  c.on(KillTaskAttempt{TaskId{1 << 30}, true, ""});
  CHECK(c.warnings().size() >= 2);
  c.succeed(c.live()[0], "x");
  CHECK(c.error(t).empty());
}

TEST_CASE("how an end is said in words", "[task_scheduler]") {
  TaskEndReason r;
  r.kind = TaskEndKind::Success;
  CHECK(error_text(r) == "Success");
  r.kind = TaskEndKind::ExceptionFailure;
  r.class_name = "Error";
  CHECK(error_text(r) == "Error");
  r.class_name.clear();
  r.description = "boom";
  CHECK(error_text(r) == "boom");
}
