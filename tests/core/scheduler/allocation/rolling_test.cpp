// Whose turn it is to be rolled, in tables; and through the Driver machine.
#include "core/scheduler/allocation/rolling.hpp"

#include "conf/error.hpp"
#include "core/status/exit_reasons.hpp"
#include "tests/core/scheduler/scheduler_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

/// What one executor has done. Unit of `run`: seconds of each task.
struct Did {
  const char* id;
  int tasks = 1;
  int run = 1;
  int failed = 0;
  int64_t shuffle_write = 0;
  int64_t disk = 0;
};

/// Executors join one second after the other, in this order.
std::string chosen(RollPolicy policy, const std::vector<Did>& all, int32_t min_tasks = 0) {
  Rolling rolling({.interval = 1s, .policy = policy, .min_tasks = min_tasks});
  Time now{100s};
  std::map<std::string, int64_t> disk;
  for (const Did& d : all) {
    disk[d.id] = d.disk;
    rolling.observe({ExecutorJoined{{d.id}, "h", 1, now += 1s, 0}});
    for (int i = 0; i < d.tasks; ++i) {
      TaskInfo info;
      info.executor = {d.id};
      info.launched = now;
      info.finished = now + std::chrono::seconds(d.run);
      TaskEndReason reason;
      reason.kind = i < d.failed ? TaskEndKind::ExceptionFailure : TaskEndKind::Success;
      TaskMetrics metrics;
      metrics.shuffle_write_bytes = d.shuffle_write;
      rolling.observe({TaskStarted{info}, TaskEnded{info, reason, metrics}});
    }
  }
  const auto found = rolling.choose([&](const ExecutorId& id) { return disk.at(id.value); });
  return found ? found->value : "none";
}

/// Twenty that do the same, and one more.
std::vector<Did> beside_twenty(Did other) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> v;
    for (int i = 100; i < 120; ++i) v.push_back(std::to_string(i));
    return v;
  }();
  std::vector<Did> all;
  for (const std::string& name : names) all.push_back({.id = name.c_str(), .tasks = 2});
  all.push_back(other);
  return all;
}

DriverOptions rolled(int32_t ahead) {
  DriverOptions o = test_options(ahead);
  o.cluster_manager = true;
  o.executor_timeout = 24h;
  o.rolling = RollingOptions{.interval = 53s, .policy = RollPolicy::TotalDuration, .min_tasks = 1};
  return o;
}

}  // namespace

TEST_CASE("each policy chooses by its own measure", "[rolling]") {
  using P = RollPolicy;
  struct Case {
    P policy;
    std::vector<Did> all;
    std::string want;
  };
  const std::vector<Case> cases = {
      {P::Id, {{"10"}, {"9"}, {"11"}}, "9"},
      {P::AddTime, {{"10"}, {"9"}, {"11"}}, "10"},
      {P::TotalDuration, {{"1", 3, 1}, {"2", 1, 4}, {"3", 2, 1}}, "2"},
      {P::AverageDuration, {{"1", 9, 1}, {"2", 1, 2}, {"3", 0, 0}}, "2"},
      {P::FailedTasks, {{"1", 9, 9, 1}, {"2", 2, 1, 2}}, "2"},
      {P::TotalShuffleWrite, {{"1", 1, 1, 0, 5}, {"2", 3, 1, 0, 4}}, "2"},
      {P::DiskUsed, {{"1", 1, 1, 0, 0, 5}, {"2", 1, 1, 0, 0, 6}}, "2"},
      {P::Id, {}, "none"},
      // The same for all: the smallest id, as a number.
      {P::FailedTasks, {{"10"}, {"9"}}, "9"},
  };
  for (const Case& c : cases) CHECK(chosen(c.policy, c.all) == c.want);
}

