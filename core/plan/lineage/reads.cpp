#include "core/plan/lineage/reads.hpp"

#include <compare>
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

void add_own(const Node& node, int32_t p, int32_t count, std::vector<ShuffleRead>& reads) {
  for (const Dependency& d : node.dependencies)
    if (const auto* shuffle = std::get_if<ShufflePtr>(&d))
      reads.push_back({(*shuffle)->id, p, count});
}

/// Partitions of one Rdd, `count` from `first` on: more than one only of a chain that ends in a
/// shuffle.
struct Wanted {
  const Node* node;
  int32_t first, count;
  auto operator<=>(const Wanted&) const = default;
};

template <class F>
void each_wanted(const NarrowDependency& dependency, const Wanted& by, F&& f) {
  const Node* parent = dependency.parent.get();
  if (by.count > 1) return f(Wanted{parent, by.first, by.count});
  each_run(dependency, by.first, [&](int32_t first, int32_t count) {
    f(Wanted{parent, first, count});
  });
}

}  // namespace

void add_shuffle_reads(const Node& root, int32_t p, std::vector<ShuffleRead>& reads) {
  if (const Node* end = end_of_chain(root)) {
    if (!kept(*end)) add_own(*end, p, 1, reads);
    return;
  }
  std::set<Wanted> seen{{&root, p, 1}};
  std::vector<Wanted> todo{{&root, p, 1}};
  while (!todo.empty()) {
    const Wanted wanted = todo.back();
    todo.pop_back();
    const Node& node = *wanted.node;
    if (kept(node)) continue;
    add_own(node, wanted.first, wanted.count, reads);
    for (auto d = node.dependencies.rbegin(); d != node.dependencies.rend(); ++d)
      if (const auto* narrow = std::get_if<NarrowDependency>(&*d))
        each_wanted(*narrow, wanted, [&](const Wanted& next) {
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
