// Jobs from start to end: submission, success, failure, cancellation.
#include <algorithm>

#include "core/scheduler/dag/dag_scheduler.hpp"

namespace tinderbox::core {

namespace {

constexpr const char* kAborted = "Job aborted due to stage failure: ";

std::string property(const PropertiesPtr& properties, const std::string& key) {
  if (!properties) return {};
  const auto it = properties->find(key);
  return it == properties->end() ? std::string{} : it->second;
}

bool has_tag(const PropertiesPtr& properties, const std::string& tag) {
  return ("," + property(properties, "spark.job.tags") + ",").find("," + tag + ",") !=
         std::string::npos;
}

}  // namespace

// ---- start -------------------------------------------------------------------------------------

void DagScheduler::refuse(uint64_t ticket, JobId id, std::string error, Turn& turn) {
  turn.out.push_back(DeliverJobEnd{ticket, id, std::move(error)});
}

void DagScheduler::submit(JobRequest request, Turn& turn) {
  if (stopped_) return refuse(request.ticket, {}, "SparkContext has been shutdown", turn);
  if (!dead_reason_.empty()) return refuse(request.ticket, {}, kAborted + dead_reason_, turn);
  const int32_t n = request.root->num_partitions;
  for (const int32_t p : request.partitions)
    if (p < 0 || p >= n)
      return refuse(request.ticket, {},
                    "Attempting to access a non-existent partition: " + std::to_string(p) +
                        ". Total number of partitions: " + std::to_string(n),
                    turn);
  const JobId id{next_job_++};
  if (request.partitions.empty()) return submit_empty(request, id, turn);
  start_job(request, id, turn);
}

void DagScheduler::submit_empty(JobRequest& request, JobId id, Turn& turn) {
  request.properties.try_emplace("spark.job.description", request.call_site);
  JobStarted& started = turn.post<JobStarted>();
  started.job = id;
  started.time = turn.now;
  started.properties = std::move(request.properties);
  JobEnded& ended = turn.post<JobEnded>();
  ended.job = id;
  ended.time = turn.now;
  ended.succeeded = true;
  turn.out.push_back(DeliverJobEnd{request.ticket, id, {}});
}

void DagScheduler::start_job(JobRequest& request, JobId id, Turn& turn) {
  Job& job = jobs_[id];
  job.id = id;
  job.ticket = request.ticket;
  job.partitions = std::move(request.partitions);
  job.finished.resize(job.partitions.size());
  job.action = request.action;
  job.action_captured = std::move(request.action_captured);
  job.properties =
      std::make_shared<const std::map<std::string, std::string>>(std::move(request.properties));
  job_by_ticket_[job.ticket] = id;
  placement_.forget();
  Stage& last = create_stage(checkpoints_.rewire(request.root), nullptr, id, request.call_site);
  last.result_of = id;
  last.info.num_tasks = static_cast<int32_t>(job.partitions.size());
  job.final_stage = last.id;
  add_job_to(last.id, id);
  JobStarted& event = turn.post<JobStarted>();
  event.job = id;
  event.time = turn.now;
  event.properties = *job.properties;
  for (const StageId s : job.stages) event.stages.push_back(stages_.at(s).info);
  submit_stage(last.id, turn);
}

// ---- end ---------------------------------------------------------------------------------------

void DagScheduler::end_job(Job& job, const std::string& error, Turn& turn) {
  JobEnded& event = turn.post<JobEnded>();
  event.job = job.id;
  event.time = turn.now;
  event.succeeded = error.empty();
  event.error = error;
}

/// A stage whose last result is here; the caller delivers it.
void DagScheduler::finish_job(Job& job, Stage& stage, Turn& turn) {
  const StageId stage_id = stage.id;
  mark_finished(stage, {}, false, turn);
  cancel_independent_stages(job, "Job " + std::to_string(job.id.value) + " is finished.", turn);
  tasks_.kill_attempts_of(stage_id, "Stage finished", false, turn);
  end_job(job, {}, turn);
}

void DagScheduler::fail_job(JobId id, const std::string& error, Turn& turn) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  cancel_independent_stages(it->second, error, turn);
  end_job(it->second, error, turn);
  turn.out.push_back(DeliverJobEnd{it->second.ticket, id, error});
  clean_up(id);
}

