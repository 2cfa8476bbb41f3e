// Lineage cut by checkpoints: jobs submitted later read what was written instead of computing it.
#pragma once

#include <map>

#include "core/plan/lineage.hpp"

namespace tinderbox::core {

class Checkpoints {
 public:
  void done(RddId rdd, NodePtr replacement) { replaced_[rdd] = std::move(replacement); }
  /// `root` with every checkpointed ancestor replaced; `root` itself when there is none. What is
  /// persisted at that moment is still looked for, and kept, under its own id.
  NodePtr rewire(const NodePtr& root) const;
  /// The same with what it shuffles.
  ShufflePtr rewire(const ShufflePtr& shuffle) const;

 private:
  std::map<RddId, NodePtr> replaced_;
};

}  // namespace tinderbox::core
