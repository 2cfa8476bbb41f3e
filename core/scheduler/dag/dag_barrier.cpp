// Barrier stages: what they may look like, when there is room for them, what a failed task means.
// Source: Spark 4.3 DAGScheduler.checkBarrierStageWith…, BarrierJobAllocationFailed.
#include <algorithm>

#include "core/scheduler/dag/dag_scheduler.hpp"
#include "core/scheduler/tasks/task_end.hpp"

namespace tinderbox::core {

namespace {

constexpr const char* kDynamicAllocation =
    "[SPARK-24942]: Barrier execution mode does not support dynamic resource allocation for now. "
    "You can disable dynamic resource allocation by setting Spark conf "
    "\"spark.dynamicAllocation.enabled\" to \"false\".";
constexpr const char* kTooFewSlots =
    "[SPARK-24819]: Barrier execution mode does not allow run a barrier stage that requires more "
    "slots than the total number of slots in the cluster currently. Please init a new cluster with "
    "more resources(e.g. CPU, GPU) or repartition the input RDD(s) to reduce the number of slots "
    "required to run this barrier stage.";
constexpr const char* kUnsupportedChain =
    "[SPARK-24820][SPARK-24821]: Barrier execution mode does not allow the following pattern of "
    "RDD chain within a barrier stage:\n1. Ancestor RDDs that have different number of partitions "
    "from the resulting RDD (e.g. union()/coalesce()/first()/take()/PartitionPruningRDD). A "
    "workaround for first()/take() can be barrierRdd.collect().head (scala) or "
    "barrierRdd.collect()[0] (python).\n2. An RDD that depends on multiple barrier RDDs (e.g. "
    "barrierRdd1.zip(barrierRdd2)).";

/// Every Rdd of the stage has a partition for each task, and at most one barrier Rdd as parent.
bool chain_allowed(const NodePtr& root, size_t tasks) {
  bool allowed = true;
  const auto barrier = [](const Dependency& d) { return parent_of(d)->barrier; };
  walk_stage(
      root,
      [&](const Node& node) {
        allowed = allowed && static_cast<size_t>(node.num_partitions) == tasks &&
                  std::count_if(node.dependencies.begin(), node.dependencies.end(), barrier) <= 1;
        return allowed;
      },
      [](const ShufflePtr&) {});
  return allowed;
}

}  // namespace

// ---- before a job starts -----------------------------------------------------------------------

std::string DagScheduler::barrier_error(const Stage& stage, size_t tasks) const {
  if (options_.allocation) return kDynamicAllocation;
  return chain_allowed(stage.root, tasks) ? "" : kUnsupportedChain;
}

/// The job can't start, now or ever: nothing is left of it but what delay_job() keeps.
bool DagScheduler::held_back(JobRequest& request, JobId id, Turn& turn) {
  std::string error;
  Lack most;
  for (const StageId s : jobs_.at(id).stages) {
    const Stage& stage = stages_.at(s);
    if (!stage.root->barrier || stage.first_job != id) continue;
    const size_t tasks = stage.is_map() ? static_cast<size_t>(stage.root->num_partitions)
                                        : request.partitions.size();
    if (error.empty()) error = barrier_error(stage, tasks);
    const Lack lack{stage.root->num_partitions, tasks_.total_slots(stage.info.profile)};
    if (lack.slots() > most.slots()) most = lack;
  }
  if (error.empty() && most.slots() <= 0) {
    delayed_.erase(id);
    return false;
  }
  clean_up(id);
  if (error.empty()) {
    delay_job(request, id, most, turn);
  } else {
    delayed_.erase(id);
    refuse(request.ticket, id, std::move(error), turn);
  }
  return true;
}

void DagScheduler::delay_job(JobRequest& request, JobId id, const Lack& lack, Turn& turn) {
  Delayed& delayed = delayed_[id];
  const int32_t left = options_.barrier.slots_max_failures - ++delayed.failures + 1;
  turn.log(Level::Warn, "Barrier stage in job " + std::to_string(id.value) + " requires " +
                            std::to_string(lack.needed) + " slots, but only " +
                            std::to_string(lack.available) + " are available. Will retry up to " +
                            std::to_string(left) + " more times");
  if (left > 0) {
    delayed.request = std::move(request);
    return turn.after(options_.barrier.slots_interval, DriverTimer::Kind::BarrierSlots, id.value);
  }
  delayed_.erase(id);
  refuse(request.ticket, id, kTooFewSlots, turn);
}

void DagScheduler::retry_job(JobId id, Turn& turn) {
  const auto it = delayed_.find(id);
  if (it == delayed_.end()) return;
  JobRequest request = std::move(it->second.request);
  start_job(request, id, turn);
}

bool DagScheduler::fail_delayed_jobs(const std::function<bool(const Job&)>& chosen,
                                     const std::function<std::string(JobId)>& error, Turn& turn) {
  const auto failed = std::erase_if(delayed_, [&](const auto& entry) {
    const auto& [id, delayed] = entry;
    Job job;
    job.id = id;
    job.ticket = delayed.request.ticket;
    job.properties =
        std::make_shared<const std::map<std::string, std::string>>(delayed.request.properties);
    if (!chosen(job)) return false;
    refuse(job.ticket, id, error(id), turn);
    return true;
  });
  return failed > 0;
}

// ---- a task failed -----------------------------------------------------------------------------

namespace {
std::string task_text(const Stage& stage, const TaskEnd& end) {
  return (stage.is_map() ? "ShuffleMapTask(" : "ResultTask(") + std::to_string(stage.id.value) +
         ", " + std::to_string(end.info.partition) + ")";
}
}  // namespace

/// What the attempt has made, and what it still makes, counts for nothing.
void DagScheduler::give_up_attempt(Stage& stage, const TaskEnd& end, Turn& turn) {
  const auto job = jobs_.find(stage.first_job);
  tasks_.kill_attempts_of(stage.id,
                          "Task " + task_text(stage, end) + " from barrier stage " + stage.text() +
                              " (" + stage.name + ") failed.",
                          job != jobs_.end() && interrupts(job->second), turn);
  stage.first_valid_attempt = stage.next_attempt;
  if (stage.is_map()) forget_outputs(stage);
}

void DagScheduler::barrier_task_failed(Stage& stage, const TaskEnd& end, Turn& turn) {
  // The others of an attempt that is given up end because of that.
  if (outdated(stage, end.set.spec().attempt)) return;
  const std::string why = "Stage failed because barrier task " + task_text(stage, end) +
                          " finished unsuccessfully.\n" + error_text(end.reason);
  give_up_attempt(stage, end, turn);
  if (running_.contains(stage.id)) mark_finished(stage, why, false, turn);
  stage.failed_attempts.insert(end.set.spec().attempt);
  if (const std::string fatal = why_no_retry(stage, why); !fatal.empty())
    return abort_stage(stage.id, fatal, turn);
  retry_later(stage.id, turn);
}

}  // namespace tinderbox::core
