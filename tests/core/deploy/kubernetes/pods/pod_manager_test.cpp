// Executors as pods, over virtual time: the beginning, the list and the watch, what is asked for
// and when.
#include "core/deploy/kubernetes/pods/pod_manager.hpp"

#include "tests/core/deploy/kubernetes/pods/pod_bench.hpp"

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

TEST_CASE("a watch that is refused ends it, at once unless it was allowed before", "[pods]") {
  PodBench never, before;
  never.begin({{0, 1}});
  never.feed(WatchEnded{never.watches.back().ticket, 403, "no"});
  REQUIRE(never.gave_up);
  CHECK(never.gave_up->reason == "Cannot watch the executors' pods: no");
  before.begin({{0, 1}});
  before.show(before.pod(1, "Running"));
  const Time refused = before.now;
  for (int i = 0; i < 20 && !before.gave_up; ++i) {
    const size_t watches = before.watches.size();
    before.feed(WatchEnded{before.watches.back().ticket, 403, "no"});
    while (!before.gave_up && before.watches.size() == watches) before.pass(100ms);
  }
  REQUIRE(before.gave_up);
  CHECK(before.now - refused > 20s);
  CHECK(before.now - refused < 60s);
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

TEST_CASE(
    "a list that is older than what was seen says nothing of pods: it is asked for anew, not from "
    "a cache",
    "[pods]") {
  const std::string cached = GENERATE("9", "11", "x9");
  const bool stale = cached == "9";
  CAPTURE(cached);
  PodBench b(pod_options({{"spark.kubernetes.executor.enableApiWatcher", "false"},
                          {"spark.kubernetes.executor.enableApiPolling", "true"},
                          {"spark.kubernetes.executor.enablePollingWithResourceVersion", "true"}}));
  std::vector<std::string> lists;
  const Json pod = {
      {"metadata",
       {{"name", "count-1-exec-1"}, {"uid", "u"}, {"labels", {{"spark-exec-id", "1"}}}}},
      {"status", {{"phase", "Running"}}}};
  b.begin({{0, 1}});
  b.items = Json::array({pod});
  b.pass(31s);
  b.refuse = [&](const ApiRequest& r) -> std::optional<std::pair<int, Bytes>> {
    if (r.method != "GET" || !r.path.starts_with(kPods + "?")) return std::nullopt;
    lists.push_back(r.path);
    if (!r.path.ends_with("&resourceVersion=0")) return std::nullopt;
    const Json list = {{"metadata", {{"resourceVersion", cached}}}, {"items", Json::array()}};
    return std::pair{200, Bytes(list.dump())};
  };
  b.pass(30s);
  CHECK(b.gone.empty() == stale);
  CHECK(lists.size() == (stale ? 2 : 1));
  b.pass(30s);
  CHECK(b.gone.empty() == stale);  // and it goes on
}
