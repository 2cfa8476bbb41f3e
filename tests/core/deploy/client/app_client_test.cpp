#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "core/deploy/client/app_client.hpp"
#include "tests/core/deploy/deploy_fixtures.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace std::chrono_literals;

namespace {

using Kind = AppTimer::Kind;

AppClientOptions options(std::vector<std::string> masters = {"spark://m:7077"}) {
  AppClientOptions o;
  o.masters = std::move(masters);
  o.description = app_of(4);
  o.driver_address = "d:7078";
  o.user = "ann";
  o.registration_timeout = 20s;
  o.registration_attempts = 3;
  return o;
}

struct Run {
  AppClient client;
  explicit Run(AppClientOptions o = options()) : client(std::move(o)) {}
  AppClient::Effects feed(AppClient::Event e) {
    AppClient::Effects out;
    client.on(e, Time{}, out);
    return out;
  }
  AppClient::Effects from(PeerId peer, ToApp m) {
    return feed(Received<ToApp>{peer, std::move(m)});
  }
  AppClient::Effects start() {
    feed(StartApp{});
    feed(Connected{1, 1});
    return from(1, RegisteredApplication{{"app-1"}, "spark://m:7077", "http://m:8080"});
  }
};

AppTimer timer_of(const AppClient::Effects& out, Duration* delay = nullptr) {
  auto timers = all<After<AppTimer>>(out);
  REQUIRE(timers.size() == 1);
  if (delay) *delay = timers[0].delay;
  return timers[0].event;
}

}  // namespace

TEST_CASE("all masters are tried; the application belongs to the one that answers",
          "[app_client]") {
  Run r(options({"spark://m1:7077", "spark://m2:7077"}));
  auto out = r.feed(StartApp{});
  CHECK(all<Connect>(out) == std::vector<Connect>{{1, "m1:7077"}, {2, "m2:7077"}});
  auto hello = to_master<RegisterApplication>(r.feed(Connected{1, 11}));
  REQUIRE(hello.size() == 1);
  CHECK(hello[0].message == RegisterApplication{{"ann", {}, 0, ""}, app_of(4), "d:7078", 0});
  r.feed(Connected{2, 12});
  out = r.from(12, RegisteredApplication{{"app-1"}, "spark://m2:7077", "http://m2:8080"});
  CHECK(all<AppRegistered>(out) ==
        std::vector<AppRegistered>{{{"app-1"}, "spark://m2:7077", "http://m2:8080"}});
  CHECK(all<Disconnect>(out) == std::vector<Disconnect>{{11}});
}

TEST_CASE("three attempts of 20 s, then the application is dead", "[app_client]") {
  Run r;
  auto out = r.feed(StartApp{});
  for (int attempt = 1; attempt <= 3; ++attempt) {
    CHECK(all<Connect>(out).size() == 1);
    Duration delay{};
    AppTimer again = timer_of(out, &delay);
    CHECK(delay == 20s);
    out = r.feed(again);
  }
  CHECK(all<AppDead>(out) ==
        std::vector<AppDead>{
            {"All masters are unresponsive! Giving up. spark://m:7077 did not answer in 3 tries "
             "of 20 s; check --master and that a master runs there"}});
  CHECK(r.feed(StartApp{}).empty());
}

TEST_CASE("an answer stops the attempts; a late answer of a dropped one counts for nothing",
          "[app_client]") {
  Run r;
  AppTimer again = timer_of(r.feed(StartApp{}));
  r.feed(Connected{1, 1});
  auto out = r.feed(again);
  CHECK(all<Disconnect>(out) == std::vector<Disconnect>{{1}});
  CHECK(r.from(1, RegisteredApplication{{"app-x"}, "", ""}).empty());
  r.feed(Connected{2, 2});
  r.from(2, RegisteredApplication{{"app-1"}, "spark://m:7077", ""});
  CHECK(r.feed(timer_of(out)).empty());
}

