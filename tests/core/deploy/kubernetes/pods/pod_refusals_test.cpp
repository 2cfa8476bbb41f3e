// Pods and claims that cannot be had, over virtual time: refused, lost, too many failures, nothing
// to run them.
#include "core/deploy/kubernetes/pods/pod_manager.hpp"

#include "tests/core/deploy/kubernetes/pods/pod_bench.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("K13 too many failures end the driver with exit code 11 and the last reason", "[pods]") {
  PodBench b(pod_options({{"spark.executor.maxNumFailures", "2"}}));
  b.begin({{0, 1}});
  for (int64_t id = 1; id <= 3; ++id) {
    b.show(failed(b.pod(id, "Failed"), 1, "Error"));
    b.pass(5s);
  }
  REQUIRE(b.gave_up);
  CHECK(b.gave_up->exit_code == 11);
  CHECK(b.gave_up->reason ==
        "Max number of executor failures (2) reached; the last one: The executor with id 3 exited "
        "with exit code 1(generic, look at logs to clarify).");
}

TEST_CASE("a failure counts once, however often it is shown", "[pods]") {
  PodBench b(pod_options({{"spark.executor.maxNumFailures", "1"}}));
  b.begin({{0, 1}});
  for (int i = 0; i < 3; ++i) b.show(failed(b.pod(1, "Failed"), 1, "Error"));
  CHECK_FALSE(b.gave_up);
}

TEST_CASE("a server that is too busy for a deletion is asked again later", "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  bool busy = true;
  b.refuse = [&](const ApiRequest& r) {
    return busy && r.method == "DELETE" ? std::optional(status(429, "too many requests"))
                                        : std::nullopt;
  };
  const std::string deletion = "DELETE " + kPods + "/count-1-exec-1";
  b.show(failed(b.pod(1, "Failed"), 1, "Error"));
  CHECK(b.count_seen(deletion) == 1);
  busy = false;
  b.pass(10s);
  CHECK(b.count_seen(deletion) == 2);
}

TEST_CASE("a quota is waited for, ever longer, and told", "[pods]") {
  PodBench b(pod_options({{"spark.executor.maxNumFailures", "0"}}));
  bool full = true;
  b.refuse = [&](const ApiRequest& r) {
    return full && r.method == "POST" && r.path.ends_with("/pods")
               ? std::optional(status(403, "pods \"x\" is forbidden: exceeded quota: small"))
               : std::nullopt;
  };
  b.begin({{0, 1}});
  b.pass(60s);
  CHECK_FALSE(b.gave_up);
  REQUIRE_FALSE(b.held.empty());
  CHECK_THAT(b.held.back(), Contains("cannot create the pod of executor") &&
                                Contains("exceeded quota: small (status 403)"));
  const size_t tries = b.count_seen("POST " + kPods);
  CHECK(tries >= 5);
  CHECK(tries <= 12);
  full = false;
  b.pass(60s);
  CHECK(b.names("Pod").size() == 1);
}

TEST_CASE("a token that is worth nothing yet or any more is no end: what was asked is asked again",
          "[pods]") {
  PodBench b;
  b.begin({{0, 2}});
  b.show(b.pod(1, "Running"));
  b.show(b.pod(2, "Running"));
  b.names("Pod");
  bool worthless = true;
  b.refuse = [&](const ApiRequest&) {
    return worthless ? std::optional(status(401, "Unauthorized")) : std::nullopt;
  };
  b.pass(5s);
  b.show(failed(b.pod(1, "Failed"), 1, "Error"));
  b.show(b.pod(2, "Running"), true);
  b.pass(70s);
  CHECK_FALSE(b.gave_up);
  REQUIRE_FALSE(b.held.empty());
  CHECK_THAT(b.held.back(), Contains("Unauthorized (status 401)"));
  worthless = false;
  b.pass(60s);
  CHECK(b.names("Pod").size() == 2);
  const size_t deletes = b.count_seen("DELETE " + kPods + "/count-1-exec-1");
  CHECK(deletes > 1);
}

