// Executors and hosts excluded after failures. Ids are those of spec/11, sections H, S and T.
#include "conf/conf.hpp"
#include "conf/error.hpp"
#include "core/api/runtime/failure_options.hpp"
#include "tests/core/scheduler/tasks/task_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

using Strings = std::vector<std::string>;

/// A HealthTracker with executors; times in hours since the start are given as durations.
struct Health : ExecutorBed {
  std::unique_ptr<HealthTracker> tracker;

  explicit Health(ExclusionOptions o = limits()) : ExecutorBed(excluding()) {
    options.exclusion = o;
    tracker = std::make_unique<HealthTracker>(options.exclusion, executors);
  }
  std::unique_ptr<TaskSetExclusion> set(int32_t stage = 0) {
    return std::make_unique<TaskSetExclusion>(options.exclusion, executors, StageId{stage}, 0);
  }
  void fail(TaskSetExclusion& set, int32_t executor, std::initializer_list<int32_t> indices) {
    for (const int32_t i : indices) turn([&](Turn& t) { set.task_failed(executor, i, "boom", t); });
  }
  void succeed(const TaskSetExclusion& set) {
    turn([&](Turn& t) { tracker->task_set_succeeded(set.failures(), t); });
  }
  /// Tasks failed there, of a set that succeeded.
  void failed(int32_t executor, std::initializer_list<int32_t> indices, int32_t stage = 0) {
    const auto s = set(stage);
    fail(*s, executor, indices);
    succeed(*s);
  }
  void expire() {
    turn([&](Turn& t) { tracker->expire(t); });
  }
  /// Removals asked for since the last call; why are in `reasons`.
  Strings removed() {
    Strings v;
    reasons.clear();
    for (const ExecutorRemoval& r : tracker->take_removals()) {
      v.push_back(executors.at(r.executor).id.value + (r.decommission ? "*" : ""));
      reasons.push_back(r.reason);
    }
    return v;
  }
  Strings reasons;
};

}  // namespace

// ---- the application ---------------------------------------------------------------------------

TEST_CASE("H1 the second failure in sets that succeed excludes an executor", "[health]") {
  Health h;
  const int32_t e = h.add("1", "hostA");
  for (int32_t stage = 0; stage < 6; ++stage) {
    h.failed(e,
             stage % 2 == 0 ? std::initializer_list<int32_t>{0} : std::initializer_list<int32_t>{},
             stage);
    CHECK(h.tracker->executor_excluded(e) == (stage >= 2));
  }
  REQUIRE(h.seen<ExecutorExcluded>().size() == 1);
  CHECK(h.seen<ExecutorExcluded>()[0].executor.value == "1");
  CHECK(h.seen<ExecutorExcluded>()[0].task_failures == 2);
  CHECK(h.seen<ExecutorExcluded>()[0].time == h.now);
}

TEST_CASE("H2 H3 failures count for the application when their set succeeds", "[health]") {
  Health h;
  const int32_t e = h.add("1", "hostA");
  const auto set = h.set(3);
  h.fail(*set, e, {0, 1});
  CHECK(set->excludes(e));
  CHECK_FALSE(h.tracker->executor_excluded(e));
  REQUIRE(h.seen<ExecutorExcludedForStage>().size() == 1);
  CHECK(h.seen<ExecutorExcludedForStage>()[0].stage.value == 3);
  CHECK(h.seen<ExecutorExcludedForStage>()[0].task_failures == 2);
  h.succeed(*set);
  CHECK(h.tracker->executor_excluded(e));
  CHECK_FALSE(h.tracker->host_excluded(h.executors.at(e).host));
}

TEST_CASE("H4 executors and their host come back after the timeout, without history", "[health]") {
  Health h;
  const int32_t e1 = h.add("1", "hostA"), e2 = h.add("2", "hostA");
  const int32_t host = h.executors.at(e1).host;
  h.failed(e1, {0, 1, 2, 3});
  CHECK(h.tracker->executor_excluded(e1));
  CHECK_FALSE(h.tracker->host_excluded(host));
  h.failed(e2, {0, 1, 2, 3}, 1);
  CHECK(h.tracker->host_excluded(host));
  REQUIRE(h.seen<NodeExcluded>().size() == 1);
  CHECK(h.seen<NodeExcluded>()[0].host == "hostA");
  CHECK(h.seen<NodeExcluded>()[0].executor_failures == 2);
  h.now += 1h;
  h.expire();
  CHECK(h.tracker->host_excluded(host));
  h.now += 1ms;
  h.expire();
  CHECK_FALSE(h.tracker->any_excluded());
  CHECK_FALSE(h.tracker->next_expiry());
  CHECK(h.seen<ExecutorUnexcluded>().size() == 2);
  REQUIRE(h.seen<NodeUnexcluded>().size() == 1);
  CHECK(h.seen<NodeUnexcluded>()[0].host == "hostA");
  h.failed(e1, {0}, 2);
  CHECK_FALSE(h.tracker->any_excluded());
}

