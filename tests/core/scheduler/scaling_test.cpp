// Executors that come and go by will, through the Driver machine: dynamic allocation and
// decommissioning.
#include "core/status/exit_reasons.hpp"
#include "tests/core/scheduler/dag/dag_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;
using Catch::Matchers::Contains;

namespace {

/// Of an executor that the driver has heard of.
int32_t slot_of(const Executors& executors, const std::string& id) {
  int32_t slot = 0;
  while (executors.at(slot).id.value != id) ++slot;
  return slot;
}

DriverOptions scaled(int32_t ahead, int32_t min, int32_t max, int32_t initial) {
  DriverOptions o = test_options(ahead);
  o.cluster_manager = true;
  o.executor_timeout = 24h;  // these executors send no heartbeats
  AllocationOptions& a = o.allocation.emplace();
  a.min_executors = min;
  a.max_executors = max;
  a.initial_executors = initial;
  a.backlog_timeout = a.sustained_timeout = 1s;
  a.idle_timeout = 60s;
  a.cached_idle_timeout = kNever;
  a.tasks_per_executor = 1;
  a.shuffle_tracking = true;
  return o;
}

/// What the cluster manager was asked for while time passed.
struct Asked {
  std::vector<int32_t> totals;
  std::vector<std::string> killed;
};
void gather(Cluster& c, Asked& asked) {
  for (const RequestTotalExecutors& e : c.effects<RequestTotalExecutors>())
    asked.totals.push_back(e.totals.at(0));
  for (const KillBackendExecutor& e : c.effects<KillBackendExecutor>())
    asked.killed.push_back(e.executor.value);
}
Asked pass(Cluster& c, Duration d) {
  Asked asked;
  for (Duration gone{0}; gone < d; gone += 100ms) {
    c.last.clear();
    c.advance(100ms);
    gather(c, asked);
  }
  return asked;
}

std::string reason_of_removal(const Cluster& c) {
  const std::vector<ExecutorRemoved> all = c.seen<ExecutorRemoved>();
  REQUIRE_FALSE(all.empty());
  return all.back().reason;
}

}  // namespace

TEST_CASE("without dynamic allocation nothing is asked and no timer runs", "[scaling]") {
  Cluster c(test_options());
  c.on(StartDriver{});
  // Listeners are told of the default resource profile, and that is all.
  REQUIRE(c.last.size() == 1);
  const std::vector<Publish> told = c.effects<Publish>();
  REQUIRE(told.size() == 1);
  REQUIRE(told[0].events.size() == 1);
  CHECK(std::holds_alternative<ResourceProfileAdded>(told[0].events[0]));
  CHECK(c.timers.empty());
  CHECK(c.driver.allocation() == nullptr);
}

