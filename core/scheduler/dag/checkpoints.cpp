// Lineage cut by checkpoints.
#include "core/scheduler/dag/checkpoints.hpp"

#include <unordered_map>

namespace tinderbox::core {

namespace {

/// A node whose ancestors changed; what it computes is the original's.
struct RewiredNode final : Node {
  explicit RewiredNode(NodePtr of) : original(std::move(of)) {
    id = original->id;
    name = original->name;
    call_site = original->call_site;
    num_partitions = original->num_partitions;
    partitioner = original->partitioner;
    preferred = original->preferred;
    source_data = original->source_data;
    order_sensitive = original->order_sensitive;
    starts_barrier = original->starts_barrier;
    storage_bits = original->storage_bits.load();
    profile = original->profile.load();
  }
  const Descriptor* descriptor() const override { return original->descriptor(); }
  Bytes captured() const override { return original->captured(); }
  NodePtr original;
};

/// A checkpointed Rdd that is persisted: kept under its own id, and read from the checkpoint where
/// it is not kept. Source: Spark RDD.iterator.
struct KeptNode final : Node {
  KeptNode(const Node& original, NodePtr of) : checkpoint(std::move(of)) {
    id = original.id;
    name = original.name;
    call_site = original.call_site;
    num_partitions = original.num_partitions;
    partitioner = original.partitioner;
    preferred = checkpoint->preferred;
    storage_bits = original.storage_bits.load();
  }
  const Descriptor* descriptor() const override { return checkpoint->descriptor(); }
  Bytes captured() const override { return checkpoint->captured(); }
  NodePtr checkpoint;
};

NodePtr in_place_of(const Node& original, const NodePtr& checkpoint) {
  if (original.storage_bits.load() == 0) return checkpoint;
  return std::make_shared<KeptNode>(original, checkpoint);
}

ShufflePtr with_parent(const ShufflePtr& shuffle, NodePtr parent) {
  ShuffleDependency copy = *shuffle;
  copy.parent = std::move(parent);
  return std::make_shared<const ShuffleDependency>(std::move(copy));
}

Dependency with_parent(const Dependency& dependency, NodePtr parent) {
  if (const auto* narrow = std::get_if<NarrowDependency>(&dependency)) {
    NarrowDependency copy = *narrow;
    copy.parent = std::move(parent);
    return copy;
  }
  return with_parent(std::get<ShufflePtr>(dependency), std::move(parent));
}

}  // namespace

NodePtr Checkpoints::rewire(const NodePtr& root) const {
  if (replaced_.empty()) return root;
  std::unordered_map<const Node*, NodePtr> done;
  std::vector<NodePtr> stack{root};
  while (!stack.empty()) {
    const NodePtr node = stack.back();
    if (done.contains(node.get())) {
      stack.pop_back();
      continue;
    }
    if (const auto it = replaced_.find(node->id); it != replaced_.end()) {
      done[node.get()] = in_place_of(*node, it->second);
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    bool changed = false;
    for (const Dependency& d : node->dependencies) {
      const NodePtr& parent = parent_of(d);
      const auto it = done.find(parent.get());
      if (it == done.end())
        stack.push_back(parent);
      else
        changed |= it->second != parent;
    }
    if (stack.size() > before) continue;
    stack.pop_back();
    if (!changed) {
      done[node.get()] = node;
      continue;
    }
    auto copy = std::make_shared<RewiredNode>(node);
    for (const Dependency& d : node->dependencies)
      copy->dependencies.push_back(with_parent(d, done.at(parent_of(d).get())));
    derive(*copy);
    done[node.get()] = std::move(copy);
  }
  return done.at(root.get());
}

ShufflePtr Checkpoints::rewire(const ShufflePtr& shuffle) const {
  NodePtr parent = rewire(shuffle->parent);
  return parent == shuffle->parent ? shuffle : with_parent(shuffle, std::move(parent));
}

}  // namespace tinderbox::core
