// Stage graphs and failure sequences through the whole machine. Ids are those of spec/11, section
// D.
//
// Hosts: executor "A" lives on host "hA". A map task runs where `at` says, and dies where the test
// says.
#include "tests/scheduler_fixture.hpp"

#include "core/scheduler/stage_graph.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

using Strings = std::vector<std::string>;
using Ints = std::vector<int32_t>;
using Values = std::map<int32_t, std::string>;

/// Each partition wants to run on one executor.
Locations at(const Strings& executors) {
  Locations l;
  for (const std::string& e : executors) l.push_back({"executor_h" + e + "_" + e});
  return l;
}

/// Executors A to D, at both launch-ahead settings.
struct Dag : Cluster {
  explicit Dag(DriverOptions options = test_options(GENERATE(0, 8))) : Cluster(std::move(options)) {
    for (const char* e : {"A", "B", "C", "D"}) executor(e, 16);
  }
  std::vector<std::pair<int32_t, int32_t>> submitted() const {
    std::vector<std::pair<int32_t, int32_t>> v;
    for (const StageSubmitted& s : seen<StageSubmitted>())
      v.emplace_back(s.stage.stage.value, s.stage.attempt);
    return v;
  }
  int submissions(int32_t stage) const {
    int n = 0;
    for (const auto& [s, attempt] : submitted()) n += s == stage;
    return n;
  }
  /// The job failed with exactly this, and nothing is left.
  void check_failed(uint64_t ticket, const std::string& text) {
    REQUIRE(ended(ticket));
    CHECK(error(ticket) == text);
  }
  void end_all() {
    while (!live().empty()) fail(live().front(), "over");
  }
  void check_clean() {
    // Attempts of dead stages may still run; they end when their executors say so.
    for (int guard = 0; !live().empty() && guard < 1000; ++guard) {
      TaskEndReason r;
      r.kind = TaskEndKind::TaskKilled;
      fail(live().front(), r, TaskState::Killed);
    }
    advance(1s);
    CHECK(driver.idle_state_is_clean());
  }
};

}  // namespace

TEST_CASE("D1 a shuffle makes two stages, in the order of their ids", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(4, {shuffle(rdd(4, {narrow(rdd(4))}), 4)}));
  c.maps_ok(0);
  c.results_ok(1);
  CHECK(c.completed(false) == Ints{0, 1});
  CHECK(c.error(t).empty());
  c.check_clean();
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
  CHECK(shuffles_read_by(cc).size() == 2);
  CHECK(shuffles_read_by(e).size() == 2);
  const uint64_t t = c.job(d);
  const std::vector<StageInfo> stages = c.seen<JobStarted>().at(0).stages;
  REQUIRE(stages.size() == 4);
  CHECK(stages[0].parents.empty());
  CHECK(stages[1].parents == std::vector<StageId>{{0}});
  CHECK(stages[2].parents == std::vector<StageId>{{0}, {1}});
  CHECK(stages[3].parents == std::vector<StageId>{{2}});
  for (int s = 0; s < 3; ++s) c.maps_ok(s);
  c.results_ok(3);
  CHECK(c.ended(t));
  c.check_clean();
}

