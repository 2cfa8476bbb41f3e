// Tasks sent ahead of free slots: when they start, how they are taken back, what is owed in the
// end.
#include "tests/core/scheduler/scheduler_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

/// A holds a job's tasks, one in its slot and the others ahead; then B comes, and some are asked
/// back.
struct AskedBack : Cluster {
  explicit AskedBack(int32_t tasks) : Cluster(test_options(8)) {
    executor("A", 1);
    ticket = job(rdd(tasks));
    CHECK(live().size() == static_cast<size_t>(tasks));
    executor("B", 1);
    REQUIRE(revocations.size() == 1);
    asked = revocations.front().second;
  }
  void check_delivered(size_t results_wanted) {
    CHECK(results[ticket].size() == results_wanted);
    CHECK(driver.idle_state_is_clean());
  }
  uint64_t ticket = 0;
  std::vector<TaskId> asked;
};

/// A holds what reads a shuffle whose outputs it made: one task in its slot, the others ahead.
struct Reading : Cluster {
  explicit Reading(int32_t readers) : Cluster(test_options(8)), input(shuffle(rdd(2), readers)) {
    executor("A", 1);
    ticket = job(rdd(readers, {input}));
    maps_ok(0);
    REQUIRE(live(1).size() == static_cast<size_t>(readers));
  }
  /// The first one misses an output; the others are asked back.
  void miss_input() {
    const size_t others = live(1).size() - 1;
    fetch_failed(live(1)[0], input->id, 0, "A");
    REQUIRE(revocations.size() == 1);
    CHECK(revocations.front().second.size() == others);
  }
  ShufflePtr input;
  uint64_t ticket = 0;
};

}  // namespace

TEST_CASE("real slots of all executors come before tasks ahead", "[launch_ahead]") {
  Cluster c(test_options(8));
  c.executor("A", 2);
  c.executor("B", 2);
  c.job(rdd(3));
  CHECK(c.live().size() == 3);
  CHECK(c.driver.executors().at(0).ahead + c.driver.executors().at(1).ahead == 0);
  c.job(rdd(100));
  CHECK(c.live().size() == 4 + 16);
  for (int e : {0, 1}) {
    CHECK(c.driver.executors().at(e).running == 10);
    CHECK(c.driver.executors().at(e).ahead == 8);
  }
  CHECK(c.seen<TaskStarted>().size() == 4);
}

TEST_CASE("of tasks with large inputs no more lie in an executor than it has room for",
          "[launch_ahead]") {
  Cluster c(test_options(8));
  c.executor("A", 2);
  const auto root = rdd(8);
  root->source_data.assign(8, Bytes(4 << 20, 'x'));
  const uint64_t t = c.job(root);
  CHECK(c.driver.executors().at(0).ahead == 3);
  CHECK(c.live().size() == 5);
  c.succeed(c.live()[0], "x");
  CHECK(c.live().size() == 5);
  while (!c.live().empty()) c.succeed(c.live()[0], "x");
  CHECK(c.results[t].size() == 8);
}

TEST_CASE("listeners see a task start when a slot becomes its own", "[launch_ahead]") {
  Cluster c(test_options(8));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(4));
  REQUIRE(c.live().size() == 4);
  CHECK(c.seen<TaskStarted>().size() == 1);
  c.now += 1s;
  c.succeed(c.live()[0], "x");
  REQUIRE(c.seen<TaskStarted>().size() == 2);
  CHECK(c.seen<TaskStarted>()[1].task.launched == c.now);
  c.running(c.live()[2]);  // it says so before we thought
  CHECK(c.seen<TaskStarted>().size() == 3);
  while (!c.live().empty()) c.succeed(c.live()[0], "x");
  CHECK(c.seen<TaskStarted>().size() == 4);
  CHECK(c.seen<TaskEnded>().size() == 4);
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("an idle executor gets tasks that were sent ahead to another", "[launch_ahead]") {
  AskedBack c(9);
  CHECK(c.asked.size() == 4);  // half of what waits
  CHECK(c.effects<Send<ToExecutor>>().size() == 1);
  c.on(DriverTimer{DriverTimer::Kind::Revive, 0, ""});
  CHECK(c.revocations.size() == 1);  // asked once
  c.answer_revocations();
  std::map<std::string, int> per;
  for (const Sent& s : c.live()) ++per[s.executor];
  CHECK(c.live().size() == 9);
  CHECK(per["B"] >= 2);
  for (const Sent& s : c.live()) CHECK(s.number == 0);  // as if the others had never been
  c.drain();
  CHECK(c.seen<TaskStarted>().size() == 9);
  CHECK(c.seen<TaskEnded>().size() == 9);
  c.check_delivered(9);
}

