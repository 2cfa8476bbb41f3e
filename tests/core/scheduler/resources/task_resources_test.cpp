// Custom resources and resource profiles through the Driver machine.
#include "tests/core/scheduler/resources/resources_fixture.hpp"
#include "tests/core/scheduler/tasks/task_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;
using Catch::Matchers::Contains;

// ---- custom resources --------------------------------------------------------------------------

TEST_CASE("T41 a task is told its cpus and its addresses", "[resources]") {
  DriverOptions o = gpus(4, 2);
  o.task_cpus = 2;
  Gpus c(o);
  c.join("A", 4, {"g0", "g1", "g2", "g3"});
  c.submit(rdd(2));
  REQUIRE(c.messages<LaunchTasks>().size() == 1);
  CHECK(c.messages<LaunchTasks>()[0].cpus == 2);
  CHECK(c.messages<LaunchTasks>()[0].resources ==
        std::vector<ResourceAddresses>{{{"gpu", {"g0", "g1"}}}, {{"gpu", {"g2", "g3"}}}});
}

TEST_CASE("S37 tasks run only where there are addresses, and each has its own", "[resources]") {
  Gpus c(gpus(1, 1, GENERATE(0, 8)));
  c.join("A", 2);
  c.submit(rdd(4));
  CHECK(c.live().empty());
  CHECK_THAT(c.warnings().back(), Contains("executor A has too few custom resources"));
  c.join("B", 2, {"0", "1", "2", "3"});
  CHECK(c.addresses() == Strings{"0", "1"});
  CHECK(c.live().size() == 2);  // cores are what limits; and nothing is sent ahead
  c.succeed(c.live()[1], "x");
  CHECK(c.addresses() == Strings{"1"});
  c.succeed(c.live()[0], "x");
  CHECK(c.addresses() == Strings{"0"});
  c.end_all();
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S37 tasks with a share of an address share it", "[resources]") {
  Gpus c(gpus(1, 0.33, GENERATE(0, 8)));
  c.join("A", 4, {"0"});
  c.submit(rdd(5));
  CHECK(c.addresses() == Strings{"0", "0", "0"});
  c.join("B", 1, {"7", "8"});
  CHECK(c.addresses() == Strings{"7"});
  c.fail(c.by_id(TaskId{0}), "boom");
  CHECK(c.addresses() == Strings{"0"});
  c.end_all();
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("addresses of a large result's task are free before it is fetched", "[resources]") {
  Gpus c(gpus(1, 1));
  c.join("A", 1, {"0"});
  c.submit(rdd(2));
  TaskUpdate u;
  u.id = c.live()[0].id;
  u.state = TaskState::Finished;
  u.result_block = "taskresult_0";
  u.result_size = 9;
  c.update(c.live()[0], u);
  CHECK(c.addresses() == Strings{"0"});
}

TEST_CASE("addresses of a lost executor are nobody's", "[resources]") {
  Gpus c(gpus(1, 1));
  c.join("A", 2, {"0", "1"});
  c.submit(rdd(2));
  c.lose("A");
  CHECK(c.live().empty());
  c.join("B", 1, {"5"});
  CHECK(c.addresses() == Strings{"5"});
  c.succeed(c.live()[0], "x");
  CHECK(c.addresses() == Strings{"5"});
}

TEST_CASE("fair pools give out addresses too", "[resources]") {
  DriverOptions o = gpus(1, 1);
  o.scheduling_mode = conf::SchedulingMode::kFair;
  Gpus c(o);
  c.join("A", 8, {"0", "1"});
  c.submit(rdd(3));
  c.submit(rdd(3));
  CHECK(c.live().size() == 2);
  for (int left = 6; left > 0; --left) {
    CHECK(c.live().size() == static_cast<size_t>(std::min(left, 2)));
    c.succeed(c.live().front(), "x");
  }
  CHECK(c.driver.idle_state_is_clean());
}

// ---- resource profiles -------------------------------------------------------------------------

TEST_CASE("S38 tasks run on executors of their own profile", "[resources]") {
  Gpus c(dynamic(gpus(4, 1, GENERATE(0, 8))));
  const ResourceProfile rp = make(ExecutorResourceRequests().cores(6).resource("gpu", 6),
                                  TaskResourceRequests().cpus(2).resource("gpu", 2));
  c.submit(rdd(3));
  c.submit(c.with(rp, rdd(5)));
  REQUIRE(c.seen<StageSubmitted>().size() == 2);
  CHECK(c.seen<StageSubmitted>()[0].stage.profile == 0);
  CHECK(c.seen<StageSubmitted>()[1].stage.profile == 1);
  c.join("A", 2, {"0", "1", "2", "3"});
  CHECK(c.on_executor("A", 0) == 2);
  c.join("B", 6, {"0", "1", "2", "3", "4", "5"}, 1);
  CHECK(c.addresses() == Strings{"0,1", "2,3", "4,5"});
  CHECK(c.on_executor("B", 1) == 3);
  c.join("C", 6, {"0", "1", "2", "3", "4", "5"}, 1);
  CHECK(c.on_executor("C", 1) == 2);
  CHECK(c.live().size() == 7);
  // The default stage's last task waits for its own executor, however many others are idle.
  for (const Sent& s : c.live(1)) c.succeed(s, "x");
  c.advance(5s);
  CHECK(c.live(0).size() == 2);
  CHECK(c.on_executor("A") == 2);
  c.end_all();
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S38 a profile of tasks alone runs on the executors that there are", "[resources]") {
  const Strings four = {"0", "1", "2", "3"};
  const int32_t ahead = GENERATE(0, 8);
  SECTION("beside tasks of the default profile") {
    Gpus c(gpus(4, 1, ahead));
    c.submit(rdd(3));
    c.submit(c.with(gpu_tasks(2, 2), rdd(5)));
    c.join("A", 4, four);
    CHECK(c.on_executor("A", 0) == 3);  // and one core is left, too little for the other stage
    CHECK(c.on_executor("A", 1) == 0);
    c.join("B", 4, four);
    CHECK(c.on_executor("B", 1) == 2);
    for (const Sent& s : c.live(0)) c.succeed(s, "x");
    CHECK(c.on_executor("A", 1) == 2);
    c.end_all();
    CHECK(c.driver.idle_state_is_clean());
  }
  SECTION("3 + 2 when both executors are there first") {
    Gpus c(gpus(4, 1, ahead));
    c.join("A", 4, four);
    c.join("B", 4, four);
    c.submit(rdd(3));
    c.submit(c.with(gpu_tasks(2, 2), rdd(5)));
    CHECK(c.live(0).size() == 3);
    CHECK(c.live(1).size() == 2);
    c.end_all();
    CHECK(c.driver.idle_state_is_clean());
  }
  SECTION("4 alone") {
    Gpus c(gpus(4, 1, ahead));
    c.join("A", 4, four);
    c.join("B", 4, four);
    c.submit(c.with(gpu_tasks(2, 2), rdd(5)));
    CHECK(c.live().size() == 4);
    CHECK(c.messages<LaunchTasks>()[0].cpus == 2);
    c.end_all();
    CHECK(c.driver.idle_state_is_clean());
  }
}

TEST_CASE("a profile of more cpus takes back what was sent ahead", "[resources]") {
  Gpus c(test_options(8));
  c.join("A", 4);
  c.submit(rdd(12));
  CHECK(c.live().size() == 12);
  c.submit(c.with(make({}, TaskResourceRequests().cpus(3)), rdd(2)));
  CHECK(c.revocations.size() == 1);
  c.answer_revocations();
  CHECK(c.live(0).size() == 4);
  // First in, first out: the second job begins when the first one's last tasks leave room.
  while (c.driver.dag().stages().contains(StageId{0}) && c.live(1).empty()) {
    CHECK(c.live().size() <= 4);
    c.succeed(c.live(0).front(), "x");
  }
  CHECK(c.live(0).size() == 1);
  CHECK(c.live(1).size() == 1);
  CHECK(c.messages<LaunchTasks>()[0].cpus == 3);
  c.end_all();
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a profile of fewer cpus gets more tasks onto an executor", "[resources]") {
  DriverOptions o = test_options(8);
  o.task_cpus = 2;
  Gpus c(o);
  c.join("A", 4);
  c.submit(c.with(make({}, TaskResourceRequests().cpus(1)), rdd(6)));
  CHECK(c.live().size() == 4);
  c.end_all();
  CHECK(c.driver.idle_state_is_clean());
}

namespace {
/// What the cluster manager was asked for last, after 4 s.
RequestTotalExecutors asked_in_time(Gpus& c) {
  std::vector<RequestTotalExecutors> asked;
  for (int i = 0; i < 40; ++i) {
    c.last.clear();
    c.advance(100ms);
    for (RequestTotalExecutors& r : c.effects<RequestTotalExecutors>()) asked.push_back(r);
  }
  REQUIRE_FALSE(asked.empty());
  return asked.back();
}
}  // namespace

TEST_CASE("the cluster manager is asked for executors of each profile", "[resources]") {
  Gpus c(dynamic(test_options()));
  c.on(StartDriver{});
  const ResourceProfile rp =
      make(ExecutorResourceRequests().cores(4).memory("2g").resource("gpu", 1),
           TaskResourceRequests().resource("gpu", 0.5));
  c.submit(c.with(rp, rdd(4)));
  const RequestTotalExecutors asked = asked_in_time(c);
  CHECK(asked.totals == std::map<int32_t, int32_t>{{0, 0}, {1, 2}});  // two slots each
  CHECK(asked.profiles == std::vector<ProfileRequest>{{1, 2, 4, 2048, {{"gpu", 1}}}});
}

TEST_CASE("with dynamic allocation a profile of tasks alone has executors like the default ones",
          "[resources]") {
  Gpus c(dynamic(gpus(1, 1)));
  c.on(StartDriver{});
  const uint64_t t = c.submit(c.with(gpu_tasks(1, 1), rdd(2)));
  const RequestTotalExecutors asked = asked_in_time(c);
  CHECK(asked.totals == std::map<int32_t, int32_t>{{0, 0}, {1, 2}});
  CHECK(asked.profiles == std::vector<ProfileRequest>{{1, 2, {}, {}, {{"gpu", 1}}}});
  c.join("A", 1, {"7"}, 1);
  CHECK(c.addresses() == Strings{"7"});
  c.end_all();
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("an executor is told what its profile needs; one of an unknown profile is refused",
          "[resources]") {
  Gpus c(dynamic(test_options()));
  const ResourceProfile rp =
      make(ExecutorResourceRequests().cores(4).memory("2g").resource("gpu", 2, "/opt/gpus"),
           TaskResourceRequests().cpus(2).resource("gpu", 1));
  c.submit(c.with(rp, rdd(1)));
  c.peers["A"] = ++c.next_peer;
  c.from("A", ExecutorHello{{"", AppId{"app-1"}, 0, ""}, ExecutorId{"A"}, "b1", "c1", 1});
  REQUIRE(c.messages<ApplicationConfig>().size() == 1);
  const ApplicationConfig config = c.messages<ApplicationConfig>()[0];
  CHECK(config.resources == std::map<std::string, ExecutorResource>{{"gpu", {2, "/opt/gpus"}}});
  CHECK(config.task_cpus == 2);
  CHECK(config.properties.at("spark.executor.memory") == "2048m");
  c.peers["B"] = ++c.next_peer;
  c.from("B", ExecutorHello{{"", AppId{"app-1"}, 0, ""}, ExecutorId{"B"}, "b1", "c1", 2});
  REQUIRE(c.messages<ExecutorRefused>().size() == 1);
  CHECK(c.messages<ExecutorRefused>()[0].reason ==
        "executor B is of resource profile 2, which this application does not have");
}

TEST_CASE("D78 Rdds of several profiles in a stage", "[resources]") {
  const ResourceProfile a =
      make(ExecutorResourceRequests().cores(4), TaskResourceRequests().cpus(1));
  const ResourceProfile b =
      make(ExecutorResourceRequests().cores(2), TaskResourceRequests().cpus(2));
  DriverOptions o = dynamic(test_options());
  SECTION("are an error") {
    Gpus c(o);
    const uint64_t job = c.submit(c.with(b, rdd(2, {narrow(c.with(a, rdd(2)))})));
    REQUIRE(c.ended(job));
    CHECK_THAT(c.error(job), Contains("Multiple ResourceProfiles specified in the RDDs"));
    CHECK(c.driver.idle_state_is_clean());
    // So they are in a stage before the last, and equal ones are not.
    const ShufflePtr s = shuffle(c.with(b, rdd(2, {narrow(c.with(a, rdd(2)))})), 2);
    const uint64_t later = c.submit(rdd(2, {s}));
    CHECK_THAT(c.error(later), Contains("Multiple ResourceProfiles"));
    JobRequest of_maps;
    of_maps.ticket = ++c.next_ticket;
    of_maps.map_stage = s;
    of_maps.profiles = true;
    c.on(SubmitJob{std::move(of_maps)});
    CHECK_THAT(c.error(c.next_ticket), Contains("Multiple ResourceProfiles"));
    CHECK_FALSE(c.ended(c.submit(c.with(a, rdd(2, {narrow(c.with(a, rdd(2)))})))));
  }
  SECTION("become the most of each when that is enabled, the same ones the same profile") {
    o.merge_profiles = true;
    Gpus c(o);
    for (int i = 0; i < 2; ++i) c.submit(c.with(b, rdd(2, {narrow(c.with(a, rdd(2)))})));
    REQUIRE(c.seen<StageSubmitted>().size() == 2);
    const int32_t id = c.seen<StageSubmitted>()[0].stage.profile;
    CHECK(id > 0);
    CHECK(c.seen<StageSubmitted>()[1].stage.profile == id);
    const Profiles& profiles = c.driver.executors().profiles();
    CHECK(profiles.count() == id + 1);
    CHECK(profiles.request(id, 1) == ProfileRequest{id, 1, 4, {}, {}});
    CHECK(profiles.needs(id).cpus == 2);
  }
  SECTION("may together ask for what no executor can do") {
    o.merge_profiles = true;
    o.profile = make(ExecutorResourceRequests().cores(8), TaskResourceRequests().cpus(1));
    Gpus c(o);
    const ResourceProfile wide =
        make(ExecutorResourceRequests().memory("1g"), TaskResourceRequests().cpus(8));
    const uint64_t job = c.submit(c.with(wide, rdd(2, {narrow(c.with(b, rdd(2)))})));
    CHECK_THAT(c.error(job), Contains("(=2) has to be >= the number of cpus per task = 8"));
  }
}

TEST_CASE("stages on both sides of a shuffle have their own profiles", "[resources]") {
  Gpus c(dynamic(test_options()));
  const ResourceProfile rp =
      make(ExecutorResourceRequests().cores(2), TaskResourceRequests().cpus(2));
  c.submit(c.with(rp, rdd(1, {shuffle(rdd(2), 1)})));
  c.join("A", 2);
  c.maps_ok(0);
  CHECK(c.live().empty());
  c.join("B", 2, {}, 1);
  c.advance(5s);  // it would rather run where the outputs are
  REQUIRE(c.live().size() == 1);
  CHECK(c.live()[0].executor == "B");
  c.end_all();
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("listeners hear of a resource profile before the first stage that has it",
          "[resources]") {
  Gpus c(dynamic(gpus(4, 1)));
  c.on(StartDriver{});
  REQUIRE(c.seen<ResourceProfileAdded>().size() == 1);
  CHECK(c.seen<ResourceProfileAdded>()[0].number == kDefaultProfile);
  CHECK(c.seen<ResourceProfileAdded>()[0].profile.task.resources.at("gpu") == 1);
  const ResourceProfile rp =
      make(ExecutorResourceRequests().cores(2), TaskResourceRequests().cpus(2));
  const size_t before = c.events.size();
  c.submit(c.with(rp, rdd(1)));
  REQUIRE(c.events.size() > before);
  const auto* added = std::get_if<ResourceProfileAdded>(&c.events[before]);
  REQUIRE(added);
  CHECK(added->number == 1);
  CHECK(added->profile == rp);
  CHECK(c.seen<StageSubmitted>().back().stage.profile == 1);
  c.submit(c.with(rp, rdd(1)));
  CHECK(c.seen<ResourceProfileAdded>().size() == 2);
}

TEST_CASE("a stage whose own executors are all excluded does not wait for others", "[resources]") {
  DriverOptions o = dynamic(excluding());
  o.exclusion.dynamic_allocation = true;
  Gpus c(o);
  const ResourceProfile rp =
      make(ExecutorResourceRequests().cores(2), TaskResourceRequests().cpus(2));
  const uint64_t job = c.submit(c.with(rp, rdd(1)));
  c.join("A", 2);
  c.join("B", 2, {}, 1);
  REQUIRE(c.live().size() == 1);
  c.fail(c.live()[0], "boom");
  CHECK(c.live().empty());
  CHECK(c.kills == Strings{"B"});  // A would do as little as before
  c.advance(121s);
  REQUIRE(c.ended(job));
  CHECK_THAT(c.error(job), Contains("cannot run anywhere"));
}
