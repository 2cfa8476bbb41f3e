// Jobs from start to end: submission, success, failure, cancellation.
#include <strings.h>

#include <algorithm>

#include "core/plan/bytes.hpp"
#include "core/scheduler/dag/dag_scheduler.hpp"
#include "core/scheduler/resources/stage_profiles.hpp"

namespace tinderbox::core {

namespace {

constexpr const char* kAborted = "Job aborted due to stage failure: ";

std::string property(const PropertiesPtr& properties, const std::string& key) {
  if (!properties) return {};
  const auto it = properties->find(key);
  return it == properties->end() ? std::string{} : it->second;
}

/// A job that was given no group is not in the one of the empty name.
bool in_group(const PropertiesPtr& properties, const std::string& group) {
  if (!properties) return false;
  const auto it = properties->find(kJobGroup);
  return it != properties->end() && it->second == group;
}

bool has_tag(const PropertiesPtr& properties, const std::string& tag) {
  return properties && std::ranges::count(job_tags(*properties), tag) > 0;
}

bool any_job(const Job&) { return true; }

}  // namespace

// ---- start -------------------------------------------------------------------------------------

void DagScheduler::refuse(uint64_t ticket, JobId id, std::string error, Turn& turn) {
  turn.out.push_back(DeliverJobEnd{ticket, id, std::move(error)});
}

void DagScheduler::submit(JobRequest request, Turn& turn) {
  if (!stopped_.empty()) return refuse(request.ticket, {}, stopped_, turn);
  if (!dead_reason_.empty()) return refuse(request.ticket, {}, kAborted + dead_reason_, turn);
  if (request.map_stage && request.map_stage->parent->num_partitions == 0)
    return refuse(request.ticket, {}, "Can't run submitMapStage on RDD with 0 partitions", turn);
  const int32_t n = request.map_stage ? 0 : request.root->num_partitions;
  if (request.map_stage) request.partitions.clear();
  for (const int32_t p : request.partitions)
    if (p < 0 || p >= n)
      return refuse(request.ticket, {},
                    "Attempting to access a non-existent partition: " + std::to_string(p) +
                        ". Total number of partitions: " + std::to_string(n),
                    turn);
  const JobId id{next_job_++};
  if (request.partitions.empty() && !request.map_stage) return submit_empty(request, id, turn);
  if (const std::string group = cancelled_group_of(request); !group.empty())
    return refuse(request.ticket, id,
                  "Job " + std::to_string(id.value) +
                      " cancelled: Skip running a job that belongs to the cancelled job group " +
                      group,
                  turn);
  std::string conflict = conflict_in(request);
  if (profiles_) tell_profiles(turn);
  if (!conflict.empty()) return refuse(request.ticket, id, std::move(conflict), turn);
  start_job(request, id, turn);
}

/// Empty: it may run.
std::string DagScheduler::cancelled_group_of(const JobRequest& request) const {
  const auto group = request.properties.find(kJobGroup);
  if (group == request.properties.end()) return {};
  const auto found = std::find(cancelled_groups_.begin(), cancelled_groups_.end(), group->second);
  return found == cancelled_groups_.end() ? std::string() : group->second;
}

/// Why some stage has no resource profile; empty: each has one.
std::string DagScheduler::conflict_in(const JobRequest& request) {
  profiles_ |= request.profiles;
  if (!profiles_) return {};
  const NodePtr& last = request.map_stage ? request.map_stage->parent : request.root;
  return profile_conflict(checkpoints_.rewire(last), tasks_.profiles(), options_.merge_profiles);
}

void DagScheduler::tell_profiles(Turn& turn) {
  const Profiles& profiles = tasks_.profiles();
  for (; profiles_told_ < profiles.count(); ++profiles_told_) {
    ResourceProfileAdded& event = turn.post<ResourceProfileAdded>();
    event.number = profiles_told_;
    event.profile = profiles.profile(profiles_told_);
  }
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

StageId DagScheduler::final_stage_for(const JobRequest& request, JobId id) {
  if (request.map_stage) return map_stage_for(checkpoints_.rewire(request.map_stage), id);
  Stage& last = create_stage(checkpoints_.rewire(request.root), nullptr, id, request.call_site);
  last.result_of = id;
  last.info.num_tasks = static_cast<int32_t>(request.partitions.size());
  return last.id;
}

void DagScheduler::start_job(JobRequest& request, JobId id, Turn& turn) {
  Job& job = jobs_[id];
  job.id = id;
  job.ticket = request.ticket;
  job_by_ticket_[job.ticket] = id;
  placement_.forget();
  const StageId last = final_stage_for(request, id);
  job.final_stage = last;
  add_job_to(last, id);
  if (held_back(request, id, turn)) return;
  job.partitions = std::move(request.partitions);
  job.finished.resize(request.map_stage ? 1 : job.partitions.size());
  job.action = request.action;
  job.action_captured = std::move(request.action_captured);
  job.held = std::move(request.held);
  job.properties =
      std::make_shared<const std::map<std::string, std::string>>(std::move(request.properties));
  JobStarted& event = turn.post<JobStarted>();
  event.job = id;
  event.time = turn.now;
  event.properties = *job.properties;
  for (const StageId s : job.stages) event.stages.push_back(stages_.at(s).info);
  // Only a map stage can be there already.
  if (request.map_stage && available(stages_.at(last))) return finish_map_stage_jobs(last, turn);
  submit_stage(last, turn);
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
  tasks_.kill_attempts_of(stage_id, "Stage finished", interrupts(job), turn);
  end_job(job, {}, turn);
}

namespace {
Payload encode_statistics(const std::vector<int64_t>& bytes) {
  Bytes encoded;
  Encoder out(encoded);
  for (const int64_t b : bytes) out.scalar(b);
  return Payload(std::move(encoded));
}
}  // namespace

/// Jobs that wanted nothing but the outputs of `stage`, which are all there.
void DagScheduler::finish_map_stage_jobs(StageId stage, Turn& turn) {
  std::vector<JobId> done;
  for (const JobId id : stages_.at(stage).jobs)
    if (jobs_.at(id).final_stage == stage) done.push_back(id);
  if (done.empty()) return;
  const Payload statistics = encode_statistics(outputs_.statistics(stages_.at(stage).shuffle->id));
  for (const JobId id : done) {
    Job& job = jobs_.at(id);
    const uint64_t ticket = job.ticket;
    cancel_independent_stages(job, "Job " + std::to_string(id.value) + " is finished.", turn);
    end_job(job, {}, turn);
    clean_up(id);
    turn.out.emplace_back(std::in_place_type<DeliverResult>, ticket, 0, statistics);
    turn.out.push_back(DeliverJobEnd{ticket, id, {}});
  }
}

void DagScheduler::fail_job(JobId id, const std::string& error, Turn& turn) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  cancel_independent_stages(it->second, error, turn);
  end_job(it->second, error, turn);
  turn.out.push_back(DeliverJobEnd{it->second.ticket, id, error});
  clean_up(id);
}

/// In any case of letters, as Scala's toBoolean.
bool DagScheduler::interrupts(const Job& job) {
  return strcasecmp(property(job.properties, "spark.job.interruptOnCancel").c_str(), "true") == 0;
}

void DagScheduler::cancel_independent_stages(const Job& job, const std::string& reason,
                                             Turn& turn) {
  const bool interrupt = interrupts(job);
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
    if (stage.root->barrier) barriers_.end(s);
    if (stage.is_map()) map_stages_.erase(stage.shuffle->id);
    stages_.erase(s);
  }
  job_by_ticket_.erase(it->second.ticket);
  jobs_.erase(it);
  if (jobs_.empty()) placement_.forget();
  checkpoints_.cut_unread(stages_);
}

