// How many executors dynamic allocation asks for: events and times → targets.
#include "conf/error.hpp"
#include "core/status/exit_reasons.hpp"
#include "tests/core/scheduler/allocation/allocation_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

conf::Conf conf_of(conf::Pairs pairs) {
  pairs.emplace_back("spark.master", "spark://m:7077");
  pairs.emplace_back("spark.dynamicAllocation.enabled", "true");
  return conf::Conf::of(pairs);
}
}  // namespace

TEST_CASE("A1 settings that cannot work are refused in Spark's words", "[allocation]") {
  const std::string p = "spark.dynamicAllocation.";
  struct Case {
    conf::Pairs pairs;
    std::string want;
  };
  const std::vector<Case> cases = {
      {{{p + "minExecutors", "-1"}},
       p + "minExecutors and " + p + "maxExecutors must be positive!"},
      {{{p + "maxExecutors", "0"}}, p + "maxExecutors cannot be 0!"},
      {{{p + "minExecutors", "3"}, {p + "maxExecutors", "2"}},
       p + "minExecutors (3) must be less than or equal to " + p + "maxExecutors (2)!"},
      {{{p + "schedulerBacklogTimeout", "0"}}, p + "schedulerBacklogTimeout must be > 0!"},
      {{{p + "sustainedSchedulerBacklogTimeout", "0"}},
       p + "sustainedSchedulerBacklogTimeout must be > 0!"},
      {{{p + "executorAllocationRatio", "0"}},
       p + "executorAllocationRatio must be > 0 and <= 1.0"},
      {{{p + "executorAllocationRatio", "1.1"}},
       p + "executorAllocationRatio must be > 0 and <= 1.0"},
      {{{p + "maxExecutors", "-1"}},
       p + "minExecutors and " + p + "maxExecutors must be positive!"},
      {{{"spark.task.cpus", "0"}},
       "The number of cores per executor (=1) has to be >= the number of cpus per task = 0."},
      {{{p + "shuffleTracking.enabled", "false"}},
       "Dynamic allocation of executors requires one of the following conditions: 1) enabling "
       "shuffle tracking through " +
           p +
           "shuffleTracking.enabled. 2) enabling shuffle blocks decommission through "
           "spark.decommission.enabled, spark.storage.decommission.enabled and "
           "spark.storage.decommission.shuffleBlocks.enabled."},
      {{{"spark.executor.cores", "1"}, {"spark.task.cpus", "2"}},
       "The number of cores per executor (=1) has to be >= the number of cpus per task = 2."},
  };
  for (const Case& c : cases) CHECK_THROWS_WITH(allocation_options(conf_of(c.pairs)), c.want);
  CHECK(allocation_options(conf_of({{p + "minExecutors", "1"}, {p + "maxExecutors", "1"}}))
            .initial_executors == 1);
  CHECK_FALSE(allocation_options(conf_of({{p + "shuffleTracking.enabled", "false"},
                                          {"spark.decommission.enabled", "true"},
                                          {"spark.storage.decommission.enabled", "true"}}))
                  .shuffle_tracking);
  CHECK(allocation_options(conf_of({{p + "minExecutors", "1"}, {p + "maxExecutors", "2"}}))
            .max_executors == 2);
  Manager m(1, 10, 1);
  CHECK(m.target() == 1);
  CHECK_FALSE(m.a.add_time());
}

TEST_CASE("settings: outputs have to be moved, or watched", "[allocation]") {
  const std::map<std::string, std::string> moved{
      {"spark.dynamicAllocation.shuffleTracking.enabled", "false"},
      {"spark.decommission.enabled", "true"},
      {"spark.storage.decommission.enabled", "true"},
      {"spark.storage.decommission.shuffleBlocks.enabled", "true"}};
  for (const auto& [key, value] : moved) {
    auto less = moved;
    if (value == "true") less[key] = "false";
    conf::Conf conf = conf_of({});
    for (const auto& [k, v] : less) conf = conf.with(k, v);
    if (value == "true")
      CHECK_THROWS(allocation_options(conf));
    else
      CHECK_NOTHROW(allocation_options(conf));
  }
}

