// Cluster deploy mode as the submitter sees it: answers, polls, lost and standby masters, exit
// codes.
#include <catch2/catch.hpp>

#include "core/deploy/client/submission_client.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

struct Fixture {
  SubmissionClient machine;
  SubmissionClient::Effects out;
  std::vector<std::string> printed;
  std::optional<Exit> exit;
  std::optional<SubmissionTimer> timer;

  explicit Fixture(SubmissionOptions o) : machine(std::move(o)) {}
  void on(SubmissionClient::Event e) {
    out.clear();
    machine.on(e, Time{}, out);
    for (auto& x : out) {
      if (auto* p = std::get_if<Print>(&x)) printed.push_back(p->line);
      if (auto* p = std::get_if<Exit>(&x)) exit = *p;
      if (auto* p = std::get_if<After<SubmissionTimer>>(&x)) timer = p->event;
    }
  }
  /// It reaches so many masters, peer 1 first.
  void start(uint64_t reached) {
    on(StartSubmission{});
    for (uint64_t i = 0; i < reached; ++i) on(Connected{i, i + 1});
  }
  void receive(PeerId from, ToClient m) { on(Received<ToClient>{from, std::move(m)}); }
};

SubmissionOptions submit_to(std::vector<std::string> masters, bool wait = false) {
  SubmissionOptions o;
  o.masters = std::move(masters);
  o.request = RequestSubmitDriver{};
  o.wait_for_completion = wait;
  return o;
}
DriverStatusAnswer status(DriverState s) { return {true, s, {"w"}, "h:1", ""}; }

}  // namespace

TEST_CASE("submit: the leader's answer is followed until the driver runs") {
  Fixture f(submit_to({"a:1", "b:2"}));
  f.start(2);
  f.receive(1, SubmitDriverAnswer{false, {}, "Current state is not alive: STANDBY. …"});
  CHECK_FALSE(f.exit);
  f.receive(2, SubmitDriverAnswer{true, {"driver-1"}, ""});
  f.receive(2, status(DriverState::Submitted));
  CHECK_FALSE(f.exit);
  f.on(*f.timer);
  f.receive(2, status(DriverState::Running));
  REQUIRE(f.exit);
  CHECK(f.exit->code == 0);
  CHECK(f.printed.back() == "Driver is running on worker w at h:1.");
}

TEST_CASE(
    "submit: waitAppCompletion follows to the end; a failed driver still exits 0 as Spark does") {
  Fixture f(submit_to({"a:1"}, true));
  f.start(1);
  f.receive(1, SubmitDriverAnswer{true, {"driver-1"}, ""});
  for (int i = 0; i < 30; ++i) {
    f.receive(1, status(DriverState::Running));
    REQUIRE_FALSE(f.exit);
    f.on(*f.timer);
  }
  f.receive(1, DriverStatusAnswer{true, DriverState::Failed, {}, "", "Command exited with code 3"});
  REQUIRE(f.exit);
  CHECK(f.exit->code == 0);
  CHECK(f.exit->reason.empty());
  CHECK(f.printed.back() == "Command exited with code 3");
}

TEST_CASE("submit: what the cluster could not do exits 255 as Spark does") {
  Fixture f(submit_to({"a:1"}));
  f.start(1);
  f.receive(1, SubmitDriverAnswer{true, {"driver-1"}, ""});
  f.receive(1, DriverStatusAnswer{true, DriverState::Error, {}, "", "no such file"});
  REQUIRE(f.exit);
  CHECK(f.exit->code == 255);
  CHECK(f.exit->reason == "Exception from the cluster: no such file");
}

TEST_CASE("submit: ways to fail, each exit 1") {
  Fixture f(submit_to({"a:1", "b:2"}));
  f.on(StartSubmission{});
  SECTION("no master can be reached") {
    f.on(Connected{0, 1});
    f.on(PeerLost{1});
    CHECK_FALSE(f.exit);
    CHECK(f.printed.back() == "Warning: Unable to connect to server spark://a:1.");
    f.on(Connected{1, 0});
  }
  SECTION("no master answers") {
    f.on(Connected{0, 1});
    f.on(*f.timer);
  }
  SECTION("all are standby") {
    f.on(Connected{0, 1});
    f.on(Connected{1, 2});
    for (PeerId p : {1, 2})
      f.receive(p, SubmitDriverAnswer{false, {}, "Current state is not alive: X."});
  }
  SECTION("refused") {
    f.on(Connected{0, 1});
    f.receive(1, SubmitDriverAnswer{false, {}, "no"});
  }
  REQUIRE(f.exit);
  CHECK(f.exit->code == 1);
  CHECK_FALSE(f.exit->reason.empty());
}

TEST_CASE("a port without a master behind it: the URLs that were asked, and what to check") {
  Fixture f(submit_to({"a:1", "b:2"}));
  f.start(2);
  std::string want = "at spark://a:1,b:2 within 10 s";
  SECTION("no master answers the request") {}
  SECTION("the one that took it answers no more") {
    f.receive(2, SubmitDriverAnswer{true, {"driver-1"}, ""});
    want = "at spark://b:2 within 10 s";
  }
  f.on(*f.timer);
  REQUIRE(f.exit);
  CHECK_THAT(f.exit->reason, Catch::Matchers::Contains(want) &&
                                 Catch::Matchers::Contains("check that host and port are"));
}

TEST_CASE("kill and status: answers and unknown ids") {
  const bool known = GENERATE(true, false);
  SubmissionOptions o = submit_to({"a:1"});
  ToClient answer = DriverStatusAnswer{};
  SECTION("kill") {
    o.request = RequestKillDriver{{"driver-1"}};
    answer = KillDriverAnswer{{"driver-1"}, known, "Kill request for driver-1 submitted"};
  }
  SECTION("status") {
    o.request = RequestDriverStatus{{"driver-1"}};
    if (known) answer = status(DriverState::Running);
  }
  Fixture f(o);
  f.start(1);
  f.receive(1, answer);
  REQUIRE(f.exit);
  CHECK(f.exit->code == (known ? 0 : 1));
}
