#include "core/api/runtime/checkpoint_marks.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "core/plan/lineage/debug_string.hpp"
#include "net/log.hpp"
#include "net/mutex.hpp"

namespace tinderbox::core {
namespace {

/// Removes what attempts left there that did not end: nobody needs it any more.
void sweep(net::Files& files, const std::string& directory) {
  if (directory.empty()) return;
  if (const auto swept = files.discard_uncommitted(directory); !swept)
    net::log(net::Level::Warn, "Checkpoint", swept.error().message);
}

/// Without a disk a partition may have no room, and could never be computed again. Source: Spark
/// LocalRDDCheckpointData.doCheckpoint.
void require_disk(const NodePtr& node) {
  if (!node) return;
  const StorageLevel level = unpack_level(node->storage_bits);
  if (level.disk) return;
  throw std::logic_error("Storage level " + (level.stored() ? describe(level) : "NONE") +
                         " is not appropriate for local checkpointing");
}

}  // namespace

void CheckpointMarks::set_directory(std::string directory) {
  net::Lock lock(mutex_);
  directory_ = std::move(directory);
}

bool CheckpointMarks::has_directory() const {
  net::Lock lock(mutex_);
  return !directory_.empty();
}

void CheckpointMarks::mark(const NodePtr& node, Write write) {
  net::Lock lock(mutex_);
  if (directory_.empty())
    throw std::logic_error("Checkpoint directory has not been set in the SparkContext");
  if (!node->checkpoint) marked_.try_emplace(node->id, Mark{node, std::move(write), false});
}

bool CheckpointMarks::mark_local(const NodePtr& node, Write write) {
  net::Lock lock(mutex_);
  if (node->checkpoint) return false;
  marked_.insert_or_assign(node->id, Mark{node, std::move(write), true});
  return true;
}

// Ancestors first, so that with `all` a marked child is computed from its marked parents' files.
std::vector<RddId> CheckpointMarks::to_write(const Node& root, bool all) {
  net::Lock lock(mutex_);
  std::erase_if(marked_, [](const auto& entry) { return entry.second.node.expired(); });
  std::vector<RddId> found;
  if (marked_.empty()) return found;
  net::Lock lineage(lineage_mutex());
  std::set<const Node*> seen{&root};
  std::vector<const Node*> todo{&root};
  while (!todo.empty()) {
    const Node* node = todo.back();
    todo.pop_back();
    if (node->checkpoint) continue;
    // The job that writes it must not write what it hides.
    if (writing_.contains(node->id) && !all) continue;
    if (marked_.contains(node->id)) {
      found.push_back(node->id);
      if (!all) continue;
    }
    for (const auto& d : node->dependencies)
      if (seen.insert(parent_of(d).get()).second) todo.push_back(parent_of(d).get());
  }
  std::sort(found.begin(), found.end());
  return found;
}

NodePtr CheckpointMarks::write(RddId id, net::Files& files) {
  Mark mark;
  NodePtr node;
  std::string directory;
  {
    net::Lock lock(mutex_);
    const auto it = marked_.find(id);
    if (it == marked_.end()) return nullptr;
    mark = std::move(it->second);
    marked_.erase(it);
    node = mark.node.lock();
    if (!node || node->checkpoint) return nullptr;
    if (!mark.local) directory = directory_ + "/rdd-" + std::to_string(id.value);
    writing_[id] = mark.local;
  }
  const auto end = [&](NodePtr made) {
    net::Lock lock(mutex_);
    writing_.erase(id);
    if (!made || node->checkpoint) return NodePtr();
    node->checkpoint = new Checkpoint{std::move(made), directory};
    return node;
  };
  try {
    if (!directory.empty())
      if (const auto made = files.make_directories(directory); !made)
        throw std::runtime_error("Checkpoint failed: " + made.error().message);
    if (mark.local) require_disk(node);
    NodePtr made = mark.write(directory);
    if (mark.local) require_disk(made);  // another thread may have unpersisted it
    sweep(files, directory);
    return end(std::move(made));
  } catch (...) {
    sweep(files, directory);
    end(nullptr);
    throw;
  }
}

bool CheckpointMarks::is_local(const Node& node) const {
  net::Lock lock(mutex_);
  if (const Checkpoint* written = node.checkpoint) return written->directory.empty();
  if (const auto marked = marked_.find(node.id); marked != marked_.end())
    return marked->second.local;
  const auto begun = writing_.find(node.id);
  return begun != writing_.end() && begun->second;
}

}  // namespace tinderbox::core
