// Second copies of slow tasks. Ids are those of spec/11, section T.
#include "tests/scheduler/tasks/task_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

using Ints = std::vector<int32_t>;
constexpr const char* kKilled = "another attempt succeeded";

/// Spark's defaults but for the efficiency rule, which tests ask for.
DriverOptions speculating(int32_t launch_ahead = 0) {
  DriverOptions o = test_options(launch_ahead);
  o.speculation.enabled = true;
  o.speculation.interval = 100ms;
  o.speculation.multiplier = 3;
  o.speculation.quantile = 0.9;
  o.speculation.min_runtime = 100ms;
  o.speculation.slots_per_executor = 4;
  o.speculation.long_run_factor = 2;
  o.speculation.process_rate_multiplier = 0.75;
  return o;
}

/// Copies as soon as half of the tasks are done, whatever they took.
DriverOptions eager(int32_t launch_ahead = 0) {
  DriverOptions o = speculating(launch_ahead);
  o.speculation.quantile = 0.5;
  o.speculation.multiplier = 0;
  o.speculation.min_runtime = 0ms;
  return o;
}

/// Tasks run on A as they were submitted; B is for copies.
struct Race : Cluster {
  explicit Race(DriverOptions o, int32_t cores = 8) : Cluster(std::move(o)) {
    executor("A", cores);
  }
  Ints submitted() const {
    Ints v;
    for (const SpeculativeTaskSubmitted& e : seen<SpeculativeTaskSubmitted>()) v.push_back(e.index);
    std::sort(v.begin(), v.end());
    return v;
  }
  /// Copies that run.
  std::vector<Sent> copies() const {
    std::vector<Sent> v;
    for (const Sent& s : live())
      if (s.executor != "A") v.push_back(s);
    return v;
  }
  Sent on(const std::string& executor, int32_t partition) const {
    for (const Sent& s : live())
      if (s.executor == executor && s.partition == partition) return s;
    FAIL("no live task " << partition << " on " << executor);
    return {};
  }
  using Cluster::on;
  Ints indices(const std::vector<Sent>& tasks) const {
    Ints v;
    for (const Sent& s : tasks) v.push_back(s.index);
    std::sort(v.begin(), v.end());
    return v;
  }
  void killed(const Sent& s, const std::string& why = kKilled) {
    TaskEndReason r;
    r.kind = TaskEndKind::TaskKilled;
    r.description = why;
    fail(s, r, TaskState::Killed);
  }
};

TaskUpdate with_accumulator(TaskUpdate u) {
  u.accumulators = {AccumulatorUpdate{AccumulatorId{7}, "1", false}};
  return u;
}

/// Seconds with one decimal, as ids of metrics need none.
TaskMetrics read(int64_t records, Duration run_time) {
  TaskMetrics m;
  m.shuffle_read_records = records;
  m.run_time = run_time.count();
  return m;
}

}  // namespace

TEST_CASE("the running median is the greater of the two in the middle", "[speculation]") {
  RunningMedian m;
  std::vector<Duration> sorted;
  uint32_t x = 12345;
  for (int i = 0; i < 500; ++i) {
    x = x * 1664525 + 1013904223;
    const Duration d(x >> 22);
    m.add(d);
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), d), d);
    REQUIRE(m.value() == sorted[sorted.size() / 2]);
  }
}

