#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "core/deploy/pages.hpp"
#include "core/deploy/worker/worker.hpp"
#include "tests/deploy/deploy_fixtures.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace std::chrono_literals;

namespace {

const Time kStart{Duration(1795250807000000)};  // 2026-11-21 08:46:47 UTC
using Kind = WorkerTimer::Kind;

WorkerOptions options(const conf::Conf& conf = {}) {
  WorkerOptions o = worker_options(conf);
  o.host = "w";
  o.port = 4000;
  o.web_ui_url = "http://w:8081";
  o.cores = 8;
  o.memory_mib = 8192;
  o.masters = {"spark://m:7077"};
  o.work_dir = "/work";
  o.local_dirs = {"/tmp", "/data"};
  o.cleanup = false;
  return o;
}

struct Run {
  Worker worker;
  Time now = kStart;
  explicit Run(WorkerOptions o = options(), uint64_t seed = 1) : worker(std::move(o), seed) {}

  Worker::Effects feed(Worker::Event e) {
    Worker::Effects out;
    worker.on(e, now, out);
    return out;
  }
  Worker::Effects from(PeerId peer, ToWorker m) {
    return feed(Received<ToWorker>{peer, std::move(m)});
  }
  Worker::Effects timer(Kind kind, uint64_t id) { return feed(WorkerTimer{kind, id}); }
  /// Starts and registers with a master that is peer 1.
  Worker::Effects start() {
    feed(StartWorker{});
    feed(Connected{1, 1});
    return from(1, RegisteredWorker{"spark://m:7077", "http://m:8080", false});
  }
  /// Launches executor `id` of `app` and returns its ticket.
  uint64_t launch(const std::string& app, int32_t id, int32_t cores = 2) {
    auto spawned =
        all<Spawn>(from(1, LaunchExecutor{"spark://m:7077", {app}, id, 0, app_of(), cores, 1024}));
    REQUIRE(spawned.size() == 1);
    return spawned[0].ticket;
  }
};

/// The one After of this kind.
WorkerTimer timer_of(const Worker::Effects& out, Kind kind, Duration* delay = nullptr) {
  for (const auto& a : all<After<WorkerTimer>>(out)) {
    if (a.event.kind != kind) continue;
    if (delay) *delay = a.delay;
    return a.event;
  }
  FAIL("no such timer");
  return {};
}

struct State {
  int32_t executor;
  ExecutorState state;
  std::optional<int32_t> status;
  bool operator==(const State&) const = default;
};
std::vector<State> reports(const Worker::Effects& out) {
  std::vector<State> states;
  for (const auto& s : to_master<ExecutorStateChanged>(out))
    states.push_back({s.message.executor, s.message.state, s.message.exit_status});
  return states;
}

}  // namespace

TEST_CASE("a worker registers with every master and then belongs to the one that answers",
          "[worker]") {
  WorkerOptions o = options();
  o.masters = {"spark://m1:7077", "spark://m2:7077"};
  Run r(o);
  auto out = r.feed(StartWorker{});
  CHECK(all<Connect>(out) == std::vector<Connect>{{1, "m1:7077"}, {2, "m2:7077"}});
  auto hello = to_master<RegisterWorker>(r.feed(Connected{1, 11}));
  REQUIRE(hello.size() == 1);
  CHECK(hello[0].to == 11);
  CHECK(hello[0].message == RegisterWorker{{},
                                           {"worker-20261121084647-w-4000"},
                                           "w",
                                           4000,
                                           8,
                                           8192,
                                           "http://w:8081",
                                           "spark://m1:7077"});
  r.feed(Connected{2, 12});
  CHECK(r.from(11, MasterInStandby{}).empty());
  out = r.from(12, RegisteredWorker{"spark://m2:7077", "http://m2:8080", false});
  CHECK(all<Disconnect>(out) == std::vector<Disconnect>{{11}});
  CHECK(to_master<WorkerHeartbeat>(out).at(0).to == 12);
  CHECK(to_master<WorkerLatestState>(out).at(0).message ==
        WorkerLatestState{{"worker-20261121084647-w-4000"}, {}, {}});
  Duration delay{};
  WorkerTimer beat = timer_of(out, Kind::Heartbeat, &delay);
  CHECK(delay == 15s);
  CHECK(to_master<WorkerHeartbeat>(r.feed(beat)).size() == 1);
  r.feed(PeerLost{12});
  CHECK(r.feed(beat).empty());
}