TEST_CASE("an application starts with its first executors, grows and shrinks", "[scaling]") {
  Cluster c(scaled(GENERATE(0, 8), 1, 4, 2));
  c.on(StartDriver{});
  Asked first;
  gather(c, first);
  CHECK(first.totals == std::vector<int32_t>{2});
  c.executor("1", 1);
  c.executor("2", 1);
  const uint64_t t = c.job(rdd(40));
  CHECK(pass(c, 900ms).totals.empty());
  CHECK(pass(c, 200ms).totals == std::vector<int32_t>{3});
  CHECK(pass(c, 1s).totals == std::vector<int32_t>{4});
  c.executor("3", 1);
  c.executor("4", 1);
  while (!c.ended(t)) {
    c.results_ok(0);
    c.answer_revocations();
  }
  const Asked down = pass(c, 59s);
  CHECK(down.totals == std::vector<int32_t>{1});
  CHECK(down.killed.empty());
  const Asked gone = pass(c, 2s);
  CHECK(gone.killed == std::vector<std::string>{"1", "2", "3"});
  CHECK(c.driver.executors().active().size() == 1);
  for (const char* e : {"1", "2", "3"})
    c.from(e, ExecutorExiting{ExecutorId{e}, 143, "received signal 15"});
  CHECK(reason_of_removal(c) == "Executor killed by driver.");
  CHECK(c.driver.allocation()->monitor().removals().killed_by_driver == 3);
  CHECK(pass(c, 100s).killed.empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a manager that places executors is told where tasks that wait have their data",
          "[scaling]") {
  const bool asked = GENERATE(false, true);
  DriverOptions o = scaled(0, 0, 10, 1);
  o.tells_local_tasks = asked;
  Cluster c(o);
  c.on(StartDriver{});
  c.executor("1", 1);
  c.job(rdd(5, {}, {{"h1"}, {"h2", "h1"}, {"h2"}, {}, {"h2"}}));
  std::map<std::string, int32_t> told;
  for (Duration gone{0}; gone < 1200ms; gone += 100ms) {
    c.last.clear();
    c.advance(100ms);
    for (const RequestTotalExecutors& e : c.effects<RequestTotalExecutors>()) told = e.local_tasks;
  }
  // The one that the executor runs does not wait.
  int32_t waiting = 0;
  for (const auto& [host, tasks] : told) waiting += tasks;
  CHECK(waiting == (asked ? 4 : 0));
  CHECK(told.contains("h2") == asked);
}

TEST_CASE("H10 as many executors are wanted when an excluded one has been killed", "[scaling]") {
  DriverOptions o = scaled(GENERATE(0, 8), 2, 4, 2);
  o.exclusion.application = o.exclusion.kill = true;
  o.exclusion.application_tasks_per_executor = 1;
  o.exclusion.application_executors_per_host = 2;
  o.exclusion.timeout = 1h;
  Cluster c(o);
  c.on(StartDriver{});
  Asked asked;
  gather(c, asked);
  c.executor("1", 1);
  c.executor("2", 1);
  const uint64_t t = c.job(rdd(4));
  c.fail(c.one_on("1"));
  c.answer_revocations();
  while (!c.ended(t)) {
    c.succeed(c.live().front(), "x");
    gather(c, asked);
    c.answer_revocations();
  }
  CHECK(asked.killed == std::vector<std::string>{"1"});
  c.lose("1", 143);
  gather(c, asked);
  const Asked later = pass(c, 30s);
  asked.totals.insert(asked.totals.end(), later.totals.begin(), later.totals.end());
  CHECK(asked.totals == std::vector<int32_t>{2});
}

TEST_CASE("what is odd about the settings of allocation is told at the start", "[scaling]") {
  DriverOptions o = scaled(0, 2, 4, 2);
  o.allocation->notes = {"initial executors less than minimum"};
  Cluster c(o);
  c.on(StartDriver{});
  CHECK(c.warnings() == std::vector<std::string>{"initial executors less than minimum"});
}

/// Dynamic allocation with its first executor, which it started with and may do without.
struct Scaled : Cluster {
  Scaled(int32_t ahead, const std::string& executor_id, int32_t cores)
      : Cluster(scaled(ahead, 0, 4, 1)) {
    on(StartDriver{});
    executor(executor_id, cores);
  }
};

TEST_CASE("an executor with map outputs stays while a shuffle may be read", "[scaling]") {
  Scaled c(GENERATE(0, 8), "1", 2);
  const ShufflePtr s = shuffle(rdd(1), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.maps_ok(0);
  c.executor("2", 2);
  c.results_ok(1);
  CHECK(c.ended(t));
  CHECK(pass(c, 300s).killed == std::vector<std::string>{"2"});
  c.on(ForgetShuffle{s->id});
  CHECK(pass(c, 1s).killed == std::vector<std::string>{"1"});
}

TEST_CASE("a task that comes in the last moment saves its executor", "[scaling]") {
  Scaled c(GENERATE(0, 8), "1", 1);
  c.advance(59900ms);
  const uint64_t t = c.job(rdd(1));
  CHECK(pass(c, 200s).killed.empty());
  c.results_ok(0);
  CHECK(c.ended(t));
  CHECK(pass(c, 59s).killed.empty());
  CHECK(pass(c, 2s).killed == std::vector<std::string>{"1"});
}

TEST_CASE("an executor that has not said whether it gives a task back is not idle", "[scaling]") {
  Scaled c(8, "1", 1);
  const uint64_t t = c.job(rdd(2));
  c.executor("2", 1);
  REQUIRE(c.revocations.size() == 1);
  c.succeed(c.live()[0], "x");
  REQUIRE(c.seen<TaskStarted>().size() == 1);
  CHECK(pass(c, 100s).killed.empty());
  c.answer_revocations();
  CHECK(c.live().at(0).executor == "2");
  c.finish(t);
  CHECK(pass(c, 100s).killed == std::vector<std::string>{"1", "2"});
}

TEST_CASE("T53 an executor whose task failed in vain is idle from then on", "[scaling]") {
  Scaled c(0, "A", 1);
  c.job(rdd(1));
  CHECK(pass(c, 61s).killed.empty());
  TaskEndReason reason;
  reason.kind = TaskEndKind::ExceptionFailure;
  reason.class_name = GENERATE("FileAlreadyExistsException", "NotSerializableException");
  c.fail(c.live().at(0), reason);
  CHECK(pass(c, 59s).killed.empty());
  CHECK(pass(c, 2s).killed == std::vector<std::string>{"A"});
}

TEST_CASE("a task that a user kills gets an executor though the last one leaves", "[scaling]") {
  Scaled c(0, "A", 1);
  const uint64_t first = c.job(rdd(1));
  c.succeed(c.live().at(0), "x");
  pass(c, 200ms);
  const uint64_t t = c.job(rdd(1));
  pass(c, 200ms);
  const Sent s = c.live().at(0);
  c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "its worker goes", {}});
  c.on(KillTaskAttempt{s.id, true, "by the user"});
  c.killed(s);
  c.lose("A", 0);
  CHECK(pass(c, 3s).totals.back() == 1);
  c.executor("B", 1);
  c.succeed(c.live().at(0), "y");
  for (const uint64_t job : {first, t}) CHECK(c.error(job).empty());
}

