// Drivers in cluster mode as the master sees them. Ids are those of spec/11, section M.
#include "conf/keys.hpp"
#include "tests/core/deploy/master/master_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace tinderbox::core::test::of_master;
using namespace std::chrono_literals;

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
  CHECK(to_client<KillDriverAnswer>(r.from(200, RequestKillDriver{{"driver-x"}})).at(0).message ==
        KillDriverAnswer{
            {"driver-x"}, false, "Driver driver-x has already finished or does not exist"});
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
    for (PeerId p = 1; p <= 6; ++p) {
      const RegisterWorker worker = worker_of(std::string(1, static_cast<char>('a' + p)));
      m.on(Received<ToMaster>{p, worker}, kStart, out);
      m.on(Received<ToMaster>{p, WorkerLatestState{worker.id, {}, {}}}, kStart, out);
    }
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
  REQUIRE(s.active_apps[0].executors.size() == 1);
  CHECK(s.active_apps[0].executors[0].worker.value == "worker-b");
}

TEST_CASE("every report of a driver is accepted, and counts once", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  const bool supervised = GENERATE(true, false);
  const DriverId id =
      to_worker<LaunchDriver>(r.from(200, RequestSubmitDriver{{}, driver(supervised)}))
          .at(0)
          .message.id;
  struct Case {
    const char* name;
    DriverStateChanged report;
  };
  const Case cases[] = {
      {"it ended", {id, DriverState::Finished, "", 5}},
      {"told again", {id, DriverState::Finished, "", 5}},
      {"told otherwise", {id, DriverState::Failed, "late", 6}},
      {"of one that nobody knows", {{"driver-x"}, DriverState::Finished, "", 7}},
      {"not an end", {id, DriverState::Running, "", 8}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const auto out = r.from(1, c.report);
    CHECK(to_worker<DriverStateAccepted>(out) ==
          std::vector<Sent<DriverStateAccepted>>{{1, {c.report.request}}});
    CHECK(to_worker<LaunchDriver>(out).empty());
    CHECK(r.status().active_drivers.empty());
    REQUIRE(r.status().completed_drivers.size() == 1);
    CHECK(r.status().completed_drivers[0].state == DriverState::Finished);
    CHECK(r.worker("a").cores_used == 0);
  }
}

TEST_CASE("a driver that wants less than nothing is refused", "[master]") {
  Run r;
  RegisterWorker m = worker_of("a");
  m.resources = {{"gpu", {"0"}}};
  r.from(1, m);
  DriverDescription d = driver(true);
  const int32_t amount = GENERATE(-1, 0);
  d.resources = {{"gpu", amount}};
  const auto out = r.from(200, RequestSubmitDriver{{}, d});
  const auto answers = to_client<SubmitDriverAnswer>(out);
  REQUIRE(answers.size() == 1);
  CHECK_FALSE(answers[0].message.success);
  CHECK(answers[0].message.message == "a driver cannot have " + std::to_string(amount) + " of gpu");
  CHECK(all<Persist>(out).empty());
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
