// FIFO and FAIR order of task sets. Ids are those of spec/11, section P.
#include "tests/core/scheduler/tasks/task_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;
using conf::PoolSpec;
using conf::SchedulingMode;

namespace {

using Ints = std::vector<int32_t>;
constexpr auto kFifo = SchedulingMode::kFifo, kFair = SchedulingMode::kFair;

DriverOptions fair_options(std::vector<PoolSpec> pools, int32_t launch_ahead = 0) {
  DriverOptions o = test_options(launch_ahead);
  o.scheduling_mode = kFair;
  o.pools = std::move(pools);
  return o;
}
std::map<std::string, std::string> in_pool(const std::string& name) {
  return {{"spark.scheduler.pool", name}};
}

/// One executor; slots are offered by hand.
struct PoolBed : TaskBed {
  using TaskBed::TaskBed;
  int32_t exec = add("e", "h");

  void submit(int32_t job, int32_t stage, int32_t n, PropertiesPtr properties = nullptr,
              Locations preferred = {}) {
    TaskSetSpec s = spec(stage, n, std::move(preferred));
    s.priority = JobId{job};
    s.properties = std::move(properties);
    TaskBed::submit(std::move(s));
  }
  void submit_to(const std::string& pool, int32_t stage, int32_t n) {
    submit(stage, stage, n,
           std::make_shared<const std::map<std::string, std::string>>(in_pool(pool)));
  }
  /// The stages of the tasks that so many slots got.
  Ints offer(int32_t slots) {
    Ints stages;
    for (const Launch& l : TaskBed::offer({{exec, slots}}, kPartial)) stages.push_back(l.stage);
    return stages;
  }
  Ints one_by_one(int32_t slots) {
    Ints stages;
    for (int32_t i = 0; i < slots; ++i)
      for (const int32_t stage : offer(1)) stages.push_back(stage);
    return stages;
  }
  std::vector<std::string> warnings() const { return logged(Level::Warn); }
  const PoolSpec& pool_of(int32_t stage) const {
    return tasks.pools().spec(tasks.task_set(StageId{stage}, 0)->place.pool);
  }
};

}  // namespace

TEST_CASE("P1 FIFO goes by job, then by stage", "[pools]") {
  PoolBed bed(test_options());
  bed.submit(0, 0, 2);
  bed.submit(0, 1, 2);
  bed.submit(0, 2, 2);
  CHECK(bed.one_by_one(6) == Ints{0, 0, 1, 1, 2, 2});
  bed.submit(5, 10, 1);
  bed.submit(4, 11, 1);
  CHECK(bed.one_by_one(2) == Ints{11, 10});
}

TEST_CASE("P2 FAIR pools by minimum share, then by weight, FIFO inside", "[pools]") {
  PoolBed bed(fair_options({{"default"}, {"1", kFifo, 2}, {"2", kFifo, 3}, {"3"}}));
  bed.submit_to("1", 0, 1);
  bed.submit_to("1", 1, 1);
  bed.submit_to("1", 2, 2);
  bed.submit_to("2", 3, 2);
  bed.submit_to("2", 4, 2);
  CHECK(bed.one_by_one(8) == Ints{0, 3, 3, 1, 4, 2, 2, 4});
  CHECK(bed.one_by_one(1).empty());
}

TEST_CASE("P2 one offer of many slots is shared as so many offers of one", "[pools]") {
  PoolBed bed(fair_options({{"default"}, {"1", kFifo, 2}, {"2", kFifo, 3}, {"3"}}));
  bed.submit_to("1", 0, 20);
  bed.submit_to("2", 1, 20);
  const Ints stages = bed.offer(11);
  CHECK(std::count(stages.begin(), stages.end(), 0) == 6);
  CHECK(std::count(stages.begin(), stages.end(), 1) == 5);
}

TEST_CASE("P3 nested FAIR pools compare at each level", "[pools]") {
  const DriverOptions options = fair_options({});
  Executors executors{options};
  Pools pools(options);
  const int32_t p0 = pools.add({"0", kFair, 3, 1}), p1 = pools.add({"1", kFair, 4, 1});
  const Ints leaves = {pools.add({"00", kFair, 2, 2}, p0), pools.add({"01", kFair, 1, 1}, p0),
                       pools.add({"10", kFair, 2, 2}, p1), pools.add({"11", kFair, 2, 1}, p1)};
  std::vector<std::unique_ptr<TaskSet>> queue;
  for (int32_t stage = 0; stage < 8; ++stage) {
    TaskSetSpec spec;
    spec.stage = StageId{stage};
    spec.priority = JobId{0};
    spec.ids = {0, 1, 2, 3, 4};
    queue.push_back(std::make_unique<TaskSet>(std::move(spec), executors, options, stage, Time{}));
    queue.back()->place.pool = leaves[static_cast<size_t>(stage / 2)];
  }
  Ints first;
  for (int i = 0; i < 4; ++i) {
    pools.refresh(queue);
    TaskSet* set = pools.first();
    first.push_back(set->spec().stage.value);
    set->start(set->attempts(0) ? 1 : 0);
  }
  CHECK(first == Ints{0, 4, 6, 2});
  CHECK(pools.contested());
}

