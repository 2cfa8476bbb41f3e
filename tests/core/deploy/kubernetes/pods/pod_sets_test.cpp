// Executors in pods that a StatefulSet or a Deployment makes.
#include "tests/core/deploy/kubernetes/golden.hpp"
#include "tests/core/deploy/kubernetes/pods/pod_bench.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

PodManagerOptions set_options(const std::string& kind, conf::Pairs more = {}) {
  more.emplace_back("spark.kubernetes.allocation.pods.allocator", kind);
  return pod_options(more);
}

const std::string kSet = "/apis/apps/v1/namespaces/jobs/statefulsets";
const std::string kDeployment = "/apis/apps/v1/namespaces/jobs/deployments";

/// As the set's controller makes it.
PodView unnamed(const PodBench& b, const std::string& name, const std::string& phase) {
  PodView p = b.pod(1, phase);
  p.name = name;
  p.labels["spark-exec-id"] = "EXECID";
  return p;
}
PodView named(const PodBench& b, const std::string& name, int64_t id, int32_t restarts = 0) {
  PodView p = b.pod(id, "Running");
  p.name = name;
  p.restart_policy = "Always";
  ContainerView c;
  c.name = "spark-kubernetes-executor";
  c.state = ContainerView::State::Running;
  c.restarts = restarts;
  c.last_exit = restarts ? 139 : 0;
  p.containers = {c};
  return p;
}
Json last_patch(const PodBench& b) { return Json::parse(b.patches.back().body); }

}  // namespace

TEST_CASE("K30 a set of each profile is made once, then scaled", "[pods]") {
  PodBench b(set_options("statefulset"));
  b.begin({{0, 3}});
  CHECK(b.names("StatefulSet") == std::vector<std::string>{"spark-s-spark-1-0"});
  CHECK(b.count_seen("POST " + kPods) == 0);
  b.feed(WantPods{{{0, 5}, {2, 1}}, {{2, 4, 1024, {}}}, {}});
  b.run();
  CHECK(b.patches.back().path == kSet + "/spark-s-spark-1-0/scale");
  CHECK(last_patch(b) == Json::parse(R"({"spec": {"replicas": 5}})"));
  REQUIRE(b.created.size() == 1);
  CHECK(b.created[0]["metadata"]["name"] == "spark-s-spark-1-2");
  CHECK(b.created[0]["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] ==
        "4");
  b.feed(WantPods{{{0, 5}, {2, 1}}, {}, {}});
  b.run();
  CHECK(b.patches.size() == 1);
}

TEST_CASE("what is wanted while the set is being made is asked for afterwards", "[pods]") {
  PodBench b(set_options("deployment"));
  b.feed(StartPods{});
  b.feed(WantPods{{{0, 1}}, {}, {}});
  while (b.created.empty() || b.created.back()["kind"] != "Deployment") {
    const CallApi next = b.calls.front();
    b.calls.erase(b.calls.begin());
    const ApiAnswered answer = b.answer(next);
    if (b.created.size() && b.created.back()["kind"] == "Deployment")
      b.feed(WantPods{{{0, 4}}, {}, {}});  // before the answer comes
    b.feed(answer);
  }
  b.run();
  REQUIRE(b.patches.size() == 1);
  CHECK(b.patches[0].path == kDeployment + "/spark-d-spark-1-0/scale");
  CHECK(last_patch(b) == Json::parse(R"({"spec": {"replicas": 4}})"));
}

TEST_CASE(
    "a set is scaled again when the scaling before was answered: requests may overtake each "
    "other",
    "[pods]") {
  PodBench b(set_options("statefulset"));
  b.begin({{0, 3}});
  b.feed(WantPods{{{0, 5}}, {}, {}});
  b.feed(WantPods{{{0, 2}}, {}, {}});
  b.feed(WantPods{{{0, 1}}, {}, {}});
  REQUIRE(b.calls.size() == 1);
  CHECK(Json::parse(b.calls[0].request.body) == Json::parse(R"({"spec": {"replicas": 5}})"));
  b.run();
  CHECK(b.patches.size() == 2);
  CHECK(last_patch(b) == Json::parse(R"({"spec": {"replicas": 1}})"));
}

TEST_CASE("a scaling that is refused is told, and not asked for again until other ones are wanted",
          "[pods]") {
  PodBench b(set_options("statefulset"));
  b.begin({{0, 3}});
  b.refuse = [](const ApiRequest& r) {
    return r.method == "PATCH" ? std::optional(kubernetes::test::status(403, "no")) : std::nullopt;
  };
  b.feed(WantPods{{{0, 5}}, {}, {}});
  b.run();
  CHECK_THAT(b.held.back(), Contains("cannot scale the set of executors: no (status 403)"));
  CHECK(b.count_seen("PATCH " + kSet + "/spark-s-spark-1-0/scale") == 1);
}

TEST_CASE("K23 a pod gets its executor's number as a label; its end is told by that number",
          "[pods]") {
  PodBench b(set_options("statefulset"));
  b.begin({{0, 1}});
  b.show(unnamed(b, "s-0", "Running"));
  b.feed(NamePod{{"1"}, "s-0"});
  b.run();
  CHECK(b.patches.back().path == kPods + "/s-0");
  CHECK(last_patch(b) == Json::parse(R"({"metadata": {"labels": {"spark-exec-id": "1"}}})"));
  b.show(named(b, "s-0", 1));
  CHECK(b.gone.empty());
  b.show(named(b, "s-0", 1), true);
  REQUIRE(b.gone.size() == 1);
  CHECK(b.gone[0].executor.value == "1");
  CHECK_FALSE(b.gone[0].exit_code);
}

TEST_CASE("a container that was begun again is another executor: the first one's end is told",
          "[pods]") {
  PodBench b(set_options("statefulset"));
  b.begin({{0, 1}});
  b.feed(NamePod{{"1"}, "s-0"});
  b.run();
  b.show(named(b, "s-0", 1));
  SECTION("shown by the API server: its exit code, and the pod goes") {
    b.show(named(b, "s-0", 1, 1));
    REQUIRE(b.gone.size() == 1);
    CHECK(b.gone[0].exit_code == 139);
    CHECK(b.count_seen("DELETE " + kPods + "/s-0") == 1);
  }
  SECTION("heard of by the next executor of the pod") {
    b.feed(NamePod{{"2"}, "s-0"});
    b.run();
    REQUIRE(b.gone.size() == 1);
    CHECK(b.gone[0].executor.value == "1");
    CHECK_THAT(b.gone[0].message, Contains("begun again in pod s-0"));
    b.show(named(b, "s-0", 2, 1));
    CHECK(b.gone.size() == 1);  // the second is well
  }
}

TEST_CASE("a set whose pods cannot start ends the application with the reason", "[pods]") {
  PodBench b(set_options("statefulset"));
  b.begin({{0, 1}});
  PodView p = stuck(unnamed(b, "s-0", "Pending"), "ErrImagePull");
  b.show(p);
  CHECK_THAT(b.held.back(), Contains("a pod of the executors' set cannot start: ErrImagePull"));
  b.pass(121s);
  REQUIRE(b.gave_up);
  CHECK(b.gave_up->exit_code == 11);
  CHECK_THAT(b.gave_up->reason, Contains("ErrImagePull"));
}

TEST_CASE("a set that may not be made ends the application", "[pods]") {
  PodBench b(set_options("statefulset"));
  b.refuse = [](const ApiRequest& r) {
    return r.path == kSet ? std::optional(kubernetes::test::status(403, "no")) : std::nullopt;
  };
  b.begin({{0, 1}});
  REQUIRE(b.gave_up);
  CHECK_THAT(b.gave_up->reason, Contains("cannot create the set of executors: no (status 403)"));
}

TEST_CASE("a pod of a deployment whose executor was told to end is cheap", "[pods]") {
  PodBench b(set_options("deployment", {{"spark.kubernetes.executor.podDeletionCost", "-5"}}));
  b.begin({{0, 1}});
  b.show(named(b, "d-x", 1));
  b.feed(EndPod{{"1"}});
  b.run();
  CHECK(last_patch(b) == Json::parse(R"({"metadata": {"annotations":
      {"controller.kubernetes.io/pod-deletion-cost": "-5"}}})"));
}

