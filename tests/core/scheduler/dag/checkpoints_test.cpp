// When an Rdd that was checkpointed lets go of its ancestors.
#include "tests/core/scheduler/dag/dag_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

/// An Rdd behind a shuffle. `source` is expired once the Rdd lets go of what is before that.
struct Checkpointed : Dag {
  Checkpointed() {
    const NodePtr maps = rdd_on({"A", "B"});
    source = maps;
    base = rdd(2, {shuffle(maps, 2)});
  }
  void checkpoint() {
    write_checkpoint(base, rdd(2));
    on(CheckpointDone{base});
  }
  std::weak_ptr<const Node> source;
  std::shared_ptr<Node> base;
};

}  // namespace

TEST_CASE("a checkpoint lets go of the ancestors when no job runs", "[dag]") {
  Checkpointed c;
  c.checkpoint();
  CHECK(c.source.expired());
  CHECK(c.base->dependencies.empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("the ancestors stay while a job computes from them, and go with it", "[dag]") {
  Checkpointed c;
  const uint64_t t = c.job(rdd(2, {narrow(c.base)}));
  c.maps_ok(0);
  c.checkpoint();
  CHECK_FALSE(c.source.expired());
  SECTION("its outputs are lost, and made again") {
    c.fetch_failed(c.task(1, 0, 1), std::get<ShufflePtr>(c.base->dependencies.at(0))->id, 0, "A");
    c.advance(200ms);
    c.maps_ok(0, 1, {0});
    CHECK_FALSE(c.source.expired());
    c.results_ok(1, 1);
    CHECK(c.results[t].size() == 2);
    c.check_succeeded(t);
  }
  SECTION("it succeeds") { c.results_ok(1); }
  SECTION("it is cancelled") { c.on(CancelJob{t, "by its user"}); }
  CHECK(c.source.expired());
}

TEST_CASE("a later job that shares a map stage of an earlier one keeps the ancestors", "[dag]") {
  Checkpointed c;
  const ShufflePtr s = shuffle(rdd(2, {narrow(c.base)}), 2);
  const uint64_t first = c.job(rdd(2, {s}));
  c.maps_ok(0);
  c.checkpoint();
  const uint64_t second = c.job(rdd(2, {s}));
  c.on(CancelJob{first, "by its user"});
  CHECK_FALSE(c.source.expired());
  c.maps_ok(1);
  c.results_ok(3);
  c.check_succeeded(second);
  CHECK(c.source.expired());
}

TEST_CASE("later jobs, which read the checkpoint, do not keep the ancestors", "[dag]") {
  Checkpointed c;
  c.base->storage_bits = 1;
  const uint64_t first = c.job(rdd(2, {narrow(c.base)}));
  c.maps_ok(0);
  c.checkpoint();
  c.job(rdd(2, {narrow(c.base)}));
  CHECK_FALSE(c.source.expired());
  c.on(CancelJob{first, "by its user"});
  CHECK(c.source.expired());
}

TEST_CASE("jobs that do not read the ancestors do not keep them", "[dag]") {
  Checkpointed c;
  c.job(rdd(1));
  const ShufflePtr behind = std::get<ShufflePtr>(c.base->dependencies.at(0));
  c.job(rdd(2, {behind}));
  c.checkpoint();
  CHECK(c.base->dependencies.empty());
  c.job(rdd(2, {narrow(c.base)}));
  CHECK(c.seen<JobStarted>().back().stages.size() == 1);
}

TEST_CASE("a job that waits for slots finds the checkpoint in place of the ancestors", "[dag]") {
  Cluster c(test_options(0));
  c.executor("A", 1);
  const auto base = rdd(2, {shuffle(rdd(2), 2)});
  const auto together = rdd(2, {narrow(base)});
  together->starts_barrier = true;
  derive(*together);
  const uint64_t t = c.job(together);
  CHECK(c.live().empty());
  write_checkpoint(base, rdd(2));
  c.on(CheckpointDone{base});
  CHECK(base->dependencies.empty());
  c.executor("B", 1);
  c.advance(15s);
  REQUIRE(c.live().size() == 2);
  c.results_ok(c.live()[0].stage.value);
  CHECK(c.error(t).empty());
  CHECK(c.results[t].size() == 2);
}

TEST_CASE("a checkpoint of what nobody has any more is nothing", "[dag]") {
  Checkpointed c;
  write_checkpoint(c.base, rdd(2));
  const std::weak_ptr<const Node> base = c.base;
  c.base.reset();
  c.on(CheckpointDone{base});
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("what a job reads of a checkpointed rdd ends after the job", "[dag]") {
  Checkpointed c;
  c.base->storage_bits = 1;
  c.checkpoint();
  std::weak_ptr<const void> kept;
  SECTION("its cached partitions") {
    kept = c.base;
    const uint64_t t = c.job(c.base);
    c.base.reset();
    CHECK_FALSE(kept.expired());
    c.results_ok(0);
    c.check_succeeded(t);
  }
  SECTION("its shuffle") {
    ShufflePtr s = shuffle(c.base, 2);
    kept = s;
    const uint64_t t = c.map_stage_job(s);
    s.reset();
    CHECK_FALSE(kept.expired());
    c.maps_ok(0);
    c.check_succeeded(t);
  }
  CHECK(kept.expired());
}

TEST_CASE("what a checkpoint lets go of may be of any length", "[dag]") {
  Cluster c(test_options(0));
  std::weak_ptr<const Node> first;
  NodePtr last = rdd(1);
  first = last;
  for (int i = 0; i < 200'000; ++i) last = rdd(1, {narrow(std::move(last))});
  write_checkpoint(last, rdd(1));
  c.on(CheckpointDone{last});
  CHECK(first.expired());
}
