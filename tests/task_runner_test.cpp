// Task threads and what task bodies reach, with programs and a driver that the test plays.
#include "core/executor/task_runner.hpp"

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "core/executor/task_services.hpp"
#include "core/shuffle/map_status.hpp"
#include "tests/fake_files.hpp"
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

// ---- outcomes
// ------------------------------------------------------------------------------------

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

// ---- programs
// ------------------------------------------------------------------------------------

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

// ---- kill and revoke
// -----------------------------------------------------------------------------

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

// ---- updates
// -------------------------------------------------------------------------------------

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

// ---- services
// ------------------------------------------------------------------------------------

namespace {

/// The driver as the test plays it: what it was asked, and waiting for that.
class FakeDriver : public DriverLink {
 public:
  void send(ToDriver message) override {
    std::lock_guard lock(mutex_);
    asked_.push_back(std::move(message));
    changed_.notify_all();
  }
  /// Waits for message number `n`, from 0.
  ToDriver asked(size_t n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_.size() > n; });
    return asked_[n];
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return asked_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ToDriver> asked_;
};

/// One process with blocks, transfer and services.
struct Process {
  FakeDriver driver;
  std::vector<BlockUpdate> told;
  std::mutex told_mutex;
  std::unique_ptr<BlockManager> blocks;
  std::unique_ptr<BlockTransfer> transfer;
  std::unique_ptr<ExecutorServices> services;
  BlockManagerId id;

  Process(test::FakeFiles& files, const std::string& name, const Process* at_driver,
          Duration ask_timeout = {}) {
    auto opened =
        BlockManager::open(files,
                           {.local_dirs = {"/d", "/e"},
                            .unique_name = name,
                            .memory = 64 << 20,
                            .sub_directories = 64,
                            .map_outputs = {.max_in_memory_output = 8, .max_memory = 1 << 20}},
                           [this](std::vector<BlockUpdate> updates) {
                             std::lock_guard lock(told_mutex);
                             told.insert(told.end(), updates.begin(), updates.end());
                           });
    blocks = std::move(*opened);
    BlockTransferOptions options = block_transfer_options(conf::Conf{});
    options.self = {ExecutorId{name}, "host" + name, ""};
    options.listen.host = "127.0.0.1";
    options.client.retry_wait = 1ms;
    auto started = BlockTransfer::start(options, *blocks);
    REQUIRE(started);
    transfer = std::move(*started);
    id = {ExecutorId{name}, "host" + name, "127.0.0.1:" + std::to_string(transfer->port())};
    ExecutorServicesOptions so;
    so.self = id;
    if (at_driver) so.driver = at_driver->id;
    so.properties = {{"spark.app.name", "test"}};
    so.broadcast_piece_size = 1000;
    so.seed = 5;
    so.ask_timeout = ask_timeout;
    services = std::make_unique<ExecutorServices>(so, *blocks, *transfer, driver);
  }
  size_t pieces_told() {
    std::lock_guard lock(told_mutex);
    return told.size();
  }
};

MapOutputs outputs(int32_t shuffle, int64_t epoch, size_t maps) {
  MapOutputs m;
  m.shuffle = ShuffleId{shuffle};
  m.epoch = epoch;
  m.statuses.resize(maps);
  return m;
}
std::string spell(const Result<Payload>& bytes) {
  return bytes ? std::string(bytes->view()) : "error: " + bytes.error().message;
}

}  // namespace

TEST_CASE("B11 one question for each shuffle and epoch; a newer epoch clears the answers",
          "[task_services]") {
  test::FakeFiles files;
  Process p(files, "1", nullptr);
  std::vector<std::thread> askers;
  std::atomic<int> got{0};
  for (int i = 0; i < 4; ++i)
    askers.emplace_back([&] {
      const Result<MapOutputsPtr> all = p.services->map_outputs(ShuffleId{1}, 3);
      if (all && (*all)->statuses.size() == 2) ++got;
    });
  CHECK(std::get<MapOutputsRequest>(p.driver.asked(0)).shuffle == ShuffleId{1});
  CHECK(p.services->on_driver_message(outputs(1, 3, 2)));
  for (std::thread& asker : askers) asker.join();
  CHECK(got == 4);
  CHECK(p.driver.count() == 1);
  CHECK(p.services->map_outputs(ShuffleId{1}, 2));  // an older task uses the newer answer
  CHECK(p.driver.count() == 1);

  std::thread newer([&] {
    const Result<MapOutputsPtr> all = p.services->map_outputs(ShuffleId{1}, 4);
    CHECK((*all)->statuses.size() == 5);
  });
  p.driver.asked(1);
  p.services->on_driver_message(outputs(1, 3, 2));  // from before the loss: asked again
  p.driver.asked(2);
  p.services->on_driver_message(outputs(1, 4, 5));
  newer.join();
  CHECK(p.driver.count() == 3);
}

