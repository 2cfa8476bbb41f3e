#include <catch2/catch.hpp>

#include "conf/conf.hpp"
#include "core/resources/resource_profile.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using Catch::Matchers::Contains;

namespace {

ResourceProfile profile(const ExecutorResourceRequests& e, const TaskResourceRequests& t) {
  return ResourceProfileBuilder().require(e).require(t).build();
}
ResourceProfile defaults(int32_t cores = 4) {
  return profile(ExecutorResourceRequests().cores(cores).memory("1g"),
                 TaskResourceRequests().cpus(1));
}
std::string refused(const ResourceProfile& p, const ResourceProfile& d = defaults()) {
  Result<std::vector<std::string>> warnings = check_profile(p, d);
  return warnings ? "" : warnings.error().message;
}

}  // namespace

TEST_CASE("a task takes whole addresses or a share of one", "[resources]") {
  struct Case {
    double amount;
    ResourceShare want;
  };
  for (const Case& c : std::vector<Case>{{1, {1, 1}},
                                         {3, {3, 1}},
                                         {0.5, {1, 2}},
                                         {0.4, {1, 2}},
                                         {0.33, {1, 3}},
                                         {0.25, {1, 4}},
                                         {0.2, {1, 5}}}) {
    INFO(c.amount);
    REQUIRE(share_of("gpu", c.amount));
    CHECK(*share_of("gpu", c.amount) == c.want);
  }
  for (const double bad : {0.0, -1.0, 0.51, 0.7, 1.5, 2.0001}) {
    INFO(bad);
    CHECK_FALSE(share_of("gpu", bad));
  }
  CHECK(share_of("gpu", 0.7).error().message ==
        "The resource amount 0.7 of gpu for a task must be either <= 0.5, or a whole number.");
}

TEST_CASE("profiles are built of requests, and bad requests are refused", "[resources]") {
  const ResourceProfile p =
      profile(ExecutorResourceRequests().cores(2).memory("2g").resource("gpu", 1, "/opt/gpus"),
              TaskResourceRequests().cpus(2).resource("gpu", 0.5));
  CHECK(p.executor.cores == 2);
  CHECK(p.executor.memory_mib == 2048);
  CHECK(p.executor.resources == std::map<std::string, ExecutorResource>{{"gpu", {1, "/opt/gpus"}}});
  CHECK(p.task.cpus == 2);
  CHECK(p.task.resources == std::map<std::string, double>{{"gpu", 0.5}});
  CHECK_FALSE(p.task_only());
  CHECK(ResourceProfileBuilder().require(TaskResourceRequests().cpus(2)).build().task_only());
  CHECK_THROWS_WITH(ExecutorResourceRequests().cores(0), Contains("cores"));
  CHECK_THROWS_WITH(ExecutorResourceRequests().memory("100k"), Contains("memory"));
  CHECK_THROWS_WITH(ExecutorResourceRequests().resource("gpu", 0), Contains("gpu"));
  CHECK_THROWS_WITH(ExecutorResourceRequests().resource("cores", 1), Contains("'cores'"));
  CHECK_THROWS_WITH(TaskResourceRequests().cpus(-1), Contains("cpus"));
  CHECK_THROWS_WITH(TaskResourceRequests().resource("gpu", 0.7), Contains("0.7"));
}

TEST_CASE("the default profile is what the settings say", "[resources]") {
  const ResourceProfile p =
      default_profile(conf::Conf::of({{"spark.executor.cores", "4"},
                                      {"spark.executor.memory", "3g"},
                                      {"spark.task.cpus", "2"},
                                      {"spark.executor.resource.gpu.amount", "2"},
                                      {"spark.task.resource.gpu.amount", "1"}}));
  CHECK(p == profile(ExecutorResourceRequests().cores(4).memory("3g").resource("gpu", 2),
                     TaskResourceRequests().cpus(2).resource("gpu", 1)));
  CHECK_FALSE(default_profile({}).executor.cores);
}

