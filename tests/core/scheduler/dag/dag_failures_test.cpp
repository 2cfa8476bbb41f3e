// Fetch failures and lost executors: which maps and reduces run again, and when a job gives up.
//
// Through the whole machine; ids are those of spec/11, section D.
#include "tests/core/scheduler/dag/dag_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

TEST_CASE("D17 a fetch failure runs the lost map and the missing reduce again", "[dag]") {
  TwoStages c({"A", "B"});
  c.half_done();
  REQUIRE(c.seen<BlockManagerRemoved>().size() == 1);
  CHECK(c.seen<BlockManagerRemoved>()[0].id.executor.value == "A");
  CHECK(c.live().empty());
  c.advance(200ms);
  CHECK(c.live_partitions(0, 1) == Ints{0});
  c.map_ok(c.task(0, 1, 0));
  CHECK(c.live_partitions(1, 1) == Ints{1});
  CHECK(c.live()[0].epoch > 0);
  c.succeed(c.task(1, 1, 1), "43");
  CHECK(c.results[c.ticket] == Values{{0, "42"}, {1, "43"}});
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

TEST_CASE("D21 D27 a swarm of fetch failures from one executor removes it once", "[dag]") {
  TwoStages c({"A", "A", "B"}, 3);
  c.first_lost();
  CHECK(c.driver.map_outputs().missing(c.s->id) == Ints{0, 1});
  const int64_t epoch = c.driver.map_outputs().epoch();
  c.fetch_failed(c.task(1, 0, 1), c.s->id, -1, "A");
  CHECK(c.driver.map_outputs().epoch() == epoch);
  CHECK(c.seen<BlockManagerRemoved>().size() == 1);
  CHECK(c.completed(true) == Ints{1});  // once for the attempt
  c.on(CancelJob{c.ticket, ""});
  c.check_clean();
}

TEST_CASE("D22 all reduces fail to fetch once", "[dag]") {
  TwoStages c({"A", "B", "A", "B", "A", "B", "A", "B"}, 8);
  c.maps_ok(0);
  for (const Sent& r : c.live(1, 0))
    c.fetch_failed(r, c.s->id, r.partition, r.partition % 2 == 0 ? "A" : "B");
  CHECK(std::count_if(c.timers.begin(), c.timers.end(), [](const auto& timer) {
          return timer.second.kind == DriverTimer::Kind::ResubmitFailedStages;
        }) == 1);
  c.advance(200ms);
  CHECK(c.live_partitions(0, 1).size() == 8);
  c.maps_ok(0, 1);
  c.results_ok(1, 1);
  CHECK(c.error(c.ticket).empty());
  CHECK(c.results[c.ticket].size() == 8);
  c.check_clean();
}

TEST_CASE("D24 the fourth fetch failure in a row aborts", "[dag]") {
  TwoStages c({"A", "B"});
  for (int attempt = 0; attempt < 4; ++attempt) {
    CHECK_FALSE(c.ended(c.ticket));
    c.maps_ok(0, attempt);
    const std::vector<Sent> reduces = c.live(1, attempt);
    REQUIRE(reduces.size() == 2);
    c.fetch_failed(reduces[0], c.s->id, 0, "A");
    c.fetch_failed(reduces[1], c.s->id, 0, "A");
    c.advance(200ms);
  }
  REQUIRE(c.ended(c.ticket));
  CHECK(c.error(c.ticket).starts_with(
      "Job aborted due to stage failure: ResultStage 1 () has failed the maximum allowable number "
      "of times: 4. Most recent failure reason:\nFetchFailed(BlockManagerId(A, "));
  c.check_clean();
}

TEST_CASE("a fetch failure is told, the next ones of its stage less loudly", "[dag]") {
  TwoStages c({"A", "B"});
  c.maps_ok(0, 0);
  const std::vector<Sent> reduces = c.live(1, 0);
  REQUIRE(reduces.size() == 2);
  c.logs.clear();
  for (const Sent& x : reduces) c.fetch_failed(x, c.s->id, 0, "A");
  std::vector<std::pair<Level, std::string>> told;
  for (const Log& l : c.logs)
    if (l.line.starts_with("Lost task") || l.line.starts_with("Resubmitting"))
      told.emplace_back(l.level, l.line.substr(0, 25));
  CHECK(told ==
        std::vector<std::pair<Level, std::string>>{{Level::Warn, "Lost task 0.0 in stage 1."},
                                                   {Level::Info, "Resubmitting ShuffleMapSt"},
                                                   {Level::Info, "Lost task 1.0 in stage 1."}});
}

TEST_CASE("D25 streaks of two stages don't add up", "[dag]") {
  ThreeStages c({"A", "B"}, {"A", "B"});
  for (int attempt = 0; attempt < 2; ++attempt) {
    c.maps_ok(0, attempt);
    const std::vector<Sent> readers = c.live(1, attempt);
    REQUIRE(readers.size() == 2);
    for (const Sent& x : readers) c.fetch_failed(x, c.s0->id, 0, "A");
    c.advance(200ms);
  }
  c.maps_ok(0, 2, {0});
  c.maps_ok(1, 2, {0, 1});
  for (int attempt = 0; attempt < 2; ++attempt) {
    c.fetch_failed(c.task(2, attempt, 0), c.s1->id, 0, "A");
    CHECK_FALSE(c.ended(c.ticket));
    c.advance(200ms);
    c.maps_ok(0, 3 + attempt, {0});
    c.maps_ok(1, 3 + attempt, {0});
  }
  c.succeed(c.task(2, 2, 0), "42");
  CHECK(c.results[c.ticket] == Values{{0, "42"}});
  c.check_succeeded(c.ticket);
}

TEST_CASE("D43 a fetch failure at the end of a chain runs what was lost of each stage", "[dag]") {
  ThreeStages c({"A", "B"}, {"A", "B"});
  c.maps_ok(0);
  c.maps_ok(1);
  c.fetch_failed(c.task(2, 0, 0), c.s1->id, 0, "A");
  CHECK(c.driver.map_outputs().missing(c.s0->id) == Ints{0});
  CHECK(c.driver.map_outputs().missing(c.s1->id) == Ints{0});
  c.advance(200ms);
  c.maps_ok(0, 1, {0});
  c.maps_ok(1, 1, {0});
  c.succeed(c.task(2, 1, 0), "42");
  CHECK(c.results[c.ticket] == Values{{0, "42"}});
  c.check_succeeded(c.ticket);
}

TEST_CASE("D26 a success ends the streak", "[dag]") {
  ThreeStages c({"A", "B"}, {"C", "D"});
  int a0 = 0, a1 = 0;
  for (int i = 0; i < 3; ++i) {
    c.maps_ok(0, a0++);
    for (const Sent& x : c.live(1, a1)) c.fetch_failed(x, c.s0->id, 0, "A");
    ++a1;
    c.advance(200ms);
  }
  c.maps_ok(0, a0++);
  c.maps_ok(1, a1++);
  c.fetch_failed(c.live(2, 0)[0], c.s1->id, 0, "C");
  c.advance(200ms);
  REQUIRE(c.live(1, a1).size() == 1);
  c.fetch_failed(c.live(1, a1++)[0], c.s0->id, 0, "B");  // the fourth in all, the first in a row
  CHECK_FALSE(c.ended(c.ticket));
  c.advance(200ms);
  c.maps_ok(0, a0);
  c.maps_ok(1, a1);
  c.succeed(c.live(2, 1)[0], "42");
  CHECK(c.results[c.ticket] == Values{{0, "42"}});
  c.check_clean();
}

TEST_CASE("D31 a later failure of the same attempt starts nothing new", "[dag]") {
  TwoStages c({"A", "B"});
  const Sent r1 = c.first_lost();
  c.advance(200ms);
  CHECK(c.submissions(0) == 2);
  c.fetch_failed(r1, c.s->id, 1, "B");
  c.advance(200ms);
  CHECK(c.submissions(0) == 2);
  c.on(CancelJob{c.ticket, ""});
  c.check_clean();
}

TEST_CASE("D32 a failure of an old attempt is ignored", "[dag]") {
  TwoStages c({"A", "B"});
  const Sent r1 = c.first_lost();
  c.advance(200ms);
  c.maps_ok(0, 1);
  CHECK(c.submissions(1) == 2);
  c.fetch_failed(r1, c.s->id, 1, "B");
  c.advance(200ms);
  CHECK(c.submissions(0) == 2);
  CHECK(c.submissions(1) == 2);
  c.results_ok(1, 1);
  CHECK(c.results[c.ticket].size() == 2);
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

TEST_CASE("D33 attempts of a stage that is finished are killed, as its job wants it", "[dag]") {
  Dag c;
  const bool interrupt = GENERATE(true, false);
  const ShufflePtr s = shuffle(rdd(1, {}, at({"A"})), 2);
  const uint64_t t =
      c.job(rdd(2, {s}), {0, 1}, {{"spark.job.interruptOnCancel", interrupt ? "true" : "false"}});
  c.maps_ok(0);
  const Sent old = c.task(1, 0, 1);
  c.fetch_failed(c.task(1, 0, 0), s->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(0, 1);
  c.results_ok(1, 1);
  REQUIRE(c.ended(t));
  REQUIRE(c.messages<KillTask>().size() == 1);
  CHECK(c.messages<KillTask>()[0].id == old.id);
  CHECK(c.messages<KillTask>()[0].reason == "Stage finished");
  CHECK(c.messages<KillTask>()[0].interrupt == interrupt);
}

TEST_CASE("D34 outputs of an executor lost since the task set was made don't count", "[dag]") {
  Dag c;
  // A fetch failure elsewhere takes A's outputs away while A lives on.
  const ShufflePtr other = shuffle(rdd(1, {}, at({"A"})), 1);
  const uint64_t t1 = c.job(rdd(1, {other}));
  c.maps_ok(0);
  const ShufflePtr s = shuffle(rdd(3, {}, at({"A", "B", "A"})), 1);
  const uint64_t t2 = c.job(rdd(1, {s}));
  c.fetch_failed(c.live(1, 0)[0], other->id, 0, "A");
  c.map_ok(c.task(2, 0, 0));
  CHECK(c.driver.map_outputs().available(s->id) == 0);
  c.map_ok(c.task(2, 0, 1));
  CHECK(c.driver.map_outputs().available(s->id) == 1);
  c.map_ok(c.task(2, 0, 2));
  CHECK(c.driver.map_outputs().available(s->id) == 1);
  CHECK(c.live_partitions(2, 1) == Ints{0, 2});  // of the new epoch: they count on A too
  CHECK(c.task(2, 1, 0).executor == "A");
  c.map_ok(c.task(2, 1, 0));
  CHECK(c.driver.map_outputs().available(s->id) == 2);
  c.map_ok(c.task(2, 1, 2));
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
  TwoStages c({"A", "B"});
  c.maps_ok(0);
  c.results_ok(1);
  CHECK(c.ended(c.ticket));
  const uint64_t t2 = c.job(rdd(2, {c.s}));
  CHECK(c.live(2).empty());
  c.fetch_failed(c.task(3, 0, 0), c.s->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(2, 1, {0});
  c.results_ok(3, 1);
  c.results_ok(3, 0);
  CHECK(c.results[t2].size() == 2);
  c.check_clean();
}

TEST_CASE("D37 late results of an older attempt help the newer one", "[dag]") {
  ThreeStages c({"B", "B", "A"}, {"B", "C", "D"});
  c.maps_ok(0);
  const std::vector<Sent> first = c.live(1, 0);
  c.lose("A");
  c.fetch_failed(first[0], c.s0->id, -1, "");
  c.advance(200ms);
  c.maps_ok(0, 1, {2});
  CHECK(c.live_partitions(1, 1) == Ints{0, 1, 2});
  c.map_ok(c.task(1, 1, 0));
  c.map_ok(first[1]);
  CHECK(c.live(2).empty());
  c.map_ok(c.task(1, 1, 2));
  CHECK(c.live(2, 0).size() == 1);
  CHECK(c.submitted().size() == 5);
  c.succeed(c.live(2, 0)[0], "42");
  CHECK(c.ended(c.ticket));
  c.check_clean();
}

TEST_CASE("D38 outputs lost while their set is alive are made again", "[dag]") {
  TwoStages c({"A", "A", "B"}, 1);
  c.map_ok(c.task(0, 0, 0));
  c.map_ok(c.task(0, 0, 1));
  c.lose("A");
  CHECK(c.resubmitted() == 2);
  c.advance(8s);  // two locality levels that nobody alive serves
  CHECK(c.live_partitions(0, 0) == Ints{0, 1, 2});
  c.maps_ok(0);
  CHECK(c.driver.map_outputs().missing(c.s->id).empty());
  CHECK(c.live(1, 0).size() == 1);
  CHECK(c.submissions(1) == 1);
  c.results_ok(1);
  CHECK(c.ended(c.ticket));
  c.check_clean();
}

TEST_CASE("D39 jobs that share a failing map stage fail alike", "[dag]") {
  Dag c;
  const ShufflePtr s = shuffle(rdd(2), 2);
  const uint64_t t1 = c.job(rdd(2, {s})), t2 = c.job(rdd(2, {s, shuffle(rdd(2), 2)}));
  REQUIRE(c.live_partitions(2, 0) == Ints{0, 1});  // what only the second job reads
  while (!c.ended(t1)) c.fail(c.task(0, 0, 0), "no");
  REQUIRE(c.ended(t2));
  CHECK(c.error(t1) == c.error(t2));
  Ints failed = c.completed(true);
  std::sort(failed.begin(), failed.end());
  CHECK(failed == Ints{0, 2});
  Ints killed;
  for (const KillTask& k : c.messages<KillTask>()) killed.push_back(c.by_id(k.id).stage.value);
  CHECK(std::count(killed.begin(), killed.end(), 2) == 2);
  CHECK((c.submissions(1) == 0 && c.submissions(3) == 0));
  c.check_clean();
}

TEST_CASE("D80 a metadata fetch failure unregisters nothing", "[dag]") {
  TwoStages c({"A", "B"});
  c.maps_ok(0);
  c.fetch_failed(c.task(1, 0, 0), c.s->id, -1, "");
  CHECK(c.driver.map_outputs().available(c.s->id) == 2);
  c.on(CancelJob{c.ticket, ""});
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

TEST_CASE("D41 what a cancelled job began is tried again for the other one", "[dag]") {
  Dag c;
  const ShufflePtr s0 = shuffle(rdd(1, {}, at({"A"})), 1);
  const ShufflePtr s1 = shuffle(rdd(1, {s0}, at({"B"})), 1);
  const uint64_t t1 = c.job(rdd(1, {s1}), {0}, {{"who", "one"}});
  const uint64_t t2 = c.job(rdd(1, {s1}), {0}, {{"who", "two"}});
  const auto check_whose = [&](int32_t stage, int32_t attempt) {
    const TaskSet* set = c.driver.tasks().task_set(StageId{stage}, attempt);
    REQUIRE(set);
    CHECK(set->spec().priority == JobId{1});
    CHECK(set->spec().properties->at("who") == "two");
  };
  c.on(CancelJob{t1, ""});
  c.maps_ok(0);
  check_whose(1, 0);
  c.fetch_failed(c.task(1, 0, 0), s0->id, 0, "A");
  c.advance(200ms);
  check_whose(0, 1);
  c.maps_ok(0, 1);
  check_whose(1, 1);
  c.maps_ok(1, 1);
  check_whose(3, 0);
  c.results_ok(3);
  CHECK(c.results[t2] == Values{{0, "42"}});
  c.check_clean();
}

TEST_CASE("D42 a map stage is not complete by outputs that don't count", "[dag]") {
  TwoStages c({"A", "C"}, 1);
  c.maps_ok(0);
  const ShufflePtr s =
      shuffle(rdd(2, {}, {{"executor_hA_A", "executor_hC_C"}, {"executor_hB_B"}}), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  const std::string holder = c.task(2, 0, 0).executor;
  c.fetch_failed(c.live(1, 0)[0], c.s->id, holder == "A" ? 0 : 1, holder);
  c.map_ok(c.task(2, 0, 0));
  c.map_ok(c.task(2, 0, 1));
  CHECK(c.live(3).empty());
  CHECK(c.live_partitions(2, 1) == Ints{0});
  c.lose(holder);
  const std::string second = holder == "A" ? "C" : "A";
  CHECK(c.task(2, 1, 0).executor == second);
  c.map_ok(c.task(2, 1, 0));
  Strings places = c.preferred_hosts(3, 0);
  std::sort(places.begin(), places.end());
  Strings expected{"hB", "h" + second};
  std::sort(expected.begin(), expected.end());
  CHECK(places == expected);
  c.results_ok(3);
  CHECK(c.ended(t));
  c.on(CancelJob{c.ticket, ""});
  c.check_clean();
}

TEST_CASE("D45 an original that succeeds after its copy could not fetch ends the job", "[dag]") {
  Dag c(copying());
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const uint64_t t = c.job(rdd(2, {s}));
  c.maps_ok(0);
  const Sent original = c.task(1, 0, 1);
  c.succeed(c.task(1, 0, 0), "42");
  c.advance(100ms);
  c.fetch_failed(c.copy_of(original), s->id, 0, "A");
  CHECK(c.completions() == Ints{0, 1});
  c.advance(200ms);
  CHECK(c.live_partitions(0, 1) == Ints{0});
  c.succeed(original, "43");
  CHECK(c.results[t] == Values{{0, "42"}, {1, "43"}});
  CHECK(c.error(t).empty());
  CHECK(c.completions() == Ints{0, 1, 1, 0});
  c.check_clean();
}

TEST_CASE("D66 a late output that does not count leads to one more attempt", "[dag]") {
  ThreeStages c({"A", "A"}, {"B", "A"});
  c.maps_ok(0);
  const Sent late = c.task(1, 0, 1);
  c.fetch_failed(c.task(1, 0, 0), c.s0->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(0, 1, {0, 1});
  CHECK(c.live_partitions(1, 1) == Ints{0, 1});
  REQUIRE(late.executor == "A");
  c.map_ok(late);
  CHECK(c.driver.map_outputs().available(c.s1->id) == 0);
  c.map_ok(c.task(1, 1, 0));
  CHECK(c.live_partitions(1, 2) == Ints{1});
  CHECK(c.live(2).empty());
  c.map_ok(c.task(1, 2, 1));
  c.results_ok(2);
  CHECK(c.results[c.ticket] == Values{{0, "42"}});
  CHECK(c.submitted().size() == 6);
  c.check_clean();
}
