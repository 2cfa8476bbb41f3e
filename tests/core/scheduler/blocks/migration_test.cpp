// What decommissioned executors hold moves to others, through the Driver machine.
#include "core/status/exit_reasons.hpp"
#include "core/storage/block_id.hpp"
#include "tests/core/scheduler/dag/dag_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

DriverOptions migrating(int32_t ahead = GENERATE(0, 8)) {
  DriverOptions o = test_options(ahead);
  o.cluster_manager = true;
  o.executor_timeout = 24h;  // these executors send no heartbeats
  o.migration = {.shuffles = true,
                 .rdds = true,
                 .max_failures = 3,
                 .reattempt_interval = 30s,
                 .max_threads = 8};
  return o;
}

/// Executors that take blocks when the test says so.
struct Moving : Dag {
  explicit Moving(DriverOptions options = migrating()) : Dag(std::move(options)) {}

  /// What A was told in the last turn.
  void listen() {
    stopped_a = stopped_a || !messages<StopExecutor>("A").empty();
    for (const RemoveBlocks& m : messages<RemoveBlocks>("A"))
      removed.insert(removed.end(), m.blocks.begin(), m.blocks.end());
  }
  void decommission(const std::string& id) {
    from(id, ExecutorDecommissioning{ExecutorId{id}});
    listen();
  }
  void pass(Duration d) {
    for (Duration gone{0}; gone < d; gone += 1s) {
      last.clear();
      advance(1s);
      listen();
    }
  }
  /// "B shuffle_0_3_0.data" …
  Strings blocks() const {
    Strings all;
    for (const Take& t : takes) all.push_back(t.executor + " " + t.what.block);
    return all;
  }
  Take answer(bool taken, std::string reason = "") {
    REQUIRE_FALSE(takes.empty());
    const Take t = takes.front();
    takes.pop_front();
    from(t.executor, BlockTaken{t.what.request, taken, std::move(reason)});
    listen();
    return t;
  }
  /// A shuffle with one map on each of `where`, whose job is over.
  ShufflePtr written(const Strings& where) {
    const ShufflePtr s = shuffle(rdd(static_cast<int32_t>(where.size()), {}, at(where)), 1);
    const uint64_t t = job(rdd(1, {s}));
    const int32_t stage = live().front().stage.value;
    maps_ok(stage);
    results_ok(stage + 1);
    REQUIRE(ended(t));
    return s;
  }
  std::string place_of(const ShufflePtr& s, int32_t map) const {
    const MapStatus* status = driver.map_outputs().output(s->id, map);
    return status ? status->location.executor.value : "";
  }
  std::string name(const ShufflePtr& s, int32_t map) const {
    return shuffle_data_file(s->id, driver.map_outputs().output(s->id, map)->map_id);
  }
  void cache(const std::string& executor, const std::string& block) {
    from(executor, BlockUpdates{ExecutorId{executor}, {{block, true, false, 10, 0}}});
  }
  bool stopped_a = false;
  Strings removed;
};

}  // namespace

TEST_CASE("T14 a task whose output was moved before its executor is lost stays successful",
          "[migration]") {
  const bool moved = GENERATE(true, false);
  Moving c;
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.map_ok(c.task(0, 0, 0));
  c.decommission("A");
  REQUIRE(c.takes.size() == 1);
  CHECK(c.takes[0].what.from == c.place("A"));
  CHECK(c.takes[0].what.block == c.name(s, 0));
  CHECK_FALSE(c.stopped_a);
  std::string taker;
  if (moved) taker = c.answer(true).executor;
  CHECK(c.stopped_a == moved);
  CHECK(c.place_of(s, 0) == (moved ? taker : "A"));
  c.lose("A", 0);
  c.advance(10s);
  CHECK(c.live_partitions(0, 0) == (moved ? Ints{1} : Ints{0, 1}));
  c.maps_ok(0);
  c.results_ok(1);
  CHECK(c.error(t).empty());
  CHECK(c.submissions(0) == 1);
  c.check_clean();
}

TEST_CASE("a shuffle outlives its decommissioned executor: no stage runs again", "[migration]") {
  Moving c;
  const ShufflePtr s = c.written({"A", "A"});
  const int64_t epoch = c.driver.map_outputs().epoch();
  c.decommission("A");
  CHECK(c.blocks().size() == 2);
  CHECK(c.takes[0].executor != c.takes[1].executor);
  c.answer(true);
  CHECK_FALSE(c.stopped_a);
  c.answer(true);
  CHECK(c.stopped_a);
  CHECK(c.driver.map_outputs().epoch() > epoch);  // who cached the old places asks again
  c.from("A", ExecutorExiting{ExecutorId{"A"}, 0, kDecommissionFinished});
  CHECK(c.driver.map_outputs().available(s->id) == 2);
  const uint64_t t = c.job(rdd(1, {s}));
  REQUIRE(c.live().size() == 1);  // the map stage is skipped
  c.succeed(c.live().front(), "x");
  CHECK(c.error(t).empty());
  c.check_clean();
}

