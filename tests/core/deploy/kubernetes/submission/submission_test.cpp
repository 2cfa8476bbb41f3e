// Submit's conversation with the API server: every answer, every cut connection, every end.
#include <random>

#include "tests/core/deploy/kubernetes/submission/submission_bench.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

const std::string kPod = "/api/v1/namespaces/jobs/pods/count-driver";

PodView waiting(PodView p, const std::string& reason) {
  ContainerView c;
  c.state = ContainerView::State::Waiting;
  c.reason = reason;
  c.message = "no such image";
  p.containers = {c};
  return p;
}

/// With an init container that a webhook appended.
PodView with_init(PodView p, ContainerView::State state) {
  ContainerView init, other;
  init.name = "tinderbox-init";
  init.state = state;
  other.name = "mesh";
  other.state = ContainerView::State::Waiting;
  other.reason = "PodInitializing";
  p.init_containers = {init, other};
  return p;
}

SubmissionOptions upload_options() {
  SubmissionOptions o = submission_options();
  o.uploads = {{"/home/app", "app"}, {"/home/data", "data"}};
  return o;
}

}  // namespace

TEST_CASE("K24 the pod first, then what it owns, the config map last; then it waits",
          "[submission]") {
  SubmissionBench b;
  b.feed(StartSubmission{});
  b.run();
  CHECK(b.server.seen == std::vector<std::string>{"POST /api/v1/namespaces/jobs/pods",
                                                  "POST /api/v1/namespaces/jobs/services",
                                                  "POST /api/v1/namespaces/jobs/configmaps"});
  for (const auto& [path, made] : b.server.objects) {
    if (path == kPod) continue;
    CHECK(made["metadata"]["ownerReferences"] == Json{{{"apiVersion", "v1"},
                                                       {"kind", "Pod"},
                                                       {"name", "count-driver"},
                                                       {"uid", "uid-0"},
                                                       {"controller", true}}});
  }
  CHECK(b.watches.size() == 1);
  CHECK_FALSE(b.exit);
}

TEST_CASE("what is there already by the name of a dependent is brought to its state",
          "[submission]") {
  SubmissionBench b;
  const std::string service = "/api/v1/namespaces/jobs/services/count-svc";
  b.server.objects[service] = {{"kind", "Service"}, {"metadata", {{"name", "count-svc"}}}};
  b.feed(StartSubmission{});
  b.run();
  CHECK(b.server.seen[2] == "PATCH " + service);
  CHECK(b.server.objects[service]["metadata"]["ownerReferences"][0]["uid"] == "uid-1");
  CHECK(b.server.objects.size() == 3);
  CHECK_FALSE(b.exit);
}

TEST_CASE("each phase is told, and its end; the exit code is 0 whatever the driver's was",
          "[submission]") {
  SubmissionBench b;
  b.feed(StartSubmission{});
  b.run();
  b.show(b.pod("Running"));
  b.pass(2500ms);
  CHECK(std::count(b.told.begin(), b.told.end(),
                   "Application status for spark-1 (phase: Running)") == 2);
  b.show(b.pod("Failed"));
  REQUIRE(b.exit);
  CHECK(*b.exit == Exit{0, ""});
  CHECK(b.was_told("Container final statuses:"));
  CHECK(
      b.was_told("Application count with application ID spark-1 and submission ID "
                 "jobs:count-driver finished"));
}

TEST_CASE("without waiting it says what was deployed", "[submission]") {
  SubmissionOptions o = submission_options();
  o.wait = false;
  SubmissionBench b(o);
  b.feed(StartSubmission{});
  b.run();
  REQUIRE(b.exit);
  CHECK(*b.exit == Exit{0, ""});
  CHECK(b.told == std::vector<std::string>{
                      "Deployed Spark application count with application ID spark-1 and submission "
                      "ID jobs:count-driver into Kubernetes"});
}

TEST_CASE("any answer that gets lost, before or after it had an effect, is asked for again",
          "[submission]") {
  for (const bool before : {true, false})
    for (size_t lost = 0; lost < 3; ++lost) {
      INFO((before ? "request " : "answer ") << lost);
      SubmissionBench b;
      (before ? b.server.lost_before : b.server.lost_after).insert(lost);
      b.feed(StartSubmission{});
      b.run();
      CHECK(b.server.objects.size() == 3);
      CHECK_FALSE(b.exit);
      CHECK(b.watches.size() == 1);
    }
}

