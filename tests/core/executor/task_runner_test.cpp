// Task threads, with programs that the test plays.
#include "core/executor/task_runner.hpp"

#include <numeric>
#include <stdexcept>
#include <thread>

#include "core/plan/tasks/task_result.hpp"
#include "tests/core/executor/running_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace std::chrono_literals;

namespace {

struct Odd : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct NoRoom : std::bad_alloc {};

}  // namespace

// ---- outcomes -------------------------------------------------------------------------

TEST_CASE("a value comes back with the attempt's context and metrics", "[task_runner]") {
  Running r;
  const TaskUpdate u = r.run_one([](int32_t partition, std::string_view inputs, TaskContext& c) {
    CHECK(TaskContext::current() == &c);
    CHECK(c.id == TaskId{7});
    CHECK(c.stage == StageId{3});
    CHECK(c.partition == 7);
    CHECK(c.num_partitions == 40);
    CHECK(c.epoch == 9);
    CHECK(c.properties->at("spark.job.description") == "test");
    c.metrics.input_records = 12;
    c.accumulators.push_back({AccumulatorId{4}, "delta", false});
    return value(std::to_string(partition) + std::string(inputs));
  });
  CHECK(u.state == TaskState::Finished);
  CHECK(u.result.view() == "7in7");
  CHECK(u.result_size == 4 + accumulator_bytes(u.accumulators));
  CHECK(!u.reason);
  CHECK(u.accumulators.size() == 1);
  CHECK(u.metrics->input_records == 12);
  CHECK(u.metrics->run_time == 10);  // the clock steps by 5 each time it is read
  CHECK(u.metrics->deserialize_time == 5);
  CHECK(TaskContext::current() == nullptr);
}

TEST_CASE("a map task's status comes back", "[task_runner]") {
  Running r;
  const TaskUpdate u = r.run_one([](int32_t, std::string_view, TaskContext& c) {
    MapStatus status;
    status.map_id = c.id.value;
    return TaskOutput{.result = {}, .map_status = status};
  });
  CHECK(u.state == TaskState::Finished);
  CHECK(u.map_status->map_id == 7);
}

TEST_CASE("large results go by block, too large ones not at all", "[task_runner]") {
  struct Case {
    size_t size;
    bool direct, stored;
  };
  for (const Case& c : {Case{30, true, false}, Case{31, false, true}, Case{100, false, true},
                        Case{101, false, false}}) {
    CAPTURE(c.size);
    Running r;
    const TaskUpdate u = r.run_one(
        [&](int32_t, std::string_view, TaskContext&) { return value(Bytes(c.size, 'x')); });
    CHECK(u.state == TaskState::Finished);
    CHECK(u.result_size == static_cast<int64_t>(c.size));
    CHECK(u.result.empty() == !c.direct);
    CHECK(u.result_block == (c.direct ? "" : "taskresult_7"));
    CHECK(r.services.blocks.count("taskresult_7") == (c.stored ? 1 : 0));
  }
  Running unlimited(1, 0);
  CHECK(
      unlimited
          .run_one([](int32_t, std::string_view, TaskContext&) { return value(Bytes(5000, 'x')); })
          .result_block == "taskresult_7");
  CHECK(unlimited.services.blocks.size() == 1);
  Running full;
  full.services.full = true;
  const TaskUpdate u =
      full.run_one([](int32_t, std::string_view, TaskContext&) { return value(Bytes(50, 'x')); });
  CHECK(u.state == TaskState::Failed);
  CHECK(u.reason->description == "the result of 50 bytes fits neither in memory nor on disk");
  CHECK(u.result_block.empty());
}