TEST_CASE("idle executors are decommissioned when that is on", "[scaling]") {
  DriverOptions o = scaled(0, 0, 4, 1);
  o.allocation->decommission = true;
  Cluster c(o);
  c.on(StartDriver{});
  c.executor("1", 1);
  c.advance(60s);
  CHECK(c.messages<DecommissionExecutor>("1").size() == 1);
  CHECK(c.messages<StopExecutor>("1").size() == 1);
  c.from("1", ExecutorExiting{ExecutorId{"1"}, 0, kDecommissionFinished});
  CHECK(reason_of_removal(c) == "Finished decommissioning");
  CHECK(c.driver.allocation()->monitor().removals().gracefully_decommissioned == 1);
}

// ---- decommissioning ---------------------------------------------------------------------------

TEST_CASE("a decommissioned executor ends what it runs and gets nothing more", "[scaling]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.cluster_manager = true;
  Cluster c(o);
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(3));
  REQUIRE_FALSE(c.live().empty());
  const Sent first = c.live().front();
  c.running(first);
  c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "worker decommissioned", "hA"});
  CHECK(c.messages<DecommissionExecutor>("A").size() == 1);
  CHECK(c.messages<StopExecutor>("A").empty());
  c.answer_revocations();
  c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "again", "hA"});
  CHECK(c.messages<DecommissionExecutor>("A").empty());
  CHECK(c.live().size() == 1);
  c.from("A", ExecutorHeartbeat{ExecutorId{"A"}, 0});
  REQUIRE(c.messages<HeartbeatAnswer>("A").size() == 1);
  CHECK_FALSE(c.messages<HeartbeatAnswer>("A")[0].reregister);
  c.succeed(first, "x");
  CHECK(c.messages<StopExecutor>("A").size() == 1);
  CHECK(c.live().empty());
  c.executor("B", 4);
  c.results_ok(0);
  CHECK(c.ended(t));
  CHECK(c.error(t).empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("a task lost with a decommissioned executor is nobody's fault", "[scaling]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.max_task_failures = 1;
  Cluster c(o);
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  c.running(c.live().front());
  c.from("A", ExecutorDecommissioning{ExecutorId{"A"}});
  c.lose("A", 137);
  CHECK(reason_of_removal(c) == "Executor decommission: Executor A is decommissioned.");
  CHECK_FALSE(c.ended(t));
  REQUIRE(c.seen<TaskEnded>().size() == 1);
  CHECK_FALSE(c.seen<TaskEnded>()[0].reason->exit_caused_by_app);
  c.executor("B", 1);
  c.results_ok(0);
  CHECK(c.error(t).empty());
}

TEST_CASE("nor is it when the connection ends before the driver hears why", "[scaling]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  o.cluster_manager = true;
  o.max_task_failures = 1;
  Cluster c(o);
  c.executor("A", 1);
  const uint64_t t = c.job(rdd(1));
  c.running(c.live().front());
  c.on(PeerLost{c.peers.at("A")});
  CHECK(c.seen<ExecutorRemoved>().empty());
  c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "worker decommissioned", "hA"});
  CHECK(reason_of_removal(c) == "Executor decommission: worker decommissioned");
  REQUIRE(c.seen<TaskEnded>().size() == 1);
  CHECK_FALSE(c.seen<TaskEnded>()[0].reason->exit_caused_by_app);
  c.executor("B", 1);
  c.results_ok(0);
  CHECK(c.error(t).empty());
}