TEST_CASE("a random half of the answers lost: all is there once, or nothing is", "[submission]") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    SubmissionBench b;
    for (size_t i = 0; i < 60; ++i)
      if (random() % 2) (random() % 2 ? b.server.lost_before : b.server.lost_after).insert(i);
    b.feed(StartSubmission{});
    b.run();
    const bool pod_unknown = b.exit && b.exit->reason.find("is not known") != std::string::npos;
    if (b.exit && !pod_unknown &&
        b.exit->reason.find("cannot create the driver") == std::string::npos) {
      // Removing was tried so often that it, too, may have been lost.
      CHECK((b.server.objects.empty() || b.server.objects.contains(kPod)));
    }
    if (!b.exit) CHECK(b.server.objects.size() == 3);
  }
}

TEST_CASE("whatever is refused after the pod, the pod goes and all with it", "[submission]") {
  for (const char* kind : {"services", "configmaps"}) {
    INFO(kind);
    SubmissionBench b;
    b.server.refuse = [&](const ApiRequest& r) {
      return r.path.find(kind) != std::string::npos ? 403 : 0;
    };
    b.feed(StartSubmission{});
    b.run();
    REQUIRE(b.exit);
    CHECK(b.exit->code == 1);
    CHECK_THAT(b.exit->reason, Contains("in namespace jobs: refused for a test (status 403)"));
    CHECK(b.server.objects.empty());
  }
}

TEST_CASE("a pod that is refused ends it with the server's words, nothing else is asked",
          "[submission]") {
  SubmissionBench b;
  b.server.refuse = [](const ApiRequest&) { return 403; };
  b.feed(StartSubmission{});
  b.run();
  REQUIRE(b.exit);
  CHECK_THAT(b.exit->reason,
             Contains("cannot create the driver pod count-driver in namespace jobs: "
                      "refused for a test (status 403)"));
  CHECK(b.server.seen.size() == 1);
}

TEST_CASE("a pod that is refused after an answer got lost may be there all the same",
          "[submission]") {
  for (const bool arrived : {true, false}) {
    SubmissionBench b;
    b.server.refuse = [](const ApiRequest& r) { return r.method == "POST" ? 422 : 0; };
    b.feed(StartSubmission{});
    ApiAnswered lost{b.calls.front().ticket, 0, "", "cut short"};
    lost.arrived = arrived;
    b.calls.clear();
    b.feed(lost);
    b.run();
    REQUIRE(b.exit);
    const bool unsure = b.exit->reason.find("whether it was created is not known") != Bytes::npos;
    CHECK(unsure == arrived);
  }
}

TEST_CASE("a watch that ends while all is taken back changes nothing", "[submission]") {
  SubmissionBench b(stored_options());
  b.feed(StartSubmission{});
  b.run();
  b.show(waiting(b.pod("Pending"), "ImagePullBackOff"));
  const uint64_t watch = b.watches.back().ticket;
  b.now += 2min;
  const SubmissionTimer patience =
      std::find_if(b.timers.begin(), b.timers.end(), [](const auto& t) {
        return t.second.kind == SubmissionTimer::Kind::Patience;
      })->second;
  b.feed(patience);
  b.feed(WatchEnded{watch, 403, "no more"});
  b.run();
  REQUIRE(b.exit);
  CHECK_THAT(b.exit->reason, Contains("cannot start"));
  CHECK(b.store.holds.empty());
  CHECK(b.server.objects.empty());
}

TEST_CASE("another pod of that name stays what it is", "[submission]") {
  SubmissionBench b;
  b.server.objects[kPod] = {{"metadata", {{"name", "count-driver"}, {"uid", "other"}}}};
  b.feed(StartSubmission{});
  b.run();
  REQUIRE(b.exit);
  CHECK_THAT(b.exit->reason, Contains("a pod named count-driver is in namespace jobs already"));
  CHECK(b.server.objects.size() == 1);
}

TEST_CASE("killed after any request, a pod is there alone or with what it owns", "[submission]") {
  for (size_t at = 0; at <= 3; ++at) {
    INFO("after " << at);
    SubmissionBench b;
    b.killed_at = at;
    b.feed(StartSubmission{});
    b.run();
    CHECK(b.server.objects.size() == at);
    if (at > 0) CHECK(b.server.objects.contains(kPod));
    for (const auto& [path, made] : b.server.objects)
      if (path != kPod) CHECK(made["metadata"]["ownerReferences"][0]["uid"] == "uid-0");
  }
}