TEST_CASE("registration is tried 6 times at 5–15 s, 10 times at 30–90 s, then the worker gives up",
          "[worker]") {
  for (uint64_t seed : {1, 2, 3, 99}) {
    Run r(options(), seed);
    Duration delay{};
    auto out = r.feed(StartWorker{});
    WorkerTimer again = timer_of(out, Kind::Register, &delay);
    std::vector<Duration> delays = {delay};
    for (int i = 1; i <= 16; ++i) {
      out = r.feed(again);
      REQUIRE(all<Connect>(out).size() == 1);
      again = timer_of(out, Kind::Register, &delay);
      delays.push_back(delay);
    }
    for (size_t i = 0; i < delays.size(); ++i) {
      CHECK(delays[i] == delays[i < 6 ? 0 : 6]);
    }
    CHECK((delays[0] >= 5s && delays[0] <= 15s));
    CHECK((delays[6] >= 30s && delays[6] <= 90s));
    out = r.feed(again);
    CHECK(logged(out, "All masters are unresponsive! Giving up."));
    CHECK(all<Exit>(out).at(0).code == 1);
  }
}

TEST_CASE("a refused registration ends the worker, one that comes late does not", "[worker]") {
  Run r;
  r.feed(StartWorker{});
  r.feed(Connected{1, 1});
  auto out = r.from(1, RegisterWorkerFailed{"no room"});
  CHECK(all<Exit>(out) == std::vector<Exit>{{1, "Worker registration failed: no room"}});
  Run late;
  late.start();
  CHECK(late.from(1, RegisterWorkerFailed{"no room"}).empty());
}

TEST_CASE("a lost master: all masters once, then the one that was known", "[worker]") {
  WorkerOptions o = options();
  o.masters = {"spark://m1:7077", "spark://m2:7077"};
  Run r(o);
  r.feed(StartWorker{});
  r.feed(Connected{1, 11});
  r.from(11, RegisteredWorker{"spark://m1:7077", "", false});
  auto out = r.feed(PeerLost{11});
  CHECK(all<Connect>(out).size() == 2);
  out = r.feed(timer_of(out, Kind::Register));
  REQUIRE(all<Connect>(out).size() == 1);
  CHECK(all<Connect>(out)[0].address == "m1:7077");
}

TEST_CASE("ReconnectWorker registers again, only when the own master says so", "[worker]") {
  Run r;
  r.start();
  CHECK(all<Connect>(r.from(9, ReconnectWorker{"spark://evil:1"})).empty());
  CHECK(all<Connect>(r.from(1, ReconnectWorker{"spark://m:7077"})).size() == 1);
  CHECK(all<Connect>(r.from(1, ReconnectWorker{"spark://m:7077"})).empty());
}

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
  uint64_t ticket = r.launch("app-1", 0);
  r.feed(ProcessStarted{ticket, 7, ""});
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
    uint64_t ticket = r.launch("app-1", executor);
    r.feed(ProcessStarted{ticket, 7, ""});
    auto out = r.feed(ProcessExited{ticket, 137, signalled, out_of_memory});
    CHECK(reports(out) == std::vector<State>{{executor, ExecutorState::Exited, 137}});
    return to_master<ExecutorStateChanged>(out).at(0).message.message;
  };
  CHECK(text(0, false, false) == "Command exited with code 137");
  CHECK(text(1, true, false) == "Command exited with code 137 (died from signal 9, SIGKILL)");
  CHECK(text(2, true, true).find("out of memory") != std::string::npos);
}

