#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/deploy/master.hpp"
#include "core/deploy/pages.hpp"
#include "tests/deploy_fixtures.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace std::chrono_literals;

namespace {

const Time kStart{Duration(1795250818364000)};  // 2026-11-21 08:46:58.364 UTC

MasterOptions options(const conf::Conf& conf = {}) {
  MasterOptions o = master_options(conf);
  o.url = "spark://m:7077";
  o.web_ui_url = "http://m:8080";
  return o;
}

/// A master under virtual time. Peers: workers 1…, applications 100…, clients 200….
struct Run {
  Master master;
  Time now = kStart;

  explicit Run(MasterOptions o = options(), RecoveredState recovered = {}, bool elected = true)
      : master(std::move(o), 1) {
    if (elected) first = feed(ElectedLeader{std::move(recovered)});
  }
  Master::Effects first;

  Master::Effects feed(Master::Event e) {
    Master::Effects out;
    master.on(e, now, out);
    return out;
  }
  Master::Effects from(PeerId peer, ToMaster m) { return feed(Received<ToMaster>{peer, std::move(m)}); }
  Master::Effects tick() { return feed(MasterTimer{MasterTimer::Kind::CheckWorkers, 0}); }
  Master::Effects beat(PeerId peer, const std::string& name) {
    return from(peer, WorkerHeartbeat{{"worker-" + name}});
  }
  AppId add_app(PeerId peer, ApplicationDescription d, const std::string& address = "") {
    auto registered = to_app<RegisteredApplication>(from(peer, RegisterApplication{{}, d, address, 0}));
    REQUIRE(registered.size() == 1);
    return registered[0].message.app;
  }
  ClusterStatus status() const { return master.status(now); }
  WorkerRow worker(const std::string& name) const {
    for (const WorkerRow& w : status().workers)
      if (w.id.value == "worker-" + name) return w;
    FAIL("no worker " + name);
    return {};
  }
};

ExecutorStateChanged change(const AppId& app, int32_t executor, ExecutorState state,
                            std::optional<int32_t> status = {}) {
  return {7, app, executor, state, "", status};
}

DriverDescription driver(bool supervise = false, int32_t cores = 1, int64_t memory = 512) {
  DriverDescription d;
  d.command.main_class = "wordcount";
  d.cores = cores;
  d.memory_mib = memory;
  d.supervise = supervise;
  return d;
}

RecoveredState one_of_each() {
  RecoveredState s;
  s.apps[{"app-1"}] = {{"app-1"}, app_of(), "d:7078", 5};
  s.workers[{"worker-a"}] = {{"worker-a"}, "a", 4000, 16, 65536, "http://a:8081"};
  s.drivers[{"driver-1"}] = {{"driver-1"}, driver(), 6};
  return s;
}

ExecutorDescription running(const std::string& app, int32_t id, int32_t cores, int64_t memory = 1024) {
  return {{app}, id, 0, cores, memory, ExecutorState::Running};
}

}  // namespace

TEST_CASE("M18 RegisteredWorker carries exactly the master address of the register message", "[master]") {
  Run r;
  RegisterWorker m = worker_of("a");
  m.master_address_used = "spark://some-alias:7077";
  auto out = r.from(1, m);
  CHECK(to_worker<RegisteredWorker>(out) ==
        std::vector<Sent<RegisteredWorker>>{{1, {"spark://some-alias:7077", "http://m:8080", false}}});
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
  CHECK(r.status().workers.empty());
}

TEST_CASE("M25 no heartbeat for 60 s: DEAD and executors LOST; gone after 16 timeouts", "[master]") {
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
        std::vector<Sent<ExecutorUpdated>>{
            {100,
             {0, ExecutorState::Lost, "worker lost: Not receiving heartbeat for 60 seconds", {}, "a"}}});
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