TEST_CASE("settings: defaults, the initial number, local mode", "[allocation]") {
  const AllocationOptions o = allocation_options(conf_of({}));
  CHECK(o.min_executors == 0);
  CHECK(o.max_executors == 2147483647);
  CHECK(o.initial_executors == 0);
  CHECK(o.backlog_timeout == 1s);
  CHECK(o.sustained_timeout == 1s);
  CHECK(o.idle_timeout == 60s);
  CHECK(o.cached_idle_timeout == 2147483647s);
  CHECK(o.shuffle_timeout == kNever);
  CHECK(o.tasks_per_executor == 1);
  REQUIRE(o.notes.size() == 1);
  CHECK(o.notes[0].find("without spark.executor.cores explicitly set") != std::string::npos);
  const AllocationOptions more =
      allocation_options(conf_of({{"spark.executor.instances", "5"},
                                  {"spark.executor.cores", "4"},
                                  {"spark.task.cpus", "2"},
                                  {"spark.dynamicAllocation.initialExecutors", "1"},
                                  {"spark.dynamicAllocation.minExecutors", "2"}}));
  CHECK(more.initial_executors == 5);
  CHECK(more.tasks_per_executor == 2);
  REQUIRE(more.notes.size() == 1);
  CHECK(more.notes[0].starts_with("spark.dynamicAllocation.initialExecutors less than "));
  CHECK(dynamic_allocation(conf_of({})));
  const AllocationOptions few =
      allocation_options(conf_of({{"spark.executor.instances", "1"},
                                  {"spark.executor.cores", "4"},
                                  {"spark.dynamicAllocation.initialExecutors", "2"},
                                  {"spark.dynamicAllocation.minExecutors", "2"}}));
  CHECK(few.initial_executors == 2);
  REQUIRE(few.notes.size() == 1);
  CHECK(few.notes[0].starts_with("spark.executor.instances less than "));
  CHECK_FALSE(dynamic_allocation(conf_of({}).with("spark.master", "local[4]")));
  CHECK_FALSE(dynamic_allocation(conf_of({}).with("spark.master", "local")));
  CHECK_FALSE(dynamic_allocation(conf_of({}).with("spark.dynamicAllocation.enabled", "false")));
  CHECK(dynamic_allocation(conf_of({}).with("spark.master", "local-cluster[2,1,1024]")));
}

// ---- targets -----------------------------------------------------------------------------------

TEST_CASE("A2 the steps up double until the limit", "[allocation]") {
  Manager m(1, 10, 1);
  m.stage(0, 1000);
  const Ints added{1, 2, 4, 2, 0}, targets{2, 4, 8, 10, 10}, next{2, 4, 8, 1, 1};
  for (size_t i = 0; i < added.size(); ++i) {
    CHECK(m.add() == added[i]);
    CHECK(m.target() == targets[i]);
    CHECK(m.a.to_add(0) == next[i]);
    m.join(std::to_string(i));
    m.join(std::to_string(i));
    CHECK(m.target() == targets[i]);
  }
}

TEST_CASE("A3 resource profiles step up beside each other", "[allocation]") {
  Manager m(1, 10, 1);
  m.stage(0, 1000);
  m.stage(1, 1000, 0, 5);
  for (const int32_t want : {2, 4, 8, 10, 10}) {
    m.add();
    CHECK(m.target(0) == want);
    CHECK(m.target(5) == want);
  }
}

TEST_CASE("A4 a new profile's first executors are asked for at once", "[allocation]") {
  Manager m(0, 10, 2);
  m.a.set_tasks_per_executor(7, 2);
  CHECK_FALSE(m.stage(0, 4));
  CHECK(m.stage(1, 4, 0, 7));
  CHECK(m.target(7) == 2);
  CHECK_FALSE(m.stage(2, 4, 0, 7));
}

TEST_CASE("A5 the ratio lowers what is needed", "[allocation]") {
  struct Case {
    int32_t cores;
    double ratio;
    int32_t want;
  };
  for (const Case& c : {Case{1, .5, 10},
                        {1, 1.0 / 3, 7},
                        {2, 1.0 / 3, 4},
                        {2, .385, 4},
                        {1, 1.0, 15},
                        {4, 1.0 / 3, 3},
                        {1, .385, 8}}) {
    AllocationOptions o = with(3, 15, 3);
    o.tasks_per_executor = c.cores;
    o.ratio = c.ratio;
    Manager m(o);
    m.stage(0, 20);
    for (int i = 0; i < 6; ++i) m.add();
    INFO(c.cores << " cores, ratio " << c.ratio);
    CHECK(m.target() == c.want);
  }
}

