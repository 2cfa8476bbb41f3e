// A worker: its masters, its end, its page. Ids are those of spec/11, section M.
#include "core/deploy/pages.hpp"
#include "tests/core/deploy/worker/worker_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace tinderbox::core::test::of_worker;

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
  CHECK(hello[0].message == RegisterWorker{{"", {}, kStart.time_since_epoch().count(), ""},
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
  out = r.join_again();
  CHECK(to_master<WorkerDecommissioning>(out).size() == 1);
}

TEST_CASE("with NONE: a new master is told what runs, and what it kills ends", "[worker]") {
  Run r;
  r.start();
  uint64_t ticket = r.running();
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
  r.running();
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

// ---- end and clean-up --------------------------------------------------------------------------

TEST_CASE("a worker that stops ends its children, tells the master, and exits with the last",
          "[worker]") {
  const bool supervised = GENERATE(false, true);
  Run r;
  r.start();
  uint64_t executor = r.running();
  uint64_t driver_ticket =
      all<Spawn>(r.from(1, LaunchDriver{{"driver-1"}, driver(supervised)})).at(0).ticket;
  r.feed(ProcessStarted{driver_ticket, 8, ""});
  auto out = r.feed(StopWorker{});
  REQUIRE(to_master<WorkerDecommissioning>(out).size() == 1);  // nothing comes here again
  CHECK(std::holds_alternative<Send<ToMaster>>(out.front()));
  CHECK(all<Signal>(out) == std::vector<Signal>{{executor, 15}, {driver_ticket, 15}});
  CHECK(all<Exit>(out).empty());
  CHECK(r.from(1, LaunchExecutor{"spark://m:7077", {"app-1"}, 1, 0, app_of(), 1, 1}).empty());
  out = r.feed(ProcessExited{executor, 143});
  CHECK(reports(out) == std::vector<State>{{0, ExecutorState::Killed, 143}});
  CHECK(all<Exit>(out).empty());
  out = r.feed(ProcessExited{driver_ticket, 143});
  // A supervised one the master runs elsewhere, once the worker is gone.
  const auto told = to_master<DriverStateChanged>(out);
  CHECK(told.size() == (supervised ? 0 : 1));
  if (!supervised) CHECK(told.at(0).message.state == DriverState::Killed);
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
  CHECK(to_master<DriverStateChanged>(out).empty());
}

TEST_CASE("a worker that stops takes the local directories of its applications along", "[worker]") {
  Run r;
  r.start();
  const auto made = r.from(1, LaunchExecutor{"spark://m:7077", {"app-1"}, 0, 0, app_of(), 2, 1024});
  const uint64_t ticket = all<Spawn>(made).at(0).ticket;
  r.feed(ProcessStarted{ticket, 7, ""});
  CHECK(all<RemoveDirectories>(r.feed(StopWorker{})).empty());  // its executor uses them
  const auto out = r.feed(ProcessExited{ticket, 143, true});
  REQUIRE(all<RemoveDirectories>(out).size() == 1);
  CHECK(all<RemoveDirectories>(out)[0].paths == all<MakeDirectories>(made).at(0).paths);
  CHECK(std::holds_alternative<Exit>(out.back()));
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
  out = r.join_again();
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