TEST_CASE("an outlier is two standard deviations above the mean, in any measure", "[rolling]") {
  const std::vector<Did> outliers = {
      {.id = "5", .tasks = 1, .run = 9},
      {.id = "5", .tasks = 30, .run = 1},
      {.id = "5", .tasks = 2, .run = 1, .failed = 2},
      {.id = "5", .tasks = 2, .run = 1, .shuffle_write = 9},
      {.id = "5", .tasks = 2, .run = 1, .disk = 9},
  };
  for (const Did& d : outliers) {
    CHECK(chosen(RollPolicy::Outlier, beside_twenty(d)) == "5");
    CHECK(chosen(RollPolicy::OutlierNoFallback, beside_twenty(d)) == "5");
  }
  const std::vector<Did> near = {{"1", 1, 2}, {"2", 1, 3}, {"3", 1, 2}};
  CHECK(chosen(RollPolicy::OutlierNoFallback, near) == "none");
  CHECK(chosen(RollPolicy::Outlier, near) == "2");  // by total duration
}

TEST_CASE("executors with too few tasks are not rolled", "[rolling]") {
  const std::vector<Did> all = {{"1", 1, 9}, {"2", 3, 1}, {"3", 2, 1}};
  CHECK(chosen(RollPolicy::TotalDuration, all) == "1");
  CHECK(chosen(RollPolicy::TotalDuration, all, 2) == "2");
  CHECK(chosen(RollPolicy::TotalDuration, all, 4) == "none");
}

TEST_CASE("by idle time it is whoever has had no task for longest", "[rolling]") {
  Rolling rolling({.interval = 1s, .policy = RollPolicy::IdleTime, .min_tasks = 0});
  const auto task = [](const char* executor, Time launched, Time finished) {
    TaskInfo info;
    info.executor = {executor};
    info.launched = launched;
    info.finished = finished;
    return info;
  };
  const auto starts = [&](const char* e) { rolling.observe({TaskStarted{task(e, {}, {})}}); };
  const auto ends = [&](const char* e, Duration at, TaskEndKind how = TaskEndKind::Success) {
    TaskEndReason reason;
    reason.kind = how;
    rolling.observe({TaskEnded{task(e, {}, Time{at}), reason, {}}});
  };
  const auto chosen = [&] {
    const auto found = rolling.choose([](const ExecutorId&) { return std::optional<int64_t>(0); });
    return found ? found->value : "none";
  };
  CHECK(chosen() == "none");
  for (const auto& [id, joined] : {std::pair{"1", 12s}, {"2", 11s}, {"3", 10s}})
    rolling.observe({ExecutorJoined{{id}, "h", 1, Time{joined}, 0}});
  CHECK(chosen() == "3");
  starts("3");
  CHECK(chosen() == "2");  // who runs something is not idle
  starts("3");
  ends("3", 20s);
  CHECK(chosen() == "2");
  starts("2");
  starts("1");
  CHECK(chosen() == "none");
  ends("2", 21s, TaskEndKind::ExceptionFailure);
  ends("3", 22s);
  CHECK(chosen() == "2");
  ends("2", 5s, TaskEndKind::Resubmitted);  // it ended long ago
  starts("2");
  CHECK(chosen() == "3");
}