TEST_CASE("one that does not end in time is killed", "[scaling]") {
  DriverOptions o = test_options(0);
  o.force_kill_timeout = 30s;
  Cluster c(o);
  c.executor("A", 1);
  c.job(rdd(1));
  c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "worker decommissioned", "hA"});
  CHECK(pass(c, 29s).killed.empty());
  CHECK(pass(c, 2s).killed == std::vector<std::string>{"A"});
  c.lose("A", 143);
  CHECK(reason_of_removal(c) == "Executor killed by driver.");
}

/// Where a worker is lost and comes back, its executors go on and the master does not know them.
TEST_CASE("whom the driver wants killed is told to end too", "[scaling]") {
  const bool idle = GENERATE(true, false);
  DriverOptions o = idle ? scaled(0, 0, 4, 1) : test_options(0);
  o.force_kill_timeout = 30s;
  Cluster c(o);
  c.on(StartDriver{});
  c.executor("A", 1);
  if (!idle) {
    c.job(rdd(1));
    c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "worker decommissioned", "hA"});
  }
  c.advance(idle ? 60s : 30s);
  CHECK(c.effects<KillBackendExecutor>().size() == 1);
  CHECK(c.messages<StopExecutor>("A").size() == 1);
  c.from("A", ExecutorExiting{ExecutorId{"A"}, 0, "the driver has ended"});
  CHECK(reason_of_removal(c) == "Executor killed by driver.");
}

TEST_CASE("whom the driver wanted killed is gone when its connection ends", "[scaling]") {
  DriverOptions o = scaled(0, 0, 4, 1);
  o.cluster_manager = true;
  Cluster c(o);
  c.on(StartDriver{});
  c.executor("A", 1);
  c.advance(60s);
  REQUIRE(c.effects<KillBackendExecutor>().size() == 1);
  c.on(PeerLost{c.peers.at("A")});
  CHECK(reason_of_removal(c) == "Executor killed by driver.");
  c.on(BackendExecutorExited{ExecutorId{"A"}, 143, "Command exited with code 143", ""});
  CHECK(c.seen<ExecutorRemoved>().size() == 1);
}

namespace {

/// Three executors of a cluster manager that nobody asked for a number of.
struct ByWill {
  explicit ByWill(DriverOptions o = test_options()) : c(std::move(o)) {
    for (const char* id : {"A", "B", "C"}) c.executor(id, 1);
  }
  /// The error that the order ends with; empty: none.
  std::string order(int32_t executors, bool in_all, std::vector<ExecutorId> kill = {}) {
    asked = {};
    c.last.clear();
    c.on(ScaleExecutors{++ticket, executors, in_all, std::move(kill)});
    gather(c, asked);
    const auto ends = c.effects<DeliverJobEnd>();
    REQUIRE(ends.size() == 1);
    CHECK(ends[0].ticket == ticket);
    return ends[0].error;
  }
  Cluster c;
  Asked asked;
  uint64_t ticket = 7;
};
using Totals = std::vector<int32_t>;

}  // namespace