TEST_CASE("T30 a copy that wins ends the original", "[speculation]") {
  Race c(eager(GENERATE(0, 8)));
  const uint64_t t = c.job(rdd(4));
  c.executor("B", 8);
  for (int32_t p = 0; p < 3; ++p) c.succeed(c.on("A", p), std::to_string(p));
  CHECK(c.copies().empty());
  c.advance(100ms);
  CHECK(c.submitted() == Ints{3});
  REQUIRE(c.copies().size() == 1);
  const Sent copy = c.copies()[0], original = c.on("A", 3);
  CHECK(copy.number == 1);
  CHECK(c.seen<TaskStarted>().back().task.speculative);
  c.update(copy, with_accumulator(c.result(copy, "won")));
  REQUIRE(c.messages<KillTask>("A").size() == 1);
  CHECK(c.messages<KillTask>("A")[0] == KillTask{original.id, true, kKilled});
  REQUIRE(c.ended(t));
  CHECK(c.error(t).empty());
  CHECK(c.results[t][3] == "won");
  c.killed(original);
  CHECK(c.seen<TaskEnded>().back().reason.description == kKilled);
  CHECK(c.accumulated.size() == 1);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T39 an original that wins ends the copy, which counts for nothing", "[speculation]") {
  Race c(eager(GENERATE(0, 8)));
  const uint64_t t = c.job(rdd(4));
  c.executor("B", 8);
  for (int32_t p = 0; p < 2; ++p) c.succeed(c.on("A", p), std::to_string(p));
  c.advance(100ms);
  CHECK(c.submitted() == Ints{2, 3});
  const Sent copy = c.on("B", 2), original = c.on("A", 2);
  c.update(original, with_accumulator(c.result(original, "original")));
  CHECK(c.messages<KillTask>("B") == std::vector{KillTask{copy.id, true, kKilled}});
  // It finished before the message came.
  c.update(copy, with_accumulator(c.result(copy, "copy")));
  const TaskEnded lost = c.seen<TaskEnded>().back();
  CHECK(lost.task.attempt == 1);
  CHECK(lost.reason.kind == TaskEndKind::TaskKilled);
  CHECK(lost.reason.description == "Finish but did not commit due to another attempt succeeded");
  CHECK_FALSE(lost.metrics);
  CHECK(c.accumulated.size() == 1);
  CHECK_FALSE(c.ended(t));
  const Sent last = c.on("B", 3);
  c.succeed(last, "copy of 3");
  REQUIRE(c.ended(t));
  CHECK(c.results[t] ==
        std::map<int32_t, std::string>{{0, "0"}, {1, "1"}, {2, "original"}, {3, "copy of 3"}});
  // A result that lies in a block is not even fetched.
  TaskUpdate late = c.result(c.on("A", 3), "");
  late.result_block = "taskresult_9";
  late.result_size = 5;
  c.update(c.on("A", 3), late);
  CHECK(c.effects<FetchResult>().empty());
  CHECK(c.messages<RemoveBlocks>("A") == std::vector{RemoveBlocks{{"taskresult_9"}}});
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a copy's result that is being fetched is dropped when the original wins",
          "[speculation]") {
  Race c(eager());
  const uint64_t t = c.job(rdd(2));
  c.executor("B", 8);
  c.succeed(c.on("A", 0), "0");
  c.advance(100ms);
  const Sent copy = c.on("B", 1);
  TaskUpdate u = c.result(copy, "");
  u.result_block = "taskresult_5";
  u.result_size = 5;
  c.update(copy, u);
  REQUIRE(c.effects<FetchResult>().size() == 1);
  c.succeed(c.on("A", 1), "original");
  REQUIRE(c.ended(t));
  c.on(ResultFetched{copy.id, Payload(Bytes("copy"))});
  CHECK(c.messages<RemoveBlocks>("B") == std::vector{RemoveBlocks{{"taskresult_5"}}});
  CHECK(c.results[t][1] == "original");
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T31 a task that failed thrice is saved by its copy", "[speculation]") {
  DriverOptions o = eager(GENERATE(0, 8));
  o.speculation.quantile = 0.6;
  Race c(o);
  const uint64_t t = c.job(rdd(5));
  for (int32_t p = 0; p < 3; ++p) c.succeed(c.on("A", p), "x");
  for (int32_t p : {3, 4})
    for (int i = 0; i < 3; ++i) c.fail(c.on("A", p));
  CHECK(c.on("A", 3).number == 3);
  c.executor("B", 8);
  c.advance(100ms);
  for (int32_t p : {3, 4}) {
    const Sent original = c.on("A", p), copy = c.on("B", p);
    CHECK(copy.number == 4);
    c.succeed(copy, "copy");
    c.killed(original);
    CHECK(c.ended(t) == (p == 4));
  }
  CHECK(c.error(t).empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T21 a copy's executor that is lost after the original won undoes nothing",
          "[speculation]") {
  DriverOptions o = speculating(GENERATE(0, 8));
  o.speculation.duration_threshold = 1s;
  Race c(o);
  const ShufflePtr s = shuffle(rdd(1), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.executor("B", 1);
  c.advance(1200ms);
  const Sent original = c.on("A", 0), copy = c.on("B", 0);
  c.map_ok(original);
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->zombie());
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->running() == 1);
  c.lose("B");
  CHECK(c.driver.tasks().task_set(StageId{0}, 0) == nullptr);
  for (const TaskEnded& e : c.seen<TaskEnded>()) CHECK(e.reason.kind != TaskEndKind::Resubmitted);
  c.results_ok(1);
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T22 only the winner's executor takes an output with it", "[speculation]") {
  const bool lose_winner = GENERATE(false, true);
  Race c(eager(GENERATE(0, 8)));
  const ShufflePtr s = shuffle(rdd(4), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.executor("keeper", 0, "hK");
  c.executor("B", 1);
  for (int32_t p : {0, 1}) {
    TaskUpdate u = c.output(c.on("A", p));
    c.update(c.on("A", p), u);
  }
  c.advance(100ms);
  REQUIRE(c.copies().size() == 1);
  const Sent copy = c.copies()[0], original = c.on("A", copy.partition);
  c.map_ok(copy);
  CHECK(c.messages<KillTask>("A") == std::vector{KillTask{original.id, true, kKilled}});
  c.lose(lose_winner ? "B" : "A");
  Ints undone;
  for (const TaskEnded& e : c.seen<TaskEnded>())
    if (e.reason.kind == TaskEndKind::Resubmitted) undone.push_back(e.task.index);
  CHECK(std::count(undone.begin(), undone.end(), copy.index) == (lose_winner ? 1 : 0));
  c.on(CancelJob{t, ""});
  while (!c.live().empty()) c.killed(c.live()[0], "Stage cancelled");
  CHECK(c.driver.idle_state_is_clean());
}

// ---- one set, offers by hand -------------------------------------------------------------------

namespace {

constexpr Locality kProcess = Locality::Process, kNode = Locality::Node, kNoPref = Locality::NoPref,
                   kAny = Locality::Any;

struct SetBed {
  DriverOptions options = eager();
  Executors executors{options};
  std::unique_ptr<TaskSet> set;
  Time now{1000s};
  PeerId next_peer = 1;

  void add(const std::string& id, const std::string& host) {
    DriverEffects out;
    Turn turn(now, next_peer, out);
    const PeerId peer = next_peer++;
    executors.hello(peer, {Identity{"", options.app, 0, ""}, ExecutorId{id}, "b1", "c1"}, turn);
    RegisterExecutor m;
    m.id = ExecutorId{id};
    m.host = host;
    m.cores = 4;
    executors.activate(executors.register_executor(peer, m, turn));
  }
  void tasks(Locations preferred) {
    TaskSetSpec spec;
    spec.stage = StageId{0};
    for (size_t i = 0; i < preferred.size(); ++i) spec.ids.push_back(static_cast<int32_t>(i));
    spec.preferred = std::move(preferred);
    set = std::make_unique<TaskSet>(std::move(spec), executors, options, 0, now);
  }
  /// Index that starts; −1: none. A copy is told by its index + 100.
  int32_t offer(const std::string& id, Locality max) {
    bool rejected = false;
    const int32_t slot = executors.slot(ExecutorId{id});
    const auto p = set->offer(slot, max, now, rejected);
    if (!p) return -1;
    set->speculation()->started(p->index, executors.at(slot).host, p->copy);
    set->start(p->index);
    return p->index + (p->copy ? 100 : 0);
  }
  void slow(int32_t index, const std::string& runs_on) {
    set->speculation()->submit(index, executors.host(runs_on));
  }
};

std::string at(const std::string& host, const std::string& executor) {
  return "executor_" + host + "_" + executor;
}

}  // namespace

TEST_CASE("T23 copies come after tasks without preference, before those that wait",
          "[speculation]") {
  SetBed b;
  b.add("eA", "h1");
  b.add("eB", "h2");
  b.add("eC", "h3");
  b.tasks({{at("h1", "eA")}, {"h2", "h1"}, {}, {at("h3", "eC")}});
  CHECK(b.offer("eA", kProcess) == 0);
  CHECK(b.offer("eA", kNode) == -1);
  CHECK(b.offer("eA", kNoPref) == 1);
  b.slow(1, "h1");
  b.now += 3s;
  CHECK(b.offer("eA", kNoPref) == 2);
  CHECK(b.offer("eB", kNoPref) == 101);
  b.now += 9s;
  CHECK(b.offer("eB", kAny) == 3);
}

TEST_CASE("T42 each slow task gets one copy", "[speculation]") {
  SetBed b;
  b.add("e1", "h1");
  b.add("e2", "h2");
  b.tasks({{}, {}, {}, {}, {}});
  for (int32_t i = 0; i < 5; ++i) CHECK(b.offer("e1", kNoPref) == i);
  CHECK_FALSE(b.set->wants_offers());
  b.slow(1, "h1");
  b.slow(3, "h1");
  CHECK(b.set->wants_offers());
  CHECK(b.offer("e1", kAny) == -1);  // it runs there
  std::vector<int32_t> copies = {b.offer("e2", kAny), b.offer("e2", kAny)};
  std::sort(copies.begin(), copies.end());
  CHECK(copies == Ints{101, 103});
  CHECK(b.set->copies_running(1) == 2);
  CHECK(b.set->attempts(3) == 2);
  CHECK(b.set->speculation()->had_copy(1));
  CHECK_FALSE(b.set->wants_offers());
  CHECK(b.offer("e2", kAny) == -1);
}

TEST_CASE("T43 copies go where the task would rather run, never where it was tried",
          "[speculation]") {
  SetBed b;
  for (const char* n : {"1", "2", "3", "4"}) b.add(std::string("e") + n, std::string("h") + n);
  b.tasks({{"h1", "h3"}, {"h2"}, {"h3"}});
  CHECK(b.offer("e1", kNode) == 0);
  CHECK(b.offer("e2", kNode) == 1);
  CHECK(b.offer("e3", kNode) == 2);
  b.set->stop(2);
  b.set->succeed(2, {});
  b.slow(0, "h1");
  b.slow(1, "h2");
  CHECK(b.offer("e4", kNode) == -1);
  CHECK(b.offer("e2", kNode) == -1);
  CHECK(b.offer("e3", kNode) == 100);
  CHECK(b.offer("e4", kAny) == 101);
  CHECK(b.offer("e4", kAny) == -1);
}

TEST_CASE(
    "a copy that waits is forgotten when its task ends, and not offered while it does not run",
    "[speculation]") {
  SetBed b;
  b.add("e1", "h1");
  b.add("e2", "h2");
  b.add("e3", "h3");
  b.tasks({{}, {}});
  CHECK(b.offer("e1", kAny) == 0);
  CHECK(b.offer("e1", kAny) == 1);
  b.slow(0, "h1");
  b.slow(1, "h1");
  b.set->stop(0);
  b.set->succeed(0, {});
  CHECK(b.set->wants_offers());
  // The original of 1 fails: it is pending again, and its copy waits until it runs.
  b.set->stop(1);
  b.set->requeue(1);
  CHECK(b.offer("e2", kAny) == 1);
  CHECK(b.offer("e2", kAny) == -1);  // tried there now
  CHECK(b.offer("e1", kAny) == -1);  // and there before
  CHECK(b.offer("e3", kAny) == 101);
}

// ---- which tasks are slow ----------------------------------------------------------------------

TEST_CASE("T44 the duration threshold serves small sets only", "[speculation]") {
  struct Case {
    std::optional<Duration> threshold;
    int32_t tasks, slots;
    size_t copies;
  };
  const std::vector<Case> cases = {{60min, 1, 4, 1},
                                   {60min, 2, 2, 2},
                                   {60min, 2, 1, 0},
                                   {60min, 1, 1, 1},
                                   {std::nullopt, 2, 4, 0}};
  for (const Case& k : cases)
    for (const int32_t ahead : {0, 8}) {
      DriverOptions o = speculating(ahead);
      o.executor_timeout = 1000h;
      o.speculation.quantile = 1;
      o.speculation.interval = 1s;
      o.speculation.duration_threshold = k.threshold;
      o.speculation.slots_per_executor = k.slots;
      Race c(o);
      c.job(rdd(k.tasks));
      c.executor("B", 8);
      c.advance(60min);
      CHECK(c.submitted().empty());
      c.advance(1s);
      CHECK(c.submitted().size() == k.copies);
      CHECK(c.copies().size() == k.copies);
      c.advance(10s);
      CHECK(c.submitted().size() == k.copies);
    }
}

TEST_CASE("T46 the threshold leaves the ordinary rule as it is", "[speculation]") {
  DriverOptions o = speculating(GENERATE(0, 8));
  o.speculation.quantile = 0.5;
  o.speculation.multiplier = 1.5;
  o.speculation.duration_threshold = 60min;
  Race c(o);
  c.job(rdd(2));
  c.executor("B", 8);
  c.advance(1s);
  c.succeed(c.on("A", 0), "x");
  c.advance(500ms);
  CHECK(c.submitted().empty());
  c.advance(500ms);
  CHECK(c.submitted() == Ints{1});
}

TEST_CASE("T47 no task is slow below the least run time", "[speculation]") {
  DriverOptions o = eager(GENERATE(0, 8));
  o.speculation.min_runtime = 3s;
  Race c(o);
  c.job(rdd(2));
  c.executor("B", 8);
  c.advance(1s);
  c.succeed(c.on("A", 0), "x");
  c.advance(1s);
  CHECK(c.submitted().empty());
  c.advance(2s);
  CHECK(c.submitted() == Ints{1});
}

TEST_CASE("T48 a single task needs a threshold", "[speculation]") {
  for (const Duration threshold : {Duration(0s), Duration(15s)}) {
    DriverOptions o = speculating(GENERATE(0, 8));
    o.speculation.duration_threshold = threshold;
    Race c(o);
    c.job(rdd(1));
    c.executor("B", 8);
    c.advance(20s);
    CHECK(c.submitted().size() == (threshold > 0s ? 1u : 0u));
  }
}

namespace {
/// Tasks 0 to 2 read 100 records a second for 20 s; 3 and 4 still run, at these shares of that.
Ints slow_by_rate(SpeculationOptions s, std::vector<double> shares) {
  DriverOptions o = eager();
  o.executor_timeout = 1000s;
  o.speculation = s;
  Race c(o);
  const int32_t n = 3 + static_cast<int32_t>(shares.size());
  c.job(rdd(n));
  c.executor("B", 8);
  c.advance(19950ms);
  ExecutorHeartbeat beat{ExecutorId{"A"}, {}, 0, {}};
  for (int32_t p = 3; p < n; ++p)
    beat.tasks.push_back({c.on("A", p).id,
                          static_cast<int64_t>(shares[static_cast<size_t>(p - 3)] * 2000),
                          Duration(20s).count()});
  c.from("A", beat);
  for (int32_t p = 0; p < 3; ++p) {
    TaskUpdate u = c.result(c.on("A", p), "x");
    u.metrics = read(2000, 20s);
    c.update(c.on("A", p), u);
  }
  c.advance(50ms);
  return c.submitted();
}
SpeculationOptions efficient() {
  SpeculationOptions s = eager().speculation;
  s.efficiency = true;
  return s;
}
}  // namespace

TEST_CASE("T49 a task that reads fast enough is not slow, unless it runs very long",
          "[speculation]") {
  SpeculationOptions s = efficient();
  CHECK(slow_by_rate(s, {0.4, 5}) == Ints{3, 4});
  s.min_runtime = 10s;
  CHECK(slow_by_rate(s, {0.4, 5}) == Ints{3});
  s.min_runtime = 50s;
  CHECK(slow_by_rate(s, {0.4, 5}).empty());
}

TEST_CASE("T50 the rate counts below a share of the average", "[speculation]") {
  SpeculationOptions s = efficient();
  s.min_runtime = 15s;
  s.process_rate_multiplier = 0.8;
  CHECK(slow_by_rate(s, {0.6}) == Ints{3});
  s.process_rate_multiplier = 0.5;
  CHECK(slow_by_rate(s, {0.6}).empty());
}

TEST_CASE("T51 a task is slow at any rate beyond a multiple of the threshold", "[speculation]") {
  SpeculationOptions s = efficient();
  s.min_runtime = 15s;
  s.long_run_factor = 1;
  CHECK(slow_by_rate(s, {2}) == Ints{3});
  s.long_run_factor = 2;
  CHECK(slow_by_rate(s, {2}).empty());
}

TEST_CASE("without counts of records the efficiency rule excuses nobody", "[speculation]") {
  DriverOptions o = speculating(GENERATE(0, 8));
  o.speculation.efficiency = true;
  o.speculation.quantile = 0.5;
  o.speculation.multiplier = 1.5;
  Race c(o);
  c.job(rdd(2));
  c.executor("B", 8);
  c.advance(1s);
  c.succeed(c.on("A", 0), "x");
  c.advance(600ms);
  CHECK(c.submitted() == Ints{1});
}

TEST_CASE("T45 a task that would outlive its decommissioned executor gets a copy",
          "[speculation]") {
  DriverOptions o = speculating();
  o.speculation.quantile = 0.5;
  o.speculation.multiplier = 1.5;
  o.speculation.decommission_kill_interval = 5s;
  TaskBed b(o);
  const int32_t e1 = b.add("exec1", "h1"), e2 = b.add("exec2", "h2"), e3 = b.add("exec3", "h3");
  b.submit(0, 4);
  const auto check = [&] {
    b.events.clear();
    b.turn([&](Turn& t) { b.tasks.speculation_timer(t); });
    Ints v;
    for (const SpeculativeTaskSubmitted& s : b.seen<SpeculativeTaskSubmitted>())
      v.push_back(s.index);
    return v;
  };
  const auto first = b.offer({{e1, 2}});
  const auto second = b.offer({{e2, 1}});
  b.now += 6s;
  b.offer({{e2, 1}});
  b.now += 4s;
  for (const auto& l : first) b.succeed(l);
  CHECK(check().empty());
  b.executors.decommission(e2, {b.now, {}, "going"});
  CHECK(check() == Ints{3});
  b.now += 6s;
  CHECK(check() == Ints{2});
  CHECK(b.offer({{e2, 4}}).empty());
  CHECK(b.offer({{e3, 4}}).size() == 2);
}

// ---- launch-ahead ------------------------------------------------------------------------------

TEST_CASE("a task that was sent ahead does not run: it is never slow", "[speculation]") {
  Race c(eager(8), 1);
  c.job(rdd(6));
  CHECK(c.live().size() == 6);  // one runs, five wait
  for (int i = 0; i < 3; ++i) c.succeed(c.live()[0], "x");
  c.advance(10s);
  CHECK(c.submitted() == Ints{3});
  c.executor("B", 1);
  // The slot of B goes to what waits behind the slow task, then to its copy.
  c.answer_revocations();
  c.advance(1s);
  REQUIRE(c.copies().size() == 1);
  CHECK(c.copies()[0].index != 3);
  for (int guard = 0; guard < 4 && c.copies()[0].index != 3; ++guard) {
    c.succeed(c.copies()[0], "x");
    c.answer_revocations();
    c.advance(1s);
    REQUIRE_FALSE(c.copies().empty());
  }
  CHECK(c.copies()[0].index == 3);
  CHECK(c.copies()[0].number == 1);
}

TEST_CASE("a copy that was sent ahead and is taken back waits again", "[speculation]") {
  Race c(eager(8), 2);
  const uint64_t first = c.job(rdd(2));
  c.executor("B", 1, "hB");
  const uint64_t second = c.job(rdd(1));
  REQUIRE(c.on("B", 0).partition == 0);
  c.succeed(c.on("A", 0), "x");  // A has a slot free, but task 1 runs on that host
  c.advance(100ms);
  CHECK(c.submitted() == Ints{1});
  c.job(rdd(1));  // takes the slot: now copies may be sent ahead
  REQUIRE(c.messages<LaunchTasks>("B").size() == 1);
  const Sent ahead = c.on("B", 1);
  CHECK(c.driver.executors().at(1).ahead == 1);
  c.executor("C", 1, "hC");
  REQUIRE(c.revocations.size() == 1);
  c.answer_revocations();
  const Sent copy = c.on("C", 1);
  CHECK(copy.number == ahead.number);
  c.succeed(copy, "copy");
  CHECK(c.ended(first));
  CHECK_FALSE(c.ended(second));
  for (const Sent& s : c.live()) c.succeed(s, "x");
  CHECK(c.ended(second));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("nothing looks for slow tasks while there are none, or while speculation is off",
          "[speculation]") {
  const auto timers = [](const Cluster& c) {
    return std::count_if(c.timers.begin(), c.timers.end(), [](const auto& t) {
      return t.second.kind == DriverTimer::Kind::Speculation;
    });
  };
  Race off(test_options(8));
  off.job(rdd(4));
  CHECK(timers(off) == 0);
  Race c(speculating(8));
  CHECK(timers(c) == 0);
  c.job(rdd(1));
  c.job(rdd(1));
  CHECK(timers(c) == 1);
  while (!c.live().empty()) c.succeed(c.live()[0], "x");
  c.advance(100ms);
  CHECK(timers(c) == 0);
  c.job(rdd(1));
  CHECK(timers(c) == 1);
}

TEST_CASE("the commit of a partition is given to one of its two attempts", "[speculation]") {
  Race c(eager(GENERATE(0, 8)));
  c.job(rdd(2));
  c.executor("B", 8);
  c.succeed(c.on("A", 0), "x");
  c.advance(100ms);
  const Sent copy = c.on("B", 1), original = c.on("A", 1);
  const auto ask = [&](const Sent& s) {
    c.from(s.executor, AskPermissionToCommit{1, s.stage, 0, s.partition, s.number});
    return c.messages<CommitAnswer>(s.executor).at(0).allowed;
  };
  CHECK(ask(copy));
  CHECK_FALSE(ask(original));
  TaskEndReason denied;
  denied.kind = TaskEndKind::TaskCommitDenied;
  c.fail(original, denied);
  CHECK(c.live().size() == 1);  // not tried again while the copy runs
  c.succeed(copy, "y");
  CHECK(c.driver.idle_state_is_clean());
}