TEST_CASE("a kill, the driver's loss and its silence end a wait for it", "[task_services]") {
  test::FakeFiles files;
  SECTION("kill") {
    Process p(files, "1", nullptr);
    TaskContext context;
    std::thread killer([&] {
      p.driver.asked(0);
      context.killed = true;
      p.services->interrupt();
    });
    TaskContext::set_current(&context);
    const auto all = p.services->map_outputs(ShuffleId{1}, 1);
    TaskContext::set_current(nullptr);
    killer.join();
    REQUIRE(!all);
    CHECK(all.error().message ==
          "cannot learn where the outputs of shuffle 1 are: the task was killed");
  }
  SECTION("loss") {
    Process p(files, "1", nullptr);
    std::thread loser([&] {
      p.driver.asked(0);
      p.services->stop("the driver is gone");
    });
    CHECK(!p.services->may_commit(StageId{1}, 0, 2, 3));
    loser.join();
    CHECK(!p.services->map_outputs(ShuffleId{1}, 1));
  }
  SECTION("silence") {
    Process p(files, "1", nullptr, 1ms);
    CHECK(!p.services->map_outputs(ShuffleId{1}, 1));
    CHECK(!p.services->may_commit(StageId{1}, 0, 2, 3));
  }
}

TEST_CASE("permission to commit is the driver's", "[task_services]") {
  test::FakeFiles files;
  Process p(files, "1", nullptr);
  for (const bool allowed : {true, false}) {
    const size_t n = p.driver.count();
    std::thread driver([&] {
      const auto ask = std::get<AskPermissionToCommit>(p.driver.asked(n));
      CHECK(ask.partition == 2);
      CHECK(ask.attempt == 3);
      p.services->on_driver_message(CommitAnswer{ask.request + 100, !allowed});
      p.services->on_driver_message(CommitAnswer{ask.request, allowed});
    });
    CHECK(p.services->may_commit(StageId{1}, 0, 2, 3) == allowed);
    driver.join();
  }
}

TEST_CASE("a map output is written, its sizes are told, and it is fetched again",
          "[task_services]") {
  test::FakeFiles files;
  Process p(files, "1", nullptr);
  auto writer = p.services->map_output(ShuffleId{1}, 7, 0, 3);
  REQUIRE(writer->append(0, "some bytes that need a file"));
  REQUIRE(writer->append(2, "x"));
  const Result<MapStatus> status = writer->commit();
  REQUIRE(status);
  CHECK(status->location == p.id);
  CHECK(status->map_id == 7);
  CHECK(size_for(status->sizes, 0) >= 27);
  CHECK(size_for(status->sizes, 1) == 0);
  CHECK(size_for(status->sizes, 2) == 1);
  const std::atomic<bool> killed{false};
  auto stream = p.services->fetch({{.from = p.id, .block = "shuffle_1_7_0"}}, killed);
  CHECK(spell(stream->next()->bytes) == "some bytes that need a file");
  CHECK(!stream->next());
  p.services->on_driver_message(RemoveShuffle{ShuffleId{1}});
  stream = p.services->fetch({{.from = p.id, .block = "shuffle_1_7_0"}}, killed);
  CHECK(spell(stream->next()->bytes) == "error: shuffle_1_7_0 is not here");
}

TEST_CASE("a cached block comes from a peer when it is not here", "[task_services]") {
  test::FakeFiles files;
  Process driver(files, "driver", nullptr), a(files, "1", &driver), b(files, "2", &driver);
  CHECK(a.services->put_block("rdd_1_0", {.memory = true}, Payload(Bytes("cached"))));
  CHECK(a.told.size() == 1);
  std::thread answers([&] {
    for (size_t n = 0; n < 2; ++n) {
      const auto ask = std::get<BlockLocationsRequest>(b.driver.asked(n));
      BlockLocations answer{ask.request, {{}}};
      if (ask.blocks[0] == "rdd_1_0") answer.locations = {{b.id, a.id}};
      b.services->on_driver_message(answer);
    }
  });
  const std::optional<Payload> found = b.services->get_block("rdd_1_0");
  REQUIRE(found);
  CHECK(found->view() == "cached");
  CHECK(!b.services->get_block("rdd_1_1"));
  answers.join();
  CHECK(a.services->get_block("rdd_1_0"));
  CHECK(a.driver.count() == 0);
}

