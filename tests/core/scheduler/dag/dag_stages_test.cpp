// Stage graphs: what is cut where, what is skipped, what tasks prefer.
//
// Through the whole machine; ids are those of spec/11, section D.
#include "tests/core/scheduler/dag/dag_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

TEST_CASE("D1 a shuffle makes two stages, in the order of their ids", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(4, {shuffle(rdd(4, {narrow(rdd(4))}), 4)}));
  c.maps_ok(0);
  c.results_ok(1);
  CHECK(c.completed(false) == Ints{0, 1});
  c.check_succeeded(t);
}

TEST_CASE("D2 D64 parents of each stage", "[dag]") {
  Dag c;
  const NodePtr a = rdd(1);
  const ShufflePtr sa = shuffle(a, 1);
  const NodePtr b = rdd(1, {sa});
  const ShufflePtr sb = shuffle(b, 1);
  const NodePtr cc = rdd(1, {sa, sb});
  const ShufflePtr sc = shuffle(cc, 1);
  const NodePtr d = rdd(1, {sc});
  const NodePtr e = rdd(1, {sa, narrow(d)});
  CHECK(shuffles_read_by(a).empty());
  CHECK(shuffles_read_by(b) == std::vector<ShufflePtr>{sa});
  const auto read_by = [](const NodePtr& node) {
    const std::vector<ShufflePtr> all = shuffles_read_by(node);
    return std::set<ShufflePtr>(all.begin(), all.end());
  };
  CHECK(read_by(cc) == std::set{sa, sb});
  CHECK(read_by(d) == std::set{sc});
  CHECK(read_by(e) == std::set{sa, sc});
  const uint64_t t = c.job(d);
  const std::vector<StageInfo> stages = c.seen<JobStarted>().at(0).stages;
  REQUIRE(stages.size() == 4);
  CHECK(stages[0].parents.empty());
  CHECK(stages[1].parents == std::vector<StageId>{{0}});
  CHECK(stages[2].parents == std::vector<StageId>{{0}, {1}});
  CHECK(stages[3].parents == std::vector<StageId>{{2}});
  for (int s = 0; s < 3; ++s) c.maps_ok(s);
  c.results_ok(3);
  c.check_succeeded(t);
}

TEST_CASE("D8 D9 tasks prefer the executors that cache their partition", "[dag]") {
  Dag c;
  const auto base = rdd(3);
  base->storage_bits = 1;
  c.holds("C", *base, 0);
  c.holds("B", *base, 1);
  c.holds("D", *base, 1);
  c.holds("A", *base, 2);
  MapOutputTracker outputs;
  const bool locality = true;
  Placement placement(c.driver.blocks(), outputs, locality);
  CHECK(placement.cache_locations(*base) ==
        Locations{{"executor_hC_C"}, {"executor_hB_B", "executor_hD_D"}, {"executor_hA_A"}});
  CHECK(placement.preferred(*rdd(3, {narrow(base)}), 1) ==
        Strings{"executor_hB_B", "executor_hD_D"});
  const uint64_t t = c.job(rdd(3, {narrow(base)}));
  CHECK(c.task(0, 0, 0).executor == "C");
  CHECK(c.task(0, 0, 2).executor == "A");
  c.results_ok(0);
  c.check_succeeded(t);
}

TEST_CASE("D10 a fully cached rdd cuts the lineage", "[dag]") {
  Dag c;
  const auto cached = rdd(1, {shuffle(rdd(1, {shuffle(rdd(1), 1)}), 1)});
  cached->storage_bits = 1;
  c.holds("B", *cached, 0);
  const uint64_t t = c.job(rdd(1, {narrow(cached)}));
  CHECK(c.driver.dag().running().size() == 1);
  REQUIRE(c.live().size() == 1);
  CHECK(c.live()[0].executor == "B");
  c.succeed(c.live()[0], "42");
  CHECK(c.ended(t));
  CHECK(c.completed(false) == Ints{2});
  c.check_clean();
}

TEST_CASE("D11 thirty nested zips are walked once", "[dag]") {
  NodePtr node = rdd(1);
  for (int i = 0; i < 30; ++i) node = rdd(1, {narrow(node), narrow(node)});
  MapOutputTracker outputs;
  BlockMaster blocks;
  const bool locality = true;
  Placement placement(blocks, outputs, locality);
  CHECK(placement.preferred(*node, 0).empty());
  CHECK(shape_of(node, true).rdds.size() == 31);
  Dag c;
  const uint64_t t = c.job(node);
  c.results_ok(0);
  c.check_succeeded(t);
}

