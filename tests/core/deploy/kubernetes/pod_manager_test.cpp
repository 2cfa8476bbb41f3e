// Executors as pods, over virtual time: the beginning, the watch, ends and their reasons, refusals,
// claims, the end.
#include "core/deploy/kubernetes/pods/pod_manager.hpp"

#include "tests/core/deploy/kubernetes/pod_bench.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("settings that cannot be had are refused", "[pods]") {
  CHECK_THROWS_WITH(pod_options({{"spark.kubernetes.allocation.pods.allocator", "magic"}}),
                    Contains("must be direct, statefulset or deployment"));
}

TEST_CASE("K21 the beginning: its own pod, the config map, one list, one watch, then executors",
          "[pods]") {
  PodBench b;
  b.begin({{0, 3}});
  CHECK(b.seen == std::vector<std::string>{
                      "GET " + kPods + "/count-driver", "POST /api/v1/namespaces/jobs/configmaps",
                      "GET " + kPods, "POST " + kPods, "POST " + kPods, "POST " + kPods});
  CHECK(b.begun);
  REQUIRE(b.watches.size() == 1);
  CHECK_THAT(b.watches[0].path,
             Contains("?labelSelector=spark-app-selector%3Dspark-1%2Cspark-role%3Dexecutor&"
                      "allowWatchBookmarks=true&watch=true&resourceVersion=10"));
  CHECK(b.created.at(0)["metadata"]["ownerReferences"][0]["uid"] == "uid-d");
  CHECK(b.created.at(1)["metadata"]["ownerReferences"][0]["uid"] == "uid-d");
  CHECK(b.names("Pod") ==
        std::vector<std::string>{"count-1-exec-1", "count-1-exec-2", "count-1-exec-3"});
}

TEST_CASE("no LIST in a steady state, however long it lasts", "[pods]") {
  PodBench b;
  b.begin({{0, 2}});
  b.show(b.pod(1, "Running"));
  b.show(b.pod(2, "Running"));
  for (int minute = 0; minute < 60; ++minute) {
    b.pass(1min);
    b.feed(WatchBookmark{b.watches.back().ticket, "1" + std::to_string(minute)});
  }
  CHECK(b.count_seen("GET " + kPods) == 1);
  CHECK(b.watches.size() == 1);
}

TEST_CASE("K15 a driver pod that is not there ends the application with Spark's words", "[pods]") {
  PodBench b;
  b.refuse = [](const ApiRequest& r) {
    return r.method == "GET" ? std::optional(status(404, "not found")) : std::nullopt;
  };
  b.begin({{0, 1}});
  REQUIRE(b.gave_up);
  CHECK(b.gave_up->reason ==
        "No pod was found named count-driver in the cluster in the namespace "
        "jobs (this was supposed to be the driver pod.).");
  CHECK_FALSE(b.begun);
}

TEST_CASE("what may not be done ends it with the server's words", "[pods]") {
  for (const char* part : {"configmaps", "labelSelector", "count-driver"}) {
    INFO(part);
    PodBench b;
    b.refuse = [&](const ApiRequest& r) {
      return r.path.find(part) != std::string::npos
                 ? std::optional(status(403, "User \"x\" cannot do that"))
                 : std::nullopt;
    };
    b.begin({{0, 1}});
    REQUIRE(b.gave_up);
    CHECK_THAT(b.gave_up->reason, Contains("User \"x\" cannot do that (status 403)"));
  }
}

TEST_CASE("a driver outside of pods asks for no pod of its own, and owns nothing", "[pods]") {
  PodManagerOptions o = pod_options();
  o.executors.driver_pod.clear();
  PodBench b(o);
  b.begin({{0, 1}});
  CHECK(b.begun);
  for (const Json& object : b.created) CHECK_FALSE(object["metadata"].contains("ownerReferences"));
  b.feed(StopPods{});
  b.run();
  CHECK(b.count_seen("DELETE /api/v1/namespaces/jobs/services") == 0);
}

