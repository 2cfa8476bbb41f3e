#include "core/status/status_listener.hpp"

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

StageInfo stage_of(int32_t stage, int32_t attempt, int32_t tasks) {
  StageInfo s;
  s.stage = {stage};
  s.attempt = attempt;
  s.name = "map at app.cpp:" + std::to_string(stage);
  s.num_tasks = tasks;
  return s;
}
JobStarted job_of(int32_t job, std::vector<int32_t> stages,
                  std::map<std::string, std::string> properties = {}) {
  JobStarted e{{job}, {}, {}, std::move(properties)};
  for (const int32_t s : stages) e.stages.push_back(stage_of(s, 0, 1));
  return e;
}
TaskInfo task_of(int32_t stage, int32_t attempt, const std::string& executor) {
  TaskInfo t;
  t.stage = {stage};
  t.stage_attempt = attempt;
  t.executor = {executor};
  return t;
}
TaskEnded ended(const TaskInfo& task, std::optional<TaskEndKind> kind = {}) {
  TaskEnded e{task, {}, {}, {}};
  if (kind) {
    TaskEndReason reason;
    reason.kind = *kind;
    e.reason = reason;
  }
  return e;
}
JobEnded job_ended(int32_t job, bool succeeded) { return {{job}, {}, succeeded, ""}; }
BlockUpdated cached(const std::string& executor, const std::string& block, int64_t bytes) {
  BlockUpdate update;
  update.block = block;
  update.in_memory = bytes > 0;
  update.memory_bytes = bytes;
  return {{executor}, update};
}

struct Tracked {
  StatusListener tracker{2, 2};
  void hear(std::vector<ListenerEvent> events) { tracker.on_events(events); }
};

}  // namespace

TEST_CASE("status: jobs, their groups and how they ended", "[status]") {
  Tracked t;
  t.hear({job_of(0, {0, 1}, {{"spark.jobGroup.id", "night"}, {"spark.job.tags", "a,b"}}),
          job_of(1, {2})});
  CHECK(t.tracker.job_ids_for_tag("b") == std::vector<JobId>{{0}});
  CHECK(t.tracker.job_ids_for_tag("a,b").empty());
  CHECK(t.tracker.active_job_ids() == std::vector<JobId>{{0}, {1}});
  CHECK(t.tracker.job_ids_for_group("night") == std::vector<JobId>{{0}});
  CHECK(t.tracker.job_ids_for_group(std::nullopt) == std::vector<JobId>{{1}});
  CHECK(t.tracker.job_info({0}) == JobInfo{{0}, {{0}, {1}}, JobStatus::Running});
  t.hear({job_ended(0, true), job_ended(1, false)});
  CHECK(t.tracker.active_job_ids().empty());
  CHECK(t.tracker.job_info({0})->status == JobStatus::Succeeded);
  CHECK(t.tracker.job_info({1})->status == JobStatus::Failed);
  CHECK(!t.tracker.job_info({7}));
}

TEST_CASE("status: tasks of a stage's last attempt", "[status]") {
  Tracked t;
  t.hear({StageSubmitted{stage_of(3, 0, 4)}, TaskStarted{task_of(3, 0, "1")},
          TaskStarted{task_of(3, 0, "1")}, TaskStarted{task_of(3, 0, "2")}});
  CHECK(t.tracker.active_stage_ids() == std::vector<StageId>{{3}});
  CHECK(t.tracker.stage_info({3})->num_active_tasks == 3);
  t.hear({ended(task_of(3, 0, "1")), ended(task_of(3, 0, "1"), TaskEndKind::ExceptionFailure),
          ended(task_of(3, 0, "2"), TaskEndKind::TaskKilled)});
  const auto info = t.tracker.stage_info({3});
  CHECK(info->num_tasks == 4);
  CHECK(info->num_active_tasks == 0);
  CHECK(info->num_completed_tasks == 1);
  CHECK(info->num_failed_tasks == 1);
  CHECK(info->name == "map at app.cpp:3");
  // A task of the attempt before does not count for the new one.
  t.hear({StageCompleted{stage_of(3, 0, 4)}, StageSubmitted{stage_of(3, 1, 2)},
          ended(task_of(3, 0, "2"))});
  CHECK(t.tracker.stage_info({3})->attempt == 1);
  CHECK(t.tracker.stage_info({3})->num_completed_tasks == 0);
  CHECK(t.tracker.active_stage_ids() == std::vector<StageId>{{3}});
}

