#include "core/plan/preference.hpp"

#include <algorithm>
#include <set>

namespace tinderbox::core {
namespace {

using Place = std::pair<const Node*, int32_t>;

/// The first parent is looked at first.
void push_parents(const Node& node, int32_t partition, std::vector<Place>& stack) {
  const auto first = static_cast<std::ptrdiff_t>(stack.size());
  for (const Dependency& d : node.dependencies)
    if (const auto* narrow = std::get_if<NarrowDependency>(&d))
      narrow->each_parent(partition,
                          [&](int32_t q) { stack.emplace_back(narrow->parent.get(), q); });
  std::reverse(stack.begin() + first, stack.end());
}

}  // namespace

std::vector<std::string> first_preference(
    const Node& root, int32_t partition,
    const std::function<std::vector<std::string>(const Node&, int32_t)>& own) {
  if (std::vector<std::string> found = own(root, partition); !found.empty()) return found;
  std::set<Place> seen;
  std::vector<Place> stack;
  push_parents(root, partition, stack);
  while (!stack.empty()) {
    const auto [node, p] = stack.back();
    stack.pop_back();
    if (!seen.insert({node, p}).second) continue;
    if (std::vector<std::string> found = own(*node, p); !found.empty()) return found;
    push_parents(*node, p, stack);
  }
  return {};
}

}  // namespace tinderbox::core
