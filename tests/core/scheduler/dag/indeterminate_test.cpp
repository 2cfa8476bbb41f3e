// Indeterminate stages: what runs again as a whole, and what can't be taken back.
//
// Through the whole machine; ids are those of spec/11, section D.
#include "tests/core/scheduler/dag/dag_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

/// Its records come out otherwise each time.
std::shared_ptr<Node> unsteady(int32_t partitions, std::vector<Dependency> deps = {},
                               Locations preferred = {}) {
  auto node = rdd(partitions, std::move(deps), std::move(preferred));
  node->determinism = Determinism::Indeterminate;
  return node;
}

/// It only passes on what its parents are.
std::shared_ptr<Node> after(int32_t partitions, std::vector<Dependency> deps,
                            Locations preferred = {}) {
  auto node = rdd(partitions, std::move(deps), std::move(preferred));
  derive(*node);
  return node;
}

/// S0 (indeterminate, on A and B) → S1 (on C and D) → S2.
struct Chain : Dag {
  ShufflePtr s0 = shuffle(unsteady(2, {}, at({"A", "B"})), 2);
  ShufflePtr s1 = shuffle(after(2, {s0}, at({"C", "D"})), 2);
  uint64_t ticket = job(after(2, {s1}));
};

/// A job of two results from maps on A and B that come out otherwise each time.
struct Unsteady : TwoStages {
  explicit Unsteady(ShufflePtr maps = shuffle(unsteady(2, {}, at({"A", "B"})), 2))
      : TwoStages(maps, after(2, {maps})) {}
};

std::string cannot(const std::string& stage) {
  return "Job aborted due to stage failure: A shuffle map stage with indeterminate output was "
         "failed and retried. However, Spark cannot rollback the " +
         stage +
         " to re-process the input data, and has to fail this job. Please eliminate the "
         "indeterminacy by checkpointing the RDD before repartition and try again.";
}

}  // namespace

TEST_CASE("D69 every stage after a lost indeterminate one runs again", "[dag]") {
  Chain c;
  const MapOutputTracker& outputs = c.driver.map_outputs();
  c.maps_ok(0);
  c.maps_ok(1);
  c.fetch_failed(c.task(2, 0, 0), c.s1->id, 0, "C");
  CHECK(c.driver.dag().failed() == std::set<StageId>{{1}, {2}});
  CHECK(outputs.missing(c.s1->id) == Ints{0});
  c.advance(200ms);
  CHECK(c.live_partitions(1, 1) == Ints{0, 1});
  c.fetch_failed(c.task(1, 1, 0), c.s0->id, 0, "A");
  CHECK(c.driver.dag().failed() == std::set<StageId>{{0}, {1}});
  c.advance(200ms);
  c.maps_ok(0, 1, {0, 1});
  c.maps_ok(1, 2, {0, 1});
  CHECK(outputs.missing(c.s1->id).empty());
  c.results_ok(2, 1);
  CHECK(c.results[c.ticket] == Values{{0, "42"}, {1, "43"}});
  c.check_succeeded(c.ticket);
}