void DagScheduler::cancel_independent_stages(const Job& job, const std::string& reason,
                                             Turn& turn) {
  const bool interrupt = property(job.properties, "spark.job.interruptOnCancel") == "true";
  for (const StageId id : job.stages) {
    Stage& stage = stages_.at(id);
    if (stage.jobs.size() != 1 || !running_.contains(id)) continue;
    tasks_.cancel(id, reason, interrupt, turn);
    mark_finished(stage, reason, false, turn);
  }
}

void DagScheduler::clean_up(JobId id) {
  const auto it = jobs_.find(id);
  for (const StageId s : it->second.stages) {
    Stage& stage = stages_.at(s);
    stage.jobs.erase(id);
    if (!stage.jobs.empty()) continue;
    waiting_.erase(s);
    running_.erase(s);
    failed_.erase(s);
    commits_.stage_end(s);
    if (stage.is_map()) map_stages_.erase(stage.shuffle->id);
    stages_.erase(s);
  }
  job_by_ticket_.erase(it->second.ticket);
  jobs_.erase(it);
  if (jobs_.empty()) placement_.forget();
}

bool DagScheduler::depends_on(const Stage& stage, StageId target) const {
  std::set<StageId> seen;
  std::vector<StageId> stack{stage.id};
  while (!stack.empty()) {
    const StageId id = stack.back();
    stack.pop_back();
    if (id == target) return true;
    if (!seen.insert(id).second) continue;
    for (const StageId parent : stages_.at(id).parents)
      if (parent == target || !available(stages_.at(parent))) stack.push_back(parent);
  }
  return false;
}

void DagScheduler::abort_stage(StageId id, const std::string& reason, Turn& turn) {
  Stage* stage = find(id);
  if (!stage) return;
  std::vector<JobId> dependents;
  for (const JobId job : stage->jobs)
    if (depends_on(stages_.at(jobs_.at(job).final_stage), id)) dependents.push_back(job);
  stage->info.completed = turn.now;
  for (const JobId job : dependents) fail_job(job, kAborted + reason, turn);
}

void DagScheduler::task_set_failed(const TaskSet& set, const std::string& reason, Turn& turn) {
  abort_stage(set.spec().stage, reason, turn);
}

// ---- cancelling --------------------------------------------------------------------------------

void DagScheduler::cancel_jobs_where(const std::function<bool(const Job&)>& chosen,
                                     const std::string& reason, Turn& turn) {
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_)
    if (chosen(job)) ids.push_back(id);
  for (const JobId id : ids)
    fail_job(id, "Job " + std::to_string(id.value) + " cancelled " + reason, turn);
}

void DagScheduler::cancel_job(uint64_t ticket, const std::string& reason, Turn& turn) {
  cancel_jobs_where([&](const Job& job) { return job.ticket == ticket; }, reason, turn);
}

void DagScheduler::cancel_group(const std::string& group, Turn& turn) {
  cancel_jobs_where(
      [&](const Job& job) { return property(job.properties, "spark.jobGroup.id") == group; },
      "part of cancelled job group " + group, turn);
}

void DagScheduler::cancel_tag(const std::string& tag, Turn& turn) {
  cancel_jobs_where([&](const Job& job) { return has_tag(job.properties, tag); },
                    "part of cancelled job tag(s) " + tag, turn);
}

void DagScheduler::cancel_stage(StageId stage, const std::string& reason, Turn& turn) {
  cancel_jobs_where([&](const Job& job) { return job.stages.contains(stage); },
                    reason.empty()
                        ? "because Stage " + std::to_string(stage.value) + " was cancelled"
                        : "because " + reason,
                    turn);
}

void DagScheduler::cancel_all(Turn& turn) {
  cancel_jobs_where([](const Job&) { return true; }, "as part of cancellation of all jobs", turn);
}

void DagScheduler::backend_dead(const std::string& reason, Turn& turn) {
  dead_reason_ = reason.empty() ? "the cluster manager is gone" : reason;
  while (!jobs_.empty()) fail_job(jobs_.begin()->first, kAborted + dead_reason_, turn);
}

void DagScheduler::stop(Turn& turn) {
  stopped_ = true;
  while (!jobs_.empty()) {
    const Job& job = jobs_.begin()->second;
    cancel_independent_stages(job, "Stage cancelled because SparkContext was shut down", turn);
    fail_job(
        job.id,
        "Job " + std::to_string(job.id.value) + " cancelled because SparkContext was shut down",
        turn);
  }
}

}  // namespace tinderbox::core
