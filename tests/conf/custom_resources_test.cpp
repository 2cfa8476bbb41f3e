#include <catch2/catch.hpp>

#include "conf/values/custom_resources.hpp"

using namespace tinderbox::conf;
using Catch::Matchers::Contains;

TEST_CASE("custom resources are read by owner and name, those of amount 0 left out") {
  const Conf conf = Conf::of({{"spark.executor.resource.gpu.amount", "2"},
                              {"spark.executor.resource.gpu.discoveryScript", "/opt/gpus"},
                              {"spark.executor.resource.gpu.vendor", "acme"},
                              {"spark.executor.resource.fpga.amount", "0"},
                              {"spark.worker.resource.fpga.amount", "3"},
                              {"spark.task.resource.gpu.amount", "0.25"},
                              {"spark.task.resource.fpga.amount", "0"}});
  using Settings = std::map<std::string, ResourceSetting>;
  CHECK(resource_settings(conf, ResourceOwner::kExecutor) == Settings{{"gpu", {2, "/opt/gpus"}}});
  CHECK(resource_settings(conf, ResourceOwner::kWorker) == Settings{{"fpga", {3, ""}}});
  CHECK(resource_settings(conf, ResourceOwner::kDriver).empty());
  CHECK(task_resource_settings(conf) == std::map<std::string, double>{{"gpu", 0.25}});
  CHECK(component_of(ResourceOwner::kWorker) == "spark.worker");
  CHECK(component_of(ResourceOwner::kExecutor) == "spark.executor");
  CHECK(component_of(ResourceOwner::kDriver) == "spark.driver");
}

TEST_CASE("settings of custom resources that say nothing usable are refused in one line") {
  struct Case {
    const char* key;
    const char* value;
    const char* want;
  };
  const std::vector<Case> cases = {
      {"spark.executor.resource.gpu", "2", "spark.executor.resource.gpu.amount=2"},
      {"spark.executor.resource.gpu.discoveryScript", "/x", "must specify an amount for gpu"},
      {"spark.executor.resource.gpu.amount", "-1",
       "spark.executor.resource.gpu.amount is negative"},
      {"spark.executor.resource.gpu.amount", "many",
       "spark.executor.resource.gpu.amount should be int, but was many"},
  };
  for (const Case& c : cases) {
    INFO(c.key);
    CHECK_THROWS_WITH(resource_settings(Conf::of({{c.key, c.value}}), ResourceOwner::kExecutor),
                      Contains(c.want));
  }
  CHECK_THROWS_WITH(task_resource_settings(Conf::of({{"spark.task.resource.gpu.amount", "x"}})),
                    Contains("spark.task.resource.gpu.amount should be double"));
}
