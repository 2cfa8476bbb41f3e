// A task runner over programs that the test plays.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/executor/task_runner.hpp"
#include "core/storage/stores/memory_pool.hpp"

namespace tinderbox::core::test {

using Body = std::function<TaskOutput(int32_t partition, std::string_view inputs, TaskContext&)>;

struct FakeProgram : Program {
  explicit FakeProgram(Body b) : body(std::move(b)) {}
  void add_reads(int32_t partition, std::vector<ShuffleRead>& reads) const override {
    reads.push_back({ShuffleId{1}, partition});
  }
  bool reads_shuffles() const override { return shuffles; }
  TaskOutput run(int32_t partition, std::string_view inputs, TaskContext& context) const override {
    return body(partition, inputs, context);
  }
  Body body;
  bool shuffles = false;
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
  struct Expected {
    int64_t program = 0;
    int32_t first = 0;  // that is read first
    size_t reads = 0;
    bool operator==(const Expected&) const = default;
  };
  std::vector<Expected> expected;
  void expect(int64_t program, const std::vector<ShuffleRead>& reads) override {
    expected.push_back({program, reads.at(0).reduce, reads.size()});
  }
  MemoryPool pool{0, 0};
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
  bool may_commit(AskPermissionToCommit) override { return false; }
  MemoryPool& memory() override { return pool; }
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
  std::atomic<int64_t> ran{0}, ran_at_ring{-1};  // when it was rung first
  std::mutex mutex;
  std::condition_variable rung;
  std::vector<TaskUpdate> moved;
  std::unique_ptr<TaskRunner> runner;

  explicit Running(int threads = 1, int64_t max_result = 100) {
    TaskRunnerOptions options;
    options.threads = threads;
    options.max_result_size = max_result;
    options.max_direct_result_size = 30;
    options.decode = [this](std::string_view name) -> Result<std::unique_ptr<Program>> {
      ++decoded;
      const auto it = bodies.find(std::string(name));
      if (it == bodies.end()) return Error{"no such code"};
      auto program = std::make_unique<FakeProgram>(it->second);
      program->shuffles = name.starts_with("reads");
      return std::unique_ptr<Program>(std::move(program));
    };
    options.now = [this] { return Time(Duration(clock += 5)); };
    options.on_updates = [this] {
      if (++rings == 1) ran_at_ring = ran.load();
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

inline TaskOutput value(std::string bytes) {
  return {.result = Payload(std::move(bytes)), .map_status = {}};
}

/// Program 1 says that a task of it has started, and waits until the test lets it go on.
struct Held : Running {
  explicit Held(int threads = 1) : Running(threads) {
    bodies["held"] = [this](int32_t, std::string_view, TaskContext&) {
      ++ran;
      started.open();
      gate.pass();
      return value("v");
    };
    keep(1, "held");
  }
  Gate gate, started;
  std::atomic<int> ran{0};
};

}  // namespace tinderbox::core::test