TEST_CASE("A6 never more than the tasks of all stages need", "[allocation]") {
  Manager m(0, 10, 0);
  const auto adds = [&](int n) {
    Ints v;
    for (int i = 0; i < n; ++i) v.push_back(m.add());
    return v;
  };
  m.stage(0, 5);
  CHECK(adds(3) == Ints{1, 2, 2});
  m.stage(1, 3);
  m.join("1");
  m.start({1, 0});
  CHECK(adds(3) == Ints{1, 2, 0});
  CHECK(m.target() == 8);
  m.stage(2, 3);
  m.start({2, 0});
  m.start({2, 1});
  CHECK(adds(2) == Ints{1, 1});
  m.start({2, 2});
  CHECK(adds(1) == Ints{0});
  CHECK(m.target() == 10);
}

TEST_CASE("A7 copies of slow tasks count until they start, then as running", "[allocation]") {
  Manager m(0, 10, 0);
  m.stage(0, 2);
  for (int32_t i = 0; i < 3; ++i) m.want_copy(0, i);
  CHECK(m.add() == 1);
  CHECK(m.add() == 2);
  CHECK(m.add() == 2);
  CHECK(m.target() == 5);
  m.start(0, 0, 2);
  m.start(0, 0, 3, true);
  CHECK(m.a.max_needed(0) == 5);
  CHECK_FALSE(m.a.add_time());
  CHECK(m.add() == 0);
}

TEST_CASE("A8 a set that no executor may run wants further ones", "[allocation]") {
  AllocationOptions o = with(0, 5, 0);
  o.tasks_per_executor = 2;
  Manager m(o);
  m.stage(0, 2);
  m.add();
  m.join("1");
  m.start(0, 0, 2);
  CHECK(m.a.max_needed(0) == 1);
  m.unschedulable(0, true);
  CHECK(m.add() == 1);
  CHECK(m.target() == 2);
  m.unschedulable(0, false);
  CHECK(m.sync() == -1);
  m.stage(1, 2);
  m.stage(2, 2);
  m.join(2, 3);
  m.unschedulable(0, true);
  m.unschedulable(1, true);
  CHECK(m.a.max_needed(0) == 4);
  m.join("4");
  CHECK(m.a.max_needed(0) == 5);
  m.unschedulable(1, false);
  CHECK(m.a.max_needed(0) == 5);
  m.unschedulable(0, false);
  CHECK(m.a.max_needed(0) == 3);
  m.end(0, 0, 2);
  m.done(0);
  m.done(1);
  CHECK(m.a.max_needed(0) == 1);
  m.done(2);
  CHECK(m.a.max_needed(0) == 0);
  m.sync();
  CHECK(m.target() == 0);
  CHECK(m.after(3s) == Names{"1", "2", "3", "4"});
}

TEST_CASE("A9 copies and their originals, as they start and end", "[allocation]") {
  AllocationOptions o = with(0, 10, 0);
  o.tasks_per_executor = 4;
  Manager m(o);
  m.stage(0, 40);
  for (const int32_t want : {1, 2, 4, 3}) CHECK(m.add() == want);
  m.start(0, 0, 40);
  m.end(0, 0, 30);
  CHECK(m.a.max_needed(0) == 3);
  for (int32_t i = 30; i < 40; ++i) m.want_copy(0, i);
  CHECK(m.a.max_needed(0) == 5);
  SECTION("copies start, win or are killed") {
    m.start(0, 30, 40, true);
    CHECK(m.a.max_needed(0) == 5);
    m.end(0, 30, 35);
    CHECK(m.a.max_needed(0) == 4);
    m.end(0, 30, 35, true, TaskEndKind::TaskKilled);
    m.end(0, 35, 37, true);
    CHECK(m.a.max_needed(0) == 2);
    m.end(0, 35, 37, false, TaskEndKind::TaskKilled);
    m.end(0, 37, 39);
    CHECK(m.a.max_needed(0) == 1);
    m.end(0, 37, 40, true, TaskEndKind::TaskKilled);
    m.want_copy(0, 39);
    CHECK(m.a.max_needed(0) == 2);  // the copy wants another host
    m.start({0, 39, "1", true});
    CHECK(m.a.max_needed(0) == 1);
    m.end(0, 39, 40);
    m.end(0, 39, 40, true, TaskEndKind::TaskKilled);
    CHECK(m.a.max_needed(0) == 0);
  }
  SECTION("a task that ends before its copy starts takes it along") {
    m.end(0, 30, 35);
    CHECK(m.a.max_needed(0) == 3);
    m.start(0, 35, 40, true);
    CHECK(m.a.max_needed(0) == 3);
    m.end(0, 35, 40);
    m.end(0, 35, 38, true, TaskEndKind::TaskKilled);
    CHECK(m.a.max_needed(0) == 1);
  }
}