TEST_CASE("what a task adds to accumulators counts and travels as its result does",
          "[task_runner]") {
  struct Case {
    size_t result, added;  // `added` has 16 bytes beside its value
    bool map_task, told, stored, packed;
  };
  for (const Case& c :
       {Case{10, 20, false, true, false, false}, Case{11, 20, false, true, true, false},
        Case{0, 30, false, true, false, false}, Case{0, 31, false, false, true, true},
        Case{20, 31, false, false, true, true}, Case{50, 50, false, false, true, true},
        Case{51, 50, false, false, false, false}, Case{90, 20, false, false, false, false},
        Case{0, 30, true, true, false, false}, Case{0, 31, true, false, true, true},
        Case{0, 101, true, false, true, true}}) {
    CAPTURE(c.result, c.added, c.map_task);
    const std::vector<AccumulatorUpdate> added{
        AccumulatorUpdate{AccumulatorId{4}, Bytes(c.added - 16, 'a'), false}};
    Running r;
    TaskUpdate u = r.run_one([&](int32_t, std::string_view, TaskContext& context) {
      context.accumulators = added;
      TaskOutput output = value(Bytes(c.result, 'x'));
      if (c.map_task) output.map_status = MapStatus{};
      return output;
    });
    CHECK(u.state == TaskState::Finished);
    CHECK(u.result_size == static_cast<int64_t>(c.result + c.added));
    CHECK(u.accumulators.empty() == !c.told);
    CHECK(u.accumulators_in_block == c.packed);
    CHECK(u.result_block == (c.told && !c.stored ? "" : "taskresult_7"));
    REQUIRE(r.services.blocks.count("taskresult_7") == (c.stored ? 1 : 0));
    if (!c.packed) continue;
    REQUIRE(unpack_result(Payload(Bytes(r.services.blocks.at("taskresult_7"))), u));
    CHECK(u.accumulators == added);
    CHECK(u.result.view() == Bytes(c.result, 'x'));
  }
}

TEST_CASE("what a failed or killed task has added to accumulators is not told", "[task_runner]") {
  const auto add = [](TaskContext& c) {
    c.accumulators.push_back({AccumulatorId{4}, Bytes(50, 'a'), false});
  };
  Running fails, killed, full;
  TaskUpdate u = fails.run_one([&](int32_t, std::string_view, TaskContext& c) -> TaskOutput {
    add(c);
    throw 1;
  });
  CHECK(u.state == TaskState::Failed);
  CHECK(u.accumulators.empty());
  u = killed.run_one([&](int32_t, std::string_view, TaskContext& c) {
    add(c);
    c.killed = true;
    return value("v");
  });
  CHECK(u.state == TaskState::Killed);
  CHECK(u.accumulators.empty());
  full.services.full = true;
  u = full.run_one([&](int32_t, std::string_view, TaskContext& c) {
    add(c);
    return value("v");
  });
  CHECK(u.state == TaskState::Failed);
  CHECK(u.accumulators.empty());
  CHECK_FALSE(u.accumulators_in_block);
}

