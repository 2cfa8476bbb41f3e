#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/deploy/master_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace std::chrono_literals;

TEST_CASE("M18 RegisteredWorker carries exactly the master address of the register message",
          "[master]") {
  Run r;
  RegisterWorker m = worker_of("a");
  m.master_address_used = "spark://some-alias:7077";
  auto out = r.from(1, m);
  CHECK(to_worker<RegisteredWorker>(out) ==
        std::vector<Sent<RegisteredWorker>>{
            {1, {"spark://some-alias:7077", "http://m:8080", false}}});
}

TEST_CASE("M23 the same worker id again is a duplicate and changes nothing", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  auto out = r.from(2, worker_of("a", 99));
  REQUIRE(to_worker<RegisteredWorker>(out).size() == 1);
  CHECK(to_worker<RegisteredWorker>(out)[0].message.duplicate);
  CHECK(r.status().workers.size() == 1);
  CHECK(r.worker("a").cores == 10);
  SECTION("losing the older of its connections does not lose the worker") {
    r.feed(PeerLost{1});
    CHECK(r.worker("a").state == WorkerState::Alive);
    r.feed(PeerLost{2});
    CHECK(r.worker("a").state == WorkerState::Dead);
  }
  SECTION("losing the newer one goes back to the older one") {
    r.feed(PeerLost{2});
    CHECK(r.worker("a").state == WorkerState::Alive);
    r.from(100, RegisterApplication{{}, app_of(4), "d:1", 0});
    r.feed(PeerLost{1});
    CHECK(r.worker("a").state == WorkerState::Dead);
  }
}

TEST_CASE("M24 another id at the same live address is refused", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  RegisterWorker other = worker_of("a");
  other.id = {"worker-other"};
  auto out = r.from(2, other);
  CHECK(to_worker<RegisterWorkerFailed>(out) ==
        std::vector<Sent<RegisterWorkerFailed>>{
            {2, {"Attempted to re-register worker at same address: a:4000"}}});
  CHECK(r.status().workers.size() == 1);
  r.feed(PeerLost{1});
  CHECK(to_worker<RegisteredWorker>(r.from(2, other)).size() == 1);
  CHECK(r.status().workers.size() == 1);
}

TEST_CASE("a worker that offers nonsense is refused", "[master]") {
  Run r;
  CHECK(to_worker<RegisterWorkerFailed>(r.from(1, worker_of("a", -1))).size() == 1);
  CHECK(to_worker<RegisterWorkerFailed>(r.from(1, worker_of("a", 1, -5))).size() == 1);
  CHECK(to_worker<RegisterWorkerFailed>(r.from(1, worker_of("a", INT32_MAX))).size() == 1);
  CHECK(r.status().workers.empty());
}

TEST_CASE("M25 no heartbeat for 60 s: DEAD and executors LOST; gone after 16 timeouts",
          "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  AppId app = r.add_app(100, app_of());
  r.now += 45s;
  r.beat(1, "a");
  r.now += 15s;
  CHECK(to_app<ExecutorUpdated>(r.tick()).empty());
  r.now += 60s;
  auto out = r.tick();
  CHECK(to_app<ExecutorUpdated>(out) ==
        std::vector<Sent<ExecutorUpdated>>{{100,
                                            {0,
                                             ExecutorState::Lost,
                                             "worker lost: Not receiving heartbeat for 60 seconds",
                                             {},
                                             "a"}}});
  CHECK(to_app<WorkerRemoved>(out) ==
        std::vector<Sent<WorkerRemoved>>{
            {100, {{"worker-a"}, "a", "Not receiving heartbeat for 60 seconds"}}});
  CHECK(r.worker("a").state == WorkerState::Dead);
  CHECK(r.worker("a").cores_used == 0);
  for (Time end = kStart + 45s + 16 * 60s; r.now + 60s <= end; r.now += 60s) r.tick();
  CHECK(r.status().workers.size() == 1);
  r.now += 60s;
  CHECK(all<After<MasterTimer>>(r.tick()) ==
        std::vector<After<MasterTimer>>{{60s, {MasterTimer::Kind::CheckWorkers, 0}}});
  CHECK(r.status().workers.empty());
}