void DagScheduler::checkpoint_done(std::weak_ptr<const Node> rdd) {
  checkpoints_.done(std::move(rdd), JobId{next_job_});
  checkpoints_.cut_unread(stages_);
}

bool DagScheduler::depends_on(StageId last, StageId target) const {
  std::set<StageId> seen;
  std::vector<StageId> stack{last};
  while (!stack.empty()) {
    const StageId id = stack.back();
    stack.pop_back();
    if (id == target) return true;
    const Stage& stage = stages_.at(id);
    if (!seen.insert(id).second || (stage.is_map() && available(stage))) continue;
    stack.insert(stack.end(), stage.parents.begin(), stage.parents.end());
  }
  return false;
}

void DagScheduler::abort_stage(StageId id, const std::string& reason, Turn& turn) {
  Stage* stage = find(id);
  if (!stage) return;
  std::vector<JobId> dependents, others;
  for (const JobId job : stage->jobs)
    (depends_on(jobs_.at(job).final_stage, id) ? dependents : others).push_back(job);
  stage->info.completed = turn.now;
  for (const JobId job : dependents) fail_job(job, kAborted + reason, turn);
  if (!others.empty()) go_on_without(id, others, reason, turn);
}

/// What was made from the outputs of `id` is there meanwhile. Nothing waits for them any more.
void DagScheduler::go_on_without(StageId id, const std::vector<JobId>& jobs,
                                 const std::string& reason, Turn& turn) {
  if (running_.contains(id)) mark_finished(stages_.at(id), reason, false, turn);
  for (const StageId reader : with_readers(id)) waiting_.erase(reader);
  for (const JobId job : jobs) {
    const auto it = jobs_.find(job);
    if (it == jobs_.end()) continue;
    const Stage& last = stages_.at(it->second.final_stage);
    if (last.is_map() && available(last))
      finish_map_stage_jobs(last.id, turn);
    else
      submit_stage(last.id, turn);
  }
}