TEST_CASE("D4 a job without partitions ends at once, with both events", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(3), {}, {{"k", "v"}});
  CHECK(c.error(t).empty());
  CHECK(c.sent.empty());
  REQUIRE(c.seen<JobStarted>().size() == 1);
  CHECK(c.seen<JobStarted>()[0].properties.at("k") == "v");
  CHECK(c.seen<JobStarted>()[0].stages.empty());
  REQUIRE(c.seen<JobEnded>().size() == 1);
  CHECK(c.seen<JobEnded>()[0].succeeded);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a partition that is not there is refused", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(3), {0, 3});
  CHECK(c.error(t) ==
        "Attempting to access a non-existent partition: 3. Total number of partitions: 3");
  CHECK(c.seen<JobStarted>().empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("D6 D7 one partition, one task, one result", "[dag]") {
  Dag c;
  const bool through_narrow = GENERATE(false, true);
  const uint64_t t = c.job(through_narrow ? rdd(1, {narrow(rdd(1))}) : rdd(1));
  REQUIRE(c.live().size() == 1);
  c.succeed(c.live()[0], "42");
  CHECK(c.results[t] == Values{{0, "42"}});
  CHECK(c.completed(false) == Ints{0});
  c.check_clean();
}

TEST_CASE("D8 D9 tasks prefer the executors that cache their partition", "[dag]") {
  Dag c;
  const auto base = rdd(3);
  base->storage_bits = 1;
  const auto cached = [&](const std::string& executor, int p) {
    BlockUpdate u;
    u.block = "rdd_" + std::to_string(base->id.value) + "_" + std::to_string(p);
    u.in_memory = true;
    u.memory_bytes = 1;
    c.from(executor, BlockUpdates{ExecutorId{executor}, {u}});
  };
  cached("C", 0);
  cached("B", 1);
  cached("D", 1);
  cached("A", 2);
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
  CHECK(c.ended(t));
  c.check_clean();
}

TEST_CASE("D10 a fully cached rdd cuts the lineage", "[dag]") {
  Dag c;
  const auto cached = rdd(1, {shuffle(rdd(1, {shuffle(rdd(1), 1)}), 1)});
  cached->storage_bits = 1;
  BlockUpdate u;
  u.block = "rdd_" + std::to_string(cached->id.value) + "_0";
  u.in_memory = true;
  u.memory_bytes = 1;
  c.from("B", BlockUpdates{ExecutorId{"B"}, {u}});
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
  CHECK(c.ended(t));
}

TEST_CASE("D12 a stage that can't be encoded fails its job", "[dag]") {
  ProgramCodec codec = test_codec();
  codec.program = [](const Node&, const Descriptor*, std::string_view) -> Bytes {
    throw std::runtime_error("a socket can't travel");
  };
  Cluster c(test_options(), codec);
  c.executor("A");
  const uint64_t t = c.job(rdd(1));
  CHECK(c.error(t) ==
        "Job aborted due to stage failure: Task not serializable: a socket can't travel");
  CHECK(c.seen<StageSubmitted>().size() == 1);
  CHECK(c.completed(true) == Ints{0});
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("D13 a task set that fails fails its job", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1));
  for (int i = 0; i < 4; ++i) c.fail(c.live()[0], "some failure");
  REQUIRE(c.ended(t));
  CHECK(
      c.error(t).starts_with("Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 "
                             "times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (h"));
  CHECK(c.error(t).ends_with("std::runtime_error: some failure\nDriver stacktrace:"));
  CHECK(c.completed(true) == Ints{0});
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("D14 cancel", "[dag]") {
  Dag c;
  const uint64_t t =
      c.job(rdd(1), {0}, {{"spark.job.interruptOnCancel", GENERATE("true", "false")}});
  c.on(CancelJob{t, ""});
  CHECK(c.error(t) == "Job 0 cancelled ");
  CHECK(c.completed(true) == Ints{0});
  REQUIRE(c.messages<KillTask>().size() == 1);
  CHECK(c.messages<KillTask>()[0].reason == "Stage cancelled: Job 0 cancelled ");
  CHECK(c.messages<KillTask>()[0].interrupt ==
        (c.seen<JobStarted>()[0].properties.at("spark.job.interruptOnCancel") == "true"));
  c.on(CancelJob{t, "again"});
  CHECK_FALSE(c.driver.idle_state_is_clean());
  c.check_clean();
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

TEST_CASE("D17 a fetch failure runs the lost map and the missing reduce again", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const uint64_t t = c.job(rdd(2, {s}));
  c.maps_ok(0);
  c.succeed(c.task(1, 0, 0), "42");
  c.fetch_failed(c.task(1, 0, 1), s->id, 0, "A");
  REQUIRE(c.seen<BlockManagerRemoved>().size() == 1);
  CHECK(c.seen<BlockManagerRemoved>()[0].id.executor.value == "A");
  CHECK(c.live().empty());
  c.advance(200ms);
  CHECK(c.live_partitions(0, 1) == Ints{0});
  c.map_ok(c.task(0, 1, 0));
  CHECK(c.live_partitions(1, 1) == Ints{1});
  CHECK(c.live()[0].epoch > 0);
  c.succeed(c.task(1, 1, 1), "43");
  CHECK(c.results[t] == Values{{0, "42"}, {1, "43"}});
  CHECK(c.completed(true) == Ints{1});
  c.check_clean();
}

TEST_CASE("D18 what a lost executor takes with it (no shuffle service)", "[dag]") {
  const bool worker_gone = GENERATE(false, true);
  Dag c;
  c.executor("A2", 4, "hA");
  const ShufflePtr s =
      shuffle(rdd(3, {}, {{"executor_hA_A"}, {"executor_hA_A2"}, {"executor_hB_B"}}), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.maps_ok(0);
  if (worker_gone)
    c.lose("A", std::nullopt, "hA");
  else
    c.lose("A", 137);
  CHECK(c.driver.map_outputs().missing(s->id) == (worker_gone ? Ints{0, 1} : Ints{0}));
  c.on(CancelJob{t, ""});
  c.check_clean();
}

TEST_CASE("D21 a swarm of fetch failures from one executor removes it once", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(3, {}, at({"A", "A", "B"})), 3);
  const uint64_t t = c.job(rdd(3, {s}));
  c.maps_ok(0);
  c.fetch_failed(c.task(1, 0, 0), s->id, 0, "A");
  CHECK(c.driver.map_outputs().missing(s->id) == Ints{0, 1});
  const int64_t epoch = c.driver.map_outputs().epoch();
  c.fetch_failed(c.task(1, 0, 1), s->id, -1, "A");
  CHECK(c.driver.map_outputs().epoch() == epoch);
  CHECK(c.seen<BlockManagerRemoved>().size() == 1);
  CHECK(c.completed(true) == Ints{1});  // D27: failed once for the attempt
  c.on(CancelJob{t, ""});
  c.check_clean();
}

TEST_CASE("D22 all reduces fail to fetch once", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(8, {}, at({"A", "B", "A", "B", "A", "B", "A", "B"})), 8);
  const uint64_t t = c.job(rdd(8, {s}));
  c.maps_ok(0);
  for (const Sent& r : c.live(1, 0))
    c.fetch_failed(r, s->id, r.partition, r.partition % 2 == 0 ? "A" : "B");
  c.advance(200ms);
  CHECK(c.live_partitions(0, 1).size() == 8);
  c.maps_ok(0, 1);
  c.results_ok(1, 1);
  CHECK(c.error(t).empty());
  CHECK(c.results[t].size() == 8);
  c.check_clean();
}

TEST_CASE("D24 the fourth fetch failure in a row aborts", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const uint64_t t = c.job(rdd(2, {s}));
  for (int attempt = 0; attempt < 4; ++attempt) {
    CHECK_FALSE(c.ended(t));
    c.maps_ok(0, attempt);
    const std::vector<Sent> reduces = c.live(1, attempt);
    REQUIRE(reduces.size() == 2);
    c.fetch_failed(reduces[0], s->id, 0, "A");
    c.fetch_failed(reduces[1], s->id, 0, "A");
    c.advance(200ms);
  }
  REQUIRE(c.ended(t));
  CHECK(c.error(t).starts_with(
      "Job aborted due to stage failure: ResultStage 1 () has failed the maximum allowable number "
      "of times: 4. Most recent failure reason:\nFetchFailed(BlockManagerId(A, "));
  c.check_clean();
}

TEST_CASE("D25 D43 streaks of two stages don't add up", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const ShufflePtr s1 = shuffle(rdd(2, {s0}, at({"C", "D"})), 2);
  const uint64_t t = c.job(rdd(1, {s1}));
  int maps0 = 0, maps1 = 0;
  const auto run = [&](int stage, int& attempt, bool fail_it, const ShufflePtr& from,
                       const std::string& holder) {
    const std::vector<Sent> tasks = c.live(stage, attempt);
    REQUIRE_FALSE(tasks.empty());
    if (fail_it) {
      for (const Sent& x : tasks) c.fetch_failed(x, from->id, 0, holder);
      c.advance(200ms);
    } else {
      for (const Sent& x : tasks) c.map_ok(x);
    }
    ++attempt;
  };
  for (int i = 0; i < 2; ++i) {
    run(0, maps0, false, nullptr, "");
    run(1, maps1, true, s0, c.hosts.count("A") ? "A" : "B");
  }
  run(0, maps0, false, nullptr, "");
  run(1, maps1, false, nullptr, "");
  int result = 0;
  for (int i = 0; i < 2; ++i) {
    const std::vector<Sent> r = c.live(2, result++);
    REQUIRE(r.size() == 1);
    c.fetch_failed(r[0], s1->id, 0, "C");
    c.advance(200ms);
    run(1, maps1, false, nullptr, "");
  }
  REQUIRE(c.live(2, result).size() == 1);
  c.succeed(c.live(2, result)[0], "42");
  CHECK(c.error(t).empty());
  CHECK(c.results[t] == Values{{0, "42"}});
  c.check_clean();
}

TEST_CASE("D26 a success ends the streak", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const ShufflePtr s1 = shuffle(rdd(2, {s0}, at({"C", "D"})), 2);
  const uint64_t t = c.job(rdd(1, {s1}));
  int a0 = 0, a1 = 0;
  for (int i = 0; i < 3; ++i) {
    c.maps_ok(0, a0++);
    for (const Sent& x : c.live(1, a1)) c.fetch_failed(x, s0->id, 0, "A");
    ++a1;
    c.advance(200ms);
  }
  c.maps_ok(0, a0++);
  c.maps_ok(1, a1++);
  c.fetch_failed(c.live(2, 0)[0], s1->id, 0, "C");
  c.advance(200ms);
  REQUIRE(c.live(1, a1).size() == 1);
  c.fetch_failed(c.live(1, a1++)[0], s0->id, 0, "B");  // the fourth in all, the first in a row
  CHECK_FALSE(c.ended(t));
  c.advance(200ms);
  c.maps_ok(0, a0);
  c.maps_ok(1, a1);
  c.succeed(c.live(2, 1)[0], "42");
  CHECK(c.results[t] == Values{{0, "42"}});
  c.check_clean();
}

TEST_CASE("D31 a later failure of the same attempt starts nothing new", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const uint64_t t = c.job(rdd(2, {s}));
  c.maps_ok(0);
  const Sent r0 = c.task(1, 0, 0), r1 = c.task(1, 0, 1);
  c.fetch_failed(r0, s->id, 0, "A");
  c.advance(200ms);
  CHECK(c.submissions(0) == 2);
  c.fetch_failed(r1, s->id, 1, "B");
  c.advance(200ms);
  CHECK(c.submissions(0) == 2);
  c.on(CancelJob{t, ""});
  c.check_clean();
}

TEST_CASE("D32 a failure of an old attempt is ignored", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const uint64_t t = c.job(rdd(2, {s}));
  c.maps_ok(0);
  const Sent r0 = c.task(1, 0, 0), r1 = c.task(1, 0, 1);
  c.fetch_failed(r0, s->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(0, 1);
  CHECK(c.submissions(1) == 2);
  c.fetch_failed(r1, s->id, 1, "B");
  c.advance(200ms);
  CHECK(c.submissions(0) == 2);
  CHECK(c.submissions(1) == 2);
  c.results_ok(1, 1);
  CHECK(c.results[t].size() == 2);
  c.check_clean();
}

TEST_CASE("D33 ends of tasks of a dead stage are still published", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(4));
  for (int p = 0; p < 2; ++p) c.succeed(c.task(0, 0, p), "x");
  c.on(CancelJob{t, ""});
  CHECK(c.seen<TaskEnded>().size() == 2);
  c.succeed(c.live()[0], "late");
  TaskEndReason unknown;
  unknown.kind = TaskEndKind::UnknownReason;
  c.fail(c.live()[0], unknown);
  CHECK(c.seen<TaskEnded>().size() == 4);
  CHECK(c.results[t].size() == 2);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("D34 outputs of an executor lost since the task set was made don't count", "[dag]") {
  Dag c;
  // A fetch failure elsewhere takes A's outputs away while A lives on.
  const ShufflePtr other = shuffle(rdd(1, {}, at({"A"})), 1);
  const uint64_t t1 = c.job(rdd(1, {other}));
  c.maps_ok(0);
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 1);
  const uint64_t t2 = c.job(rdd(1, {s}));
  c.fetch_failed(c.live(1, 0)[0], other->id, 0, "A");
  c.map_ok(c.task(2, 0, 0));
  CHECK(c.driver.map_outputs().available(s->id) == 0);
  c.map_ok(c.task(2, 0, 1));
  CHECK(c.driver.map_outputs().available(s->id) == 1);
  CHECK(c.live_partitions(2, 1) == Ints{0});  // of the new epoch: counts wherever it runs
  c.map_ok(c.task(2, 1, 0));
  CHECK(c.live_partitions(3, 0) == Ints{0});
  c.results_ok(3);
  CHECK(c.ended(t2));
  c.on(CancelJob{t1, ""});
  c.check_clean();
}

TEST_CASE("D35 a map stage that fails fails the job before any reduce", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(2, {shuffle(rdd(2), 2)}));
  while (!c.ended(t)) c.fail(c.task(0, 0, 0), "no");
  CHECK(c.error(t).find("Task 0 in stage 0.0 failed 4 times") != std::string::npos);
  CHECK(c.completed(true) == Ints{0});
  CHECK(c.submissions(1) == 0);
  c.check_clean();
}