TEST_CASE("M26 a heartbeat of a removed id asks to reconnect, of an unknown one nothing", "[master]") {
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
  CHECK(to_worker<KillDriver>(out) ==
        std::vector<Sent<KillDriver>>{{1, {{"driver-1"}}}, {1, {{"driver-2"}}}, {1, {{"driver-3"}}}});
  AppId app = r.add_app(100, app_of(2));
  CHECK(to_worker<KillExecutor>(r.from(1, WorkerLatestState{{"worker-a"}, {running(app.value, 0, 2)}, {}}))
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
  CHECK(to_worker<LaunchExecutor>(out) ==
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

TEST_CASE("M27 the loss of an application's connection finishes it and frees its cores at once", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  r.from(2, worker_of("b"));
  AppId app = r.add_app(100, app_of());
  CHECK(r.worker("a").cores_used == 10);
  auto out = r.feed(PeerLost{100});
  CHECK(to_worker<KillExecutor>(out) ==
        std::vector<Sent<KillExecutor>>{{1, {"spark://m:7077", app, 0}}, {2, {"spark://m:7077", app, 1}}});
  CHECK(to_worker<ApplicationFinished>(out) ==
        std::vector<Sent<ApplicationFinished>>{{1, {app}}, {2, {app}}});
  CHECK(r.worker("a").cores_used == 0);
  CHECK(r.worker("b").memory_used_mib == 0);
  REQUIRE(r.status().completed_apps.size() == 1);
  CHECK(r.status().completed_apps[0].state == AppState::Finished);
  CHECK(r.status().active_apps.empty());
  auto late = r.from(1, change(app, 0, ExecutorState::Killed, 143));
  CHECK(to_worker<ExecutorStateAccepted>(late) == std::vector<Sent<ExecutorStateAccepted>>{{1, {7}}});
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

TEST_CASE("kill -9 of a worker: its executors are lost at once and replaced elsewhere", "[master]") {
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

TEST_CASE("M19 an executor that fails every time: ten failures, then the application is removed", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  auto out = r.from(100, RegisterApplication{{}, app_of(), "d:1", 0});
  AppId app = to_app<RegisteredApplication>(out).at(0).message.app;
  int launches = 0;
  while (!to_worker<LaunchExecutor>(out).empty()) {
    REQUIRE(++launches <= 10);
    int32_t id = to_worker<LaunchExecutor>(out).at(0).message.executor;
    CHECK(id == launches - 1);
    out = r.from(1, change(app, id, ExecutorState::Failed));
  }
  CHECK(launches == 10);
  CHECK(to_app<ApplicationRemoved>(out) == std::vector<Sent<ApplicationRemoved>>{{100, {"FAILED"}}});
  CHECK(logged(out, "Application count with ID " + app.value + " failed 10 times; removing it"));
  CHECK(r.status().completed_apps.at(0).state == AppState::Failed);
}

TEST_CASE("M19 an executor that ran starts the count of failures again; below 0 never removes", "[master]") {
  auto fail_times = [](Run& r, const AppId& app, int times, int32_t& id) {
    bool removed = false;
    for (int i = 0; i < times && !removed; ++i)
      removed = !to_app<ApplicationRemoved>(r.from(1, change(app, id++, ExecutorState::Exited, 1))).empty();
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
  CHECK(to_app<ExecutorRequestAnswer>(out) == std::vector<Sent<ExecutorRequestAnswer>>{{100, {1, true}}});
  CHECK(to_worker<LaunchExecutor>(out).size() == 2);
  CHECK(to_worker<KillExecutor>(r.from(100, RequestExecutors{2, app, 1})).empty());
  out = r.from(100, KillExecutors{3, app, {"1", "x", "7", "-1", "99999999999"}});
  CHECK(to_worker<KillExecutor>(out) ==
        std::vector<Sent<KillExecutor>>{{1, {"spark://m:7077", app, 1}}});
  CHECK(to_app<ExecutorRequestAnswer>(out).at(0).message.accepted);
  CHECK(to_worker<LaunchExecutor>(out).empty());
  CHECK(r.worker("a").cores_used == 2);
  CHECK_FALSE(to_app<ExecutorRequestAnswer>(r.from(100, KillExecutors{4, {"app-x"}, {}}))
                  .at(0).message.accepted);
  CHECK_FALSE(to_app<ExecutorRequestAnswer>(r.from(100, RequestExecutors{5, {"app-x"}, 1}))
                  .at(0).message.accepted);
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

TEST_CASE("an application whose master forgot it keeps its id and gets fresh executor numbers", "[master]") {
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
  auto status = to_client<DriverStatusAnswer>(r.from(200, RequestDriverStatus{waiting})).at(0).message;
  CHECK((status.found && status.state == DriverState::Submitted && status.worker.value.empty()));

  auto killed = r.from(200, RequestKillDriver{waiting});
  CHECK(to_client<KillDriverAnswer>(killed).at(0).message ==
        KillDriverAnswer{waiting, true, "Kill request for " + waiting.value + " submitted"});
  CHECK(to_client<DriverStatusAnswer>(r.from(200, RequestDriverStatus{waiting})).at(0).message.state ==
        DriverState::Killed);

  auto again = r.from(200, RequestKillDriver{waiting});
  CHECK(to_client<KillDriverAnswer>(again).at(0).message ==
        KillDriverAnswer{waiting, false,
                         "Driver " + waiting.value + " has already finished or does not exist"});
  CHECK_FALSE(to_client<DriverStatusAnswer>(r.from(200, RequestDriverStatus{{"driver-x"}}))
                  .at(0).message.found);

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
  auto answer = to_client<DriverStatusAnswer>(r.from(200, RequestDriverStatus{running_id})).at(0).message;
  CHECK(answer == DriverStatusAnswer{true, DriverState::Killed, {"worker-a"}, "a:4000", "as asked"});
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
  CHECK(to_worker<LaunchDriver>(r.from(2, DriverStateChanged{first, DriverState::Finished, ""})).size() == 1);
}

TEST_CASE("drivers are spread by the seed, the same seed the same way", "[master]") {
  auto places = [](uint64_t seed) {
    Master m(options(), seed);
    Master::Effects out;
    m.on(ElectedLeader{}, kStart, out);
    for (PeerId p = 1; p <= 6; ++p)
      m.on(Received<ToMaster>{p, worker_of(std::string(1, static_cast<char>('a' + p)))}, kStart, out);
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
  auto submit = to_client<SubmitDriverAnswer>(r.from(200, RequestSubmitDriver{{}, driver()})).at(0).message;
  CHECK_FALSE(submit.success);
  CHECK(submit.message ==
        "Current state is not alive: STANDBY. Can only accept driver submissions in ALIVE state.");
  auto kill = to_client<KillDriverAnswer>(r.from(200, RequestKillDriver{{"d"}})).at(0).message;
  CHECK(kill.message.starts_with("Current state is not alive"));
  auto status = to_client<DriverStatusAnswer>(r.from(200, RequestDriverStatus{{"d"}})).at(0).message;
  CHECK(status.exception.starts_with("Current state is not alive"));
  CHECK(r.status().workers.empty());
}

TEST_CASE("M40 revoked leadership ends the process with 0", "[master]") {
  Run r;
  auto exits = all<Exit>(r.feed(RevokedLeadership{}));
  REQUIRE(exits.size() == 1);
  CHECK(exits[0].code == 0);
}

TEST_CASE("M21 a supervised driver moves to another worker, and the first is told to drop it", "[master]") {
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
  Run r(options(conf::Conf().with(conf::kDeployRetainedApplications, "20")
                    .with(conf::kDeployRetainedDrivers, "5")));
  size_t most = 0;
  for (PeerId i = 0; i < 50; ++i) {
    r.add_app(100 + i, app_of());
    r.feed(PeerLost{100 + i});
    most = std::max(most, r.status().completed_apps.size());
    DriverId d = to_client<SubmitDriverAnswer>(r.from(200, RequestSubmitDriver{{}, driver()})).at(0).message.id;
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

// ---- recovery ----------------------------------------------------------------------------------

TEST_CASE("M14 a master that recovers loads everything and waits for answers", "[master]") {
  Run r(options(), one_of_each());
  CHECK(all<Connect>(r.first) == std::vector<Connect>{{1, "d:7078"}, {2, "a:4000"}});
  CHECK(all<After<MasterTimer>>(r.first).back() ==
        After<MasterTimer>{60s, {MasterTimer::Kind::CompleteRecovery, 1}});
  CHECK(r.status().state == RecoveryState::Recovering);
  CHECK(r.status().active_apps.at(0).state == AppState::Unknown);
  CHECK(r.worker("a").state == WorkerState::Unknown);
  CHECK(r.worker("a").cores_used == 0);
  CHECK_FALSE(to_client<SubmitDriverAnswer>(r.from(200, RequestSubmitDriver{{}, driver()}))
                  .at(0).message.success);

  CHECK(to_app<MasterChanged>(r.feed(Connected{1, 50})) ==
        std::vector<Sent<MasterChanged>>{{50, {"spark://m:7077", "http://m:8080"}}});
  CHECK(to_worker<MasterChanged>(r.feed(Connected{2, 51})).at(0).to == 51);

  auto out = r.from(100, MasterChangeAcknowledged{{"app-1"}});
  CHECK(all<Disconnect>(out) == std::vector<Disconnect>{{50}});
  CHECK(r.status().active_apps[0].state == AppState::Waiting);
  CHECK(r.status().state == RecoveryState::Recovering);

  WorkerSchedulerState answer{{"worker-a"}, {running("app-1", 0, 8), running("app-1", 1, 7)},
                              {{"driver-1"}}};
  out = r.from(1, answer);
  CHECK(logged(out, "Recovery complete - resuming operations!"));
  CHECK(r.status().state == RecoveryState::Alive);
  CHECK(r.worker("a").state == WorkerState::Alive);
  CHECK(r.worker("a").cores_used == 16);
  CHECK(r.status().active_apps[0].state == AppState::Running);
  CHECK(r.status().active_apps[0].cores_granted == 15);
  CHECK(r.status().active_drivers.at(0).state == DriverState::Running);
  CHECK(to_worker<LaunchExecutor>(out).empty());
  CHECK(to_worker<KillExecutor>(out).empty());

  SECTION("saying it again doubles nothing") {
    r.from(1, answer);
    r.from(100, MasterChangeAcknowledged{{"app-1"}});
    CHECK(r.worker("a").cores_used == 16);
    CHECK(r.status().active_apps[0].cores_granted == 15);
  }
  SECTION("the next executor's number follows the highest one") {
    out = r.from(2, worker_of("b"));
    CHECK(to_worker<LaunchExecutor>(out).at(0).message.executor == 2);
  }
}

TEST_CASE("M14 a worker and an application that come back by themselves are attached, never doubled", "[master]") {
  Run r(options(), one_of_each());
  auto out = r.from(1, [] { RegisterWorker m = worker_of("a", 16, 65536); return m; }());
  CHECK(to_worker<RegisteredWorker>(out).at(0).message.duplicate);
  CHECK(r.worker("a").state == WorkerState::Unknown);
  out = r.from(100, RegisterApplication{{"", {"app-1"}, 0, ""}, app_of(), "d:7078", 2});
  CHECK(to_app<RegisteredApplication>(out).at(0).message.app.value == "app-1");
  CHECK(r.status().active_apps.size() == 1);
  out = r.from(1, WorkerLatestState{{"worker-a"}, {running("app-1", 0, 15)}, {{"driver-1"}}});
  CHECK(to_worker<KillExecutor>(out).empty());
  CHECK(to_worker<LaunchExecutor>(out).empty());
  CHECK(r.status().state == RecoveryState::Alive);
  CHECK(r.worker("a").cores_used == 16);
  // The answer to MasterChanged that was under way on another connection.
  r.from(2, WorkerSchedulerState{{"worker-a"}, {running("app-1", 0, 15)}, {{"driver-1"}}});
  CHECK(r.worker("a").cores_used == 16);
  r.feed(PeerLost{1});
  CHECK(r.worker("a").state == WorkerState::Alive);
}

TEST_CASE("M15 when the recovery timer fires, the silent ones are removed", "[master]") {
  RecoveredState s = one_of_each();
  s.drivers[{"driver-2"}] = {{"driver-2"}, driver(true), 7};
  Run r(options(), s);
  r.from(2, worker_of("b"));
  CHECK(r.status().state == RecoveryState::Recovering);
  r.now += 60s;
  r.beat(2, "b");
  auto out = r.feed(MasterTimer{MasterTimer::Kind::CompleteRecovery, 1});
  CHECK(r.status().state == RecoveryState::Alive);
  CHECK(r.worker("a").state == WorkerState::Dead);
  CHECK(logged(out, "Not responding for recovery"));
  CHECK(r.status().active_apps.empty());
  CHECK(r.status().completed_apps.at(0).state == AppState::Finished);
  std::map<std::string, DriverState> done;
  for (const DriverRow& d : r.status().completed_drivers) done[d.id.value] = d.state;
  CHECK(done == std::map<std::string, DriverState>{{"driver-1", DriverState::Error},
                                                   {"driver-2", DriverState::Relaunching}});
  CHECK(to_worker<LaunchDriver>(out).at(0).to == 2);
  CHECK(all<Send<ToClient>>(r.feed(MasterTimer{MasterTimer::Kind::CompleteRecovery, 1})).empty());
  CHECK(to_worker<ReconnectWorker>(r.from(1, WorkerSchedulerState{{"worker-a"}, {}, {}})).size() == 1);
  CHECK(to_app<ApplicationRemoved>(r.from(100, MasterChangeAcknowledged{{"app-1"}})).size() == 1);
}

TEST_CASE("recovery with nothing unknown completes at once", "[master]") {
  RecoveredState s;
  s.drivers[{"driver-2"}] = {{"driver-2"}, driver(true), 7};
  Run r(options(), s);
  CHECK(r.status().state == RecoveryState::Alive);
  CHECK(r.status().waiting_drivers == 1);
  CHECK(Run().status().state == RecoveryState::Alive);
}

TEST_CASE("recovery: a new worker at a recovering one's address replaces it", "[master]") {
  Run r(options(), one_of_each());
  RegisterWorker m = worker_of("a");
  m.id = {"worker-a-2"};
  CHECK(to_worker<RegisteredWorker>(r.from(1, m)).size() == 1);
  CHECK(r.status().workers.size() == 1);
  CHECK(r.status().workers[0].id.value == "worker-a-2");
}

TEST_CASE("recovery: what a worker runs for nobody is killed, nonsense is not taken over", "[master]") {
  Run r(options(), one_of_each());
  r.from(100, MasterChangeAcknowledged{{"app-1"}});
  auto out = r.from(1, WorkerSchedulerState{{"worker-a"},
                                            {running("app-x", 0, 1), running("app-1", -4, 1),
                                             running("app-1", 2, 2000000000), running("app-1", 3, 2)},
                                            {{"driver-x"}}});
  CHECK(to_worker<KillExecutor>(out).size() == 3);
  CHECK(to_worker<KillDriver>(out).size() == 1);
  CHECK(r.status().active_apps.at(0).executors.at(0).id == 3);
}

TEST_CASE("M16 what is persisted amounts to what lives", "[master]") {
  Run r(options(conf::Conf().with(conf::kDeployRecoveryMode, "FILESYSTEM")));
  Bytes log(kLogMagic);
  auto keep = [&](const Master::Effects& out) {
    for (const Persist& p : all<Persist>(out)) log += p.record;
    return out;
  };
  keep(r.from(1, worker_of("a")));
  keep(r.from(2, worker_of("b")));
  AppId app = to_app<RegisteredApplication>(keep(r.from(100, RegisterApplication{{}, app_of(), "d:1", 0})))
                  .at(0).message.app;
  AppId gone = to_app<RegisteredApplication>(keep(r.from(101, RegisterApplication{{}, app_of(), "d:2", 0})))
                   .at(0).message.app;
  DriverId driver_id =
      to_client<SubmitDriverAnswer>(keep(r.from(200, RequestSubmitDriver{{}, driver()}))).at(0).message.id;
  RecoveredState s = replay(log).state;
  CHECK(s.workers.size() == 2);
  CHECK(s.apps.at(app) == PersistedApplication{app, app_of(), "d:1", 1795250818364000});
  CHECK(s.drivers.at(driver_id).description == driver());
  keep(r.feed(PeerLost{101}));
  keep(r.feed(PeerLost{2}));
  keep(r.from(200, RequestKillDriver{driver_id}));
  s = replay(log).state;
  CHECK_FALSE(s.apps.contains(gone));
  CHECK(s.workers.size() == 1);
  CHECK(s.drivers.empty());
  Run none;
  CHECK(all<Persist>(none.from(1, worker_of("a"))).empty());
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
        case 0: case 1: r.from(worker, worker_of(name(), 8, 4096)); break;
        case 2: r.from(app, RegisterApplication{{}, app_of({}, 1 + number(), 512), "d:" + std::to_string(app), 0}); break;
        case 3: r.feed(PeerLost{random() % 2 ? worker : app}); break;
        case 4: r.from(worker, change(some_app(), number(), ExecutorState::Running)); break;
        case 5: r.from(worker, change(some_app(), number(), ExecutorState::Exited, number() % 2)); break;
        case 6: r.from(worker, WorkerLatestState{{"worker-" + name()}, {running(some_app().value, number(), 2)}, {}}); break;
        case 7: r.from(worker, WorkerSchedulerState{{"worker-" + name()}, {running(some_app().value, number(), 2)}, {}}); break;
        case 8: r.from(app, RequestExecutors{1, some_app(), number()}); break;
        case 9: r.from(app, KillExecutors{1, some_app(), {std::to_string(number())}}); break;
        case 10: r.from(200, RequestSubmitDriver{{}, driver(random() % 2)}); break;
        case 11: r.now += std::chrono::seconds(random() % 40); r.tick(); break;
        case 12: r.beat(worker, name()); break;
        default: r.feed(MasterTimer{MasterTimer::Kind::CompleteRecovery, 1}); break;
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

// ---- pages -------------------------------------------------------------------------------------

namespace {
ClusterStatus sample_status() {
  ClusterStatus s;
  s.url = "spark://127.0.0.1:7077";
  s.state = RecoveryState::Alive;
  s.workers.push_back({{"worker-20261121084647-127.0.0.1-44085"}, "127.0.0.1", 44085,
                       "http://127.0.0.1:8081", 2, 2, 4096, 2048, WorkerState::Alive,
                       Time(Duration(1795250823820000))});
  AppRow a;
  a.id = {"app-20261121084658-0000"};
  a.name = "Spark shell";
  a.user = "root";
  a.cores_granted = 2;
  a.memory_per_executor_mib = 1024;
  a.submitted = kStart;
  a.duration = 19566ms;
  a.state = AppState::Running;
  s.active_apps.push_back(a);
  return s;
}

std::string without_blanks(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted || (c != ' ' && c != '\n')) out += c;
  }
  return out;
}
}  // namespace

TEST_CASE("M32 the master's JSON has Spark's fields in Spark's order", "[master]") {
  ClusterStatus s = sample_status();
  const std::string workers =
      R"("workers":[{"id":"worker-20261121084647-127.0.0.1-44085","host":"127.0.0.1","port":44085,)"
      R"("webuiaddress":"http://127.0.0.1:8081","cores":2,"coresused":2,"coresfree":0,"memory":4096,)"
      R"("memoryused":2048,"memoryfree":2048,"resources":{},"resourcesused":{},"resourcesfree":{},)"
      R"("state":"ALIVE","lastheartbeat":1795250823820}])";
  CHECK(without_blanks(master_json(s, {}, "")) ==
        R"({"url":"spark://127.0.0.1:7077",)" + workers +
            R"(,"aliveworkers":1,"cores":2,"coresused":2,"memory":4096,"memoryused":2048,)"
            R"("resources":[{}],"resourcesused":[{}],"activeapps":[{"id":"app-20261121084658-0000",)"
            R"("starttime":1795250818364,"name":"Spark shell","cores":2,"user":"root",)"
            R"("memoryperexecutor":1024,"memoryperslave":1024,"resourcesperexecutor":[],)"
            R"("resourcesperslave":[],"submitdate":"Sat Nov 21 08:46:58 UTC 2026","state":"RUNNING",)"
            R"("duration":19566}],"completedapps":[],"activedrivers":[],"completeddrivers":[],)"
            R"("status":"ALIVE"})");
  CHECK(without_blanks(master_json(s, {}, "workers")) == "{" + workers + "}");
  CHECK(without_blanks(master_json(s, {}, "applications")) == R"({"applications":""})");
  CHECK(without_blanks(master_json(s, {}, "clusterutilization")) ==
        R"({"waitingDrivers":0,"cores":2,"coresused":2,"coresutilization":100,"memory":4096,)"
        R"("memoryused":2048,"memoryutilization":50})");
  s.active_apps[0].name = "\xff\xfe broken";
  CHECK_FALSE(master_json(s, {}, "").empty());
}

TEST_CASE("M32 the master's page names its URL and escapes what peers said", "[master]") {
  ClusterStatus s = sample_status();
  s.active_apps[0].name = "<script>alert(1)</script>";
  s.active_apps[0].ui_url = "javascript:alert(1)";
  s.workers[0].web_ui_url = "http://x/\"onclick=\"y";
  std::string page = master_page(s, {});
  CHECK(page.find("<title>Spark Master at spark://127.0.0.1:7077</title>") != std::string::npos);
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("&lt;script&gt;") != std::string::npos);
  CHECK(page.find("javascript:") == std::string::npos);
  CHECK(page.find("\"onclick") == std::string::npos);
  CHECK(page.find("2026/11/21 08:46:58") != std::string::npos);
}
