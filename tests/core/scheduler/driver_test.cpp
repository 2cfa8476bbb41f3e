// The Driver machine as a whole: handshake, one job, executors' ends, the tables that executors
// ask.
#include "tests/core/scheduler/scheduler_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

DriverOptions standalone(int32_t ahead = 0) {
  DriverOptions o = test_options(ahead);
  o.cluster_manager = true;
  return o;
}

std::string refusal(Cluster& c) {
  const std::vector<ExecutorRefused> m = c.messages<ExecutorRefused>();
  return m.empty() ? "" : m[0].reason;
}

}  // namespace

TEST_CASE("a two-stage job runs to its result", "[driver]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A");
  c.executor("B");
  const NodePtr maps = rdd(2);
  const uint64_t t = c.job(rdd(2, {shuffle(maps, 2)}));
  REQUIRE(c.live(0, 0).size() == 2);
  c.maps_ok(0);
  REQUIRE(c.live(1, 0).size() == 2);
  c.results_ok(1);
  CHECK(c.results[t] == std::map<int32_t, std::string>{{0, "42"}, {1, "43"}});
  CHECK(c.error(t).empty());
  CHECK(c.driver.idle_state_is_clean());
}

// ---- handshake ---------------------------------------------------------------------------------

TEST_CASE("only executors of the same build and application are let in", "[driver]") {
  struct Case {
    const char *app, *build, *hash;
    std::vector<const char*> said;  // empty: let in
  };
  const std::vector<Case> cases = {
      {"app-1", "b1", "c1", {}},
      {"app-1", "b2", "c1", {"build id 'b2'", "'b1'"}},
      {"app-1", "", "c1", {"build id ''", "'b1'"}},
      {"app-1", "b1", "c2", {"code hash 'c2'", "'c1'"}},
      {"app-1", "b1", "", {"code hash ''", "'c1'"}},
      {"app-2", "b1", "c1", {"application 'app-2'", "'app-1'"}},
      {"", "b1", "c1", {"application ''", "'app-1'"}},
  };
  for (const Case& k : cases) {
    CAPTURE(k.app, k.build, k.hash);
    Cluster c(test_options());
    c.peers["A"] = 7;
    c.from("A", ExecutorHello{Identity{"", AppId{k.app}, 0, ""}, ExecutorId{"A"}, k.build, k.hash});
    if (k.said.empty()) {
      REQUIRE(c.messages<ApplicationConfig>("A").size() == 1);
      CHECK(c.messages<ApplicationConfig>()[0].properties.at("spark.app.name") == "test");
      CHECK(c.messages<ApplicationConfig>()[0].driver_block_address == "driver:7079");
    } else {
      for (const char* part : k.said) CHECK(refusal(c).find(part) != std::string::npos);
    }
  }
}

TEST_CASE("a driver without a build id lets nobody in", "[driver]") {
  DriverOptions o = test_options();
  o.build_id.clear();
  Cluster c(o);
  c.peers["A"] = 7;
  c.from("A", ExecutorHello{Identity{"", AppId{"app-1"}, 0, ""}, ExecutorId{"A"}, "", "c1"});
  CHECK_FALSE(refusal(c).empty());
}

TEST_CASE("an id registers once, and only after its own hello", "[driver]") {
  Cluster c(test_options());
  c.executor("A");
  CHECK(c.seen<ExecutorJoined>().size() == 1);
  c.peers["twin"] = 9;
  c.from("twin", ExecutorHello{Identity{"", AppId{"app-1"}, 0, ""}, ExecutorId{"A"}, "b1", "c1"});
  RegisterExecutor m;
  m.id = ExecutorId{"A"};
  m.cores = 1;
  c.from("twin", m);
  CHECK(refusal(c) == "Duplicate executor ID: A");
  c.peers["rude"] = 10;
  m.id = ExecutorId{"B"};
  c.from("rude", m);
  CHECK(refusal(c).find("without a matching hello") != std::string::npos);
  CHECK(c.driver.executors().active().size() == 1);
}