TEST_CASE("M26 a heartbeat of a removed id asks to reconnect, of an unknown one nothing",
          "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  r.now += 121s;
  r.tick();
  CHECK(to_worker<ReconnectWorker>(r.beat(1, "a")) ==
        std::vector<Sent<ReconnectWorker>>{{1, {"spark://m:7077"}}});
  CHECK(all<Send<ToWorker>>(r.beat(1, "stranger")).empty());
  auto out = r.from(1, worker_of("a"));
  CHECK_FALSE(to_worker<RegisteredWorker>(out).at(0).message.duplicate);
  CHECK(r.worker("a").state == WorkerState::Alive);
}

TEST_CASE("M17 what the master does not know of a worker's state is killed", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  WorkerLatestState state{{"worker-a"},
                          {running("app-x", 0, 1), running("app-x", 1, 1), running("app-y", 0, 1)},
                          {{"driver-1"}, {"driver-2"}, {"driver-3"}}};
  auto out = r.from(1, state);
  auto killed = to_worker<KillExecutor>(out);
  REQUIRE(killed.size() == 3);
  CHECK(killed[1].message == KillExecutor{"spark://m:7077", {"app-x"}, 1});
  CHECK(to_worker<KillDriver>(out) == std::vector<Sent<KillDriver>>{{1, {{"driver-1"}}},
                                                                    {1, {{"driver-2"}}},
                                                                    {1, {{"driver-3"}}}});
  AppId app = r.add_app(100, app_of(2));
  CHECK(to_worker<KillExecutor>(
            r.from(1, WorkerLatestState{{"worker-a"}, {running(app.value, 0, 2)}, {}}))
            .empty());
}

TEST_CASE("an application gets executors, both sides are told, ids are Spark's", "[master]") {
  MasterOptions o = options();
  o.zone.offset_seconds = 3600;
  Run r(o);
  r.from(1, worker_of("a"));
  r.from(2, worker_of("b"));
  auto out = r.from(100, RegisterApplication{{}, app_of(6, 3), "d:7078", 0});
  AppId app = to_app<RegisteredApplication>(out).at(0).message.app;
  CHECK(app.value == "app-20261121094658-0000");
  CHECK(
      to_worker<LaunchExecutor>(out) ==
      std::vector<Sent<LaunchExecutor>>{{1, {"spark://m:7077", app, 0, 0, app_of(6, 3), 3, 1024}},
                                        {2, {"spark://m:7077", app, 1, 0, app_of(6, 3), 3, 1024}}});
  CHECK(to_app<ExecutorAdded>(out) ==
        std::vector<Sent<ExecutorAdded>>{{100, {0, {"worker-a"}, "a:4000", 3, 1024}},
                                         {100, {1, {"worker-b"}, "b:4000", 3, 1024}}});
  CHECK(r.worker("a").cores_used == 3);
  CHECK(r.worker("b").memory_used_mib == 1024);
  CHECK(r.add_app(101, app_of()).value == "app-20261121094658-0001");
}

TEST_CASE("applications are served strictly in the order of registration", "[master]") {
  Run r;
  AppId first = r.add_app(100, app_of());
  AppId second = r.add_app(101, app_of(2));
  auto out = r.from(1, worker_of("a"));
  auto launched = to_worker<LaunchExecutor>(out);
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].message.app == first);
  CHECK(launched[0].message.cores == 10);
  auto later = to_worker<LaunchExecutor>(r.feed(PeerLost{100}));
  REQUIRE(later.size() == 1);
  CHECK(later[0].message.app == second);
}

