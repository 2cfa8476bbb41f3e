// When an executor counts as idle: running tasks, cached blocks, shuffle outputs, and time.
#include <catch2/catch.hpp>

#include "core/scheduler/allocation/executor_monitor.hpp"
#include "core/status/exit_reasons.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

/// Idle 60 s, with cached blocks 120 s, with shuffle outputs 240 s.
struct Watch {
  explicit Watch(bool service = false, Duration shuffle = 240s) {
    o.idle_timeout = 60s;
    o.cached_idle_timeout = 120s;
    o.shuffle_timeout = shuffle;
    o.shuffle_tracking = true;
    o.shuffle_service = o.service_has_rdds = service;
  }
  static Time t(Duration d) { return Time{} + 1000s + d; }
  void add(const std::string& id) { m.executor_added({id}, 0, now); }
  Names idle(Duration at) {
    Names v;
    for (const auto& one : m.timed_out(t(at))) v.push_back(one.executor.value);
    return v;
  }
  void start(const std::string& id = "1") { m.task_started({id}, now); }
  void end(const std::string& id = "1", int32_t stage = 0, bool ok = true) {
    m.task_ended({id}, StageId{stage}, ok, now);
  }
  /// Executor 1 ran a task of `stage`.
  void ran(int32_t stage, bool ok = true) {
    start();
    end("1", stage, ok);
  }
  void block(const std::string& id, const std::string& name, bool memory, bool disk = false) {
    m.block_updated({id}, BlockUpdate{name, memory, disk, 1, 1});
  }
  void job(int32_t id, std::vector<std::pair<int32_t, int32_t>> stage_shuffle) {
    std::vector<StageInfo> stages;
    for (const auto& [stage, shuffle] : stage_shuffle) {
      StageInfo& s = stages.emplace_back();
      s.stage = StageId{stage};
      s.shuffle = ShuffleId{shuffle};
    }
    m.job_started(JobId{id}, stages);
  }
  AllocationOptions o;
  ExecutorMonitor m{o};
  Time now = t(0s);
};

/// Job 1 has left an output of stage 1, its shuffle 0, on executor 1.
struct Output : Watch {
  explicit Output(bool service = false, Duration shuffle = 240s) : Watch(service, shuffle) {
    add("1");
    job(1, {{1, 0}});
    ran(1);
  }
};

}  // namespace

TEST_CASE("A28 idle from the end of the last task on", "[allocation]") {
  Watch w;
  w.add("1");
  CHECK(w.idle(59s).empty());
  CHECK(w.idle(60s) == Names{"1"});
  w.start();
  CHECK(w.idle(60s).empty());
  w.start();
  w.now = Watch::t(100s);
  w.end();
  CHECK(w.idle(500s).empty());
  w.now = Watch::t(200s);
  w.end();
  CHECK(w.idle(259s).empty());
  CHECK(w.idle(260s) == Names{"1"});
}

TEST_CASE("A29 A30 cached blocks prolong it, by rdd and partition", "[allocation]") {
  Watch w;
  w.add("1");
  w.block("1", "rdd_1_0", true);
  CHECK(w.idle(60s).empty());
  CHECK(w.idle(120s) == Names{"1"});
  w.start();
  CHECK(w.idle(600s).empty());
  w.end();
  w.block("1", "rdd_1_1", false, true);
  w.block("1", "rdd_2_0", true);
  w.block("1", "rdd_1_0", false);
  CHECK(w.idle(60s).empty());
  w.m.rdd_unpersisted(RddId{1});
  CHECK(w.idle(60s).empty());
  CHECK(w.idle(120s) == Names{"1"});
  w.block("1", "broadcast_0_piece0", true);
  w.block("1", "rdd_2_0", false);
  CHECK(w.idle(60s) == Names{"1"});
}

TEST_CASE("A31 several executors, each with its own time, in order", "[allocation]") {
  Watch w;
  for (const char* e : {"2", "3", "1"}) w.add(e);
  w.block("2", "rdd_1_0", true);
  w.now = Watch::t(30s);
  w.start("2");
  w.end("2");
  w.now = Watch::t(80s);
  w.start("3");
  w.now = Watch::t(60s);
  CHECK(w.idle(60s) == Names{"1"});
  w.now = Watch::t(80s);
  w.end("3");
  CHECK(w.idle(140s) == Names{"1", "3"});
  CHECK(w.idle(150s) == Names{"1", "2", "3"});
}

