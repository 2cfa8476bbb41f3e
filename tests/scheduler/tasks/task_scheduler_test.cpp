// Offers, launches, retries, launch-ahead. Ids are those of spec/11, sections S and T.
#include "tests/scheduler/scheduler_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

using Ints = std::vector<int32_t>;

/// A TaskScheduler with executors and a recorder in the DAG scheduler's place.
struct Bed : StageProgress {
  DriverOptions options;
  ProgramCodec codec = test_codec();
  Executors executors{options};
  TaskScheduler tasks{options, codec, executors, *this};
  Time now{1000s};
  DriverEffects out;
  uint64_t turns = 0;
  NodePtr root = rdd(1000);

  struct Ended {
    int32_t index;
    TaskEndReason reason;
    int32_t executor;
    bool zombie;
  };
  std::vector<Ended> ended;
  std::vector<std::string> failed;

  explicit Bed(DriverOptions o = test_options()) : options(std::move(o)) {}

  void task_ended(TaskEnd& end, Turn&) override {
    ended.push_back({end.index, end.reason, executors.slot(end.info.executor), end.set.zombie()});
  }
  void task_set_failed(const TaskSet&, const std::string& reason, Turn&) override {
    failed.push_back(reason);
  }
  /// What the turn launched: (stage, index) on executor.
  struct Launch {
    std::string executor;
    int32_t stage, attempt, index;
    TaskId id;
  };
  template <class F>
  std::vector<Launch> turn(F&& f) {
    out.clear();
    Turn t(now, ++turns, out);
    f(t);
    std::vector<Launch> v;
    for (const DriverEffect& e : out)
      if (const auto* s = std::get_if<Send<ToExecutor>>(&e))
        if (const auto* m = std::get_if<LaunchTasks>(&s->message))
          for (const TaskLaunch& l : m->tasks)
            v.push_back({name_of(s->to), m->stage.value, m->stage_attempt, l.index, l.id});
    return v;
  }
  std::string name_of(PeerId peer) const { return executors.at(executors.of_peer(peer)).id.value; }
  /// An executor that gives nothing of itself: offers are made by hand.
  int32_t add(const std::string& id, const std::string& host, int32_t cores = 0) {
    int32_t slot = -1;
    turn([&](Turn& t) {
      const PeerId peer = 100 + turns;
      executors.hello(peer, {Identity{"", options.app, 0, ""}, ExecutorId{id}, "b1", "c1"}, t);
      RegisterExecutor m;
      m.id = ExecutorId{id};
      m.host = host;
      m.cores = cores;
      slot = executors.register_executor(peer, m, t);
      executors.activate(slot);
      tasks.executor_ready(slot);
    });
    return slot;
  }
  void submit(int32_t stage, int32_t n, Locations preferred = {}, int32_t attempt = 0,
              bool map_tasks = false) {
    turn([&](Turn& t) {
      TaskSetSpec spec;
      spec.stage = StageId{stage};
      spec.attempt = attempt;
      spec.priority = JobId{stage};
      spec.map_tasks = map_tasks;
      spec.root = root;
      for (int32_t i = 0; i < n; ++i) spec.ids.push_back(i);
      spec.preferred = std::move(preferred);
      tasks.submit(std::move(spec), t);
    });
  }
  static constexpr bool kPartial = false, kFull = true;
  std::vector<Launch> offer(std::vector<TaskScheduler::Offer> offers, bool all = kFull) {
    return turn([&](Turn& t) { tasks.resource_offers(std::move(offers), all, false, t); });
  }
  int32_t slot(const std::string& id) { return executors.slot(ExecutorId{id}); }
  const TaskSet& set(int32_t stage, int32_t attempt = 0) {
    return *tasks.task_set(StageId{stage}, attempt);
  }
};

Locations everywhere(int32_t n, std::string place) {
  return Locations(static_cast<size_t>(n), {std::move(place)});
}

}  // namespace

// ---- offers ------------------------------------------------------------------------------------