TEST_CASE("B26 a broadcast is fetched once a process, in pieces that are served on",
          "[task_services]") {
  test::FakeFiles files;
  Process driver(files, "driver", nullptr), a(files, "1", &driver), b(files, "2", &driver);
  Bytes value(10'500, 'v');
  value[10'499] = 'z';
  REQUIRE(driver.services->create_broadcast(BroadcastId{4}, Payload(Bytes(value))));
  CHECK(driver.pieces_told() == 11);
  CHECK(spell(driver.services->broadcast(BroadcastId{4})) == value);

  const auto answer = [](Process& to, size_t n, const std::vector<BlockManagerId>& holders) {
    const auto ask = std::get<BlockLocationsRequest>(to.driver.asked(n));
    to.services->on_driver_message(BlockLocations{
        ask.request, std::vector<std::vector<BlockManagerId>>(ask.blocks.size(), holders)});
  };
  std::vector<std::thread> readers;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] { right += spell(a.services->broadcast(BroadcastId{4})) == value; });
  answer(a, 0, {driver.id});
  for (std::thread& reader : readers) reader.join();
  CHECK(right == 4);
  CHECK(a.driver.count() == 1);
  CHECK(a.pieces_told() == 11);

  // Damaged at the peer: every piece comes from the driver after all.
  a.blocks->remove_broadcast(BroadcastId{4});
  for (int piece = 0; piece < 11; ++piece)
    a.blocks->put("broadcast_4_piece" + std::to_string(piece), {.memory = true},
                  Payload(Bytes(piece == 10 ? 500 : 1000, '?')), false);
  std::thread other([&] { answer(b, 0, {a.id}); });
  CHECK(spell(b.services->broadcast(BroadcastId{4})) == value);
  other.join();

  // Removed everywhere: it can't be had any more.
  driver.services->on_driver_message(RemoveBroadcast{BroadcastId{4}});
  b.services->on_driver_message(RemoveBroadcast{BroadcastId{4}});
  CHECK(
      spell(b.services->broadcast(BroadcastId{4})).starts_with("error: Failed to get broadcast_4"));
  CHECK(spell(driver.services->broadcast(BroadcastId{4}))
            .starts_with("error: Failed to get broadcast_4"));
}

TEST_CASE("pieces come from peers while the driver does not have them any more",
          "[task_services]") {
  test::FakeFiles files;
  Process driver(files, "driver", nullptr), a(files, "1", &driver), b(files, "2", &driver);
  const Bytes value(2500, 'v');
  REQUIRE(driver.services->create_broadcast(BroadcastId{4}, Payload(Bytes(value))));
  for (int piece = 0; piece < 3; ++piece) {
    const std::string block = "broadcast_4_piece" + std::to_string(piece);
    a.blocks->put(block, {.memory = true}, *driver.blocks->get(block), false);
    driver.blocks->remove(block);
  }
  std::thread answers([&] {
    const auto ask = std::get<BlockLocationsRequest>(b.driver.asked(0));
    b.services->on_driver_message(BlockLocations{ask.request, {{a.id}, {a.id}, {a.id}}});
  });
  CHECK(spell(b.services->broadcast(BroadcastId{4})) == value);
  answers.join();
}

TEST_CASE("properties, temporary directories, removals, other messages", "[task_services]") {
  test::FakeFiles files;
  Process p(files, "1", nullptr);
  CHECK(p.services->property("spark.app.name") == "test");
  CHECK(!p.services->property("spark.other"));
  CHECK(*p.services->temp_directory() == "/d/blockmgr-1/temp");
  CHECK(*p.services->temp_directory() == "/e/blockmgr-1/temp");
  CHECK(*p.services->temp_directory() == "/d/blockmgr-1/temp");
  CHECK(p.services->executor_id() == ExecutorId{"1"});
  CHECK(p.services->put_block("rdd_1_0", {.disk = true}, Payload(Bytes("x"))));
  CHECK(p.services->put_block("taskresult_3", {.disk = true}, Payload(Bytes("x"))));
  CHECK(p.services->on_driver_message(RemoveRdd{RddId{1}}));
  CHECK(p.services->on_driver_message(RemoveBlocks{{"taskresult_3"}}));
  CHECK(files.files.empty());
  CHECK(!p.services->on_driver_message(StopExecutor{}));
}