TEST_CASE("readers are told of one new epoch, however many outputs have moved", "[migration]") {
  Moving c;
  const ShufflePtr s = c.written({"A", "A", "A", "B"});
  const uint64_t before = c.job(rdd(1, {s}));
  const Sent old = c.live().front();
  const auto answered = [&] {
    c.from("C", MapOutputsRequest{s->id});
    return std::get<tinderbox::MapOutputs>(*c.effects<SendShared>().at(0).message);
  };
  CHECK(answered().epoch == old.epoch);
  c.decommission("A");
  while (!c.takes.empty()) {
    c.answer(true);
    CHECK(answered().epoch == old.epoch);
  }
  for (const auto& status : answered().statuses) CHECK(status->location.executor.value != "A");
  c.succeed(old, "x");
  CHECK(c.ended(before));
  c.job(rdd(1, {s}));
  CHECK(c.live().front().epoch == old.epoch + 1);
  CHECK(answered().epoch == old.epoch + 1);
}

TEST_CASE("outputs go first, then cached partitions, which leave their executor", "[migration]") {
  DriverOptions o = migrating();
  o.migration.max_threads = 1;
  Moving c(o);
  const ShufflePtr s = c.written({"A", "A"});
  c.cache("A", "rdd_70_3");
  c.cache("B", "rdd_70_4");
  c.decommission("A");
  Strings order;
  while (!c.takes.empty()) {
    CHECK(c.takes.size() == 1);  // spark.storage.decommission.shuffleBlocks.maxThreads
    CHECK_FALSE(c.stopped_a);
    order.push_back(c.answer(true).what.block);
  }
  CHECK(order == Strings{c.name(s, 0), c.name(s, 1), "rdd_70_3"});
  CHECK(c.removed == Strings{"rdd_70_3"});
  CHECK(c.stopped_a);
}

TEST_CASE("a cached partition may be kept where its level says, wherever it lies", "[migration]") {
  struct Case {
    const char* name;
    BlockUpdate block;
    bool memory, disk;
  };
  const Case cases[] = {
      {"MEMORY_AND_DISK in memory", {"rdd_70_3", true, false, 10, 0, true, true}, true, true},
      {"MEMORY_AND_DISK on disk", {"rdd_70_3", false, true, 0, 10, true, true}, true, true},
      {"MEMORY_ONLY", {"rdd_70_3", true, false, 10, 0, true, false}, true, false},
      {"DISK_ONLY, empty", {"rdd_70_3", false, true, 0, 0, false, true}, false, true},
      {"no level told", {"rdd_70_3", false, true, 0, 10}, false, true},
  };
  for (const Case& k : cases) {
    CAPTURE(k.name);
    Moving c(migrating(0));
    c.from("A", BlockUpdates{ExecutorId{"A"}, {k.block}});
    c.decommission("A");
    REQUIRE(c.takes.size() == 1);
    CHECK(c.takes[0].what.in_memory == k.memory);
    CHECK(c.takes[0].what.on_disk == k.disk);
  }
}

TEST_CASE("only the kinds of blocks that are asked for are moved", "[migration]") {
  DriverOptions o = migrating();
  o.migration.shuffles = GENERATE(true, false);
  o.migration.rdds = !o.migration.shuffles;
  Moving c(o);
  c.written({"A"});
  c.cache("A", "rdd_70_3");
  c.decommission("A");
  REQUIRE(c.takes.size() == 1);
  CHECK(c.takes[0].what.block.starts_with(o.migration.shuffles ? "shuffle_" : "rdd_"));
  c.answer(true);
  CHECK(c.stopped_a);
}

TEST_CASE("a block that is refused goes to the next peer, and is given up after some tries",
          "[migration]") {
  Moving c;
  const ShufflePtr s = c.written({"A"});
  c.decommission("A");
  std::set<std::string> asked;
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(c.stopped_a);
    asked.insert(c.answer(false, "no room").executor);
  }
  CHECK(asked == std::set<std::string>{"B", "C", "D"});
  CHECK(c.stopped_a);
  CHECK(c.place_of(s, 0) == "A");
  CHECK(c.warnings().back() == "Executor " + *asked.rbegin() + " did not take " + c.name(s, 0) +
                                   " of executor A: no room; giving up on it");
}

