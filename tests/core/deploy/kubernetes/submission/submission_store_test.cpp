// Files that go through an object store: stored before the pod is made, taken back when none is.
#include "tests/core/deploy/kubernetes/submission/submission_bench.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using Catch::Matchers::Contains;

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
