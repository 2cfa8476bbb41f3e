// Custom resources and resource profiles at the master.
#include <catch2/catch.hpp>

#include <set>

#include "core/deploy/pages.hpp"
#include "tests/core/deploy/master/master_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace tinderbox::core::test::of_master;
using Catch::Matchers::Contains;

namespace {

using Addresses = std::vector<std::string>;

const ResourceAddresses kThree = {{"gpu", {"0", "1", "2"}}, {"fpga", {"f1", "f2", "f3"}}};
const ResourceAddresses kSix = {{"gpu", {"0", "1", "2", "3", "4", "5"}},
                                {"fpga", {"f1", "f2", "f3", "f4", "f5", "f6"}}};

RegisterWorker equipped(const std::string& name, ResourceAddresses resources, int32_t cores = 10,
                        int64_t memory = 4096) {
  RegisterWorker m = worker_of(name, cores, memory);
  m.resources = std::move(resources);
  return m;
}
DriverDescription driver_with(ResourceAmounts resources) {
  DriverDescription d = driver();
  d.resources = std::move(resources);
  return d;
}
ApplicationDescription app_with(ResourceAmounts resources, std::optional<int32_t> max_cores,
                                std::optional<int32_t> cores) {
  ApplicationDescription d = app_of(max_cores, cores);
  d.resources_per_executor = std::move(resources);
  return d;
}
ResourceAddresses free_of(const Run& r, const std::string& worker) {
  return r.worker(worker).resources_free;
}
std::string without_blanks(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\n') out += c;
  return out;
}
ProfileRequest profile(int32_t id, int32_t total, int64_t memory,
                       std::optional<int32_t> cores = {}) {
  return {id, total, cores, memory, {}};
}

}  // namespace

TEST_CASE("M22 a driver waits for a worker with its resources, and gives them back", "[master]") {
  Run r;
  r.from(1, worker_of("plain"));
  auto out = r.from(200, RequestSubmitDriver{{}, driver_with({{"gpu", 3}, {"fpga", 3}})});
  CHECK(to_worker<LaunchDriver>(out).empty());
  const ClusterStatus waiting = r.status();
  REQUIRE(waiting.active_drivers.size() == 1);
  CHECK(waiting.active_drivers[0].state == DriverState::Submitted);
  out = r.from(2, equipped("rich", kThree));
  REQUIRE(to_worker<LaunchDriver>(out).size() == 1);
  const LaunchDriver launch = to_worker<LaunchDriver>(out)[0].message;
  CHECK(to_worker<LaunchDriver>(out)[0].to == 2);
  CHECK(launch.resources == kThree);
  CHECK(r.status().active_drivers[0].state == DriverState::Running);
  CHECK(free_of(r, "rich") == ResourceAddresses{{"gpu", {}}, {"fpga", {}}});
  r.from(2, DriverStateChanged{launch.id, DriverState::Finished, ""});
  CHECK(free_of(r, "rich") == kThree);
}

TEST_CASE("M22 a driver and an executor share a worker's addresses without overlap", "[master]") {
  Run r;
  r.from(1, equipped("a", kSix));
  const LaunchDriver d =
      to_worker<LaunchDriver>(
          r.from(200, RequestSubmitDriver{{}, driver_with({{"gpu", 3}, {"fpga", 3}})}))
          .at(0)
          .message;
  auto out =
      r.from(100, RegisterApplication{{}, app_with({{"gpu", 3}, {"fpga", 3}}, 1, 1), "d:1", 0});
  REQUIRE(to_worker<LaunchExecutor>(out).size() == 1);
  const LaunchExecutor e = to_worker<LaunchExecutor>(out)[0].message;
  for (const char* name : {"gpu", "fpga"}) {
    std::set<std::string> both(d.resources.at(name).begin(), d.resources.at(name).end());
    both.insert(e.resources.at(name).begin(), e.resources.at(name).end());
    CHECK(both.size() == 6);
    CHECK(free_of(r, "a").at(name).empty());
  }
  r.from(1, change(e.app, e.executor, ExecutorState::Running));
  r.from(100, UnregisterApplication{e.app});
  r.from(1, DriverStateChanged{d.id, DriverState::Finished, ""});
  CHECK(free_of(r, "a") == kSix);
}