TEST_CASE("an application wants so many executors in all, or so many more", "[scaling]") {
  ByWill b;
  CHECK(b.order(2, false).empty());
  CHECK(b.asked.totals == Totals{5});
  CHECK(b.order(2, false).empty());
  CHECK(b.asked.totals == Totals{7});
  CHECK(b.order(1, true).empty());
  CHECK(b.asked.totals == Totals{1});
  CHECK(b.asked.killed.empty());
  CHECK(b.order(INT32_MAX, false).empty());
  CHECK(b.asked.totals == Totals{INT32_MAX});
}

TEST_CASE("executors that an application kills are not replaced, and their tasks run elsewhere",
          "[scaling]") {
  ByWill b;
  b.c.job(rdd(3));  // each has one of its tasks
  CHECK(b.order(0, false, {ExecutorId{"A"}, ExecutorId{"Z"}}).empty());
  CHECK(b.asked.killed == std::vector<std::string>{"A"});
  CHECK(b.asked.totals == Totals{2});
  const auto first = std::ranges::find_if(b.c.last, [](const DriverEffect& e) {
    return std::holds_alternative<RequestTotalExecutors>(e) ||
           std::holds_alternative<KillBackendExecutor>(e);
  });
  CHECK(std::holds_alternative<RequestTotalExecutors>(*first));  // or it is replaced
  CHECK(b.c.messages<StopExecutor>("A").size() == 1);
  CHECK(b.order(0, false, {ExecutorId{"A"}}) == "None of the executors to be killed is there.");
  CHECK(b.asked.totals.empty());
  b.c.lose("A", 143);
  CHECK(reason_of_removal(b.c) == "Executor killed by driver.");
  CHECK(b.order(0, false, {ExecutorId{"B"}, ExecutorId{"C"}}).empty());
  CHECK(b.asked.totals == Totals{0});
}

TEST_CASE("an order of the application and dynamic allocation: the last one counts", "[scaling]") {
  ByWill b(scaled(0, 3, 9, 3));
  b.c.on(StartDriver{});
  CHECK(b.order(4, false).empty());
  CHECK(b.asked.totals == Totals{7});
  b.c.job(rdd(5));
  CHECK(pass(b.c, 1100ms).totals.back() == 4);
}

TEST_CASE("local mode has no executors to ask for", "[scaling]") {
  DriverOptions o = test_options();
  o.is_local = true;
  ByWill b(o);
  CHECK_THAT(b.order(1, true), Contains("not supported in local mode"));
  CHECK(b.asked.totals.empty());
}

TEST_CASE("S1 a decommissioned executor is not alive, nor is its host when that goes too",
          "[scaling]") {
  Cluster c(test_options());
  c.executor("0", 1, "h0");
  c.executor("1", 1, "h0");
  c.executor("2", 1, "h1");
  c.from("1", ExecutorDecommissioning{ExecutorId{"1"}});
  c.on(BackendExecutorDecommissioned{ExecutorId{"2"}, "", "h1"});
  const Executors& e = c.driver.executors();
  CHECK(e.alive(slot_of(e, "0")));
  CHECK_FALSE(e.alive(slot_of(e, "1")));
  CHECK_FALSE(e.alive(slot_of(e, "2")));
  CHECK(e.host_alive(e.at(slot_of(e, "0")).host));
  CHECK_FALSE(e.host_alive(e.at(slot_of(e, "2")).host));
}