TEST_CASE("S2 no executor is always asked first", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  c.executor("B", 1);
  std::map<std::string, int> used;
  for (int i = 0; i < 1000; ++i) {
    c.job(rdd(1));
    const Sent s = c.live()[0];
    ++used[s.executor];
    c.succeed(s, "x");
  }
  CHECK(used.size() == 2);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S3 a task takes spark.task.cpus cores", "[task_scheduler]") {
  DriverOptions o = test_options(0);
  o.task_cpus = 2;
  const auto launched = [&](int32_t a, int32_t b) {
    Cluster c(o);
    c.executor("A", a);
    c.executor("B", b);
    c.job(rdd(1));
    return c.live();
  };
  CHECK(launched(0, 0).empty());
  CHECK(launched(1, 1).empty());
  REQUIRE(launched(2, 1).size() == 1);
  CHECK(launched(2, 1)[0].executor == "A");
}

// Delay timer: 8 tasks that all want exec1 on h1; "far" is another executor of that host.
namespace {
struct Delay : Bed {
  int32_t exec1, far;
  Delay() {
    exec1 = add("exec1", "h1");
    far = add("exec2", "h1");
    submit(0, 8, everywhere(8, "executor_h1_exec1"));
  }
  std::vector<Launch> one(int32_t e, bool all) { return offer({{e, 1}}, all); }
};
}  // namespace

TEST_CASE("S4 a partial offer taken before any full one resets the timer", "[task_scheduler]") {
  Delay d;
  d.now += 3s;
  CHECK(d.one(d.exec1, Bed::kPartial).size() == 1);
  CHECK(d.one(d.far, Bed::kPartial).empty());
}

TEST_CASE("S5 a full offer that is taken wholly resets the timer", "[task_scheduler]") {
  Delay d;
  d.now += 3s;
  CHECK(d.one(d.exec1, Bed::kFull).size() == 1);
  CHECK(d.one(d.far, Bed::kPartial).empty());
}

TEST_CASE("S6 a set without preferences doesn't starve one with them", "[task_scheduler]") {
  Delay d;
  d.submit(1, 8);
  // Stage 0 goes first: the far executor is refused by it and taken by stage 1.
  CHECK(d.one(d.far, Bed::kPartial).at(0).stage == 1);
  d.now += 2s;
  CHECK(d.one(d.far, Bed::kPartial).at(0).stage == 1);
  CHECK(d.offer({{d.exec1, 0}}, Bed::kFull).empty());
  d.now += 2s;
  CHECK(d.one(d.far, Bed::kPartial).at(0).stage == 0);
}

TEST_CASE("S7 partial offers go on resetting after a full one without a reject",
          "[task_scheduler]") {
  Delay d;
  CHECK(d.offer({{d.exec1, 0}}, Bed::kFull).empty());
  d.now += 3s;
  CHECK(d.one(d.exec1, Bed::kPartial).size() == 1);
  d.now += 3s;
  CHECK(d.one(d.exec1, Bed::kPartial).size() == 1);
  CHECK(d.one(d.far, Bed::kPartial).empty());
}

TEST_CASE("S8 after a reject partial offers don't reset until a full one is taken",
          "[task_scheduler]") {
  Delay d;
  CHECK(d.one(d.far, Bed::kFull).empty());
  d.now += 3s;
  CHECK(d.one(d.exec1, Bed::kPartial).size() == 1);
  CHECK(d.one(d.far, Bed::kPartial).size() == 1);
  CHECK(d.one(d.exec1, Bed::kFull).size() == 1);
  CHECK(d.offer({{d.far, 1}, {d.exec1, 1}}, Bed::kPartial).size() == 1);
  d.now += 3s;
  CHECK(d.one(d.exec1, Bed::kPartial).size() == 1);
  CHECK(d.one(d.far, Bed::kPartial).size() == 1);
}

TEST_CASE("S10 a stage has one attempt that is not a zombie", "[task_scheduler]") {
  Bed b;
  const int32_t e = b.add("e", "h");
  b.submit(0, 1);
  b.offer({{e, 1}});
  b.submit(0, 1, {}, 1);
  CHECK(b.set(0, 0).zombie());
  b.offer({{e, 1}});
  b.submit(0, 1, {}, 2);
  CHECK(b.set(0, 1).zombie());
  CHECK_FALSE(b.set(0, 2).zombie());
}

