// Jobs that make map outputs and nothing else.
//
// Through the whole machine; ids are those of spec/11, section D.
#include "core/shuffle/blocks/map_status.hpp"
#include "tests/core/scheduler/dag/dag_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {
int64_t estimate(int64_t bytes) { return size_for(encode_sizes(std::vector<int64_t>{bytes}), 0); }
}  // namespace

TEST_CASE("D58 a map-stage job gives statistics, and later jobs find its outputs", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 1);
  const uint64_t maps = c.map_stage_job(s);
  CHECK(c.seen<JobStarted>().at(0).stages.size() == 1);
  c.map_ok(c.task(0, 0, 0), {100});
  CHECK_FALSE(c.ended(maps));
  c.map_ok(c.task(0, 0, 1), {3000});
  CHECK(c.error(maps).empty());
  CHECK(c.statistics(maps) == std::vector<int64_t>{estimate(100) + estimate(3000)});
  CHECK(c.seen<JobEnded>().at(0).succeeded);
  CHECK(c.driver.idle_state_is_clean());
  const uint64_t reduce = c.job(rdd(1, {s}));
  CHECK(c.submitted() == std::vector<std::pair<int32_t, int32_t>>{{0, 0}, {2, 0}});
  c.results_ok(2);
  CHECK(c.results[reduce] == Values{{0, "42"}});
  const size_t sent = c.sent.size();
  const uint64_t again = c.map_stage_job(s);
  CHECK(c.statistics(again) == c.statistics(maps));
  CHECK(c.sent.size() == sent);
  c.check_clean();
}

TEST_CASE("a map-stage job over no partitions is refused", "[dag]") {
  Dag c;
  const uint64_t t = c.map_stage_job(shuffle(rdd(0), 1));
  CHECK(c.error(t) == "Can't run submitMapStage on RDD with 0 partitions");
  CHECK(c.seen<JobStarted>().empty());
  c.check_clean();
}

TEST_CASE("D59 a map-stage job and a reduce job share the maps", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2), 1);
  const uint64_t maps = c.map_stage_job(s), reduce = c.job(rdd(1, {s}));
  CHECK(c.live().size() == 2);
  c.maps_ok(0);
  CHECK(c.error(maps).empty());
  CHECK_FALSE(c.ended(reduce));
  c.results_ok(1);
  CHECK(c.results[reduce] == Values{{0, "42"}});
  c.check_clean();
}