void DagScheduler::task_set_failed(const TaskSet& set, const std::string& reason, Turn& turn) {
  abort_stage(set.spec().stage, reason, turn);
}

// ---- cancelling --------------------------------------------------------------------------------

bool DagScheduler::cancel_jobs_where(const std::function<bool(const Job&)>& chosen,
                                     const std::string& reason, Turn& turn) {
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_)
    if (chosen(job)) ids.push_back(id);
  const auto error = [&](JobId id) {
    return "Job " + std::to_string(id.value) + " cancelled " + reason;
  };
  for (const JobId id : ids) fail_job(id, error(id), turn);
  return fail_delayed_jobs(chosen, error, turn) || !ids.empty();
}

void DagScheduler::cancel_job(uint64_t ticket, const std::string& reason, Turn& turn) {
  cancel_jobs_where([&](const Job& job) { return job.ticket == ticket; }, reason, turn);
}

void DagScheduler::cancel_job(JobId id, const std::string& reason, Turn& turn) {
  cancel_jobs_where([&](const Job& job) { return job.id == id; }, reason, turn);
}

void DagScheduler::cancel_group(const std::string& group, bool future, Turn& turn) {
  if (future) {
    std::erase(cancelled_groups_, group);
    cancelled_groups_.push_back(group);
    if (cancelled_groups_.size() > options_.max_cancelled_groups) cancelled_groups_.pop_front();
  }
  const auto chosen = [&](const Job& job) { return in_group(job.properties, group); };
  if (!cancel_jobs_where(chosen, "part of cancelled job group " + group, turn) && !future)
    turn.log(Level::Warn,
             "Failed to cancel job group " + group + ". Cannot find active jobs for it.");
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
  cancel_jobs_where(any_job, "as part of cancellation of all jobs", turn);
}

void DagScheduler::backend_dead(const std::string& reason, Turn& turn) {
  dead_reason_ = reason.empty() ? "the cluster manager is gone" : reason;
  while (!jobs_.empty()) fail_job(jobs_.begin()->first, kAborted + dead_reason_, turn);
  fail_delayed_jobs(
      any_job, [&](JobId) { return kAborted + dead_reason_; }, turn);
}

void DagScheduler::stop(const std::string& cause, Turn& turn) {
  const std::string because = cause.empty() ? "" : ": " + cause;
  stopped_ = "SparkContext has been shutdown" + because;
  const std::string why = "cancelled because SparkContext was shut down" + because;
  const auto error = [&](JobId id) { return "Job " + std::to_string(id.value) + " " + why; };
  while (!jobs_.empty()) {
    const Job& job = jobs_.begin()->second;
    cancel_independent_stages(job, "Stage " + why, turn);
    fail_job(job.id, error(job.id), turn);
  }
  fail_delayed_jobs(any_job, error, turn);
}

}  // namespace tinderbox::core
