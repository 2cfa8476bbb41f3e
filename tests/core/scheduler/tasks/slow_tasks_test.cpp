// Which tasks are slow, and where their copies go. Ids are those of spec/11, section T.
#include "tests/core/scheduler/tasks/set_bed.hpp"
#include "tests/core/scheduler/tasks/speculation_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

// ---- one set, offers by hand -------------------------------------------------------------------

TEST_CASE("T23 copies come after tasks without preference, before those that wait",
          "[speculation]") {
  SetBed b(eager());
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
  SetBed b(eager());
  b.add_each(2);
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
  SetBed b(eager());
  b.add_each(4);
  b.tasks({{"h1", "h3"}, {"h2"}, {"h3"}});
  CHECK(b.offer("e1", kNode) == 0);
  CHECK(b.offer("e2", kNode) == 1);
  CHECK(b.offer("e3", kNode) == 2);
  b.succeed(2);
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
  SetBed b(eager());
  b.add_each(3);
  b.tasks({{}, {}});
  CHECK(b.offer("e1", kAny) == 0);
  CHECK(b.offer("e1", kAny) == 1);
  b.slow(0, "h1");
  b.slow(1, "h1");
  b.succeed(0);
  CHECK(b.set->wants_offers());
  // The original of 1 fails: it is pending again, and its copy waits until it runs.
  b.stop(1);
  CHECK(b.offer("e2", kAny) == 1);
  CHECK(b.offer("e2", kAny) == -1);  // tried there now
  CHECK(b.offer("e1", kAny) == -1);  // and there before
  CHECK(b.offer("e3", kAny) == 101);
}

// ---- which tasks are slow ----------------------------------------------------------------------

TEST_CASE("no copy begins before the share of the tasks that is asked for is done",
          "[speculation]") {
  DriverOptions o = speculating(GENERATE(0, 8));
  o.speculation.multiplier = 1;
  o.speculation.quantile = 0.5;
  Cluster c(o);
  c.executor("A");
  c.executor("B");
  const uint64_t t = c.job(rdd(4));
  c.advance(1s);
  c.succeed(c.task(0, 0, 0), "a");
  c.advance(10s);
  CHECK(c.seen<SpeculativeTaskSubmitted>().empty());
  c.succeed(c.task(0, 0, 1), "b");
  c.advance(10s);
  CHECK(c.seen<SpeculativeTaskSubmitted>().size() == 2);
  c.on(CancelJob{t, ""});
}

