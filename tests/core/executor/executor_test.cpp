// The Executor machine: handshake, tries, exit codes, heartbeats.
#include <catch2/catch.hpp>

#include "core/executor/executor.hpp"
#include "core/status/exit_codes.hpp"
#include "net/wire/codec.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace std::chrono_literals;

namespace {

struct Fixture {
  ExecutorMachine machine{[] {
    ExecutorOptions o;
    o.driver_address = "d:1";
    o.id = {"3"};
    o.build_id = "b";
    o.code_hash = "c";
    o.profile = 2;
    return o;
  }()};
  ExecutorMachine::Effects out;

  ExecutorMachine::Effects& on(ExecutorMachine::Event e) {
    out.clear();
    machine.on(e, Time{}, out);
    return out;
  }
  template <class T>
  const T* find() const {
    for (auto& e : out)
      if (auto* t = std::get_if<T>(&e)) return t;
    return nullptr;
  }
  template <class M>
  const M* sent() const {
    for (auto& e : out)
      if (auto* send = std::get_if<Send<ToDriver>>(&e); send && send->to == 7)
        if (auto* message = std::get_if<M>(&send->message)) return message;
    return nullptr;
  }
  void receive(ToExecutor m) { on(Received<ToExecutor>{7, std::move(m)}); }
  ServicesBuilt built() const { return {true, 0, "", "h:2", {"/d"}, 10s, 3, {{"gpu", {"1"}}}}; }
  void run() {
    on(StartExecutor{});
    on(Connected{0, 7});
    receive(ApplicationConfig{{{"spark.x", "y"}}, "d:2"});
    on(built());
    receive(ExecutorRegistered{});
  }
};

}  // namespace

TEST_CASE("an executor says hello, builds itself from the driver's settings, registers, is ready") {
  Fixture f;
  f.on(StartExecutor{});
  REQUIRE(f.find<Connect>());
  CHECK(f.find<Connect>()->address == "d:1");
  f.on(Connected{0, 7});
  REQUIRE(f.sent<ExecutorHello>());
  CHECK(f.sent<ExecutorHello>()->build_id == "b");
  CHECK(f.sent<ExecutorHello>()->code_hash == "c");
  CHECK(f.sent<ExecutorHello>()->profile == 2);
  f.receive(ApplicationConfig{{{"spark.x", "y"}}, "d:2"});
  REQUIRE(f.find<BuildServices>());
  CHECK(f.find<BuildServices>()->config.properties.at("spark.x") == "y");
  f.on(f.built());
  REQUIRE(f.sent<RegisterExecutor>());
  CHECK(f.sent<RegisterExecutor>()->block_address == "h:2");
  CHECK(f.sent<RegisterExecutor>()->profile == 2);
  CHECK(f.sent<RegisterExecutor>()->resources == ResourceAddresses{{"gpu", {"1"}}});
  f.receive(ExecutorRegistered{});
  CHECK(f.sent<ExecutorReady>());
}

TEST_CASE("K23 an executor without an id has the one that its driver gives") {
  Fixture f;
  f.on(StartExecutor{});
  f.on(Connected{0, 7});
  ApplicationConfig config;
  config.executor = {"12"};
  f.receive(config);
  f.on(f.built());
  CHECK(f.sent<RegisterExecutor>()->id.value == "12");
  f.receive(ExecutorRegistered{});
  CHECK(f.sent<ExecutorReady>()->id.value == "12");
}

TEST_CASE("three tries to reach the driver, then exit 1") {
  Fixture f;
  f.on(StartExecutor{});
  f.on(Connected{0, 0});
  CHECK_FALSE(f.find<Exit>());
  f.on(ExecutorTimer{ExecutorTimer::Kind::RetryConnect});
  f.on(Connected{0, 7});
  f.on(PeerLost{7});
  CHECK_FALSE(f.find<Exit>());
  f.on(ExecutorTimer{ExecutorTimer::Kind::RetryConnect});
  f.on(Connected{0, 8});
  f.on(PeerLost{8});
  REQUIRE(f.find<Exit>());
  CHECK(f.find<Exit>()->code == kExitFailure);
  CHECK(f.find<Exit>()->reason.find("d:1") != std::string::npos);
  CHECK(f.on(StartExecutor{}).empty());
}