TEST_CASE("executors come and go as the master says", "[app_client]") {
  Run r;
  r.start();
  CHECK(all<ExecutorGranted>(r.from(1, ExecutorAdded{3, {"worker-a"}, "a:4000", 2, 1024})) ==
        std::vector<ExecutorGranted>{{{"3"}, {"worker-a"}, "a:4000", 2, 1024}});
  struct Case {
    ExecutorUpdated in;
    std::vector<ExecutorGone> want;
  };
  const std::vector<Case> cases = {
      {{3, ExecutorState::Running, "", {}, ""}, {}},
      {{3, ExecutorState::Decommissioned, "worker decommissioned", {}, "a"}, {}},
      {{3, ExecutorState::Exited, "Command exited with code 52", 52, ""},
       {{{"3"}, 52, "Command exited with code 52", ""}}},
      {{4, ExecutorState::Killed, "", 143, ""}, {{{"4"}, 143, "", ""}}},
      {{5, ExecutorState::Failed, "no file", {}, ""}, {{{"5"}, {}, "no file", ""}}},
      {{6, ExecutorState::Lost, "worker lost: gone", {}, "a"},
       {{{"6"}, {}, "worker lost: gone", "a"}}},
  };
  for (const Case& c : cases) CHECK(all<ExecutorGone>(r.from(1, c.in)) == c.want);
  CHECK(all<WorkerGone>(r.from(1, WorkerRemoved{{"worker-a"}, "a", "gone"})) ==
        std::vector<WorkerGone>{{{"worker-a"}, "a", "gone"}});
  CHECK(all<SchedulingReason>(r.from(1, SchedulingStatus{"no worker has 9 MiB free"})) ==
        std::vector<SchedulingReason>{{"no worker has 9 MiB free"}});
  CHECK(all<ExecutorGone>(r.from(9, cases[2].in)).empty());
}

TEST_CASE("an application that the master removes is dead", "[app_client]") {
  Run r;
  r.start();
  CHECK(all<AppDead>(r.from(9, ApplicationRemoved{"FAILED"})).empty());
  CHECK(all<AppDead>(r.from(1, ApplicationRemoved{"FAILED"})) ==
        std::vector<AppDead>{{"Master removed our application: FAILED"}});
  CHECK(r.feed(PeerLost{1}).empty());
}

TEST_CASE("executors are asked for and killed under the application's id", "[app_client]") {
  Run r;
  r.feed(StartApp{});
  CHECK(r.feed(WantExecutors{5}).empty());
  r.feed(Connected{1, 1});
  auto out = r.from(1, RegisteredApplication{{"app-1"}, "spark://m:7077", ""});
  CHECK(to_master<RequestExecutors>(out) ==
        std::vector<Sent<RequestExecutors>>{{1, {1, {"app-1"}, 5}}});
  out = r.feed(EndExecutors{{{"1"}, {"2"}}});
  CHECK(to_master<KillExecutors>(out) ==
        std::vector<Sent<KillExecutors>>{{1, {2, {"app-1"}, {"1", "2"}}}});
  CHECK(logged(r.from(1, ExecutorRequestAnswer{2, false}), "refused"));
}

TEST_CASE("executors of other resource profiles are asked for with the default one's",
          "[app_client]") {
  Run r;
  r.start();
  const std::vector<ProfileRequest> others = {{1, 3, 2, 2048, {{"gpu", 1}}}};
  CHECK(to_master<RequestExecutors>(r.feed(WantExecutors{0, others})).at(0).message ==
        RequestExecutors{1, {"app-1"}, 0, others});
  // The next master is told of them too.
  auto out = r.feed(PeerLost{1});
  r.feed(Connected{all<Connect>(out).at(0).ticket, 2});
  out = r.from(2, RegisteredApplication{{"app-1"}, "spark://m:7077", ""});
  CHECK(to_master<RequestExecutors>(out).at(0).message.profiles == others);
}

TEST_CASE("a lost master is tried again and again, under the application's id", "[app_client]") {
  Run r;
  r.start();
  r.from(1, ExecutorAdded{7, {"worker-a"}, "a:4000", 2, 1024});
  r.feed(WantExecutors{5});
  auto out = r.feed(PeerLost{1});
  std::vector<Duration> pauses;
  for (int i = 0; i < 7; ++i) {
    CHECK(all<AppDead>(out).empty());
    CHECK(all<Connect>(out).size() == 1);
    Duration pause{};
    AppTimer again = timer_of(out, &pause);
    CHECK(again.kind == Kind::Reconnect);
    pauses.push_back(pause);
    out = r.feed(again);
  }
  CHECK(pauses == std::vector<Duration>{1s, 2s, 4s, 8s, 15s, 15s, 15s});
  auto hello = to_master<RegisterApplication>(r.feed(Connected{all<Connect>(out).at(0).ticket, 2}));
  REQUIRE(hello.size() == 1);
  CHECK(hello[0].message.who.app.value == "app-1");
  CHECK(hello[0].message.next_executor == 8);
  AppTimer stale = timer_of(out);
  out = r.from(2, RegisteredApplication{{"app-1"}, "spark://m:7077", ""});
  CHECK(all<AppRegistered>(out).empty());
  CHECK(to_master<RequestExecutors>(out).at(0).message.total == 5);
  CHECK(r.feed(stale).empty());
}

