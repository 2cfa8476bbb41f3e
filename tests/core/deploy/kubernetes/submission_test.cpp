// Submit's conversation with the API server: every answer, every cut connection, every end.
#include "core/deploy/kubernetes/submission/submission.hpp"

#include <nlohmann/json.hpp>
#include <random>

#include "core/deploy/kubernetes/submission/pod_actions.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::kubernetes;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

Bytes object(const std::string& kind, const std::string& name) {
  return Json{{"apiVersion", "v1"}, {"kind", kind}, {"metadata", {{"name", name}}}}.dump();
}

SubmissionOptions submission_options() {
  SubmissionOptions o;
  o.app_name = "count";
  o.app_id = "spark-1";
  o.name_space = "jobs";
  o.pod_name = "count-driver";
  o.objects = {object("Pod", "count-driver"), object("Service", "count-svc"),
               object("ConfigMap", "count-conf")};
  return o;
}

/// An API server that holds objects, and loses answers as it is told.
struct Server {
  std::map<std::string, Json> objects;  // by path
  std::vector<std::string> seen;        // method and path
  std::function<int(const ApiRequest&)> refuse = [](const ApiRequest&) { return 0; };
  std::set<size_t> lost_before, lost_after;  // numbers of requests

  ApiAnswered answer(const CallApi& call) {
    const size_t number = seen.size();
    const ApiRequest& r = call.request;
    const std::string path = r.path.substr(0, r.path.find('?'));
    seen.push_back(r.method + " " + path);
    if (lost_before.contains(number)) return {call.ticket, 0, "", "no connection"};
    ApiAnswered a = carry_out(call.ticket, r, path);
    if (lost_after.contains(number)) return {call.ticket, 0, "", "cut short"};
    return a;
  }

 private:
  ApiAnswered carry_out(uint64_t ticket, const ApiRequest& r, const std::string& path) {
    if (const int status = refuse(r))
      return {ticket, status, Json{{"message", "refused for a test"}}.dump(), ""};
    if (r.method == "POST") {
      Json made = Json::parse(r.body);
      const std::string whole = path + "/" + made["metadata"]["name"].get<std::string>();
      if (objects.contains(whole)) return {ticket, 409, "{}", ""};
      made["metadata"]["uid"] = "uid-" + std::to_string(objects.size());
      made["metadata"]["labels"]["spark-app-selector"] = "spark-1";
      objects[whole] = made;
      return {ticket, 201, made.dump(), ""};
    }
    if (r.method == "PATCH") {
      objects[path] = Json::parse(r.body);
      return {ticket, 200, "{}", ""};
    }
    const auto found = objects.find(path);
    if (found == objects.end()) return {ticket, 404, Json{{"message", "not found"}}.dump(), ""};
    ApiAnswered a{ticket, 200, found->second.dump(), ""};
    if (r.method == "DELETE") {
      // What has an owner goes with it.
      const std::string uid = found->second["metadata"]["uid"];
      std::erase_if(objects, [&](const auto& o) {
        const Json m = o.second["metadata"];
        return m.value("uid", "") == uid ||
               (m.contains("ownerReferences") && m["ownerReferences"][0]["uid"] == uid);
      });
    }
    return a;
  }
};

/// An object store that is always right about what it has.
struct Store {
  std::set<std::string> holds;  // local files
  std::vector<std::string> seen;
  std::function<ApiAnswered(const AskStore&)> instead = [](const AskStore&) {
    return ApiAnswered{};
  };

  ApiAnswered answer(const AskStore& ask) {
    seen.push_back(ask.method + " " + ask.url);
    if (ApiAnswered other = instead(ask); other.status != 0 || !other.error.empty())
      return other.ticket = ask.ticket, other;
    if (ask.method == "PUT") return holds.insert(ask.file), ApiAnswered{ask.ticket, 200, {}, {}};
    holds.erase(ask.url.substr(ask.url.rfind(':') + 1));
    return {ask.ticket, 204, {}, {}};
  }
};

SubmissionOptions stored_options() {
  SubmissionOptions o = submission_options();
  o.stored = {{"/a/app", "s3a://b/app", "put:/a/app", "get:/a/app", "delete:/a/app"},
              {"/a/t", "s3a://b/t", "put:/a/t", "get:/a/t", "delete:/a/t"}};
  return o;
}