TEST_CASE("a decommissioned worker takes no executors and tells every master", "[worker]") {
  Run r;
  r.start();
  r.launch("app-1", 0);
  auto out = r.feed(DecommissionWorker{});
  CHECK(to_master<WorkerDecommissioning>(out).size() == 1);
  CHECK(all<Signal>(out).empty());
  CHECK(r.feed(DecommissionWorker{}).empty());
  CHECK(all<Spawn>(r.from(1, LaunchExecutor{"spark://m:7077", {"app-1"}, 1, 0, app_of(), 1, 1}))
            .empty());
  auto lost = r.feed(PeerLost{1});
  r.feed(Connected{all<Connect>(lost).at(0).ticket, 2});
  out = r.from(2, RegisteredWorker{"spark://m:7077", "", false});
  CHECK(to_master<WorkerDecommissioning>(out).size() == 1);
}

TEST_CASE("M39 a kill is SIGTERM, SIGKILL after 10 s, and given up after 10 s more", "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = r.launch("app-1", 0);
  r.feed(ProcessStarted{ticket, 7, ""});
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

TEST_CASE("with NONE: a new master is told what runs, and what it kills ends", "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = r.launch("app-1", 0);
  r.feed(ProcessStarted{ticket, 7, ""});
  auto out = r.feed(PeerLost{1});
  CHECK(all<Signal>(out).empty());
  CHECK(r.worker.status().executors.size() == 1);
  r.feed(Connected{all<Connect>(out).at(0).ticket, 2});
  out = r.from(2, RegisteredWorker{"spark://m:7077", "", false});
  CHECK(to_master<WorkerLatestState>(out).at(0).message.executors ==
        std::vector<ExecutorDescription>{{{"app-1"}, 0, 0, 2, 1024, ExecutorState::Running}});
  CHECK(all<Signal>(r.from(2, KillExecutor{"spark://m:7077", {"app-1"}, 0})) ==
        std::vector<Signal>{{ticket, 15}});
}

TEST_CASE("MasterChanged: the worker opens its own connection and tells what runs there",
          "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = r.launch("app-1", 0);
  r.feed(ProcessStarted{ticket, 7, ""});
  r.from(1, LaunchDriver{{"driver-1"}, {}});
  SECTION("to a master elsewhere") {
    auto lost = r.feed(PeerLost{1});
    auto out = r.from(50, MasterChanged{"spark://n:7077", "http://n:8080"});
    REQUIRE(all<Connect>(out).size() == 1);
    CHECK(all<Connect>(out)[0].address == "n:7077");
    out = r.feed(Connected{all<Connect>(out)[0].ticket, 2});
    CHECK(to_master<WorkerSchedulerState>(out).at(0) ==
          Sent<WorkerSchedulerState>{2,
                                     {{"worker-20261121084647-w-4000"},
                                      {{{"app-1"}, 0, 0, 2, 1024, ExecutorState::Running}},
                                      {{"driver-1"}}}});
    CHECK(to_master<WorkerHeartbeat>(out).size() == 1);
    CHECK(r.feed(timer_of(lost, Kind::Register)).empty());
    CHECK(r.worker.status().master_url == "spark://n:7077");
  }
  SECTION("to the one that registration goes to already: on that connection, no second one") {
    auto out = r.feed(PeerLost{1});
    r.feed(Connected{all<Connect>(out).at(0).ticket, 2});
    out = r.from(50, MasterChanged{"spark://m:7077", ""});
    CHECK(all<Connect>(out).empty());
    CHECK(to_master<WorkerSchedulerState>(out).at(0).to == 2);
    out = r.from(2, RegisteredWorker{"spark://m:7077", "", true});
    CHECK(to_master<WorkerLatestState>(out).size() == 1);
  }
  SECTION("that cannot be reached: registration goes on") {
    r.feed(PeerLost{1});
    auto out = r.from(50, MasterChanged{"spark://n:7077", ""});
    r.feed(Connected{all<Connect>(out).at(0).ticket, 2});
    CHECK(all<Connect>(r.feed(PeerLost{2})).size() == 2);
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
      if (!drivers) CHECK(s.finished_executors.back().id == i);
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

// ---- drivers -----------------------------------------------------------------------------------

namespace {
DriverDescription driver(bool supervise) {
  DriverDescription d;
  d.command.elf = "http://repo/count";
  d.command.main_class = "wordcount";
  d.command.arguments = {"in", "{{WORKER_URL}}"};
  d.command.properties = {{"spark.master", "spark://m:7077"}};
  d.supervise = supervise;
  d.cores = 1;
  d.memory_mib = 512;
  return d;
}

struct DriverRun {
  std::vector<Duration> sleeps;
  int runs = 0;
  std::optional<DriverState> end;
};
/// Runs a driver that takes `lengths[i]` and ends with `statuses[i]`.
DriverRun play(bool supervise, std::vector<int32_t> statuses, std::vector<Duration> lengths = {}) {
  Run r;
  r.start();
  DriverRun result;
  auto out = r.from(1, LaunchDriver{{"driver-1"}, driver(supervise)});
  for (size_t i = 0; i < statuses.size(); ++i) {
    auto spawned = all<Spawn>(out);
    REQUIRE(spawned.size() == 1);
    ++result.runs;
    r.feed(ProcessStarted{spawned[0].ticket, 7, ""});
    r.now += lengths.empty() ? 1s : lengths[i];
    out = r.feed(ProcessExited{spawned[0].ticket, statuses[i]});
    auto ended = to_master<DriverStateChanged>(out);
    if (!ended.empty()) result.end = ended[0].message.state;
    if (result.end) break;
    Duration delay{};
    WorkerTimer again = timer_of(out, Kind::Relaunch, &delay);
    result.sleeps.push_back(delay);
    r.now += delay;
    out = r.feed(again);
  }
  if (result.end) CHECK(r.worker.status().cores_used == 0);
  return result;
}
}  // namespace

TEST_CASE("M37 driver runs, back-off and final states", "[worker]") {
  DriverRun one = play(false, {0});
  CHECK((one.runs == 1 && one.sleeps.empty() && one.end == DriverState::Finished));
  DriverRun four = play(true, {255, 255, 255, 0});
  CHECK((four.runs == 4 && four.end == DriverState::Finished));
  CHECK(four.sleeps == std::vector<Duration>{1s, 2s, 4s});
  DriverRun failed = play(false, {255});
  CHECK((failed.runs == 1 && failed.sleeps.empty() && failed.end == DriverState::Failed));
  DriverRun reset = play(true, {1, 1, 1, 1, 0}, {1s, 1s, 6s, 1s, 1s});
  CHECK(reset.sleeps == std::vector<Duration>{1s, 2s, 1s, 2s});
  CHECK(play(true, {1, 1, 0}, {5s, 5s, 5s}).sleeps == std::vector<Duration>{1s, 2s});
}

TEST_CASE("M37 a driver is started as the role driver, in its directory", "[worker]") {
  Run r;
  r.start();
  Spawn s = all<Spawn>(r.from(1, LaunchDriver{{"driver-1"}, driver(true)})).at(0);
  CHECK(s.file == "http://repo/count");
  CHECK(s.directory == "/work/driver-1");
  CHECK(s.arguments == std::vector<std::string>{"driver", "--class", "wordcount", "--", "in",
                                                "spark://Worker@w:4000"});
  CHECK(s.properties.at("spark.master") == "spark://m:7077");
  CHECK(s.environment.at("SPARK_DRIVER_LOG_URL_STDOUT") ==
        "http://w:8081/logPage/?driverId=driver-1&logType=stdout");
  CHECK(r.worker.status().cores_used == 1);
  CHECK(all<Spawn>(r.from(1, LaunchDriver{{"driver-1"}, driver(true)})).empty());
}

TEST_CASE("M37 killed while it waits: one run, KILLED", "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = all<Spawn>(r.from(1, LaunchDriver{{"driver-1"}, driver(true)})).at(0).ticket;
  r.feed(ProcessStarted{ticket, 7, ""});
  WorkerTimer again = timer_of(r.feed(ProcessExited{ticket, 255}), Kind::Relaunch);
  auto out = r.from(1, KillDriver{{"driver-1"}});
  CHECK(to_master<DriverStateChanged>(out).at(0).message ==
        DriverStateChanged{{"driver-1"}, DriverState::Killed, ""});
  CHECK(r.feed(again).empty());
}

TEST_CASE("M37 killed while it runs: SIGTERM, SIGKILL after driverTerminateTimeout", "[worker]") {
  WorkerOptions o = options(conf::Conf().with(conf::kWorkerDriverTerminateTimeout, "3s"));
  Run r(o);
  r.start();
  uint64_t ticket = all<Spawn>(r.from(1, LaunchDriver{{"driver-1"}, driver(true)})).at(0).ticket;
  r.feed(ProcessStarted{ticket, 7, ""});
  auto out = r.from(1, KillDriver{{"driver-1"}});
  CHECK(all<Signal>(out) == std::vector<Signal>{{ticket, 15}});
  Duration delay{};
  WorkerTimer hard = timer_of(out, Kind::KillHard, &delay);
  CHECK(delay == 3s);
  CHECK(all<Signal>(r.feed(hard)) == std::vector<Signal>{{ticket, 9}});
  out = r.feed(ProcessExited{ticket, 137});
  CHECK(to_master<DriverStateChanged>(out).at(0).message.state == DriverState::Killed);
}

TEST_CASE("M37 a driver that cannot be started is in ERROR, with the reason", "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = all<Spawn>(r.from(1, LaunchDriver{{"driver-1"}, driver(true)})).at(0).ticket;
  auto out = r.feed(ProcessStarted{ticket, 0, "cannot fetch http://repo/count: 404"});
  CHECK(
      to_master<DriverStateChanged>(out).at(0).message ==
      DriverStateChanged{{"driver-1"}, DriverState::Error, "cannot fetch http://repo/count: 404"});
}

TEST_CASE("a driver that ends while there is no master is told to the next one, first of all",
          "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = all<Spawn>(r.from(1, LaunchDriver{{"driver-1"}, driver(false)})).at(0).ticket;
  r.feed(ProcessStarted{ticket, 7, ""});
  r.feed(PeerLost{1});
  CHECK(to_master<DriverStateChanged>(r.feed(ProcessExited{ticket, 0})).empty());
  auto out = r.from(50, MasterChanged{"spark://n:7077", ""});
  out = r.feed(Connected{all<Connect>(out).at(0).ticket, 2});
  auto first = all<Send<ToMaster>>(out).at(0);
  CHECK(std::get<DriverStateChanged>(first.message).state == DriverState::Finished);
  CHECK(to_master<WorkerSchedulerState>(out).at(0).message.drivers.empty());
}

// ---- end and clean-up --------------------------------------------------------------------------

TEST_CASE("a worker that stops ends its children, tells the master, and exits with the last",
          "[worker]") {
  Run r;
  r.start();
  uint64_t executor = r.launch("app-1", 0);
  r.feed(ProcessStarted{executor, 7, ""});
  uint64_t driver_ticket =
      all<Spawn>(r.from(1, LaunchDriver{{"driver-1"}, driver(true)})).at(0).ticket;
  r.feed(ProcessStarted{driver_ticket, 8, ""});
  auto out = r.feed(StopWorker{});
  CHECK(all<Signal>(out) == std::vector<Signal>{{executor, 15}, {driver_ticket, 15}});
  CHECK(all<Exit>(out).empty());
  CHECK(all<Spawn>(r.from(1, LaunchExecutor{"spark://m:7077", {"app-1"}, 1, 0, app_of(), 1, 1}))
            .empty());
  out = r.feed(ProcessExited{executor, 143});
  CHECK(reports(out) == std::vector<State>{{0, ExecutorState::Killed, 143}});
  CHECK(all<Exit>(out).empty());
  out = r.feed(ProcessExited{driver_ticket, 143});
  CHECK(to_master<DriverStateChanged>(out).at(0).message.state == DriverState::Killed);
  CHECK(all<Exit>(out) == std::vector<Exit>{{0, "stopped"}});
  CHECK(all<Exit>(Run().feed(StopWorker{})).size() == 1);
}

TEST_CASE("a driver that waits to be run again does not hold up the end", "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = all<Spawn>(r.from(1, LaunchDriver{{"driver-1"}, driver(true)})).at(0).ticket;
  r.feed(ProcessStarted{ticket, 8, ""});
  r.feed(ProcessExited{ticket, 1});
  auto out = r.feed(StopWorker{});
  CHECK(all<Exit>(out).size() == 1);
  CHECK(to_master<DriverStateChanged>(out).size() == 1);
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

TEST_CASE("M34 the work directory is cleaned at its interval, running ids are kept", "[worker]") {
  WorkerOptions o = options();
  o.cleanup = true;
  Run r(o);
  auto out = r.start();
  Duration delay{};
  WorkerTimer clean = timer_of(out, Kind::Clean, &delay);
  CHECK(delay == 1800s);
  r.launch("app-1", 0);
  r.from(1, LaunchDriver{{"driver-1"}, driver(false)});
  out = r.feed(clean);
  CHECK(all<CleanWorkDirs>(out) ==
        std::vector<CleanWorkDirs>{{"/work", {"app-1", "driver-1"}, 604800s}});
  CHECK(timer_of(out, Kind::Clean) == clean);
  CHECK(logged(r.feed(WorkDirsCleaned{{"/work/app-0"}, ""}), "/work/app-0"));
  auto lost = r.feed(PeerLost{1});
  r.feed(Connected{all<Connect>(lost).at(0).ticket, 2});
  out = r.from(2, RegisteredWorker{"spark://m:7077", "", false});
  REQUIRE(to_master<WorkerLatestState>(out).size() == 1);
  for (auto& a : all<After<WorkerTimer>>(out)) CHECK(a.event.kind != Kind::Clean);
}

TEST_CASE("M32 the worker's JSON and page", "[worker]") {
  Run r;
  r.start();
  LaunchExecutor m{"spark://m:7077", {"app-1"}, 1, 0, app_of(), 2, 1024};
  m.description.command.environment = {{"SECRET", "hunter2"}};
  m.description.command.arguments = {"executor", "--cores", "{{CORES}}"};
  m.description.command.main_class = "wordcount";
  r.from(1, m);
  std::string json = worker_json(r.worker.status());
  size_t at = 0;
  for (const char* part : {"\"id\": \"worker-20261121084647-w-4000\"",
                           "\"masterurl\": \"spark://m:7077\"",
                           "\"masterwebuiurl\": \"http://m:8080\"",
                           "\"cores\": 8",
                           "\"coresused\": 2",
                           "\"memory\": 8192",
                           "\"memoryused\": 1024",
                           "\"resources\": {}",
                           "\"resourcesused\": {}",
                           "\"executors\"",
                           "\"id\": 1",
                           "\"memory\": 1024",
                           "\"resources\": {}",
                           "\"appid\": \"app-1\"",
                           "\"appdesc\"",
                           "\"name\": \"count\"",
                           "\"cores\": 0",
                           "\"memoryperexecutor\": 1024",
                           "\"resourcesperexecutor\": []",
                           "\"memoryperslave\": 1024",
                           "\"resourcesperslave\": []",
                           "\"user\": \"ann\"",
                           "\"command\": \"Command(wordcount,List(executor, --cores, {{CORES}})",
                           "\"finishedexecutors\": []"}) {
    INFO(part);
    at = json.find(part, at);
    REQUIRE(at != std::string::npos);
    ++at;
  }
  CHECK(json.find("hunter2") == std::string::npos);
  std::string page = worker_page(r.worker.status());
  CHECK(page.find("<title>Spark Worker at w:4000</title>") != std::string::npos);
  CHECK(page.find("Running Executors (1)") != std::string::npos);
  CHECK(worker_page(Run().worker.status()).find("Running Executors (0)") != std::string::npos);
}