TEST_CASE("the sets go when the application ends", "[pods]") {
  PodBench b(set_options("statefulset"));
  b.begin({{0, 1}});
  b.feed(StopPods{});
  b.run();
  CHECK(b.count_seen("DELETE " + kSet) == 1);
  CHECK(b.stopped);
}

TEST_CASE("what no executor can be made of is told before there is a loop to throw in", "[pods]") {
  const std::string claim = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data.";
  const conf::Pairs on_demand = {{claim + "mount.path", "/data"},
                                 {claim + "options.claimName", "OnDemand"}};
  CHECK_THROWS_WITH(check_executors(set_options("deployment", on_demand)),
                    Contains("its pods cannot have OnDemand claims"));
  CHECK_NOTHROW(check_executors(set_options("statefulset", on_demand)));
  CHECK_THROWS_WITH(check_executors(pod_options({{claim + "mount.path", "/data"}})),
                    Contains("options.claimName is missing"));
  PodManagerOptions large = pod_options();
  large.conf_files = {{"table.csv", std::string(1100000, 'x')}};
  CHECK_THROWS_WITH(check_executors(large), Contains("the largest of it is table.csv"));
  PodManagerOptions without = pod_options({{"spark.kubernetes.executor.disableConfigMap", "true"}});
  without.conf_files = large.conf_files;
  CHECK_NOTHROW(check_executors(without));
  const std::string text(1100000, 'x');
  CHECK_THROWS_WITH(check_executors(pod_options({{"spark.executorEnv.TABLE", text}})),
                    Contains("Pod count-1-exec-1 would take 11") &&
                        Contains("that the API server takes; give what is large with --files"));
}

TEST_CASE("K30 the objects of sets", "[pods]") {
  PodManagerOptions o = set_options(
      "statefulset",
      {{"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.mount.path", "/data"},
       {"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.claimName",
        "OnDemand"},
       {"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.sizeLimit", "1Gi"},
       {"spark.kubernetes.executor.annotation.run", "{{APP_ID}}"}});
  o.executors.driver_uid = "uid-d";
  check_golden("executor-statefulset",
               {executor_set(PodAllocator::StatefulSet, o.executors, {}, 3)});
  CHECK_THROWS_WITH(executor_set(PodAllocator::Deployment, o.executors, {}, 3),
                    Contains("its pods cannot have OnDemand claims"));
  PodManagerOptions plain = set_options("deployment");
  check_golden("executor-deployment",
               {executor_set(PodAllocator::Deployment, plain.executors, {}, 2)});
}