/// A submission and its server, over virtual time.
struct SubmissionBench {
  explicit SubmissionBench(SubmissionOptions o = submission_options()) : machine(std::move(o)) {}

  void feed(Submission::Event event) {
    Submission::Effects out;
    machine.on(event, now, out);
    for (Submission::Effect& effect : out) std::visit([this](auto& e) { take(e); }, effect);
  }
  void take(CallApi& e) { calls.push_back(e); }
  void take(WatchApi& e) { watches.push_back(e); }
  void take(SendFile& e) { files.push_back(e); }
  void take(AskStore& e) { asked.push_back(e); }
  void take(After<SubmissionTimer>& e) { timers.emplace(now + e.delay, e.event); }
  void take(Report& e) { told.push_back(e.text); }
  void take(Exit& e) { exit = e; }

  /// Answers and timers, until it ends or only waits for pods.
  void run(int steps = 200) {
    while (steps-- > 0 && !exit) {
      if (!calls.empty()) {
        const CallApi next = calls.front();
        calls.erase(calls.begin());
        if (killed_at && server.seen.size() == *killed_at) return;
        feed(server.answer(next));
      } else if (!asked.empty()) {
        const AskStore next = asked.front();
        asked.erase(asked.begin());
        feed(store.answer(next));
      } else if (!timers.empty() && timers.begin()->second.kind == SubmissionTimer::Kind::Retry) {
        const auto [at, event] = *timers.begin();
        timers.erase(timers.begin());
        now = at;
        feed(event);
      } else {
        return;
      }
    }
  }
  /// Time passes up to `until`, with all timers.
  void pass(Duration time) {
    const Time until = now + time;
    while (!timers.empty() && timers.begin()->first <= until && !exit) {
      const auto [at, event] = *timers.begin();
      timers.erase(timers.begin());
      now = at;
      feed(event);
      run();
    }
    now = until;
  }
  PodView pod(const std::string& phase) const {
    PodView p;
    p.name = "count-driver";
    p.uid = "uid-0";
    p.phase = phase;
    p.resource_version = "7";
    return p;
  }
  void show(PodView p, bool deleted = false) {
    feed(PodChanged{watches.back().ticket, deleted, std::move(p)});
  }
  bool was_told(const std::string& text) const {
    return std::any_of(told.begin(), told.end(),
                       [&](const std::string& t) { return t.find(text) != std::string::npos; });
  }

  Server server;
  Store store;
  Submission machine;
  Time now{1000s};
  std::vector<CallApi> calls;
  std::vector<WatchApi> watches;
  std::vector<SendFile> files;
  std::vector<AskStore> asked;
  std::multimap<Time, SubmissionTimer> timers;
  std::vector<std::string> told;
  std::optional<Exit> exit;
  std::optional<size_t> killed_at;
};

const std::string kPod = "/api/v1/namespaces/jobs/pods/count-driver";