TEST_CASE("D16 two maps, one reduce", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1, {shuffle(rdd(2, {}, at({"A", "B"})), 1)}));
  CHECK(c.task(0, 0, 0).executor == "A");
  CHECK(c.task(0, 0, 1).executor == "B");
  c.maps_ok(0);
  c.succeed(c.task(1, 0, 0), "42");
  CHECK(c.results[t] == Values{{0, "42"}});
  CHECK(c.completed(false) == Ints{0, 1});
  c.check_clean();
}

TEST_CASE("D44 a cached rdd spares the stage before it", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const auto b = rdd(2, {s0});
  b->storage_bits = 1;
  const ShufflePtr s1 = shuffle(b, 2);
  const uint64_t t = c.job(rdd(1, {s1}));
  c.maps_ok(0);
  for (const Sent& m : c.live(1, 0)) c.map_ok(m);
  c.holds("D", *b, 0);
  c.holds("C", *b, 1);
  const MapOutputTracker& outputs = c.driver.map_outputs();
  const Sent r = c.live(2, 0)[0];
  std::string holder;
  for (const Sent& x : c.sent)
    if (x.stage.value == 1 && x.partition == 0) holder = x.executor;
  c.fetch_failed(r, s1->id, 0, holder);
  c.advance(200ms);
  CHECK(c.live(0).empty());
  for (const Sent& x : c.live(1, 1)) CHECK(x.executor == (x.partition == 0 ? "D" : "C"));
  c.maps_ok(1, 1);
  CHECK(outputs.missing(s1->id).empty());
  c.succeed(c.live(2, 1)[0], "42");
  CHECK(c.results[t] == Values{{0, "42"}});
  c.check_clean();
}