TEST_CASE("without addresses of pods the driver's own pod must be ready, for a while", "[pods]") {
  PodBench b(pod_options({{"spark.kubernetes.executor.useDriverPodIP", "false"}}));
  b.begin({{0, 1}});
  CHECK_FALSE(b.begun);
  b.pass(1200ms);
  CHECK(b.begun);
  CHECK(b.count_seen("GET " + kPods + "/count-driver") >= 5);
}

TEST_CASE("K17 an executor that failed: exit code and reasons first, then its pod is deleted",
          "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  b.show(b.pod(1, "Running"));
  PodView p = failed(b.pod(1, "Failed"), 137, "OOMKilled");
  p.reason = "Evicted";
  p.message = "low on memory";
  b.show(p);
  REQUIRE(b.gone.size() == 1);
  CHECK(b.gone[0].executor == ExecutorId{"1"});
  CHECK(b.gone[0].exit_code == 137);
  CHECK_THAT(
      b.gone[0].message,
      Contains("The executor with id 1 exited with exit code 137(SIGKILL, possible container "
               "OOM).") &&
          Contains("The API gave the following brief reason: Evicted") &&
          Contains("The API gave the following message: low on memory") &&
          Contains("termination reason: OOMKilled"));
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 1);
  b.show(p);
  CHECK(b.gone.size() == 1);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 2);
  p.deletion_time = "now";
  b.show(p);
  b.show(p, true);
  CHECK(b.gone.size() == 1);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 2);
}

TEST_CASE("K17 a pod that somebody deleted is no fault of the application", "[pods]") {
  const std::string words =
      "The executor with id 1 was deleted by a user or the framework. EvictionByEvictionAPI: "
      "drained";
  for (const bool decommission : {false, true}) {
    PodManagerOptions o = pod_options();
    o.executors.decommission = decommission;
    PodBench b(o);
    b.begin({{0, 1}});
    b.show(b.pod(1, "Running"));
    PodView p = b.pod(1, "Running");
    p.deletion_time = "now";
    p.disruption = "EvictionByEvictionAPI: drained";
    b.show(p);
    // Only with decommissioning it has something to do until it ends.
    CHECK(b.leaving ==
          (decommission ? std::vector<PodLeaving>{{{"1"}, words}} : std::vector<PodLeaving>{}));
    b.show(p, true);
    CHECK(b.gone == std::vector<PodGone>{{{"1"}, std::nullopt, words}});
    b.pass(2s);
    CHECK(b.names("Pod").back() == "count-1-exec-2");
  }
}

TEST_CASE("K17 whatever a pod ends with while it is being deleted, it was deleted", "[pods]") {
  for (const char* phase : {"Failed", "Succeeded", "Running"}) {
    INFO(phase);
    PodBench b;
    b.begin({{0, 1}});
    b.show(b.pod(1, "Running"));
    PodView p = b.pod(1, phase);
    p.containers = {ended_with(143, "Error")};
    p.deletion_time = "now";
    b.show(p);
    REQUIRE(b.gone.size() == 1);
    CHECK_FALSE(b.gone[0].exit_code);
    CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 0);
  }
}

TEST_CASE("K19 pods that are kept are marked as done with", "[pods]") {
  PodBench b(pod_options({{"spark.kubernetes.executor.deleteOnTermination", "false"}}));
  b.begin({{0, 1}});
  b.show(failed(b.pod(1, "Failed"), 1, "Error"));
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 0);
  CHECK(b.count_seen("PATCH " + kPods + "/count-1-exec-1") == 1);
  PodView inactive = failed(b.pod(1, "Failed"), 1, "Error");
  inactive.labels["spark-exec-inactive"] = "true";
  b.show(inactive);
  CHECK(b.gone.size() == 1);
  b.feed(StopPods{});
  b.run();
  CHECK(b.count_seen("DELETE " + kPods) == 0);
}

