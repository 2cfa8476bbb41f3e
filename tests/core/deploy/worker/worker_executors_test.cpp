// A worker's executors: start, kill, end, reports, what is kept of them. Ids are those of spec/11,
// section M.
#include "tests/core/deploy/worker/worker_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace tinderbox::core::test::of_worker;

TEST_CASE("M39 an executor is started with placeholders filled in, whole arguments only",
          "[worker]") {
  Run r;
  r.start();
  LaunchExecutor m{"spark://m:7077", {"app-1"}, 3, 5, app_of(), 2, 1024};
  m.description.command.arguments = {
      "executor",   "--executor-id",  "{{EXECUTOR_ID}}",         "{{HOSTNAME}}", "{{CORES}}",
      "{{APP_ID}}", "{{WORKER_URL}}", "{{RESOURCE_PROFILE_ID}}", "x{{CORES}}",   "{{NOTHING}}"};
  m.description.command.environment = {{"SPARK_USER", "ann"}};
  m.description.command.properties = {{"spark.app.name", "count"}};
  m.description.command.build_id = "abcd";
  auto out = r.from(1, m);
  auto made = all<MakeDirectories>(out);
  REQUIRE(made.size() == 1);
  REQUIRE(made[0].paths.size() == 2);
  CHECK(made[0].paths[0].starts_with("/tmp/executor-"));
  CHECK(made[0].paths[1].starts_with("/data/executor-"));
  CHECK(made[0].paths[0].size() == std::string("/tmp/executor-").size() + 36);
  Spawn s = all<Spawn>(out).at(0);
  CHECK(s.file == "/opt/count");
  CHECK(s.build_id == "abcd");
  CHECK(s.directory == "/work/app-1/3");
  CHECK(s.properties == m.description.command.properties);
  CHECK(s.arguments == std::vector<std::string>{"executor", "--executor-id", "3", "w", "2", "app-1",
                                                "spark://Worker@w:4000", "5", "x{{CORES}}",
                                                "{{NOTHING}}"});
  CHECK(s.environment == std::map<std::string, std::string>{
                             {"SPARK_USER", "ann"},
                             {"SPARK_LAUNCH_WITH_SCALA", "0"},
                             {"SPARK_EXECUTOR_DIRS", made[0].paths[0] + ":" + made[0].paths[1]},
                             {"SPARK_LOG_URL_STDERR",
                              "http://w:8081/logPage/?appId=app-1&executorId=3&logType=stderr"},
                             {"SPARK_LOG_URL_STDOUT",
                              "http://w:8081/logPage/?appId=app-1&executorId=3&logType=stdout"}});
  CHECK(all<Spawn>(r.from(1, m)).empty());
  CHECK(
      all<MakeDirectories>(r.from(1, LaunchExecutor{"", {"app-1"}, 4, 0, app_of(), 1, 1})).empty());
  CHECK(reports(r.feed(ProcessStarted{s.ticket, 77, ""})) ==
        std::vector<State>{{3, ExecutorState::Running, {}}});
  CHECK(r.worker.status().cores_used == 3);
}

TEST_CASE("only the own master launches and kills; ids that name other directories are refused",
          "[worker]") {
  Run r;
  r.start();
  CHECK(all<Spawn>(r.from(9, LaunchExecutor{"spark://m:7077", {"app-1"}, 0, 0, app_of(), 1, 1}))
            .empty());
  CHECK(all<Spawn>(r.from(9, LaunchDriver{{"driver-1"}, {}})).empty());
  for (std::string bad : {"../../etc", "..", "", "a/b"}) {
    auto out = r.from(1, LaunchExecutor{"spark://m:7077", {bad}, 0, 0, app_of(), 1, 1});
    CHECK(all<Spawn>(out).empty());
    CHECK(reports(out) == std::vector<State>{{0, ExecutorState::Failed, {}}});
    out = r.from(1, LaunchDriver{{bad}, {}});
    CHECK(all<Spawn>(out).empty());
    CHECK(to_master<DriverStateChanged>(out).at(0).message.state == DriverState::Error);
  }
  uint64_t ticket = r.launch("app-1", 0);
  CHECK(all<Signal>(r.from(9, KillExecutor{"spark://m:7077", {"app-1"}, 0})).empty());
  CHECK(all<Signal>(r.from(1, KillExecutor{"spark://m:7077", {"app-1"}, 0})) ==
        std::vector<Signal>{{ticket, 15}});
  CHECK(r.worker.status().cores_used == 2);
}

