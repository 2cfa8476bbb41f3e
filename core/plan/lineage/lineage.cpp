#include "core/plan/lineage/lineage.hpp"

#include <algorithm>
#include <iterator>

#include "net/mutex.hpp"

namespace tinderbox::core {

namespace {

/// What one dependency lets the child promise about the order of its records.
Determinism through(const Node& child, const Dependency& dependency) {
  const Determinism parent = parent_of(dependency)->determinism;
  const auto* shuffle = std::get_if<ShufflePtr>(&dependency);
  if (!shuffle || parent == Determinism::Indeterminate) return parent;
  const auto& partitioner = (*shuffle)->parent->partitioner;
  if (partitioner && child.partitioner && *partitioner == *child.partitioner) return parent;
  const bool fixed = (*shuffle)->key_ordering && (*shuffle)->aggregator;
  return fixed ? Determinism::Determinate : Determinism::Unordered;
}

}  // namespace

const NodePtr& parent_of(const Dependency& dependency) {
  if (const auto* narrow = std::get_if<NarrowDependency>(&dependency)) return narrow->parent;
  return std::get<ShufflePtr>(dependency)->parent;
}

void derive(Node& node) {
  node.determinism = Determinism::Determinate;
  node.barrier = node.starts_barrier;
  for (const Dependency& d : node.dependencies) {
    node.determinism = std::max(node.determinism, through(node, d));
    const auto* narrow = std::get_if<NarrowDependency>(&d);
    node.barrier |= narrow && narrow->parent->barrier;
  }
  if (node.order_sensitive && node.determinism == Determinism::Unordered)
    node.determinism = Determinism::Indeterminate;
}

net::Mutex& lineage_mutex() {
  static net::Mutex mutex;
  return mutex;
}

void cut_lineage(const Node& node) {
  std::vector<Dependency> left;  // ends after the lock
  net::Lock lock(lineage_mutex());
  left.swap(const_cast<Node&>(node).dependencies);
}

// A chain of operators may be longer than a thread's stack: ancestors that end with this node leave
// what they depend on to the loop of the first one.
Node::~Node() {
  delete checkpoint.load();
  thread_local std::vector<Dependency>* ending = nullptr;
  if (ending) {
    std::move(dependencies.begin(), dependencies.end(), std::back_inserter(*ending));
    return;
  }
  std::vector<Dependency> left = std::move(dependencies);
  ending = &left;
  while (!left.empty()) {
    const Dependency last = std::move(left.back());
    left.pop_back();
  }
  ending = nullptr;
}

uint8_t pack_level(const StorageLevel& level) {
  const int replication = level.stored() ? level.replication & 15 : 0;
  return static_cast<uint8_t>(level.disk | level.memory << 1 | level.off_heap << 2 |
                              level.deserialized << 3 | replication << 4);
}

StorageLevel unpack_level(uint8_t bits) {
  StorageLevel level;
  level.disk = bits & 1;
  level.memory = bits & 2;
  level.off_heap = bits & 4;
  level.deserialized = bits & 8;
  if (level.stored()) level.replication = bits >> 4;
  return level;
}

}  // namespace tinderbox::core
