// Which Rdds are to be checkpointed, and which are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/lineage.hpp"
#include "net/files/files.hpp"
#include "net/mutex.hpp"

namespace tinderbox::core {

/// An Rdd is marked, then written after the next job that uses it, then replaced by what reads what
/// was written. Thread: any. Source: Spark RDDCheckpointData.
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
  std::vector<RddId> to_write(const Node& root, bool all) const;
  /// What replaces Rdd `id` from now on; null: another thread was first. Errors: throws what the
  /// job throws, std::runtime_error when there is no folder for it, std::logic_error when a local
  /// one is not to be kept on disk (any more).
  NodePtr write(RddId id, net::Files& files);

  bool is_checkpointed(RddId id) const { return replacement(id) != nullptr; }
  /// With the executors, now or after the next job that uses it.
  bool is_local(RddId id) const;
  /// Null: it is not checkpointed.
  NodePtr replacement(RddId id) const;
  /// Where its partitions are; nullopt: nowhere, or with the executors.
  std::optional<std::string> directory_of(RddId id) const;

 private:
  struct Mark {
    std::weak_ptr<const Node> node;
    Write write;
    bool local = false;
  };
  struct Done {
    NodePtr replacement;
    std::string directory;
  };
  mutable net::Mutex mutex_;
  std::string directory_ GUARDED_BY(mutex_);
  std::map<RddId, Mark> marked_ GUARDED_BY(mutex_);
  std::map<RddId, bool> writing_ GUARDED_BY(mutex_);  // true: a local one
  std::map<RddId, Done> done_ GUARDED_BY(mutex_);
};

}  // namespace tinderbox::core
