// Task threads, with programs that the test plays.
#include "core/executor/task_runner.hpp"

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace std::chrono_literals;

namespace {

using Body = std::function<TaskOutput(int32_t partition, std::string_view inputs, TaskContext&)>;

struct FakeProgram : Program {
  explicit FakeProgram(Body b) : body(std::move(b)) {}
  TaskOutput run(int32_t partition, std::string_view inputs, TaskContext& context) const override {
    return body(partition, inputs, context);
  }
  Body body;
};

/// A door that threads of a test wait at.
class Gate {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Keeps what a task puts; everything else is out of reach.
struct FakeServices : TaskServices {
  std::map<std::string, std::string> blocks;
  bool full = false;
  Result<MapOutputsPtr> map_outputs(ShuffleId, int64_t) override { return Error{"none"}; }
  std::unique_ptr<BlockStream> fetch(std::vector<BlockWant>, const std::atomic<bool>&) override {
    return nullptr;
  }
  std::unique_ptr<MapOutputWriter> map_output(ShuffleId, int64_t, int32_t, int32_t) override {
    return nullptr;
  }
  std::optional<Payload> get_block(const std::string&) override { return std::nullopt; }
  bool put_block(const std::string& block, const StorageLevel&, Payload bytes) override {
    if (!full) blocks[block] = bytes.view();
    return !full;
  }
  Result<Payload> broadcast(BroadcastId) override { return Error{"none"}; }
  bool may_commit(StageId, int32_t, int32_t, int32_t) override { return false; }
  Result<std::string> temp_directory() override { return Error{"none"}; }
  std::optional<std::string> property(const std::string&) const override { return std::nullopt; }
};

/// A runner over a table of bodies; a program's code is its name in the table.
struct Running {
  std::map<std::string, Body> bodies;
  FakeServices services;
  std::atomic<int> decoded{0};
  std::atomic<int> rings{0};
  std::atomic<int64_t> clock{0};
  std::mutex mutex;
  std::condition_variable rung;
  std::vector<TaskUpdate> moved;
  std::unique_ptr<TaskRunner> runner;

