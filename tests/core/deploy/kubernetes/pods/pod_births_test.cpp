// Pods while they are made: answers that get lost, refusals after them, claims that come and go.
#include "tests/core/deploy/kubernetes/pods/pod_bench.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

const std::string kClaims = "/api/v1/namespaces/jobs/persistentvolumeclaims";

conf::Pairs with_claims(conf::Pairs more = {}) {
  const std::string volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data.";
  more.emplace_back(volume + "mount.path", "/data");
  more.emplace_back(volume + "options.claimName", "OnDemand");
  return more;
}

bool makes_pod(const ApiRequest& r) { return r.method == "POST" && r.path == kPods; }

/// The first answers to the creation of pods, in turn; the others are the server's usual ones.
void answer_pods_with(PodBench& b, std::vector<std::pair<int, Bytes>> answers) {
  b.refuse = [answers, next = size_t{0}](
                 const ApiRequest& r) mutable -> std::optional<std::pair<int, Bytes>> {
    if (!makes_pod(r) || next == answers.size()) return std::nullopt;
    return answers[next++];
  };
}

const std::pair<int, Bytes> kLost = {0, ""};
std::pair<int, Bytes> quota() { return status(403, "pods \"x\" is forbidden: exceeded quota: s"); }

/// What the first pod that was asked for mounts.
std::string first_volumes(const PodBench& b) {
  for (const Json& object : b.created)
    if (object["kind"] == "Pod") return object["spec"]["volumes"].dump();
  return {};
}

}  // namespace

TEST_CASE("a pod that was shown is not asked for again, though the answer was lost", "[pods]") {
  PodBench b;
  answer_pods_with(b, {kLost});
  b.begin({{0, 1}});
  b.show(b.pod(1, "Pending"));
  b.show(b.pod(1, "Pending"), true);
  b.pass(150ms);
  CHECK(b.count_seen("POST " + kPods) == 1);
  b.pass(10s);
  CHECK(b.names("Pod") == std::vector<std::string>{"count-1-exec-2"});
}

TEST_CASE("a pod whose executor has registered is not asked for again", "[pods]") {
  PodBench b;
  answer_pods_with(b, {kLost});
  b.begin({{0, 1}});
  b.feed(ExecutorRegistered{{"1"}});
  b.pass(10s);
  CHECK(b.count_seen("POST " + kPods) == 1);
}

TEST_CASE("a pod that may be there goes when its creation is refused after all", "[pods]") {
  PodBench b;
  answer_pods_with(b, {kLost, quota()});
  b.begin({{0, 1}});
  b.pass(1s);
  // Of that name there may be another application's: it is chosen by its labels.
  CHECK(b.count_seen("DELETE " + kPods + " of 1") == 1);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 0);
  PodBench sure;
  answer_pods_with(sure, {quota()});
  sure.begin({{0, 1}});
  sure.pass(1s);
  CHECK(sure.count_seen("DELETE " + kPods + "/count-1-exec-1") == 0);
  CHECK(sure.count_seen("DELETE " + kPods + " of 1") == 0);
}

TEST_CASE("claims of a pod whose creation was refused are free when it is not there", "[pods]") {
  PodBench b(pod_options(with_claims()));
  bool there = true;
  answer_pods_with(b, {kLost, quota()});
  b.refuse = [&, pods = b.refuse](const ApiRequest& r) {
    const std::pair<int, Bytes> none = {200, R"({"kind":"PodList","items":[]})"};
    return r.method == "DELETE" && !there ? std::optional(none) : pods(r);
  };
  SECTION("it is there, and has them until it is gone") {
    b.begin({{0, 1}});
    b.pass(10s);
    CHECK_THAT(first_volumes(b), Contains("count-1-exec-2-pvc-0"));
    b.created.clear();
    b.show(b.pod(1, "Pending"), true);
    b.show(b.pod(2, "Running"));
    b.feed(WantPods{{{0, 2}}, {}, {}});
    b.pass(2s);
    CHECK_THAT(first_volumes(b), Contains("count-1-exec-1-pvc-0"));
  }
  SECTION("it is not") {
    there = false;
    b.begin({{0, 1}});
    b.pass(10s);
    CHECK(b.count_seen("POST " + kClaims) == 1);
    CHECK_THAT(first_volumes(b), Contains("count-1-exec-1-pvc-0"));
  }
}

TEST_CASE("a claim that may not be there is given to nobody", "[pods]") {
  const std::string volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.more.";
  PodBench b(pod_options(
      with_claims({{volume + "mount.path", "/more"}, {volume + "options.claimName", "OnDemand"}})));
  // One is refused while another, which is refused as well, is still asked for.
  b.refuse = [](const ApiRequest& r) -> std::optional<std::pair<int, Bytes>> {
    if (r.body.find("exec-1-pvc-0") != Bytes::npos && r.path == kClaims) return quota();
    if (r.body.find("exec-1-pvc-1") != Bytes::npos && r.path == kClaims) return kLost;
    return std::nullopt;
  };
  b.begin({{0, 1}});
  b.pass(3s);
  CHECK_THAT(first_volumes(b),
             Contains("count-1-exec-2-pvc-0") && Contains("count-1-exec-2-pvc-1"));
}