TEST_CASE("D60 a reduce job after a map-stage job recovers lost outputs", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const uint64_t maps = c.map_stage_job(s);
  c.maps_ok(0);
  CHECK(c.ended(maps));
  const uint64_t reduce = c.job(rdd(2, {s}));
  c.succeed(c.task(2, 0, 0), "42");
  c.fetch_failed(c.task(2, 0, 1), s->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(1, 1, {0});
  CHECK(c.live_partitions(2, 1) == Ints{1});
  c.results_ok(2, 1);
  CHECK(c.results[reduce] == Values{{0, "42"}, {1, "43"}});
  const uint64_t reduce2 = c.job(rdd(2, {s}));
  CHECK(c.live().size() == 2);
  c.results_ok(4);
  CHECK(c.ended(reduce2));
  CHECK(c.ended(c.map_stage_job(s)));
  CHECK(c.live().empty());
  c.check_clean();
}

TEST_CASE("D61 map-stage jobs along a chain end when their own stage is done", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const ShufflePtr s1 = shuffle(rdd(2, {s0}, at({"C", "D"})), 2);
  const uint64_t first = c.map_stage_job(s0), second = c.map_stage_job(s1),
                 reduce = c.job(rdd(2, {s1}));
  c.maps_ok(0);
  CHECK(c.ended(first));
  CHECK_FALSE(c.ended(second));
  c.map_ok(c.task(1, 0, 0));
  c.fetch_failed(c.task(1, 0, 1), s0->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(0, 1, {0});
  CHECK_FALSE(c.ended(second));
  c.maps_ok(1, 1, {1});
  CHECK(c.ended(second));
  CHECK_FALSE(c.ended(reduce));
  c.succeed(c.task(2, 0, 0), "42");
  c.fetch_failed(c.task(2, 0, 1), s1->id, 1, "D");
  c.advance(200ms);
  c.maps_ok(1, 2, {1});
  c.results_ok(2, 1);
  CHECK(c.results[reduce] == Values{{0, "42"}, {1, "43"}});
  for (const uint64_t t : {first, second}) CHECK(c.results[t].size() == 1);
  c.check_clean();
}

TEST_CASE("D62 a stage that waits for its parent is not done by a late copy", "[dag]") {
  Dag c(copying());
  const ShufflePtr s0 = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const ShufflePtr s1 = shuffle(rdd(2, {s0}, at({"C", "D"})), 2);
  const uint64_t t = c.map_stage_job(s1);
  c.maps_ok(0);
  c.map_ok(c.task(1, 0, 0));
  const Sent late = c.task(1, 0, 1);
  c.advance(100ms);
  c.fetch_failed(c.copy_of(late), s0->id, 0, "A");
  c.advance(200ms);
  CHECK(c.live_partitions(0, 1) == Ints{0});
  c.map_ok(late);
  CHECK(c.driver.map_outputs().missing(s1->id).empty());
  CHECK_FALSE(c.ended(t));
  c.maps_ok(0, 1);
  CHECK(c.ended(t));
  CHECK(c.submitted().back() == std::pair<int32_t, int32_t>(1, 1));
  CHECK(c.live(1).empty());
  c.check_clean();
}

TEST_CASE("D63 outputs that don't count are made by a new attempt", "[dag]") {
  Dag c;
  // A fetch failure elsewhere takes A's outputs away while A lives on.
  const ShufflePtr other = shuffle(rdd(1, {}, at({"A"})), 1);
  const uint64_t t1 = c.job(rdd(1, {other}));
  c.maps_ok(0);
  const ShufflePtr s = shuffle(rdd(3, {}, at({"A", "A", "B"})), 1);
  const uint64_t maps = c.map_stage_job(s);
  c.map_ok(c.task(2, 0, 0));
  CHECK(c.driver.map_outputs().available(s->id) == 1);
  c.fetch_failed(c.live(1, 0)[0], other->id, 0, "A");
  c.map_ok(c.task(2, 0, 1));
  CHECK(c.driver.map_outputs().available(s->id) == 0);
  c.map_ok(c.task(2, 0, 2));
  CHECK(c.live_partitions(2, 1) == Ints{0, 1});
  CHECK_FALSE(c.ended(maps));
  c.maps_ok(2, 1);
  CHECK(c.error(maps).empty());
  const uint64_t reduce = c.job(rdd(1, {s}));
  CHECK(c.live(3).empty());
  c.results_ok(4);
  CHECK(c.ended(reduce));
  c.on(CancelJob{t1, ""});
  c.check_clean();
}

TEST_CASE("D81 a stage with nothing left to do is done when its parent is", "[dag]") {
  Dag c(copying());
  const ShufflePtr s0 = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const ShufflePtr s1 = shuffle(rdd(2, {s0}, at({"C", "D"})), 2);
  c.map_stage_job(s0);
  c.maps_ok(0);
  const uint64_t t = c.map_stage_job(s1);
  CHECK(c.live(1).empty());  // as stage 0, whose outputs are there
  const Sent original = c.task(2, 0, 0);
  c.map_ok(c.task(2, 0, 1));
  c.advance(100ms);
  const Sent copy = c.copy_of(original);
  // What the copy makes must not lie where an output was lost.
  const int32_t lost = copy.executor == "A" ? 1 : 0;
  c.fetch_failed(original, s0->id, lost, lost == 0 ? "A" : "B");
  c.map_ok(copy);
  CHECK(c.completions() == Ints{0, 2});
  CHECK_FALSE(c.ended(t));
  c.advance(200ms);
  c.maps_ok(1, 1, {lost});
  CHECK(c.completions() == Ints{0, 2, 1, 2});
  CHECK(c.error(t).empty());
  const uint64_t reduce = c.job(rdd(2, {s1}));
  CHECK(c.live().size() == 2);
  c.results_ok(c.live()[0].stage.value);
  CHECK(c.ended(reduce));
  c.check_clean();
}

TEST_CASE("a map-stage job is cancelled, or fails, as any other", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(1), 1);
  const uint64_t cancelled = c.map_stage_job(s);
  c.on(CancelJob{cancelled, ""});
  CHECK(c.error(cancelled) == "Job 0 cancelled ");
  const uint64_t failed = c.map_stage_job(s);
  while (!c.ended(failed)) c.fail(c.task(1, 0, 0), "no");
  CHECK(c.error(failed).find("Task 0 in stage 1.0 failed 4 times") != std::string::npos);
  CHECK(c.completed(true) == Ints{0, 1});
  c.check_clean();
}