TEST_CASE("a task asked back too late runs on", "[launch_ahead]") {
  AskedBack c(3);
  REQUIRE(c.asked.size() == 1);
  c.revocations.clear();
  c.from("A", TasksRevoked{});  // it had started
  CHECK(c.seen<TaskStarted>().size() == 2);
  CHECK(c.live().size() == 3);
  // The other one that waits is asked for next.
  REQUIRE(c.revocations.size() == 1);
  CHECK(c.revocations.front().second != c.asked);
  c.answer_revocations();
  while (!c.live().empty()) c.succeed(c.live()[0], "x");
  c.check_delivered(3);
}

TEST_CASE("a task that ends while it is asked back counts", "[launch_ahead]") {
  AskedBack c(2);
  const Sent last = c.by_id(c.asked.at(0));
  c.succeed(c.live()[0], "x");
  CHECK(c.seen<TaskStarted>().size() == 1);  // whether it started is for the answer to say
  c.succeed(last, "y");
  c.revocations.clear();
  c.from("A", TasksRevoked{});
  CHECK(c.seen<TaskStarted>().size() == 2);
  CHECK(c.driver.executors().at(0).running == 0);
  CHECK(c.driver.executors().at(0).revoking == 0);
  c.check_delivered(2);
}

TEST_CASE("tasks ahead are not blamed on the loss of their executor", "[launch_ahead]") {
  DriverOptions o = test_options(8);
  o.max_task_failures = 1;
  Cluster c(o);
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(5));
  c.lose("A");
  CHECK_FALSE(c.ended(t));
  CHECK(c.seen<TaskStarted>().size() == 1);  // those ahead leave no trace
  CHECK(c.seen<TaskEnded>().size() == 1);
  c.executor("B", 1);
  CHECK(c.live().size() == 5);
  while (!c.live().empty()) c.succeed(c.live()[0], "x");
  CHECK(c.results[t].size() == 5);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("B28 a task that ends its process before it is known to run fails its job",
          "[launch_ahead]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("0", 1);
  const uint64_t t = c.job(rdd(3));
  int lost = 0;
  while (!c.ended(t) && lost < 50) {
    c.lose(std::to_string(lost), 42);
    c.executor(std::to_string(++lost), 1);
  }
  REQUIRE(c.ended(t));
  CHECK(c.error(t).find(" failed 4 times, most recent failure: ") != std::string::npos);
  CHECK(lost <= 16);
}

TEST_CASE("an executor lost with an unanswered revocation leaves no debt", "[launch_ahead]") {
  AskedBack c(5);
  c.lose("A");
  c.revocations.clear();
  CHECK(c.live().size() == 5);
  c.executor("C", 1);
  CHECK(c.revocations.size() == 1);  // B's turn to give: nothing is owed by A any more
  c.answer_revocations();
  c.drain();
  c.check_delivered(5);
}

TEST_CASE("a task ahead that ended its executor is blamed though nobody knew that it ran",
          "[launch_ahead]") {
  DriverOptions o = test_options(8);
  o.max_task_failures = 1;
  Cluster c(o);
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(3));
  REQUIRE(c.live().size() == 3);
  c.from("A", ExecutorExiting{ExecutorId{"A"}, 52, "no memory", c.live()[1].id});
  REQUIRE(c.ended(t));
  CHECK(c.error(t).find("Task 1 in stage 0.0 failed 1 times") != std::string::npos);
}