TEST_CASE("claims of a pod that is there already belong to it", "[pods]") {
  PodBench b(
      pod_options(with_claims({{"spark.kubernetes.driver.ownPersistentVolumeClaim", "false"}})));
  answer_pods_with(b, {kLost, status(409, "already exists")});
  b.begin({{0, 1}});
  b.pass(1s);
  CHECK(b.count_seen("POST " + kPods) == 2);
  CHECK(b.count_seen("POST " + kClaims) == 1);
  CHECK(b.created.back()["metadata"]["ownerReferences"][0]["uid"] == "uid-found");
  b.show(b.pod(1, "Pending"));
  CHECK(b.count_seen("POST " + kClaims) == 1);
}

TEST_CASE("another application's pod of the same name is left alone, and told of", "[pods]") {
  PodBench b;
  answer_pods_with(b, {status(409, "already exists")});
  b.owner = "spark-2";
  b.begin({{0, 1}});
  REQUIRE(b.gave_up);
  CHECK(b.gave_up->reason ==
        "Kubernetes: cannot create the pod of executor 1: a pod named count-1-exec-1 is in "
        "namespace jobs already and is not of this application: choose another "
        "spark.kubernetes.executor.podNamePrefix");
  b.pass(700s);
  b.feed(StopPods{});
  b.run();
  for (const std::string& call : b.seen) CHECK(call != "DELETE " + kPods + "/count-1-exec-1");
}

TEST_CASE("a pod that was in the way and went is made under another number", "[pods]") {
  PodBench b;
  answer_pods_with(b, {status(409, "already exists")});
  b.refuse = [pods = b.refuse](const ApiRequest& r) {
    return r.method == "GET" && r.path == kPods + "/count-1-exec-1"
               ? std::optional(status(404, "not found"))
               : pods(r);
  };
  b.begin({{0, 1}});
  b.pass(60s);
  CHECK_FALSE(b.gave_up);
  CHECK(b.names("Pod") == std::vector<std::string>{"count-1-exec-2"});
}

TEST_CASE("another application's claim of the same name is not mounted", "[pods]") {
  PodBench b(pod_options(with_claims()));
  b.refuse = [](const ApiRequest& r) {
    return r.path == kClaims ? std::optional(status(409, "already exists")) : std::nullopt;
  };
  b.begin({{0, 1}});
  REQUIRE(b.gave_up);
  CHECK_THAT(b.gave_up->reason, Contains("already exists (status 409)"));
  CHECK(b.count_seen("POST " + kPods) == 0);
}

TEST_CASE("a pod that was never shown is deleted by its uid", "[pods]") {
  PodBench b(pod_options({{"spark.kubernetes.allocation.executor.timeout", "10s"}}));
  std::vector<Bytes> bodies;
  b.refuse = [&](const ApiRequest& r) -> std::optional<std::pair<int, Bytes>> {
    if (r.method == "DELETE") bodies.push_back(r.body);
    return std::nullopt;
  };
  b.begin({{0, 1}});
  b.pass(12s);
  REQUIRE(bodies.size() == 1);
  CHECK(Json::parse(bodies[0])["preconditions"]["uid"] == "uid-x");
}

TEST_CASE("a config map that is made while the application ends goes too", "[pods]") {
  PodBench b;
  b.feed(StartPods{});
  while (b.calls.front().request.method == "GET") {
    const CallApi next = b.calls.front();
    b.calls.erase(b.calls.begin());
    b.feed(b.answer(next));
  }
  const CallApi making = b.calls.front();
  b.calls.clear();
  b.feed(StopPods{});
  b.run();
  CHECK_FALSE(b.stopped);
  const size_t before = b.count_seen("DELETE /api/v1/namespaces/jobs/configmaps");
  b.feed(b.answer(making));
  b.run();
  CHECK(b.count_seen("DELETE /api/v1/namespaces/jobs/configmaps") == before + 1);
  CHECK(b.stopped);
}

TEST_CASE("claims of a pod that was never shown are free when it is given up", "[pods]") {
  PodBench b(pod_options(
      with_claims({{"spark.executor.instances", "1"},
                   {"spark.kubernetes.allocation.executor.timeout", "10s"},
                   {"spark.kubernetes.driver.waitToReusePersistentVolumeClaim", "true"}})));
  b.refuse = [](const ApiRequest& r) {
    return r.method == "DELETE" ? std::optional(status(404, "not found")) : std::nullopt;
  };
  b.begin({{0, 1}});
  b.created.clear();
  b.pass(15s);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 1);
  CHECK(b.count_seen("POST " + kClaims) == 1);
  CHECK_THAT(first_volumes(b), Contains("count-1-exec-1-pvc-0"));
}

