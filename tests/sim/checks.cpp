#include "tests/sim/checks.hpp"

#include <algorithm>
#include <cstdio>

#include "core/scheduler/tasks/task_end.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {
constexpr const char* kPathNames[kPaths] = {"job succeeded",
                                            "job cancelled",
                                            "task failed too often",
                                            "stage failed too often",
                                            "stage skipped",
                                            "task retried",
                                            "task killed",
                                            "fetch failed",
                                            "output missing at the driver",
                                            "stage resubmitted",
                                            "map task resubmitted",
                                            "zombie attempt succeeded",
                                            "bogus completion ignored",
                                            "heartbeat expiry",
                                            "disassociated",
                                            "executor lost, blamed",
                                            "executor lost, not blamed",
                                            "host lost",
                                            "executor saw the loss",
                                            "map outputs asked again",
                                            "launched ahead",
                                            "revoked",
                                            "revoked too late",
                                            "result by block",
                                            "result by block lost",
                                            "commit allowed",
                                            "commit denied",
                                            "cache hit",
                                            "cache hit at a peer",
                                            "cached block recomputed",
                                            "block manager registered again",
                                            "output not stored",
                                            "services failed",
                                            "master recovered",
                                            "worker removed",
                                            "copy of a slow task won",
                                            "copy of a slow task lost"};

std::string text(TaskId id) { return "task " + std::to_string(id.value); }
std::string text(StageId id) { return "stage " + std::to_string(id.value); }
}  // namespace

const char* name_of(Path path) { return kPathNames[static_cast<size_t>(path)]; }

void Checks::broken(const std::string& check, const std::string& detail) const {
  throw Broken(check, detail);
}

// ---- results -----------------------------------------------------------------------------------

void Checks::delivered(const DeliverResult& r) {
  if (!open_.contains(r.ticket))
    broken("result of no open job", "ticket " + std::to_string(r.ticket));
  if (!results_[r.ticket].insert(r.position).second)
    broken("result counted twice",
           "ticket " + std::to_string(r.ticket) + ", position " + std::to_string(r.position));
  const JobPlan& plan = job(r.ticket);
  const int32_t partition = plan.partitions.at(static_cast<size_t>(r.position));
  const uint64_t want = lineage_.answer(*lineage_.node(plan.node), partition);
  if (r.value.view() != std::to_string(want))
    broken("wrong answer", "ticket " + std::to_string(r.ticket) + ", partition " +
                               std::to_string(partition) + ": " + std::string(r.value.view()) +
                               ", not " + std::to_string(want));
}

void Checks::counted(const ApplyAccumulators& e) {
  for (const AccumulatorUpdate& u : e.updates) ++counts_[static_cast<uint64_t>(u.id.value)];
}

void Checks::ended(const DeliverJobEnd& e) {
  if (!open_.erase(e.ticket)) broken("job ended twice", "ticket " + std::to_string(e.ticket));
  ended_.insert(e.ticket);
  const JobPlan& plan = job(e.ticket);
  if (e.job.value >= 0 && !jobs_[e.job])
    broken("job ended unannounced", "job " + std::to_string(e.job.value));
  if (!e.error.empty()) return justified(plan, e.ticket, e.error);
  if (plan.poison >= 0 && std::ranges::count(plan.partitions, plan.poison))
    broken("poisoned job succeeded", "ticket " + std::to_string(e.ticket));
  if (results_[e.ticket].size() != plan.partitions.size())
    broken("job ended without all results", "ticket " + std::to_string(e.ticket));
  if (counts_[e.ticket] != static_cast<int64_t>(plan.partitions.size()))
    broken("accumulator", "ticket " + std::to_string(e.ticket) + ": counted " +
                              std::to_string(counts_[e.ticket]) + " of " +
                              std::to_string(plan.partitions.size()));
  reached(Path::JobSucceeded);
}

/// A job may fail, but only for a reason that the run has really given.
void Checks::justified(const JobPlan&, uint64_t ticket, const std::string& error) {
  const auto after = [&](const char* words) {
    const size_t at = error.find(words);
    return at == error.npos ? nullptr : error.c_str() + at;
  };
  int32_t index = 0, stage = 0, attempt = 0, times = 0;
  if (after(" cancelled ") && !error.starts_with("Job aborted")) {
    if (!cancelled_.contains(ticket)) broken("cancelled by nobody", error);
    return reached(Path::JobCancelled);
  }
  if (const char* at = after("Task ");
      at && std::sscanf(at, "Task %d in stage %d.%d failed %d times", &index, &stage, &attempt,
                        &times) == 4) {
    if (failures_[{StageId{stage}, attempt, index}] < scenario_.settings.max_failures)
      broken("aborted too early", error);
    return reached(Path::TaskAbort);
  }
  const char* words = after("ResultStage ")       ? after("ResultStage ") + 12
                      : after("ShuffleMapStage ") ? after("ShuffleMapStage ") + 16
                                                  : nullptr;
  if (words && after("has failed the maximum allowable number of times")) {
    if (std::sscanf(words, "%d", &stage) != 1 ||
        static_cast<int32_t>(fetch_failures_[StageId{stage}].size()) <
            scenario_.settings.max_attempts)
      broken("aborted too early", error);
    return reached(Path::StageAbort);
  }
  if (given_up() && error.ends_with(given_up_)) return;
  broken("job failed without a reason", error);
}