TEST_CASE("fair order: needy first, then by ratio", "[pools]") {
  struct Case {
    const char* name;
    FairShare a, b;
    std::weak_ordering want;
  };
  const auto less = std::weak_ordering::less, equal = std::weak_ordering::equivalent;
  const std::vector<Case> cases = {
      {"nothing runs", {0, 0, 1}, {0, 0, 9}, equal},
      {"below its share before above", {1, 2, 1}, {0, 0, 9}, less},
      {"the smaller part of the share", {1, 4, 1}, {1, 2, 9}, less},
      {"at its share is not needy", {0, 0, 1}, {2, 2, 1}, less},
      {"by weight", {3, 0, 2}, {2, 0, 1}, less},
      {"equal by weight", {4, 0, 2}, {2, 0, 1}, equal},
      {"a share above what runs, of weight 0", {0, 1, 0}, {0, 0, 1}, less},
      {"no weight comes last", {5, 0, 1}, {0, 0, 0}, less},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(fair_order(c.a, c.b) == c.want);
    CHECK(fair_order(c.b, c.a) == (0 <=> c.want));
  }
}

TEST_CASE("P5 FIFO has no pools, whatever the jobs say", "[pools]") {
  PoolBed bed(test_options());
  bed.submit_to("b", 0, 2);
  bed.submit_to("a", 1, 2);
  CHECK(bed.tasks.pools().count() == 1);
  CHECK(bed.tasks.task_set(StageId{1}, 0)->place.pool == Pools::kRoot);
  CHECK(bed.one_by_one(4) == Ints{0, 0, 1, 1});
}

TEST_CASE("P6 P10 a job that names no pool is in the default pool", "[pools]") {
  PoolBed bed(fair_options({}));
  bed.submit(0, 0, 1);  // no properties at all
  bed.submit(1, 1, 1, std::make_shared<const std::map<std::string, std::string>>());
  CHECK(bed.pool_of(0) == PoolSpec{"default"});
  CHECK(bed.pool_of(1) == PoolSpec{"default"});
  CHECK(bed.warnings().empty());
}

TEST_CASE("P7 a pool that nobody configured is made with the defaults, once", "[pools]") {
  PoolBed bed(fair_options({{"known", kFair, 2, 3}}));
  bed.submit_to("known", 0, 1);
  CHECK(bed.pool_of(0) == PoolSpec{"known", kFair, 2, 3});
  CHECK(bed.warnings().empty());
  bed.submit_to("new", 1, 1);
  CHECK(bed.pool_of(1) == PoolSpec{"new", kFifo, 0, 1});
  REQUIRE(bed.warnings().size() == 1);
  CHECK(bed.warnings()[0].starts_with(
      "A job was submitted with scheduler pool new, which has not been configured."));
  CHECK(bed.warnings()[0].ends_with(
      "Created new with default configuration (schedulingMode: FIFO, minShare: 0, weight: 1)"));
  bed.submit_to("new", 2, 1);
  CHECK(bed.warnings().empty());
  CHECK(bed.pool_of(2).name == "new");
}

TEST_CASE("in a FAIR pool task sets share alike, by name when they are equal", "[pools]") {
  PoolBed bed(fair_options({{"default", kFair}}));
  for (const int32_t stage : {2, 3, 10}) bed.submit(stage, stage, 4);
  // "TaskSet_10.0" < "TaskSet_2.0"
  CHECK(bed.one_by_one(6) == Ints{10, 2, 3, 10, 2, 3});
}

TEST_CASE("a pool whose tasks wait for a better place leaves its turn to others", "[pools]") {
  PoolBed bed(fair_options({{"a"}, {"b"}}));
  bed.submit(0, 0, 2, std::make_shared<const std::map<std::string, std::string>>(in_pool("a")),
             {{"executor_far_x"}, {"h", "executor_h_e"}});
  bed.submit_to("b", 1, 4);
  CHECK(bed.offer(4).size() == 4);
  CHECK(bed.tasks.task_set(StageId{0}, 0)->copies_running(1) == 1);
  CHECK(bed.tasks.task_set(StageId{1}, 0)->running() == 3);
}

// ---- through the Driver machine ----------------------------------------------------------------

