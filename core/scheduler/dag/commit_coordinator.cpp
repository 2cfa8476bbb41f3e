// Who may commit the output of a partition.
#include "core/scheduler/dag/commit_coordinator.hpp"

namespace tinderbox::core {

bool CommitCoordinator::may_commit(const AskPermissionToCommit& ask) {
  const auto stage = stages_.find(ask.stage);
  if (stage == stages_.end()) return false;
  Partition& p = stage->second[ask.partition];
  const AttemptKey key{ask.stage_attempt, ask.attempt};
  if (p.holder || p.failed.contains(key)) return false;
  p.holder = key;
  return true;
}

void CommitCoordinator::attempt_ended(StageId stage, int32_t stage_attempt, int32_t partition,
                                      int32_t attempt, TaskEndKind how) {
  if (how == TaskEndKind::Success) return;
  const auto found = stages_.find(stage);
  if (found == stages_.end()) return;
  Partition& p = found->second[partition];
  const AttemptKey key{stage_attempt, attempt};
  // An attempt that was allowed ends as denied when the answer came too late for it: it has not
  // committed and never will.
  if (how == TaskEndKind::TaskCommitDenied && p.holder != key) return;
  p.failed.insert(key);
  if (p.holder == key) p.holder.reset();
}

}  // namespace tinderbox::core