TEST_CASE("D71 what an older attempt of an indeterminate stage made is thrown away", "[dag]") {
  Chain c;
  c.maps_ok(0);
  const Sent old = c.task(1, 0, 1);
  c.fetch_failed(c.task(1, 0, 0), c.s0->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(0, 1, {0, 1});
  CHECK(c.live_partitions(1, 1) == Ints{0, 1});
  c.map_ok(old);
  CHECK(c.driver.map_outputs().missing(c.s1->id) == Ints{0, 1});
  CHECK_FALSE(c.driver.tasks().task_set(StageId{1}, 1)->successful(1));
  c.map_ok(c.task(1, 1, 0));
  CHECK(c.driver.map_outputs().missing(c.s1->id) == Ints{1});
  c.map_ok(c.task(1, 1, 1));
  c.results_ok(2);
  c.check_succeeded(c.ticket);
}

TEST_CASE("D72 three indeterminate stages run again from the first", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(unsteady(2, {}, at({"A", "B"})), 2);
  const ShufflePtr s1 = shuffle(unsteady(2, {s0}, at({"A", "B"})), 2);
  const ShufflePtr s2 = shuffle(unsteady(2, {s1}, at({"C", "D"})), 2);
  const uint64_t t = c.job(after(2, {s2}));
  c.maps_ok(0);
  c.maps_ok(1);
  c.fetch_failed(c.task(2, 0, 1), s1->id, 1, "B");
  c.advance(200ms);
  for (int stage = 0; stage < 3; ++stage) {
    c.maps_ok(stage, 1, {0, 1});
  }
  c.results_ok(3);
  CHECK(c.results[t].size() == 2);
  c.check_succeeded(t);
}

TEST_CASE("D74 a result that is out can't be taken back: the job fails", "[dag]") {
  Unsteady c;
  c.half_done();
  c.check_failed(c.ticket, cannot("ResultStage 1"));
  c.check_clean();
}

TEST_CASE("D75 a checkpoint that is written makes later jobs determinate", "[dag]") {
  Dag c;
  const auto made = unsteady(2, {}, at({"A", "B"}));
  const ShufflePtr s = shuffle(after(2, {narrow(made)}), 2);
  const NodePtr last = after(2, {s});
  REQUIRE(last->determinism == Determinism::Indeterminate);
  write_checkpoint(made, rdd(2, {}, at({"A", "B"})));
  c.on(CheckpointDone{made});
  const uint64_t t = c.job(last);
  c.maps_ok(0);
  c.succeed(c.task(1, 0, 0), "42");
  c.fetch_failed(c.task(1, 0, 1), s->id, 0, "A");
  CHECK_FALSE(c.ended(t));
  c.advance(200ms);
  c.maps_ok(0, 1, {0});
  CHECK(c.live_partitions(1, 1) == Ints{1});
  c.results_ok(1, 1);
  c.check_succeeded(t);
}

TEST_CASE("a result that comes after its input was rolled back does not count", "[dag]") {
  Unsteady c;
  const Sent late = c.first_lost();
  const bool before_the_maps = GENERATE(false, true);
  if (!before_the_maps) c.advance(200ms);
  c.succeed(late, "of the old maps");
  CHECK(c.results[c.ticket].empty());
  c.advance(200ms);
  c.maps_ok(0, 1);
  CHECK(c.live_partitions(1, 1) == Ints{0, 1});
  c.results_ok(1, 1);
  CHECK(c.results[c.ticket] == Values{{0, "42"}, {1, "43"}});
  c.check_clean();
}

TEST_CASE("a result that does not count leaves its permission to commit to the next attempt",
          "[dag]") {
  Unsteady c;
  const auto may_commit = [&](const Sent& s) {
    c.from(s.executor,
           AskPermissionToCommit{9, s.stage, s.stage_attempt, s.partition, s.number, s.id});
    REQUIRE(c.messages<CommitAnswer>().size() == 1);
    return c.messages<CommitAnswer>()[0].allowed;
  };
  SECTION("which it had") {
    c.maps_ok(0);
    const Sent early = c.task(1, 0, 1);
    CHECK(may_commit(early));
    c.fetch_failed(c.task(1, 0, 0), c.s->id, 0, "A");
    c.succeed(early, "of the old maps");
  }
  SECTION("which it does not get") {
    const Sent late = c.first_lost();
    CHECK_FALSE(may_commit(late));
    c.succeed(late, "of the old maps");
  }
  c.advance(200ms);
  c.maps_ok(0, 1);
  CHECK(may_commit(c.task(1, 1, 1)));
  c.results_ok(1, 1);
  c.check_succeeded(c.ticket);
}

TEST_CASE("an indeterminate stage that never ran has given nobody anything", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(unsteady(2, {}, at({"A", "B"})), 2);
  const NodePtr kept = cached_on({"C", "D"}, {s});
  c.holds("C", *kept, 0);
  c.holds("D", *kept, 1);
  const uint64_t t = c.job(rdd(2, {narrow(kept)}));
  c.succeed(c.task(1, 0, 0), "42");
  const uint64_t t2 = c.job(after(2, {s}));
  REQUIRE_FALSE(c.ended(t));
  c.maps_ok(0);
  c.results_ok(2);
  c.results_ok(1);
  CHECK(c.error(t2).empty());
  c.check_succeeded(t);
}

TEST_CASE("a stage that runs while its input is rolled back starts anew", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(unsteady(2, {}, at({"A", "B"})), 2);
  const ShufflePtr left = shuffle(after(2, {s0}, at({"C", "C"})), 2);
  const ShufflePtr right = shuffle(after(2, {s0}, at({"D", "D"})), 2);
  const uint64_t t = c.job(after(2, {left, right}));
  c.maps_ok(0);
  const Sent sibling = c.task(2, 0, 1);
  c.map_ok(c.task(2, 0, 0));
  c.fetch_failed(c.task(1, 0, 0), s0->id, 0, "A");
  CHECK(c.driver.map_outputs().available(right->id) == 0);
  CHECK(c.completed(true) == Ints{1, 2});
  c.map_ok(sibling);  // its end came before it heard that it was killed
  CHECK(c.driver.map_outputs().available(right->id) == 0);
  c.advance(200ms);
  CHECK(c.live_partitions(0, 1) == Ints{0, 1});
  CHECK(c.live(2).empty());
  c.maps_ok(0, 1);
  CHECK(c.live_partitions(2, 1) == Ints{0, 1});
  c.maps_ok(1, 1);
  c.maps_ok(2, 1);
  c.results_ok(3);
  c.check_succeeded(t);
}

TEST_CASE("a finished stage whose input is rolled back runs again", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(unsteady(2, {}, at({"A", "B"})), 2);
  const ShufflePtr s1 = shuffle(after(2, {s0}, at({"C", "D"})), 2);
  const uint64_t t = c.job(after(2, {s0, s1}));
  c.maps_ok(0);
  c.maps_ok(1);
  c.fetch_failed(c.task(2, 0, 0), s0->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(0, 1);
  c.maps_ok(1, 1, {0, 1});
  c.results_ok(2, 1);
  CHECK(c.results[t] == Values{{0, "42"}, {1, "43"}});
  c.check_clean();
}

TEST_CASE("what an earlier job left of a rolled back stage is not used", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(unsteady(2, {}, at({"A", "B"})), 2);
  const ShufflePtr s1 = shuffle(after(2, {s0}, at({"C", "D"})), 2);
  CHECK_FALSE(c.ended(c.map_stage_job(s1)));
  c.maps_ok(0);
  c.maps_ok(1);
  c.lose("A");
  if (GENERATE(false, true)) c.lose("B");  // nothing of it is left
  const uint64_t t = c.job(after(2, {s0, s1}));
  CHECK(c.driver.map_outputs().available(s1->id) == 0);
  c.advance(8s);  // A's place is not to be had
  CHECK(c.live_partitions(2, 0) == Ints{0, 1});
  c.maps_ok(2);
  c.maps_ok(3, 1, {0, 1});
  c.results_ok(4);
  c.check_succeeded(t);
}

TEST_CASE("an indeterminate stage that another job makes again fails jobs with results", "[dag]") {
  Unsteady c;
  c.maps_ok(0);
  c.succeed(c.task(1, 0, 0), "42");
  const Sent rest = c.task(1, 0, 1);
  c.lose("A");
  CHECK_FALSE(c.ended(c.ticket));  // nobody has missed the output yet
  const uint64_t t2 = c.job(after(2, {c.s}));
  c.check_failed(c.ticket, cannot("ResultStage 1"));
  CHECK(c.live_partitions(0, 1) == Ints{1});  // nobody alive is preferred by the other one
  c.advance(8s);
  CHECK(c.live_partitions(0, 1) == Ints{0, 1});
  c.succeed(rest, "43");
  CHECK(c.results[c.ticket].size() == 1);
  c.maps_ok(0, 1);
  c.results_ok(2);
  c.check_succeeded(t2);
}

TEST_CASE("checkpoints decide anew what their readers are", "[dag]") {
  const auto ordered = rdd(2);
  const ShufflePtr s = shuffle(ordered, 2);
  const auto read = after(2, {s});
  CHECK(read->determinism == Determinism::Unordered);
  const auto sampled = rdd(2, {narrow(read)});
  sampled->order_sensitive = true;
  derive(*sampled);
  CHECK(sampled->determinism == Determinism::Indeterminate);
  const auto grouped = after(2, {shuffle(sampled, 2)});
  CHECK(grouped->determinism == Determinism::Indeterminate);
  Checkpoints checkpoints;
  write_checkpoint(read, rdd(2));
  checkpoints.done(read, JobId{});
  const NodePtr now = checkpoints.rewire(grouped);
  CHECK(now->determinism == Determinism::Unordered);
  CHECK(parent_of(now->dependencies[0])->determinism == Determinism::Determinate);
}