PodView waiting(PodView p, const std::string& reason) {
  ContainerView c;
  c.state = ContainerView::State::Waiting;
  c.reason = reason;
  c.message = "no such image";
  p.containers = {c};
  return p;
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

TEST_CASE("files go to the object store before the pod that fetches them, and stay there",
          "[submission]") {
  SubmissionBench b(stored_options());
  b.feed(StartSubmission{});
  CHECK(b.server.seen.empty());
  b.run();
  CHECK(b.store.seen == std::vector<std::string>{"PUT put:/a/app", "PUT put:/a/t"});
  CHECK(b.server.objects.size() == 3);
  b.show(b.pod("Succeeded"));
  REQUIRE(b.exit);
  CHECK(b.exit->code == 0);
  CHECK(b.store.holds == std::set<std::string>{"/a/app", "/a/t"});
}

TEST_CASE("what an object store refuses is told in its words, and what it has is taken back",
          "[submission]") {
  SubmissionBench b(stored_options());
  b.store.instead = [](const AskStore& ask) {
    const bool refused = ask.url == "put:/a/t";
    return ApiAnswered{0, refused ? 403 : 0, "<Error><Code>AccessDenied</Code></Error>", {}};
  };
  b.feed(StartSubmission{});
  b.run();
  REQUIRE(b.exit);
  CHECK(*b.exit == Exit{1, "cannot store /a/t as s3a://b/t: HTTP 403 AccessDenied"});
  CHECK(b.store.seen ==
        std::vector<std::string>{"PUT put:/a/app", "PUT put:/a/t", "DELETE delete:/a/app"});
  CHECK(b.store.holds.empty());
  CHECK(b.server.seen.empty());
}

TEST_CASE("an object store that is away for a while is asked again, one that is none is not",
          "[submission]") {
  for (const int away : {3, 100}) {
    SubmissionBench b(stored_options());
    b.store.instead = [&](const AskStore&) {
      const bool out = static_cast<int>(b.store.seen.size()) <= away;
      return ApiAnswered{0, out ? 503 : 0, {}, {}};
    };
    b.feed(StartSubmission{});
    b.run();
    CHECK(static_cast<bool>(b.exit) == (away == 100));
    if (b.exit)
      CHECK(b.exit->reason ==
            "cannot store /a/app as s3a://b/app: HTTP 503; s3a://b/app may still be there");
  }
  SubmissionBench b(stored_options());
  b.store.instead = [](const AskStore&) {
    return ApiAnswered{0, 0, {}, "no such host", false, true};
  };
  b.feed(StartSubmission{});
  b.run();
  REQUIRE(b.exit);
  CHECK(b.exit->reason == "cannot store /a/app as s3a://b/app: no such host");
  CHECK(b.store.seen.size() == 1);
}

TEST_CASE("an object store that ends the connection while a file comes is asked why",
          "[submission]") {
  struct Case {
    std::string name;
    ApiAnswered why;
    size_t asked;  // how often for the file
    std::string reason;
  };
  const auto error = [](int status, const std::string& code) {
    return ApiAnswered{0, status, "<Error><Code>" + code + "</Code></Error>", {}};
  };
  const std::string cannot = "cannot store /a/app as s3a://b/app: ";
  const Case cases[] = {
      {"the reason is told", error(404, "NoSuchBucket"), 1, cannot + "HTTP 404 NoSuchBucket"},
      {"it has the file after all", {0, 206, "x", {}}, 1, ""},
      {"nothing is known", error(404, "NoSuchKey"), 6, cannot + "ended"},
      {"it may not be asked", error(403, "AccessDenied"), 6, cannot + "ended"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    SubmissionBench b(stored_options());
    b.store.instead = [&](const AskStore& ask) {
      if (ask.url == "put:/a/app") return ApiAnswered{0, 0, {}, "ended"};
      return ask.method == "GET" ? c.why : ApiAnswered{};
    };
    b.feed(StartSubmission{});
    b.run();
    CHECK(static_cast<size_t>(
              std::count(b.store.seen.begin(), b.store.seen.end(), "PUT put:/a/app")) == c.asked);
    CHECK(std::count(b.store.seen.begin(), b.store.seen.end(), "GET get:/a/app") == 1);
    CHECK(static_cast<bool>(b.exit) == !c.reason.empty());
    if (b.exit) CHECK(b.exit->reason == c.reason);
    const bool taken_back = b.store.seen.back() == "DELETE delete:/a/app";
    CHECK(taken_back == (c.asked > 1));
  }
}

TEST_CASE("the object store gets back what no pod will fetch", "[submission]") {
  for (const char* kind : {"pods", "configmaps"}) {
    INFO(kind);
    SubmissionBench b(stored_options());
    b.server.refuse = [&](const ApiRequest& r) {
      return r.method != "DELETE" && r.path.find(kind) != std::string::npos ? 403 : 0;
    };
    b.feed(StartSubmission{});
    b.run();
    REQUIRE(b.exit);
    CHECK_THAT(b.exit->reason, Contains("refused for a test (status 403)"));
    CHECK(b.store.holds.empty());
    CHECK(b.server.objects.empty());
  }
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
  b.feed(WatchEnded{b.watches.back().ticket, 410, "too old"});
  b.pass(1s);
  CHECK(b.watches.back().path.find("resourceVersion") == std::string::npos);
  b.show(b.pod("Running"), true);
  REQUIRE(b.exit);
  CHECK(b.exit->code == 0);
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
  SubmissionOptions o = submission_options();
  o.uploads = {{"/home/app", "app"}, {"/home/data", "data"}};
  SubmissionBench b(o);
  b.feed(StartSubmission{});
  b.run();
  CHECK(b.files.empty());
  PodView p = b.pod("Pending");
  ContainerView init;
  init.name = "tinderbox-init";
  init.state = ContainerView::State::Running;
  p.init_containers = {init};
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

// ---- kill and status

namespace {

struct Acting {
  explicit Acting(PodActionOptions o) : machine(std::move(o)) { feed(StartPodAction{}); }
  void feed(PodActions::Event e) {
    PodActions::Effects out;
    machine.on(e, Time{}, out);
    for (auto& effect : out) {
      if (auto* call = std::get_if<CallApi>(&effect)) calls.push_back(*call);
      if (auto* tell = std::get_if<Tell>(&effect)) told.push_back(tell->text);
      if (auto* end = std::get_if<Exit>(&effect)) exit = *end;
    }
  }
  PodActions machine;
  std::vector<CallApi> calls;
  std::vector<std::string> told;
  std::optional<Exit> exit;
};

Json driver_pod(const std::string& name) {
  return {{"metadata", {{"name", name}, {"namespace", "jobs"}, {"uid", "u-" + name}}},
          {"status", {{"phase", "Running"}}}};
}

}  // namespace

TEST_CASE("K25 status of one pod: Spark's report", "[submission]") {
  Acting a({false, "k8s://https://h", "jobs:one", "default", -1});
  CHECK(a.told.back() ==
        "Submitting a request for the status of submission jobs:one in k8s://https://h.");
  CHECK(a.calls.at(0).request.path == "/api/v1/namespaces/jobs/pods/one");
  a.feed(ApiAnswered{a.calls[0].ticket, 200, driver_pod("one").dump(), ""});
  CHECK_THAT(a.told.back(),
             Contains("Application status (driver): \n\t pod name: one\n\t namespace: "
                      "jobs\n") &&
                 Contains("\t phase: Running"));
  CHECK(*a.exit == Exit{0, ""});
}

TEST_CASE("K25 kill by pattern: driver pods whose names begin so, with the grace period",
          "[submission]") {
  Acting a({true, "k8s://https://h", "jobs:on*", "default", 5});
  CHECK(a.calls.at(0).request.path ==
        "/api/v1/namespaces/jobs/pods?labelSelector=spark-role%3Ddriver");
  a.feed(ApiAnswered{
      a.calls[0].ticket, 200,
      Json{{"items", {driver_pod("one"), driver_pod("other"), driver_pod("once")}}}.dump(), ""});
  CHECK(a.told == std::vector<std::string>{
                      "Submitting a request to kill submission jobs:on* in k8s://https://h. Grace "
                      "period in secs: 5.",
                      "Deleting driver pod: one.", "Deleting driver pod: once."});
  REQUIRE(a.calls.size() == 3);
  CHECK(Json::parse(a.calls[1].request.body)["gracePeriodSeconds"] == 5);
  CHECK(Json::parse(a.calls[1].request.body)["preconditions"]["uid"] == "u-one");
  a.feed(ApiAnswered{a.calls[1].ticket, 200, "{}", ""});
  CHECK_FALSE(a.exit);
  a.feed(ApiAnswered{a.calls[2].ticket, 404, "{}", ""});
  CHECK(*a.exit == Exit{0, ""});
}

TEST_CASE("K25 nothing of that name, no right to look, and ids that are none", "[submission]") {
  Acting missing({false, "m", "one", "default", -1});
  CHECK(missing.calls.at(0).request.path == "/api/v1/namespaces/default/pods/one");
  missing.feed(ApiAnswered{1, 404, "{}", ""});
  CHECK(missing.told.back() == "Application not found.");
  CHECK(missing.exit->code == 1);
  Acting none({true, "m", "x*", "default", -1});
  none.feed(ApiAnswered{1, 200, R"({"items":[]})", ""});
  CHECK(none.told.back() == "No applications found.");
  Acting refused({true, "m", "x", "default", -1});
  refused.feed(ApiAnswered{1, 403, R"({"message":"User \"a\" cannot get pods"})", ""});
  CHECK(refused.exit->reason == "User \"a\" cannot get pods (status 403)");
  for (const char* id : {"a:b:c", "ns:"}) {
    Acting invalid({true, "m", id, "default", -1});
    CHECK(invalid.exit->reason == "Submission ID: {" + std::string(id) + "} is invalid.");
  }
}