TEST_CASE("M27 the loss of an application's connection finishes it and frees its cores at once",
          "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  r.from(2, worker_of("b"));
  AppId app = r.add_app(100, app_of());
  CHECK(r.worker("a").cores_used == 10);
  auto out = r.feed(PeerLost{100});
  CHECK(to_worker<KillExecutor>(out) ==
        std::vector<Sent<KillExecutor>>{{1, {"spark://m:7077", app, 0}},
                                        {2, {"spark://m:7077", app, 1}}});
  CHECK(to_worker<ApplicationFinished>(out) ==
        std::vector<Sent<ApplicationFinished>>{{1, {app}}, {2, {app}}});
  CHECK(r.worker("a").cores_used == 0);
  CHECK(r.worker("b").memory_used_mib == 0);
  REQUIRE(r.status().completed_apps.size() == 1);
  CHECK(r.status().completed_apps[0].state == AppState::Finished);
  CHECK(r.status().active_apps.empty());
  auto late = r.from(1, change(app, 0, ExecutorState::Killed, 143));
  CHECK(to_worker<ExecutorStateAccepted>(late) ==
        std::vector<Sent<ExecutorStateAccepted>>{{1, {7}}});
  CHECK(all<Send<ToApp>>(late).empty());
}

TEST_CASE("unregistering does the same, once", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  AppId app = r.add_app(100, app_of());
  CHECK(to_worker<KillExecutor>(r.from(100, UnregisterApplication{app})).size() == 1);
  CHECK(to_worker<KillExecutor>(r.from(100, UnregisterApplication{app})).empty());
  CHECK(to_worker<KillExecutor>(r.feed(PeerLost{100})).empty());
  CHECK(r.status().completed_apps.size() == 1);
}

TEST_CASE("kill -9 of a worker: its executors are lost at once and replaced elsewhere",
          "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  AppId app = r.add_app(100, app_of(10));
  r.from(2, worker_of("b"));
  auto out = r.feed(PeerLost{1});
  auto updated = to_app<ExecutorUpdated>(out);
  REQUIRE(updated.size() == 1);
  CHECK(updated[0].message ==
        ExecutorUpdated{0, ExecutorState::Lost, "worker lost: a:4000 got disassociated", {}, "a"});
  auto launched = to_worker<LaunchExecutor>(out);
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].to == 2);
  CHECK(launched[0].message.executor == 1);
}

TEST_CASE("M19 an executor that fails every time: ten failures, then the application is removed",
          "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  auto out = r.from(100, RegisterApplication{{}, app_of(), "d:1", 0});
  AppId app = to_app<RegisteredApplication>(out).at(0).message.app;
  int launches = 0;
  while (!to_worker<LaunchExecutor>(out).empty()) {
    REQUIRE(++launches <= 10);
    int32_t id = to_worker<LaunchExecutor>(out).at(0).message.executor;
    CHECK(id == launches - 1);
    ExecutorStateChanged failed = change(app, id, ExecutorState::Failed);
    failed.message = "no such file";
    out = r.from(1, failed);
  }
  CHECK(launches == 10);
  CHECK(to_app<ApplicationRemoved>(out) ==
        std::vector<Sent<ApplicationRemoved>>{
            {100, {"FAILED: the last executor said: no such file"}}});
  CHECK(logged(out, "Application count with ID " + app.value + " failed 10 times; removing it"));
  CHECK(r.status().completed_apps.at(0).state == AppState::Failed);
}

TEST_CASE("M19 an executor that ran starts the count of failures again; below 0 never removes",
          "[master]") {
  auto fail_times = [](Run& r, const AppId& app, int times, int32_t& id) {
    bool removed = false;
    for (int i = 0; i < times && !removed; ++i)
      removed = !to_app<ApplicationRemoved>(r.from(1, change(app, id++, ExecutorState::Exited, 1)))
                     .empty();
    return removed;
  };
  int32_t id = 0;
  {
    Run r;
    r.from(1, worker_of("a"));
    AppId app = r.add_app(100, app_of());
    CHECK_FALSE(fail_times(r, app, 9, id));
    r.from(1, change(app, id, ExecutorState::Running));
    CHECK_FALSE(fail_times(r, app, 9, id));
    CHECK(fail_times(r, app, 1, id));
  }
  Run r(options(conf::Conf().with(conf::kDeployMaxExecutorRetries, "-1")));
  r.from(1, worker_of("a"));
  AppId app = r.add_app(100, app_of());
  CHECK_FALSE(fail_times(r, app, 50, id = 0));
}