TEST_CASE("slots are what the scarcest resource allows", "[resources]") {
  const ResourceProfile d = defaults();
  struct Case {
    TaskResourceRequests task;
    std::optional<int32_t> cores;
    ResourceAmounts resources;
    int32_t want;
  };
  const std::vector<Case> cases = {
      {TaskResourceRequests(), 4, {}, 4},
      {TaskResourceRequests().cpus(3), 8, {}, 2},
      {TaskResourceRequests().resource("gpu", 1), 8, {{"gpu", 2}}, 2},
      {TaskResourceRequests().resource("gpu", 2), 8, {{"gpu", 5}}, 2},
      {TaskResourceRequests().resource("gpu", 0.33), 8, {{"gpu", 2}}, 6},
      {TaskResourceRequests().resource("gpu", 0.25), {}, {{"gpu", 2}}, 8},
      {TaskResourceRequests().resource("gpu", 1), 8, {}, 0},
  };
  for (const Case& c : cases) {
    const ResourceProfile p = ResourceProfileBuilder().require(c.task).build();
    CHECK(slots_of(needs_of(p, d), c.cores, c.resources) == c.want);
  }
}

TEST_CASE("executors that cannot run the tasks of their profile are refused", "[resources]") {
  CHECK(refused(profile(ExecutorResourceRequests().cores(2), TaskResourceRequests().cpus(4))) ==
        "The number of cores per executor (=2) has to be >= the number of cpus per task = 4.");
  CHECK(refused(profile(ExecutorResourceRequests().resource("gpu", 1),
                        TaskResourceRequests().resource("gpu", 2))) ==
        "The executor resource: gpu, amount: 1 needs to be >= the task resource request amount of "
        "2");
  CHECK(refused(profile(ExecutorResourceRequests().resource("fpga", 1),
                        TaskResourceRequests().resource("gpu", 2))) ==
        "No executor resource configs were specified for the following task configs: gpu");
  // Tasks alone are measured by the default profile's executors.
  const ResourceProfile of_gpus = profile(ExecutorResourceRequests().cores(4).resource("gpu", 4),
                                          TaskResourceRequests().cpus(1).resource("gpu", 1));
  const ResourceProfile two = profile({}, TaskResourceRequests().cpus(2).resource("gpu", 2));
  CHECK(refused(two, of_gpus).empty());
  CHECK_THAT(refused(two), Contains("No executor resource configs"));
}

TEST_CASE("what stays unused is warned of", "[resources]") {
  struct Case {
    ResourceProfile profile;
    std::vector<std::string> want;
  };
  const std::vector<Case> cases = {
      {profile(ExecutorResourceRequests().cores(2).resource("gpu", 2),
               TaskResourceRequests().resource("gpu", 1)),
       {}},
      {profile(ExecutorResourceRequests().cores(8).resource("gpu", 2),
               TaskResourceRequests().resource("gpu", 1)),
       {"The configuration of cores (exec = 8 task = 1, runnable tasks = 8) will result in wasted "
        "resources due to resource gpu limiting the number of runnable tasks per executor to: 2. "
        "Please adjust your configuration."}},
      {profile(ExecutorResourceRequests().cores(2).resource("gpu", 4),
               TaskResourceRequests().resource("gpu", 0.5)),
       {"The configuration of resource: gpu (exec = 4 task = 0.5, runnable tasks = 8) will result "
        "in wasted resources due to resource cpus limiting the number of runnable tasks per "
        "executor to: 2. Please adjust your configuration."}},
      {profile(ExecutorResourceRequests().cores(2).resource("gpu", 1), TaskResourceRequests()),
       {"The executor resource config for resource: gpu was specified but no corresponding task "
        "resource request was specified."}},
  };
  for (const Case& c : cases) {
    Result<std::vector<std::string>> warnings = check_profile(c.profile, defaults());
    REQUIRE(warnings);
    CHECK(*warnings == c.want);
  }
}

TEST_CASE("D78 merged profiles have the most of each", "[resources]") {
  const ResourceProfile a =
      profile(ExecutorResourceRequests().cores(4).memory("1g").resource("gpu", 2),
              TaskResourceRequests().cpus(1).resource("gpu", 0.5));
  const ResourceProfile b =
      profile(ExecutorResourceRequests().cores(2).resource("gpu", 3).resource("fpga", 1),
              TaskResourceRequests().cpus(2).resource("gpu", 0.25));
  const ResourceProfile want = profile(
      ExecutorResourceRequests().cores(4).memory("1g").resource("gpu", 3).resource("fpga", 1),
      TaskResourceRequests().cpus(2).resource("gpu", 0.5));
  CHECK(merged(a, b) == want);
  CHECK(merged(b, a) == want);
}