TEST_CASE("D36 a skipped stage that must run after all is its second attempt", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const uint64_t t1 = c.job(rdd(2, {s}));
  c.maps_ok(0);
  c.results_ok(1);
  CHECK(c.ended(t1));
  const uint64_t t2 = c.job(rdd(2, {s}));
  CHECK(c.live(2).empty());
  c.fetch_failed(c.task(3, 0, 0), s->id, 0, "A");
  c.advance(200ms);
  CHECK(c.live_partitions(2, 1) == Ints{0});
  c.maps_ok(2, 1);
  c.results_ok(3, 1);
  c.results_ok(3, 0);
  CHECK(c.results[t2].size() == 2);
  c.check_clean();
}

TEST_CASE("D37 late results of an older attempt help the newer one", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(3, {}, at({"B", "B", "A"})), 3);
  const ShufflePtr s1 = shuffle(rdd(3, {s0}, at({"B", "C", "D"})), 1);
  const uint64_t t = c.job(rdd(1, {s1}));
  c.maps_ok(0);
  const std::vector<Sent> first = c.live(1, 0);
  c.lose("A");
  c.fetch_failed(first[0], s0->id, -1, "");
  c.advance(200ms);
  CHECK(c.live_partitions(0, 1) == Ints{2});
  c.maps_ok(0, 1);
  CHECK(c.live_partitions(1, 1) == Ints{0, 1, 2});
  c.map_ok(c.task(1, 1, 0));
  c.map_ok(first[1]);
  CHECK(c.live(2).empty());
  c.map_ok(c.task(1, 1, 2));
  CHECK(c.live(2, 0).size() == 1);
  c.succeed(c.live(2, 0)[0], "42");
  CHECK(c.ended(t));
  c.check_clean();
}