TEST_CASE("H5 executors that are gone still count for their host", "[health]") {
  Health h;
  const int32_t e1 = h.add("1", "hostA"), e2 = h.add("2", "hostA");
  const int32_t host = h.executors.at(e1).host;
  h.failed(e1, {0, 1, 2, 3});
  h.tracker->executor_removed(e1);
  h.now += 30min;
  h.failed(e2, {0, 1, 2, 3}, 1);
  h.tracker->executor_removed(e2);
  CHECK(h.tracker->host_excluded(host));
  h.now = h.start + 1h + 1ms;
  h.expire();
  CHECK_FALSE(h.tracker->executor_excluded(e1));
  CHECK(h.tracker->executor_excluded(e2));
  CHECK(h.tracker->host_excluded(host));
  h.now = h.start + 90min + 1ms;
  h.expire();
  CHECK_FALSE(h.tracker->any_excluded());
}

TEST_CASE("H6 failures far apart don't add up", "[health]") {
  Health h;
  const int32_t e = h.add("1", "hostA");
  CHECK_FALSE(h.tracker->next_expiry());
  h.failed(e, {0}, 0);
  h.now += 1h + 1ms;
  h.failed(e, {0}, 1);
  CHECK_FALSE(h.tracker->executor_excluded(e));
  h.now += 1h - 1ms;
  h.failed(e, {0}, 2);
  CHECK(h.tracker->executor_excluded(e));
  const Time first = h.now + 1h;
  CHECK(h.tracker->next_expiry() == first);
  const int32_t other = h.add("2", "hostB");
  h.now += 10min;
  h.failed(other, {0, 1}, 3);
  REQUIRE(h.tracker->executor_excluded(other));
  CHECK(h.tracker->next_expiry() == first);  // the earliest of them
}

TEST_CASE("H7 a failure has its own time, however long its set took", "[health]") {
  Health h;
  const int32_t e = h.add("1", "hostA");
  const auto first = h.set(0), second = h.set(1);
  h.fail(*first, e, {0});
  h.now += 5h;
  h.fail(*second, e, {0});
  h.succeed(*first);
  h.succeed(*second);
  CHECK_FALSE(h.tracker->executor_excluded(e));
}

TEST_CASE("H8 a host goes when two of its own executors are excluded", "[health]") {
  Health h;
  const int32_t a1 = h.add("1", "hostA"), b = h.add("2", "hostB"), a2 = h.add("3", "hostA");
  h.failed(a1, {0, 1});
  h.failed(b, {0, 1}, 1);
  CHECK_FALSE(h.tracker->host_excluded(h.executors.at(a1).host));
  CHECK_FALSE(h.tracker->host_excluded(h.executors.at(b).host));
  h.failed(a2, {0, 1}, 2);
  CHECK(h.tracker->host_excluded(h.executors.at(a1).host));
  CHECK_FALSE(h.tracker->host_excluded(h.executors.at(b).host));
}