TEST_CASE("S39 what is remembered of decommissioned executors", "[scaling]") {
  const auto known = [](const Cluster& c, const std::string& id) {
    const Executors& e = c.driver.executors();
    const Decommission* d = e.decommission_of(slot_of(e, id));
    return d ? d->worker_host + " " + std::to_string((d->since - Time{}) / 1s) : "none";
  };
  DriverOptions o = test_options(GENERATE(0, 8));
  SECTION("the start and the host; losing it first leaves nothing") {
    Cluster c(o);
    c.executor("A");
    c.executor("B");
    c.now += 5s;
    c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "", "hA"});
    c.now += 5s;
    c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "", "other"});
    CHECK(known(c, "A") == "hA 1005");
    c.lose("B");
    c.on(BackendExecutorDecommissioned{ExecutorId{"B"}, "", "hB"});
    CHECK(known(c, "B") == "none");
    c.lose("A");
    CHECK(known(c, "A") == "none");
  }
  SECTION("as many of those that are gone as the setting says") {
    o.max_retained_decommissioned = 1;
    Cluster c(o);
    c.executor("A");
    c.executor("B");
    for (const char* e : {"A", "B"}) {
      c.on(BackendExecutorDecommissioned{ExecutorId{e}, "", ""});
      c.lose(e);
    }
    CHECK(known(c, "A") == "none");
    CHECK(known(c, "B") == " 1000");
  }
  SECTION("a request that comes before the executor, as many as the setting says") {
    o.max_retained_unknown_decommissioned = 2;
    Cluster c(o);
    for (const char* e : {"A", "B", "C"})
      c.on(BackendExecutorDecommissioned{ExecutorId{e}, "", "h"});
    for (const char* e : {"A", "B", "C", "D"}) {
      c.hello(e);
      c.registers(e, 1, "h");
      const bool told = !c.messages<DecommissionExecutor>(e).empty();
      c.from(e, ExecutorReady{ExecutorId{e}});
      CHECK(told == (*e == 'B' || *e == 'C'));
    }
    CHECK(known(c, "B") == "h 1000");
    c.job(rdd(2));
    for (const Sent& s : c.live()) CHECK((s.executor == "A" || s.executor == "D"));
  }
  SECTION("none by default") {
    Cluster c(o);
    c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "", ""});
    c.executor("A");
    CHECK(c.messages<DecommissionExecutor>("A").empty());
    CHECK(known(c, "A") == "none");
  }
  SECTION("their tasks run again elsewhere") {
    Cluster c(o);
    c.executor("A", 2);
    const uint64_t t = c.job(rdd(2));
    c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "", "hA"});
    c.answer_revocations();
    c.lose("A");
    CHECK(c.live().empty());
    c.executor("B", 2);
    CHECK(c.live().size() == 2);
    c.results_ok(0);
    CHECK(c.error(t).empty());
  }
}

TEST_CASE("T15 localities of a set whose executors are decommissioned", "[scaling]") {
  const bool host_goes = GENERATE(true, false);
  Cluster c(test_options());
  c.executor("0", 1, "h0");
  c.executor("1", 1, "h0");
  const auto decommission = [&](const char* e, const char* host) {
    c.on(BackendExecutorDecommissioned{ExecutorId{e}, "", host});
  };
  c.job(rdd(3, {}, Locations(3, {"h0"})));  // the third waits
  if (host_goes) {
    decommission("0", "h0");
    decommission("1", "h0");
  } else {
    decommission("0", "");
  }
  const TaskSet* set = c.driver.tasks().task_set(StageId{0}, 0);
  REQUIRE(set);
  const std::vector<Locality> levels(set->levels().begin(), set->levels().end());
  CHECK(levels ==
        (host_goes ? std::vector{Locality::Any} : std::vector{Locality::Node, Locality::Any}));
}

