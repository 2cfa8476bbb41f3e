// What the end of a task, or the loss of an executor, means for stages and jobs.
#include <algorithm>

#include "core/scheduler/dag/dag_scheduler.hpp"
#include "core/scheduler/tasks/task_end.hpp"

namespace tinderbox::core {

namespace {
/// Fetch failures come in swarms; one resubmission serves them all. Source:
/// DAGScheduler.RESUBMIT_TIMEOUT.
constexpr Duration kResubmitDelay = std::chrono::milliseconds(200);

void publish_end(TaskEnd& end, Turn& turn) {
  TaskEnded& event = turn.post<TaskEnded>();
  event.task = end.info;
  if (end.reason.kind != TaskEndKind::Success) event.reason = end.reason;
  if (end.update) event.metrics = end.update->metrics;
  event.accumulators = std::move(end.counted);
}

}  // namespace

void DagScheduler::task_ended(TaskEnd& end, Turn& turn) {
  const TaskSetSpec& spec = end.set.spec();
  Stage* stage = find(spec.stage);
  const bool for_nothing =
      end.reason.kind == TaskEndKind::Success && stage && outdated(*stage, spec.attempt);
  // A later attempt commits in its place.
  commits_.attempt_ended(spec.stage, spec.attempt, end.info.partition, end.info.attempt,
                         for_nothing ? TaskEndKind::TaskKilled : end.reason.kind);
  if (stage) apply_accumulators(*stage, end, turn);
  publish_end(end, turn);
  if (!stage) return;
  switch (end.reason.kind) {
    case TaskEndKind::Success:
      if (for_nothing) return;
      if (spec.attempt < stage->info.attempt)
        tasks_.output_completed(stage->id, end.set.output(end.index), turn);
      return stage->is_map() ? output_ready(*stage, end, turn) : result_ready(*stage, end, turn);
    case TaskEndKind::FetchFailed:
      return fetch_failed(*stage, end, turn);
    case TaskEndKind::Resubmitted: {
      if (spec.barrier) return barrier_task_failed(*stage, end, turn);
      if (!stage->is_map()) return;
      const size_t output = static_cast<size_t>(end.set.output(end.index));
      if (!stage->pending[output]) ++stage->num_pending;
      stage->pending[output] = true;
      return;
    }
    default:
      if (spec.barrier) barrier_task_failed(*stage, end, turn);
      return;  // else the task scheduler tries again
  }
}

void DagScheduler::apply_accumulators(const Stage& stage, TaskEnd& end, Turn& turn) {
  if (!end.update || end.update->accumulators.empty()) return;
  std::vector<AccumulatorUpdate> updates = std::move(end.update->accumulators);
  switch (end.reason.kind) {
    case TaskEndKind::Success: {
      if (stage.is_map())
        break;  // counted at each success: a map task that runs again counts again
      const auto job = jobs_.find(stage.result_of);
      if (job == jobs_.end() || outdated(stage, end.set.spec().attempt) ||
          job->second.finished[static_cast<size_t>(end.set.output(end.index))])
        return;
      break;
    }
    case TaskEndKind::ExceptionFailure:
    case TaskEndKind::TaskKilled:
      std::erase_if(updates, [](const AccumulatorUpdate& u) { return !u.internal_metric; });
      break;
    default:
      return;
  }
  if (updates.empty()) return;
  end.counted = updates;
  turn.out.push_back(ApplyAccumulators{std::move(updates)});
}

/// What this attempt gives can't stand beside what a later one gives.
bool DagScheduler::outdated(const Stage& stage, int32_t attempt) const {
  return attempt < stage.first_valid_attempt ||
         (attempt < stage.info.attempt && stage.all_or_nothing());
}

bool DagScheduler::may_commit(const AskPermissionToCommit& ask) {
  const Stage* stage = find(ask.stage);
  return stage && !outdated(*stage, ask.stage_attempt) && commits_.may_commit(ask);
}

// ---- success -----------------------------------------------------------------------------------

void DagScheduler::result_ready(Stage& stage, TaskEnd& end, Turn& turn) {
  const auto it = jobs_.find(stage.result_of);
  if (it == jobs_.end()) return;
  Job& job = it->second;
  const int32_t position = end.set.output(end.index);
  if (job.finished[static_cast<size_t>(position)]) return;
  job.finished[static_cast<size_t>(position)] = true;
  const bool last = ++job.num_finished == job.finished.size();
  const uint64_t ticket = job.ticket;
  const JobId id = job.id;
  if (last) {
    finish_job(job, stage, turn);
    clean_up(id);
  }
  turn.out.emplace_back(std::in_place_type<DeliverResult>, ticket, position,
                        std::move(end.update->result));
  if (last) turn.out.push_back(DeliverJobEnd{ticket, id, {}});
}

void DagScheduler::output_ready(Stage& stage, TaskEnd& end, Turn& turn) {
  const int32_t output = end.set.output(end.index);
  const size_t i = static_cast<size_t>(output);
  if (i < stage.pending.size() && stage.pending[i]) {
    stage.pending[i] = false;
    --stage.num_pending;
  }
  const auto lost = executor_lost_epoch_.find(end.info.executor);
  if (lost != executor_lost_epoch_.end() && lost->second >= end.set.spec().epoch)
    turn.log(Level::Info, "Ignoring possibly bogus ShuffleMapTask(" +
                              std::to_string(stage.id.value) + ", " + std::to_string(output) +
                              ") completion from executor " + end.info.executor.value);
  else
    outputs_.register_output(stage.shuffle->id, output, std::move(*end.update->map_status));
  if (running_.contains(stage.id) && stage.num_pending == 0) map_stage_done(stage, turn);
}

void DagScheduler::map_stage_done(Stage& stage, Turn& turn) {
  const StageId id = stage.id;
  mark_finished(stage, {}, false, turn);
  outputs_.increment_epoch();
  placement_.forget();
  // Some outputs were lost again, or came from executors that are gone: compute those.
  if (!available(stage)) return submit_stage(id, turn);
  finish_map_stage_jobs(id, turn);
  submit_waiting_children(id, turn);
}

// ---- fetch failures ----------------------------------------------------------------------------

void DagScheduler::fetch_failed(Stage& stage, const TaskEnd& end, Turn& turn) {
  const TaskEndReason& reason = end.reason;
  const TaskSetSpec& spec = end.set.spec();
  if (spec.attempt != stage.info.attempt) return;
  const auto found = map_stages_.find(reason.shuffle);
  if (found == map_stages_.end())
    return abort_stage(stage.id,
                       "a task could not fetch shuffle " + std::to_string(reason.shuffle.value) +
                           ", which its stage does not read: " + reason.description,
                       turn);
  Stage& map_stage = stages_.at(found->second);
  const ExecutorId executor = reason.address.executor;
  const Decommission* decommission =
      executor.value.empty() ? nullptr : tasks_.decommission_of(executor);
  if (!decommission || !options_.ignore_decommission_fetch_failure)
    stage.failed_attempts.insert(spec.attempt);
  const bool abort = failed_too_often(stage);
  if (running_.contains(stage.id)) mark_finished(stage, error_text(reason), !abort, turn);
  outputs_lost(map_stage, reason);
  const int64_t epoch = spec.epoch;
  if (stage.root->barrier && !outdated(stage, spec.attempt)) give_up_attempt(stage, end, turn);
  const StageId source = map_stage.id;
  const std::string why = why_no_retry(stage, error_text(reason));
  const bool revokes = why.empty() && map_stage.indeterminate();
  if (why.empty()) {
    if (!failed_.contains(stage.id))
      turn.log(Level::Info, "Resubmitting " + map_stage.text() + " and " + stage.text() +
                                " due to fetch failure");
    retry_later(stage.id, turn);
    failed_.insert(source);
  } else {
    abort_stage(stage.id, why, turn);
  }
  const bool condemned = decommission && !decommission->worker_host.empty();
  const bool host_goes = condemned && options_.unregister_outputs_on_host;
  if (!executor.value.empty())
    remove_executor_and_outputs(executor, host_goes ? reason.address.host : "", epoch, turn,
                                condemned);
  // Outputs that only have another place by now are still those that its readers have read.
  if (revokes && !available(stages_.at(source))) roll_back(source, turn);
}

void DagScheduler::outputs_lost(Stage& map_stage, const TaskEndReason& reason) {
  if (map_stage.root->barrier)
    outputs_.unregister_all_outputs(reason.shuffle);
  else if (reason.map_index >= 0)
    outputs_.unregister_output(reason.shuffle, reason.map_index, reason.address);
}

bool DagScheduler::failed_too_often(const Stage& stage) const {
  return static_cast<int32_t>(stage.failed_attempts.size()) >= options_.max_consecutive_attempts;
}

/// Empty: the stage is tried again.
std::string DagScheduler::why_no_retry(const Stage& stage, const std::string& reason) const {
  if (failed_too_often(stage))
    return stage.text() + " (" + stage.name +
           ") has failed the maximum allowable number of times: " +
           std::to_string(options_.max_consecutive_attempts) + ". Most recent failure reason:\n" +
           reason;
  // Some partitions may have committed what they wrote.
  if (stage.root->barrier && !stage.is_map())
    return "Could not recover from a failed barrier ResultStage. Most recent failure reason: " +
           reason;
  return {};
}

void DagScheduler::retry_later(StageId stage, Turn& turn) {
  if (failed_.insert(stage).second)
    turn.after(kResubmitDelay, DriverTimer::Kind::ResubmitFailedStages);
}

// ---- executors ---------------------------------------------------------------------------------

/// `host_condemned`: outputs go whatever was lost there before. The executor may be gone while
/// others of its host, which end too, still have outputs to their names.
void DagScheduler::remove_executor_and_outputs(const ExecutorId& executor, const std::string& host,
                                               int64_t epoch, Turn& turn, bool host_condemned) {
  const auto newer = [&](std::map<ExecutorId, int64_t>& last) {
    const auto [it, fresh] = last.try_emplace(executor, epoch);
    if (!fresh && it->second >= epoch) return false;
    it->second = epoch;
    return true;
  };
  if (newer(executor_lost_epoch_)) {
    if (const BlockManagerId* at = blocks_.executor(executor)) {
      BlockManagerRemoved& event = turn.post<BlockManagerRemoved>();
      event.id = *at;
      event.time = turn.now;
    }
    blocks_.remove_executor(executor);
    placement_.forget();
  }
  if (!newer(files_lost_epoch_) && !host_condemned) return;
  if (host.empty())
    outputs_.remove_outputs_on_executor(executor);
  else
    outputs_.remove_outputs_on_host(host);
}

void DagScheduler::executor_added(const ExecutorId& executor) {
  executor_lost_epoch_.erase(executor);
  files_lost_epoch_.erase(executor);
}

void DagScheduler::executor_lost(const ExecutorId& executor, const std::string& worker_host,
                                 Turn& turn) {
  remove_executor_and_outputs(executor, worker_host, outputs_.epoch(), turn);
}

bool DagScheduler::output_moved(const TaskSet& set, int32_t index, TaskId made_by,
                                const ExecutorId& from) const {
  const auto stage = stages_.find(set.spec().stage);
  if (stage == stages_.end() || !stage->second.is_map()) return false;
  const MapStatus* status = outputs_.output(stage->second.shuffle->id, set.output(index));
  return status && status->map_id == made_by.value && status->location.executor != from;
}

void DagScheduler::worker_removed(const std::string& host) {
  outputs_.remove_outputs_on_host(host);
  placement_.forget();
}

}  // namespace tinderbox::core
