// Barrier sets: all tasks at once or none. Ids are those of spec/11, section S.
#include "tests/core/scheduler/tasks/task_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

using Offers = std::vector<TaskScheduler::Offer>;

}  // namespace

TEST_CASE("S32 a barrier set waits for a slot for each task", "[task_scheduler]") {
  TaskBed b;
  const int32_t e0 = b.add("e0", "h0"), e1 = b.add("e1", "h1"), e2 = b.add("e2", "h2");
  b.submit_barrier(0, 3);
  CHECK(b.offer({{e0, 1}, {e1, 1}}).empty());
  CHECK(b.logged() == std::vector<std::string>{
                          "Skip current round of resource offers for barrier stage 0 because the "
                          "barrier taskSet requires 3 slots, while the total number of available "
                          "slots is 2."});
  b.now += 59s;
  b.offer({{e0, 1}});
  CHECK(b.logged().empty());  // once a minute
  b.now += 1s;
  b.offer({{e0, 1}});
  CHECK(b.logged().size() == 1);
  const auto launched = b.offer({{e0, 1}, {e1, 1}, {e2, 1}});
  REQUIRE(launched.size() == 3);
  for (int32_t i = 0; i < 3; ++i) CHECK(launched[static_cast<size_t>(i)].index == i);
  for (const auto& l : launched) b.succeed(l);
  CHECK(b.tasks.idle());
}

TEST_CASE("S33 what comes first takes its slots first", "[task_scheduler]") {
  TaskBed b;
  const int32_t e0 = b.add("e0", "h0"), e1 = b.add("e1", "h1"), e2 = b.add("e2", "h2");
  b.submit(0, 1);
  b.submit_barrier(1, 3);
  const auto launched = b.offer({{e0, 1}, {e1, 1}, {e2, 1}});
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].stage == 0);
  b.succeed(launched[0]);
  CHECK(b.offer({{e0, 1}, {e1, 1}, {e2, 1}}).size() == 3);
}

TEST_CASE("S36 a barrier task that fails is the end of its set", "[task_scheduler]") {
  TaskBed b;
  const int32_t e0 = b.add("e0", "h0"), e1 = b.add("e1", "h1");
  b.submit_barrier(0, 2);
  const auto launched = b.offer({{e0, 1}, {e1, 1}});
  REQUIRE(launched.size() == 2);
  b.fail(launched[0]);
  CHECK(b.set(0).zombie());
  CHECK(b.offer({{e0, 2}, {e1, 2}}).empty());
  REQUIRE(b.ended.size() == 1);
  b.fail(launched[1], TaskEndKind::TaskKilled);
  CHECK(b.tasks.idle());
}

TEST_CASE("S40 a barrier set waits for better places, but not for ever", "[task_scheduler]") {
  TaskBed b;
  const int32_t e1 = b.add("e1", "h0"), e2 = b.add("e2", "h1"), e3 = b.add("e3", "h2");
  const int32_t e0 = b.add("e0", "h0");
  const Offers all{{e1, 1}, {e2, 1}, {e3, 1}};
  b.submit_barrier(0, 3, {{at("h0", "e0")}, {at("h1", "e2")}, {at("h2", "e3")}});
  CHECK(b.offer(all).empty());
  CHECK(b.logged() ==
        std::vector<std::string>{"Releasing the assigned resource offers since only partial tasks "
                                 "can be launched. Waiting for later round resource offers."});
  CHECK(b.set(0).pending() == 3);
  CHECK(b.set(0).running() == 0);
  b.now += 4s;
  const auto launched = b.offer(all);
  REQUIRE(launched.size() == 3);
  for (const auto& l : launched) CHECK(b.set(0).attempts(l.index) == 1);
  CHECK(std::any_of(launched.begin(), launched.end(),
                    [](const auto& l) { return l.index == 0 && l.executor == "e1"; }));
  CHECK(b.set(0).addresses.find(",") != std::string::npos);
  CHECK(b.executors.alive(e0));
}

TEST_CASE("a barrier set that fits in part leaves nothing behind, round by round",
          "[task_scheduler]") {
  TaskBed b;
  const int32_t e1 = b.add("e1", "h0"), e2 = b.add("e2", "h1"), e3 = b.add("e3", "h2");
  b.add("e0", "h0");
  const Offers all{{e1, 1}, {e2, 1}, {e3, 1}};
  b.submit_barrier(0, 3, {{at("h0", "e0")}, {at("h1", "e2")}, {at("h2", "e3")}});
  const size_t listed = b.set(0).listed();
  CHECK(listed == 6);  // each by its executor and by its host
  for (int round = 0; round < 100; ++round) {
    CHECK(b.offer(all).empty());
    CHECK(b.set(0).listed() == listed);
    CHECK(b.set(0).pending() == 3);
  }
  b.now += 4s;
  CHECK(b.offer(all).size() == 3);
}

