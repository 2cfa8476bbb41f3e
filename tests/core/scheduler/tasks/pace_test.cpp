// How many tasks wait in an executor's queue, by how long they take.
#include "tests/core/scheduler/scheduler_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

DriverOptions paced(int32_t launch_ahead, Duration window) {
  DriverOptions o = test_options(launch_ahead);
  o.launch_ahead_window = window;
  return o;
}

TaskMetrics ran(Duration d) {
  TaskMetrics m;
  m.run_time = d.count();
  return m;
}

/// The oldest live task of `executor` ends after it ran for `time`.
void finish_one(Cluster& c, const std::string& executor, Duration time) {
  for (const Sent& s : c.live())
    if (s.executor == executor) {
      TaskUpdate u;
      u.id = s.id;
      u.state = TaskState::Finished;
      u.result = Payload("x");
      u.metrics = ran(time);
      return c.update(s, std::move(u));
    }
}

}  // namespace

TEST_CASE("a queue holds what its executor runs within the window", "[launch_ahead]") {
  struct Row {
    int32_t least, slots;
    Duration window, task;
    int32_t ahead;
  };
  const auto row = GENERATE(Row{8, 1, 20ms, 998us, 20},  // 20 ms of tasks
                            Row{8, 4, 20ms, 998us, 80},  // of four slots
                            Row{8, 1, 20ms, 0us, 4096},  // no more than that of empty ones
                            Row{8, 1, 20ms, 10s, 8},     // long tasks: the least
                            Row{8, 1, 0ms, 0us, 8},      // no window: always the least
                            Row{0, 1, 20ms, 0us, 0});    // nothing is sent ahead
  const DriverOptions options = paced(row.least, row.window);
  Pace pace(options);
  CHECK(pace.ahead(row.slots) == row.least);  // nothing is known yet
  for (int i = 0; i < 100; ++i) pace.ended(ran(row.task));
  CHECK(pace.ahead(row.slots) == row.ahead);
}

TEST_CASE("the pace follows tasks that become longer", "[launch_ahead]") {
  const DriverOptions options = paced(8, 20ms);
  Pace pace(options);
  for (int i = 0; i < 100; ++i) pace.ended(ran(0us));
  CHECK(pace.ahead(1) == 4096);
  for (int i = 0; i < 100; ++i) pace.ended(ran(1s));
  CHECK(pace.ahead(1) == 8);
}

TEST_CASE("executors get more of short tasks, each stage by its own tasks", "[launch_ahead]") {
  Cluster c(paced(8, 20ms));
  c.executor("A", 1);
  c.job(rdd(1000));
  REQUIRE(c.live().size() == 9);
  finish_one(c, "A", 198us);
  CHECK(c.live().size() == 1 + 100);
  c.job(rdd(1000));  // of these nothing is known
  CHECK(c.live(1).empty());
  while (c.live(0).size() > 1) finish_one(c, "A", 198us);
  CHECK(c.live(1).size() == 8);
}

TEST_CASE("short tasks that wait go to executors that come", "[launch_ahead]") {
  Cluster c(paced(8, 20ms));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(60));
  finish_one(c, "A", 0us);
  REQUIRE(c.live().size() == 59);
  c.executor("B", 1);
  REQUIRE(c.revocations.size() == 1);
  CHECK(c.revocations.front().second.size() == 29);
  c.answer_revocations();
  int32_t on_b = 0;
  for (const Sent& s : c.live()) on_b += s.executor == "B";
  CHECK(on_b >= 8);
  while (!c.live().empty()) c.succeed(c.live()[0], "x");
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("the last short tasks are shared out by slots, not to whom asks first",
          "[launch_ahead]") {
  for (const int32_t slots : {1, 3}) {
    CAPTURE(slots);
    Cluster c(paced(8, 20ms));
    c.executor("A", 1);
    c.executor("B", slots);
    const uint64_t t = c.job(rdd(400));
    finish_one(c, "A", 0us);
    finish_one(c, "B", 0us);
    std::map<std::string, int32_t> on;
    for (const Sent& s : c.live()) ++on[s.executor];
    CHECK(on["A"] + on["B"] == 398);
    CHECK(on["B"] >= slots * (on["A"] - 2));
    CHECK(on["B"] <= slots * (on["A"] + 2));
    // As they run them at the same pace, nobody idles.
    while (c.live().size() > 20) {
      finish_one(c, "A", 0us);
      for (int32_t i = 0; i < slots; ++i) finish_one(c, "B", 0us);
    }
    CHECK(c.revocations.empty());
    c.drain();
    CHECK(c.ended(t));
    CHECK(c.driver.idle_state_is_clean());
  }
}

TEST_CASE("no executor waits for the share of one that does not come", "[launch_ahead]") {
  Cluster c(paced(8, 20ms));
  c.executor("A", 1);
  c.executor("B", 1);
  const uint64_t t = c.job(rdd(100));
  for (int i = 0; i < 85; ++i) finish_one(c, "A", 0us);
  c.answer_revocations();
  int32_t on_a = 0;
  for (const Sent& s : c.live()) on_a += s.executor == "A";
  CHECK(on_a > 0);
  c.drain();
  CHECK(c.ended(t));
}
