#include "tests/sim/scenario/lineage.hpp"

#include <algorithm>

namespace tinderbox::sim {

using core::Dependency;
using core::NarrowDependency;
using core::NodePtr;
using core::ShuffleDependency;
using Kind = NodePlan::Kind;

namespace {
constexpr const char* kNames[] = {"source",   "map",     "union",   "zip",
                                  "coalesce", "shuffle", "cogroup", "half-cogroup"};

NodePlan random_node(const std::vector<NodePlan>& graph, Random& random) {
  const auto any = [&] {
    // Late nodes make deep graphs, early ones make shared ones.
    const int64_t last = static_cast<int64_t>(graph.size()) - 1;
    return static_cast<int32_t>(random.chance(600)
                                    ? random.between(std::max<int64_t>(0, last - 2), last)
                                    : random.between(0, last));
  };
  const auto partitions = [&](int32_t n) { return graph[static_cast<size_t>(n)].partitions; };
  NodePlan plan;
  plan.kind = static_cast<Kind>(random.between(1, 10) % 8);
  if (plan.kind == Kind::Source || plan.kind == Kind::Map) plan.kind = Kind::Shuffle;
  if (random.chance(200)) plan.kind = Kind::Map;
  const int32_t a = any(), b = any();
  plan.parents = {a};
  plan.partitions = partitions(a);
  switch (plan.kind) {
    case Kind::Union:
      plan.parents = {a, b};
      plan.partitions += partitions(b);
      break;
    case Kind::Zip:
      plan.parents = partitions(a) == partitions(b) ? std::vector{a, b} : std::vector{a, a};
      break;
    case Kind::Coalesce:
      plan.partitions = static_cast<int32_t>(random.between(1, plan.partitions));
      break;
    case Kind::Shuffle:
      plan.partitions = static_cast<int32_t>(random.between(1, 8));
      break;
    case Kind::Cogroup:
      plan.parents = {a, b};
      plan.partitions = static_cast<int32_t>(random.between(1, 8));
      break;
    case Kind::HalfCogroup:  // the first side keeps its partitions, the second is shuffled to them
      plan.parents = {a, b};
      break;
    default:
      break;
  }
  if (plan.partitions > 14) {  // unions would grow without end
    plan.kind = Kind::Coalesce;
    plan.parents = {a};
    plan.partitions = std::min(6, partitions(a));
  }
  plan.cached = random.chance(150);
  return plan;
}
}  // namespace

std::string describe(const NodePlan& plan) {
  std::string text = kNames[static_cast<size_t>(plan.kind)];
  for (const int32_t p : plan.parents) text += " " + std::to_string(p);
  return text + " ×" + std::to_string(plan.partitions) + (plan.cached ? " cached" : "") +
         (plan.barrier ? " barrier" : "") + (plan.unsteady ? " unsteady" : "") +
         (plan.profile >= 0 ? " profile " + std::to_string(plan.profile) : "");
}

std::vector<NodePlan> random_graph(Random& random) {
  std::vector<NodePlan> graph;
  const int64_t sources = random.between(1, 2), others = random.between(1, 11);
  for (int64_t i = 0; i < sources; ++i)
    graph.push_back({Kind::Source, {}, static_cast<int32_t>(random.between(1, 9)), false});
  for (int64_t i = 0; i < others; ++i) graph.push_back(random_node(graph, random));
  return graph;
}

uint64_t piece_of(ShuffleId shuffle, uint64_t map_value, int32_t reduce) {
  return mix(mix(static_cast<uint64_t>(shuffle.value), static_cast<uint64_t>(reduce)), map_value);
}
int64_t piece_size(uint64_t piece) {
  return piece % 4 == 0 ? 0 : static_cast<int64_t>(1 + piece % 100);
}
uint64_t read_seed(ShuffleId shuffle, int32_t reduce, const std::vector<int64_t>& versions) {
  uint64_t seed = mix(static_cast<uint64_t>(shuffle.value) + 1000, static_cast<uint64_t>(reduce));
  for (const int64_t version : versions) seed = mix(seed, static_cast<uint64_t>(version));
  return seed;
}

Dependency Lineage::dependency(const NodePlan& plan, size_t which) {
  const NodePtr& parent = node(plan.parents[which]);
  NarrowDependency narrow{parent, NarrowDependency::Kind::OneToOne, 0, 0, 0, {}};
  switch (plan.kind) {
    case Kind::Union:
      narrow.kind = NarrowDependency::Kind::Range;
      narrow.out_start = which == 0 ? 0 : node(plan.parents[0])->num_partitions;
      narrow.length = parent->num_partitions;
      return narrow;
    case Kind::Coalesce:
      narrow.kind = NarrowDependency::Kind::Table;
      narrow.table.resize(static_cast<size_t>(plan.partitions));
      for (int32_t q = 0; q < parent->num_partitions; ++q)
        narrow.table[static_cast<size_t>(q % plan.partitions)].push_back(q);
      return narrow;
    case Kind::HalfCogroup:
      if (which == 0) return narrow;
      [[fallthrough]];
    case Kind::Shuffle:
    case Kind::Cogroup: {
      ShuffleDependency s;
      s.id = ShuffleId{static_cast<int32_t>(shuffles_.size())};
      s.parent = parent;
      s.num_reduces = plan.partitions;
      s.writer_captured = std::to_string(s.id.value);
      return shuffles_[s.id] = std::make_shared<const ShuffleDependency>(std::move(s));
    }
    default:
      return narrow;
  }
}

Lineage::Lineage(const std::vector<NodePlan>& plans,
                 const std::vector<core::ResourceProfile>& profiles) {
  for (const NodePlan& plan : plans) {
    auto node = std::make_shared<core::Node>();
    node->id = RddId{size()};
    node->name = kNames[static_cast<size_t>(plan.kind)];
    node->call_site = node->name + std::to_string(size());
    node->num_partitions = plan.partitions;
    for (size_t i = 0; i < plan.parents.size(); ++i)
      node->dependencies.push_back(dependency(plan, i));
    if (plan.profile >= 0) node->profile = &profiles.at(static_cast<size_t>(plan.profile));
    if (plan.cached) node->storage_bits = core::pack_level({.memory = true});
    node->starts_barrier = plan.barrier;
    core::derive(*node);
    if (plan.unsteady) {
      node->determinism = core::Determinism::Indeterminate;
      unsteady_.insert(node->id);
    }
    nodes_.push_back(std::move(node));
  }
}

core::ShufflePtr Lineage::read_by(int32_t index) const {
  core::ShufflePtr last;
  for (const Dependency& d : node(index)->dependencies)
    if (const auto* shuffle = std::get_if<core::ShufflePtr>(&d)) last = *shuffle;
  return last;
}

uint64_t Lineage::answer(const core::Node& node, int32_t partition) {
  const auto [it, fresh] = answers_.try_emplace({node.id.value, partition});
  if (!fresh) return it->second;
  const uint64_t value = *compute(
      node, partition,
      [&](const core::Node& parent, int32_t q) { return std::optional(answer(parent, q)); },
      [&](const ShuffleDependency& s, int32_t r) { return std::optional(read(s, r)); });
  return answers_[{node.id.value, partition}] = value;
}

uint64_t Lineage::read(const ShuffleDependency& shuffle, int32_t reduce) {
  uint64_t value = read_seed(shuffle.id, reduce);
  for (int32_t m = 0; m < shuffle.parent->num_partitions; ++m) {
    const uint64_t piece = piece_of(shuffle.id, answer(*shuffle.parent, m), reduce);
    if (piece_size(piece) > 0) value = mix(value, piece);
  }
  return value;
}

}  // namespace tinderbox::sim