TEST_CASE("how an executor ends") {
  Fixture f;
  SECTION("refused") {
    f.on(StartExecutor{});
    f.on(Connected{0, 7});
    f.receive(ExecutorRefused{"another build"});
    REQUIRE(f.find<Exit>());
    CHECK(f.find<Exit>()->code == kExitFailure);
    CHECK(f.find<Exit>()->reason.find("another build") != std::string::npos);
  }
  SECTION("no local directory") {
    f.on(StartExecutor{});
    f.on(Connected{0, 7});
    f.receive(ApplicationConfig{});
    f.on(ServicesBuilt{false, kExitDiskStoreFailure, "no dir", "", {}, 0s, 0});
    CHECK(f.sent<RegisterExecutor>());  // else the driver would not hear why it ends
    REQUIRE(f.sent<ExecutorExiting>());
    CHECK(*f.sent<ExecutorExiting>() == ExecutorExiting{{"3"}, kExitDiskStoreFailure, "no dir"});
    CHECK(f.find<Exit>()->code == kExitDiskStoreFailure);
  }
  SECTION("the driver goes") {
    f.run();
    f.on(PeerLost{7});
    CHECK(f.find<Exit>()->code == kExitFailure);
    CHECK(f.find<Exit>()->reason.find("disassociated") != std::string::npos);
  }
  SECTION("another peer goes") {
    f.run();
    CHECK(f.on(PeerLost{9}).empty());
  }
  SECTION("told to stop") {
    f.run();
    f.receive(StopExecutor{});
    CHECK(f.find<Exit>()->code == kExitOk);
  }
  SECTION("a signal") {
    f.run();
    f.on(StopRequested{143, "SIGTERM"});
    CHECK(f.sent<ExecutorExiting>());
    CHECK(f.find<Exit>()->code == 143);
  }
}

TEST_CASE(
    "heartbeats: an answer resets the count, too many unanswered ones end the executor with 56") {
  Fixture f;
  f.run();
  ExecutorTimer beat{ExecutorTimer::Kind::Heartbeat};
  for (int i = 0; i < 10; ++i) {
    f.on(beat);
    REQUIRE(f.find<MeasureAndBeat>());
    f.receive(HeartbeatAnswer{});
  }
  for (int i = 0; i < 3; ++i) {
    f.on(beat);
    CHECK_FALSE(f.find<Exit>());
  }
  f.on(beat);
  REQUIRE(f.find<Exit>());
  CHECK(f.find<Exit>()->code == kExitHeartbeatFailure);
}

TEST_CASE("tasks, kills, revocations and answers are passed on") {
  Fixture f;
  f.run();
  f.receive(StageProgram{5, Payload(Bytes("code")), {}});
  CHECK(f.find<KeepProgram>());
  f.receive(LaunchTasks{5, {}, 0, 1, 0, {TaskLaunch{{1}}}});
  CHECK(f.find<StartTasks>());
  f.receive(KillTask{{1}, true, "why"});
  CHECK(f.find<StopTask>());
  f.receive(RevokeTasks{{{2}}});
  CHECK(f.find<TakeBack>());
  f.on(RevokeAnswered{{{2}}});
  CHECK(f.sent<TasksRevoked>());
  f.receive(ForgetProgram{5});
  CHECK(f.find<DropProgram>());
  f.receive(MapOutputs{});
  CHECK(f.find<ForServices>());
  f.receive(HeartbeatAnswer{true});
  CHECK(f.find<ForServices>());
  f.on(TasksMoved{{TaskUpdate{{1}}}});
  CHECK(f.sent<StatusUpdates>());
}

TEST_CASE("updates go in as many messages as keep each below half of what the driver takes") {
  struct Case {
    const char* name;
    std::vector<size_t> added;  // bytes for an accumulator, by task
    std::vector<size_t> told;   // tasks, by message
  };
  const Case cases[] = {{"small", {100, 100, 100}, {3}},
                        {"two do not fit together", {8000, 8000, 100}, {1, 2}},
                        {"one is too large for any", {100, 15'000, 100}, {1, 1, 1}},
                        {"alone", {15'000}, {1}},
                        {"many", std::vector<size_t>(40, 0), {18, 18, 4}}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Fixture f;
    f.on(StartExecutor{});
    f.on(Connected{0, 7});
    f.receive(ApplicationConfig{});
    ServicesBuilt built = f.built();
    built.max_message_size = 20'000;
    f.on(built);
    f.receive(ExecutorRegistered{});
    TasksMoved moved;
    for (const size_t bytes : c.added) {
      TaskUpdate& u = moved.updates.emplace_back();
      u.id = {static_cast<int64_t>(moved.updates.size())};
      u.accumulators.push_back({AccumulatorId{1}, Bytes(bytes, 'a'), false});
    }
    f.on(moved);
    std::vector<size_t> told;
    int64_t last = 0;
    for (const auto& effect : f.out) {
      const ToDriver& message = std::get<Send<ToDriver>>(effect).message;
      CHECK(net::encode(message).body.size() < 20'000);
      const StatusUpdates& updates = std::get<StatusUpdates>(message);
      told.push_back(updates.tasks.size());
      for (const TaskUpdate& u : updates.tasks) CHECK(u.id.value == ++last);
    }
    CHECK(told == c.told);
  }
}

TEST_CASE("a decommissioned executor says that all is done when it is told to stop") {
  Fixture f;
  f.run();
  f.on(DecommissionSignalled{});
  REQUIRE(f.sent<ExecutorDecommissioning>());
  CHECK(f.sent<ExecutorDecommissioning>()->id.value == "3");
  f.receive(DecommissionExecutor{"spark scale down"});
  CHECK_FALSE(f.find<Exit>());
  f.receive(StopExecutor{});
  REQUIRE(f.sent<ExecutorExiting>());
  CHECK(*f.sent<ExecutorExiting>() == ExecutorExiting{{"3"}, 0, "Finished decommissioning"});
  REQUIRE(f.find<Exit>());
  CHECK(f.find<Exit>()->code == 0);
}