TEST_CASE("A32 A37 what comes late about a removed executor is ignored", "[allocation]") {
  Watch w;
  w.add("1");
  w.m.executor_removed({"1"}, "x");
  w.start();
  w.block("1", "rdd_1_0", true);
  w.end();
  CHECK(w.m.count() == 0);
  CHECK(w.idle(600s).empty());
}

TEST_CASE("A33 blocks that a shuffle service serves don't hold an executor", "[allocation]") {
  struct Case {
    bool service, memory, disk, held;
  };
  for (const Case& c : {Case{false, true, false, true},
                        {false, false, true, true},
                        {false, true, true, true},
                        {true, true, false, true},
                        {true, false, true, false},
                        {true, true, true, false}}) {
    CAPTURE(c.service, c.memory, c.disk);
    Watch w(c.service);
    w.add("1");
    w.block("1", "rdd_1_0", c.memory, c.disk);
    CHECK(w.idle(60s).empty() == c.held);
  }
  // One of both alone serves none.
  for (const bool service : {false, true}) {
    Watch w(service);
    w.o.service_has_rdds = !service;
    w.add("1");
    w.block("1", "rdd_1_0", false, true);
    CHECK(w.idle(60s).empty());
  }
  Watch w(true);
  w.add("1");
  w.block("1", "rdd_1_0", true, false);
  CHECK(w.idle(60s).empty());
  w.block("1", "rdd_1_0", true, true);
  CHECK(w.idle(60s) == Names{"1"});
}

TEST_CASE("A34 one that is killed is in no list; one whose kill was refused comes back",
          "[allocation]") {
  Watch w;
  for (const char* e : {"1", "2", "3"}) w.add(e);
  CHECK(w.idle(60s) == Names{"1", "2", "3"});
  w.m.killed({{"1"}});
  CHECK(w.idle(60s) == Names{"2", "3"});
  CHECK(w.idle(60s) == Names{"2", "3"});
  w.now = Watch::t(70s);
  w.start("2");
  CHECK(w.idle(70s) == Names{"3"});
  w.m.killed({{"3"}});
  CHECK(w.m.pending_removal() == 2);
  w.end("2");
  CHECK(w.idle(129s).empty());
  CHECK(w.idle(130s) == Names{"2"});
}

TEST_CASE("A35 outputs that a running job may read hold an executor", "[allocation]") {
  Watch w;
  w.add("1");
  w.job(1, {{1, 0}, {2, 1}});
  w.job(2, {{3, 1}});
  w.ran(1, false);
  CHECK(w.idle(60s) == Names{"1"});
  w.ran(1);
  CHECK(w.idle(1000s).empty());
  w.ran(3);
  w.m.job_ended(JobId{1});
  CHECK(w.idle(1000s).empty());
  w.m.job_ended(JobId{2});
  CHECK(w.idle(120s).empty());
  CHECK(w.idle(240s) == Names{"1"});
  w.job(3, {{4, 1}});
  CHECK(w.idle(1000s).empty());
  w.m.job_ended(JobId{3});
  CHECK(w.idle(240s) == Names{"1"});
  w.m.shuffle_cleaned(ShuffleId{0});
  CHECK(w.idle(240s) == Names{"1"});
  w.m.shuffle_cleaned(ShuffleId{1});
  CHECK(w.idle(60s) == Names{"1"});
}

TEST_CASE("an output taken from a decommissioned executor holds its new one", "[allocation]") {
  Watch w;
  w.add("1");
  w.job(1, {{1, 0}});
  w.block("1", "shuffle_0_7_0.data", false, true);
  CHECK(w.idle(1000s).empty());
  w.m.job_ended(JobId{1});
  CHECK(w.idle(120s).empty());
  CHECK(w.idle(240s) == Names{"1"});
  w.m.shuffle_cleaned(ShuffleId{0});
  CHECK(w.idle(60s) == Names{"1"});
}

TEST_CASE("A35 a stage that two jobs share is tracked until both have ended", "[allocation]") {
  Watch w;
  w.add("1");
  w.job(1, {{1, 0}});
  w.job(2, {{1, 0}});
  w.m.job_ended(JobId{1});
  w.ran(1);
  CHECK(w.idle(1000s).empty());
}

TEST_CASE("A35 a shuffle service makes tracking needless", "[allocation]") {
  Output w(true);
  CHECK(w.idle(60s) == Names{"1"});
  w.m.shuffle_cleaned(ShuffleId{0});
  CHECK(w.idle(60s) == Names{"1"});
}

