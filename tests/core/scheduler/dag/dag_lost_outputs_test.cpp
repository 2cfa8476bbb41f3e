// What the driver knows of outputs and cached blocks follows what is lost and made, at each step.
#include "tests/core/scheduler/dag/dag_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

TEST_CASE("D17 a fetch failure of an older task set takes the one output that it names", "[dag]") {
  TwoStages c({"A", "A"});
  c.maps_ok(0);
  const uint64_t t2 = c.job(rdd(2, {c.s}));
  c.fetch_failed(c.task(1, 0, 0), c.s->id, 0, "A");
  CHECK(c.driver.map_outputs().missing(c.s->id) == Ints{0, 1});
  c.advance(200ms);
  c.maps_ok(0, 1);
  REQUIRE(c.driver.map_outputs().missing(c.s->id).empty());
  // A's outputs were made anew since the second job's tasks were sent: only what they name is gone.
  const int64_t epoch = c.driver.map_outputs().epoch();
  c.fetch_failed(c.task(2, 0, 0), c.s->id, 1, "A");
  CHECK(c.driver.map_outputs().missing(c.s->id) == Ints{1});
  CHECK(c.driver.map_outputs().epoch() == epoch + 1);
  c.advance(200ms);
  c.maps_ok(0, 2, {1});
  c.results_ok(1, 1);
  c.results_ok(2, 1);
  c.results_ok(2, 0);
  CHECK(c.results[c.ticket].size() == 2);
  CHECK(c.results[t2].size() == 2);
  c.check_clean();
}

TEST_CASE("the map stage of a fetch failure waits for the one resubmission", "[dag]") {
  TwoStages c({"A", "B"});
  c.first_lost();
  const uint64_t t2 = c.job(rdd(2, {c.s}));  // needs it too, and starts it no sooner
  CHECK(c.submissions(0) == 1);
  c.advance(199ms);
  CHECK(c.submissions(0) == 1);
  c.advance(1ms);
  CHECK(c.submissions(0) == 2);
  c.maps_ok(0, 1);
  c.results_ok(1, 1);
  c.results_ok(2);
  c.results_ok(1, 0);
  CHECK(c.ended(c.ticket));
  c.check_succeeded(t2);
}

TEST_CASE("D18 a worker that goes takes the outputs on its host, its executors may live", "[dag]") {
  Dag c;
  c.executor("A2", 4, "hA");
  const ShufflePtr s =
      shuffle(rdd(3, {}, {{"executor_hA_A"}, {"executor_hA_A2"}, {"executor_hB_B"}}), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.maps_ok(0);
  c.on(BackendWorkerRemoved{"hA", "it is gone"});
  CHECK(c.driver.map_outputs().missing(s->id) == Ints{0, 1});
  CHECK(c.seen<ExecutorRemoved>().empty());
  c.on(CancelJob{t, ""});
  c.check_clean();
}

TEST_CASE("D10 blocks that another job cached meanwhile spare a new job the stage before",
          "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(1, {}, at({"A"})), 1);
  const NodePtr kept = cached_on({"B"}, {s});
  const uint64_t t1 = c.job(rdd(1, {narrow(kept)}));
  REQUIRE(c.live_partitions(0, 0) == Ints{0});
  c.holds("D", *kept, 0);
  const uint64_t t2 = c.job(rdd(1, {narrow(kept)}));
  CHECK(c.task(2, 0, 0).executor == "D");
  c.results_ok(2);
  CHECK(c.ended(t2));
  c.maps_ok(0);
  c.results_ok(1);
  c.check_succeeded(t1);
}

TEST_CASE("D44 a stage goes where its blocks were cached while its parents ran", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(1, {}, at({"A"})), 1);
  const NodePtr kept = cached_on({"B"}, {s});
  const uint64_t t = c.job(rdd(1, {narrow(kept)}));
  c.holds("D", *kept, 0);
  c.maps_ok(0);
  CHECK(c.task(1, 0, 0).executor == "D");
  c.results_ok(1);
  c.check_succeeded(t);
}