TEST_CASE("status: the last ones that ended are remembered, those that run always", "[status]") {
  Tracked t;
  for (int32_t i = 0; i < 5; ++i) {
    t.hear({job_of(i, {i}), StageSubmitted{stage_of(i, 0, 1)}});
    if (i != 0) t.hear({StageCompleted{stage_of(i, 0, 1)}, job_ended(i, true)});
  }
  for (int32_t i = 0; i < 5; ++i) {
    INFO(i);
    const bool kept = i == 0 || i >= 3;
    CHECK(t.tracker.job_info({i}).has_value() == kept);
    CHECK(t.tracker.stage_info({i}).has_value() == kept);
  }
}

TEST_CASE("status: executors, what they run and keep", "[status]") {
  Tracked t;
  t.hear({ExecutorJoined{{"1"}, "a", 2}, ExecutorJoined{{"2"}, "b", 2},
          TaskStarted{task_of(0, 0, "1")}, cached("1", "rdd_0_0", 100), cached("1", "rdd_0_1", 50),
          cached("1", "rdd_0_0", 70), cached("9", "rdd_0_2", 5)});
  CHECK(t.tracker.executor_infos() ==
        std::vector<ExecutorStatus>{{{"1"}, "a", 120, 1}, {{"2"}, "b", 0, 0}});
  t.hear({cached("1", "rdd_0_1", 0), ended(task_of(0, 0, "1")), ExecutorRemoved{{"2"}, "lost"}});
  CHECK(t.tracker.executor_infos() == std::vector<ExecutorStatus>{{{"1"}, "a", 70, 0}});
  t.hear({cached("1", "shuffle_0_0_0", 1000), cached("1", "broadcast_3_piece0", 20)});
  CHECK(t.tracker.executor_infos()[0].cached_bytes == 90);
}

TEST_CASE("status: what executors hold of an Rdd, until it is unpersisted or they are gone",
          "[status]") {
  Tracked t;
  BlockUpdated on_disk = cached("2", "rdd_7_3", 0);
  on_disk.block.on_disk = true;
  on_disk.block.disk_bytes = 30;
  t.hear({ExecutorJoined{{"1"}, "a", 2}, ExecutorJoined{{"2"}, "b", 2}, cached("1", "rdd_7_0", 100),
          cached("2", "rdd_7_0", 100), cached("1", "rdd_71_0", 5), cached("1", "rdd_6_0", 8),
          cached("2", "rdd_7_2", 1), on_disk});
  CHECK(t.tracker.rdd_storage({7}) == RddStorage{3, 201, 30});
  CHECK(t.tracker.rdd_storage({1}) == RddStorage{});
  t.hear({cached("2", "rdd_7_2", 0)});
  CHECK(t.tracker.rdd_storage({7}) == RddStorage{2, 200, 30});
  t.hear({ExecutorRemoved{{"2"}, "lost"}});
  CHECK(t.tracker.rdd_storage({7}) == RddStorage{1, 100, 0});
  t.hear({RddUnpersisted{{7}}});
  CHECK(t.tracker.rdd_storage({7}) == RddStorage{});
  CHECK(t.tracker.rdd_storage({71}) == RddStorage{1, 5, 0});
  CHECK(t.tracker.executor_infos() == std::vector<ExecutorStatus>{{{"1"}, "a", 13, 0}});
}