TEST_CASE("H9 keys of exclusion: the older timeout, limits that can't work", "[health]") {
  const auto options = [](std::vector<std::pair<std::string, std::string>> pairs,
                          bool local = false) {
    conf::Pairs all;
    for (auto& [key, value] : pairs) all.emplace_back(key, value);
    return exclusion_options(conf::Conf::of(all), local);
  };
  const std::string legacy = "spark.scheduler.executorTaskExcludeOnFailureTime";
  const std::string key = "spark.excludeOnFailure.";
  CHECK_FALSE(options({}).on());
  CHECK(options({{legacy, "5000"}}).application);
  CHECK(options({{legacy, "5000"}}).timeout == 5s);
  CHECK(options({{legacy, "5000"}, {key + "timeout", "10m"}}).timeout == 10min);
  CHECK_FALSE(options({{legacy, "0"}}).on());
  CHECK(options({{legacy, "0"}, {key + "enabled", "true"}, {key + "timeout", "10m"}}).on());
  CHECK(options({{key + "enabled", "true"}}).timeout == 1h);
  CHECK_FALSE(options({{legacy, "5000"}, {key + "enabled", "false"}}).on());
  // One level alone.
  const ExclusionOptions app = options({{key + "application.enabled", "true"}});
  CHECK(app.application);
  CHECK_FALSE(app.task_and_stage);
  const ExclusionOptions sets =
      options({{key + "enabled", "true"}, {key + "application.enabled", "false"}});
  CHECK_FALSE(sets.application);
  CHECK(sets.task_and_stage);

  const auto refused = [&](std::vector<std::pair<std::string, std::string>> pairs) {
    CHECK_NOTHROW(options(pairs));  // off: nobody looks
    pairs.emplace_back(key + "enabled", "true");
    CHECK_NOTHROW(options(pairs, true));
    try {
      options(pairs);
    } catch (const conf::Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  CHECK(refused({{key + "task.maxTaskAttemptsPerNode", "4"}})
            .starts_with("spark.excludeOnFailure.task.maxTaskAttemptsPerNode ( = 4) was >= "
                         "spark.task.maxFailures ( = 4 ). Though excludeOnFailure is enabled, with "
                         "this configuration, Spark will not be robust to one bad node."));
  for (const char* limit : {"task.maxTaskAttemptsPerExecutor", "task.maxTaskAttemptsPerNode",
                            "stage.maxFailedTasksPerExecutor", "stage.maxFailedExecutorsPerNode",
                            "application.maxFailedTasksPerExecutor",
                            "application.maxFailedExecutorsPerNode", "timeout"})
    CHECK(refused({{key + limit, "0"}}) == key + limit + " was 0, but must be > 0.");
}

TEST_CASE("H10 H11 excluded executors are killed or decommissioned when that is asked for",
          "[health]") {
  const int mode = GENERATE(0, 1, 2);  // no, kill, decommission
  ExclusionOptions o = limits();
  o.kill = mode > 0;
  o.decommission = mode == 2;
  Health h(o);
  const int32_t e1 = h.add("1", "hostA"), e2 = h.add("2", "hostA");
  h.add("3", "hostA");
  h.add("4", "hostB");
  const std::string mark = mode == 2 ? "*" : "";
  h.failed(e1, {0, 1, 2, 3});
  const std::string suffix = mode == 2 ? " (actually decommissioning)" : "";
  const std::string key = " since spark.excludeOnFailure.killExcludedExecutors is set." + suffix;
  CHECK(h.removed() == (mode == 0 ? Strings{} : Strings{"1" + mark}));
  if (mode > 0) CHECK(h.reasons.at(0) == "Killing excluded executor id 1" + key);
  h.failed(e2, {0, 1, 2, 3}, 1);
  CHECK(h.tracker->host_excluded(h.executors.at(e1).host));
  CHECK(h.removed() ==
        (mode == 0 ? Strings{} : Strings{"2" + mark, "1" + mark, "2" + mark, "3" + mark}));
  if (mode > 0) CHECK(h.reasons.at(3) == "Killing all executors on excluded host hostA" + key);
}

TEST_CASE("H10 an excluded executor is exchanged for a new one, and its tasks are not blamed",
          "[health]") {
  DriverOptions o = excluding(GENERATE(0, 8));
  o.exclusion.kill = true;
  Cluster c(o);
  c.executor("A", 1);
  c.executor("B", 4);
  const uint64_t t = c.job(rdd(8));
  const uint64_t second = c.job(rdd(40));
  for (int i = 0; i < 2; ++i) c.fail(c.one_on("A"));
  while (!c.ended(t)) {
    for (const Sent& s : c.live(0)) c.succeed(s, "x");
    c.answer_revocations();
  }
  const auto excluded = c.seen<ExecutorExcluded>();
  REQUIRE(excluded.size() == 1);
  CHECK(excluded[0].executor.value == "A");
  bool killed = false;
  for (const Log& l : c.logs)
    killed |= l.line ==
              "Killing excluded executor id A since "
              "spark.excludeOnFailure.killExcludedExecutors is set.";
  CHECK(killed);
  c.lose("A", 143);
  for (const TaskEnded& e : c.seen<TaskEnded>())
    if (e.kind() == TaskEndKind::ExecutorLostFailure) {
      CHECK_FALSE(e.reason->exit_caused_by_app);
      CHECK(e.reason->description == "Executor killed by driver.");
    }
  CHECK(c.seen<ExecutorRemoved>().back().reason == "Executor killed by driver.");
  c.finish(second, 1s);
  CHECK(c.error(second).empty());
  CHECK(c.driver.idle_state_is_clean());
}

TEST_CASE("H10 a host is excluded by the time its executors are killed", "[health]") {
  DriverOptions o = excluding(GENERATE(0, 8));
  o.exclusion.kill = true;
  Cluster c(o);
  c.executor("1", 2, "bad");
  c.executor("2", 2, "bad");
  c.executor("3", 4, "good");
  const uint64_t t = c.job(rdd(8));
  for (const char* e : {"1", "1", "2", "2"}) c.fail(c.one_on(e));
  while (!c.ended(t)) {
    c.answer_revocations();
    REQUIRE_FALSE(c.live().empty());
    c.succeed(c.live().front(), "x");
  }
  const auto first = [&](auto is) {
    return std::find_if(c.last.begin(), c.last.end(), is) - c.last.begin();
  };
  const auto excluded = first([](const DriverEffect& e) {
    const auto* p = std::get_if<Publish>(&e);
    return p && of_kind<NodeExcluded>(p->events).size() == 1;
  });
  const auto killed =
      first([](const DriverEffect& e) { return std::holds_alternative<KillBackendExecutor>(e); });
  CHECK(excluded < killed);
  CHECK(killed < std::ssize(c.last));
  CHECK(c.driver.tasks().health()->host_excluded(c.driver.executors().at(0).host));
  Strings gone = c.kills;
  std::sort(gone.begin(), gone.end());
  CHECK(gone == Strings{"1", "2"});  // once each
}

TEST_CASE("H11 executors of an excluded host are decommissioned, and what runs there goes on",
          "[health]") {
  DriverOptions o = excluding(GENERATE(0, 8));
  o.exclusion.kill = o.exclusion.decommission = true;
  Cluster c(o);
  c.executor("1", 2, "bad");
  c.executor("2", 2, "bad");
  c.executor("3", 4, "good");
  const uint64_t t = c.job(rdd(8)), other = c.job(rdd(40));
  for (const char* e : {"1", "1", "2", "2"}) c.fail(c.one_on(e));
  while (!c.ended(t)) {
    c.answer_revocations();
    REQUIRE_FALSE(c.live(0).empty());
    c.succeed(c.live(0).front(), "x");
  }
  CHECK(c.driver.tasks().health()->host_excluded(c.driver.executors().at(0).host));
  CHECK(c.messages<DecommissionExecutor>().size() == 2);
  CHECK(c.kills.empty());
  CHECK(c.messages<StopExecutor>().empty());
  for (const char* id : {"1", "2"}) {
    const Decommission* d = c.driver.tasks().decommission_of(ExecutorId{id});
    REQUIRE(d);
    CHECK(d->message == "Killing excluded executor id " + std::string(id) +
                            " since spark.excludeOnFailure.killExcludedExecutors is set. (actually "
                            "decommissioning)");
  }
  const Sent there = c.one_on("1");
  CHECK(there.stage.value == 1);
  CHECK(c.messages<KillTask>().empty());
  c.succeed(there, "y");
  c.finish(other);
  CHECK(c.error(other).empty());
  for (const TaskEnded& e : c.seen<TaskEnded>())
    if (e.task.stage == StageId{1}) CHECK(e.kind() == TaskEndKind::Success);
}

TEST_CASE("H12 T35 one fetch failure excludes an executor, or its host's shuffle service",
          "[health]") {
  const bool service = GENERATE(false, true);
  ExclusionOptions o = limits();
  o.fetch_failure = o.kill = true;
  o.shuffle_service = service;
  Health h(o);
  const int32_t e1 = h.add("1", "hostA"), e2 = h.add("2", "hostA");
  const int32_t host = h.executors.at(e1).host;
  h.turn([&](Turn& t) { h.tracker->fetch_failed(e1, host, t); });
  CHECK(h.tracker->executor_excluded(e1) == !service);
  CHECK_FALSE(h.tracker->executor_excluded(e2));
  CHECK(h.tracker->host_excluded(host) == service);
  CHECK(h.removed() == (service ? Strings{"1", "2"} : Strings{"1"}));
  if (!service) CHECK(h.seen<ExecutorExcluded>().at(0).task_failures == 1);
  if (service) CHECK(h.seen<NodeExcluded>().at(0).executor_failures == 1);
  Health off;
  const int32_t e = off.add("1", "hostA");
  off.turn([&](Turn& t) { off.tracker->fetch_failed(e, off.executors.at(e).host, t); });
  CHECK_FALSE(off.tracker->any_excluded());
}

TEST_CASE("T35 a reducer's fetch failure excludes the executor that lost the output", "[health]") {
  DriverOptions o = excluding(GENERATE(0, 8));
  o.exclusion.fetch_failure = true;
  Cluster c(o);
  c.executor("A", 1);
  const ShufflePtr s = shuffle(rdd(1), 1);
  const uint64_t t = c.job(rdd(1, {s}));
  c.maps_ok(0);
  c.executor("B", 2);
  c.fetch_failed(c.live(1)[0], s->id, 0, "A");
  REQUIRE(c.seen<ExecutorExcluded>().size() == 1);
  CHECK(c.seen<ExecutorExcluded>()[0].executor.value == "A");
  c.advance(200ms);
  CHECK(c.task(0, 1, 0).executor == "B");
  c.maps_ok(0, 1);
  c.results_ok(1, 1);
  CHECK(c.ended(t));
  CHECK(c.driver.idle_state_is_clean());
}

// ---- one stage attempt -------------------------------------------------------------------------

TEST_CASE("H13 limits of a stage: tasks, executors, hosts", "[health]") {
  ExclusionOptions o = limits();
  o.task_attempts_per_executor = 2;
  o.task_attempts_per_host = 3;
  o.stage_tasks_per_executor = 2;
  o.stage_executors_per_host = 3;
  Health h(o);
  const int32_t e1 = h.add("1", "hostA"), e2 = h.add("2", "hostA"), e3 = h.add("3", "hostA");
  const int32_t e4 = h.add("4", "hostA");
  const auto s = h.set();
  h.fail(*s, e1, {0});
  CHECK_FALSE(s->excludes_task(e1, 0));
  h.fail(*s, e1, {0});
  CHECK(s->excludes_task(e1, 0));
  CHECK_FALSE(s->excludes_task(e1, 1));
  CHECK_FALSE(s->excludes(e1));
  CHECK_FALSE(s->excludes_task(e2, 0));
  h.fail(*s, e2, {0});
  CHECK(s->excludes_task(e4, 0));  // by its host
  CHECK_FALSE(s->excludes_task(e4, 1));
  CHECK(h.seen<ExecutorExcludedForStage>().empty());
  h.fail(*s, e1, {1});
  CHECK(s->excludes(e1));
  CHECK(h.seen<ExecutorExcludedForStage>().back().task_failures == 2);
  h.fail(*s, e2, {2});
  CHECK(s->excludes(e2));
  CHECK_FALSE(s->excludes(e4));
  h.fail(*s, e3, {3, 4});
  CHECK(s->excludes(e3));
  CHECK(s->excludes(e4));  // by its host
  REQUIRE(h.seen<NodeExcludedForStage>().size() == 1);
  CHECK(h.seen<NodeExcludedForStage>()[0].host == "hostA");
  CHECK(h.seen<NodeExcludedForStage>()[0].executor_failures == 3);
  CHECK(h.seen<ExecutorExcludedForStage>().size() == 3);
}

TEST_CASE("H14 executors excluded on different hosts exclude no host", "[health]") {
  Health h;
  const int32_t e1 = h.add("1", "hostA"), e2 = h.add("2", "hostB"), e3 = h.add("3", "hostA");
  const auto s = h.set();
  h.fail(*s, e1, {0, 1});
  h.fail(*s, e2, {0, 1});
  CHECK(s->excludes(e1));
  CHECK(s->excludes(e2));
  CHECK_FALSE(s->excludes(e3));
  CHECK(h.seen<NodeExcludedForStage>().empty());
}

TEST_CASE("with the application level alone a set excludes nobody", "[health]") {
  ExclusionOptions o = limits();
  o.task_and_stage = false;
  Health h(o);
  const int32_t e = h.add("1", "hostA");
  const auto s = h.set();
  h.fail(*s, e, {0, 1, 2});
  CHECK_FALSE(s->excludes(e));
  CHECK_FALSE(s->excludes_task(e, 0));
  CHECK(h.events.empty());
  h.succeed(*s);
  CHECK(h.tracker->executor_excluded(e));
}