TEST_CASE("an executor's end is reported with its exit code; one that cannot start has FAILED",
          "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = r.running();
  auto out = r.feed(ProcessExited{ticket, 137});
  REQUIRE(reports(out) == std::vector<State>{{0, ExecutorState::Exited, 137}});
  CHECK(to_master<ExecutorStateChanged>(out)[0].message.message == "Command exited with code 137");
  CHECK(r.worker.status().cores_used == 0);
  CHECK(r.worker.status().finished_executors.size() == 1);
  ticket = r.launch("app-1", 1);
  out = r.feed(ProcessStarted{ticket, 0, "no such file"});
  REQUIRE(reports(out) == std::vector<State>{{1, ExecutorState::Failed, {}}});
  CHECK(to_master<ExecutorStateChanged>(out)[0].message.message == "no such file");
  CHECK(r.feed(ProcessExited{ticket, 0}).empty());
}

TEST_CASE("an executor's end by a signal or for memory is told apart from a code", "[worker]") {
  Run r;
  r.start();
  const auto text = [&](int32_t executor, bool signalled, bool out_of_memory) {
    uint64_t ticket = r.running(executor);
    auto out = r.feed(ProcessExited{ticket, 137, signalled, out_of_memory});
    CHECK(reports(out) == std::vector<State>{{executor, ExecutorState::Exited, 137}});
    return to_master<ExecutorStateChanged>(out).at(0).message.message;
  };
  CHECK(text(0, false, false) == "Command exited with code 137");
  CHECK(text(1, true, false) == "Command exited with code 137 (died from signal 9, SIGKILL)");
  CHECK(text(2, true, true).find("out of memory") != std::string::npos);
}

TEST_CASE("M39 a kill is SIGTERM, SIGKILL after 10 s, and given up after 10 s more", "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = r.running();
  auto out = r.from(1, KillExecutor{"spark://m:7077", {"app-1"}, 0});
  CHECK(all<Signal>(out) == std::vector<Signal>{{ticket, 15}});
  CHECK(all<After<WorkerTimer>>(out) ==
        std::vector<After<WorkerTimer>>{{10s, {Kind::KillHard, ticket}}});
  CHECK(all<Signal>(r.from(1, KillExecutor{"spark://m:7077", {"app-1"}, 0})).empty());
  SECTION("it ends by itself") {
    CHECK(reports(r.feed(ProcessExited{ticket, 143})) ==
          std::vector<State>{{0, ExecutorState::Killed, 143}});
    CHECK(r.timer(Kind::KillHard, ticket).empty());
  }
  SECTION("it does not") {
    out = r.timer(Kind::KillHard, ticket);
    CHECK(all<Signal>(out) == std::vector<Signal>{{ticket, 9}});
    CHECK(all<After<WorkerTimer>>(out) ==
          std::vector<After<WorkerTimer>>{{10s, {Kind::GiveUp, ticket}}});
    CHECK(reports(r.timer(Kind::GiveUp, ticket)) ==
          std::vector<State>{{0, ExecutorState::Killed, {}}});
  }
}

TEST_CASE("a kill that comes before the process exists reaches it when it does", "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = r.launch("app-1", 0);
  r.from(1, KillExecutor{"spark://m:7077", {"app-1"}, 0});
  CHECK(all<Signal>(r.feed(ProcessStarted{ticket, 7, ""})) == std::vector<Signal>{{ticket, 15}});
  uint64_t other = r.launch("app-1", 1);
  r.from(1, KillExecutor{"spark://m:7077", {"app-1"}, 1});
  CHECK(reports(r.feed(ProcessStarted{other, 0, "stopped"})) ==
        std::vector<State>{{1, ExecutorState::Killed, {}}});
}