TEST_CASE("S41 places that a barrier set can't use go to the next set", "[task_scheduler]") {
  TaskBed b;
  const int32_t e1 = b.add("e1", "h0"), e2 = b.add("e2", "h1");
  b.add("e0", "h0");
  const Offers all{{e1, 1}, {e2, 1}};
  b.submit_barrier(0, 2, {{at("h0", "e0")}, {at("h1", "e2")}});
  b.submit(1, 2);
  const auto others = b.offer(all);
  REQUIRE(others.size() == 2);
  for (const auto& l : others) CHECK(l.stage == 1);
  for (const auto& l : others) b.succeed(l);
  b.now += 4s;
  const auto launched = b.offer(all);
  REQUIRE(launched.size() == 2);
  for (const auto& l : launched) CHECK(l.stage == 0);
}

TEST_CASE("with the legacy delay timer a barrier set that fits in part is given up",
          "[task_scheduler]") {
  DriverOptions o = test_options();
  o.locality_legacy_reset = true;
  TaskBed b(o);
  const int32_t e1 = b.add("e1", "h0"), e2 = b.add("e2", "h1");
  b.add("e0", "h0");
  b.submit_barrier(0, 2, {{at("h0", "e0")}, {at("h1", "e2")}});
  CHECK(b.offer({{e1, 1}, {e2, 1}}).empty());
  REQUIRE(b.failed.size() == 1);
  CHECK(
      b.failed[0].starts_with("Fail resource offers for barrier stage 0 because only 1 out of a "
                              "total number of 2 tasks got resource offers. "));
  CHECK(b.tasks.idle());
}

TEST_CASE("a barrier set gets nothing ahead of free slots, and no copies", "[task_scheduler]") {
  DriverOptions o = test_options(8);
  o.speculation.enabled = true;
  TaskBed b(o);
  const int32_t e0 = b.add("e0", "h0");
  b.submit_barrier(0, 1);
  CHECK(b.turn([&](Turn& t) { b.tasks.resource_offers({{e0, 8}}, false, true, t); }).empty());
  CHECK(b.set(0).speculation() == nullptr);
  CHECK(b.offer({{e0, 1}}).size() == 1);
}

TEST_CASE("a barrier set whose inputs can't be encoded is given up as a whole",
          "[task_scheduler]") {
  TaskBed b;
  const int32_t e0 = b.add("e0", "h0");
  b.codec.inputs = [](const Node&, int32_t p) -> Bytes {
    if (p == 1) throw std::runtime_error("a socket can't travel");
    return "x";
  };
  TaskSetSpec spec = b.spec(0, 2);
  spec.barrier = spec.has_inputs = true;
  b.submit(std::move(spec));
  const auto launched = b.offer({{e0, 2}});
  REQUIRE(launched.size() == 1);
  REQUIRE(b.failed.size() == 1);
  CHECK(b.failed[0].ends_with("a socket can't travel"));
  b.fail(launched[0], TaskEndKind::TaskKilled);
  CHECK(b.tasks.idle());
}

TEST_CASE("in FAIR mode a barrier set gets its slots when its pool's turn comes",
          "[task_scheduler]") {
  DriverOptions o = test_options();
  o.scheduling_mode = conf::SchedulingMode::kFair;
  TaskBed b(o);
  const int32_t e0 = b.add("e0", "h0");
  b.submit_barrier(0, 3);
  b.submit(1, 4);
  auto launched = b.offer({{e0, 2}});
  REQUIRE(launched.size() == 2);
  for (const auto& l : launched) {
    CHECK(l.stage == 1);
    b.succeed(l);
  }
  launched = b.offer({{e0, 4}});
  CHECK(std::count_if(launched.begin(), launched.end(),
                      [](const auto& l) { return l.stage == 0; }) == 3);
}

TEST_CASE("a slot that a barrier set can't use alone goes to tasks ahead elsewhere",
          "[task_scheduler]") {
  Cluster c(test_options(8));
  c.executor("A", 1);
  c.executor("B", 1);
  const uint64_t first = c.job(rdd(8));
  auto all = rdd(2);
  all->barrier = all->starts_barrier = true;
  const uint64_t second = c.job(all);
  const auto of = [&](const std::string& executor) {
    std::vector<Sent> v;
    for (const Sent& s : c.live())
      if (s.executor == executor) v.push_back(s);
    return v;
  };
  REQUIRE(of("A").size() == 4);
  for (const Sent& s : of("B")) c.succeed(s, "x");
  REQUIRE_FALSE(c.revocations.empty());
  while (!c.ended(first)) {
    c.answer_revocations();
    for (const Sent& s : c.live(0)) c.succeed(s, "x");
  }
  c.answer_revocations();
  c.advance(1s);
  CHECK(c.live(1).size() == 2);
  c.results_ok(1);
  CHECK(c.ended(second));
  CHECK(c.driver.idle_state_is_clean());
}