TEST_CASE("M28 executors that exit with 0 are replaced without counting as failures", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  AppId app = r.add_app(100, app_of());
  for (int32_t id = 0; id < 30; ++id) {
    auto out = r.from(1, change(app, id, ExecutorState::Exited, 0));
    CHECK(to_app<ExecutorUpdated>(out).at(0).message.exit_status == 0);
    REQUIRE(to_worker<LaunchExecutor>(out).size() == 1);
    CHECK(to_worker<LaunchExecutor>(out)[0].message.executor == id + 1);
  }
}

TEST_CASE("executors that run for a moment only are replaced at a slower and slower pace",
          "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  AppId app = r.add_app(100, app_of());
  std::vector<Duration> pauses;
  for (int32_t id = 0; id < 12; ++id) {
    r.from(1, change(app, id, ExecutorState::Running));
    r.now += 10ms;
    auto out = r.from(1, change(app, id, ExecutorState::Exited, 1));
    Duration pause{};
    if (auto timers = all<After<MasterTimer>>(out); !timers.empty()) {
      CHECK(to_worker<LaunchExecutor>(out).empty());
      CHECK(to_worker<LaunchExecutor>(r.from(2, worker_of("b", 0))).empty());
      pause = timers.at(0).delay;
      r.now += pause;
      out = r.feed(timers[0].event);
    }
    REQUIRE(to_worker<LaunchExecutor>(out).size() == 1);
    pauses.push_back(pause);
  }
  CHECK(pauses == std::vector<Duration>{0ms, 0ms, 0ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms,
                                        5s, 5s, 5s});
  r.from(1, change(app, 12, ExecutorState::Running));
  r.now += 2s;
  CHECK(to_worker<LaunchExecutor>(r.from(1, change(app, 12, ExecutorState::Exited, 1))).size() ==
        1);
}

TEST_CASE("a state that is reported twice is accepted twice and counts once", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  AppId app = r.add_app(100, app_of());
  CHECK(to_app<ExecutorUpdated>(r.from(1, change(app, 0, ExecutorState::Running))).size() == 1);
  auto again = r.from(1, change(app, 0, ExecutorState::Running));
  CHECK(to_app<ExecutorUpdated>(again).empty());
  CHECK(to_worker<ExecutorStateAccepted>(again).size() == 1);
  CHECK(to_worker<LaunchExecutor>(r.from(1, change(app, 0, ExecutorState::Exited, 1))).size() == 1);
  auto late = r.from(1, change(app, 0, ExecutorState::Exited, 1));
  CHECK(to_worker<ExecutorStateAccepted>(late).size() == 1);
  CHECK(to_worker<LaunchExecutor>(late).empty());
  CHECK(r.worker("a").cores_used == 10);
}

TEST_CASE("executor limits and kills", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  ApplicationDescription d = app_of({}, 2, 256);
  d.initial_executor_limit = 0;
  AppId app = r.add_app(100, d);
  CHECK(r.worker("a").cores_used == 0);
  auto out = r.from(100, RequestExecutors{1, app, 2});
  CHECK(to_app<ExecutorRequestAnswer>(out) ==
        std::vector<Sent<ExecutorRequestAnswer>>{{100, {1, true}}});
  CHECK(to_worker<LaunchExecutor>(out).size() == 2);
  CHECK(to_worker<KillExecutor>(r.from(100, RequestExecutors{2, app, 1})).empty());
  out = r.from(100, KillExecutors{3, app, {"1", "x", "7", "-1", "99999999999"}});
  CHECK(to_worker<KillExecutor>(out) ==
        std::vector<Sent<KillExecutor>>{{1, {"spark://m:7077", app, 1}}});
  CHECK(to_app<ExecutorRequestAnswer>(out).at(0).message.accepted);
  CHECK(to_worker<LaunchExecutor>(out).empty());
  CHECK(r.worker("a").cores_used == 2);
  CHECK_FALSE(to_app<ExecutorRequestAnswer>(r.from(100, KillExecutors{4, {"app-x"}, {}}))
                  .at(0)
                  .message.accepted);
  CHECK_FALSE(to_app<ExecutorRequestAnswer>(r.from(100, RequestExecutors{5, {"app-x"}, 1}))
                  .at(0)
                  .message.accepted);
}

