// How pods of executors end, over virtual time: the reasons, who counts as failed, and the end of
// all of them.
#include "core/deploy/kubernetes/pods/pod_manager.hpp"

#include "tests/core/deploy/kubernetes/pods/pod_bench.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("K17 an executor that failed: exit code and reasons first, then its pod is deleted",
          "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  b.show(b.pod(1, "Running"));
  PodView p = failed(b.pod(1, "Failed"), 137, "OOMKilled");
  p.reason = "Killed";
  p.message = "low on memory";
  b.show(p);
  REQUIRE(b.gone.size() == 1);
  CHECK(b.gone[0].executor == ExecutorId{"1"});
  CHECK(b.gone[0].exit_code == 137);
  CHECK_THAT(
      b.gone[0].message,
      Contains("The executor with id 1 exited with exit code 137(SIGKILL, possible container "
               "OOM).") &&
          Contains("The API gave the following brief reason: Killed") &&
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

TEST_CASE("a pod deleted before it is shown to run: its executor's word counts", "[pods]") {
  for (const bool registered : {false, true}) {
    INFO(registered);
    PodManagerOptions o = pod_options();
    o.executors.decommission = true;
    PodBench b(o);
    b.begin({{0, 1}});
    b.show(b.pod(1, "Pending"));
    if (registered) b.feed(ExecutorRegistered{{"1"}});
    for (const char* phase : {"Pending", "Running"}) {
      PodView p = b.pod(1, phase);
      p.deletion_time = "now";
      b.show(p);
      CHECK(b.leaving.size() == (registered ? 1 : 0));
      CHECK(b.gone.size() == (registered ? 0 : 1));
    }
    b.show(b.pod(1, "Running"), true);
    CHECK(b.gone.size() == 1);
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

TEST_CASE(
    "K31 a pod that its node gave up is no failure of the application, unless it broke its own "
    "limits",
    "[pods]") {
  struct Case {
    std::string reason, message, disruption;
    bool own_fault;
  };
  for (const Case& c : std::vector<Case>{
           {"Evicted", "The node was low on resource: memory.", "", false},
           {"Evicted", "", "TerminationByKubelet: low", false},
           {"Preempting", "Preempted in order to admit critical pod", "", false},
           {"NodeShutdown", "", "", false},
           {"Terminated", "Pod was terminated in response to imminent node shutdown.", "", false},
           {"", "", "DeletionByTaintManager: gone", false},
           {"Evicted", "Usage of EmptyDir volume \"x\" exceeds the limit \"1Gi\". ", "", true},
           {"Evicted", "Container c exceeded its local ephemeral storage limit \"1Gi\". ", "",
            true},
           {"UnexpectedAdmissionError", "", "", true},
           {"", "", "", true}}) {
    CAPTURE(c.reason, c.message);
    PodBench b(pod_options({{"spark.executor.maxNumFailures", "0"}}));
    b.begin({{0, 1}});
    b.show(b.pod(1, "Running"));
    PodView p = failed(b.pod(1, "Failed"), 137, "Error");
    p.reason = c.reason;
    p.message = c.message;
    p.disruption = c.disruption;
    b.show(p);
    REQUIRE(b.gone.size() == 1);
    CHECK(b.gone[0].exit_code == (c.own_fault ? std::optional(137) : std::nullopt));
    CHECK_THAT(b.gone[0].message, Contains(c.reason) && Contains(c.disruption));
    CHECK_THAT(b.gone[0].message,
               Contains(c.own_fault ? "exit code 137" : "no failure of its own"));
    CHECK(b.gave_up.has_value() == c.own_fault);
    CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 1);
  }
}

TEST_CASE(
    "an executor with a side car ends when its own container does, whatever a template calls it",
    "[pods]") {
  const std::string kTemplate = R"({"spec": {"containers": [
      {"name": "proxy", "image": "proxy:1"}, {"name": "own", "image": "own:1"}]}})";
  const bool set = GENERATE(false, true);
  PodManagerOptions o =
      pod_options({{"spark.kubernetes.executor.podTemplateContainerName", "own"},
                   {"spark.kubernetes.allocation.pods.allocator", set ? "statefulset" : "direct"}});
  o.executors.pod_template = {"t.yaml", kTemplate};
  PodBench b(std::move(o));
  b.begin({{0, 1}});
  PodView p = b.pod(1, "Running");
  ContainerView proxy, own;
  proxy.name = "proxy";
  own.name = "own";
  proxy.state = own.state = ContainerView::State::Running;
  p.containers = {proxy, own};
  b.show(p);
  p.containers = {ended_with(0, "Completed"), own};
  p.containers[0].name = "proxy";
  b.show(p);
  CHECK(b.gone.empty());
  p.containers = {proxy, ended_with(0, "Completed")};
  p.containers[1].name = "own";
  b.show(p);
  REQUIRE(b.gone.size() == 1);
  CHECK(b.gone[0].exit_code == 0);
}
