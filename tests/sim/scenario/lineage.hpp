// Lineage graphs of small programs whose answers are known.
//
// A partition's value is a number: a hash of its node, its partition and the values that it reads.
// A shuffle's piece is a hash of a map value and the reducer; some pieces are empty. So a value
// that was lost, doubled, stale or taken from elsewhere changes every answer above it. An unsteady
// node gives each task another value; checks/versions.hpp says which answers are right then.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/lineage/lineage.hpp"
#include "core/resources/resource_profile.hpp"
#include "tests/sim/world/random.hpp"

namespace tinderbox::sim {

/// Node or shuffle, and a partition of its.
using Place = std::pair<int32_t, int32_t>;

struct NodePlan {
  enum class Kind : uint8_t { Source, Map, Union, Zip, Coalesce, Shuffle, Cogroup, HalfCogroup };
  Kind kind = Kind::Source;
  std::vector<int32_t> parents;  // places in the list of plans, smaller than its own
  int32_t partitions = 1;
  bool cached = false;
  bool barrier = false;   // its tasks start together, and meet
  int32_t profile = -1;   // resource profile, a place in Settings::profiles; −1: none
  bool unsteady = false;  // each task that computes it gets something else
};
std::string describe(const NodePlan& plan);
inline bool reads_shuffle(NodePlan::Kind kind) { return kind >= NodePlan::Kind::Shuffle; }

/// Grows a random graph; every node's parents come before it.
std::vector<NodePlan> random_graph(Random& random);

/// Value of partition `p` of `node` from parent(node, q) and read(shuffle, reduce); nullopt as long
/// as one of them is. All are asked.
template <class Parent, class Read>
std::optional<uint64_t> compute(const core::Node& node, int32_t p, Parent&& parent, Read&& read) {
  uint64_t value = mix(static_cast<uint64_t>(node.id.value), static_cast<uint64_t>(p));
  bool complete = true;
  const auto add = [&](std::optional<uint64_t> part) {
    complete = complete && part;
    if (part) value = mix(value, *part);
  };
  for (const core::Dependency& d : node.dependencies) {
    if (const auto* narrow = std::get_if<core::NarrowDependency>(&d))
      narrow->each_parent(p, [&](int32_t q) { add(parent(*narrow->parent, q)); });
    else
      add(read(*std::get<core::ShufflePtr>(d), p));
  }
  return complete ? std::optional(value) : std::nullopt;
}

/// What a map task writes for `reduce`.
uint64_t piece_of(ShuffleId shuffle, uint64_t map_value, int32_t reduce);
/// 0: nothing is written. Unit: bytes.
int64_t piece_size(uint64_t piece);
/// A reducer's value before any piece; fold pieces into it with mix() in the order of maps.
/// `versions`: of an indeterminate shuffle, the map outputs that it reads, empty pieces too.
uint64_t read_seed(ShuffleId shuffle, int32_t reduce, const std::vector<int64_t>& versions = {});

/// Its value is not the same when it is computed again.
inline bool indeterminate(const core::Node& node) {
  return node.determinism == core::Determinism::Indeterminate;
}

class Lineage {
 public:
  /// `profiles` outlive it.
  Lineage(const std::vector<NodePlan>& plans, const std::vector<core::ResourceProfile>& profiles);
  const core::NodePtr& node(int32_t index) const { return nodes_[static_cast<size_t>(index)]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  const core::ShufflePtr& shuffle(ShuffleId id) const { return shuffles_.at(id); }
  /// The last one that the node reads itself. Null: it reads none.
  core::ShufflePtr read_by(int32_t index) const;
  const std::map<ShuffleId, core::ShufflePtr>& shuffles() const { return shuffles_; }
  /// Computed directly, without any cluster. Not of what is indeterminate.
  uint64_t answer(const core::Node& node, int32_t partition);
  uint64_t read(const core::ShuffleDependency& shuffle, int32_t reduce);
  /// What `task` gets for `node` where others compute `value`.
  uint64_t as_seen_by(TaskId task, const core::Node& node, uint64_t value) const {
    return unsteady_.contains(node.id) ? mix(value, static_cast<uint64_t>(task.value)) : value;
  }

 private:
  core::Dependency dependency(const NodePlan& plan, size_t which);

  std::vector<core::NodePtr> nodes_;
  std::map<ShuffleId, core::ShufflePtr> shuffles_;
  std::set<RddId> unsteady_;
  std::map<Place, uint64_t> answers_;
};

}  // namespace tinderbox::sim