TEST_CASE("executors come where their addresses are, and a lost one's go to the next", "[master]") {
  Run r;
  r.from(1, equipped("a", {{"gpu", {"0", "1", "2"}}}));
  r.from(2, worker_of("b", 20, 8192));
  auto out = r.from(100, RegisterApplication{{}, app_with({{"gpu", 2}}, 8, 2), "d:1", 0});
  auto launched = to_worker<LaunchExecutor>(out);
  REQUIRE(launched.size() == 1);  // there are addresses for one only
  CHECK(launched[0].to == 1);
  CHECK(launched[0].message.resources == ResourceAddresses{{"gpu", {"0", "1"}}});
  CHECK(free_of(r, "a") == ResourceAddresses{{"gpu", {"2"}}});
  const AppId app = launched[0].message.app;
  r.from(1, change(app, 0, ExecutorState::Running));
  out = r.from(1, change(app, 0, ExecutorState::Exited, 1));
  launched = to_worker<LaunchExecutor>(out);
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].message.executor == 1);
  CHECK(launched[0].message.resources == ResourceAddresses{{"gpu", {"0", "1"}}});
  // A worker that goes takes its addresses with it; nothing of it is left over.
  r.feed(PeerLost{1});
  out = r.from(3, equipped("c", {{"gpu", {"7", "8"}}}));
  CHECK(to_worker<LaunchExecutor>(out).at(0).message.resources ==
        ResourceAddresses{{"gpu", {"7", "8"}}});
}

TEST_CASE("an application that gets no executor learns which resource there is not", "[master]") {
  Run r;
  r.from(1, equipped("a", {{"gpu", {"0"}}}));
  auto out = r.from(100, RegisterApplication{{}, app_with({{"gpu", 2}}, 8, 2), "d:1", 0});
  CHECK(to_app<SchedulingStatus>(out).at(0).message.reason ==
        "no worker has 2 gpu free: worker-a has 1 gpu");
  out = r.from(2, worker_of("b", 1, 512));
  CHECK(to_app<SchedulingStatus>(out).at(0).message.reason ==
        "no worker has 2 gpu free: worker-a has 1 gpu, worker-b has 0 gpu");
}

TEST_CASE("a recovered master takes over the addresses that workers say are in use", "[master]") {
  RecoveredState s;
  s.apps[{"app-1"}] = {{"app-1"}, app_with({{"gpu", 1}}, 2, 1), "d:7078", 5};
  s.workers[{"worker-a"}] = {
      {"worker-a"}, "a", 4000, 16, 65536, "http://a:8081", {{"gpu", {"0", "1", "2"}}}};
  s.drivers[{"driver-1"}] = {{"driver-1"}, driver_with({{"gpu", 1}}), 6};
  Run r(options(), s);
  r.from(100, MasterChangeAcknowledged{{"app-1"}});
  ExecutorDescription mine = running("app-1", 0, 1);
  mine.resources = {{"gpu", {"1"}}};
  ExecutorDescription twice = running("app-1", 1, 1);  // an address that it cannot have
  twice.resources = {{"gpu", {"1"}}};
  ExecutorDescription invented = running("app-1", 2, 1);
  invented.resources = {{"gpu", {"9"}}};
  auto out = r.from(1, WorkerSchedulerState{{"worker-a"},
                                            {mine, twice, invented},
                                            {{"driver-1"}},
                                            {{{"driver-1"}, {{"gpu", {"2"}}}}}});
  std::set<int32_t> killed;
  for (const auto& k : to_worker<KillExecutor>(out)) killed.insert(k.message.executor);
  CHECK(killed == std::set<int32_t>{1, 2});
  // What is left of the addresses goes to the application's second executor.
  REQUIRE(to_worker<LaunchExecutor>(out).size() == 1);
  CHECK(to_worker<LaunchExecutor>(out)[0].message.resources == ResourceAddresses{{"gpu", {"0"}}});
  r.from(1, DriverStateChanged{{"driver-1"}, DriverState::Finished, ""});
  CHECK(free_of(r, "a") == ResourceAddresses{{"gpu", {"2"}}});
}

TEST_CASE("M32 the master's JSON shows resources in Spark's form", "[master]") {
  Run r;
  r.from(1, equipped("a", {{"gpu", {"0", "1", "2"}}}));
  r.from(200, RequestSubmitDriver{{}, driver_with({{"gpu", 1}})});
  r.add_app(100, app_with({{"gpu", 1}}, 1, 1));
  const std::string json = without_blanks(master_json(r.status(), {}, ""));
  CHECK_THAT(json, Contains(R"("resources":{"gpu":{"name":"gpu","addresses":["0","1","2"]}},)"
                            R"("resourcesused":{"gpu":{"name":"gpu","addresses":["0","1"]}},)"
                            R"("resourcesfree":{"gpu":{"name":"gpu","addresses":["2"]}})"));
  CHECK_THAT(json, Contains(R"("resources":[{"gpu":{"name":"gpu","addresses":["0","1","2"]}}],)"
                            R"("resourcesused":[{"gpu":{"name":"gpu","addresses":["0","1"]}}])"));
  CHECK_THAT(json, Contains(R"("resourcesperexecutor":[{"name":"gpu","amount":1}],)"
                            R"("resourcesperslave":[{"name":"gpu","amount":1}])"));
  CHECK_THAT(json, Contains(R"("resources":[{"name":"gpu","amount":1}],"submitdate")"));
  const std::string page = master_page(r.status(), {});
  CHECK_THAT(page, Contains("gpu: Free: [2] / Used: [0, 1]"));
  CHECK_THAT(page, Contains("2 / 3 gpu"));
}

