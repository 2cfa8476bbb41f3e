// Walks over lineage: which shuffles a stage reads, where its partitions would rather run.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/plan/lineage/lineage.hpp"
#include "core/scheduler/dag/map_output_tracker.hpp"
#include "core/storage/block_master.hpp"

namespace tinderbox::core {

/// Calls f(node) for `root` and what it reaches through narrow dependencies, each once, without
/// recursion; f returns whether to go on to that node's parents. g(shuffle) is called for each
/// shuffle on the way.
template <class F, class G>
void walk_stage(const NodePtr& root, F&& f, G&& g) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> stack{root.get()};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second || !f(*node)) continue;
    for (const Dependency& d : node->dependencies) {
      if (const auto* narrow = std::get_if<NarrowDependency>(&d))
        stack.push_back(narrow->parent.get());
      else
        g(std::get<ShufflePtr>(d));
    }
  }
}

/// Shuffles that the stage of `root` reads, each once. Source: Spark getShuffleDependencies.
std::vector<ShufflePtr> shuffles_read_by(const NodePtr& root);

/// Those of them that its tasks read whatever is cached; some may be there twice.
std::vector<ShuffleId> shuffles_surely_read_by(const NodePtr& root);

/// What the tasks of a stage need to be told or asked about.
struct StageShape {
  std::vector<RddId> rdds;
  bool inputs = false;       // some source has data of its own
  bool preferences = false;  // some partition may prefer a place
};
StageShape shape_of(const NodePtr& root, bool reduce_locality);

/// Where cached blocks lie, read once until forgotten, and what follows for tasks.
class Placement {
 public:
  Placement(const BlockMaster& blocks, const MapOutputTracker& outputs, const bool& reduce_locality)
      : blocks_(blocks), outputs_(outputs), reduce_locality_(reduce_locality) {}
  /// Shape: an entry a partition; empty as a whole: nothing is cached.
  const std::vector<std::vector<std::string>>& cache_locations(const Node& node);
  bool fully_cached(const Node& node);
  /// Location strings. Source: Spark getPreferredLocsInternal.
  std::vector<std::string> preferred(const Node& node, int32_t partition);
  void forget() { cached_.clear(); }

 private:
  std::vector<std::string> own_preference(const Node& node, int32_t partition);

  const BlockMaster& blocks_;
  const MapOutputTracker& outputs_;
  const bool& reduce_locality_;
  std::map<RddId, std::vector<std::vector<std::string>>> cached_;
};

}  // namespace tinderbox::core
