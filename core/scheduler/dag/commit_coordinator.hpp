// Who may commit the output of a partition: the first that asks, until it fails.
// Source: Spark 4.3 OutputCommitCoordinator.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "net/wire/messages.hpp"

namespace tinderbox::core {

class CommitCoordinator {
 public:
  /// A stage attempt begins; what is known from an earlier attempt stays.
  void stage_start(StageId stage) { stages_.try_emplace(stage); }
  void stage_end(StageId stage) { stages_.erase(stage); }
  bool may_commit(const AskPermissionToCommit& ask);
  /// An attempt ended; without success its permission is free again and it gets no other.
  void attempt_ended(StageId stage, int32_t stage_attempt, int32_t partition, int32_t attempt,
                     TaskEndKind how);
  bool empty() const { return stages_.empty(); }

 private:
  using AttemptKey = std::pair<int32_t, int32_t>;  // stage attempt, task attempt
  struct Partition {
    std::optional<AttemptKey> holder;
    std::set<AttemptKey> failed;
  };
  std::map<StageId, std::map<int32_t, Partition>> stages_;
};

}  // namespace tinderbox::core