TEST_CASE("A10 tasks of an older attempt count as running until they end", "[allocation]") {
  Manager m(0, 10, 0);
  const auto running = [&] { return m.a.backlog().load(0).running; };
  m.stage(0, 5);
  m.start({0, 0});
  m.start({0, 1});
  CHECK(running() == 2);
  m.end({0, 0}, TaskEndKind::FetchFailed);
  CHECK(running() == 1);
  m.done(0);
  m.stage(0, 4, 1);
  m.start({0, 0, "1", false, 1});
  m.start({0, 1, "1", false, 1});
  CHECK(running() == 3);
  m.end({0, 1});
  CHECK(running() == 2);
  m.end({0, 0, "1", false, 1});
  CHECK(running() == 1);
  m.end({0, 1, "1", false, 1});
  CHECK(running() == 0);
  CHECK(m.a.backlog().load(0).pending == 2);
}

TEST_CASE("a task whose output is lost waits again, but did not run", "[allocation]") {
  Manager m(0, 10, 0);
  m.stage(0, 2);
  m.start(0, 0, 2);
  m.end({0, 0});
  m.end({0, 0}, TaskEndKind::Resubmitted);
  CHECK(m.a.backlog().load(0).running == 1);
  CHECK(m.a.backlog().load(0).pending == 1);
  CHECK(m.a.add_time() == m.now + 1s);
}

TEST_CASE("A11 the target follows what is needed down", "[allocation]") {
  Manager m(0, 10, 0);
  m.stage(0, 5);
  for (int i = 0; i < 3; ++i) m.add();
  CHECK(m.target() == 5);
  m.start(0, 0, 2);
  CHECK(m.sync() == 0);
  m.end({0, 0});
  CHECK(m.sync() == -1);
  m.end({0, 1});
  CHECK(m.sync() == -1);
  CHECK(m.a.to_add(0) == 1);
}

TEST_CASE("A16 the time to ask is set by the first that waits, cleared when none does",
          "[allocation]") {
  Manager m(0, 10, 0);
  const Time first = m.now + 1s;
  m.stage(0, 1);
  CHECK(m.a.add_time() == first);
  m.now += 500ms;
  m.stage(1, 1);
  CHECK(m.a.add_time() == first);
  m.start({0, 0});
  CHECK(m.a.add_time() == first);
  m.start({1, 0});
  CHECK_FALSE(m.a.add_time());
  m.now += 500ms;
  m.stage(2, 1);
  CHECK(m.a.add_time() == m.now + 1s);
  for (int32_t s = 0; s < 3; ++s) m.done(s);
  CHECK_FALSE(m.a.add_time());
}

TEST_CASE("A17 steps up by the clock", "[allocation]") {
  Manager m(0, 20, 0);
  m.stage(0, 1000);
  const auto after = [&](Duration d) {
    m.after(d);
    return m.target();
  };
  CHECK(after(500ms) == 0);
  CHECK(after(1s) == 1);
  CHECK(after(1s) == 1);
  CHECK(after(2s) == 3);
  CHECK(after(2s) == 7);
  m.start(0, 0, 1000);
  CHECK(after(2s) == 7);
  CHECK(after(2s) == 7);
  m.stage(1, 1000);
  CHECK(after(1s) == 8);
  CHECK(after(2s) == 10);
  CHECK(after(2s) == 14);
  CHECK(after(2s) == 20);
  CHECK(after(2s) == 20);
}