TEST_CASE("free slots are offered again every spark.scheduler.revive.interval", "[driver]") {
  DriverOptions o = test_options(0);
  o.revive_interval = GENERATE(1s, 2s);
  Cluster c(o);
  c.executor("A", 1);
  c.executor("B", 1);
  c.job(rdd(2, {}, {{"hB"}, {"hB"}}));  // the second waits 3 s for its host
  Duration waited{0};
  while (c.live().size() < 2 && waited < 10s) {
    c.advance(100ms);
    waited += 100ms;
  }
  CHECK(waited == (o.revive_interval == 1s ? 3s : 4s));
}

TEST_CASE("an executor gets tasks only when it is ready", "[driver]") {
  Cluster c(test_options(GENERATE(0, 8)));
  const uint64_t t = c.job(rdd(1));
  c.hello("A");
  c.from("A", ExecutorReady{ExecutorId{"A"}});
  c.registers("A");
  CHECK(c.messages<ExecutorRegistered>("A").size() == 1);
  CHECK(c.live().empty());
  CHECK(c.driver.total_cores() == 0);
  c.from("A", ExecutorReady{ExecutorId{"A"}});
  CHECK(c.live().size() == 1);
  CHECK(c.driver.total_cores() == 4);
  c.from("A", ExecutorReady{ExecutorId{"A"}});
  CHECK(c.driver.total_cores() == 4);
  CHECK(c.seen<BlockManagerAdded>().size() == 1);
  c.results_ok(0);
  CHECK(c.ended(t));
}

TEST_CASE("messages of strangers change nothing and get no answers", "[driver]") {
  Cluster c(test_options());
  c.peers["X"] = 66;
  c.from("X", StatusUpdates{{TaskUpdate{}}});
  c.from("X", TasksRevoked{{TaskId{0}}});
  c.from("X", BlockUpdates{ExecutorId{"X"}, {BlockUpdate{}}});
  c.from("X", MapOutputsRequest{ShuffleId{0}});
  CHECK(c.last.empty());
  c.from("X", BlockLocationsRequest{1, {"rdd_0_0"}});
  c.from("X", AskPermissionToCommit{});
  c.from("X", ExecutorExiting{ExecutorId{"X"}, 1, "x"});
  CHECK(c.last.empty());
  c.from("X", ExecutorDecommissioning{ExecutorId{"X"}});
  c.from("X", BlockTaken{});
  CHECK(c.last.empty());
  c.on(PeerLost{66});
  CHECK(c.last.empty());
}

TEST_CASE("T37 a file that is added while a set runs is there before the next set's tasks",
          "[driver]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  const AddFiles files{{"spark://driver:1/files/f"}, {}};
  const uint64_t first = c.job(rdd(2));
  c.on(ShipFiles{files});
  CHECK(c.messages<AddFiles>("A") == std::vector{files});  // whatever runs there, and once
  CHECK(c.messages<LaunchTasks>().empty());
  c.finish(first);
  c.job(rdd(40));
  CHECK(c.messages<AddFiles>().empty());
  c.executor("B", 1);
  std::string order;
  for (const Send<ToExecutor>& s : c.effects<Send<ToExecutor>>()) {
    if (s.to != c.peers.at("B")) continue;
    if (std::holds_alternative<AddFiles>(s.message)) order += "files ";
    if (std::holds_alternative<LaunchTasks>(s.message)) order += "tasks ";
  }
  CHECK(order == "files tasks ");
}