TEST_CASE("an application is told why it gets no executor, when that changes", "[master]") {
  Run r;
  auto reasons = [](const Master::Effects& e) {
    std::vector<std::string> texts;
    for (auto& s : to_app<SchedulingStatus>(e)) texts.push_back(s.message.reason);
    return texts;
  };
  using Texts = std::vector<std::string>;
  CHECK(reasons(r.from(100, RegisterApplication{{}, app_of({}, {}, 4096), "d:1", 0})) ==
        Texts{"no worker is registered with spark://m:7077"});
  CHECK(reasons(r.from(1, worker_of("a", 4, 1024))) ==
        Texts{"no worker has 4096 MiB free: worker-a has 1024 MiB"});
  CHECK(reasons(r.from(2, worker_of("b", 0, 2048))) ==
        Texts{"no worker has 4096 MiB free: worker-a has 1024 MiB, worker-b has 2048 MiB"});
  CHECK(reasons(r.from(3, worker_of("c", 0, 4096))) ==
        Texts{"no worker has 1 core and 4096 MiB free: worker-a has 4 cores and 1024 MiB, "
              "worker-b has 0 cores and 2048 MiB, worker-c has 0 cores and 4096 MiB"});
  CHECK(reasons(r.beat(1, "a")).empty());
  CHECK(reasons(r.from(4, worker_of("d", 1, 4096))) == Texts{""});
  CHECK(reasons(r.from(101, RegisterApplication{{}, app_of(2, 3), "d:2", 0})) ==
        Texts{"spark.cores.max 2 is less than the 3 cores of one executor"});
}

TEST_CASE("the same driver registering twice is one application", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  AppId app = r.add_app(100, app_of(), "d:7078");
  CHECK(r.add_app(101, app_of(), "d:7078") == app);
  CHECK(r.status().active_apps.size() == 1);
  r.feed(PeerLost{100});
  CHECK(r.status().active_apps.size() == 1);
  r.feed(PeerLost{101});
  CHECK(r.status().active_apps.empty());
}

TEST_CASE("an application whose master forgot it keeps its id and gets fresh executor numbers",
          "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  auto out = r.from(100, RegisterApplication{{"ann", {"app-old"}, 0, ""}, app_of(), "d:1", 12});
  CHECK(to_app<RegisteredApplication>(out).at(0).message.app.value == "app-old");
  CHECK(to_worker<LaunchExecutor>(out).at(0).message.executor == 12);
  // Its old executor, on a worker that comes later, is an orphan.
  r.from(2, worker_of("b"));
  out = r.from(2, WorkerLatestState{{"worker-b"}, {running("app-old", 3, 10)}, {}});
  CHECK(to_worker<KillExecutor>(out).at(0).message.executor == 3);
}