TEST_CASE("K18 a registered executor that a full list lacks is lost after the delta", "[pods]") {
  for (const bool late : {false, true}) {
    PodBench b;
    b.begin({{0, 1}});
    b.feed(ExecutorRegistered{{"1"}});  // at 7 ms
    b.now = Time{Duration(late ? 30'008'000 : 30'007'000)};
    b.feed(WatchEnded{b.watches.back().ticket, 410, "too old"});
    const Time listed = b.now;
    b.now = listed;
    // Listed at this very moment, before any pause.
    for (auto& [at, timer] : std::exchange(b.timers, {}))
      if (timer.kind == PodTimer::Kind::Watch) b.feed(timer);
    b.run();
    CHECK(b.gone.size() == (late ? 1 : 0));
    if (late)
      CHECK_THAT(
          b.gone[0].message,
          Contains("The executor with ID 1 (registered at 7 ms) was not found in the cluster "
                   "at the polling time (30008 ms) which is after the accepted detect delta "
                   "time (30000 ms)"));
  }
}

TEST_CASE("a watch that ends goes on where it was; 410 lists again; each after a pause of its own",
          "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  b.show(b.pod(1, "Running"));
  b.feed(WatchEnded{b.watches.back().ticket, 0, ""});
  b.pass(1s);
  REQUIRE(b.watches.size() == 2);
  CHECK_THAT(b.watches.back().path, Contains("&resourceVersion=11"));
  CHECK(b.count_seen("GET " + kPods) == 1);
  b.feed(WatchEnded{b.watches.back().ticket, 410, "too old resource version"});
  b.pass(1s);
  CHECK(b.count_seen("GET " + kPods) == 2);
  REQUIRE(b.watches.size() == 3);
  CHECK_THAT(b.watches.back().path, Contains("&resourceVersion=10"));
  // The pod was not in that list.
  CHECK(b.gone.size() == 1);
}

TEST_CASE("a server that stays away is asked ever more seldom, and found again", "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  b.show(b.pod(1, "Running"));
  std::vector<Duration> pauses;
  for (int i = 0; i < 12; ++i) {
    b.feed(WatchEnded{b.watches.back().ticket, 0, "no connection"});
    for (const auto& [at, timer] : b.timers)
      if (timer.kind == PodTimer::Kind::Watch) pauses.push_back(at - b.now);
    const size_t before = b.watches.size();
    while (b.watches.size() == before) b.pass(100ms);
  }
  CHECK(pauses.front() <= 200ms);
  CHECK(pauses.back() > 15s);
  CHECK(pauses.back() <= 30s);
  CHECK(b.gone.empty());
  b.show(b.pod(1, "Running"));
  b.feed(WatchEnded{b.watches.back().ticket, 0, ""});
  for (const auto& [at, timer] : b.timers)
    if (timer.kind == PodTimer::Kind::Watch) CHECK(at - b.now <= 200ms);
}

TEST_CASE("with the watch switched off pods are listed at intervals", "[pods]") {
  PodBench b(pod_options({{"spark.kubernetes.executor.enableApiWatcher", "false"},
                          {"spark.kubernetes.executor.enablePollingWithResourceVersion", "true"}}));
  b.begin({{0, 1}});
  CHECK(b.watches.empty());
  b.items.push_back(
      {{"metadata",
        {{"name", "count-1-exec-1"},
         {"uid", "u"},
         {"labels", {{"spark-exec-id", "1"}, {"spark-exec-resourceprofile-id", "0"}}}}},
       {"status", {{"phase", "Running"}}}});
  b.pass(30s);
  CHECK(b.count_seen("GET " + kPods) == 2);
  b.items = Json::array();
  b.pass(30s);
  CHECK(b.gone.size() == 1);
}

