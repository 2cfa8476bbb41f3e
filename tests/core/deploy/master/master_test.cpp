// Workers, leadership, and what holds whatever happens. Ids are those of spec/11, section M.
#include <map>
#include <random>

#include "tests/core/deploy/master/master_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace tinderbox::core::test::of_master;
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
  RegisterWorker twice = worker_of("a");
  twice.resources = {{"gpu", {"0", "1", "0"}}};
  CHECK(to_worker<RegisterWorkerFailed>(r.from(1, twice)).at(0).message.message ==
        "worker worker-a names an address of gpu twice");
  CHECK(r.status().workers.empty());
}

namespace {
RegisterWorker began(int64_t epoch, int32_t cores = 10) {
  RegisterWorker m = worker_of("a", cores);
  m.who.epoch = epoch;
  return m;
}
}  // namespace

TEST_CASE("another process with a worker's id takes its place", "[master]") {
  Run r;
  r.from(1, began(1));
  r.add_app(100, app_of(4));
  SECTION("of one that runs") { REQUIRE(r.worker("a").cores_used == 4); }
  SECTION("of one that is decommissioned") { r.from(1, WorkerDecommissioning{{"worker-a"}}); }
  const auto out = r.from(2, began(2, 6));
  CHECK_FALSE(to_worker<RegisteredWorker>(out).at(0).message.duplicate);
  CHECK(to_app<WorkerRemoved>(out).size() == 1);
  CHECK(to_worker<LaunchExecutor>(out).at(0).to == 2);
  REQUIRE(r.status().workers.size() == 1);
  CHECK(r.worker("a").state == WorkerState::Alive);
  CHECK(r.worker("a").cores == 6);
  r.feed(PeerLost{1});
  CHECK(r.worker("a").state == WorkerState::Alive);
}

TEST_CASE("an id that two hosts have is the first one's", "[master]") {
  Run r;
  r.from(1, began(1));
  RegisterWorker other = began(2);
  other.host = "b";
  CHECK(to_worker<RegisterWorkerFailed>(r.from(2, other)).at(0).message.message ==
        "Duplicate worker ID: worker-a is at a:4000, and comes from b:4000 too; "
        "spark.worker.idPattern must tell them apart");
  CHECK(r.worker("a").state == WorkerState::Alive);
}

TEST_CASE("a worker that registers while it is decommissioned gets nothing", "[master]") {
  Run r;
  r.add_app(100, app_of(4));
  RegisterWorker m = began(1);
  m.decommissioned = true;
  CHECK(to_worker<LaunchExecutor>(r.from(1, m)).empty());
  CHECK(r.worker("a").state == WorkerState::Decommissioned);
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

TEST_CASE("M20 decommissioning takes a worker's executors away from their applications",
          "[master]") {
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

TEST_CASE("a worker gets nothing before it has said what it runs", "[master]") {
  Run r;
  const AppId app = r.add_app(100, app_of(15, 5));
  auto out = r.from(1, ToMaster(worker_of("a")));
  CHECK(to_worker<RegisteredWorker>(out).size() == 1);
  CHECK(to_worker<LaunchExecutor>(out).empty());
  // An older run of it told the master of executors; their numbers are theirs until they have
  // ended.
  out = r.from(1, WorkerLatestState{{"worker-a"}, {running(app.value, 1, 5)}, {}});
  REQUIRE(to_worker<KillExecutor>(out).size() == 1);
  auto launched = to_worker<LaunchExecutor>(out);
  REQUIRE(launched.size() == 2);
  CHECK(launched[0].message.executor == 2);
  CHECK(launched[1].message.executor == 3);
  // On a new connection again; and what the one before still carried says nothing.
  r.from(2, ToMaster(worker_of("a")));
  CHECK(to_worker<LaunchExecutor>(r.from(2, change(app, 2, ExecutorState::Exited))).empty());
  CHECK(to_worker<LaunchExecutor>(r.from(1, WorkerLatestState{{"worker-a"}, {}, {}})).empty());
  out = r.from(2, WorkerLatestState{{"worker-a"}, {running(app.value, 3, 5)}, {}});
  launched = to_worker<LaunchExecutor>(out);
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].message.executor == 4);
}

TEST_CASE("an order is not lost on a connection that lasts, though its worker registers twice",
          "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  r.add_app(100, app_of(1));
  r.from(1, worker_of("a"));
  // It answers the first registration: the order came after it.
  CHECK(to_worker<LaunchExecutor>(r.from(1, WorkerLatestState{{"worker-a"}, {}, {}})).empty());
}

TEST_CASE("a driver whose order to start was lost with its worker's connection", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  const bool supervised = GENERATE(true, false);
  r.from(200, RequestSubmitDriver{{}, driver(supervised)});
  r.from(2, worker_of("a"));
  const auto out = r.from(2, WorkerLatestState{{"worker-a"}, {}, {}});
  CHECK(to_worker<LaunchDriver>(out).size() == (supervised ? 1 : 0));
  CHECK(r.status().completed_drivers.at(0).state ==
        (supervised ? DriverState::Relaunching : DriverState::Error));
}