TEST_CASE("what user code throws becomes a failure with class and message", "[task_runner]") {
  struct Case {
    const char* name;
    std::function<void()> act;
    std::string class_name, description, stack;
    bool out_of_memory = false;
  };
  const Case cases[] = {
      {"std", [] { throw std::runtime_error("boom"); }, "std::runtime_error", "boom",
       "std::runtime_error: boom\n"},
      {"own class", [] { throw Odd("odd"); }, "(anonymous namespace)::Odd", "odd",
       "(anonymous namespace)::Odd: odd\n"},
      {"no memory", [] { throw std::bad_alloc(); }, "std::bad_alloc", "std::bad_alloc",
       "std::bad_alloc: std::bad_alloc\n", true},
      {"no memory for so many", [] { throw std::bad_array_new_length(); },
       "std::bad_array_new_length", "std::bad_array_new_length",
       "std::bad_array_new_length: std::bad_array_new_length\n", true},
      {"no memory as the cause of the cause",
       [] {
         try {
           try {
             throw NoRoom();
           } catch (...) {
             std::throw_with_nested(Odd("inner"));
           }
         } catch (...) {
           std::throw_with_nested(std::logic_error("outer"));
         }
       },
       "std::_Nested_exception<std::logic_error>", "outer",
       "std::_Nested_exception<std::logic_error>: outer\n"
       "Caused by: std::_Nested_exception<(anonymous namespace)::Odd>: inner\n"
       "Caused by: (anonymous namespace)::NoRoom: std::bad_alloc\n",
       true},
      {"a number", [] { throw 42; }, "int", "", "int\n"},
      {"a text", [] { throw "text"; }, "char const*", "text", "char const*: text\n"},
      {"B21 a cause",
       [] {
         try {
           throw Odd("inner");
         } catch (...) {
           std::throw_with_nested(std::logic_error("outer"));
         }
       },
       "std::_Nested_exception<std::logic_error>", "outer",
       "std::_Nested_exception<std::logic_error>: outer\nCaused by: (anonymous namespace)::Odd: "
       "inner\n"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Running r;
    const TaskUpdate u = r.run_one([&](int32_t, std::string_view, TaskContext&) {
      c.act();
      return value("never");
    });
    CHECK(u.state == TaskState::Failed);
    CHECK(u.reason->kind == TaskEndKind::ExceptionFailure);
    CHECK(u.reason->class_name == c.class_name);
    CHECK(u.reason->description == c.description);
    CHECK(u.reason->stack == c.stack);
    CHECK(u.reason->out_of_memory == c.out_of_memory);
    CHECK(u.metrics);
  }
}

TEST_CASE("after a failure the thread goes on", "[task_runner]") {
  Running r;
  r.bodies["fails"] = [](int32_t, std::string_view, TaskContext&) -> TaskOutput { throw 1; };
  r.bodies["works"] = [](int32_t, std::string_view, TaskContext&) { return value("ok"); };
  r.keep(1, "fails");
  r.keep(2, "works");
  r.runner->start(Running::launch(1, {1, 2}));
  r.runner->start(Running::launch(2, {3}));
  const auto ends = r.ended(3);
  CHECK(ends.at(1).state == TaskState::Failed);
  CHECK(ends.at(2).state == TaskState::Failed);
  CHECK(ends.at(3).result.view() == "ok");
}

TEST_CASE("a fetch failure counts even when user code wraps it, but not when the task succeeds",
          "[task_runner]") {
  TaskEndReason lost;
  lost.kind = TaskEndKind::FetchFailed;
  lost.map_id = 5;
  struct Case {
    const char* name;
    std::function<void(TaskContext&)> act;
    TaskState want;
  };
  const Case cases[] = {
      {"thrown", [&](TaskContext&) { throw FetchFailedException{lost}; }, TaskState::Failed},
      {"wrapped",
       [&](TaskContext& c) {
         c.fetch_failure = lost;
         throw std::runtime_error("user code says something else");
       },
       TaskState::Failed},
      {"swallowed", [&](TaskContext& c) { c.fetch_failure = lost; }, TaskState::Finished},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Running r;
    const TaskUpdate u = r.run_one([&](int32_t, std::string_view, TaskContext& context) {
      c.act(context);
      return value("v");
    });
    CHECK(u.state == c.want);
    if (c.want == TaskState::Failed) CHECK(*u.reason == lost);
  }
}

TEST_CASE("a denied commit ends the attempt without blaming it", "[task_runner]") {
  Running r;
  const TaskUpdate u = r.run_one([](int32_t, std::string_view, TaskContext&) -> TaskOutput {
    throw CommitDeniedException{StageId{3}, 7, 1};
  });
  CHECK(u.state == TaskState::Killed);
  CHECK(u.reason->kind == TaskEndKind::TaskCommitDenied);
  CHECK(u.reason->description == "attempt 1 at partition 7 of stage 3 may not commit its output");
}

TEST_CASE("a program that is unknown or can't be rebuilt fails its tasks", "[task_runner]") {
  Running r;
  r.keep(2, "nobody wrote this");
  r.runner->start(Running::launch(1, {1}));
  r.runner->start(Running::launch(2, {2}));
  const auto ends = r.ended(2);
  CHECK(ends.at(1).reason->description == "the program 1 of this task did not come before it");
  CHECK(ends.at(2).reason->description == "the stage cannot be rebuilt: no such code");
}

// ---- programs -------------------------------------------------------------------------

TEST_CASE("a program is rebuilt once, and runs on for tasks that came before it is forgotten",
          "[task_runner]") {
  Held r(2);
  r.runner->start(Running::launch(1, {1, 2, 3, 4}));
  r.runner->forget_program(1);
  r.runner->start(Running::launch(1, {5}));
  r.gate.open();
  const auto ends = r.ended(5);
  for (int64_t id = 1; id <= 4; ++id) CHECK(ends.at(id).state == TaskState::Finished);
  CHECK(ends.at(5).state == TaskState::Failed);
  CHECK(r.decoded == 1);
}

// ---- kill and revoke ------------------------------------------------------------------

TEST_CASE("a running task sees its mark, whatever it throws then", "[task_runner]") {
  struct Case {
    const char* name;
    std::function<void()> act;
  };
  const Case cases[] = {{"kill", [] { throw TaskKilledException{"x"}; }},
                        {"other", [] { throw std::runtime_error("closed"); }},
                        {"none", [] {}}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Running r;
    Gate started;
    r.bodies["p"] = [&](int32_t, std::string_view, TaskContext& context) {
      started.open();
      while (!context.killed) std::this_thread::yield();
      c.act();
      return value("v");
    };
    r.keep(1, "p");
    r.runner->start(Running::launch(1, {1}));
    started.pass();
    r.runner->kill({TaskId{1}, true, "another attempt succeeded"});
    const TaskUpdate u = r.ended(1).at(1);
    CHECK(u.state == TaskState::Killed);
    CHECK(u.reason->kind == TaskEndKind::TaskKilled);
    CHECK(u.reason->description == "another attempt succeeded");
    CHECK(u.result.empty());
  }
}

TEST_CASE("a kill works for a task that waits, and for one that has not come yet",
          "[task_runner]") {
  Held r;
  r.runner->kill({TaskId{3}, false, "early"});
  r.runner->start(Running::launch(1, {1, 2, 3, 4}));
  r.runner->kill({TaskId{2}, false, "waits"});
  r.gate.open();
  const auto ends = r.ended(4);
  CHECK(ends.at(1).state == TaskState::Finished);
  CHECK(ends.at(2).reason->description == "waits");
  CHECK(ends.at(3).state == TaskState::Killed);
  CHECK(ends.at(3).reason->description == "early");
  CHECK(ends.at(4).state == TaskState::Finished);
  CHECK(r.ran == 2);
}

TEST_CASE("tasks that have not started are revoked, and only those", "[task_runner]") {
  Held r;
  r.runner->start(Running::launch(1, {1, 2, 3, 4}));
  r.started.pass();
  CHECK(r.runner->unfinished() == 4);
  CHECK(r.runner->revoke({TaskId{4}, TaskId{1}, TaskId{2}, TaskId{99}}) ==
        std::vector{TaskId{2}, TaskId{4}});
  CHECK(r.runner->unfinished() == 2);
  CHECK(r.runner->revoke({TaskId{2}}).empty());
  r.gate.open();
  const auto ends = r.ended(2);
  CHECK(ends.count(1) + ends.count(3) == 2);
}

// ---- updates --------------------------------------------------------------------------

TEST_CASE("a task is reported as running once, before its end", "[task_runner]") {
  Held r;
  r.runner->start(Running::launch(1, {1}));
  r.started.pass();
  const auto first = r.runner->take_updates();
  REQUIRE(first.size() == 1);
  CHECK(first[0].id == TaskId{1});
  CHECK(first[0].state == TaskState::Running);
  CHECK(r.runner->take_updates().empty());
  r.gate.open();
  CHECK(r.ended(1).at(1).state == TaskState::Finished);
}

TEST_CASE("the consumer is rung once for everything until it looks", "[task_runner]") {
  Running r;
  r.bodies["p"] = [&](int32_t, std::string_view, TaskContext&) { return value("v"); };
  r.keep(1, "p");
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < 500; ++id) ids.push_back(id);
  r.runner->start(Running::launch(1, ids));
  while (r.runner->unfinished() > 0) std::this_thread::yield();
  CHECK(r.rings == 1);
  const auto updates = r.runner->take_updates();
  REQUIRE(updates.size() == 500);
  for (size_t i = 0; i < 500; ++i) CHECK(updates[i].id.value == ids[i]);
  r.runner->start(Running::launch(1, {1000}));
  CHECK(r.ended(1).size() == 1);
  CHECK(r.rings == 2);
}