TEST_CASE("the pod of a decommissioned executor is labelled, if a key says how", "[pods]") {
  const conf::Pairs keys = {{"spark.kubernetes.executor.decommissionLabel", "state"},
                            {"spark.kubernetes.executor.decommissionLabelValue", "leaving"}};
  for (const bool labelled : {true, false}) {
    PodBench b(pod_options(labelled ? keys : conf::Pairs{}));
    b.begin({{0, 1}});
    b.show(b.pod(1, "Running"));
    b.feed(MarkPod{{"1"}});
    b.feed(MarkPod{{"9"}});  // not here
    b.run();
    REQUIRE(b.patches.size() == (labelled ? 1 : 0));
    if (labelled)
      CHECK(Json::parse(b.patches[0].body) ==
            Json::parse(R"({"metadata": {"labels": {"state": "leaving"}}})"));
  }
}

TEST_CASE("with the watch switched off a list that fails is asked for again", "[pods]") {
  PodBench b(pod_options({{"spark.kubernetes.executor.enableApiWatcher", "false"}}));
  b.begin({{0, 1}});
  b.refuse = [](const ApiRequest& r) -> std::optional<std::pair<int, Bytes>> {
    if (r.method == "GET") return status(403, "not now");
    return std::nullopt;
  };
  b.pass(31s);
  const size_t before = b.count_seen("GET " + kPods);
  b.pass(60s);
  CHECK(b.count_seen("GET " + kPods) > before);
  CHECK(b.watches.empty());
}

TEST_CASE("files of the driver's configuration folder are in the executors' config map", "[pods]") {
  PodManagerOptions o = pod_options();
  o.conf_files = {{"fair.xml", "<a/>"}};
  PodBench b(std::move(o));
  b.begin({{0, 1}});
  CHECK(b.created.front()["kind"] == "ConfigMap");
  CHECK(b.created.front()["data"]["fair.xml"] == "<a/>");
}

TEST_CASE("batches begin a second apart, without one when nothing is missing", "[pods]") {
  PodBench b(pod_options({{"spark.kubernetes.allocation.batch.size", "2"}}));
  b.begin({{0, 5}});
  CHECK(b.names("Pod").size() == 2);
  b.show(b.pod(1, "Pending"));
  b.show(b.pod(2, "Pending"));
  CHECK(b.names("Pod").empty());
  b.pass(1s);
  CHECK(b.names("Pod").size() == 2);
  b.pass(5s);
  CHECK(b.names("Pod").empty());  // 3 and 4 were not shown
}

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

TEST_CASE("K22 an executor that was told to end has a while before its pod is deleted", "[pods]") {
  PodBench b;
  b.begin({{0, 2}});
  b.show(b.pod(1, "Running"));
  b.show(b.pod(2, "Running"));
  b.feed(EndPod{{"1"}});
  b.feed(EndPod{{"2"}});
  b.pass(4s);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 0);
  PodView done = b.pod(2, "Succeeded");
  done.containers = {ended_with(0, "Completed")};
  b.show(done);
  CHECK(b.gone.empty());  // the driver knows
  b.pass(2s);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 1);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-2") == 1);
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

TEST_CASE("executors prefer the nodes where tasks that wait have their data", "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  b.show(b.pod(1, "Running"));
  b.created.clear();
  b.feed(WantPods{{{0, 2}}, {}, {{"10.88.0.1", 4}, {"node2", 1}}});
  b.pass(2s);
  REQUIRE(b.created.size() == 1);
  const Json terms = b.created[0]["spec"]["affinity"]["nodeAffinity"]
                              ["preferredDuringSchedulingIgnoredDuringExecution"];
  REQUIRE(terms.size() == 2);
  CHECK(terms[0]["preference"]["matchExpressions"][0]["values"][0] == "node1");
  CHECK(terms[0]["weight"] == 100);
  CHECK(terms[1]["preference"]["matchExpressions"][0]["values"][0] == "node2");
  CHECK(terms[1]["weight"] == 25);
}

