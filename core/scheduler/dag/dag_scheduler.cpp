// Stages: making them, submitting them, ending their attempts.
#include "core/scheduler/dag/dag_scheduler.hpp"

#include <algorithm>

#include "conf/values/units.hpp"
#include "core/scheduler/resources/stage_profiles.hpp"

namespace tinderbox::core {

namespace {
/// From this size on a stage's program is worth a warning. Unit: bytes. Source:
/// TaskSetManager.TASK_SIZE_TO_WARN_KIB.
constexpr size_t kLargeProgram = 1000 * 1024;
}  // namespace

DagScheduler::DagScheduler(const DriverOptions& options, const ProgramCodec& codec,
                           TaskScheduler& tasks, MapOutputTracker& outputs, BlockMaster& blocks,
                           CommitCoordinator& commits)
    : options_(options),
      codec_(codec),
      tasks_(tasks),
      outputs_(outputs),
      blocks_(blocks),
      commits_(commits),
      placement_(blocks, outputs, options.reduce_locality),
      barriers_(options.barrier.sync_timeout) {}

bool DagScheduler::idle() const {
  const size_t left = jobs_.size() + job_by_ticket_.size() + stages_.size() + map_stages_.size() +
                      waiting_.size() + running_.size() + failed_.size() + delayed_.size() +
                      barriers_.size() + checkpoints_.uncut();
  return left == 0;
}

Stage* DagScheduler::find(StageId id) {
  const auto it = stages_.find(id);
  return it == stages_.end() ? nullptr : &it->second;
}

// ---- the graph ---------------------------------------------------------------------------------

Stage& DagScheduler::create_stage(NodePtr root, ShufflePtr shuffle, JobId job, std::string name) {
  std::vector<StageId> parents;
  for (const ShufflePtr& s : shuffles_read_by(root)) parents.push_back(map_stage_for(s, job));
  std::sort(parents.begin(), parents.end());
  const StageId id{next_stage_++};
  Stage& stage = stages_[id];
  stage.id = id;
  stage.root = std::move(root);
  stage.shuffle = std::move(shuffle);
  stage.first_job = job;
  stage.name = std::move(name);
  stage.parents = std::move(parents);
  stage.info = {id,
                0,
                stage.name,
                stage.root->num_partitions,
                stage.parents,
                shape_of(stage.root, false).rdds,
                {},
                {},
                {}};
  if (stage.is_map()) stage.info.shuffle = stage.shuffle->id;
  if (profiles_)
    if (Result<int32_t> p = stage_profile(stage.root, tasks_.profiles(), options_.merge_profiles))
      stage.info.profile = *p;
  return stage;
}

/// Ancestors come first, so that no parent is younger than its child and no recursion is deep.
StageId DagScheduler::map_stage_for(const ShufflePtr& shuffle, JobId job) {
  std::vector<ShufflePtr> stack{shuffle};
  while (!stack.empty()) {
    const ShufflePtr s = stack.back();
    if (map_stages_.contains(s->id)) {
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    for (const ShufflePtr& parent : shuffles_read_by(s->parent))
      if (!map_stages_.contains(parent->id)) stack.push_back(parent);
    if (stack.size() > before) continue;
    stack.pop_back();
    Stage& stage = create_stage(s->parent, s, job, s->parent->call_site);
    map_stages_[s->id] = stage.id;
    outputs_.register_shuffle(s->id, s->parent->num_partitions, s->num_reduces);
  }
  return map_stages_.at(shuffle->id);
}

void DagScheduler::add_job_to(StageId last, JobId job) {
  std::vector<StageId> stack{last};
  while (!stack.empty()) {
    Stage& stage = stages_.at(stack.back());
    stack.pop_back();
    if (!stage.jobs.insert(job).second) continue;
    jobs_.at(job).stages.insert(stage.id);
    stack.insert(stack.end(), stage.parents.begin(), stage.parents.end());
  }
}

bool DagScheduler::available(const Stage& stage) const {
  return outputs_.available(stage.shuffle->id) == stage.root->num_partitions;
}

std::vector<StageId> DagScheduler::missing_parents(const Stage& stage) {
  std::set<StageId> missing;
  walk_stage(
      stage.root, [&](const Node& node) { return !placement_.fully_cached(node); },
      [&](const ShufflePtr& shuffle) {
        Stage& parent = stages_.at(map_stage_for(shuffle, stage.first_job));
        if (!available(parent)) missing.insert(parent.id);
        // What is skipped now and computed again later is its second attempt.
        else if (parent.next_attempt == 0)
          parent.next_attempt = 1;
      });
  return {missing.begin(), missing.end()};
}

std::vector<int32_t> DagScheduler::missing_outputs(const Stage& stage) const {
  if (stage.is_map()) return outputs_.missing(stage.shuffle->id);
  std::vector<int32_t> missing;
  const Job& job = jobs_.at(stage.result_of);
  for (size_t i = 0; i < job.finished.size(); ++i)
    if (!job.finished[i]) missing.push_back(static_cast<int32_t>(i));
  return missing;
}

JobId DagScheduler::active_job_for(const Stage& stage) const {
  for (const JobId job : stage.jobs)
    if (jobs_.contains(job)) return job;
  return {};
}

// ---- submitting --------------------------------------------------------------------------------

void DagScheduler::submit_stage(StageId id, Turn& turn) {
  Stage* stage = find(id);
  if (!stage || waiting_.contains(id) || running_.contains(id) || failed_.contains(id)) return;
  if (active_job_for(*stage).value < 0)
    return abort_stage(id, "No active job for stage " + std::to_string(id.value), turn);
  const int32_t limit = std::max(options_.max_stage_attempts, options_.max_consecutive_attempts);
  if (stage->next_attempt >= limit)
    return abort_stage(id,
                       stage->text() + " (name=" + stage->name +
                           ") has been resubmitted for the maximum allowable number of times: " +
                           std::to_string(limit) +
                           ", which is the max value of config spark.stage.maxAttempts and "
                           "spark.stage.maxConsecutiveAttempts.",
                       turn);
  const std::vector<StageId> missing = missing_parents(*stage);
  if (missing.empty()) {
    if (!start_anew(*stage, turn)) return;
    return submit_missing_tasks(*stage, active_job_for(*stage), turn);
  }
  waiting_.insert(id);
  for (const StageId parent : missing) submit_stage(parent, turn);
}

bool DagScheduler::encode(Stage& stage, Payload& code, Turn& turn) {
  try {
    if (stage.is_map()) {
      code = Payload(
          codec_.program(*stage.root, stage.shuffle->writer, stage.shuffle->writer_captured));
    } else {
      const Job& job = jobs_.at(stage.result_of);
      code = Payload(codec_.program(*stage.root, job.action, job.action_captured));
    }
  } catch (const std::exception& error) {
    abort_stage(stage.id, std::string("Task not serializable: ") + error.what(), turn);
    return false;
  }
  if (code.size() > kLargeProgram)
    turn.log(Level::Warn, "Broadcasting large task binary with size " +
                              conf::show_size(static_cast<int64_t>(code.size())));
  return true;
}

void DagScheduler::begin_attempt(Stage& stage, const Job& job, size_t tasks, Turn& turn) {
  running_.insert(stage.id);
  commits_.stage_start(stage.id);
  stage.info.attempt = stage.next_attempt++;
  stage.info.num_tasks = static_cast<int32_t>(tasks);
  stage.info.submitted = tasks == 0 ? Time{} : turn.now;
  stage.info.completed = {};
  stage.info.failure_reason.clear();
  if (stage.is_map()) {
    stage.pending.assign(static_cast<size_t>(stage.root->num_partitions), false);
    stage.num_pending = static_cast<int32_t>(tasks);
  }
  if (stage.root->barrier)
    barriers_.start(stage.id, stage.info.attempt, static_cast<int32_t>(tasks));
  StageSubmitted& event = turn.post<StageSubmitted>();
  event.stage = stage.info;
  event.properties = *job.properties;
}

void DagScheduler::submit_missing_tasks(Stage& stage, JobId job_id, Turn& turn) {
  const Job& job = jobs_.at(job_id);
  TaskSetSpec spec;
  spec.ids = missing_outputs(stage);
  begin_attempt(stage, job, spec.ids.size(), turn);
  if (spec.ids.empty())
    return stage.is_map() ? map_stage_done(stage, turn) : mark_finished(stage, {}, false, turn);
  for (const int32_t id : spec.ids)
    if (stage.is_map())
      stage.pending[static_cast<size_t>(id)] = true;
    else
      spec.partitions.push_back(job.partitions[static_cast<size_t>(id)]);
  if (!encode(stage, spec.code, turn)) return;
  const StageShape shape = shape_of(stage.root, options_.reduce_locality);
  spec.stage = stage.id;
  spec.attempt = stage.info.attempt;
  spec.priority = job_id;
  spec.map_tasks = stage.is_map();
  spec.barrier = stage.root->barrier;
  spec.num_partitions = stage.root->num_partitions;
  spec.epoch = outputs_.begin_readers();
  spec.root = stage.root;
  spec.has_inputs = shape.inputs;
  spec.reads = shuffles_surely_read_by(stage.root);
  spec.profile = stage.info.profile;
  spec.properties = job.properties;
  if (shape.preferences)
    for (size_t i = 0; i < spec.ids.size(); ++i)
      spec.places.add(
          placement_.preferred(*stage.root, stage.is_map() ? spec.ids[i] : spec.partitions[i]),
          tasks_.executors());
  spec.places.complete();
  tasks_.submit(std::move(spec), turn);
}

MapOutputTracker::LocalDirs DagScheduler::local_dirs() {
  return [&executors = tasks_.executors()](const ExecutorId& id) {
    return executors.at(executors.slot(id)).local_dirs;
  };
}

std::shared_ptr<const ToExecutor> DagScheduler::outputs(ShuffleId shuffle) {
  return outputs_.answer(shuffle, local_dirs());
}

std::shared_ptr<const ToExecutor> DagScheduler::outputs_ahead(ShuffleId shuffle, int32_t slot) {
  return outputs_.answer_ahead(shuffle, slot, local_dirs());
}

void DagScheduler::submit_waiting_children(StageId parent, Turn& turn) {
  std::vector<const Stage*> children;
  for (const StageId id : waiting_) {
    const Stage& child = stages_.at(id);
    if (std::find(child.parents.begin(), child.parents.end(), parent) != child.parents.end())
      children.push_back(&child);
  }
  std::stable_sort(children.begin(), children.end(),
                   [](const Stage* a, const Stage* b) { return a->first_job < b->first_job; });
  std::vector<StageId> ids;
  for (const Stage* child : children) ids.push_back(child->id);
  for (const StageId id : ids) waiting_.erase(id);
  for (const StageId id : ids) submit_stage(id, turn);
}

void DagScheduler::mark_finished(Stage& stage, const std::string& error, bool will_retry,
                                 Turn& turn) {
  stage.info.completed = turn.now;
  stage.info.failure_reason = error;
  if (error.empty()) stage.failed_attempts.clear();
  if (!will_retry) commits_.stage_end(stage.id);
  if (stage.root->barrier) barriers_.end(stage.id);
  turn.post<StageCompleted>().stage = stage.info;
  running_.erase(stage.id);
}

void DagScheduler::resubmit_failed_stages(Turn& turn) {
  if (failed_.empty()) return;
  placement_.forget();
  std::vector<StageId> ids(failed_.begin(), failed_.end());
  failed_.clear();
  std::stable_sort(ids.begin(), ids.end(), [&](StageId a, StageId b) {
    return stages_.at(a).first_job < stages_.at(b).first_job;
  });
  for (const StageId id : ids) submit_stage(id, turn);
}

}  // namespace tinderbox::core