TEST_CASE("M29 M30 killing drivers: waiting, running, unknown", "[master]") {
  Run r;
  auto submitted = to_client<SubmitDriverAnswer>(r.from(200, RequestSubmitDriver{{}, driver()}));
  REQUIRE(submitted.at(0).message.success);
  DriverId waiting = submitted[0].message.id;
  CHECK(waiting.value == "driver-20261121084658-0000");
  CHECK(submitted[0].message.message == "Driver successfully submitted as " + waiting.value);
  auto status =
      to_client<DriverStatusAnswer>(r.from(200, RequestDriverStatus{waiting})).at(0).message;
  CHECK((status.found && status.state == DriverState::Submitted && status.worker.value.empty()));

  auto killed = r.from(200, RequestKillDriver{waiting});
  CHECK(to_client<KillDriverAnswer>(killed).at(0).message ==
        KillDriverAnswer{waiting, true, "Kill request for " + waiting.value + " submitted"});
  CHECK(to_client<DriverStatusAnswer>(r.from(200, RequestDriverStatus{waiting}))
            .at(0)
            .message.state == DriverState::Killed);

  auto again = r.from(200, RequestKillDriver{waiting});
  CHECK(to_client<KillDriverAnswer>(again).at(0).message ==
        KillDriverAnswer{waiting, false,
                         "Driver " + waiting.value + " has already finished or does not exist"});
  CHECK_FALSE(to_client<DriverStatusAnswer>(r.from(200, RequestDriverStatus{{"driver-x"}}))
                  .at(0)
                  .message.found);

  r.from(1, worker_of("a"));
  auto out = r.from(200, RequestSubmitDriver{{}, driver(false, 2, 1000)});
  DriverId running_id = to_client<SubmitDriverAnswer>(out).at(0).message.id;
  CHECK(to_worker<LaunchDriver>(out) ==
        std::vector<Sent<LaunchDriver>>{{1, {running_id, driver(false, 2, 1000)}}});
  CHECK(r.worker("a").cores_used == 2);
  out = r.from(200, RequestKillDriver{running_id});
  CHECK(to_worker<KillDriver>(out) == std::vector<Sent<KillDriver>>{{1, {running_id}}});
  CHECK(to_client<KillDriverAnswer>(out).at(0).message.success);
  r.from(1, DriverStateChanged{running_id, DriverState::Running, ""});
  CHECK(r.worker("a").cores_used == 2);
  r.from(1, DriverStateChanged{running_id, DriverState::Killed, "as asked"});
  CHECK(r.worker("a").cores_used == 0);
  auto answer =
      to_client<DriverStatusAnswer>(r.from(200, RequestDriverStatus{running_id})).at(0).message;
  CHECK(answer ==
        DriverStatusAnswer{true, DriverState::Killed, {"worker-a"}, "a:4000", "as asked"});
}

TEST_CASE("drivers wait for a worker that fits, and for spark.deploy.maxDrivers", "[master]") {
  Run r(options(conf::Conf().with(conf::kDeployMaxDrivers, "1")));
  r.from(200, RequestSubmitDriver{{}, driver(false, 4, 4096)});
  r.from(200, RequestSubmitDriver{{}, driver()});
  auto out = r.from(1, worker_of("a", 2, 4096));
  CHECK(to_worker<LaunchDriver>(out).empty());
  CHECK(logged(out, "requires more resource than any of Workers could have"));
  CHECK(r.status().waiting_drivers == 2);
  out = r.from(2, worker_of("b", 4, 4096));
  REQUIRE(to_worker<LaunchDriver>(out).size() == 1);
  CHECK(to_worker<LaunchDriver>(out)[0].to == 2);
  DriverId first = to_worker<LaunchDriver>(out)[0].message.id;
  CHECK(to_worker<LaunchDriver>(r.from(2, DriverStateChanged{first, DriverState::Finished, ""}))
            .size() == 1);
}

TEST_CASE("drivers are spread by the seed, the same seed the same way", "[master]") {
  auto places = [](uint64_t seed) {
    Master m(options(), seed);
    Master::Effects out;
    m.on(ElectedLeader{}, kStart, out);
    for (PeerId p = 1; p <= 6; ++p)
      m.on(Received<ToMaster>{p, worker_of(std::string(1, static_cast<char>('a' + p)))}, kStart,
           out);
    for (int i = 0; i < 12; ++i)
      m.on(Received<ToMaster>{200, RequestSubmitDriver{{}, driver(false, 0, 0)}}, kStart, out);
    std::vector<PeerId> at;
    for (auto& s : to_worker<LaunchDriver>(out)) at.push_back(s.to);
    return at;
  };
  CHECK(places(5).size() == 12);
  CHECK(places(5) == places(5));
  CHECK(places(5) != places(6));
}

TEST_CASE("M31 a standby master registers nobody and refuses requests", "[master]") {
  Run r(options(), {}, false);
  CHECK(to_worker<MasterInStandby>(r.from(1, worker_of("a"))).size() == 1);
  CHECK(r.from(100, RegisterApplication{{}, app_of(), "d:1", 0}).empty());
  auto submit =
      to_client<SubmitDriverAnswer>(r.from(200, RequestSubmitDriver{{}, driver()})).at(0).message;
  CHECK_FALSE(submit.success);
  CHECK(submit.message ==
        "Current state is not alive: STANDBY. Can only accept driver submissions in ALIVE state.");
  auto kill = to_client<KillDriverAnswer>(r.from(200, RequestKillDriver{{"d"}})).at(0).message;
  CHECK(kill.message.starts_with("Current state is not alive"));
  auto status =
      to_client<DriverStatusAnswer>(r.from(200, RequestDriverStatus{{"d"}})).at(0).message;
  CHECK(status.exception.starts_with("Current state is not alive"));
  CHECK(r.status().workers.empty());
}