TEST_CASE("an invalid pod, or one that may not be made, ends the application at once", "[pods]") {
  for (const int code : {422, 403}) {
    PodBench b;
    b.refuse = [&](const ApiRequest& r) {
      return r.method == "POST" && r.path.ends_with("/pods") ? std::optional(status(code, "no"))
                                                             : std::nullopt;
    };
    b.begin({{0, 1}});
    REQUIRE(b.gave_up);
    CHECK(b.gave_up->reason == "Kubernetes: cannot create the pod of executor 1: no (status " +
                                   std::to_string(code) + ")");
  }
}

TEST_CASE("what was allowed before is asked for again, while executors go on", "[pods]") {
  PodBench b;
  b.begin({{0, 2}});
  b.show(b.pod(1, "Running"));
  bool refused = true;
  b.refuse = [&](const ApiRequest& r) {
    return refused && r.method != "GET" ? std::optional(status(403, "not yet")) : std::nullopt;
  };
  b.show(failed(b.pod(2, "Failed"), 1, "Error"));
  b.pass(10s);
  CHECK_FALSE(b.gave_up);
  CHECK_THAT(b.held.back(), Contains("not yet (status 403)"));
  const size_t deletes = b.count_seen("DELETE " + kPods + "/count-1-exec-2");
  CHECK(deletes > 1);
  refused = false;
  b.pass(60s);
  CHECK(b.names("Pod").size() == 3);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-2") == deletes + 1);
}

TEST_CASE("an answer that gets lost is asked for again; a pod that is there already is ours",
          "[pods]") {
  PodBench b;
  int lost = 2;
  bool made = false;
  b.refuse = [&](const ApiRequest& r) -> std::optional<std::pair<int, Bytes>> {
    if (r.method != "POST" || !r.path.ends_with("/pods")) return std::nullopt;
    if (lost-- > 0) return std::pair{0, Bytes()};
    return made ? std::nullopt : std::optional(status(409, "already exists"));
  };
  b.begin({{0, 1}});
  b.pass(10s);
  CHECK(b.count_seen("POST " + kPods) == 3);
  CHECK_FALSE(b.gave_up);
  b.show(b.pod(1, "Running"));
  CHECK(b.count_seen("POST " + kPods) == 3);
}

TEST_CASE("an image that is not there: told at once, given up after a while when nothing ever ran",
          "[pods]") {
  PodBench b;
  b.begin({{0, 2}});
  b.show(stuck(b.pod(1, "Pending"), "ErrImagePull"));
  REQUIRE(b.held.size() == 1);
  CHECK(b.held[0] == "the pod of executor 1 cannot start: ErrImagePull: not there");
  b.pass(119s);
  CHECK_FALSE(b.gave_up);
  b.pass(2s);
  REQUIRE(b.gave_up);
  CHECK(b.gave_up->reason ==
        "Kubernetes: the pod of executor 1 cannot start: ErrImagePull: not there");
}

TEST_CASE("while others run, a pod that cannot start only counts as a failure, and goes",
          "[pods]") {
  PodBench b;
  b.begin({{0, 2}});
  b.show(b.pod(1, "Running"));
  b.feed(ExecutorRegistered{{"1"}});
  b.show(stuck(b.pod(2, "Pending"), "ImagePullBackOff"));
  b.pass(121s);
  CHECK_FALSE(b.gave_up);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-2") == 1);
}

TEST_CASE("a pod without a node is told in the scheduler's words and waited for", "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  PodView p = b.pod(1, "Pending");
  p.unscheduled = "0/1 nodes are available: 1 Insufficient cpu.";
  b.show(p);
  CHECK(b.held == std::vector<std::string>{"the pod of executor 1 cannot start: Unschedulable: 0/1 "
                                           "nodes are available: 1 Insufficient cpu."});
  b.pass(50s);
  CHECK_FALSE(b.gave_up);
  b.feed(ExecutorRegistered{{"1"}});
  CHECK(b.held.back().empty());
}