TEST_CASE("S11 a zombie gets no slots, the new attempt does", "[task_scheduler]") {
  Bed b;
  const int32_t e = b.add("e", "h");
  b.submit(0, 10);
  CHECK(b.offer({{e, 1}}).size() == 1);
  b.submit(0, 10, {}, 1);
  const auto launched = b.offer({{e, 10}});
  CHECK(launched.size() == 10);
  for (const auto& l : launched) CHECK(l.attempt == 1);
}

TEST_CASE("S12 a zombie that finishes doesn't stop the new attempt", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 20);
  const ShufflePtr s = shuffle(rdd(1), 10);
  const uint64_t t = c.job(rdd(10, {s}));
  c.maps_ok(0);
  const std::vector<Sent> old = c.live(1, 0);
  c.fetch_failed(old[0], s->id, 0, "A");
  c.advance(200ms);
  c.maps_ok(0, 1);
  CHECK(c.live(1, 1).size() == 10);
  for (size_t i = 1; i < old.size(); ++i) c.fail(old[i], "zombie");
  CHECK(c.driver.tasks().task_set(StageId{1}, 0) == nullptr);
  CHECK(c.live(1, 1).size() == 10);
  c.results_ok(1, 1);
  CHECK(c.error(t).empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S25 a preferred executor that joins late is used as such", "[task_scheduler]") {
  Bed b;
  const int32_t e0 = b.add("executor0", "h0");
  b.submit(0, 2, {{"h0"}, {"executor_h1_executor2"}});
  auto launched = b.offer({{e0, 1}});
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].index == 0);
  const int32_t e2 = b.add("executor2", "h1");
  CHECK(b.set(0).levels().level[0] == Locality::Process);
  launched = b.offer({{e2, 1}});
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].index == 1);
  b.add("executor3", "h1");
  CHECK(b.executors.host_alive(b.executors.host("h1")));
}

TEST_CASE("S29 with wait 0 the local one of two offers is chosen", "[task_scheduler]") {
  DriverOptions o = test_options();
  o.locality_wait_process = o.locality_wait_node = o.locality_wait_rack = 0s;
  Bed b(o);
  const int32_t near = b.add("near", "h1"), far = b.add("far", "h2");
  b.submit(0, 1, {{"executor_h1_near"}});
  const bool near_first = GENERATE(true, false);
  const auto launched =
      b.offer(near_first ? std::vector<TaskScheduler::Offer>{{near, 1}, {far, 1}}
                         : std::vector<TaskScheduler::Offer>{{far, 1}, {near, 1}});
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].executor == "near");
}

TEST_CASE("S30 with wait 0 a single remote offer is taken at once", "[task_scheduler]") {
  DriverOptions o = test_options();
  o.locality_wait_process = o.locality_wait_node = o.locality_wait_rack = 0s;
  Bed b(o);
  b.add("near", "h1");
  const int32_t far = b.add("far", "h2");
  b.submit(0, 1, {{"executor_h1_near"}});
  CHECK(b.offer({{far, 1}}).size() == 1);
}

TEST_CASE("tasks without preference spread evenly, earlier jobs first", "[task_scheduler]") {
  Bed b;
  const int32_t x = b.add("x", "h1"), y = b.add("y", "h2"), z = b.add("z", "h3");
  b.submit(1, 3);
  b.submit(0, 3);
  std::map<std::string, int> per;
  for (const auto& l : b.offer({{x, 4}, {y, 4}, {z, 4}})) {
    ++per[l.executor + std::to_string(l.stage)];
  }
  CHECK(per == std::map<std::string, int>{
                   {"x0", 1}, {"y0", 1}, {"z0", 1}, {"x1", 1}, {"y1", 1}, {"z1", 1}});
  b.submit(3, 2);
  b.submit(2, 2);
  const auto order = b.offer({{x, 3}});
  REQUIRE(order.size() == 3);
  CHECK(order[0].stage == 2);
  CHECK(order[1].stage == 2);
  CHECK(order[2].stage == 3);
}