TEST_CASE("T44 the duration threshold serves small sets only", "[speculation]") {
  struct Case {
    std::optional<Duration> threshold;
    int32_t tasks;
    std::optional<int32_t> cores;  // as the settings say
    int32_t cpus;
    size_t copies;
  };
  const std::vector<Case> cases = {
      {60min, 1, 4, 1, 1},
      {60min, 2, 2, 1, 2},
      {60min, 2, 1, 1, 0},
      {60min, 1, 1, 1, 1},
      {60min, 2, 4, 2, 2},
      {60min, 2, 3, 2, 0},
      {60min, 1, std::nullopt, 2, 1},  // nobody says: room for one
      {60min, 2, std::nullopt, 2, 0},
      {std::nullopt, 2, 4, 1, 0},
  };
  for (const Case& k : cases)
    for (const int32_t ahead : {0, 8}) {
      CAPTURE(k.threshold.has_value(), k.tasks, k.cores.value_or(0), k.cpus, ahead);
      DriverOptions o = speculating(ahead);
      o.executor_timeout = 1000h;
      o.speculation.quantile = 1;
      o.speculation.interval = 1s;
      o.speculation.duration_threshold = k.threshold;
      o.profile.executor.cores = k.cores;
      o.task_cpus = k.cpus;
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

TEST_CASE("T44 how many tasks an executor takes is for the set's resource profile to say",
          "[speculation]") {
  using ForExecutor = ExecutorResourceRequests;
  using ForTask = TaskResourceRequests;
  DriverOptions o = speculating();
  o.speculation.duration_threshold = 60min;
  o.profile = ResourceProfileBuilder()
                  .require(ForExecutor().cores(2).resource("gpu", 4))
                  .require(ForTask().cpus(1))
                  .build();
  struct Case {
    ResourceProfile profile;
    bool two_fit;
  };
  const auto make = [](const ForExecutor& e, const ForTask& t) {
    return ResourceProfileBuilder().require(e).require(t).build();
  };
  const std::vector<Case> cases = {
      {o.profile, true},
      {make(ForExecutor().cores(1), ForTask()), false},
      {make(ForExecutor().cores(4), ForTask().cpus(2)), true},
      {make(ForExecutor().cores(8).resource("gpu", 1), ForTask().resource("gpu", 1)), false},
      // Those that ask nothing of executors run on those of the default profile.
      {make(ForExecutor(), ForTask().cpus(2)), false},
      {make(ForExecutor(), ForTask().resource("gpu", 2)), true},
      {make(ForExecutor(), ForTask().resource("gpu", 3)), false},
  };
  for (const Case& k : cases) {
    CAPTURE(&k - cases.data());
    ExecutorBed b(o);
    TaskSetSpec spec;
    spec.stage = StageId{0};
    spec.ids = {0, 1};
    spec.num_partitions = 2;
    if (k.profile != o.profile) spec.profile = b.executors.profiles().id_of(k.profile);
    const TaskSet set(std::move(spec), b.executors, b.options, 0, b.now);
    CHECK(set.speculation()->rule().has_value() == k.two_fit);
  }
}

namespace {
/// Two tasks: the first took a second, the other one goes on.
struct OneGoesOn : Race {
  explicit OneGoesOn(DriverOptions o) : Race(std::move(o)) {
    job(rdd(2));
    executor("B", 8);
    advance(1s);
    succeed(on("A", 0), "x");
  }
};
}  // namespace

TEST_CASE("T46 the threshold leaves the ordinary rule as it is", "[speculation]") {
  DriverOptions o = speculating(GENERATE(0, 8));
  o.speculation.quantile = 0.5;
  o.speculation.multiplier = 1.5;
  o.speculation.duration_threshold = 60min;
  OneGoesOn c(o);
  c.advance(500ms);
  CHECK(c.submitted().empty());
  c.advance(500ms);
  CHECK(c.submitted() == Ints{1});
}

TEST_CASE("T47 no task is slow below the least run time", "[speculation]") {
  DriverOptions o = eager(GENERATE(0, 8));
  o.speculation.min_runtime = 3s;
  OneGoesOn c(o);
  c.advance(1s);
  CHECK(c.submitted().empty());
  c.advance(2s);
  CHECK(c.submitted() == Ints{1});
}

TEST_CASE("T48 a single task needs a threshold", "[speculation]") {
  for (const Duration threshold : {Duration(0s), Duration(15s)}) {
    CAPTURE(threshold.count());
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
  ExecutorHeartbeat beat{ExecutorId{"A"}, 0, {}};
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
  OneGoesOn c(o);
  c.advance(600ms);
  CHECK(c.submitted() == Ints{1});
}

TEST_CASE("T38 a partition made elsewhere says nothing of how long tasks take", "[speculation]") {
  DriverOptions o = eager();
  o.speculation.quantile = 0.1;  // one success is enough
  TaskBed b(o);
  const int32_t e = b.add("exec1", "h1");
  b.add("exec2", "h2");
  b.submit(0, 10);
  const auto running = b.offer({{e, 8}});
  REQUIRE(running.size() == 8);
  b.turn([&](Turn& t) { b.tasks.output_completed(StageId{0}, 8, t); });
  REQUIRE(b.set(0).successes() == 1);
  b.now += 1h;
  const auto slow = [&] {
    b.events.clear();
    b.turn([&](Turn& t) { b.tasks.speculation_timer(t); });
    return b.seen<SpeculativeTaskSubmitted>().size();
  };
  CHECK(slow() == 0);
  b.succeed(running[0]);
  CHECK(slow() == 7);
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

TEST_CASE("rates of reading, where there is nothing to tell them from", "[speculation]") {
  ExecutorBed bed(test_options());
  SpeculationOptions s = efficient();
  s.decommission_kill_interval.reset();
  const Places places;
  Speculation speculation(s, places, bed.executors, 4, 1);
  const Speculation::Rule rule{10s, true};
  const TaskId task{7};
  CHECK_FALSE(speculation.slow(rule, task, 10s));
  CHECK(speculation.slow(rule, task, 11s));  // nobody has counted a record
  speculation.succeeded(5s, read(2000, 0s));
  CHECK(speculation.slow(rule, task, 11s));  // nor any time
  speculation.succeeded(5s, read(2000, 20s));
  speculation.succeeded(5s, std::nullopt);
  speculation.progressed(task, 0, 20);
  speculation.progressed(task, 20, 0);
  CHECK(speculation.slow(rule, task, 11s));  // it has no rate itself
  speculation.progressed(task, 1'000'000, 1);
  CHECK_FALSE(speculation.slow(rule, task, 11s));
  CHECK_FALSE(speculation.has_run_on(3, 0));
  CHECK_FALSE(speculation.outlives(bed.now, bed.now));
  s.decommission_kill_interval = 1s;
  Speculation leaving(s, places, bed.executors, 4, 1);
  CHECK_FALSE(leaving.outlives(bed.now, bed.now));  // nothing has ended yet
  leaving.succeeded(5s, std::nullopt);
  CHECK(leaving.outlives(bed.now, bed.now));
}
