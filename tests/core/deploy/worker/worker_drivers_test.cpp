// Drivers on a worker. Ids are those of spec/11, section M.
#include "conf/keys.hpp"
#include "tests/core/deploy/worker/worker_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace tinderbox::core::test::of_worker;

namespace {
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
        DriverStateChanged{{"driver-1"}, DriverState::Killed, "", 1});
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
  CHECK(to_master<DriverStateChanged>(out).at(0).message ==
        DriverStateChanged{
            {"driver-1"}, DriverState::Error, "cannot fetch http://repo/count: 404", 1});
}

namespace {
enum class Step { Ends, Lost, Registers, IsFound, Accepted, OtherAccepted };

/// A worker whose driver ends somewhere in a list of steps.
struct EndRun {
  Run r;
  PeerId master = 1;
  uint64_t process = 0, request = 0;

  EndRun() {
    r.start();
    process = all<Spawn>(r.from(1, LaunchDriver{{"driver-1"}, driver(true)})).at(0).ticket;
    r.feed(ProcessStarted{process, 7, ""});
  }
  Worker::Effects lost() { return r.feed(PeerLost{master++}); }
  Worker::Effects take(Step step) {
    switch (step) {
      case Step::Ends:
        return r.feed(ProcessExited{process, 0});
      case Step::Lost:
        return lost();
      case Step::Registers:
        r.feed(Connected{all<Connect>(lost()).at(0).ticket, master});
        return r.from(master, RegisteredWorker{"spark://m:7077", "", true});
      case Step::IsFound: {
        lost();
        const auto connects = all<Connect>(r.from(50, MasterChanged{"spark://n:7077", ""}));
        return r.feed(Connected{connects.at(0).ticket, master});
      }
      case Step::Accepted:
        return r.from(master, DriverStateAccepted{request});
      case Step::OtherAccepted:
        return r.from(master, DriverStateAccepted{request + 1});
    }
    return {};
  }
};

/// What `sent` tells of the driver comes before what it tells of all that runs, to one master.
void check_order(const Worker::Effects& out, PeerId master) {
  bool listed = false;
  for (const auto& s : all<Send<ToMaster>>(out)) {
    CHECK(s.to == master);
    listed |= std::holds_alternative<WorkerLatestState>(s.message) ||
              std::holds_alternative<WorkerSchedulerState>(s.message);
    if (std::holds_alternative<DriverStateChanged>(s.message)) CHECK_FALSE(listed);
  }
}
}  // namespace

TEST_CASE("a driver's end is told to each master until one accepts it, first of all", "[worker]") {
  using enum Step;
  struct Case {
    const char* name;
    std::vector<Step> steps;
    std::vector<size_t> told;  // at each step
  };
  const Case cases[] = {
      {"accepted at once", {Ends, Accepted, Registers, IsFound}, {1, 0, 0, 0}},
      {"lost with the connection", {Ends, Registers, Accepted, Registers}, {1, 1, 0, 0}},
      {"lost with two of them", {Ends, Registers, Registers, Registers}, {1, 1, 1, 1}},
      {"lost with the master", {Ends, IsFound, Accepted, IsFound}, {1, 1, 0, 0}},
      {"while there is no master", {Lost, Ends, IsFound, Registers}, {0, 0, 1, 1}},
      {"another one is accepted", {Ends, OtherAccepted, Registers}, {1, 0, 1}},
      {"accepted twice", {Ends, Registers, Accepted, Accepted, IsFound}, {1, 1, 0, 0, 0}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    EndRun run;
    for (size_t i = 0; i < c.steps.size(); ++i) {
      INFO("step " << i);
      const auto out = run.take(c.steps[i]);
      const auto told = to_master<DriverStateChanged>(out);
      REQUIRE(told.size() == c.told[i]);
      check_order(out, run.master);
      for (const auto& s : told) {
        if (!run.request) run.request = s.message.request;
        CHECK(s.message ==
              DriverStateChanged{{"driver-1"}, DriverState::Finished, "", run.request});
      }
    }
  }
}