TEST_CASE("a state report is sent until it is accepted; after 5 tries the worker ends",
          "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = r.launch("app-1", 0);
  auto out = r.feed(ProcessStarted{ticket, 7, ""});
  uint64_t request = to_master<ExecutorStateChanged>(out).at(0).message.request;
  CHECK(all<After<WorkerTimer>>(out) ==
        std::vector<After<WorkerTimer>>{{120s, {Kind::Report, request}}});
  SECTION("accepted") {
    r.from(1, ExecutorStateAccepted{request});
    CHECK(r.timer(Kind::Report, request).empty());
  }
  SECTION("never accepted") {
    for (int i = 2; i <= 5; ++i) CHECK(reports(r.timer(Kind::Report, request)).size() == 1);
    out = r.timer(Kind::Report, request);
    CHECK(all<Signal>(out) == std::vector<Signal>{{ticket, 15}});
    CHECK(all<Exit>(out).empty());
    CHECK(all<Exit>(r.feed(ProcessExited{ticket, 143})).at(0).code == 1);
  }
  SECTION("a master that comes back hears it first") {
    auto lost = r.feed(PeerLost{1});
    r.feed(ProcessExited{ticket, 0});
    r.feed(Connected{all<Connect>(lost).at(0).ticket, 2});
    out = r.from(2, RegisteredWorker{"spark://m:7077", "", true});
    CHECK(reports(out) ==
          std::vector<State>{{0, ExecutorState::Running, {}}, {0, ExecutorState::Exited, 0}});
    CHECK(to_master<WorkerLatestState>(out).at(0).message.executors.empty());
    auto last = all<Send<ToMaster>>(out).back();
    CHECK(std::holds_alternative<WorkerLatestState>(last.message));
  }
}

TEST_CASE("M33 finished executors and drivers are kept up to their limits", "[worker]") {
  auto lengths = [](int32_t kept, int exits, bool drivers) {
    WorkerOptions o = options();
    o.retained_executors = o.retained_drivers = kept;
    Run r(o);
    r.start();
    std::vector<size_t> sizes;
    for (int32_t i = 0; i < exits; ++i) {
      uint64_t ticket = 0;
      if (drivers)
        ticket =
            all<Spawn>(r.from(1, LaunchDriver{{"driver-" + std::to_string(i)}, {}})).at(0).ticket;
      else
        ticket = r.launch("app-1", i);
      r.feed(ProcessStarted{ticket, 7, ""});
      r.feed(ProcessExited{ticket, 0});
      WorkerStatus s = r.worker.status();
      sizes.push_back(drivers ? s.finished_drivers.size() : s.finished_executors.size());
      if (drivers)
        CHECK(s.finished_drivers.back().id.value == "driver-" + std::to_string(i));
      else
        CHECK(s.finished_executors.back().id == i);
    }
    return sizes;
  };
  for (bool drivers : {false, true}) {
    CHECK(lengths(2, 5, drivers) == std::vector<size_t>{1, 2, 2, 2, 2});
    std::vector<size_t> sizes = lengths(30, 50, drivers);
    for (size_t i = 0; i < 30; ++i) CHECK(sizes[i] == i + 1);
    const std::vector<size_t> kCycle = {28, 29, 30};
    for (size_t i = 30; i < 50; ++i) CHECK(sizes[i] == kCycle[(i - 30) % 3]);
  }
}

TEST_CASE("an application's local directories go when it has finished and its last executor ended",
          "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = 0;
  auto out = r.from(1, LaunchExecutor{"spark://m:7077", {"app-1"}, 0, 0, app_of(), 1, 1});
  std::vector<std::string> dirs = all<MakeDirectories>(out).at(0).paths;
  ticket = all<Spawn>(out).at(0).ticket;
  r.feed(ProcessStarted{ticket, 7, ""});
  CHECK(all<RemoveDirectories>(r.from(1, ApplicationFinished{{"app-1"}})).empty());
  CHECK(all<RemoveDirectories>(r.feed(ProcessExited{ticket, 0})) ==
        std::vector<RemoveDirectories>{{dirs}});
  ticket = r.launch("app-2", 0);
  r.feed(ProcessStarted{ticket, 7, ""});
  CHECK(all<RemoveDirectories>(r.feed(ProcessExited{ticket, 1})).empty());
  CHECK(all<RemoveDirectories>(r.from(1, ApplicationFinished{{"app-2"}})).size() == 1);
  CHECK(all<RemoveDirectories>(r.from(1, ApplicationFinished{{"app-2"}})).empty());
}

TEST_CASE("a master that comes hears nothing of executors that are being killed", "[worker]") {
  Run r;
  r.start();
  r.running(0);
  r.running(1);
  r.from(1, KillExecutor{"spark://m:7077", {"app-1"}, 0});
  const auto told = to_master<WorkerLatestState>(r.join_again());
  REQUIRE(told.at(0).message.executors.size() == 1);
  CHECK(told[0].message.executors[0].executor == 1);
}