TEST_CASE("D44 a stage that is submitted again goes where blocks are cached by now", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(1, {}, at({"A"})), 2);
  const NodePtr kept = cached_on({"B", "C"}, {s0});
  const ShufflePtr s1 = shuffle(rdd(2, {narrow(kept)}), 1);
  const uint64_t t1 = c.job(rdd(1, {s1}));
  c.maps_ok(0);
  REQUIRE(c.task(1, 0, 0).executor == "B");
  c.maps_ok(1);
  c.fetch_failed(c.task(2, 0, 0), s1->id, 0, "B");
  const uint64_t t2 = c.job(rdd(2, {narrow(kept)}));  // looks where the blocks are: nowhere yet
  c.holds("D", *kept, 0);
  c.advance(200ms);
  CHECK(c.task(1, 1, 0).executor == "D");
  c.maps_ok(1, 1);
  c.results_ok(2, 1);
  c.results_ok(3);
  CHECK(c.ended(t1));
  c.check_succeeded(t2);
}

TEST_CASE("D34 a map stage that ends incomplete goes on at once, whether or not a child waits",
          "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 1);
  const ShufflePtr other = shuffle(rdd(1, {}, at({"C"})), 1);
  const uint64_t t1 = c.job(rdd(1, {s, other}));
  c.maps_ok(0);
  c.maps_ok(1);
  const uint64_t t2 = c.job(rdd(1, {s}));
  c.fetch_failed(c.task(3, 0, 0), s->id, 1, "B");
  c.advance(200ms);
  REQUIRE(c.live_partitions(0, 1) == Ints{1});
  c.on(CancelJob{t2, ""});
  c.on(BackendWorkerRemoved{"hA", "it is gone"});
  c.fetch_failed(c.task(2, 0, 0), other->id, -1, "");  // the only child left is tried again later
  c.map_ok(c.task(0, 1, 1));
  c.maps_ok(0, 2, {0});
  c.advance(200ms);
  c.results_ok(2, 1);
  CHECK(c.ended(t1));
  c.check_succeeded(t1);
}

namespace {

/// The stage between makes its second output in its first attempt, given up, and its first one in
/// its second, given up as well, while the first stage runs for both once more.
struct NeededNoMore : ThreeStages {
  Sent first, second;
  NeededNoMore() : ThreeStages({"A"}, {"B", "C"}) {
    maps_ok(0);
    second = task(1, 0, 1);
    fetch_failed(task(1, 0, 0), s0->id, 0, "A");
    advance(200ms);
    maps_ok(0, 1);
    first = task(1, 1, 0);
    fetch_failed(task(1, 1, 1), s0->id, 0, "A");
    advance(200ms);
  }
  void make_outputs_and_fail_first_stage() {
    map_ok(first);
    map_ok(second);
    for (int i = 0; i < 4; ++i) fail(task(0, 2, 0));
  }
};

}  // namespace

TEST_CASE("a stage that fails when nobody needs it any more holds nobody up", "[dag]") {
  NeededNoMore c;
  SECTION("the job that had it computed") {
    c.make_outputs_and_fail_first_stage();
    c.results_ok(2);
    c.check_succeeded(c.ticket);
  }
  SECTION("a job that wanted the outputs only") {
    const uint64_t outputs = c.map_stage_job(c.s1);
    c.make_outputs_and_fail_first_stage();
    CHECK(c.error(outputs).empty());
    c.results_ok(2);
    c.check_succeeded(c.ticket);
  }
  SECTION("a job that needs it later has it computed again") {
    c.make_outputs_and_fail_first_stage();
    const uint64_t later = c.job(rdd(2, {c.s0}));
    c.maps_ok(0, 3, {0});
    c.results_ok(3);
    CHECK(c.error(later).empty());
    c.results_ok(2);
    c.check_succeeded(c.ticket);
  }
}

TEST_CASE("what executors know of outputs is out of date once a map stage has ended", "[dag]") {
  TwoStages c({"A", "A"});
  const int64_t before = c.task(0, 0, 0).epoch;
  c.maps_ok(0);
  CHECK(c.task(1, 0, 0).epoch > before);
  c.results_ok(1);
  c.check_succeeded(c.ticket);
}