// ---- listener events ---------------------------------------------------------------------------

void Checks::published(const ListenerEvent& event) {
  std::visit([this](const auto& e) { on(e); }, event);
}

void Checks::on(const TaskStarted& e) {
  if (!attempts_.emplace(e.task.id, Attempt{false, e.task, {}}).second)
    broken("task started twice", text(e.task.id));
  if (e.task.attempt > 0) reached(Path::TaskRetried);
}

void Checks::on(const TaskEnded& e) {
  const auto it = attempts_.find(e.task.id);
  if (it == attempts_.end()) broken("task ended but never started", text(e.task.id));
  if (e.reason.kind == TaskEndKind::Resubmitted) {
    if (!it->second.ended || it->second.how != TaskEndKind::Success)
      broken("resubmitted without success", text(e.task.id));
    return reached(Path::MapResubmitted);
  }
  if (it->second.ended) broken("task ended twice", text(e.task.id));
  it->second.ended = true;
  it->second.how = e.reason.kind;
  count_failure(e);
  if (e.task.speculative && e.reason.kind == TaskEndKind::TaskKilled) reached(Path::CopyLost);
  switch (e.reason.kind) {
    case TaskEndKind::Success:
      if (e.task.stage_attempt < latest_[e.task.stage].attempt) reached(Path::ZombieSuccess);
      if (e.task.speculative) reached(Path::CopyWon);
      failures_.erase({e.task.stage, e.task.stage_attempt, e.task.index});
      if (without_blocks_.contains(e.task.executor))
        doubtful_.emplace_back(e.task.stage, e.task.partition);
      return;
    case TaskEndKind::FetchFailed:
      submitted_now_.clear();
      reached(e.reason.map_index < 0 ? Path::MissingOutput : Path::FetchFailed);
      fetch_failures_[e.task.stage].insert(e.task.stage_attempt);
      return;
    case TaskEndKind::ExecutorLostFailure:
      return reached(e.reason.exit_caused_by_app ? Path::LossBlamed : Path::LossUnblamed);
    case TaskEndKind::TaskResultLost:
      return reached(Path::IndirectResultLost);
    case TaskEndKind::TaskKilled:
      return reached(Path::TaskKilled);
    default:
      return;
  }
}

void Checks::count_failure(const TaskEnded& e) {
  if (counts_as_failure(e.reason)) ++failures_[{e.task.stage, e.task.stage_attempt, e.task.index}];
}

void Checks::on(const StageSubmitted& e) {
  if (!running_stages_.insert(e.stage.stage).second)
    broken("stage submitted while it runs", text(e.stage.stage));
  failed_stages_.erase(e.stage.stage);
  if (e.stage.attempt > 0 && latest_.contains(e.stage.stage)) reached(Path::StageResubmitted);
  latest_[e.stage.stage] = e.stage;
  submitted_now_.push_back(e.stage.stage);
}

void Checks::on(const StageCompleted& e) {
  const bool failed = !e.stage.failure_reason.empty();
  // As in Spark: a stage that waits for its next attempt completes when copies of its tasks, left
  // over from the one before, bring its last results.
  const bool late = !failed && failed_stages_.contains(e.stage.stage);
  if (!running_stages_.erase(e.stage.stage) && !late)
    broken("stage completed that did not run", text(e.stage.stage));
  failed_stages_.erase(e.stage.stage);
  if (failed) failed_stages_.insert(e.stage.stage);
  if (e.stage.failure_reason.empty()) fetch_failures_.erase(e.stage.stage);
}

void Checks::on(const JobStarted& e) {
  if (!jobs_.emplace(e.job, false).second)
    broken("job started twice", "job " + std::to_string(e.job.value));
  for (const StageInfo& stage : e.stages) stages_of_[e.job].push_back(stage.stage);
}

void Checks::on(const JobEnded& e) {
  const auto it = jobs_.find(e.job);
  if (it == jobs_.end() || it->second)
    broken("job ended without a start", "job " + std::to_string(e.job.value));
  it->second = true;
  for (const StageId stage : stages_of_[e.job])
    if (e.succeeded && !latest_.contains(stage)) reached(Path::StageSkipped);
}

void Checks::on(const ExecutorRemoved& e) {
  submitted_now_.clear();
  if (e.reason.find("heartbeat timed out") != std::string::npos) reached(Path::HeartbeatExpiry);
  if (e.reason.find("disassociated") != std::string::npos) reached(Path::Disassociated);
}