// ---- loss --------------------------------------------------------------------------------------

TEST_CASE("S13 while the reason of a loss is pending nothing is rescheduled", "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.cluster_manager = true;
  Cluster c(o);
  c.executor("A", 1);
  c.executor("B", 1);
  c.job(rdd(1));
  const Sent s = c.live()[0];
  const std::string other = s.executor == "A" ? "B" : "A";
  c.on(PeerLost{c.peers.at(s.executor)});
  c.advance(4s);
  CHECK(c.live().size() == 1);
  CHECK(c.seen<ExecutorRemoved>().empty());
  c.lose(s.executor, 1);
  REQUIRE(c.live().size() == 1);
  CHECK(c.live()[0].executor == other);
  CHECK(c.live()[0].number == 1);
  CHECK(c.seen<ExecutorRemoved>().size() == 1);
  c.advance(5s);
  CHECK(c.seen<ExecutorRemoved>().size() == 1);
  c.succeed(c.live()[0], "x");
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S27 S28 a lost executor leaves nothing behind", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 2);
  const uint64_t t = c.job(rdd(20));
  CHECK(c.live().size() == (c.launch_ahead == 0 ? 2u : 10u));
  c.lose("A");
  CHECK(c.driver.executors().active().empty());
  CHECK(c.driver.executors().at(0).running == 0);
  CHECK(c.driver.executors().at(0).ahead == 0);
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->running() == 0);
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->pending() == 20);
  c.on(CancelJob{t, ""});
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T12 S43 only a task known to run is blamed for its executor's end", "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.max_task_failures = 1;
  struct Case {
    bool reported_running;
    std::optional<int32_t> code;
    const char* worker_host;
    bool job_fails;
  };
  const std::vector<Case> cases = {
      {false, 1, "", false},  // LAUNCHING
      {true, 1, "", true},    // RUNNING, and the process ended by itself
      {true, 0, "", true},
      {true, 137, "", true},
      {true, 53, "", false},              // disk
      {true, 56, "", false},              // heartbeats
      {true, std::nullopt, "", true},     // nobody knows
      {true, std::nullopt, "hA", false},  // the worker is gone
  };
  for (const Case& k : cases) {
    Cluster c(o);
    c.executor("A", 1);
    const uint64_t t = c.job(rdd(1));
    const Sent s = c.live()[0];
    if (k.reported_running) c.running(s);
    c.lose("A", k.code, k.worker_host);
    CHECK(c.ended(t) == k.job_fails);
    const TaskEnded end = c.seen<TaskEnded>().at(0);
    CHECK(end.reason.kind == TaskEndKind::ExecutorLostFailure);
    CHECK(end.reason.exit_caused_by_app == k.job_fails);
    if (k.job_fails)
      CHECK(c.error(t).find("ExecutorLostFailure (executor A exited caused by one of the running "
                            "tasks) Reason: ") != std::string::npos);
    if (!k.job_fails) c.on(CancelJob{t, ""});
    CHECK(c.driver.idle_state_is_clean());
  }
}

TEST_CASE("S34 cancelling kills what runs and launches no more", "[task_scheduler]") {
  Bed b;
  const int32_t e = b.add("e", "h");
  b.submit(0, 10);
  const auto launched = b.offer({{e, 2}});
  b.turn([&](Turn& t) { b.tasks.cancel(StageId{0}, "test message", false, t); });
  std::vector<std::string> reasons;
  for (const DriverEffect& x : b.out)
    if (const auto* s = std::get_if<Send<ToExecutor>>(&x))
      if (const auto* k = std::get_if<KillTask>(&s->message)) reasons.push_back(k->reason);
  CHECK(reasons == std::vector<std::string>(2, "Stage cancelled: test message"));
  CHECK(b.set(0).zombie());
  CHECK(b.offer({{e, 8}}).empty());
  for (const auto& l : launched)
    b.turn([&](Turn& t) {
      TaskUpdate u;
      u.id = l.id;
      u.state = TaskState::Killed;
      b.tasks.status(e, {{u}}, t);
      b.tasks.settle(t);
    });
  CHECK(b.tasks.idle());
  CHECK(b.ended.size() == 2);
}