TEST_CASE("tasks ahead of a stage that lacks its input are asked back", "[launch_ahead]") {
  Reading c(4);
  c.miss_input();
  c.answer_revocations();
  CHECK(c.live(1).empty());  // nothing runs in front of the maps
  c.advance(200ms);
  c.maps_ok(0, 1);
  c.results_ok(1, 1);
  CHECK(c.ended(c.ticket));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("FIFO: the next stage of an earlier job goes before tasks ahead of a later one",
          "[launch_ahead]") {
  Cluster c(test_options(8));
  c.executor("A", 1);
  const auto s = shuffle(rdd(1), 2);
  const uint64_t first = c.job(rdd(2, {s}));
  const uint64_t later = c.job(rdd(6));
  REQUIRE(c.live().size() == 7);
  c.maps_ok(0);
  REQUIRE(c.revocations.size() == 1);
  c.answer_revocations();
  REQUIRE(c.live().size() == 8);
  CHECK(c.live()[1].stage.value == c.live()[0].stage.value);
  CHECK(c.live()[2].stage.value != c.live()[0].stage.value);
  c.drain();
  CHECK(c.ended(first));
  CHECK(c.ended(later));
}

TEST_CASE("FIFO: tasks sent ahead since others were asked back make way, too", "[launch_ahead]") {
  Reading c(9);
  const uint64_t later = c.job(rdd(9));
  c.miss_input();
  c.advance(200ms);  // the map stage again, before A has answered
  const auto sent_meanwhile = c.live(2);
  REQUIRE(sent_meanwhile.size() == 1);
  REQUIRE(c.revocations.size() == 2);
  CHECK(c.revocations.back().second == std::vector<TaskId>{sent_meanwhile[0].id});
  c.drain();
  CHECK(c.ended(c.ticket));
  CHECK(c.ended(later));
}

TEST_CASE("an idle executor gets tasks ahead although the one that waits may not run there",
          "[launch_ahead]") {
  DriverOptions o = test_options(2);
  o.exclusion.task_and_stage = true;
  o.exclusion.task_attempts_per_executor = 1;
  o.exclusion.stage_tasks_per_executor = 8;
  Cluster c(o);
  c.executor("A", 1);
  c.executor("B", 1);
  const uint64_t t = c.job(rdd(6));
  const auto on = [&](const std::string& executor) {
    std::vector<Sent> there;
    for (const Sent& s : c.live())
      if (s.executor == executor) there.push_back(s);
    return there;
  };
  REQUIRE(on("A").size() == 3);
  REQUIRE(on("B").size() == 3);
  c.fail(on("B")[0]);  // A's queue is full, and B may not have it again
  while (!on("B").empty()) c.succeed(on("B")[0], "x");
  CHECK(c.live().size() == 3);
  for (const auto& x : c.revocations) UNSCOPED_INFO(x.first << " asked for " << x.second.size());
  CHECK(c.revocations.empty());
  c.on(DriverTimer{DriverTimer::Kind::Revive, 0, ""});
  REQUIRE(c.revocations.size() == 1);
  c.answer_revocations();
  CHECK(on("B").size() == 1);
  c.drain();
  CHECK(c.ended(t));
}

TEST_CASE("cancelling while tasks are asked back", "[launch_ahead]") {
  AskedBack c(5);
  c.on(CancelJob{c.ticket, ""});
  c.answer_revocations();
  while (!c.live().empty()) c.killed(c.live()[0]);
  CHECK(c.driver.idle_state_is_clean());
  CHECK(c.driver.executors().at(0).running == 0);
  CHECK(c.seen<TaskStarted>().size() == c.seen<TaskEnded>().size());
}

TEST_CASE("any order of launches, ends, losses and revocations keeps the books",
          "[task_scheduler]") {
  // A fixed sequence of pseudo-random steps; the machine must come out clean and every job must
  // end. Then again with second copies of tasks, and with executors excluded and replaced.
  const bool more = GENERATE(false, true);
  size_t copies = 0, replaced = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    uint32_t x = seed * 2654435761u;
    const auto roll = [&](uint32_t n) {
      x ^= x << 13;
      x ^= x >> 17;
      x ^= x << 5;
      return x % n;
    };
    DriverOptions o = test_options(static_cast<int32_t>(roll(2) * 6));
    o.max_task_failures = 1000;
    o.max_consecutive_attempts = 1000;
    if (seed % 2 == 0) {
      o.scheduling_mode = conf::SchedulingMode::kFair;
      o.pools = {{"0", conf::SchedulingMode::kFair, 2, 1}, {"1"}};
    }
    if (more) {
      o.cluster_manager = true;
      o.speculation = {.enabled = true, .interval = 100ms, .quantile = 0.3};
      o.exclusion = {.application = true,
                     .task_and_stage = true,
                     .task_attempts_per_executor = 2,
                     .task_attempts_per_host = 4,
                     .stage_tasks_per_executor = 3,
                     .stage_executors_per_host = 2,
                     .application_tasks_per_executor = 3,
                     .application_executors_per_host = 2,
                     .timeout = 20s,
                     .kill = true,
                     .fetch_failure = true,
                     .unschedulable_timeout = 5s};
    }
    Cluster c(o);
    int names = 0;
    std::vector<std::string> alive;
    const auto add = [&] {
      alive.push_back("e" + std::to_string(names++));
      c.executor(alive.back(), 1 + static_cast<int32_t>(roll(3)), "h" + std::to_string(roll(3)));
    };
    for (int i = 0; i < 3; ++i) add();
    const auto replace_killed = [&] {
      while (!c.kills.empty()) {
        const std::string gone = c.kills.back();
        c.kills.pop_back();
        if (std::erase(alive, gone) == 0) continue;
        std::erase_if(c.revocations, [&](const auto& r) { return r.first == gone; });
        c.lose(gone, 143);
        add();
        ++replaced;
      }
    };
    std::vector<uint64_t> jobs;
    std::vector<ShuffleId> shuffles;
    const auto end_one = [&](const Sent& s) {
      const bool is_map = c.driver.tasks().task_set(s.stage, s.stage_attempt) &&
                          c.driver.tasks().task_set(s.stage, s.stage_attempt)->spec().map_tasks;
      if (is_map)
        c.map_ok(s);
      else
        c.succeed(s, "x");
    };
    for (int step = 0; step < 200; ++step) {
      replace_killed();
      const std::vector<Sent> live = c.live();
      switch (roll(12)) {
        case 0: {
          const ShufflePtr s = shuffle(rdd(1 + static_cast<int32_t>(roll(8))), 4);
          shuffles.push_back(s->id);
          jobs.push_back(c.job(rdd(4, {s}), {0, 1, 2, 3},
                               {{"spark.scheduler.pool", std::to_string(jobs.size() % 3)}}));
          break;
        }
        case 1:
          if (names < 30) add();
          break;
        case 2:
          if (alive.size() > 1) {
            const size_t i = roll(static_cast<uint32_t>(alive.size()));
            c.lose(alive[i], roll(2) ? std::optional<int32_t>(1) : std::nullopt,
                   roll(4) == 0 ? c.hosts[alive[i]] : "");
            alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(i));
            std::erase_if(c.revocations, [&](const auto& r) {
              return !std::count(alive.begin(), alive.end(), r.first);
            });
          }
          break;
        case 3:
          if (!live.empty()) c.fail(live[roll(static_cast<uint32_t>(live.size()))], "x");
          break;
        case 4:
          if (!live.empty() && !shuffles.empty()) {
            const Sent s = live[roll(static_cast<uint32_t>(live.size()))];
            const TaskSet* set = c.driver.tasks().task_set(s.stage, s.stage_attempt);
            if (set && !set->spec().map_tasks) {
              const auto* dep = std::get_if<ShufflePtr>(&set->spec().root->dependencies[0]);
              c.fetch_failed(s, (*dep)->id, 0, alive[roll(static_cast<uint32_t>(alive.size()))]);
            }
          }
          break;
        case 5:
          c.answer_revocations();
          break;
        case 6:
          c.advance(Duration(std::chrono::milliseconds(roll(1500))));
          break;
        case 7:
          if (!jobs.empty() && roll(6) == 0)
            c.on(CancelJob{jobs[roll(static_cast<uint32_t>(jobs.size()))], "x"});
          break;
        case 8:
          if (!live.empty()) c.running(live[roll(static_cast<uint32_t>(live.size()))]);
          break;
        default:
          if (!live.empty()) end_one(live[roll(static_cast<uint32_t>(live.size()))]);
          break;
      }
    }
    for (int guard = 0; guard < 5000; ++guard) {
      replace_killed();
      c.answer_revocations();
      if (c.live().empty()) {
        c.advance(1s);
        for (const std::string& e : alive) c.from(e, ExecutorHeartbeat{ExecutorId{e}, 0});
        if (std::all_of(jobs.begin(), jobs.end(), [&](uint64_t t) { return c.ended(t); })) break;
        continue;
      }
      end_one(c.live()[0]);
    }
    CAPTURE(seed);
    for (const uint64_t t : jobs) CHECK(c.ended(t));
    c.answer_revocations();
    while (!c.live().empty()) end_one(c.live()[0]);
    CHECK(c.driver.idle_state_is_clean());
    CHECK(c.seen<TaskStarted>().size() ==
          c.seen<TaskEnded>().size() - static_cast<size_t>(c.resubmitted()));
    for (int e = 0; e < c.driver.executors().count(); ++e) {
      CHECK(c.driver.executors().at(e).running == 0);
      CHECK(c.driver.executors().at(e).ahead == 0);
      CHECK(c.driver.executors().at(e).revoking == 0);
    }
    for (const TaskStarted& e : c.seen<TaskStarted>()) copies += e.task.speculative;
  }
  CHECK((copies > 100) == more);
  CHECK((replaced > 100) == more);
}