TEST_CASE("A36 a timeout without end never passes", "[allocation]") {
  Output w(false, kNever);
  w.m.job_ended(JobId{1});
  CHECK(w.m.timed_out(Time::max() - 1us).empty());
}

TEST_CASE("A38 the longest of the timeouts that apply counts", "[allocation]") {
  Output w;
  w.block("1", "rdd_1_0", true);
  w.m.job_ended(JobId{1});
  CHECK(w.idle(239s).empty());
  w.m.shuffle_cleaned(ShuffleId{0});
  CHECK(w.idle(119s).empty());
  CHECK(w.idle(120s) == Names{"1"});
}

// ---- what comes late, twice or of nobody -------------------------------------------------------

TEST_CASE("executors that are not known, or told twice, count for nothing", "[allocation]") {
  Watch w;
  w.m.killed({{"x"}});
  w.m.decommissioned({{"x"}});
  w.m.executor_removed({"x"}, "");
  w.start("x");
  w.end("x");
  w.block("x", "rdd_1_0", true);
  CHECK(w.m.count() == 0);
  CHECK(w.m.removals() == RemovalCounts{});
  w.add("1");
  w.add("1");
  CHECK(w.m.count() == 1);
  for (int i = 0; i < 2; ++i) w.m.killed({{"1"}});
  CHECK(w.m.pending_removal() == 1);
  for (int i = 0; i < 2; ++i) w.m.decommissioned({{"1"}});
  CHECK(w.m.decommissioning() == 1);
}

TEST_CASE("only blocks of an Rdd are cached blocks", "[allocation]") {
  Watch w;
  w.add("1");
  w.block("1", "broadcast_1", true);
  w.block("1", "no block", true);
  w.block("1", "rdd_1_0", false);
  CHECK(w.idle(60s) == Names{"1"});
}

TEST_CASE("an executor holds cached blocks until the last one is gone", "[allocation]") {
  Watch w;
  w.add("1");
  w.add("2");
  for (const char* block : {"rdd_1_0", "rdd_2_0", "rdd_3_0"}) w.block("1", block, true);
  w.block("1", "rdd_1_0", false);
  w.m.rdd_unpersisted(RddId{2});
  w.m.rdd_unpersisted(RddId{9});
  CHECK(w.idle(60s) == Names{"2"});
  w.m.rdd_unpersisted(RddId{3});
  CHECK(w.idle(60s) == Names{"1", "2"});
}

TEST_CASE("blocks that a shuffle service has are nothing that an executor holds", "[allocation]") {
  Watch w(true);
  w.add("1");
  w.block("1", "rdd_1_0", false, true);
  w.block("1", "shuffle_0_1_0.data", false, true);
  w.m.shuffle_cleaned(ShuffleId{0});
  CHECK(w.idle(60s) == Names{"1"});
  w.block("1", "rdd_1_1", true, false);
  CHECK(w.idle(60s).empty());
}

TEST_CASE("an output that came from another executor counts as an own one", "[allocation]") {
  Watch w;
  w.add("1");
  w.block("1", "shuffle_7_1_0.data", false, true);  // of no job
  w.block("1", "shuffle_7_1_0.data", false, true);
  CHECK(w.idle(60s).empty());
  CHECK(w.idle(240s) == Names{"1"});
  w.job(1, {{1, 0}});
  w.m.job_ended(JobId{1});
  w.block("1", "shuffle_0_1_0.data", false, true);  // its job has ended
  CHECK(w.idle(240s) == Names{"1"});
  w.job(2, {{2, 3}});
  w.block("1", "shuffle_3_1_0.data", false, true);
  CHECK(w.idle(999s).empty());
}

TEST_CASE("without tracking of shuffles outputs hold nobody", "[allocation]") {
  Watch w;
  w.o.shuffle_tracking = false;
  w.add("1");
  w.job(1, {{1, 0}});
  w.ran(1);
  w.m.job_ended(JobId{1});
  w.m.shuffle_cleaned(ShuffleId{0});
  CHECK(w.idle(60s) == Names{"1"});
}

TEST_CASE("a job that ends while an executor with its outputs works leaves it working",
          "[allocation]") {
  Output w;
  w.start();
  w.m.job_ended(JobId{1});
  CHECK(w.idle(999s).empty());
  w.end("1", 5);
  w.job(2, {{1, 0}});
  w.job(3, {{1, 0}});  // its outputs are read already
  CHECK(w.idle(999s).empty());
}
