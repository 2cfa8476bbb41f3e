#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "conf/keys.hpp"
#include "tests/core/deploy/master/master_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace tinderbox::core::test::of_master;
using namespace std::chrono_literals;

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
                  .at(0)
                  .message.success);

  CHECK(to_app<MasterChanged>(r.feed(Connected{1, 50})) ==
        std::vector<Sent<MasterChanged>>{{50, {"spark://m:7077", "http://m:8080"}}});
  CHECK(to_worker<MasterChanged>(r.feed(Connected{2, 51})).at(0).to == 51);

  auto out = r.from(100, MasterChangeAcknowledged{{"app-1"}});
  CHECK(all<Disconnect>(out) == std::vector<Disconnect>{{50}});
  CHECK(r.status().active_apps[0].state == AppState::Waiting);
  CHECK(r.status().state == RecoveryState::Recovering);

  WorkerSchedulerState answer{
      {"worker-a"}, {running("app-1", 0, 8), running("app-1", 1, 7)}, {{"driver-1"}}};
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

TEST_CASE(
    "M14 a worker and an application that come back by themselves are attached, never doubled",
    "[master]") {
  Run r(options(), one_of_each());
  auto out = r.from(1, [] {
    RegisterWorker m = worker_of("a", 16, 65536);
    return m;
  }());
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

TEST_CASE("recovery: a driver that began again is another application", "[master]") {
  Run r(options(), one_of_each());
  auto out = r.from(100, RegisterApplication{{}, app_of(), "d:7078", 0});
  const AppId app = to_app<RegisteredApplication>(out).at(0).message.app;
  CHECK(app.value != "app-1");
  REQUIRE(r.status().active_apps.size() == 1);
  CHECK(r.status().active_apps[0].id == app);
  CHECK(r.status().completed_apps.at(0).state == AppState::Failed);
  // So what the one before had is told from what this one gets.
  r.from(1, worker_of("a", 16, 65536));
  out = r.from(1, WorkerLatestState{{"worker-a"}, {running("app-1", 0, 15)}, {{"driver-1"}}});
  CHECK(to_worker<KillExecutor>(out).at(0).message.app.value == "app-1");
  for (const auto& launched : to_worker<LaunchExecutor>(out)) CHECK(launched.message.app == app);
}

TEST_CASE("recovery: executors that workers tell of keep their numbers", "[master]") {
  Run r(options(), one_of_each());
  r.from(100, MasterChangeAcknowledged{{"app-1"}, 0});
  // It ended while there was no master; that is said on every connection, and may come twice.
  const ExecutorStateChanged over = change({"app-1"}, 2, ExecutorState::Exited, 0);
  r.from(1, over);
  const auto out = r.from(1, WorkerSchedulerState{{"worker-a"}, {}, {{"driver-1"}}});
  const auto launched = to_worker<LaunchExecutor>(out);
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].message.executor == 3);
  r.from(1, over);
  CHECK(r.status().active_apps.at(0).executors.size() == 1);
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
  CHECK(to_worker<ReconnectWorker>(r.from(1, WorkerSchedulerState{{"worker-a"}, {}, {}})).size() ==
        1);
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

TEST_CASE("recovery: a worker that took another's place while no master was there registers anew",
          "[master]") {
  Run r(options(), one_of_each());
  // MasterChanged went to the address of worker-a; who answers has never registered.
  auto out = r.from(1, WorkerSchedulerState{{"worker-a-2"}, {}, {}});
  CHECK(to_worker<ReconnectWorker>(out).size() == 1);
  CHECK(r.status().workers.size() == one_of_each().workers.size());
}

TEST_CASE("recovery: executors that an application gives up meanwhile end when workers are back",
          "[master]") {
  Run r(options(), one_of_each());
  r.from(100, MasterChangeAcknowledged{{"app-1"}, 9});
  auto out = r.from(100, KillExecutors{1, {"app-1"}, {"1"}});
  // This master may die too before it is done: then the next one is to be asked.
  CHECK(to_app<ExecutorRequestAnswer>(out).empty());
  CHECK(to_worker<KillExecutor>(out).empty());
  out = r.from(1,
               WorkerSchedulerState{
                   {"worker-a"}, {running("app-1", 0, 1), running("app-1", 1, 1)}, {{"driver-1"}}});
  CHECK(r.status().state == RecoveryState::Alive);
  REQUIRE(to_worker<KillExecutor>(out).size() == 1);
  CHECK(to_worker<KillExecutor>(out)[0].message.executor == 1);
  CHECK(to_app<ExecutorRequestAnswer>(out).at(0).message == ExecutorRequestAnswer{1, true});
  // The application has seen numbers of executors that ended while there was no master.
  REQUIRE_FALSE(to_worker<LaunchExecutor>(out).empty());
  CHECK(to_worker<LaunchExecutor>(out)[0].message.executor == 9);
}

TEST_CASE("recovery: what a worker runs for nobody is killed, nonsense is not taken over",
          "[master]") {
  Run r(options(), one_of_each());
  r.from(100, MasterChangeAcknowledged{{"app-1"}});
  auto out =
      r.from(1, WorkerSchedulerState{{"worker-a"},
                                     {running("app-x", 0, 1), running("app-1", -4, 1),
                                      running("app-1", 2, 2000000000), running("app-1", 3, 2)},
                                     {{"driver-x"}}});
  CHECK(to_worker<KillExecutor>(out).size() == 3);
  CHECK(to_worker<KillDriver>(out).size() == 1);
  CHECK(r.status().active_apps.at(0).executors.at(0).id == 3);
}

TEST_CASE(
    "recovery: a driver that ended meanwhile has ended, and is out of the log before the worker "
    "may forget it",
    "[master]") {
  RecoveredState recovered = one_of_each();
  recovered.apps.clear();
  recovered.drivers[{"driver-1"}].description = driver(GENERATE(true, false));
  Run r(options(conf::Conf().with(conf::kDeployRecoveryMode, "FILESYSTEM")), recovered);
  auto out = r.from(1, DriverStateChanged{{"driver-1"}, DriverState::Finished, "", 4});
  const auto place = [&out](auto is) {
    return std::find_if(out.begin(), out.end(), is) - out.begin();
  };
  const auto forgotten = place([](const auto& e) {
    return e == Master::Effect(Persist{log_record(ForgottenDriver{{"driver-1"}})});
  });
  const auto accepted = place([](const auto& e) {
    return e == Master::Effect(Send<ToWorker>{1, DriverStateAccepted{4}});
  });
  CHECK(forgotten < accepted);
  CHECK(accepted < std::ssize(out));
  out = r.from(1, WorkerSchedulerState{{"worker-a"}, {}, {}});
  CHECK(r.status().state == RecoveryState::Alive);
  CHECK(to_worker<LaunchDriver>(out).empty());
  CHECK(r.status().active_drivers.empty());
  REQUIRE(r.status().completed_drivers.size() == 1);
  CHECK(r.status().completed_drivers[0].state == DriverState::Finished);
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
  AppId app =
      to_app<RegisteredApplication>(keep(r.from(100, RegisterApplication{{}, app_of(), "d:1", 0})))
          .at(0)
          .message.app;
  AppId gone =
      to_app<RegisteredApplication>(keep(r.from(101, RegisterApplication{{}, app_of(), "d:2", 0})))
          .at(0)
          .message.app;
  DriverId driver_id =
      to_client<SubmitDriverAnswer>(keep(r.from(200, RequestSubmitDriver{{}, driver()})))
          .at(0)
          .message.id;
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
