// Walks over lineage.
#include "core/scheduler/dag/stage_graph.hpp"

#include <algorithm>
#include <set>

#include "core/plan/lineage/preference.hpp"

namespace tinderbox::core {

namespace {
/// Above these a reducer's bytes are spread too thin to look. Source: DAGScheduler.SHUFFLE_PREF_*.
constexpr int32_t kMapsToLookAt = 1000, kReducesToLookAt = 1000;
/// Share of a reducer's bytes that makes a place worth preferring. Source:
/// REDUCER_PREF_LOCS_FRACTION.
constexpr double kWorthwhileShare = 0.2;

bool reads_one_shuffle(const Node& node) {
  return node.dependencies.size() == 1 && std::holds_alternative<ShufflePtr>(node.dependencies[0]);
}
}  // namespace

std::vector<ShufflePtr> shuffles_read_by(const NodePtr& root) {
  std::vector<ShufflePtr> found;
  std::set<ShuffleId> seen;
  walk_stage(
      root, [](const Node&) { return true; },
      [&](const ShufflePtr& s) {
        if (seen.insert(s->id).second) found.push_back(s);
      });
  return found;
}

std::vector<ShuffleId> shuffles_surely_read_by(const NodePtr& root) {
  std::vector<ShuffleId> found;
  walk_stage(
      root, [](const Node& node) { return node.storage_bits.load() == 0; },
      [&](const ShufflePtr& s) { found.push_back(s->id); });
  return found;
}

StageShape shape_of(const NodePtr& root, bool reduce_locality) {
  StageShape shape;
  walk_stage(
      root,
      [&](const Node& node) {
        shape.rdds.push_back(node.id);
        shape.inputs |= !node.source_data.empty();
        shape.preferences |= !node.preferred.empty() || node.storage_bits.load() != 0 ||
                             (reduce_locality && reads_one_shuffle(node));
        return true;
      },
      [](const ShufflePtr&) {});
  return shape;
}

const std::vector<std::vector<std::string>>& Placement::cache_locations(const Node& node) {
  const auto [it, fresh] = cached_.try_emplace(node.id);
  if (fresh && node.storage_bits.load() != 0)
    it->second = blocks_.cached_locations(node.id, node.num_partitions);
  return it->second;
}

bool Placement::fully_cached(const Node& node) {
  if (node.storage_bits.load() == 0) return false;
  const auto& places = cache_locations(node);
  return !places.empty() &&
         std::none_of(places.begin(), places.end(), [](const auto& p) { return p.empty(); });
}

std::vector<std::string> Placement::own_preference(const Node& node, int32_t partition) {
  const size_t p = static_cast<size_t>(partition);
  if (node.storage_bits.load() != 0) {
    const auto& cached = cache_locations(node);
    if (p < cached.size() && !cached[p].empty()) return cached[p];
  }
  if (p < node.preferred.size() && !node.preferred[p].empty()) return node.preferred[p];
  if (!reduce_locality_ || !reads_one_shuffle(node)) return {};
  const ShuffleDependency& s = *std::get<ShufflePtr>(node.dependencies[0]);
  if (s.parent->num_partitions >= kMapsToLookAt || s.num_reduces >= kReducesToLookAt) return {};
  return outputs_.preferred_hosts(s.id, partition, kWorthwhileShare);
}

std::vector<std::string> Placement::preferred(const Node& root, int32_t partition) {
  return first_preference(root, partition,
                          [this](const Node& node, int32_t p) { return own_preference(node, p); });
}

}  // namespace tinderbox::core