TEST_CASE("A19 tasks of every stage must have started before the clock stops", "[allocation]") {
  Manager m(0, 10, 0);
  m.stage(0, 2);
  m.stage(1, 2);
  m.start(0, 0, 2);
  CHECK(m.a.add_time());
  m.start({1, 0});
  CHECK(m.a.add_time());
  m.start({1, 1});
  CHECK_FALSE(m.a.add_time());
}

TEST_CASE("A20 the way up begins at what is there", "[allocation]") {
  Manager m(0, 100000, 0);
  m.stage(0, 15);
  for (int i = 0; i < 4; ++i) m.add();
  CHECK(m.target() == 15);
  m.join(1, 15);
  m.done(0);
  m.sync();
  CHECK(m.target() == 0);
  m.stage(1, 1000);
  CHECK(m.add() == 16);
}

TEST_CASE("A21 A22 A23 the first executors are not taken back before they had a chance",
          "[allocation]") {
  SECTION("A21 a stage ends that") {
    Manager m(2, 5, 3);
    CHECK(m.sync() == 0);
    CHECK(m.target() == 3);
    m.stage(0, 2);
    m.sync();
    CHECK(m.target() == 2);
  }
  SECTION("A22 so does the idle timeout") {
    Manager m(2, 5, 3);
    m.join(1, 3);
    CHECK(m.after(2s).empty());
    CHECK(m.target() == 3);
    CHECK(m.after(1s) == Names{"1"});
    CHECK(m.target() == 2);
  }
  SECTION("A23 down to the minimum") {
    Manager m(1, 5, 3);
    m.join(1, 3);
    CHECK(m.after(3s) == Names{"1", "2"});
    CHECK(m.target() == 1);
  }
}

TEST_CASE("A25 a failed task still needs its executor", "[allocation]") {
  Manager m(0, 5, 0);
  m.stage(0, 1);
  m.start({0, 0});
  CHECK(m.a.max_needed(0) == 1);
  m.end({0, 0}, TaskEndKind::ExceptionFailure);
  CHECK(m.a.max_needed(0) == 1);
  CHECK(m.a.add_time());
}

TEST_CASE("a task that was killed and is tried again needs an executor as well", "[allocation]") {
  Manager m(0, 5, 0);
  m.stage(0, 1);
  m.start({0, 0});
  CHECK_FALSE(m.a.add_time());
  m.end({0, 0}, TaskEndKind::TaskKilled);
  CHECK(m.a.max_needed(0) == 1);
  CHECK(m.a.add_time());
}

TEST_CASE("A26 reset forgets executors and starts over", "[allocation]") {
  Manager m(1, 10, 2);
  m.join(1, 5);
  m.stage(0, 100);
  for (int i = 0; i < 2; ++i) m.add();
  CHECK(m.target() > 2);
  m.done(0);
  m.after(3s);
  CHECK(m.pending() > 0);
  m.a.reset();
  CHECK(m.target() == 2);
  CHECK(m.a.to_add(0) == 1);
  CHECK_FALSE(m.a.add_time());
  CHECK(m.a.monitor().count() == 0);
  CHECK(m.pending() == 0);
  m.join(6, 8);
  m.stage(1, 100);
  CHECK(m.add() == 2);  // 3 are there, one more
}

TEST_CASE("nothing of a job is kept when it is over", "[allocation]") {
  Manager m(0, 8, 1);
  m.join("1");
  CHECK(m.a.idle());
  m.stage(0, 2);
  CHECK_FALSE(m.a.idle());
  m.start(0, 0, 2);
  m.end(0, 0, 1);
  m.done(0);
  CHECK_FALSE(m.a.idle());  // a task of it goes on
  m.end(0, 1, 2);
  CHECK(m.a.idle());
  StageInfo maps;
  maps.stage = StageId{1};
  maps.shuffle = ShuffleId{3};
  JobStarted started;
  started.job = JobId{1};
  started.stages = {maps};
  m.post(started);
  CHECK_FALSE(m.a.idle());  // who has outputs of its shuffle is not to go
  JobEnded ended;
  ended.job = JobId{1};
  m.post(ended);
  CHECK(m.a.idle());
}
