// Lineage cut by checkpoints.
#include "core/scheduler/dag/checkpoints.hpp"

#include <algorithm>
#include <unordered_map>

namespace tinderbox::core {

namespace {

/// What stands for an Rdd is known, and kept, as that.
void stand_for(Node& node, const Node& original) {
  node.id = original.id;
  node.name = original.name;
  node.call_site = original.call_site;
  node.num_partitions = original.num_partitions;
  node.partitioner = original.partitioner;
  node.storage_bits = original.storage_bits.load();
}

/// A node whose ancestors changed; what it computes is the original's.
struct RewiredNode final : Node {
  explicit RewiredNode(NodePtr of) : original(std::move(of)) {
    stand_for(*this, *original);
    preferred = original->preferred;
    source_data = original->source_data;
    order_sensitive = original->order_sensitive;
    starts_barrier = original->starts_barrier;
    profile = original->profile.load();
  }
  const Descriptor* descriptor() const override { return original->descriptor(); }
  Bytes captured() const override { return original->captured(); }
  NodePtr original;
};

/// A checkpointed Rdd that is persisted: kept under its own id, and read from the checkpoint where
/// it is not kept. Source: Spark RDD.iterator.
struct KeptNode final : Node {
  KeptNode(NodePtr of, NodePtr as) : original(std::move(of)), written(std::move(as)) {
    stand_for(*this, *original);
    preferred = written->preferred;
  }
  const Descriptor* descriptor() const override { return written->descriptor(); }
  Bytes captured() const override { return written->captured(); }
  NodePtr original;  // what is kept of it ends with it
  NodePtr written;
};

NodePtr in_place_of(const NodePtr& original, const NodePtr& written) {
  if (original->storage_bits.load() == 0) return written;
  return std::make_shared<KeptNode>(original, written);
}

/// Its outputs are forgotten with the original.
struct RewiredShuffle {
  ShufflePtr original;
  ShuffleDependency copy = *original;
};

ShufflePtr with_parent(const ShufflePtr& shuffle, NodePtr parent) {
  const auto made = std::make_shared<RewiredShuffle>(RewiredShuffle{shuffle});
  made->copy.parent = std::move(parent);
  return {made, &made->copy};
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

void Checkpoints::done(std::weak_ptr<const Node> rdd, JobId next) {
  any_ = true;
  uncut_.push_back({std::move(rdd), next});
}

void Checkpoints::cut_unread(const std::map<StageId, Stage>& stages) {
  std::erase_if(uncut_, [&](const Uncut& uncut) {
    const NodePtr rdd = uncut.rdd.lock();
    if (!rdd) return true;
    const bool read = std::ranges::any_of(stages, [&](const auto& entry) {
      const Stage& stage = entry.second;
      return stage.first_job < uncut.next && std::ranges::count(stage.info.rdds, rdd->id) > 0;
    });
    if (!read) cut_lineage(*rdd);
    return !read;
  });
}

NodePtr Checkpoints::rewire(const NodePtr& root) const {
  if (!any_) return root;
  std::unordered_map<const Node*, NodePtr> done;
  std::vector<NodePtr> stack{root};
  while (!stack.empty()) {
    const NodePtr node = stack.back();
    if (done.contains(node.get())) {
      stack.pop_back();
      continue;
    }
    if (const Checkpoint* written = node->checkpoint) {
      done[node.get()] = in_place_of(node, written->node);
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
