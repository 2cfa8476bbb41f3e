#include "core/plan/lineage/preference.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace tinderbox::core {
namespace {

using Place = std::pair<const Node*, int32_t>;

/// The first parent is looked at first. There is none behind a checkpoint.
void push_parents(const Node& node, int32_t partition, std::vector<Place>& stack) {
  if (node.checkpoint) return;
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

std::vector<std::vector<std::string>> zipped_preference(const std::vector<const Node*>& parents) {
  std::vector<std::vector<std::string>> preferred;
  const auto n = static_cast<size_t>(parents.front()->num_partitions);
  for (size_t p = 0; p < n; ++p) {
    std::vector<std::string> all, any;
    bool first = true;
    for (const Node* parent : parents) {
      const auto own =
          p < parent->preferred.size() ? parent->preferred[p] : std::vector<std::string>();
      const auto lacks = [](const std::vector<std::string>& hosts) {
        return [&hosts](const std::string& host) {
          return std::ranges::find(hosts, host) == hosts.end();
        };
      };
      if (std::exchange(first, false))
        all = own;
      else
        std::erase_if(all, lacks(own));
      std::ranges::copy_if(own, std::back_inserter(any), lacks(any));
    }
    preferred.push_back(all.empty() ? any : all);
  }
  const bool none = std::ranges::all_of(preferred, &std::vector<std::string>::empty);
  return none ? std::vector<std::vector<std::string>>() : preferred;
}

}  // namespace tinderbox::core