TEST_CASE("what an executor says again, or out of turn, changes nothing", "[driver]") {
  Cluster c(test_options());
  c.on(ShipFiles{{{"file:/f"}, {}}});
  c.executor("A");
  CHECK(c.messages<AddFiles>("A").size() == 1);  // it came after the files
  c.hello("A2");
  c.peers["A2"] = c.peers["A"];
  c.from("A2", ExecutorHello{Identity{"", AppId{"app-1"}, 0, ""}, ExecutorId{"A2"}, "b1", "c1"});
  c.from("A", ExecutorReady{ExecutorId{"A"}});
  c.registers("A");
  CHECK(c.seen<ExecutorJoined>().size() == 1);
  CHECK(c.driver.total_cores() == 4);
}

TEST_CASE("K23 an executor that asks for its id gets a number that no other has", "[driver]") {
  Cluster c(test_options());
  const auto ask = [&](const std::string& pod) {
    c.peers[pod] = ++c.next_peer;
    c.from(pod, ExecutorHello{
                    Identity{"", AppId{"app-1"}, 0, ""}, {kUnnamedExecutor}, "b1", "c1", 0, pod});
    REQUIRE(c.effects<NameBackendExecutor>().size() == 1);
    CHECK(c.effects<NameBackendExecutor>()[0].pod == pod);
    REQUIRE(c.messages<ApplicationConfig>().size() == 1);
    CHECK(c.effects<NameBackendExecutor>()[0].executor ==
          c.messages<ApplicationConfig>()[0].executor);
    return c.messages<ApplicationConfig>()[0].executor.value;
  };
  CHECK(ask("pod-a") == "1");
  CHECK(ask("pod-b") == "2");
  RegisterExecutor m;
  m.id = ExecutorId{"2"};
  m.host = "hb";
  m.cores = 4;
  c.from("pod-b", m);
  c.from("pod-b", ExecutorReady{ExecutorId{"2"}});
  CHECK(c.driver.total_cores() == 4);
}

TEST_CASE("executors without an id, or of a profile that is not known, are not let in",
          "[driver]") {
  Cluster c(test_options());
  c.hello("");
  REQUIRE(c.messages<ExecutorRefused>().size() == 1);
  c.hello("A");
  c.hosts["A"] = "hA";
  RegisterExecutor m;
  m.id = ExecutorId{"A"};
  m.profile = 9;
  c.from("A", m);
  CHECK(c.messages<ExecutorRefused>().size() == 1);
  m.profile = -1;
  c.from("A", m);
  CHECK(c.messages<ExecutorRefused>().size() == 1);
  m.id = ExecutorId{"B"};
  m.profile = 0;
  c.from("A", m);  // not the one that said hello
  CHECK(c.messages<ExecutorRefused>().size() == 1);
  c.peers["X"] = 66;
  c.from("X", m);
  CHECK(c.messages<ExecutorRefused>().size() == 1);
  CHECK(c.seen<ExecutorJoined>().empty());
}

TEST_CASE("an executor that ends before it came is lost from no host", "[driver]") {
  Cluster c(test_options());
  c.on(BackendExecutorExited{ExecutorId{"A"}, 1, "it could not start", ""});
  for (const Log& log : c.logs) CHECK(log.line.find(" on ") == std::string::npos);
  CHECK(c.driver.total_cores() == 0);
}

TEST_CASE("that nothing was accepted is said with the cluster manager's reason, if it gave one",
          "[driver]") {
  const bool says = GENERATE(false, true);
  Cluster c(test_options());
  if (says) c.on(BackendStatus{"no worker is there"});
  c.job(rdd(1));
  c.advance(15s);
  REQUIRE(c.warnings().size() == 1);
  CHECK(c.warnings()[0].ends_with(says ? "sufficient resources: no worker is there"
                                       : "sufficient resources"));
}

TEST_CASE("in local mode nobody waits for executors to come", "[driver]") {
  DriverOptions o = test_options();
  o.is_local = true;
  Cluster c(o);
  c.job(rdd(1));
  c.advance(60s);
  CHECK(c.warnings().empty());
}