TEST_CASE(
    "a peer that failed is left alone for spark.storage.decommission."
    "replicationReattemptInterval",
    "[migration]") {
  Moving c;
  c.written({"A"});
  for (const char* e : {"C", "D"}) c.lose(e);
  c.decommission("A");
  CHECK(c.answer(false).executor == "B");
  CHECK(c.takes.empty());
  c.pass(29s);
  CHECK(c.takes.empty());
  c.pass(1s);
  CHECK(c.blocks().size() == 1);
  c.answer(true);
  CHECK(c.stopped_a);
}

TEST_CASE("blocks wait for a peer's rest to end, for another executor, or for the forced end",
          "[migration]") {
  DriverOptions o = migrating();
  o.force_kill_timeout = 20s;
  Moving c(o);
  c.written({"A"});
  for (const char* e : {"C", "D"}) c.lose(e);
  c.decommission("A");
  CHECK(c.answer(false).executor == "B");
  c.pass(19s);
  CHECK_FALSE(c.stopped_a);
  CHECK(c.kills.empty());
  SECTION("one comes") {
    c.executor("E");
    c.listen();
    CHECK(c.answer(true).executor == "E");
    CHECK(c.stopped_a);
  }
  SECTION("none comes") {
    c.pass(2s);
    CHECK(c.kills == Strings{"A"});
    c.lose("A", 143);
    CHECK(c.driver.map_outputs().outputs_on(ExecutorId{"A"}).empty());
  }
}

TEST_CASE("without an executor that could take anything the last ones end as they are",
          "[migration]") {
  Moving c;
  c.written({"A", "A", "B"});
  for (const char* e : {"C", "D"}) c.lose(e);
  SECTION("there was none") {
    c.lose("B");
    c.decommission("A");
    CHECK(c.takes.empty());
    CHECK(c.warnings().back() ==
          "Giving up 2 blocks of executor A: there is no executor that could take them");
  }
  SECTION("the only one is decommissioned too, when it has taken what was on its way") {
    c.decommission("A");
    REQUIRE(c.blocks().size() == 1);
    c.decommission("B");
    CHECK_FALSE(c.stopped_a);
    CHECK(c.messages<StopExecutor>("B").empty());
    CHECK(c.answer(true).executor == "B");
    CHECK(c.messages<StopExecutor>("B").size() == 1);
  }
  SECTION("the only one is lost") {
    c.decommission("A");
    CHECK_FALSE(c.stopped_a);
    c.lose("B");
    c.listen();
  }
  CHECK(c.stopped_a);
  CHECK(c.driver.map_outputs().outputs_on(ExecutorId{"A"}).size() >= 1);
}

TEST_CASE("of several that leave the first one's blocks go first, as peers become free",
          "[migration]") {
  Moving c;
  const ShufflePtr s = c.written({"B", "A", "A", "B"});
  c.lose("D");
  c.decommission("B");
  c.decommission("A");
  // B's go to A and C, as both were there; then A has only C, which first has to be free again.
  CHECK(c.blocks() == Strings{"A " + c.name(s, 0), "C " + c.name(s, 3)});
  c.answer(true);
  CHECK(c.blocks() == Strings{"C " + c.name(s, 3)});
  Strings order;
  while (!c.takes.empty()) {
    CHECK(c.takes.size() == 1);
    const Moving::Take t = c.answer(true);
    CHECK(t.executor == "C");
    order.push_back(t.what.block);
  }
  CHECK(order == Strings{c.name(s, 3), c.name(s, 1), c.name(s, 2), c.name(s, 0)});
  CHECK(c.stopped_a);
  for (int32_t map = 0; map < 4; ++map) CHECK(c.place_of(s, map) == "C");
}

TEST_CASE("an executor whose host goes takes no blocks", "[migration]") {
  Moving c;
  c.written({"A", "A", "A", "A"});
  c.executor("A2", 16, "hA");
  const bool others = GENERATE(true, false);
  if (!others)
    for (const char* e : {"B", "C", "D"}) c.lose(e);
  c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "worker decommissioned", "hA"});
  c.listen();
  CHECK(c.takes.size() == (others ? 3 : 0));
  for (const Moving::Take& t : c.takes) CHECK(t.executor != "A2");
  CHECK(c.stopped_a == !others);
}

