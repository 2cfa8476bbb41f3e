// Jobs and stages as the DAG scheduler keeps them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/plan/job.hpp"
#include "core/scheduler/tasks/task_set.hpp"
#include "core/status/events.hpp"

namespace tinderbox::core {

/// A running action. Shape: finished[i] is partitions[i]'s; of a map-stage job: its one stage's.
struct Job {
  JobId id;
  uint64_t ticket = 0;
  StageId final_stage;
  std::vector<int32_t> partitions;
  const Descriptor* action = nullptr;
  Bytes action_captured;
  References held;  // by those
  PropertiesPtr properties;
  std::vector<bool> finished;
  size_t num_finished = 0;
  std::set<StageId> stages;
};

/// Tasks that run without exchanging data, over the partitions of `root`.
struct Stage {
  StageId id;
  NodePtr root;
  ShufflePtr shuffle;  // what its tasks write; null: a result stage
  JobId result_of;     // of a result stage
  std::string name;
  std::vector<StageId> parents;
  JobId first_job;
  std::set<JobId> jobs;  // those that need it
  int32_t next_attempt = 0;
  std::set<int32_t> failed_attempts;  // by fetch or barrier failures, since the last success
  /// Attempts before it read what was thrown away since: what they still give counts for nothing.
  int32_t first_valid_attempt = 0;
  /// Map stage: outputs that the latest attempt still owes.
  std::vector<bool> pending;
  int32_t num_pending = 0;
  StageInfo info;  // of the latest attempt

  bool is_map() const { return shuffle != nullptr; }
  /// As Spark's messages name it.
  std::string text() const {
    return (is_map() ? "ShuffleMapStage " : "ResultStage ") + std::to_string(id.value);
  }
  bool indeterminate() const { return root->determinism == Determinism::Indeterminate; }
  /// Its outputs are good only together: what is missing is never computed alone.
  bool all_or_nothing() const { return root->barrier || indeterminate(); }
};

}  // namespace tinderbox::core
