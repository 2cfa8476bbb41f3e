// Which Rdds are to be checkpointed, and which are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/lineage/lineage.hpp"
#include "net/files/files.hpp"
#include "net/mutex.hpp"

namespace tinderbox::core {

/// An Rdd is marked, then written after the next job that uses it, then has a Node::checkpoint.
/// Thread: any. Source: Spark RDDCheckpointData.
class CheckpointMarks {
 public:
  /// Runs the job that keeps the partitions (in `directory`; empty: with the executors) and returns
  /// what replaces the Rdd.
  using Write = std::function<NodePtr(const std::string& directory)>;

  void set_directory(std::string directory);
  bool has_directory() const;
  /// Nothing when it is marked already. Errors: throws std::logic_error without a directory.
  void mark(const NodePtr& node, Write write);
  /// Takes the place of a mark(). False: it is checkpointed already.
  bool mark_local(const NodePtr& node, Write write);
  /// Those that a job over `root` used and that are to be written now, ancestors first. Without
  /// `all` a marked Rdd hides those behind it.
  std::vector<RddId> to_write(const Node& root, bool all);
  /// Rdd `id`, which has its checkpoint now; null: another thread was first, or nobody has it any
  /// more. Errors: throws what the job throws, std::runtime_error when there is no folder for it,
  /// std::logic_error when a local one is not to be kept on disk (any more).
  NodePtr write(RddId id, net::Files& files);
  /// With the executors, now or after the next job that uses it.
  bool is_local(const Node& node) const;

 private:
  struct Mark {
    std::weak_ptr<const Node> node;
    Write write;
    bool local = false;
  };
  mutable net::Mutex mutex_;
  std::string directory_ GUARDED_BY(mutex_);
  std::map<RddId, Mark> marked_ GUARDED_BY(mutex_);
  std::map<RddId, bool> writing_ GUARDED_BY(mutex_);  // true: a local one
};

}  // namespace tinderbox::core