TEST_CASE("S35 killing attempts leaves the set alive", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 10);
  const uint64_t t = c.job(rdd(10));
  const Sent s = c.live()[3];
  c.on(KillTaskAttempt{s.id, true, "killed via SparkContext.killTaskAttempt"});
  REQUIRE(c.messages<KillTask>().size() == 1);
  CHECK(c.messages<KillTask>()[0] ==
        KillTask{s.id, true, "killed via SparkContext.killTaskAttempt"});
  CHECK_FALSE(c.driver.tasks().task_set(StageId{0}, 0)->zombie());
  for (int i = 0; i < 10; ++i) {  // killed as often as it likes: that is no failure
    TaskEndReason r;
    r.kind = TaskEndKind::TaskKilled;
    c.fail(c.task(0, 0, s.partition), r, TaskState::Killed);
  }
  CHECK_FALSE(c.ended(t));
  CHECK(c.task(0, 0, s.partition).number == 10);
  c.on(KillTaskAttempt{TaskId{9999}, true, "x"});
  CHECK(c.messages<KillTask>().empty());
  c.results_ok(0);
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

// ---- results -----------------------------------------------------------------------------------

namespace {
TaskUpdate indirect(const Sent& s, int64_t size) {
  TaskUpdate u;
  u.id = s.id;
  u.state = TaskState::Finished;
  u.result_block = "taskresult_" + std::to_string(s.id.value);
  u.result_size = size;
  return u;
}
}  // namespace

TEST_CASE("an indirect result is fetched, then removed from its executor", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(2));
  const Sent first = c.task(0, 0, 0);
  c.update(first, indirect(first, 5));
  REQUIRE(c.effects<FetchResult>().size() == 1);
  CHECK(c.effects<FetchResult>()[0].block == "taskresult_0");
  CHECK(c.effects<FetchResult>()[0].from == c.place("A"));
  CHECK(c.seen<TaskGettingResult>().size() == 1);
  CHECK(c.task(0, 0, 1).executor == "A");  // the slot is free meanwhile
  c.on(ResultFetched{first.id, Payload(Bytes("12345"))});
  REQUIRE(c.messages<RemoveBlocks>().size() == 1);
  CHECK(c.messages<RemoveBlocks>()[0].blocks == std::vector<std::string>{"taskresult_0"});
  CHECK(c.results[t].at(0) == "12345");
  c.results_ok(0);
  CHECK(c.ended(t));
  CHECK(c.driver.executors().at(0).running == 0);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T8 T9 a result that is lost is a failure, the fourth aborts", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  for (int i = 0; i < 4; ++i) {
    CHECK_FALSE(c.ended(t));
    const Sent s = c.task(0, 0, 0);
    CHECK(s.number == i);
    c.update(s, indirect(s, 5));
    c.on(ResultFetched{s.id, Error{"no such block"}});
    CHECK(c.seen<TaskEnded>().back().reason.kind == TaskEndKind::TaskResultLost);
  }
  REQUIRE(c.ended(t));
  CHECK(c.error(t).find("failed 4 times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) "
                        "(hA executor A): "
                        "TaskResultLost (result lost from block manager)") != std::string::npos);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S42 a result that arrives after its executor is lost is ignored", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  const Sent s = c.task(0, 0, 0);
  c.update(s, indirect(s, 5));
  c.lose("A");
  c.on(ResultFetched{s.id, Payload(Bytes("late"))});
  CHECK(c.results[t].empty());
  CHECK(c.driver.tasks().task_set(StageId{0}, 0)->successes() == 0);
  c.executor("B", 1);
  c.succeed(c.task(0, 0, 0), "42");
  CHECK(c.results[t].at(0) == "42");
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T19 T20 results over spark.driver.maxResultSize abort; map outputs don't count",
          "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.max_result_size = 2 << 20;
  const std::string kib(1024, 'x'), mib(1 << 20, 'x');
  const auto run = [&](int tasks, bool is_indirect, const std::string& value) {
    Cluster c(o);
    c.executor("A", 16);
    const uint64_t t = c.job(rdd(tasks));
    while (!c.live().empty()) {
      const Sent s = c.live()[0];
      if (is_indirect && !c.ended(t))
        c.update(s, indirect(s, 10 << 20));
      else
        c.succeed(s, value);
    }
    REQUIRE(c.ended(t));
    CHECK(c.driver.idle_state_is_clean());
    return c.error(t);
  };
  CHECK(run(10, false, kib).empty());
  CHECK(run(10, false, mib) ==
        "Job aborted due to stage failure: Total size of serialized results of 3 tasks (3.0 MiB) "
        "is bigger "
        "than spark.driver.maxResultSize (2.0 MiB)");
  CHECK(run(1, true, "") ==
        "Job aborted due to stage failure: Total size of serialized results of 1 tasks (10.0 MiB) "
        "is bigger "
        "than spark.driver.maxResultSize (2.0 MiB)");
}