TEST_CASE("settings of rolling", "[rolling]") {
  const std::string p = "spark.kubernetes.executor.";
  const auto options = [&](conf::Pairs pairs, bool local = false) {
    conf::Conf conf;
    for (const auto& [name, value] : pairs) conf = conf.with(name, value);
    return rolling_options(conf, local);
  };
  CHECK_FALSE(options({}));
  const conf::Pairs on = {{p + "rollInterval", "5s"}, {"spark.decommission.enabled", "true"}};
  REQUIRE(options(on));
  CHECK(options(on)->interval == 5s);
  CHECK(options(on)->policy == RollPolicy::Outlier);
  CHECK_FALSE(options(on, true));
  CHECK_THROWS_WITH(options({{p + "rollInterval", "5s"}}),
                    p + "rollInterval decommissions executors, but spark.decommission.enabled is "
                        "false; set it to true");
  CHECK_THROWS_WITH(options({{p + "rollPolicy", "TOTAL_GC_TIME"}}),
                    p + "rollPolicy is 'TOTAL_GC_TIME', which is no policy here; give one of ID, "
                        "ADD_TIME, TOTAL_DURATION, AVERAGE_DURATION, FAILED_TASKS, "
                        "TOTAL_SHUFFLE_WRITE, DISK_USED, IDLE_TIME, OUTLIER, OUTLIER_NO_FALLBACK");
  CHECK(options({{p + "rollInterval", "5s"},
                 {"spark.decommission.enabled", "true"},
                 {p + "rollPolicy", "IDLE_TIME"}})
            ->policy == RollPolicy::IdleTime);
  CHECK_THROWS_WITH(options({{p + "minTasksPerExecutorBeforeRolling", "-1"}}),
                    p + "minTasksPerExecutorBeforeRolling is negative; give 0 or a positive value");
}

TEST_CASE("every interval one executor is decommissioned", "[rolling]") {
  Cluster c(rolled(GENERATE(0, 8)));
  c.on(StartDriver{});
  for (const char* e : {"1", "2", "3"}) c.executor(e, 1);
  const uint64_t t = c.job(rdd(2, {}, {{"executor_h2_2"}, {"executor_h3_3"}}));
  for (const auto& [executor, ran] : {std::pair{"2", 5s}, {"3", 3s}}) {
    c.running(c.live().front());
    c.advance(ran);
    for (const Sent& s : c.live())
      if (s.executor == executor) c.succeed(s, "x");
  }
  REQUIRE(c.ended(t));
  const auto told = [&] {
    std::vector<std::string> v;
    for (const char* e : {"1", "2", "3"})
      if (!c.messages<DecommissionExecutor>(e).empty()) v.push_back(e);
    return v;
  };
  c.last.clear();
  c.advance(44s);
  CHECK(told().empty());
  c.advance(1s);
  CHECK(told().size() == 1);
  const std::string first = told().at(0);
  CHECK(c.messages<StopExecutor>(first).size() == 1);
  c.from(first, ExecutorExiting{ExecutorId{first}, 0, kDecommissionFinished});
  c.advance(53s);
  CHECK(told().size() == 1);
  CHECK(told().at(0) != first);
  // The one that is left had no task.
  c.from(told().at(0), ExecutorExiting{ExecutorId{told().at(0)}, 0, kDecommissionFinished});
  c.advance(53s);
  CHECK(told().empty());
  CHECK(c.logs.back().line == "There is nothing to roll.");
}

TEST_CASE("executors that are gone, and tasks that ended long ago, are nobody's record",
          "[rolling]") {
  Rolling rolling({.interval = 1s, .policy = RollPolicy::FailedTasks, .min_tasks = 0});
  const auto ends = [&](const std::string& executor, TaskEndKind how) {
    TaskInfo info;
    info.executor = {executor};
    TaskEndReason reason;
    reason.kind = how;
    rolling.observe({TaskStarted{info}, TaskEnded{info, reason, {}}});
  };
  const auto disk_of = [](const ExecutorId& id) {
    return id.value == "3" ? std::nullopt : std::optional<int64_t>(0);
  };
  CHECK_FALSE(rolling.choose(disk_of));
  for (const char* id : {"1", "2", "3"})
    rolling.observe({ExecutorJoined{{id}, "h", 1, Time{100s}, 0}});
  ends("gone", TaskEndKind::ExceptionFailure);
  for (const TaskEndKind how :
       {TaskEndKind::Resubmitted, TaskEndKind::TaskKilled, TaskEndKind::TaskCommitDenied})
    ends("1", how);
  ends("2", TaskEndKind::ExceptionFailure);
  ends("3", TaskEndKind::ExceptionFailure);
  ends("3", TaskEndKind::ExceptionFailure);  // on its way out
  CHECK(rolling.choose(disk_of) == ExecutorId{"2"});
}