TEST_CASE("a peer that is lost while it takes a block: the next one gets it", "[migration]") {
  Moving c;
  const ShufflePtr s = c.written({"A"});
  c.decommission("A");
  const Moving::Take first = c.takes.at(0);
  c.takes.clear();
  c.lose(first.executor);
  c.listen();
  REQUIRE(c.takes.size() == 1);
  CHECK(c.takes[0].executor != first.executor);
  const std::string taker = c.answer(true).executor;
  CHECK(c.place_of(s, 0) == taker);
  CHECK(c.stopped_a);
}

TEST_CASE("of an executor that drains nothing is left when it is gone, however it went",
          "[migration]") {
  const bool moved = GENERATE(true, false);
  Moving c;
  c.written({"A"});
  CHECK(c.driver.drained());
  c.decommission("A");
  CHECK_FALSE(c.driver.drained());
  if (moved) c.answer(true);
  c.lose("A", moved ? 0 : 137);
  CHECK(c.driver.drained());
}

TEST_CASE("an answer that comes too late or from another executor moves nothing", "[migration]") {
  Moving c;
  const ShufflePtr s = c.written({"A"});
  c.decommission("A");
  const Moving::Take t = c.takes.at(0);
  c.from("A", BlockTaken{t.what.request, true, ""});
  CHECK(c.place_of(s, 0) == "A");
  c.lose("A", 0);
  c.from(t.executor, BlockTaken{t.what.request, true, ""});
  CHECK(c.driver.map_outputs().available(s->id) == 0);
}