namespace {

/// Tasks of each stage that listeners see running.
std::map<int32_t, int32_t> running(const Cluster& c) {
  std::map<int32_t, int32_t> n;
  for (const TaskStarted& e : c.seen<TaskStarted>()) ++n[e.task.stage.value];
  for (const TaskEnded& e : c.seen<TaskEnded>()) --n[e.task.stage.value];
  return n;
}
Ints all(int32_t n) {
  Ints v;
  for (int32_t i = 0; i < n; ++i) v.push_back(i);
  return v;
}
void finish(Cluster& c, const std::vector<uint64_t>& jobs) {
  c.drain();
  for (const uint64_t job : jobs) CHECK(c.error(job).empty());
  CHECK(c.driver.idle_state_is_clean());
}
/// An attempt of `stage` that has a slot.
Sent one_running(const Cluster& c, int32_t stage, uint32_t which = 0) {
  std::vector<Sent> v;
  for (const TaskStarted& e : c.seen<TaskStarted>())
    if (const Sent s = c.by_id(e.task.id); !s.ended && s.stage.value == stage) v.push_back(s);
  REQUIRE_FALSE(v.empty());
  return v[which % v.size()];
}

}  // namespace

TEST_CASE("two FAIR pools of weights 1 and 2 hold slots 1 : 2", "[pools]") {
  Cluster c(fair_options({{"a", kFifo, 0, 1}, {"b", kFifo, 0, 2}}, GENERATE(0, 8)));
  c.executor("A", 3);
  c.executor("B", 3);
  const uint64_t a = c.job(rdd(60), all(60), in_pool("a"));
  CHECK(running(c) == std::map<int32_t, int32_t>{{0, 6}});
  const uint64_t b = c.job(rdd(60), all(60), in_pool("b"));
  CHECK(c.live(1).empty());
  c.answer_revocations();
  // What the first pool gives up goes to the second, until both have their share.
  for (int32_t given = 1; given <= 4; ++given) {
    c.succeed(one_running(c, 0), "x");
    CHECK(running(c) == std::map<int32_t, int32_t>{{0, 6 - given}, {1, given}});
  }
  // From then on each end is replaced by a task of the same pool, however often which one ends.
  for (uint32_t i = 0; i < 40; ++i) {
    c.succeed(one_running(c, i % 4 == 0 ? 0 : 1, i), "x");
    CHECK(running(c) == std::map<int32_t, int32_t>{{0, 2}, {1, 4}});
  }
  CHECK_FALSE(c.driver.tasks().pools().empty());
  finish(c, {a, b});
  CHECK(c.driver.tasks().pools().empty());
}

TEST_CASE("a pool gets its minimum share before others get more", "[pools]") {
  Cluster c(fair_options({{"a"}, {"z", kFifo, 3}}, GENERATE(0, 8)));
  c.executor("A", 6);
  const uint64_t a = c.job(rdd(40), all(40), in_pool("a"));
  const uint64_t z = c.job(rdd(40), all(40), in_pool("z"));
  c.answer_revocations();
  for (int i = 0; i < 3; ++i) c.succeed(one_running(c, 0), "x");
  CHECK(running(c) == std::map<int32_t, int32_t>{{0, 3}, {1, 3}});
  for (uint32_t i = 0; i < 20; ++i) {
    c.succeed(one_running(c, static_cast<int32_t>(i % 2), i), "x");
    CHECK(running(c) == std::map<int32_t, int32_t>{{0, 3}, {1, 3}});
  }
  finish(c, {a, z});
}

TEST_CASE("slots that come at once are shared too", "[pools]") {
  Cluster c(fair_options({{"a", kFifo, 0, 1}, {"b", kFifo, 0, 2}}, GENERATE(0, 8)));
  const uint64_t a = c.job(rdd(1000), all(1000), in_pool("a"));
  const uint64_t b = c.job(rdd(1000), all(1000), in_pool("b"));
  const int32_t cores = GENERATE(12, 600);
  c.executor("A", cores);
  // A round of many slots is given out in portions of a 64th.
  const int32_t portion = cores < 64 ? 0 : 1 + cores / 64;
  CHECK(std::abs(running(c)[0] - cores / 3) <= portion);
  CHECK(running(c)[0] + running(c)[1] == cores);
  finish(c, {a, b});
}

TEST_CASE("in FAIR mode tasks are sent ahead while one pool has work, and taken back for another",
          "[pools]") {
  Cluster c(fair_options({{"a"}, {"b"}}, 8));
  c.executor("A", 2);
  c.executor("B", 2);
  const uint64_t first = c.job(rdd(40), all(40), in_pool("a"));
  CHECK(c.live(0).size() == 4 + 16);
  const uint64_t same = c.job(rdd(1), {0}, in_pool("a"));  // the pool is FIFO: it waits
  CHECK(c.revocations.empty());
  const uint64_t other = c.job(rdd(3), {0, 1, 2}, in_pool("b"));
  CHECK(c.revocations.size() == 2);
  c.answer_revocations();
  CHECK(c.live(0).size() == 4);
  CHECK(c.live(2).empty());
  c.succeed(one_running(c, 0), "x");
  CHECK(c.live(2).size() == 1);
  c.succeed(one_running(c, 0), "x");
  CHECK(c.live(2).size() == 2);
  // One task of the other pool is left without a slot; then none, and sending ahead goes on.
  c.succeed(one_running(c, 2), "x");
  CHECK(running(c)[2] == 2);
  CHECK(c.live(0).size() > 2);
  finish(c, {first, same, other});
}