TEST_CASE("D53 D54 D55 reducers prefer the hosts that hold at least a fifth", "[dag]") {
  Dag c;
  c.executor("E", 16);
  const ShufflePtr s = shuffle(rdd(4, {}, at({"A", "B", "C", "D"})), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  for (int p = 0; p < 4; ++p) c.map_ok(c.task(0, 0, p), {(p + 1) * 10});
  CHECK(c.preferred_hosts(1, 0) == Strings{"hB", "hC", "hD"});
  c.results_ok(1);
  CHECK(c.ended(t));
  // All of it on one host.
  const ShufflePtr one = shuffle(rdd(1, {}, at({"A"})), 1);
  const uint64_t t1 = c.job(rdd(1, {one}));
  c.maps_ok(2);
  CHECK(c.preferred_hosts(3, 0) == Strings{"hA"});
  c.results_ok(3);
  CHECK(c.ended(t1));
  // With a narrow dependency beside the shuffle the narrow one decides.
  const uint64_t t2 = c.job(rdd(1, {s, narrow(rdd(1, {}, {{"hB"}}))}));
  CHECK(c.live()[0].executor == "B");
  c.results_ok(c.live()[0].stage.value);
  c.check_succeeded(t2);
}

TEST_CASE("D77 a finished partition of an old attempt is not run again", "[dag]") {
  ThreeStages c({"A"}, {"B", "B", "B", "B"});
  c.maps_ok(0);
  const std::vector<Sent> old = c.live(1, 0);
  c.map_ok(old[0]);
  c.fetch_failed(old[1], c.s0->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(0, 1);
  CHECK(c.live_partitions(1, 1) == Ints{1, 2, 3});
  c.map_ok(c.task(1, 1, 1));
  // The attempt of now holds partitions 1 to 3: told of 2, then of 3, it is done.
  const auto done = [&](int32_t index) {
    return c.driver.tasks().task_set(StageId{1}, 1)->successful(index);
  };
  c.map_ok(old[2]);
  CHECK(done(1));
  CHECK_FALSE(done(2));
  CHECK(c.live(2, 0).empty());
  c.map_ok(old[3]);
  CHECK(done(2));
  CHECK(c.live(2, 0).size() == 1);
  c.results_ok(2);
  c.check_succeeded(c.ticket);
}

TEST_CASE("a checkpoint cuts the lineage of later jobs", "[dag]") {
  Dag c;
  const NodePtr maps = rdd(2);
  const NodePtr reduced = rdd(2, {shuffle(maps, 2)});
  const NodePtr child = rdd(2, {narrow(reduced)});
  const NodePtr grandchild = rdd(2, {shuffle(child, 2)});
  write_checkpoint(reduced, rdd(2));
  c.on(CheckpointDone{reduced});
  const uint64_t t = c.job(grandchild);
  CHECK(c.seen<JobStarted>()[0].stages.size() == 2);
  c.maps_ok(0);
  c.results_ok(1);
  CHECK(c.results[t].size() == 2);
  c.check_clean();
}

TEST_CASE("a checkpointed rdd that is persisted is looked for where it is cached", "[dag]") {
  Dag c;
  const auto reduced = rdd(2, {shuffle(rdd(2), 2)});
  write_checkpoint(reduced, rdd(2));
  c.on(CheckpointDone{reduced});
  reduced->storage_bits = 1;
  c.holds("C", *reduced, 0);
  c.holds("B", *reduced, 1);
  const uint64_t t = c.job(rdd(2, {narrow(reduced)}));
  CHECK(c.seen<JobStarted>()[0].stages.size() == 1);
  CHECK(c.task(0, 0, 0).executor == "C");
  CHECK(c.task(0, 0, 1).executor == "B");
  c.results_ok(0);
  c.check_succeeded(t);
}

TEST_CASE("whether a checkpointed rdd is persisted is looked at by each job", "[dag]") {
  const auto reduced = rdd(2, {shuffle(rdd(2), 2)});
  const NodePtr written = rdd(2);
  Checkpoints checkpoints;
  write_checkpoint(reduced, written);
  checkpoints.done(reduced, JobId{});
  CHECK(checkpoints.rewire(reduced) == written);
  reduced->storage_bits = 1;
  const NodePtr kept = checkpoints.rewire(reduced);
  CHECK(kept->id == reduced->id);
  CHECK(kept->storage_bits.load() == 1);
  CHECK(kept->num_partitions == 2);
  CHECK(kept->dependencies.empty());
  reduced->storage_bits = 0;
  CHECK(checkpoints.rewire(reduced) == written);
}

TEST_CASE("a long chain of stages and of narrow steps needs no stack", "[dag]") {
  Cluster c(test_options(8));
  c.executor("A", 2);
  NodePtr node = rdd(1);
  for (int i = 0; i < 50000; ++i) node = rdd(1, {narrow(node)});
  for (int i = 0; i < 300; ++i) node = rdd(1, {shuffle(node, 1)});
  const uint64_t t = c.job(node);
  while (!c.ended(t)) {
    const std::vector<Sent> live = c.live();
    REQUIRE(live.size() == 1);
    if (live[0].stage.value < 300)
      c.map_ok(live[0]);
    else
      c.succeed(live[0], "done");
  }
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("reduces go nowhere in particular when that would cost too much to find out", "[dag]") {
  struct Case {
    int32_t maps, reduces;
    bool wanted, found;
  };
  const auto k = GENERATE(Case{2, 2, true, true}, Case{2, 2, false, false},
                          Case{1000, 2, true, false}, Case{2, 1000, true, false});
  DriverOptions o = test_options();
  o.reduce_locality = k.wanted;
  Dag c(o);
  const ShufflePtr s = shuffle(rdd(k.maps), k.reduces);
  const uint64_t t = c.job(rdd(k.reduces, {s}));
  while (!c.live(0).empty()) c.map_ok(c.live(0)[0], std::vector<int64_t>(1000, 1));
  CHECK(c.preferred_hosts(1, 0).empty() != k.found);
  c.on(CancelJob{t, ""});
  c.check_clean();
}

TEST_CASE("a shuffle that is read twice is one parent; partitions without a place have none",
          "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(1), 1);
  const uint64_t t = c.job(rdd(2, {s, s}, at({"A"})));
  CHECK(c.seen<JobStarted>().at(0).stages.size() == 2);
  c.maps_ok(0);
  CHECK(c.preferred_hosts(1, 0) == Strings{"hA"});
  CHECK(c.preferred_hosts(1, 1).empty());
  c.results_ok(1);
  c.check_succeeded(t);
}
