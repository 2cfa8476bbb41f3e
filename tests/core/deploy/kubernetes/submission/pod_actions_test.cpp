// K25: --kill and --status of drivers in pods.
#include "core/deploy/kubernetes/submission/pod_actions.hpp"

#include <nlohmann/json.hpp>

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::kubernetes;
using Catch::Matchers::Contains;

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