TEST_CASE("M40 revoked leadership ends the process with 0", "[master]") {
  Run r;
  auto exits = all<Exit>(r.feed(RevokedLeadership{}));
  REQUIRE(exits.size() == 1);
  CHECK(exits[0].code == 0);
}

TEST_CASE("M21 a supervised driver moves to another worker, and the first is told to drop it",
          "[master]") {
  Run r(options(conf::Conf().with(conf::kWorkerTimeout, "1")));
  r.from(1, worker_of("a"));
  auto out = r.from(200, RequestSubmitDriver{{}, driver(true)});
  DriverId first = to_worker<LaunchDriver>(out).at(0).message.id;
  AppId app = r.add_app(100, app_of(1));
  r.now += 900ms;
  r.from(2, worker_of("b"));
  r.now += 200ms;
  out = r.tick();
  CHECK(r.worker("a").state == WorkerState::Dead);
  auto launched = to_worker<LaunchDriver>(out);
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].to == 2);
  DriverId second = launched[0].message.id;
  CHECK(second != first);
  CHECK(to_worker<LaunchExecutor>(out).at(0).to == 2);
  r.feed(PeerLost{100});  // the first driver's application
  AppId next = r.add_app(101, app_of(1));

  CHECK(to_worker<ReconnectWorker>(r.beat(1, "a")).size() == 1);
  r.from(1, worker_of("a"));
  out = r.from(1, WorkerLatestState{{"worker-a"}, {running(app.value, 0, 1)}, {first}});
  CHECK(to_worker<KillDriver>(out) == std::vector<Sent<KillDriver>>{{1, {first}}});
  CHECK(to_worker<KillExecutor>(out).at(0).message.app == app);
  r.from(1, DriverStateChanged{first, DriverState::Killed, ""});
  ClusterStatus s = r.status();
  REQUIRE(s.active_drivers.size() == 1);
  CHECK(s.active_drivers[0].id == second);
  CHECK(s.active_drivers[0].worker.value == "worker-b");
  CHECK(s.completed_drivers.at(0).state == DriverState::Relaunching);
  REQUIRE(s.active_apps.size() == 1);
  CHECK(s.active_apps[0].id == next);
}

TEST_CASE("a driver that is not supervised ends in ERROR with its worker", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  r.from(200, RequestSubmitDriver{{}, driver()});
  r.feed(PeerLost{1});
  CHECK(r.status().active_drivers.empty());
  CHECK(r.status().completed_drivers.at(0).state == DriverState::Error);
}

TEST_CASE("completed applications and drivers are kept up to their limits", "[master]") {
  Run r(options(conf::Conf()
                    .with(conf::kDeployRetainedApplications, "20")
                    .with(conf::kDeployRetainedDrivers, "5")));
  size_t most = 0;
  for (PeerId i = 0; i < 50; ++i) {
    r.add_app(100 + i, app_of());
    r.feed(PeerLost{100 + i});
    most = std::max(most, r.status().completed_apps.size());
    DriverId d = to_client<SubmitDriverAnswer>(r.from(200, RequestSubmitDriver{{}, driver()}))
                     .at(0)
                     .message.id;
    r.from(200, RequestKillDriver{d});
    CHECK(r.status().completed_drivers.size() == std::min<size_t>(i + 1, 5));
  }
  CHECK(most == 20);
  CHECK(r.status().completed_apps.size() == 20);
  CHECK(r.status().completed_apps.back().id.value == "app-20261121084658-0049");
}