TEST_CASE("T32 the set is a zombie when its last end is told", "[task_scheduler]") {
  Bed b;
  const int32_t e = b.add("e", "h");
  b.submit(0, 1);
  const auto launched = b.offer({{e, 1}});
  b.turn([&](Turn& t) {
    TaskUpdate u;
    u.id = launched.at(0).id;
    u.state = TaskState::Finished;
    b.tasks.status(e, {{u}}, t);
    b.tasks.settle(t);
  });
  REQUIRE(b.ended.size() == 1);
  CHECK(b.ended[0].zombie);
  CHECK(b.tasks.idle());
}

TEST_CASE("T53 an output file that exists aborts at the first failure", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  TaskEndReason r;
  r.kind = TaskEndKind::ExceptionFailure;
  r.class_name = "FileAlreadyExistsException";
  r.description = "/out/part-00000";
  c.fail(c.live()[0], r);
  REQUIRE(c.ended(t));
  CHECK(c.error(t) ==
        "Job aborted due to stage failure: Task 0 in stage 0.0 can not write to output file: "
        "/out/part-00000; not retrying");
  CHECK(c.seen<TaskEnded>().size() == 1);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("T17 a large task is worth one warning", "[task_scheduler]") {
  const bool large = GENERATE(true, false);
  Cluster c(test_options());
  c.executor("A", 4);
  const auto root = rdd(3);
  root->source_data.assign(3, Bytes(large ? 1000 * 1024 + 1 : 1000, 'x'));
  const uint64_t t = c.job(root);
  int warned = 0;
  for (const std::string& w : c.warnings())
    warned += w ==
              "Stage 0 contains a task of very large size (1000 KiB). The maximum recommended task "
              "size is 1000 KiB.";
  CHECK(warned == (large ? 1 : 0));
  c.results_ok(0);
  CHECK(c.ended(t));
}

TEST_CASE("S9 T18 a task that can't be encoded aborts its set, others get the slot",
          "[task_scheduler]") {
  ProgramCodec codec = test_codec();
  codec.inputs = [](const Node& root, int32_t) -> Bytes {
    if (root.name == "bad") throw std::runtime_error("no");
    return "good";
  };
  Cluster c(test_options(GENERATE(0, 8)), codec);
  c.executor("A", 1);
  const auto busy = rdd(1), bad = rdd(1), good = rdd(1);
  bad->name = "bad";
  for (const auto& r : {bad, good}) r->source_data.assign(1, "x");
  c.job(busy);
  const Sent first = c.live()[0];
  const uint64_t tb = c.job(bad), tg = c.job(good);
  c.succeed(first, "x");
  REQUIRE(c.ended(tb));
  CHECK(c.error(tb).starts_with("Job aborted due to stage failure: Failed to serialize task "));
  CHECK(c.error(tb).ends_with(", not attempting to retry it. Exception during serialization: no"));
  REQUIRE(c.live().size() == 1);
  c.succeed(c.live()[0], "y");
  CHECK(c.error(tg).empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a task over the message limit aborts its set", "[task_scheduler]") {
  DriverOptions o = test_options();
  o.max_message_size = 100;
  Cluster c(o);
  c.executor("A", 1);
  const auto root = rdd(1);
  root->source_data.assign(1, Bytes(101, 'x'));
  const uint64_t t = c.job(root);
  REQUIRE(c.ended(t));
  CHECK(
      c.error(t).starts_with("Job aborted due to stage failure: Serialized task 0:0 was 101 bytes, "
                             "which exceeds max allowed: spark.rpc.message.maxSize (100 bytes). "));
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("S45 the starvation warning repeats until something runs", "[task_scheduler]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  Cluster c(o);
  c.on(BackendStatus{"no worker has 4096 MiB free"});
  c.job(rdd(1));
  c.advance(31s);
  CHECK(c.warnings().size() == 2);
  CHECK(c.warnings()[0] ==
        "Initial job has not accepted any resources; check your cluster UI to ensure that workers "
        "are registered and have sufficient resources: no worker has 4096 MiB free");
  c.executor("A", 1);
  c.advance(60s);
  CHECK(c.warnings().size() == 2);
}

// ---- messages ----------------------------------------------------------------------------------

TEST_CASE("one program an executor and stage attempt, one launch message a turn",
          "[task_scheduler]") {
  Cluster c(test_options(8));
  c.executor("A", 4);
  const uint64_t t = c.job(rdd(100),
                           [] {
                             std::vector<int32_t> p;
                             for (int i = 0; i < 100; ++i) p.push_back(i);
                             return p;
                           }(),
                           {{"k", "v"}});
  REQUIRE(c.messages<StageProgram>().size() == 1);
  CHECK(c.messages<StageProgram>()[0].properties.at("k") == "v");
  REQUIRE(c.messages<LaunchTasks>().size() == 1);
  CHECK(c.messages<LaunchTasks>()[0].tasks.size() == 12);
  CHECK(c.messages<LaunchTasks>()[0].num_partitions == 100);
  const int64_t program = c.messages<LaunchTasks>()[0].program;
  StatusUpdates many;
  for (const Sent& s : c.live()) many.tasks.push_back(c.result(s, "x"));
  for (Sent& s : c.sent) s.ended = true;
  c.from("A", many);
  CHECK(c.messages<StageProgram>().empty());
  REQUIRE(c.messages<LaunchTasks>().size() == 1);
  CHECK(c.messages<LaunchTasks>()[0].tasks.size() == 12);
  while (!c.live().empty()) c.succeed(c.live()[0], "x");
  CHECK(c.results[t].size() == 100);
  REQUIRE(c.messages<ForgetProgram>("A").size() == 1);
  CHECK(c.messages<ForgetProgram>("A")[0].program == program);
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("updates about tasks of other executors or of none are ignored", "[task_scheduler]") {
  Cluster c(test_options(GENERATE(0, 8)));
  c.executor("A", 1);
  c.executor("B", 1);
  const uint64_t t = c.job(rdd(1));
  const Sent s = c.live()[0];
  const std::string other = s.executor == "A" ? "B" : "A";
  TaskUpdate u = c.result(s, "forged");
  c.from(other, StatusUpdates{{u}});
  u.id = TaskId{77};
  c.from(s.executor, StatusUpdates{{u}});
  u.id = TaskId{-5};
  c.from(s.executor, StatusUpdates{{u}});
  CHECK_FALSE(c.ended(t));
  c.succeed(s, "42");
  c.from(s.executor, StatusUpdates{{c.result(s, "twice")}});
  CHECK(c.results[t].at(0) == "42");
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a map task that says nothing of its output has failed", "[task_scheduler]") {
  Cluster c(test_options());
  c.executor("A", 1);
  c.job(rdd(1, {shuffle(rdd(1), 1)}));
  c.succeed(c.live()[0], "no status");
  REQUIRE(c.live().size() == 1);
  CHECK(c.live()[0].number == 1);
}