TEST_CASE("D38 outputs lost while their set is alive are made again", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(3, {}, at({"A", "A", "B"})), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.map_ok(c.task(0, 0, 0));
  c.map_ok(c.task(0, 0, 1));
  c.lose("A");
  int resubmitted = 0;
  for (const TaskEnded& e : c.seen<TaskEnded>())
    resubmitted += e.reason.kind == TaskEndKind::Resubmitted;
  CHECK(resubmitted == 2);
  c.advance(8s);  // two locality levels that nobody alive serves
  CHECK(c.live_partitions(0, 0) == Ints{0, 1, 2});
  c.maps_ok(0);
  CHECK(c.driver.map_outputs().missing(s->id).empty());
  CHECK(c.live(1, 0).size() == 1);
  CHECK(c.submissions(1) == 1);
  c.results_ok(1);
  CHECK(c.ended(t));
  c.check_clean();
}

TEST_CASE("D39 jobs that share a failing map stage fail alike", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2), 2);
  const uint64_t t1 = c.job(rdd(2, {s})), t2 = c.job(rdd(2, {s}));
  while (!c.ended(t1)) c.fail(c.task(0, 0, 0), "no");
  REQUIRE(c.ended(t2));
  CHECK(c.error(t1) == c.error(t2));
  c.check_clean();
}