TEST_CASE("a driver stops once, and hears no timer after it", "[driver]") {
  DriverOptions o = test_options();
  o.cluster_manager = GENERATE(false, true);
  Cluster c(o);
  c.executor("A");
  c.job(rdd(1));
  c.on(StopDriver{"it is enough"});
  CHECK(c.messages<StopExecutor>().size() == 1);
  c.on(StopDriver{"again"});
  CHECK(c.last.empty());
  c.on(PeerLost{c.peers.at("A")});
  REQUIRE(c.seen<ExecutorRemoved>().size() == 1);
  CHECK(c.warnings().empty());
  c.advance(300s);
}

// ---- the end of executors ----------------------------------------------------------------------

TEST_CASE("without a cluster manager a lost connection is a lost executor", "[driver]") {
  Cluster c(test_options());
  c.executor("A");
  c.on(PeerLost{c.peers.at("A")});
  REQUIRE(c.seen<ExecutorRemoved>().size() == 1);
  CHECK(c.seen<ExecutorRemoved>()[0].reason.starts_with("Remote RPC client disassociated."));
  CHECK(c.seen<BlockManagerRemoved>().size() == 1);
}

TEST_CASE("with one, its word is waited for", "[driver]") {
  const bool told = GENERATE(true, false);
  Cluster c(standalone(GENERATE(0, 8)));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  c.on(PeerLost{c.peers.at("A")});
  CHECK(c.driver.total_cores() == 0);
  c.advance(4999ms);
  CHECK(c.seen<ExecutorRemoved>().empty());
  if (told) c.on(BackendExecutorExited{ExecutorId{"A"}, 137, "Command exited with code 137", ""});
  c.advance(1s);
  REQUIRE(c.seen<ExecutorRemoved>().size() == 1);
  CHECK(c.seen<ExecutorRemoved>()[0].reason.starts_with(told ? "Command exited with code 137"
                                                             : "Remote RPC client disassociated."));
  c.on(BackendExecutorExited{ExecutorId{"A"}, 137, "late", ""});
  CHECK(c.seen<ExecutorRemoved>().size() == 1);
  c.on(CancelJob{t, ""});
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("an executor that says why it ends is believed", "[driver]") {
  DriverOptions o = standalone();
  o.max_task_failures = 1;
  const auto [code, fails] = GENERATE(table<int32_t, bool>({{53, false}, {56, false}, {52, true}}));
  Cluster c(o);
  c.executor("A");
  const uint64_t t = c.job(rdd(1));
  c.running(c.live()[0]);
  c.from("A", ExecutorExiting{ExecutorId{"A"}, code, "because"});
  CHECK(c.seen<ExecutorRemoved>().at(0).reason == "because");
  CHECK(c.ended(t) == fails);
  c.on(PeerLost{c.peers.at("A")});
  CHECK(c.seen<ExecutorRemoved>().size() == 1);
}

TEST_CASE("of one that was ended by a signal the cluster manager knows better", "[driver]") {
  const bool told = GENERATE(true, false);
  DriverOptions o = standalone();
  o.max_task_failures = 1;
  Cluster c(o);
  c.executor("A");
  const uint64_t t = c.job(rdd(1));
  c.running(c.live()[0]);
  c.from("A", ExecutorExiting{ExecutorId{"A"}, 143, "received signal 15"});
  c.on(PeerLost{c.peers.at("A")});
  CHECK(c.driver.total_cores() == 0);
  c.advance(4999ms);
  CHECK(c.seen<ExecutorRemoved>().empty());
  if (told) c.on(BackendExecutorExited{ExecutorId{"A"}, {}, "deleted by a user", "", true});
  c.advance(1s);
  REQUIRE(c.seen<ExecutorRemoved>().size() == 1);
  CHECK(c.seen<ExecutorRemoved>()[0].reason == (told ? "deleted by a user" : "received signal 15"));
  CHECK(!c.ended(t));  // its task is not blamed
}

TEST_CASE("B4 an executor that was given up and still lives is told to stop", "[driver]") {
  Cluster c(test_options());
  c.executor("A");
  c.from("A", ExecutorHeartbeat{ExecutorId{"A"}, 0});
  CHECK(c.messages<StopExecutor>("A").empty());
  // The worker is gone; its child goes on.
  c.on(BackendExecutorExited{ExecutorId{"A"}, std::nullopt, "worker lost", "hA"});
  c.from("A", ExecutorHeartbeat{ExecutorId{"A"}, 0});
  CHECK(c.messages<HeartbeatAnswer>("A").at(0).reregister == true);
  CHECK(c.messages<StopExecutor>("A").size() == 1);
}

TEST_CASE("B3 B4 heartbeats are answered, by block table", "[driver]") {
  Cluster c(test_options());
  c.executor("A");
  c.from("A", ExecutorHeartbeat{ExecutorId{"A"}, 0});
  CHECK(c.messages<HeartbeatAnswer>("A").at(0).reregister == false);
  c.peers["X"] = 66;
  c.from("X", ExecutorHeartbeat{ExecutorId{"X"}, 0});
  CHECK(c.messages<HeartbeatAnswer>("X").at(0).reregister == true);
  // Thrown out of the block table by a fetch failure, it is asked to tell its blocks again.
  const ShufflePtr s = shuffle(rdd(1), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.maps_ok(0);
  c.fetch_failed(c.live(1, 0)[0], s->id, 0, "A");
  c.from("A", ExecutorHeartbeat{ExecutorId{"A"}, 0});
  CHECK(c.messages<HeartbeatAnswer>("A").at(0).reregister == true);
  c.from("A", ExecutorHeartbeat{ExecutorId{"A"}, 0});
  CHECK(c.messages<HeartbeatAnswer>("A").at(0).reregister == false);
  c.on(CancelJob{t, ""});
}

TEST_CASE("listeners hear what heartbeats of registered executors say", "[driver]") {
  Cluster c(test_options());
  c.executor("A");
  const TaskProgress progress{TaskId{7}, 100, 2000};
  c.from("A", ExecutorHeartbeat{ExecutorId{"A"}, 4096, {progress}});
  const auto heard = c.seen<ExecutorMetricsUpdated>();
  REQUIRE(heard.size() == 1);
  CHECK(heard[0].executor.value == "A");
  CHECK(heard[0].time == c.now);
  CHECK(heard[0].resident_bytes == 4096);
  CHECK(heard[0].tasks == std::vector<TaskProgress>{progress});
  c.peers["X"] = 66;
  c.from("X", ExecutorHeartbeat{ExecutorId{"X"}, 0});
  CHECK(c.seen<ExecutorMetricsUpdated>().size() == 1);
}

TEST_CASE("B7 time in which the driver itself was stopped is nobody's silence", "[driver]") {
  Cluster c(standalone());
  c.executor("1");
  c.executor("2");
  c.advance(50s);
  c.from("1", ExecutorHeartbeat{ExecutorId{"1"}, 0});
  c.now += 600s;
  c.advance(0s);  // the check that was due at 60 s, before what was sent meanwhile is read
  CHECK(c.seen<ExecutorRemoved>().empty());
  c.from("1", ExecutorHeartbeat{ExecutorId{"1"}, 0});
  c.advance(60s);  // who is still silent is lost
  REQUIRE(c.seen<ExecutorRemoved>().size() == 1);
  CHECK(c.seen<ExecutorRemoved>()[0].executor.value == "2");
}

TEST_CASE("B6 B7 silence of more than the timeout ends an executor, found at the next check",
          "[driver]") {
  Cluster c(standalone());
  c.executor("1");
  c.executor("2");
  c.advance(60s);
  c.from("1", ExecutorHeartbeat{ExecutorId{"1"}, 0});
  c.advance(120s);  // checks at 60, 120 and 180 s
  REQUIRE(c.seen<ExecutorRemoved>().size() == 1);
  CHECK(c.seen<ExecutorRemoved>()[0].executor.value == "2");
  CHECK(c.seen<ExecutorRemoved>()[0].reason == "Executor heartbeat timed out after 180000 ms");
  const auto kills = c.effects<KillBackendExecutor>();
  REQUIRE(kills.size() == 1);
  CHECK(kills[0].executor.value == "2");
  CHECK(c.messages<StopExecutor>("2").size() == 1);
  c.advance(60s);
  CHECK(c.seen<ExecutorRemoved>().size() == 2);
  CHECK(c.kills == std::vector<std::string>{"2", "1"});
  CHECK(c.driver.executors().active().empty());
}

TEST_CASE("a worker that is gone takes its host's outputs along", "[driver]") {
  Cluster c(standalone());
  c.executor("A", 4, "h1");
  c.executor("B", 4, "h1");
  c.executor("C", 4, "h2");
  const ShufflePtr s =
      shuffle(rdd(3, {}, {{"executor_h1_A"}, {"executor_h1_B"}, {"executor_h2_C"}}), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.maps_ok(0);
  c.on(BackendWorkerRemoved{"h1", "worker lost"});
  CHECK(c.driver.map_outputs().missing(s->id) == std::vector<int32_t>{0, 1});
  c.on(CancelJob{t, ""});
}

// ---- tables ------------------------------------------------------------------------------------

TEST_CASE("map outputs are told with local directories, the same message to all", "[driver]") {
  Cluster c(test_options());
  c.executor("A");
  c.executor("B");
  const ShufflePtr s = shuffle(rdd(2, {}, {{"hA"}, {"hB"}}), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.maps_ok(0);
  c.from("A", MapOutputsRequest{s->id});
  REQUIRE(c.effects<SendShared>().size() == 1);
  const SendShared first = c.effects<SendShared>()[0];
  CHECK(first.to == c.peers.at("A"));
  const auto& m = std::get<tinderbox::MapOutputs>(*first.message);
  CHECK(m.statuses.size() == 2);
  CHECK(m.local_dirs.at("B") == std::vector<std::string>{"/tmp/B"});
  CHECK(m.epoch == c.live()[0].epoch);
  c.from("B", MapOutputsRequest{s->id});
  CHECK(c.effects<SendShared>()[0].message == first.message);
  c.on(ForgetShuffle{s->id});
  CHECK(c.messages<RemoveShuffle>().size() == 2);
  CHECK_FALSE(c.driver.map_outputs().contains(s->id));
  c.on(CancelJob{t, ""});
}

TEST_CASE("where map outputs are goes ahead of the first tasks that read them, and of no others",
          "[driver]") {
  Cluster c(test_options());
  c.executor("A");
  const ShufflePtr s = shuffle(rdd(1), 3);
  const std::shared_ptr<Node> reader = rdd(3, {s});
  // Where the outputs and the tasks stand among the effects.
  const auto kinds = [&] {
    std::string order;
    for (const DriverEffect& effect : c.last) {
      if (std::holds_alternative<SendShared>(effect)) order += "outputs ";
      const auto* sent = std::get_if<Send<ToExecutor>>(&effect);
      if (sent && std::holds_alternative<LaunchTasks>(sent->message)) order += "tasks ";
    }
    return order;
  };
  SECTION("once, whatever comes after them") {
    c.job(reader);
    CHECK(kinds() == "tasks ");
    c.maps_ok(0);
    CHECK(kinds() == "outputs tasks ");
    c.results_ok(1);
    c.job(reader);
    CHECK(kinds() == "tasks ");
  }
  SECTION("not when partitions on the way may be kept") {
    reader->storage_bits = 1;
    c.job(rdd(3, {narrow(reader)}));
    c.maps_ok(0);
    CHECK(kinds() == "tasks ");
  }
}

TEST_CASE("a map output lies where it was made, whatever the update says", "[driver]") {
  Cluster c(test_options());
  c.executor("A");
  const ShufflePtr s = shuffle(rdd(1), 1);
  c.job(rdd(1, {s}));
  TaskUpdate u = c.output(c.live()[0]);
  u.map_status->location.executor = ExecutorId{"elsewhere"};
  c.update(c.live()[0], u);
  c.from("A", MapOutputsRequest{s->id});
  CHECK(std::get<tinderbox::MapOutputs>(*c.effects<SendShared>().at(0).message)
            .statuses[0]
            ->location == c.place("A"));
}

TEST_CASE("block updates are kept, published, asked for, and dropped", "[driver]") {
  Cluster c(test_options());
  c.executor("A");
  c.executor("B");
  BlockUpdate u;
  u.block = "rdd_5_0";
  u.in_memory = true;
  u.memory_bytes = 10;
  c.from("A", BlockUpdates{ExecutorId{"A"}, {u}});
  CHECK(c.seen<BlockUpdated>().size() == 1);
  c.from("B", BlockLocationsRequest{3, {"rdd_5_0", "rdd_5_1"}});
  REQUIRE(c.messages<BlockLocations>("B").size() == 1);
  CHECK(c.messages<BlockLocations>()[0].request == 3);
  CHECK(c.messages<BlockLocations>()[0].locations ==
        std::vector<std::vector<BlockManagerId>>{{c.place("A")}, {}});
  c.on(UnpersistRdd{RddId{5}});
  CHECK(c.messages<RemoveRdd>().size() == 2);
  CHECK(c.seen<RddUnpersisted>().size() == 1);
  CHECK(c.driver.blocks().locations("rdd_5_0").empty());
  c.on(DestroyBroadcast{BroadcastId{2}});
  CHECK(c.messages<RemoveBroadcast>().size() == 2);
}

TEST_CASE("executors that get no offers yet or any more are told what is removed, and to end",
          "[driver]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  c.running(c.live()[0]);
  c.from("A", ExecutorDecommissioning{ExecutorId{"A"}});
  c.executor("B");
  c.hello("C");
  c.registers("C");
  c.hello("D");
  c.on(UnpersistRdd{RddId{5}});
  CHECK(c.messages<RemoveRdd>().size() == 3);
  c.on(ForgetShuffle{ShuffleId{5}});
  CHECK(c.messages<RemoveShuffle>().size() == 3);
  c.on(DestroyBroadcast{BroadcastId{5}});
  CHECK(c.messages<RemoveBroadcast>().size() == 3);
  c.on(ShipFiles{});
  CHECK(c.messages<AddFiles>().size() == 1);
  CHECK(c.messages<AddFiles>("B").size() == 1);
  c.from("C", ExecutorReady{ExecutorId{"C"}});
  CHECK(c.messages<AddFiles>("C").size() == 1);
  c.on(StopDriver{""});
  for (const char* e : {"A", "B", "C"}) CHECK(c.messages<StopExecutor>(e).size() == 1);
  CHECK(c.ended(t));
}

TEST_CASE("who speaks with the driver: not those that are gone, nor those that only said hello",
          "[driver]") {
  DriverOptions o = test_options();
  o.cluster_manager = true;
  Cluster c(o);
  const auto connected = [&] {
    std::vector<std::string> ids;
    for (const int32_t slot : c.driver.executors().connected())
      ids.push_back(c.driver.executors().at(slot).id.value);
    return ids;
  };
  using Ids = std::vector<std::string>;
  CHECK(connected().empty());
  c.hello("A");
  CHECK(connected().empty());
  c.hello("B");
  c.registers("B");
  c.registers("A");
  CHECK(connected() == Ids{"B", "A"});  // as they registered
  c.from("A", ExecutorReady{ExecutorId{"A"}});
  c.executor("C");
  c.executor("D");
  c.from("C", ExecutorDecommissioning{ExecutorId{"C"}});
  CHECK(connected() == Ids{"B", "A", "C", "D"});  // C has to end yet
  c.on(PeerLost{c.peers.at("A")});
  CHECK(connected() == Ids{"B", "C", "D"});
  c.lose("D");
  CHECK(connected() == Ids{"B", "C"});
  c.on(PeerLost{c.peers.at("D")});
  CHECK(connected() == Ids{"B", "C"});
}

namespace {
bool may_commit(Cluster& c, const Sent& s) {
  c.from(s.executor,
         AskPermissionToCommit{9, s.stage, s.stage_attempt, s.partition, s.number, s.id});
  REQUIRE(c.messages<CommitAnswer>().size() == 1);
  CHECK(c.messages<CommitAnswer>()[0].request == 9);
  return c.messages<CommitAnswer>()[0].allowed;
}
}  // namespace

TEST_CASE("B41 B42 commit permission over the wire", "[driver]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A");
  const uint64_t t = c.job(rdd(1));
  const Sent s = c.live()[0];
  const auto ask = [&](const Sent& task) { return may_commit(c, task); };
  CHECK(ask(s));
  CHECK_FALSE(ask(s));
  c.fail(s);
  CHECK_FALSE(ask(s));
  const Sent again = c.live()[0];
  CHECK(ask(again));
  c.succeed(again, "x");
  CHECK(c.ended(t));
  CHECK_FALSE(ask(again));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("an executor that was given up may commit nothing", "[driver]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(2));
  const std::vector<Sent> lost = c.live();
  c.on(BackendExecutorExited{ExecutorId{"A"}, std::nullopt, "worker lost", ""});
  c.executor("B", 2);
  for (const Sent& s : lost) CHECK_FALSE(may_commit(c, s));
  for (const Sent& s : c.live()) {
    if (s.executor != "B") continue;
    CHECK(may_commit(c, s));
    c.succeed(s, "x");
  }
  CHECK(c.ended(t));
}

TEST_CASE("whoever asks to commit runs, and loses the permission with its executor", "[driver]") {
  Cluster c(test_options(8));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(2));
  REQUIRE(c.live().size() == 2);
  REQUIRE(c.seen<TaskStarted>().size() == 1);
  const Sent ahead = c.live()[1];
  CHECK(may_commit(c, ahead));
  CHECK(c.seen<TaskStarted>().size() == 2);
  c.on(PeerLost{c.peers.at("A")});
  CHECK(c.seen<TaskEnded>().size() == 2);
  c.executor("B", 2);
  for (const Sent& s : c.live()) {
    if (s.executor != "B") continue;
    CHECK(may_commit(c, s));
    c.succeed(s, "x");
  }
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("where an executor says which task ended it, that one alone is blamed", "[driver]") {
  DriverOptions o = standalone();
  o.max_task_failures = 2;
  o.launch_ahead = GENERATE(0, 8);
  const bool told = GENERATE(false, true);
  Cluster c(o);
  c.executor("A", 2);
  const uint64_t t = c.job(rdd(2));
  for (int i = 0; i < 2; ++i) {
    CHECK(!c.ended(t));
    const std::string executor = i == 0 ? "A" : "B";
    if (i == 1) c.executor("B", 2);
    for (const Sent& s : c.live())
      if (told || s.partition == 1) c.running(s);
    const auto all = c.live();
    const auto culprit = std::ranges::find_if(
        all, [&](const Sent& s) { return s.partition == 0 && s.executor == executor; });
    REQUIRE(culprit != all.end());
    c.from(executor, ExecutorExiting{ExecutorId{executor}, 52, "no memory", culprit->id});
  }
  REQUIRE(c.ended(t));
  CHECK(c.error(t).find("Task 0 in stage 0.0 failed 2 times") != std::string::npos);
}