TEST_CASE("K14 a claim that is free goes to the next executor; one of another size does not",
          "[pods]") {
  const std::string volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data.";
  PodBench b(pod_options({{volume + "mount.path", "/data"},
                          {volume + "options.claimName", "OnDemand"},
                          {volume + "options.sizeLimit", "1Gi"}}));
  b.begin({{0, 1}});
  CHECK(b.count_seen("POST /api/v1/namespaces/jobs/persistentvolumeclaims") == 1);
  CHECK(b.created.at(1)["kind"] == "PersistentVolumeClaim");
  CHECK(b.created.at(1)["metadata"]["ownerReferences"][0]["uid"] == "uid-d");
  b.created.clear();
  b.show(b.pod(1, "Running"));
  b.show(b.pod(1, "Running"), true);
  b.pass(2s);
  CHECK(b.count_seen("POST /api/v1/namespaces/jobs/persistentvolumeclaims") == 1);
  REQUIRE(b.created.size() == 1);
  CHECK(b.created[0]["spec"]["volumes"].dump().find("\"claimName\":\"count-1-exec-1-pvc-0\"") !=
        std::string::npos);
}

TEST_CASE("K14 no more claims than executors: wait for one; a claim that is refused is told",
          "[pods]") {
  const std::string volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data.";
  conf::Pairs pairs = {{volume + "mount.path", "/data"},
                       {volume + "options.claimName", "OnDemand"},
                       {"spark.executor.instances", "1"},
                       {"spark.kubernetes.driver.waitToReusePersistentVolumeClaim", "true"}};
  PodBench b(pod_options(pairs));
  b.begin({{0, 2}});
  CHECK(b.names("Pod") == std::vector<std::string>{"count-1-exec-1"});
  CHECK_THAT(b.held.back(), Contains("all 1 claims are in use"));
  b.show(b.pod(1, "Running"));
  const size_t lines = b.log.size();
  b.pass(60s);
  CHECK(b.log.size() == lines);
  b.show(failed(b.pod(1, "Failed"), 1, "Error"), true);
  b.pass(1s);
  CHECK(b.names("Pod") == std::vector<std::string>{"count-1-exec-2"});
  PodBench refused(pod_options(pairs));
  refused.refuse = [](const ApiRequest& r) {
    return r.path.ends_with("persistentvolumeclaims") ? std::optional(status(422, "no class"))
                                                      : std::nullopt;
  };
  refused.begin({{0, 1}});
  CHECK(refused.names("Pod").empty());
  REQUIRE(refused.gave_up);
  CHECK_THAT(refused.gave_up->reason, Contains("no class (status 422)"));
}

TEST_CASE("claims that belong to their pod come after it", "[pods]") {
  const std::string volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data.";
  const bool driver_has_pod = GENERATE(true, false);
  PodManagerOptions options = pod_options(
      {{volume + "mount.path", "/data"},
       {volume + "options.claimName", "OnDemand"},
       {"spark.kubernetes.driver.ownPersistentVolumeClaim", driver_has_pod ? "false" : "true"}});
  if (!driver_has_pod) options.executors.driver_pod.clear();
  PodBench b(std::move(options));
  b.begin({{0, 1}});
  REQUIRE(b.created.size() == 3);
  CHECK(b.created[1]["kind"] == "Pod");
  CHECK(b.created[2]["metadata"]["ownerReferences"][0]["uid"] == "uid-x");
  CHECK(b.created[2]["metadata"]["ownerReferences"][0]["name"] == "count-1-exec-1");
  CHECK(b.created[2]["metadata"]["name"] == "count-1-exec-1-pvc-0");
}

TEST_CASE("a resource profile of which no executor can be made ends the application", "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  b.feed(WantPods{{{0, 1}, {3, 2}}, {{3, 2, 1024, {{"fpga", 1}}}}, {}});
  b.run();
  REQUIRE(b.gave_up);
  CHECK(b.gave_up->exit_code == 1);
  CHECK(b.gave_up->reason ==
        "no executor of resource profile 3 can be made: Resource: fpga was requested, but vendor "
        "was not specified (spark.executor.resource.fpga.vendor)");
}
