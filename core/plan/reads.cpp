#include "core/plan/reads.hpp"

#include <set>
#include <utility>

namespace tinderbox::core {
namespace {

bool kept(const Node& node) { return node.storage_bits.load(std::memory_order_relaxed) != 0; }

/// The usual case, without a table of what was seen: a chain of one-to-one parents.
/// Null: `root` is no such chain; else the last node of it, or one whose partitions are kept.
const Node* end_of_chain(const Node& root) {
  const Node* node = &root;
  while (!kept(*node) && node->dependencies.size() == 1) {
    const auto* narrow = std::get_if<NarrowDependency>(&node->dependencies[0]);
    if (!narrow) return node;
    if (narrow->kind != NarrowDependency::Kind::OneToOne) return nullptr;
    node = narrow->parent.get();
  }
  return kept(*node) || node->dependencies.empty() ? node : nullptr;
}

void add_own(const Node& node, int32_t p, std::vector<ShuffleRead>& reads) {
  for (const Dependency& d : node.dependencies)
    if (const auto* shuffle = std::get_if<ShufflePtr>(&d)) reads.push_back({(*shuffle)->id, p});
}

}  // namespace

void add_shuffle_reads(const Node& root, int32_t p, std::vector<ShuffleRead>& reads) {
  if (const Node* end = end_of_chain(root)) {
    if (!kept(*end)) add_own(*end, p, reads);
    return;
  }
  std::set<std::pair<const Node*, int32_t>> seen{{&root, p}};
  std::vector<std::pair<const Node*, int32_t>> todo{{&root, p}};
  while (!todo.empty()) {
    const auto [node, q] = todo.back();
    todo.pop_back();
    if (kept(*node)) continue;
    add_own(*node, q, reads);
    for (auto d = node->dependencies.rbegin(); d != node->dependencies.rend(); ++d)
      if (const auto* narrow = std::get_if<NarrowDependency>(&*d))
        narrow->each_parent(q, [&](int32_t parent) {
          const std::pair<const Node*, int32_t> next(narrow->parent.get(), parent);
          if (seen.insert(next).second) todo.push_back(next);
        });
  }
}

bool reads_shuffles(const Node& root) {
  std::set<const Node*> seen{&root};
  std::vector<const Node*> todo{&root};
  while (!todo.empty()) {
    const Node* node = todo.back();
    todo.pop_back();
    if (kept(*node)) continue;
    for (const Dependency& d : node->dependencies) {
      const auto* narrow = std::get_if<NarrowDependency>(&d);
      if (!narrow) return true;
      if (seen.insert(narrow->parent.get()).second) todo.push_back(narrow->parent.get());
    }
  }
  return false;
}

}  // namespace tinderbox::core