// ---- state -------------------------------------------------------------------------------------

/// A stage that begins finds every output that it reads; what lies behind a cached rdd may be gone.
void Checks::parents_complete(const Driver& driver) {
  for (const StageId id : std::exchange(submitted_now_, {})) {
    const auto it = driver.dag().stages().find(id);
    if (it == driver.dag().stages().end() || !driver.dag().running().contains(id)) continue;
    walk_stage(
        it->second.root, [](const Node& node) { return node.storage_bits.load() == 0; },
        [&](const ShufflePtr& shuffle) {
          if (!driver.map_outputs().missing(shuffle->id).empty())
            broken("stage began with a missing output",
                   text(id) + ", shuffle " + std::to_string(shuffle->id.value));
        });
  }
}

/// Outputs made before the loss of what their executor held count for nothing.
void Checks::bogus_completions(const Driver& driver) {
  for (const auto& [stage, partition] : std::exchange(doubtful_, {})) {
    const auto it = driver.dag().stages().find(stage);
    if (it == driver.dag().stages().end() || !it->second.is_map()) continue;
    const std::vector<int32_t> missing = driver.map_outputs().missing(it->second.shuffle->id);
    if (std::ranges::count(missing, partition)) reached(Path::BogusCompletion);
  }
}

void Checks::turn_ended(const Driver& driver) {
  bogus_completions(driver);
  parents_complete(driver);
  if (driver.map_outputs().epoch() < epoch_) broken("epoch went back", std::to_string(epoch_));
  epoch_ = driver.map_outputs().epoch();
  std::set<StageId> active;
  for (const auto& set : driver.tasks().task_sets())
    if (!set->zombie() && !active.insert(set->spec().stage).second)
      broken("two active task sets of one stage", text(set->spec().stage));
  for (int32_t i = 0; i < driver.executors().count(); ++i) {
    const Executor& e = driver.executors().at(i);
    if (e.running < 0 || e.ahead < 0 || e.revoking < 0 || e.ahead > e.running ||
        e.revoking > e.running)
      broken("slots of an executor", e.id.value + ": " + std::to_string(e.running) + " running, " +
                                         std::to_string(e.ahead) + " ahead, " +
                                         std::to_string(e.revoking) + " revoking");
  }
  if (open_.empty() && !driver.dag().idle())
    broken("stages of ended jobs are left",
           std::to_string(driver.dag().stages().size()) + " stages");
}

void Checks::load(const std::string& executor, size_t waiting, size_t running, size_t slots) {
  const auto ahead = static_cast<size_t>(scenario_.settings.launch_ahead);
  if (waiting > 0) reached(Path::LaunchedAhead);
  if (running > slots || waiting + running > slots + ahead)
    broken("a slot given twice", executor + " has " + std::to_string(slots) + " slots, runs " +
                                     std::to_string(running) + " and holds " +
                                     std::to_string(waiting) + " more");
}

void Checks::told_epoch(const std::string& executor, int64_t epoch) {
  int64_t& last = epochs_[executor];
  if (epoch < last)
    broken("epoch went back",
           executor + " was told " + std::to_string(epoch) + " after " + std::to_string(last));
  last = epoch;
}

/// Whoever was allowed before must have failed by now.
void Checks::committing(StageId stage, int32_t partition, TaskId task) {
  reached(Path::CommitAllowed);
  const auto own = attempts_.find(task);
  if (own == attempts_.end() || own->second.ended) return;  // an answer that came too late
  const auto [it, fresh] = committers_.try_emplace({stage, partition}, task);
  if (fresh || it->second == task) return;
  const auto before = attempts_.find(it->second);
  if (before != attempts_.end() &&
      (!before->second.ended || before->second.how == TaskEndKind::Success))
    broken("two may commit one partition", text(stage) + ", partition " +
                                               std::to_string(partition) + ": " + text(it->second) +
                                               " and " + text(task));
  it->second = task;
}

void Checks::at_end(const Driver& driver) const {
  if (!open_.empty()) broken("a job hangs", std::to_string(open_.size()) + " jobs");
  if (!driver.idle_state_is_clean())
    broken("state of ended jobs is left",
           std::to_string(driver.tasks().task_sets().size()) + " task sets");
  for (const auto& [id, attempt] : attempts_)
    if (!attempt.ended) broken("task without an end", text(id));
  if (!running_stages_.empty()) broken("stage without an end", text(*running_stages_.begin()));
  for (int32_t i = 0; i < driver.executors().count(); ++i) {
    const Executor& e = driver.executors().at(i);
    if (e.running != 0 || e.ahead != 0 || e.revoking != 0)
      broken("slots of an executor", e.id.value + " runs something though no job does");
  }
}

}  // namespace tinderbox::sim