  explicit Running(int threads = 1, int64_t max_result = 100) {
    TaskRunnerOptions options;
    options.threads = threads;
    options.max_result_size = max_result;
    options.max_direct_result_size = 10;
    options.decode = [this](std::string_view name) -> Result<std::unique_ptr<Program>> {
      ++decoded;
      const auto it = bodies.find(std::string(name));
      if (it == bodies.end()) return Error{"no such code"};
      return std::unique_ptr<Program>(std::make_unique<FakeProgram>(it->second));
    };
    options.now = [this] { return Time(Duration(clock += 5)); };
    options.on_updates = [this] {
      ++rings;
      std::lock_guard lock(mutex);
      rung.notify_all();
    };
    runner = std::make_unique<TaskRunner>(std::move(options), services);
  }
  void keep(int64_t program, const std::string& name) {
    runner->keep_program({program, Payload(Bytes(name)), {{"spark.job.description", "test"}}});
  }
  static LaunchTasks launch(int64_t program, std::vector<int64_t> ids) {
    LaunchTasks m;
    m.program = program;
    m.stage = StageId{3};
    m.num_partitions = 40;
    m.epoch = 9;
    for (const int64_t id : ids) {
      TaskLaunch task;
      task.id = TaskId{id};
      task.partition = static_cast<int32_t>(id) % 40;
      task.inputs = Payload(Bytes("in" + std::to_string(id)));
      m.tasks.push_back(task);
    }
    return m;
  }
  /// Waits until `count` attempts ended; returns their updates by task.
  std::map<int64_t, TaskUpdate> ended(size_t count) {
    std::map<int64_t, TaskUpdate> ends;
    std::unique_lock lock(mutex);
    while (true) {
      for (TaskUpdate& update : runner->take_updates()) {
        if (update.state == TaskState::Running) continue;
        CHECK(ends.emplace(update.id.value, update).second);
      }
      if (ends.size() >= count) return ends;
      rung.wait(lock);
    }
  }
  TaskUpdate run_one(const Body& body) {
    bodies["one"] = body;
    keep(1, "one");
    runner->start(launch(1, {7}));
    return ended(1).at(7);
  }
};

TaskOutput value(std::string bytes) {
  return {.result = Payload(std::move(bytes)), .map_status = {}};
}

struct Odd : std::runtime_error {
  using std::runtime_error::runtime_error;
};

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
  CHECK(u.result_size == 4);
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
  for (const Case& c : {Case{10, true, false}, Case{11, false, true}, Case{100, false, true},
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

TEST_CASE("what user code throws becomes a failure with class and message", "[task_runner]") {
  struct Case {
    const char* name;
    std::function<void()> act;
    std::string class_name, description, stack;
  };
  const Case cases[] = {
      {"std", [] { throw std::runtime_error("boom"); }, "std::runtime_error", "boom",
       "std::runtime_error: boom\n"},
      {"own class", [] { throw Odd("odd"); }, "(anonymous namespace)::Odd", "odd",
       "(anonymous namespace)::Odd: odd\n"},
      {"no memory", [] { throw std::bad_alloc(); }, "std::bad_alloc", "std::bad_alloc",
       "std::bad_alloc: std::bad_alloc\n"},
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
  Running r(2);
  Gate gate;
  r.bodies["p"] = [&](int32_t, std::string_view, TaskContext&) {
    gate.pass();
    return value("ok");
  };
  r.keep(1, "p");
  r.runner->start(Running::launch(1, {1, 2, 3, 4}));
  r.runner->forget_program(1);
  r.runner->start(Running::launch(1, {5}));
  gate.open();
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
    CHECK(r.runner->running() == std::vector{TaskId{1}});
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
  Running r;
  Gate gate;
  std::atomic<int> ran{0};
  r.bodies["p"] = [&](int32_t, std::string_view, TaskContext&) {
    ++ran;
    gate.pass();
    return value("v");
  };
  r.keep(1, "p");
  r.runner->kill({TaskId{3}, false, "early"});
  r.runner->start(Running::launch(1, {1, 2, 3, 4}));
  r.runner->kill({TaskId{2}, false, "waits"});
  gate.open();
  const auto ends = r.ended(4);
  CHECK(ends.at(1).state == TaskState::Finished);
  CHECK(ends.at(2).reason->description == "waits");
  CHECK(ends.at(3).state == TaskState::Killed);
  CHECK(ends.at(3).reason->description == "early");
  CHECK(ends.at(4).state == TaskState::Finished);
  CHECK(ran == 2);
}

TEST_CASE("tasks that have not started are revoked, and only those", "[task_runner]") {
  Running r;
  Gate gate, started;
  r.bodies["p"] = [&](int32_t, std::string_view, TaskContext&) {
    started.open();
    gate.pass();
    return value("v");
  };
  r.keep(1, "p");
  r.runner->start(Running::launch(1, {1, 2, 3, 4}));
  started.pass();
  CHECK(r.runner->unfinished() == 4);
  CHECK(r.runner->revoke({TaskId{4}, TaskId{1}, TaskId{2}, TaskId{99}}) ==
        std::vector{TaskId{2}, TaskId{4}});
  CHECK(r.runner->unfinished() == 2);
  CHECK(r.runner->revoke({TaskId{2}}).empty());
  gate.open();
  const auto ends = r.ended(2);
  CHECK(ends.count(1) + ends.count(3) == 2);
}

// ---- updates --------------------------------------------------------------------------

TEST_CASE("a task is reported as running once, before its end", "[task_runner]") {
  Running r;
  Gate gate, started;
  r.bodies["p"] = [&](int32_t, std::string_view, TaskContext&) {
    started.open();
    gate.pass();
    return value("v");
  };
  r.keep(1, "p");
  r.runner->start(Running::launch(1, {1}));
  started.pass();
  const auto first = r.runner->take_updates();
  REQUIRE(first.size() == 1);
  CHECK(first[0].id == TaskId{1});
  CHECK(first[0].state == TaskState::Running);
  CHECK(r.runner->take_updates().empty());
  gate.open();
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