TEST_CASE("D23 fetch failures by a decommissioned executor don't count", "[scaling]") {
  DriverOptions o = test_options(GENERATE(0, 8));
  const bool ignore = GENERATE(true, false);
  o.ignore_decommission_fetch_failure = ignore;
  Dag d(o);
  const ShufflePtr s = shuffle(rdd(2, {}, at({"A", "B"})), 2);
  const uint64_t t = d.job(rdd(2, {s}));
  d.maps_ok(0);
  d.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "", ""});
  d.answer_revocations();
  for (int attempt = 0; attempt < 4; ++attempt) {
    REQUIRE_FALSE(d.ended(t));
    const std::string from = attempt == 0 ? "A" : "B";
    d.fetch_failed(d.task(1, attempt, 0), s->id, attempt == 0 ? 0 : 1, from);
    d.advance(200ms);
    if (!d.ended(t)) d.maps_ok(0, attempt + 1);
  }
  CHECK(d.ended(t) == !ignore);
  if (ignore) {
    d.results_ok(1, 4);
    CHECK(d.error(t).empty());
  }
}

namespace {
/// The only two maps run on A and on B of host "h"; C on another host reads their outputs.
struct OnOneHost : Cluster {
  explicit OnOneHost(DriverOptions o) : Cluster(std::move(o)) {
    executor("A", 1, "h");
    executor("B", 1, "h");
    executor("C", 4, "other");
    job(rdd(1, {s}));
  }
  void decommission(const std::string& id) {
    on(BackendExecutorDecommissioned{ExecutorId{id}, "", "h"});
  }
  ShufflePtr s = shuffle(rdd(2, {}, {{"executor_h_A"}, {"executor_h_B"}}), 1);
};
}  // namespace

TEST_CASE("a decommissioned host's outputs go together when that is asked for", "[scaling]") {
  DriverOptions o = test_options(0);
  o.unregister_outputs_on_host = GENERATE(true, false);
  OnOneHost c(o);
  c.maps_ok(0);
  c.decommission("A");
  c.fetch_failed(c.task(1, 0, 0), c.s->id, 0, "A");
  CHECK(c.driver.map_outputs().available(c.s->id) == (o.unregister_outputs_on_host ? 0 : 1));
}

TEST_CASE("a decommissioned host's outputs go after the loss of an executor there, too",
          "[scaling]") {
  DriverOptions o = test_options(0);
  o.unregister_outputs_on_host = GENERATE(true, false);
  o.max_retained_decommissioned = 1;
  OnOneHost c(o);
  c.map_ok(c.one_on("A"));
  for (const char* e : {"A", "B"}) c.decommission(e);
  c.map_ok(c.one_on("B"));
  const Sent reader = c.one_on("C");
  c.lose("A", 0);  // the reader began before
  REQUIRE(c.driver.map_outputs().available(c.s->id) == 1);
  c.fetch_failed(reader, c.s->id, 0, "A");
  CHECK(c.driver.map_outputs().available(c.s->id) == (o.unregister_outputs_on_host ? 0 : 1));
}

TEST_CASE("a decommissioned host's outputs stay while an executor there still moves them",
          "[scaling]") {
  Cluster c(test_options(0));
  c.executor("A", 1, "h");
  c.executor("B", 2, "h");
  c.executor("C", 4, "other");
  const ShufflePtr s = shuffle(rdd(3, {}, {{"executor_h_A"}, {"executor_h_B"}, {"other"}}), 1);
  c.job(rdd(1, {s}));
  c.maps_ok(0);
  REQUIRE(c.driver.map_outputs().outputs_on(ExecutorId{"B"}).size() == 1);
  for (const char* e : {"A", "B"}) c.on(BackendExecutorDecommissioned{ExecutorId{e}, "", "h"});
  const bool worker_gone = GENERATE(false, true);
  c.lose("A", 0, worker_gone ? "h" : "");
  CHECK(c.driver.map_outputs().available(s->id) == (worker_gone ? 1 : 2));
  c.lose("B", 0);
  CHECK(c.driver.map_outputs().available(s->id) == 1);
}

TEST_CASE("a heartbeat that fails to come ends a decommissioning executor too", "[scaling]") {
  Cluster c(test_options(0));
  c.executor("A", 1);
  c.job(rdd(1));
  c.on(BackendExecutorDecommissioned{ExecutorId{"A"}, "x", ""});
  c.advance(180s + 1ms);
  CHECK(reason_of_removal(c) == "Executor decommission: x");
}
