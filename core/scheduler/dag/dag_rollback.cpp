// Indeterminate stages: outputs that come out otherwise when they are made again.
//
// When a part of them is lost, what is left can't stand beside what would replace it: the whole
// stage runs again, and so does everything that was computed from it. A stage that runs meanwhile
// reads both, so its attempt is given up. Results that a job has are in the user's hands: a job
// with some fails. Source: Spark 4.3 DAGScheduler.handleTaskCompletion, rollbackSucceedingStages.
#include <algorithm>

#include "core/scheduler/dag/dag_scheduler.hpp"

namespace tinderbox::core {

/// `id` and every stage that reads it, be it through others. A stage is younger than its parents.
std::set<StageId> DagScheduler::with_readers(StageId id) const {
  std::set<StageId> found{id};
  for (const auto& [reader, stage] : stages_)
    if (std::any_of(stage.parents.begin(), stage.parents.end(),
                    [&](StageId parent) { return found.contains(parent); }))
      found.insert(reader);
  return found;
}

void DagScheduler::forget_outputs(const Stage& stage) {
  const ShuffleId shuffle = stage.shuffle->id;
  if (outputs_.available(shuffle) > 0) outputs_.unregister_all_outputs(shuffle);
}

/// False: no job is left that needs `source`.
bool DagScheduler::abort_unless_revocable(const std::set<StageId>& stages, StageId source,
                                          Turn& turn) {
  for (const StageId id : stages) {
    const Stage* stage = find(id);
    if (!stage || stage->is_map() || jobs_.at(stage->result_of).num_finished == 0) continue;
    abort_stage(id,
                "A shuffle map stage with indeterminate output was failed and retried. However, "
                "Spark cannot rollback the " +
                    stage->text() +
                    " to re-process the input data, and has to fail this job. Please eliminate the "
                    "indeterminacy by checkpointing the RDD before repartition and try again.",
                turn);
  }
  return find(source) != nullptr;
}

/// False: as above.
bool DagScheduler::roll_back(StageId source, Turn& turn) {
  const std::set<StageId> stages = with_readers(source);
  if (!abort_unless_revocable(stages, source, turn)) return false;
  const std::string why = "Rolled back: the indeterminate output of " + stages_.at(source).text() +
                          ", which it reads, is made again";
  for (const StageId id : stages) {
    Stage* reader = id == source ? nullptr : find(id);
    if (!reader) continue;
    reader->first_valid_attempt = reader->next_attempt;
    if (reader->is_map()) forget_outputs(*reader);
    if (!running_.contains(id)) continue;
    tasks_.cancel(id, why, false, turn);
    mark_finished(*reader, why, true, turn);
    retry_later(id, turn);
  }
  return true;
}

/// To be called before tasks are made of what `stage` lacks. False: no job needs it any more.
bool DagScheduler::start_anew(Stage& stage, Turn& turn) {
  if (!stage.is_map() || !stage.all_or_nothing() || available(stage)) return true;
  // Of a stage that never ran, not even for an earlier job, nobody has read anything.
  const bool ran = stage.next_attempt > 0 || outputs_.ever_had(stage.shuffle->id);
  if (stage.indeterminate() && ran && !roll_back(stage.id, turn)) return false;
  forget_outputs(stage);
  return true;
}

}  // namespace tinderbox::core