TEST_CASE("D40 a shared stage runs on when one of its jobs is cancelled", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(1), 1);
  const ShufflePtr s1 = shuffle(rdd(1, {s0}), 1);
  const uint64_t t1 = c.job(rdd(1, {s1}), {0}, {{"who", "one"}});
  const uint64_t t2 = c.job(rdd(1, {s1}), {0}, {{"who", "two"}});
  const Sent m0 = c.task(0, 0, 0);
  c.on(CancelJob{t1, ""});
  CHECK(c.messages<KillTask>().empty());
  REQUIRE(c.driver.tasks().task_set(StageId{0}, 0));
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->spec().priority == JobId{0});
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->spec().properties->at("who") == "one");
  c.map_ok(m0);
  REQUIRE(c.driver.tasks().task_set(StageId{1}, 0));
  CHECK(c.driver.tasks().task_set(StageId{1}, 0)->spec().priority == JobId{1});
  CHECK(c.driver.tasks().task_set(StageId{1}, 0)->spec().properties->at("who") == "two");
  c.maps_ok(1);
  c.succeed(c.live()[0], "42");
  CHECK(c.results[t2] == Values{{0, "42"}});
  CHECK(c.error(t1) == "Job 0 cancelled ");
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
  for (const auto& [executor, p] : std::vector<std::pair<std::string, int>>{{"D", 0}, {"C", 1}}) {
    BlockUpdate u;
    u.block = "rdd_" + std::to_string(b->id.value) + "_" + std::to_string(p);
    u.in_memory = true;
    u.memory_bytes = 1;
    c.from(executor, BlockUpdates{ExecutorId{executor}, {u}});
  }
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

