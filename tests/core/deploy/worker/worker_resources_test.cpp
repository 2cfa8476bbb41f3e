// Custom resources on a worker: told to the master, handed to executors and drivers in a file.
#include <catch2/catch.hpp>

#include "core/deploy/pages.hpp"
#include "core/deploy/worker/worker.hpp"
#include "tests/core/deploy/deploy_fixtures.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using Catch::Matchers::Contains;

namespace {

const ResourceAddresses kGpus = {{"gpu", {"0", "1", "2"}}};

struct ResourceRun {
  Worker worker;
  ResourceRun() : worker(options(), 1) {
    feed(StartWorker{});
    first = feed(Connected{1, 1});
    from(RegisteredWorker{"spark://m:7077", "http://m:8080", false});
  }
  static WorkerOptions options() {
    WorkerOptions o = worker_options({});
    o.host = "w";
    o.port = 4000;
    o.cores = 8;
    o.memory_mib = 8192;
    o.resources = kGpus;
    o.masters = {"spark://m:7077"};
    o.work_dir = "/work";
    o.cleanup = false;
    return o;
  }
  Worker::Effects first;
  Worker::Effects feed(Worker::Event e) {
    Worker::Effects out;
    worker.on(e, Time{}, out);
    return out;
  }
  Worker::Effects from(ToWorker m) { return feed(Received<ToWorker>{1, std::move(m)}); }
};

}  // namespace

TEST_CASE("M36 a worker tells the master its addresses", "[worker]") {
  ResourceRun r;
  CHECK(to_master<RegisterWorker>(r.first).at(0).message.resources == kGpus);
}

TEST_CASE("an executor finds its addresses in a file of its directory", "[worker]") {
  ResourceRun r;
  ApplicationDescription d = app_of();
  d.command.arguments = {"executor"};
  const LaunchExecutor launch{"spark://m:7077", {"app-1"}, 0, 0, d, 2, 1024, {{"gpu", {"1", "2"}}}};
  const Spawn s = all<Spawn>(r.from(launch)).at(0);
  CHECK(s.arguments == std::vector<std::string>{"executor", "--resourcesFile",
                                                "/work/app-1/0/resource-spark.executor.json"});
  CHECK(s.files == std::map<std::string, std::string>{
                       {"resource-spark.executor.json",
                        R"([{"id":{"componentName":"spark.executor","resourceName":"gpu"},)"
                        R"("addresses":["1","2"]}])"}});
  CHECK(r.worker.status().resources_used == ResourceAddresses{{"gpu", {"1", "2"}}});
  // A master that recovers hears of them.
  const auto state = to_master<WorkerLatestState>(
      r.from(RegisteredWorker{"spark://m:7077", "http://m:8080", true}));
  REQUIRE(state.size() == 1);
  CHECK(state[0].message.executors.at(0).resources == launch.resources);
  r.feed(ProcessStarted{s.ticket, 7, ""});
  r.feed(ProcessExited{s.ticket, 0, false, false});
  CHECK(r.worker.status().resources_used == ResourceAddresses{{"gpu", {}}});
}

TEST_CASE("a driver finds its addresses in the file that a setting names", "[worker]") {
  ResourceRun r;
  DriverDescription d;
  d.command.main_class = "wordcount";
  const Spawn s = all<Spawn>(r.from(LaunchDriver{{"driver-1"}, d, {{"gpu", {"0"}}}})).at(0);
  CHECK(s.properties.at("spark.driver.resourcesFile") ==
        "/work/driver-1/resource-spark.driver.json");
  CHECK(s.files.at("resource-spark.driver.json") ==
        R"([{"id":{"componentName":"spark.driver","resourceName":"gpu"},"addresses":["0"]}])");
  const auto state = to_master<WorkerLatestState>(
      r.from(RegisteredWorker{"spark://m:7077", "http://m:8080", true}));
  CHECK(state.at(0).message.driver_resources ==
        std::vector<DriverResources>{{{"driver-1"}, {{"gpu", {"0"}}}}});
}

TEST_CASE("M32 M36 a worker's page and JSON show its addresses", "[worker]") {
  ResourceRun r;
  ApplicationDescription d = app_of();
  d.resources_per_executor = {{"gpu", 1}};
  r.from(LaunchExecutor{"spark://m:7077", {"app-1"}, 0, 0, d, 2, 1024, {{"gpu", {"1"}}}});
  std::string json;
  for (const char c : worker_json(r.worker.status()))
    if (c != ' ' && c != '\n') json += c;
  CHECK_THAT(json, Contains(R"("resources":{"gpu":{"name":"gpu","addresses":["0","1","2"]}},)"
                            R"("resourcesused":{"gpu":{"name":"gpu","addresses":["1"]}})"));
  CHECK_THAT(json, Contains(R"("resources":{"gpu":{"name":"gpu","addresses":["1"]}},"appid")"));
  CHECK_THAT(json, Contains(R"("resourcesperexecutor":[{"name":"gpu","amount":1}])"));
  CHECK_THAT(worker_page(r.worker.status()), Contains("gpu: [0, 1, 2] (gpu: [1] Used)"));
}