TEST_CASE("decommissioning takes a worker's executors away from their applications", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  AppId app = r.add_app(100, app_of(10));
  r.from(2, worker_of("b"));
  auto out = r.from(1, WorkerDecommissioning{{"worker-a"}});
  CHECK(to_app<ExecutorUpdated>(out).at(0).message ==
        ExecutorUpdated{0, ExecutorState::Decommissioned, "worker decommissioned", {}, "a"});
  CHECK(to_worker<LaunchExecutor>(out).at(0).to == 2);
  CHECK(r.worker("a").state == WorkerState::Decommissioned);
  CHECK(all<Send<ToApp>>(r.from(1, WorkerDecommissioning{{"worker-a"}})).empty());
}

// ---- random events -----------------------------------------------------------------------------

TEST_CASE("whatever happens, a worker's cores are given out at most once", "[master]") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    Run r(options(), random() % 2 ? one_of_each() : RecoveredState{});
    auto name = [&] { return std::string(1, static_cast<char>('a' + random() % 4)); };
    auto some_app = [&]() -> AppId {
      auto apps = r.status().active_apps;
      return apps.empty() ? AppId{"app-1"} : apps[random() % apps.size()].id;
    };
    auto number = [&] { return static_cast<int32_t>(random() % 6); };
    for (int step = 0; step < 600; ++step) {
      PeerId worker = 1 + random() % 6, app = 100 + random() % 4;
      switch (random() % 14) {
        case 0:
        case 1:
          r.from(worker, worker_of(name(), 8, 4096));
          break;
        case 2:
          r.from(app, RegisterApplication{
                          {}, app_of({}, 1 + number(), 512), "d:" + std::to_string(app), 0});
          break;
        case 3:
          r.feed(PeerLost{random() % 2 ? worker : app});
          break;
        case 4:
          r.from(worker, change(some_app(), number(), ExecutorState::Running));
          break;
        case 5:
          r.from(worker, change(some_app(), number(), ExecutorState::Exited, number() % 2));
          break;
        case 6:
          r.from(worker, WorkerLatestState{
                             {"worker-" + name()}, {running(some_app().value, number(), 2)}, {}});
          break;
        case 7:
          r.from(worker, WorkerSchedulerState{
                             {"worker-" + name()}, {running(some_app().value, number(), 2)}, {}});
          break;
        case 8:
          r.from(app, RequestExecutors{1, some_app(), number()});
          break;
        case 9:
          r.from(app, KillExecutors{1, some_app(), {std::to_string(number())}});
          break;
        case 10:
          r.from(200, RequestSubmitDriver{{}, driver(random() % 2)});
          break;
        case 11:
          r.now += std::chrono::seconds(random() % 40);
          r.tick();
          break;
        case 12:
          r.beat(worker, name());
          break;
        default:
          r.feed(MasterTimer{MasterTimer::Kind::CompleteRecovery, 1});
          break;
      }
      ClusterStatus s = r.status();
      std::map<WorkerId, int64_t> given;
      for (const AppRow& a : s.active_apps)
        for (const AppExecutorRow& e : a.executors) given[e.worker] += e.cores;
      for (const DriverRow& d : s.active_drivers)
        if (!d.worker.value.empty()) given[d.worker] += d.cores;
      for (const WorkerRow& w : s.workers) {
        REQUIRE(w.cores_used >= 0);
        REQUIRE(w.cores_used <= w.cores);
        REQUIRE(w.memory_used_mib <= w.memory_mib);
        if (w.state != WorkerState::Decommissioned) REQUIRE(given[w.id] == w.cores_used);
      }
    }
  }
}

TEST_CASE("orders that were lost with a worker's connection are given again", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  const AppId app = r.add_app(100, app_of(1));
  r.from(2, worker_of("a"));  // the same worker, on a new connection
  auto out = r.from(2, WorkerLatestState{{"worker-a"}, {}, {}});
  const auto again = to_worker<LaunchExecutor>(out);
  REQUIRE(again.size() == 1);
  CHECK(again[0].to == 2);
  CHECK(again[0].message.executor == 1);
  CHECK(r.status().workers.at(0).cores_used == again[0].message.cores);
  // What the worker lists is left alone.
  r.from(3, worker_of("a"));
  out = r.from(3, WorkerLatestState{{"worker-a"}, {running(app.value, 1, 1)}, {}});
  CHECK(to_worker<LaunchExecutor>(out).empty());
  CHECK(to_worker<KillExecutor>(out).empty());
}