TEST_CASE("D51 D67 accumulators count a result once, a map output each time", "[dag]") {
  Dag c;
  const AccumulatorUpdate add{AccumulatorId{1}, "5", false};
  const ShufflePtr s = shuffle(rdd(1, {}, at({"A"})), 2);
  const uint64_t t = c.job(rdd(2, {s}));
  TaskUpdate m = c.output(c.task(0, 0, 0));
  m.accumulators = {add};
  c.update(c.task(0, 0, 0), m);
  CHECK(c.accumulated.size() == 1);
  const Sent first = c.task(1, 0, 0), other = c.task(1, 0, 1);
  c.fetch_failed(other, s->id, 0, "A");
  c.advance(200ms);
  m = c.output(c.task(0, 1, 0));
  m.accumulators = {add};
  c.update(c.task(0, 1, 0), m);
  CHECK(c.accumulated.size() == 2);
  const Sent again = c.task(1, 1, 0);
  TaskUpdate r = c.result(first, "a");
  r.accumulators = {add};
  c.update(first, r);
  CHECK(c.accumulated.size() == 3);
  r = c.result(again, "b");
  r.accumulators = {add};
  c.update(again, r);
  CHECK(c.accumulated.size() == 3);
  CHECK(c.results[t] == Values{{0, "a"}});
  c.results_ok(1, 1);
  CHECK(c.ended(t));
  c.check_clean();
}

TEST_CASE("D52 failed tasks' updates count only for internal metrics", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1));
  const auto end = [&](TaskEndKind kind, TaskState state) {
    TaskUpdate u;
    u.id = c.live()[0].id;
    u.state = state;
    u.reason = TaskEndReason{};
    u.reason->kind = kind;
    u.accumulators = {{AccumulatorId{1}, "15", true}, {AccumulatorId{2}, "13", false}};
    c.update(c.live()[0], u);
  };
  end(TaskEndKind::ExceptionFailure, TaskState::Failed);
  end(TaskEndKind::TaskKilled, TaskState::Killed);
  end(TaskEndKind::TaskCommitDenied, TaskState::Killed);
  CHECK(c.accumulated == std::vector<AccumulatorUpdate>(2, {AccumulatorId{1}, "15", true}));
  c.results_ok(0);
  CHECK(c.ended(t));
}