TEST_CASE(
    "ends of short tasks are told together, and soon when few are left, another stage comes "
    "or one failed",
    "[task_runner]") {
  struct Case {
    const char* name;
    int64_t tasks, others;  // of another stage, behind them
    int64_t micros;         // of each
    bool fails;
    int64_t told;  // how many had ended when the consumer was rung first
  };
  const Case cases[] = {
      {"half of them are left", 20, 0, 1, false, 10},
      {"one", 1, 0, 1, false, 1},
      {"they took long enough together", 100, 0, 100, false, 5},
      {"a long one", 100, 0, 1000, false, 1},
      {"another stage comes next", 3, 40, 1, false, 3},
      {"a failure", 100, 0, 1, true, 1},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Running r;
    Gate gate;
    r.bodies["other"] = r.bodies["p"] = [&](int32_t, std::string_view, TaskContext&) {
      gate.pass();
      ++r.ran;
      r.clock += c.micros;
      if (c.fails) throw std::runtime_error("no");
      return value("v");
    };
    r.keep(1, "p");
    r.keep(2, "other");
    std::vector<int64_t> ids(static_cast<size_t>(c.tasks)), others(static_cast<size_t>(c.others));
    std::iota(ids.begin(), ids.end(), 0);
    std::iota(others.begin(), others.end(), 200);
    r.runner->start(Running::launch(1, ids));
    r.runner->start(Running::launch(2, others));
    gate.open();
    const size_t all = ids.size() + others.size();
    CHECK(r.ended(all).size() == all);
    CHECK(r.ran_at_ring == c.told);
  }
}