TEST_CASE("claims of a pod that has ended are free though it is kept", "[pods]") {
  PodBench b(
      pod_options(with_claims({{"spark.kubernetes.executor.deleteOnTermination", "false"}})));
  b.begin({{0, 1}});
  b.created.clear();
  b.show(b.pod(1, "Running"));
  b.show(failed(b.pod(1, "Failed"), 1, "Error"));
  b.pass(2s);
  CHECK_THAT(first_volumes(b), Contains("count-1-exec-1-pvc-0"));
}

TEST_CASE("a pod that is made while the application ends goes too", "[pods]") {
  PodBench b;
  b.begin({{0, 0}});
  b.feed(WantPods{{{0, 1}}, {}, {}});
  REQUIRE(b.calls.size() == 1);
  const CallApi making = b.calls.front();
  b.calls.clear();
  b.feed(StopPods{});
  b.run();
  CHECK_FALSE(b.stopped);
  b.feed(b.answer(making));
  b.run();
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 1);
  CHECK(b.stopped);
}

TEST_CASE("a pod that waits and is not wanted goes in time, whether anything happens or not",
          "[pods]") {
  PodBench b;
  b.begin({{0, 2}});
  b.show(b.pod(1, "Running"));
  b.show(b.pod(2, "Pending"));
  b.pass(5s);
  b.feed(WantPods{{{0, 1}}, {}, {}});
  b.pass(50s);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-2") == 0);
  b.pass(10s);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-2") == 1);
}

TEST_CASE("a pod that is not wanted any more is not made once its claims are there", "[pods]") {
  PodBench b(pod_options(with_claims()));
  b.feed(WantPods{{{0, 1}}, {}, {}});
  b.feed(StartPods{});
  CallApi claim;
  while (claim.ticket == 0) {
    const CallApi next = b.calls.front();
    b.calls.erase(b.calls.begin());
    if (next.request.path == kClaims)
      claim = next;
    else
      b.feed(b.answer(next));
  }
  b.feed(WantPods{{{0, 0}}, {}, {}});
  b.pass(65s);
  CHECK(b.count_seen("DELETE " + kPods + " of 1") == 1);
  b.feed(b.answer(claim));
  b.run();
  CHECK(b.count_seen("POST " + kPods) == 0);
}

TEST_CASE("a pod that comes after it was deleted is deleted again", "[pods]") {
  PodBench b(pod_options({{"spark.kubernetes.allocation.executor.timeout", "90s"}}));
  b.begin({{0, 1}});
  const bool given_up = GENERATE(true, false);
  if (!given_up) b.feed(WantPods{{{0, 0}}, {}, {}});
  b.pass(given_up ? 95s : 65s);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 1);
  b.show(b.pod(1, "Pending"));
  b.show(b.pod(1, "Pending"));
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 2);
}

TEST_CASE("a pod whose executor has ended for the driver goes as soon as it is shown", "[pods]") {
  PodBench b;
  b.begin({{0, 1}});
  SECTION("it was made again, as the answer to the first time was lost") {
    b.show(b.pod(1, "Pending"));
    b.show(b.pod(1, "Pending"), true);
    REQUIRE(b.gone.size() == 1);
    b.show(b.pod(1, "Pending"));
  }
  SECTION("the driver ended it before") {
    b.feed(ExecutorRegistered{{"1"}});
    b.feed(EndPod{{"1"}});
    b.show(b.pod(1, "Running"));
  }
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 1);
}

TEST_CASE("where pods are kept for what they did, those that did nothing go at the end", "[pods]") {
  PodBench b(pod_options({{"spark.kubernetes.executor.deleteOnTermination", "false"}}));
  b.begin({{0, 3}});
  b.show(b.pod(1, "Running"));
  b.show(b.pod(2, "Pending"));
  b.show(b.pod(3, "Pending"));
  b.feed(ExecutorRegistered{{"3"}});  // it runs, which is shown late
  b.feed(ExecutorLeft{{"3"}});
  b.pass(2s);
  b.feed(WantPods{{{0, 5}}, {}, {}});
  REQUIRE(b.calls.size() == 2);
  const CallApi making = b.calls.back();
  b.calls.pop_back();
  b.run();  // 4 is there, and was not shown
  b.feed(StopPods{});
  b.run();
  b.feed(b.answer(making));
  b.run();
  CHECK(b.stopped);
  CHECK(b.count_seen("DELETE " + kPods) == 0);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-1") == 0);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-2") == 1);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-3") == 0);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-4") == 1);
  CHECK(b.count_seen("DELETE " + kPods + "/count-1-exec-5") >= 1);
}