TEST_CASE("D53 D54 D55 reducers prefer the hosts that hold at least a fifth", "[dag]") {
  Dag c;
  c.executor("E", 16);
  const ShufflePtr s = shuffle(rdd(4, {}, at({"A", "B", "C", "D"})), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  for (int p = 0; p < 4; ++p) c.map_ok(c.task(0, 0, p), {(p + 1) * 10});
  REQUIRE(c.driver.tasks().task_set(StageId{1}, 0));
  const Strings got = c.driver.tasks().task_set(StageId{1}, 0)->spec().preferred.at(0);
  CHECK(got == Strings{"hB", "hC", "hD"});
  c.results_ok(1);
  CHECK(c.ended(t));
  // With a narrow dependency beside the shuffle the narrow one decides.
  const uint64_t t2 = c.job(rdd(1, {s, narrow(rdd(1, {}, {{"hB"}}))}));
  CHECK(c.live()[0].executor == "B");
  c.results_ok(c.live()[0].stage.value);
  CHECK(c.ended(t2));
  c.check_clean();
}

TEST_CASE("D77 a finished partition of an old attempt is not run again", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(1, {}, at({"A"})), 4);
  const ShufflePtr s1 = shuffle(rdd(4, {s0}, at({"B", "B", "B", "B"})), 1);
  const uint64_t t = c.job(rdd(1, {s1}));
  c.maps_ok(0);
  const std::vector<Sent> old = c.live(1, 0);
  c.map_ok(old[0]);
  c.fetch_failed(old[1], s0->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(0, 1);
  CHECK(c.live_partitions(1, 1) == Ints{1, 2, 3});
  c.map_ok(c.task(1, 1, 1));
  c.map_ok(old[2]);
  c.map_ok(old[3]);
  CHECK(c.live(2, 0).size() == 1);
  c.results_ok(2);
  CHECK(c.ended(t));
  c.check_clean();
}

TEST_CASE("D80 a metadata fetch failure unregisters nothing", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const uint64_t t = c.job(rdd(2, {s}));
  c.maps_ok(0);
  c.fetch_failed(c.task(1, 0, 0), s->id, -1, "");
  CHECK(c.driver.map_outputs().available(s->id) == 2);
  c.on(CancelJob{t, ""});
  c.check_clean();
}

TEST_CASE("D82 a stage has a limit of attempts", "[dag]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.max_stage_attempts = 2;
  o.max_consecutive_attempts = 2;
  Dag c(o);
  const ShufflePtr other = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const uint64_t t1 = c.job(rdd(2, {other}));
  c.maps_ok(0);
  const Sent ra = c.task(1, 0, 0), rb = c.task(1, 0, 1);
  const uint64_t t = c.job(rdd(1, {shuffle(rdd(2, {}, at({"A", "B"})), 1)}));
  c.map_ok(c.task(2, 0, 0));
  c.fetch_failed(ra, other->id, 0, "A");  // takes every output of A
  c.map_ok(c.task(2, 0, 1));
  CHECK(c.live_partitions(2, 1) == Ints{0});
  c.fetch_failed(rb, other->id, 1, "B");  // and of B
  c.map_ok(c.task(2, 1, 0));
  REQUIRE(c.ended(t));
  CHECK(c.error(t) ==
        "Job aborted due to stage failure: ShuffleMapStage 2 (name=rdd at test) has been "
        "resubmitted for "
        "the maximum allowable number of times: 2, which is the max value of config "
        "spark.stage.maxAttempts and spark.stage.maxConsecutiveAttempts.");
  c.on(CancelJob{t1, ""});
  c.check_clean();
}

TEST_CASE("D83 stopping fails what runs", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(2));
  c.on(StopDriver{""});
  CHECK(c.error(t) == "Job 0 cancelled because SparkContext was shut down");
  REQUIRE(c.seen<StageCompleted>().size() == 1);
  CHECK(c.seen<StageCompleted>()[0].stage.failure_reason ==
        "Stage cancelled because SparkContext was shut down");
  CHECK(c.messages<StopExecutor>().size() == 4);
  const uint64_t late = c.job(rdd(1));
  CHECK(c.error(late) == "SparkContext has been shutdown");
}

