// A running executor on a real loop, which a driver that the test plays shares.
#include "core/executor/executor_service.hpp"

#include <filesystem>

#include "core/scheduler/tasks/task_end.hpp"
#include "net/process/environment.hpp"
#include "net/wire/codec.hpp"
#include "tests/core/executor/running_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

const AddFiles kShipped{{"spark://h:1/files/f"}, {}};

/// The executor and what it needs. Files are had as `fetch` says.
struct Site {
  const std::string directory =
      std::filesystem::temp_directory_path().string() + "/executor-service-" + net::unique_name();
  std::unique_ptr<net::PollLoop> loop = net::make_poll_loop();
  std::unique_ptr<net::Endpoint> driver, executor;
  std::unique_ptr<ProcessBlocks> blocks;
  std::function<void(const ToDriver&)> on_message;  // once the executor is ready
  std::unique_ptr<ExecutorService> service;

  explicit Site(FetchFiles fetch) {
    std::tie(driver, executor) = net::make_memory_endpoints(*loop, *loop);
    driver->handle({[this](PeerId, net::Packet&& p) {
                      const Result<ToDriver> message = net::decode<ToDriver>(p);
                      REQUIRE(message);
                      answer(*message);
                    },
                    [](PeerId) {}});
    open_blocks();
    ExecutorServiceOptions o;
    o.startup = settings();
    o.shared_blocks = blocks.get();
    o.executor.driver_address = "in process";
    o.executor.id = {"driver"};
    o.executor.host = "127.0.0.1";
    o.fetch_files = std::move(fetch);
    service = std::make_unique<ExecutorService>(*loop, *executor, std::move(o),
                                                [this](int, const std::string&) { loop->stop(); });
  }
  ~Site() {
    service.reset();
    blocks.reset();
    std::filesystem::remove_all(directory);
  }

  conf::Conf settings() const {
    return conf::Conf{}
        .with("spark.local.dir", directory)
        .with("spark.executor.heartbeatInterval", "10ms");
  }
  void open_blocks() {
    ProcessBlocksOptions o;
    o.conf = settings();
    o.self = {"driver"};
    o.host = "127.0.0.1";
    o.network = false;
    o.memory = 512LL << 20;
    auto opened = ProcessBlocks::open(o, {});
    REQUIRE(opened);
    blocks = std::move(*opened);
    REQUIRE(blocks->listen(o));
  }
  void send(ToExecutor message) { driver->send(net::kMemoryPeer, net::encode(message)); }
  void answer(const ToDriver& message) {
    if (std::holds_alternative<ExecutorHello>(message)) return send(ApplicationConfig{});
    if (std::holds_alternative<RegisterExecutor>(message)) return send(ExecutorRegistered{});
    if (std::holds_alternative<ExecutorHeartbeat>(message)) send(HeartbeatAnswer{});
    on_message(message);
  }
  /// Until the loop is stopped; a test that hangs ends with a failure.
  void run() {
    bool late = false;
    loop->after(std::chrono::minutes(1), [this, &late] {
      late = true;
      loop->stop();
    });
    service->start();
    loop->run();
    CHECK_FALSE(late);
  }
};

/// What the driver hears of tasks and heartbeats, a line each.
std::vector<std::string> lines_of(const ToDriver& message) {
  std::vector<std::string> lines;
  if (std::holds_alternative<ExecutorHeartbeat>(message)) lines.push_back("heartbeat");
  if (const auto* revoked = std::get_if<TasksRevoked>(&message))
    for (const TaskId id : revoked->tasks) lines.push_back(std::to_string(id.value) + " revoked");
  if (const auto* updates = std::get_if<StatusUpdates>(&message))
    for (const TaskUpdate& u : updates->tasks) {
      if (u.state == TaskState::Running || !u.reason) continue;
      const bool killed = u.state == TaskState::Killed;
      lines.push_back(std::to_string(u.id.value) +
                      (killed ? " killed: " + u.reason->description : " failed"));
    }
  return lines;
}

}  // namespace

TEST_CASE("while shipped files come, launches wait for them and nothing else does",
          "[executor_service]") {
  Gate server;
  std::atomic<bool> fetched{false};
  Site site([&](const AddFiles& files, const std::atomic<bool>&) -> Result<bool> {
    server.pass();
    fetched = files == kShipped;
    return true;
  });
  std::vector<std::string> heard;
  site.on_message = [&](const ToDriver& message) {
    if (std::holds_alternative<ExecutorReady>(message)) {
      site.send(kShipped);
      site.send(StageProgram{1, Payload(Bytes("no program")), {}});
      site.send(Running::launch(1, {1, 2, 3}));
      site.send(KillTask{TaskId{1}, false, "unwanted"});
      site.send(RevokeTasks{{TaskId{2}}});
    }
    for (std::string& line : lines_of(message)) {
      if (line == "heartbeat" && heard.size() != 2) continue;  // one, when the others were heard
      heard.push_back(std::move(line));
    }
    if (heard.size() == 3) server.open();
    if (heard.size() == 4) site.loop->stop();
  };
  site.run();
  server.open();
  CHECK(fetched);
  CHECK(heard ==
        std::vector<std::string>{"1 killed: unwanted", "2 revoked", "heartbeat", "3 failed"});
  CHECK(site.service->stop());
}

TEST_CASE("an executor stops while shipped files come", "[executor_service]") {
  Gate begun;
  Site site([&](const AddFiles&, const std::atomic<bool>& cancelled) -> Result<bool> {
    begun.open();
    while (!cancelled) std::this_thread::yield();
    return Error{"cancelled"};
  });
  site.on_message = [&](const ToDriver& message) {
    if (!std::holds_alternative<ExecutorReady>(message)) return;
    site.send(kShipped);
    site.send(Running::launch(1, {1}));
    site.send(StopExecutor{});
  };
  site.run();
  begun.pass();
  CHECK(site.service->stop());
}

TEST_CASE("a file that cannot be had fails its tasks, and is fetched again for the next ones",
          "[executor_service]") {
  std::atomic<int> fetches{0};
  Site site([&](const AddFiles& files, const std::atomic<bool>&) -> Result<bool> {
    if (++fetches == 1) return Error{"no connection"};
    return files == kShipped;
  });
  std::vector<std::string> failed;
  site.on_message = [&](const ToDriver& message) {
    if (std::holds_alternative<ExecutorReady>(message)) {
      site.send(kShipped);
      site.send(StageProgram{1, Payload(Bytes("no program")), {}});
      site.send(Running::launch(1, {1}));
    }
    const auto* updates = std::get_if<StatusUpdates>(&message);
    if (!updates) return;
    for (const TaskUpdate& u : updates->tasks) {
      if (u.state != TaskState::Failed) continue;
      failed.push_back(std::to_string(u.id.value) + ": " + error_text(*u.reason));
      if (failed.size() == 1) site.send(Running::launch(1, {2}));
      if (failed.size() == 2) site.loop->stop();
    }
  };
  site.run();
  REQUIRE(failed.size() == 2);
  CHECK(failed[0] == "1: std::runtime_error: no connection");
  CHECK_THAT(failed[1], Catch::StartsWith("2: BadProgram"));  // it began
  CHECK(fetches == 2);
  CHECK(site.service->stop());
}
