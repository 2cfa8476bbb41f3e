// Applications and their executors as the master sees them. Ids are those of spec/11, section M.
#include "conf/keys.hpp"
#include "tests/core/deploy/master/master_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace tinderbox::core::test::of_master;
using namespace std::chrono_literals;

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
  // Workers may be starting, too.
  const auto registered = r.from(100, RegisterApplication{{}, app_of({}, {}, 4096), "d:1", 0});
  CHECK(reasons(registered).empty());
  REQUIRE(all<After<MasterTimer>>(registered).size() == 1);
  r.now += all<After<MasterTimer>>(registered)[0].delay;
  CHECK(reasons(r.feed(all<After<MasterTimer>>(registered)[0].event)) ==
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
  MasterOptions limited = options();
  limited.default_cores = 2;
  Run other(std::move(limited));
  other.from(1, worker_of("a", 4, 4096));
  CHECK(reasons(other.from(101, RegisterApplication{{}, app_of({}, 3), "d:2", 0})) ==
        Texts{"spark.deploy.defaultCores 2 is less than the 3 cores of one executor"});
}

TEST_CASE("applications that wait for the first worker set one timer each", "[master]") {
  Run r;
  std::multimap<Time, MasterTimer> due;
  size_t timers = 0;
  const auto note = [&](const Master::Effects& out) {
    for (const auto& a : all<After<MasterTimer>>(out)) {
      ++timers;
      due.emplace(r.now + a.delay, a.event);
    }
  };
  const Time start = r.now;
  for (int i = 0; i < 20; ++i) {
    r.now = start + i * 100ms;
    while (!due.empty() && due.begin()->first <= r.now) {
      note(r.feed(due.extract(due.begin()).mapped()));
    }
    note(r.from(PeerId(100 + i), RegisterApplication{{}, app_of(), "d:" + std::to_string(i), 0}));
  }
  CHECK(timers == 20);
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

TEST_CASE("an application that was taken for ended gets numbers that none of its executors had",
          "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  const AppId app = r.add_app(100, app_of(), "d:1");
  r.feed(PeerLost{100});
  // It heard of none that it was given.
  const auto out = r.from(101, RegisterApplication{{"ann", app, 0, ""}, app_of(), "d:1", 0});
  CHECK(to_app<RegisteredApplication>(out).at(0).message.app == app);
  CHECK(to_worker<LaunchExecutor>(out).at(0).message.executor == 1);
}

TEST_CASE("the end of an executor counts only where it runs", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  r.from(2, worker_of("b"));
  const AppId app("app-old");
  const auto out = r.from(100, RegisterApplication{{"ann", app, 0, ""}, app_of(1, 1), "d:1", 3});
  const auto launched = to_worker<LaunchExecutor>(out);
  REQUIRE(launched.size() == 1);
  const PeerId there = launched[0].to, elsewhere = 3 - there;
  const auto ends = [&](PeerId from) {
    return to_app<ExecutorUpdated>(
        r.from(from, ExecutorStateChanged{1, app, 3, ExecutorState::Killed, "", {}}));
  };
  CHECK(ends(elsewhere).empty());
  CHECK(r.status().active_apps.at(0).cores_granted == 1);
  CHECK(ends(there).at(0).message.state == ExecutorState::Killed);
}