TEST_CASE("K32 a watch that ends begins again where it was, after 410 with the present state",
          "[submission]") {
  SubmissionBench b;
  b.feed(StartSubmission{});
  b.run();
  CHECK_THAT(b.watches.back().path, Contains("&resourceVersion=5"));
  b.show(b.pod("Pending"));
  const uint64_t first = b.watches.back().ticket;
  b.feed(WatchEnded{first, 0, ""});
  b.pass(1s);
  REQUIRE(b.watches.size() == 2);
  CHECK_THAT(b.watches.back().path, Contains("&resourceVersion=7"));
  b.feed(WatchBookmark{b.watches.back().ticket, "9"});
  b.feed(WatchEnded{b.watches.back().ticket, 0, ""});
  b.pass(1s);
  CHECK_THAT(b.watches.back().path, Contains("&resourceVersion=9"));
  b.server.objects[kPod]["status"]["phase"] = "Running";
  b.feed(WatchEnded{b.watches.back().ticket, 410, "too old"});
  b.pass(1s);
  CHECK(b.server.seen.back() == "GET /api/v1/namespaces/jobs/pods");
  CHECK_THAT(b.told.back(), Contains("phase: Running"));
  CHECK(b.watches.size() == 4);
  CHECK_THAT(b.watches.back().path, Contains("&resourceVersion=100"));
  b.show(b.pod("Running"), true);
  REQUIRE(b.exit);
  CHECK(b.exit->code == 0);
}

TEST_CASE("K32 a pod that went while nobody watched ends the wait", "[submission]") {
  for (const bool another : {false, true}) {
    SubmissionBench b;
    b.feed(StartSubmission{});
    b.run();
    b.server.objects.erase(kPod);
    if (another) b.server.objects[kPod] = {{"metadata", {{"uid", "other"}}}};
    b.feed(WatchEnded{b.watches.back().ticket, 410, "too old"});
    b.pass(1s);
    REQUIRE(b.exit);
    CHECK(*b.exit == Exit{0, ""});
    CHECK(b.was_told("phase: Deleted"));
    CHECK(b.watches.size() == 1);
  }
}

TEST_CASE("K32 a look at the pod that has no answer is repeated", "[submission]") {
  SubmissionBench b;
  b.feed(StartSubmission{});
  b.run();
  b.server.lost_before.insert(b.server.seen.size());
  b.feed(WatchEnded{b.watches.back().ticket, 410, "too old"});
  b.pass(1s);
  CHECK(b.watches.size() == 1);
  b.pass(1s);
  CHECK(b.watches.size() == 2);
}

TEST_CASE("a watch that is refused ends the wait; while files are awaited the pod goes too",
          "[submission]") {
  for (const bool uploads : {false, true}) {
    SubmissionBench b(uploads ? upload_options() : submission_options());
    b.feed(StartSubmission{});
    b.run();
    b.feed(WatchEnded{b.watches.back().ticket, 403, "not allowed (status 403)"});
    b.run();
    REQUIRE(b.exit);
    CHECK(*b.exit == Exit{1, "cannot watch the driver pod: not allowed (status 403)"});
    CHECK(b.server.objects.empty() == uploads);
  }
}

TEST_CASE("a watch that was allowed before is refused for a while by a server that began again",
          "[submission]") {
  for (const int status : {401, 403}) {
    CAPTURE(status);
    SubmissionBench b;
    b.feed(StartSubmission{});
    b.run();
    b.feed(WatchBookmark{b.watches.back().ticket, "9"});
    const auto refused = [&](int times) {
      for (int i = 0; i < times; ++i) {
        b.feed(WatchEnded{b.watches.back().ticket, status, "not allowed"});
        b.pass(1s);
      }
    };
    refused(30);
    CHECK(b.watches.size() == 31);
    b.feed(WatchBookmark{b.watches.back().ticket, "10"});
    refused(30);
    CHECK_FALSE(b.exit);
    refused(1);
    REQUIRE(b.exit);
    CHECK(*b.exit == Exit{1, "cannot watch the driver pod: not allowed"});
  }
}

TEST_CASE("a watch that a busy server refuses is tried again when it says", "[submission]") {
  SubmissionBench b;
  b.feed(StartSubmission{});
  b.run();
  b.feed(WatchEnded{b.watches.back().ticket, 429, "too many requests", 7s});
  b.pass(6s);
  CHECK(b.watches.size() == 1);
  b.pass(1s);
  CHECK(b.watches.size() == 2);
  CHECK_FALSE(b.exit);
}