TEST_CASE("K16 K21 the end: all that belongs to the application is asked to go, by its labels",
          "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  b.feed(StopPods{});
  CHECK_FALSE(b.stopped);
  std::vector<std::string> paths;
  for (const CallApi& call : b.calls) {
    CHECK(call.request.method == "DELETE");
    paths.push_back(call.request.path);
  }
  const std::string app = "?labelSelector=spark-app-selector%3Dspark-1",
                    executors = app + "%2Cspark-role%3Dexecutor";
  CHECK(paths == std::vector<std::string>{"/api/v1/namespaces/jobs/services" + app,
                                          "/api/v1/namespaces/jobs/persistentvolumeclaims" + app,
                                          kPods + executors,
                                          "/api/v1/namespaces/jobs/configmaps" + executors});
  b.run();
  CHECK(b.stopped);
}

TEST_CASE("a driver whose executors nobody else collects is over when their pods are gone",
          "[pods]") {
  for (const bool own : {false, true}) {
    INFO(own);
    PodBench b(pod_options({{"spark.kubernetes.submitInDriver", own ? "true" : "false"}}));
    b.begin({{0, 2}});
    b.show(b.pod(1, "Running"));
    b.show(b.pod(2, "Running"));
    b.feed(StopPods{});
    CHECK_FALSE(b.stopped);
    b.run();
    CHECK(b.stopped == own);
    b.show(b.pod(1, "Succeeded"));
    b.show(b.pod(1, "Succeeded"), true);
    CHECK(b.stopped == own);
    b.show(b.pod(2, "Running"), true);
    CHECK(b.stopped);
    CHECK(b.watch_stopped);
    CHECK(b.gone.empty());
    CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 0);
  }
}

TEST_CASE("pods that go before the deletion is answered are not waited for again", "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  b.show(b.pod(1, "Running"));
  b.feed(StopPods{});
  b.feed(PodChanged{b.watches.back().ticket, true, b.pod(1, "Running")});
  CHECK_FALSE(b.stopped);
  b.run();
  CHECK(b.stopped);
}

TEST_CASE("pods are not waited for where nothing would tell that they are gone", "[pods]") {
  const auto stop_with_one_pod = [](PodBench& b) {
    b.begin({{0, 1}});
    b.show(b.pod(1, "Running"));
    b.feed(StopPods{});
    b.run();
  };
  SECTION("they are kept") {
    PodBench b(pod_options({{"spark.kubernetes.executor.deleteOnTermination", "false"}}));
    stop_with_one_pod(b);
    CHECK(b.stopped);
  }
  SECTION("nothing is watched") {
    PodBench b(pod_options({{"spark.kubernetes.executor.enableApiWatcher", "false"}}));
    const Json labels = {{"spark-exec-id", "1"}};
    b.items = {{{"metadata", {{"name", "count-1-exec-1"}, {"labels", labels}}},
                {"status", {{"phase", "Running"}}}}};
    b.begin({{0, 1}});
    b.feed(StopPods{});
    b.run();
    CHECK(b.stopped);
  }
  SECTION("the watch ends") {
    PodBench b;
    stop_with_one_pod(b);
    CHECK_FALSE(b.stopped);
    b.feed(WatchEnded{b.watches.back().ticket, 0, "cut"});
    CHECK(b.stopped);
  }
  SECTION("the watch had ended") {
    PodBench b;
    b.begin({{0, 1}});
    b.show(b.pod(1, "Running"));
    b.feed(WatchEnded{b.watches.back().ticket, 0, "cut"});
    b.feed(StopPods{});
    b.run();
    CHECK(b.stopped);
  }
  SECTION("the node is lost") {
    PodBench b;
    stop_with_one_pod(b);
    CHECK_FALSE(b.stopped);
    b.pass(6s);
    CHECK(b.stopped);
  }
}

TEST_CASE("an end without a server is over after a while all the same", "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  b.feed(StopPods{});
  b.calls.clear();
  b.pass(6s);
  CHECK(b.stopped);
}