TEST_CASE("executors to end while there is no master are told to the next one", "[app_client]") {
  Run r;
  r.start();
  CHECK(to_master<KillExecutors>(r.feed(EndExecutors{{{"3"}}})).at(0).message.executors ==
        std::vector<std::string>{"3"});
  r.from(1, ExecutorRequestAnswer{1, true});
  auto lost = r.feed(PeerLost{1});
  CHECK(r.feed(EndExecutors{{{"4"}}}).empty());
  CHECK(r.feed(EndExecutors{{{"5"}}}).empty());
  r.feed(Connected{all<Connect>(lost).at(0).ticket, 2});
  auto out = r.from(2, RegisteredApplication{{"app-1"}, "spark://m:7077", ""});
  CHECK(to_master<KillExecutors>(out).at(0).message.executors ==
        std::vector<std::string>{"4", "5"});
  SECTION("what it answered for is not asked again") {
    r.from(2, ExecutorRequestAnswer{2, true});
    lost = r.feed(PeerLost{2});
    r.feed(Connected{all<Connect>(lost).at(0).ticket, 3});
    CHECK(
        to_master<KillExecutors>(r.from(3, RegisteredApplication{{"app-1"}, "spark://m:7077", ""}))
            .empty());
  }
  SECTION("what it may not have read is") {
    r.feed(EndExecutors{{{"6"}}});
    lost = r.feed(PeerLost{2});
    r.feed(Connected{all<Connect>(lost).at(0).ticket, 3});
    out = r.from(3, RegisteredApplication{{"app-1"}, "spark://m:7077", ""});
    CHECK(to_master<KillExecutors>(out).at(0).message.executors ==
          std::vector<std::string>{"4", "5", "6"});
  }
}

TEST_CASE("an executor that goes soon is not gone yet", "[app_client]") {
  Run r;
  r.start();
  auto out = r.from(1, ExecutorUpdated{3, ExecutorState::Decommissioned, "worker decommissioned",
                                       std::nullopt, "a"});
  CHECK(all<ExecutorGone>(out).empty());
  CHECK(all<ExecutorCondemned>(out) ==
        std::vector<ExecutorCondemned>{{{"3"}, "worker decommissioned", "a"}});
}

TEST_CASE("MasterChanged is acknowledged on an own connection", "[app_client]") {
  Run r;
  r.start();
  SECTION("to a master elsewhere") {
    r.from(1, ExecutorAdded{7, {"worker-a"}, "a:4000", 2, 1024});
    auto lost = r.feed(PeerLost{1});
    auto out = r.from(50, MasterChanged{"spark://n:7077", ""});
    CHECK(all<Connect>(out).at(0).address == "n:7077");
    out = r.feed(Connected{all<Connect>(out)[0].ticket, 2});
    CHECK(to_master<MasterChangeAcknowledged>(out) ==
          std::vector<Sent<MasterChangeAcknowledged>>{{2, {{"app-1"}, 8}}});
    CHECK(r.feed(timer_of(lost)).empty());
    CHECK(all<Connect>(r.feed(PeerLost{2})).size() == 2);
  }
  SECTION("to the one that is being tried: on that connection") {
    auto out = r.feed(PeerLost{1});
    r.feed(Connected{all<Connect>(out).at(0).ticket, 2});
    out = r.from(50, MasterChanged{"spark://m:7077", ""});
    CHECK(all<Connect>(out).empty());
    CHECK(to_master<MasterChangeAcknowledged>(out).at(0).to == 2);
  }
  SECTION("before the application is registered it means nothing") {
    CHECK(Run().from(50, MasterChanged{"spark://n:7077", ""}).empty());
  }
}

TEST_CASE("the end is told to the master", "[app_client]") {
  Run r;
  r.start();
  CHECK(to_master<UnregisterApplication>(r.feed(StopApp{})) ==
        std::vector<Sent<UnregisterApplication>>{{1, {{"app-1"}}}});
  CHECK(r.feed(PeerLost{1}).empty());
}

TEST_CASE("an executor's arguments name its driver and leave the rest to the worker",
          "[app_client]") {
  CHECK(
      executor_arguments("d:7078") ==
      std::vector<std::string>{"executor", "--driver-url", "spark://CoarseGrainedScheduler@d:7078",
                               "--executor-id", "{{EXECUTOR_ID}}", "--hostname", "{{HOSTNAME}}",
                               "--cores", "{{CORES}}", "--app-id", "{{APP_ID}}", "--worker-url",
                               "{{WORKER_URL}}", "--resourceProfileId", "{{RESOURCE_PROFILE_ID}}"});
}