TEST_CASE("a pod that could not be removed is told of", "[submission]") {
  struct Case {
    int status;  // of the removal
    bool may_be_there;
  };
  for (const Case& c : {Case{403, true}, {503, true}, {404, false}, {409, false}}) {
    INFO(c.status);
    SubmissionBench b;
    b.server.refuse = [&](const ApiRequest& r) {
      if (r.method == "DELETE") return c.status;
      return r.path.find("configmaps") != std::string::npos ? 403 : 0;
    };
    b.feed(StartSubmission{});
    b.run();
    REQUIRE(b.exit);
    const bool told = b.exit->reason.ends_with("; the pod count-driver may still be there");
    CHECK(told == c.may_be_there);
  }
}

TEST_CASE("a watch that begins again leaves the file that is under way", "[submission]") {
  SubmissionBench b(upload_options());
  b.feed(StartSubmission{});
  b.run();
  b.show(with_init(b.pod("Pending"), ContainerView::State::Running));
  b.feed(WatchEnded{b.watches.back().ticket, 0, ""});
  b.pass(1s);
  CHECK(b.watches.size() == 2);
  REQUIRE(b.files.size() == 1);
  b.feed(ApiAnswered{b.files[0].ticket, 200, "", ""});
  CHECK(b.files.size() == 2);
}

TEST_CASE("an image that is not there ends the wait with the reason, and removes the pod",
          "[submission]") {
  SubmissionBench b;
  b.feed(StartSubmission{});
  b.run();
  b.show(waiting(b.pod("Pending"), "ErrImagePull"));
  b.pass(60s);
  b.show(waiting(b.pod("Pending"), "ImagePullBackOff"));
  b.pass(59s);
  CHECK_FALSE(b.exit);
  b.pass(2s);
  REQUIRE(b.exit);
  CHECK(*b.exit ==
        Exit{1, "the driver pod count-driver cannot start: ImagePullBackOff: no such image"});
  CHECK(b.server.objects.empty());
}

TEST_CASE("an image that comes in the end was worth the wait", "[submission]") {
  SubmissionBench b;
  b.feed(StartSubmission{});
  b.run();
  b.show(waiting(b.pod("Pending"), "ErrImagePull"));
  b.pass(60s);
  b.show(b.pod("Running"));
  b.pass(300s);
  CHECK_FALSE(b.exit);
}

TEST_CASE("files are sent once the init container runs, again while it does not listen yet",
          "[submission]") {
  SubmissionBench b(upload_options());
  b.feed(StartSubmission{});
  b.run();
  CHECK(b.files.empty());
  const PodView p = with_init(b.pod("Pending"), ContainerView::State::Running);
  b.show(p);
  b.show(p);
  REQUIRE(b.files.size() == 1);
  CHECK(b.files[0].path == "/api/v1/namespaces/jobs/pods/http:count-driver:7080/proxy/app");
  b.feed(ApiAnswered{b.files[0].ticket, 503, "{}", ""});
  b.run();
  REQUIRE(b.files.size() == 2);
  CHECK(b.files[1].file == "/home/app");
  b.feed(ApiAnswered{b.files[1].ticket, 200, "", ""});
  REQUIRE(b.files.size() == 3);
  CHECK(b.files[2].file == "/home/data");
  b.feed(ApiAnswered{b.files[2].ticket, 403, R"({"message":"pods/proxy is forbidden"})", ""});
  b.run();
  REQUIRE(b.exit);
  CHECK_THAT(b.exit->reason, Contains("cannot send /home/data to the driver pod: pods/proxy is "
                                      "forbidden (status 403)"));
  CHECK(b.server.objects.empty());
}

TEST_CASE("an init container that ended well has all files, whatever answer got lost",
          "[submission]") {
  for (const bool wait : {true, false})
    for (const char* phase : {"Pending", "Succeeded"}) {
      INFO(phase << (wait ? ", waited for" : ""));
      SubmissionOptions o = upload_options();
      o.wait = wait;
      SubmissionBench b(o);
      b.feed(StartSubmission{});
      b.run();
      b.show(with_init(b.pod("Pending"), ContainerView::State::Running));
      REQUIRE(b.files.size() == 1);
      b.feed(ApiAnswered{b.files[0].ticket, 200, "", ""});
      b.feed(ApiAnswered{b.files[1].ticket, 0, "", "cut short"});
      b.show(with_init(b.pod(phase), ContainerView::State::Terminated));
      b.run();
      CHECK(b.files.size() == 2);
      CHECK(b.calls.empty());
      CHECK(b.server.objects.size() == 3);
      CHECK(static_cast<bool>(b.exit) == (!wait || phase == std::string("Succeeded")));
      if (b.exit) CHECK(*b.exit == Exit{0, ""});
    }
}
