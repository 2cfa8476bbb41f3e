// What listeners are told.
#include <algorithm>

#include "core/scheduler/tasks/task_end.hpp"
#include "core/status/exit_reasons.hpp"
#include "tests/sim/checks/checks.hpp"

namespace tinderbox::sim {

using namespace core;

void Checks::published(const ListenerEvent& event) {
  std::visit([this](const auto& e) { on(e); }, event);
}

void Checks::on(const TaskStarted& e) {
  if (!app_.attempts.emplace(e.task.id, Attempt{false, e.task, {}}).second)
    broken("task started twice", text(e.task.id));
  if (e.task.attempt > 0) reached(Path::TaskRetried);
  not_excluded(e.task);
  ++app_.started_now[{e.task.stage, e.task.stage_attempt}];
  ++app_.served_now[{e.task.stage, e.task.stage_attempt}];
}

void Checks::on(const TaskEnded& e) {
  const auto it = app_.attempts.find(e.task.id);
  if (it == app_.attempts.end()) broken("task ended but never started", text(e.task.id));
  if (e.kind() == TaskEndKind::Resubmitted) {
    if (!it->second.ended || it->second.how != TaskEndKind::Success)
      broken("resubmitted without success", text(e.task.id));
    return reached(Path::MapResubmitted);
  }
  if (it->second.ended) broken("task ended twice", text(e.task.id));
  it->second.ended = true;
  it->second.how = e.kind();
  count_failure(e);
  if (e.task.speculative && e.kind() == TaskEndKind::TaskKilled) reached(Path::CopyLost);
  switch (e.kind()) {
    case TaskEndKind::Success:
      return succeeded(e);
    case TaskEndKind::FetchFailed:
      outputs_changed();
      if (const ExecutorId& from = e.reason->address.executor;
          scenario_.settings.forgive_decommissioned && !from.value.empty() &&
          e.task.stage_attempt == app_.latest[e.task.stage].attempt)
        app_.unreached_now.push_back(from);
      app_.unfetched.insert(e.reason->shuffle);
      reached(e.reason->map_index < 0 ? Path::MissingOutput : Path::FetchFailed);
      app_.failed_attempts[e.task.stage].insert(e.task.stage_attempt);
      return;
    case TaskEndKind::ExecutorLostFailure:
      return reached(e.reason->exit_caused_by_app ? Path::LossBlamed : Path::LossUnblamed);
    case TaskEndKind::TaskResultLost:
      return reached(Path::IndirectResultLost);
    case TaskEndKind::TaskKilled:
      return reached(Path::TaskKilled);
    default:
      return;
  }
}

void Checks::succeeded(const TaskEnded& e) {
  const TaskInfo& t = e.task;
  if (t.stage_attempt < app_.latest[t.stage].attempt) reached(Path::ZombieSuccess);
  if (t.speculative) reached(Path::CopyWon);
  app_.failures.erase({t.stage, t.stage_attempt, t.index});
  if (app_.without_blocks.contains(t.executor)) app_.doubtful.emplace_back(t.stage, t.partition);
}

/// What began or was completed in this turn may lack outputs again.
void Checks::outputs_changed() {
  app_.outputs_changed_now = true;
  app_.submitted_now.clear();
  app_.completed_now.clear();
}

void Checks::on(const StageSubmitted& e) {
  if (!app_.running_stages.insert(e.stage.stage).second)
    broken("stage submitted while it runs", text(e.stage.stage));
  app_.failed_stages.erase(e.stage.stage);
  if (e.stage.attempt > 0 && app_.latest.contains(e.stage.stage)) reached(Path::StageResubmitted);
  made_whole(e.stage);
  app_.latest[e.stage.stage] = e.stage;
  app_.submitted_now.push_back(e.stage.stage);
}

void Checks::on(const StageCompleted& e) {
  const bool failed = !e.stage.failure_reason.empty();
  // As in Spark: a stage that waits for its next attempt completes when copies of its tasks, left
  // over from the one before, bring its last results.
  const bool late = !failed && app_.failed_stages.contains(e.stage.stage);
  if (!app_.running_stages.erase(e.stage.stage) && !late)
    broken("stage completed that did not run", text(e.stage.stage));
  app_.failed_stages.erase(e.stage.stage);
  if (!failed) app_.completed_now.push_back(e.stage.stage);
  if (!failed) app_.completed.insert(e.stage.stage);
  if (failed) app_.failed_stages.insert(e.stage.stage);
  if (!failed) app_.failed_attempts.erase(e.stage.stage);
  if (e.stage.failure_reason.starts_with("Rolled back: ")) reached(Path::RolledBack);
  if (e.stage.failure_reason.starts_with("Stage failed because barrier task")) {
    app_.failed_attempts[e.stage.stage].insert(e.stage.attempt);
    reached(Path::BarrierFailed);
  }
}

void Checks::on(const JobStarted& e) {
  if (!app_.jobs.emplace(e.job, false).second)
    broken("job started twice", "job " + std::to_string(e.job.value));
  app_.started[std::stoull(e.properties.at("sim.ticket"))] = e.job;
  app_.versions.began(e.job);
  for (const StageInfo& stage : e.stages) app_.stages_of[e.job].push_back(stage.stage);
}

void Checks::on(const JobEnded& e) {
  const auto it = app_.jobs.find(e.job);
  if (it == app_.jobs.end() || it->second)
    broken("job ended without a start", "job " + std::to_string(e.job.value));
  it->second = true;
  for (const StageId stage : app_.stages_of[e.job])
    if (e.succeeded && !app_.latest.contains(stage)) reached(Path::StageSkipped);
}

void Checks::on(const ExecutorRemoved& e) {
  outputs_changed();
  app_.gone.insert(e.executor);
  const auto says = [&](const char* words) { return e.reason.find(words) != std::string::npos; };
  if (says("heartbeat timed out")) reached(Path::HeartbeatExpiry);
  if (says("disassociated")) reached(Path::Disassociated);
  if (e.reason == kKilledByDriver) reached(Path::KilledByDriver);
  if (e.reason == kDecommissionFinished) reached(Path::Drained);
  if (e.reason.starts_with(kDecommissionPrefix)) reached(Path::DrainCutShort);
}

void Checks::on(const BlockManagerRemoved& e) {
  outputs_changed();
  app_.without_blocks.insert(e.id.executor);
}

}  // namespace tinderbox::sim