// ---- resource profiles -------------------------------------------------------------------------

TEST_CASE("M13 executors of several profiles, as the application asks on the wire", "[master]") {
  const std::vector<ProfileRequest> asked = {profile(1, 1, 1024, 15), profile(2, 1, 8192),
                                             profile(3, 1, 2048, 5), profile(4, 2, 2048, 10)};
  for (const std::optional<int32_t> max : {std::optional<int32_t>(), std::optional<int32_t>(30)}) {
    Run r;
    for (PeerId p = 1; p <= 4; ++p)
      r.from(p, worker_of(std::string(1, static_cast<char>('a' + p)), 10, 4096));
    ApplicationDescription d = app_of(max);
    d.initial_executor_limit = 0;
    const AppId app = r.add_app(100, d);
    auto out = r.from(100, RequestExecutors{1, app, 1, asked});
    std::map<int32_t, int> count;
    for (const auto& s : to_worker<LaunchExecutor>(out)) ++count[s.message.profile];
    CHECK(count == (max ? std::map<int32_t, int>{{0, 1}, {3, 1}, {4, 1}}
                        : std::map<int32_t, int>{{0, 1}, {3, 1}, {4, 2}}));
    for (const auto& s : to_worker<LaunchExecutor>(out))
      if (s.message.profile == 3) {
        CHECK(s.message.cores == 5);
        CHECK(s.message.memory_mib == 2048);
      }
    // Asked again it has what it wants already, and less wanted ends nothing.
    out =
        r.from(100, RequestExecutors{2, app, 0, {profile(3, 0, 2048, 5), profile(4, 0, 2048, 10)}});
    CHECK(to_worker<LaunchExecutor>(out).empty());
    CHECK(to_worker<KillExecutor>(out).empty());
  }
}

TEST_CASE("M22 what a profile leaves out is as in the application", "[master]") {
  Run r;
  for (PeerId p = 1; p <= 3; ++p)
    r.from(p, equipped(std::string(1, static_cast<char>('a' + p)), {{"fpga", {"f1", "f2"}}}));
  ApplicationDescription d = app_of({}, 4);
  d.initial_executor_limit = 0;
  const AppId app = r.add_app(100, d);
  ProfileRequest fpga{1, 1, {}, {}, {{"fpga", 2}}};
  ProfileRequest small{2, 1, 2, 2048, {}};
  auto out = r.from(100, RequestExecutors{1, app, 1, {fpga, small}});
  std::map<int32_t, LaunchExecutor> launched;
  for (const auto& s : to_worker<LaunchExecutor>(out)) launched[s.message.profile] = s.message;
  REQUIRE(launched.size() == 3);
  CHECK(launched.at(0).cores == 4);
  CHECK(launched.at(0).memory_mib == 1024);
  CHECK(launched.at(0).resources.empty());
  CHECK(launched.at(1).cores == 4);
  CHECK(launched.at(1).memory_mib == 1024);
  CHECK(launched.at(1).resources == ResourceAddresses{{"fpga", {"f1", "f2"}}});
  CHECK(launched.at(2).cores == 2);
  CHECK(launched.at(2).memory_mib == 2048);
}

TEST_CASE("a profile's lost executor is replaced by one of the same profile", "[master]") {
  Run r;
  r.from(1, worker_of("a"));
  ApplicationDescription d = app_of({}, 4);
  d.initial_executor_limit = 0;
  const AppId app = r.add_app(100, d);
  auto out = r.from(100, RequestExecutors{1, app, 0, {profile(2, 1, 512, 1)}});
  REQUIRE(to_worker<LaunchExecutor>(out).size() == 1);
  r.from(1, change(app, 0, ExecutorState::Running));
  out = r.from(1, change(app, 0, ExecutorState::Exited, 1));
  REQUIRE(to_worker<LaunchExecutor>(out).size() == 1);
  CHECK(to_worker<LaunchExecutor>(out)[0].message.profile == 2);
  CHECK(to_worker<LaunchExecutor>(out)[0].message.cores == 1);
}