TEST_CASE("an output that is computed again meanwhile keeps its new place", "[migration]") {
  Moving c;
  const ShufflePtr s = shuffle(rdd(1, {}, at({"A"})), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.maps_ok(0);
  c.decommission("A");
  const std::string old = c.takes.at(0).what.block;
  c.fetch_failed(c.task(1, 0, 0), s->id, 0, "A");
  c.advance(10s);
  REQUIRE(c.live(0, 1).size() == 1);
  const Sent again = c.live(0, 1).front();
  c.map_ok(again);
  c.answer(true);
  CHECK(c.place_of(s, 0) == again.executor);
  CHECK(c.name(s, 0) != old);
  CHECK(c.stopped_a);
  c.results_ok(1, 1);
  CHECK(c.error(t).empty());
}

TEST_CASE("what its last tasks leave is moved too", "[migration]") {
  Moving c;
  const ShufflePtr s = shuffle(rdd(1, {}, at({"A"})), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.running(c.task(0, 0, 0));
  c.decommission("A");
  CHECK(c.takes.empty());
  CHECK_FALSE(c.stopped_a);
  c.map_ok(c.task(0, 0, 0));
  c.listen();
  CHECK(c.blocks().size() == 1);
  CHECK_FALSE(c.stopped_a);
  c.answer(true);
  CHECK(c.stopped_a);
  c.results_ok(1);
  CHECK(c.error(t).empty());
}

TEST_CASE("an executor that is decommissioned while it takes a block passes it on", "[migration]") {
  Moving c;
  const ShufflePtr s = c.written({"A"});
  c.decommission("A");
  const std::string first = c.takes.at(0).executor;
  c.decommission(first);
  CHECK(c.messages<StopExecutor>(first).empty());
  c.answer(true);
  CHECK(c.stopped_a);
  CHECK(c.messages<StopExecutor>(first).empty());
  REQUIRE(c.takes.size() == 1);
  CHECK(c.takes[0].executor != first);
  CHECK(c.takes[0].what.from.executor.value == first);
  const std::string second = c.answer(true).executor;
  CHECK(c.messages<StopExecutor>(first).size() == 1);
  CHECK(c.place_of(s, 0) == second);
}

TEST_CASE("a block that is removed meanwhile is no failure of its taker", "[migration]") {
  Moving c;
  const ShufflePtr s = c.written({"A"});
  c.cache("A", "rdd_70_3");
  c.decommission("A");
  c.on(ForgetShuffle{s->id});
  c.from("A", BlockUpdates{ExecutorId{"A"}, {{"rdd_70_3", false, false, 0, 0}}});
  const size_t warnings = c.warnings().size();
  while (!c.takes.empty()) c.answer(false, "it is not here");
  CHECK(c.warnings().size() == warnings);
  CHECK(c.stopped_a);
}

TEST_CASE("one that waits for a peer ends when what it holds is removed", "[migration]") {
  Moving c;
  const ShufflePtr first = c.written({"B", "B", "B"}), second = c.written({"A"});
  c.cache("A", "rdd_70_3");
  c.lose("D");
  c.decommission("B");
  c.decommission("A");
  while (c.takes.front().executor != "C") c.answer(true);  // A, before it left, took one of B's
  REQUIRE(c.takes.size() == 1);
  c.on(ForgetShuffle{second->id});
  c.listen();
  CHECK_FALSE(c.stopped_a);
  c.on(UnpersistRdd{RddId{70}});
  c.listen();
  CHECK(c.stopped_a == c.driver.map_outputs().outputs_on(ExecutorId{"A"}).empty());
  while (!c.takes.empty()) c.answer(true);
  CHECK(c.stopped_a);
  CHECK(c.place_of(first, 0) == "C");
}

TEST_CASE("a cached partition with two copies moves to an executor that has none", "[migration]") {
  DriverOptions o = migrating();
  o.migration.shuffles = false;
  Moving c(o);
  const BlockUpdate copy{"rdd_70_3", true, false, 10, 0, true, false, 2};
  for (const char* holder : {"A", "B"}) c.from(holder, BlockUpdates{ExecutorId{holder}, {copy}});
  c.takes.clear();
  SECTION("one after the other is asked, the holder never") {
    c.decommission("A");
    std::set<std::string> asked;
    for (int i = 0; i < 3; ++i) {
      REQUIRE(c.takes.size() == 1);
      asked.insert(c.answer(false, "no room").executor);
      c.pass(31s);
    }
    CHECK(asked == std::set<std::string>{"C", "D"});
    CHECK(c.stopped_a);
  }
  SECTION("when all others have it there is nothing to move") {
    c.lose("C");
    c.lose("D");
    c.takes.clear();
    c.decommission("A");
    CHECK(c.takes.empty());
    CHECK(c.stopped_a);
  }
  SECTION("what comes for a moved copy is no copy more") {
    c.decommission("A");
    REQUIRE(c.takes.size() == 1);
    const std::string taker = c.takes[0].executor;
    c.on(UnpersistRdd{RddId{70}});
    c.from(taker, BlockUpdates{ExecutorId{taker}, {copy}});
    REQUIRE(c.takes.size() == 1);  // nobody else is to copy it
    c.answer(true);
    REQUIRE(c.messages<RemoveBlocks>(taker).size() == 1);
    CHECK(c.stopped_a);
  }
}

TEST_CASE("a copy that nobody wants any more leaves its taker", "[migration]") {
  Moving c;
  const bool output = GENERATE(true, false);
  const ShufflePtr s = c.written({output ? "A" : "B"});
  if (!output) c.cache("A", "rdd_70_3");
  c.decommission("A");
  REQUIRE(c.takes.size() == 1);
  if (output)
    c.on(ForgetShuffle{s->id});
  else
    c.on(UnpersistRdd{RddId{70}});
  const std::string taker = c.answer(true).executor;
  if (output) {
    REQUIRE(c.messages<RemoveShuffle>(taker).size() == 1);
    CHECK(c.messages<RemoveShuffle>(taker)[0].shuffle == s->id);
  } else {
    REQUIRE(c.messages<RemoveBlocks>(taker).size() == 1);
    CHECK(c.messages<RemoveBlocks>(taker)[0].blocks == Strings{"rdd_70_3"});
  }
  CHECK(c.removed.empty());
  CHECK(c.stopped_a);
}

TEST_CASE("an indeterminate output that was moved is not lost: no result is taken back",
          "[migration]") {
  Moving c;
  const auto maps = rdd(2, {}, at({"A", "B"}));
  maps->determinism = Determinism::Indeterminate;
  const ShufflePtr s = shuffle(maps, 2);
  const uint64_t t = c.job(rdd(2, {s}));
  c.maps_ok(0);
  c.succeed(c.task(1, 0, 0), "42");
  c.decommission("A");
  c.answer(true);
  c.fetch_failed(c.task(1, 0, 1), s->id, 0, "A");  // it was told the old place
  REQUIRE_FALSE(c.ended(t));
  c.advance(200ms);
  CHECK(c.live(0).empty());
  CHECK(c.live_partitions(1, 1) == Ints{1});
  c.results_ok(1, 1);
  CHECK(c.results[t] == Values{{0, "42"}, {1, "43"}});
  c.check_succeeded(t);
}

TEST_CASE("without migration a decommissioned executor stops at once", "[migration]") {
  Moving c(test_options(GENERATE(0, 8)));
  c.written({"A"});
  c.decommission("A");
  CHECK(c.takes.empty());
  CHECK(c.stopped_a);
}
