// Results, the ends of jobs, and what executors see.
#include "tests/sim/checks/checks.hpp"

#include <algorithm>
#include <cstdio>

namespace tinderbox::sim {

using namespace core;

void Checks::broken(const std::string& check, const std::string& detail) const {
  throw Broken(check, detail);
}

// ---- results -----------------------------------------------------------------------------------

void Checks::delivered(const DeliverResult& r) {
  if (!app_.open.contains(r.ticket))
    broken("result of no open job", "ticket " + std::to_string(r.ticket));
  if (!app_.results[r.ticket].insert(r.position).second)
    broken("result counted twice",
           "ticket " + std::to_string(r.ticket) + ", position " + std::to_string(r.position));
  const JobPlan& plan = job(r.ticket);
  if (const ShufflePtr made = wanted_by(plan)) return right_statistics(*made, r.value);
  const int32_t partition = plan.partitions.at(static_cast<size_t>(r.position));
  right_answer(r.ticket, partition, r.value);
}

void Checks::counted(const ApplyAccumulators& e) {
  for (const AccumulatorUpdate& u : e.updates) ++app_.counts[static_cast<uint64_t>(u.id.value)];
}

void Checks::submitted(uint64_t ticket) {
  app_.open.insert(ticket);
  app_.submitted[ticket] = world_.now();
  const JobPlan& plan = job(ticket);
  // As in Spark, one of no partitions is over before anyone looks at its group.
  const bool empty = plan.partitions.empty() && !wanted_by(plan);
  if (!plan.group.empty() && !empty && app_.cancelled_groups.contains(plan.group))
    app_.refused.insert(ticket);
}

std::optional<JobId> Checks::started_as(uint64_t ticket) const {
  const auto it = app_.started.find(ticket);
  return it == app_.started.end() ? std::nullopt : std::optional(it->second);
}

namespace {
constexpr const char* kTooFewSlots = "[SPARK-24819]";
constexpr const char* kUnsupportedShape = "[SPARK-24820]";
bool no_barrier(const std::string& error) {
  return error.starts_with(kTooFewSlots) || error.starts_with(kUnsupportedShape);
}
}  // namespace

void Checks::ended(const DeliverJobEnd& e) {
  if (!app_.open.erase(e.ticket)) broken("job ended twice", "ticket " + std::to_string(e.ticket));
  app_.ended.insert(e.ticket);
  const JobPlan& plan = job(e.ticket);
  if (app_.refused.contains(e.ticket)) return refused(plan, e);
  // One with a barrier stage waits for slots before it starts, and may end there.
  const auto told = app_.jobs.find(e.job);
  const bool announced = told == app_.jobs.end() ? needs_barrier(plan.node) && !e.error.empty()
                                                 : told->second && !no_barrier(e.error);
  if (e.job.value >= 0 && !announced)
    broken("job ended unannounced", "job " + std::to_string(e.job.value));
  if (!e.error.empty()) return justified(plan, e);
  complete(plan, e);
  reached(Path::JobSucceeded);
}

/// No listener ever hears of it.
void Checks::refused(const JobPlan& plan, const DeliverJobEnd& e) {
  if (given_up() && e.error.ends_with(app_.given_up)) return;
  if (app_.jobs.contains(e.job) ||
      e.error != "Job " + std::to_string(e.job.value) +
                     " cancelled: Skip running a job that belongs to the cancelled job group " +
                     plan.group)
    broken("a job of a cancelled group", e.error.empty() ? "it succeeded" : e.error);
  reached(Path::GroupRefused);
}

void Checks::complete(const JobPlan& plan, const DeliverJobEnd& e) {
  const std::string name = "ticket " + std::to_string(e.ticket);
  if (!may_have_shape(plan)) broken("a barrier stage ran that has to be refused", name);
  if (const ShufflePtr made = wanted_by(plan)) {
    if (app_.results[e.ticket].empty()) broken("job ended without its statistics", name);
    app_.made_now.push_back(made->id);
    return reached(Path::MapStageJob);
  }
  if (plan.poison >= 0 && std::ranges::count(plan.partitions, plan.poison))
    broken("poisoned job succeeded", name);
  if (app_.results[e.ticket].size() != plan.partitions.size())
    broken("job ended without all results", name);
  if (app_.counts[e.ticket] != static_cast<int64_t>(plan.partitions.size()))
    broken("accumulator", name + ": counted " + std::to_string(app_.counts[e.ticket]) + " of " +
                              std::to_string(plan.partitions.size()));
  one_version(e);
}

/// A job may fail, but only for a reason that the run has really given.
void Checks::justified(const JobPlan& plan, const DeliverJobEnd& e) {
  const std::string& error = e.error;
  const auto after = [&](const char* words) {
    const size_t at = error.find(words);
    return at == error.npos ? nullptr : error.c_str() + at;
  };
  int32_t index = 0, stage = 0, attempt = 0, times = 0;
  if (after(" cancelled ") && !error.starts_with("Job aborted")) {
    if (!app_.cancelled.contains(e.ticket)) broken("cancelled by nobody", error);
    return reached(Path::JobCancelled);
  }
  if (const char* at = after("Task ");
      at && std::sscanf(at, "Task %d in stage %d.%d failed %d times", &index, &stage, &attempt,
                        &times) == 4) {
    if (app_.failures[{StageId{stage}, attempt, index}] < scenario_.settings.max_failures)
      broken("aborted too early", error);
    return reached(Path::TaskAbort);
  }
  const char* words = after("ResultStage ")       ? after("ResultStage ") + 12
                      : after("ShuffleMapStage ") ? after("ShuffleMapStage ") + 16
                                                  : nullptr;
  if (words && after("has failed the maximum allowable number of times")) {
    if (std::sscanf(words, "%d", &stage) != 1 ||
        static_cast<int32_t>(app_.failed_attempts[StageId{stage}].size()) <
            scenario_.settings.max_attempts)
      broken("aborted too early", error);
    return reached(Path::StageAbort);
  }
  // Some of its results may have been used.
  if (after("Could not recover from a failed barrier ResultStage")) {
    if (!result_stage_failed(e.job, after("ResultTask("))) broken("aborted too early", error);
    return reached(Path::StageAbort);
  }
  if (after("Spark cannot rollback the ")) return cannot_roll_back(plan, e.ticket, error);
  if (given_up() && error.ends_with(app_.given_up)) return;
  if (after("cannot run anywhere due to node and executor excludeOnFailure")) {
    if (!may_run_nowhere(error)) broken("given up though nothing is excluded", error);
    return reached(Path::RunsNowhere);
  }
  if (const char* at = after("Fail resource offers for barrier stage"))
    return placed_in_part(e, at);
  if (error.starts_with(kTooFewSlots)) return too_few_slots(plan, e);
  if (error.starts_with(kUnsupportedShape)) return refused_shape(plan, e);
  broken("job failed without a reason", error);
}

/// An attempt of the job's result stage has, which is a barrier stage. `task`: names the stage if
/// one of its own tasks failed first.
bool Checks::result_stage_failed(JobId job, const char* task) const {
  int32_t stage = -1;
  if (task) std::sscanf(task, "ResultTask(%d", &stage);
  const auto stages = app_.stages_of.find(job);
  if (stages == app_.stages_of.end()) return false;
  return std::ranges::any_of(stages->second, [&](StageId id) {
    const auto known = app_.latest.find(id);
    const auto failed = app_.failed_attempts.find(id);
    return known != app_.latest.end() && known->second.shuffle.value < 0 &&
           (stage < 0 || id.value == stage) && failed != app_.failed_attempts.end() &&
           !failed->second.empty();
  });
}

/// It is computed by a barrier stage, or from what one computes.
bool Checks::needs_barrier(int32_t node) const {
  const NodePlan& plan = scenario_.nodes.at(static_cast<size_t>(node));
  return plan.barrier ||
         std::ranges::any_of(plan.parents, [&](int32_t parent) { return needs_barrier(parent); });
}

void Checks::asked_for(const std::map<int32_t, int32_t>& totals) {
  int32_t executors = 0;
  for (const auto& [profile, total] : totals) executors += total;
  if (app_.asked_for >= 0 && executors > app_.asked_for) reached(Path::ExecutorsAdded);
  if (executors < app_.asked_for) reached(Path::ExecutorsGivenBack);
  app_.asked_for = executors;
  const AllocationOptions& limits = *scenario_.settings.allocation;
  for (const auto& [profile, total] : totals)
    if (total < limits.min_executors || total > limits.max_executors)
      broken("asked for too many or too few executors",
             std::to_string(total) + " of profile " + std::to_string(profile));
}

// ---- executors ---------------------------------------------------------------------------------

void Checks::load(const std::string& executor, size_t waiting, size_t running, size_t slots) {
  const auto ahead = static_cast<size_t>(scenario_.settings.launch_ahead);
  if (waiting > 0) reached(Path::LaunchedAhead);
  if (running > slots || waiting + running > slots + ahead)
    broken("a slot given twice", executor + " has " + std::to_string(slots) + " slots, runs " +
                                     std::to_string(running) + " and holds " +
                                     std::to_string(waiting) + " more");
}

void Checks::told_epoch(const std::string& executor, int64_t epoch) {
  int64_t& last = app_.epochs[executor];
  if (epoch < last)
    broken("epoch went back",
           executor + " was told " + std::to_string(epoch) + " after " + std::to_string(last));
  last = epoch;
}

/// Whoever was allowed before must have failed by now, or have been rolled back.
void Checks::committing(StageId stage, int32_t partition, TaskId task) {
  reached(Path::CommitAllowed);
  const auto own = app_.attempts.find(task);
  if (own == app_.attempts.end() || own->second.ended) return;  // an answer that came too late
  const auto [it, fresh] = app_.committers.try_emplace({stage, partition}, task);
  if (fresh || it->second == task) return;
  const auto before = app_.attempts.find(it->second);
  if (before != app_.attempts.end() &&
      (!before->second.ended ||
       (before->second.how == TaskEndKind::Success && !counts_for_nothing(before->second))))
    broken("two may commit one partition", text(stage) + ", partition " +
                                               std::to_string(partition) + ": " + text(it->second) +
                                               " and " + text(task));
  it->second = task;
}

std::string Checks::at_barrier(StageId stage, int32_t attempt, int32_t partition) {
  return std::to_string(stage.value) + "." + std::to_string(attempt) + "." +
         std::to_string(partition);
}

void Checks::met(StageId stage, int32_t attempt, const std::vector<std::string>& said) {
  reached(Path::TasksMet);
  for (size_t p = 0; p < said.size(); ++p)
    if (said[p] != at_barrier(stage, attempt, static_cast<int32_t>(p)))
      broken("a barrier brought others together",
             at_barrier(stage, attempt, static_cast<int32_t>(p)) + " met " + said[p]);
}

}  // namespace tinderbox::sim