TEST_CASE("what tasks behind a running one will read is told once, many at a time, its own first",
          "[task_runner]") {
  Running r;
  Gate gate;
  const auto body = [&](int32_t, std::string_view, TaskContext&) {
    gate.pass();
    return value("v");
  };
  r.bodies["first"] = r.bodies["reads"] = body;
  r.keep(1, "first");
  r.keep(2, "reads");
  r.runner->start(Running::launch(1, {1000, 1001}));
  std::vector<int64_t> ids(300);
  std::iota(ids.begin(), ids.end(), 0);
  r.runner->start(Running::launch(2, ids));
  gate.open();
  CHECK(r.ended(302).size() == 302);
  r.runner->stop();
  // 299 behind the first; again each time that the one 64 behind was not told yet.
  using Told = std::vector<FakeServices::Expected>;
  CHECK(r.services.expected ==
        Told{{2, 0, 129}, {2, 64 % 40, 65}, {2, 128 % 40, 65}, {2, 192 % 40, 44}});
}

TEST_CASE("stopping ends what runs, drops what waits, joins", "[task_runner]") {
  Running r(2);
  Gate started;
  std::atomic<int> ran{0};
  r.bodies["p"] = [&](int32_t, std::string_view, TaskContext& context) {
    if (++ran == 2) started.open();
    while (!context.killed) std::this_thread::yield();
    return value("v");
  };
  r.keep(1, "p");
  r.runner->start(Running::launch(1, {1, 2, 3, 4}));
  started.pass();
  r.runner->stop();
  CHECK(ran == 2);
  CHECK(r.runner->unfinished() == 0);
  r.runner->start(Running::launch(1, {5}));
  r.runner->stop();
  CHECK(ran == 2);
}

TEST_CASE("a task that looks at no mark is not waited for", "[task_runner]") {
  Running r(2);
  Gate started, end;
  std::atomic<int> ran{0};
  r.bodies["p"] = [&](int32_t partition, std::string_view, TaskContext& context) {
    if (++ran == 2) started.open();
    if (partition == 1) end.pass();
    while (!context.killed) std::this_thread::yield();
    return value("v");
  };
  r.keep(1, "p");
  r.runner->start(Running::launch(1, {1, 2}));
  started.pass();
  CHECK(!r.runner->stop_within(1ms));
  CHECK(r.runner->running() == std::vector{TaskId{1}});
  end.open();
  CHECK(r.runner->stop_within(1h));
  CHECK(r.runner->unfinished() == 0);
}

TEST_CASE("a task sees its cpus and the addresses that are its own", "[task_runner]") {
  Running r;
  std::map<int32_t, ResourceAddresses> seen;
  std::map<int32_t, int32_t> cpus;
  r.bodies["look"] = [&](int32_t p, std::string_view, TaskContext& context) {
    seen[p] = context.resources();
    cpus[p] = context.cpus;
    return TaskOutput{};
  };
  r.keep(1, "look");
  LaunchTasks m = Running::launch(1, {4, 5, 6});
  m.cpus = 2;
  m.resources = {{{"gpu", {"0"}}}, {{"gpu", {"1", "3"}}}};  // the third has none
  r.runner->start(m);
  r.ended(3);
  CHECK(seen == std::map<int32_t, ResourceAddresses>{
                    {4, {{"gpu", {"0"}}}}, {5, {{"gpu", {"1", "3"}}}}, {6, {}}});
  CHECK(cpus == std::map<int32_t, int32_t>{{4, 2}, {5, 2}, {6, 2}});
}

TEST_CASE("a runner that grew runs more tasks at once", "[task_runner]") {
  Running r(1);
  std::atomic<int> there{0};
  Gate all;
  r.bodies["meet"] = [&](int32_t, std::string_view, TaskContext&) {
    if (++there == 3) all.open();
    all.pass();  // only three that run at the same time get by
    return TaskOutput{};
  };
  r.keep(1, "meet");
  r.runner->grow(3);
  r.runner->grow(2);
  r.runner->start(Running::launch(1, {1, 2, 3}));
  CHECK(r.ended(3).size() == 3);
}
