// Lineage cut by checkpoints: jobs submitted later read what was written instead of computing it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/plan/lineage/lineage.hpp"
#include "core/scheduler/dag/stage.hpp"

namespace tinderbox::core {

class Checkpoints {
 public:
  /// `rdd` has its checkpoint. Jobs before `next` were submitted without it.
  void done(std::weak_ptr<const Node> rdd, JobId next);
  /// Cuts the lineage of those that no stage of a job from before computes any more. Source: Spark
  /// RDD.markCheckpointed, which lets go at once.
  void cut_unread(const std::map<StageId, Stage>& stages);
  /// How many wait for that.
  size_t uncut() const { return uncut_.size(); }
  /// `root` with every checkpointed ancestor replaced; `root` itself when there is none. What is
  /// persisted at that moment is still looked for, and kept, under its own id.
  NodePtr rewire(const NodePtr& root) const;
  /// The same with what it shuffles.
  ShufflePtr rewire(const ShufflePtr& shuffle) const;

 private:
  struct Uncut {
    std::weak_ptr<const Node> rdd;
    JobId next;
  };
  bool any_ = false;
  std::vector<Uncut> uncut_;
};

}  // namespace tinderbox::core