TEST_CASE("D84 D85 D86 cancelling by group, stage, tag and all", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(1), 1);
  const uint64_t g = c.job(rdd(1, {s}), {0}, {{"spark.jobGroup.id", "G"}});
  const uint64_t tagged = c.job(rdd(1, {s}), {0}, {{"spark.job.tags", "a,b"}});
  const uint64_t tag_like = c.job(rdd(1), {0}, {{"spark.job.tags", "ab"}});
  const uint64_t plain1 = c.job(rdd(1, {s})), plain2 = c.job(rdd(1, {s})), last = c.job(rdd(1));
  c.on(CancelJobGroup{"G"});
  CHECK(c.error(g) == "Job 0 cancelled part of cancelled job group G");
  c.on(CancelJobsWithTag{"b"});
  CHECK(c.error(tagged) == "Job 1 cancelled part of cancelled job tag(s) b");
  CHECK_FALSE(c.ended(tag_like));
  c.on(CancelStage{StageId{0}, ""});
  CHECK(c.error(plain1) == "Job 3 cancelled because Stage 0 was cancelled");
  CHECK(c.error(plain2) == "Job 4 cancelled because Stage 0 was cancelled");
  c.on(CancelAllJobs{});
  CHECK(c.error(last) == "Job 5 cancelled as part of cancellation of all jobs");
  CHECK(c.error(tag_like) == "Job 2 cancelled as part of cancellation of all jobs");
  c.check_clean();
}

TEST_CASE("a cluster manager that gives up fails jobs now and later", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1));
  c.on(BackendDead{"Master removed our application: FAILED"});
  CHECK(c.error(t) == "Job aborted due to stage failure: Master removed our application: FAILED");
  CHECK(c.error(c.job(rdd(1))) == c.error(t));
  c.check_clean();
}

TEST_CASE("events of a job come in order, the end of the job before its last result", "[dag]") {
  Dag c;
  const uint64_t t = c.job(rdd(1, {shuffle(rdd(1), 1)}));
  c.maps_ok(0);
  c.succeed(c.live()[0], "42");
  std::string order;
  for (const ListenerEvent& e : c.events)
    std::visit(
        overloaded{
            [&](const JobStarted&) { order += "J"; },
            [&](const StageSubmitted& s) { order += "S" + std::to_string(s.stage.stage.value); },
            [&](const TaskStarted&) { order += "t"; }, [&](const TaskEnded&) { order += "e"; },
            [&](const StageCompleted& s) { order += "C" + std::to_string(s.stage.stage.value); },
            [&](const JobEnded&) { order += "E"; }, [](const auto&) {}},
        e);
  CHECK(order == "JS0teC0S1teC1E");
  CHECK(c.ended(t));
  size_t publish = 99, deliver = 0;
  for (size_t i = 0; i < c.last.size(); ++i) {
    if (std::holds_alternative<Publish>(c.last[i])) publish = i;
    if (std::holds_alternative<DeliverResult>(c.last[i])) deliver = i;
  }
  CHECK(publish < deliver);
}

TEST_CASE("a checkpoint cuts the lineage of later jobs", "[dag]") {
  Dag c;
  const NodePtr maps = rdd(2);
  const NodePtr reduced = rdd(2, {shuffle(maps, 2)});
  const NodePtr child = rdd(2, {narrow(reduced)});
  const NodePtr grandchild = rdd(2, {shuffle(child, 2)});
  c.on(CheckpointDone{reduced->id, rdd(2)});
  const uint64_t t = c.job(grandchild);
  CHECK(c.seen<JobStarted>()[0].stages.size() == 2);
  c.maps_ok(0);
  c.results_ok(1);
  CHECK(c.results[t].size() == 2);
  c.check_clean();
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
