#include "core/api/steps/narrow/coalesce.hpp"

#include <algorithm>
#include <map>
#include <queue>

#include "core/api/input/sources.hpp"
#include "core/api/steps/action.hpp"
#include "core/plan/lineage/preference.hpp"
#include "net/mutex.hpp"

namespace tinderbox::core {
namespace {

using Hosts = std::vector<std::vector<std::string>>;

std::vector<std::vector<int32_t>> even_runs(size_t partitions, int32_t n) {
  std::vector<std::vector<int32_t>> groups;
  for (int32_t i = 0; i < n; ++i) {
    const auto from = static_cast<int32_t>(slice_start(partitions, i, n));
    const auto to = static_cast<int32_t>(slice_start(partitions, i + 1, n));
    groups.push_back(partition_range(from, to));
  }
  return groups;
}

/// Groups with a host each, filled one partition at a time.
class Filling {
 public:
  /// Shape: 0 < n ≤ hosts.size().
  Filling(const Hosts& hosts, int32_t n) : hosts_(hosts) {
    made_.groups.resize(static_cast<size_t>(n));
    most_ = (hosts.size() + hosts.size() / 10) / static_cast<size_t>(n) + 1;
    give_hosts();
  }
  Coalesced fill() {
    std::vector<int32_t> anywhere;
    for (int32_t p = 0; static_cast<size_t>(p) < hosts_.size(); ++p)
      if (!at_home(p)) anywhere.push_back(p);
    Fullness all;
    for (size_t g = 0; g < made_.groups.size(); ++g) all.emplace(made_.groups[g].size(), g);
    for (const int32_t p : anywhere) put(p, all);
    fill_empty_ones();
    for (auto& group : made_.groups) std::sort(group.begin(), group.end());
    return std::move(made_);
  }

 private:
  /// Size and number of groups, the least one first.
  using Fullness = std::priority_queue<std::pair<size_t, size_t>,
                                       std::vector<std::pair<size_t, size_t>>, std::greater<>>;

  /// As many groups for a host as it has a part in what there is.
  void give_hosts() {
    std::map<std::string, size_t> parts;
    size_t all = 0;
    for (const auto& of : hosts_)
      for (const std::string& host : of) ++parts[host], ++all;
    size_t seen = 0, next = 0;
    for (const auto& [host, count] : parts) {
      seen += count;
      for (const size_t end = made_.groups.size() * seen / all; next < end; ++next) {
        made_.preferred.push_back({host});
        of_host_[host].emplace(0, next);
      }
    }
  }
  void put(int32_t p, Fullness& into) {
    const auto [size, group] = into.top();
    into.pop();
    made_.groups[group].push_back(p);
    into.emplace(size + 1, group);
  }
  /// False: it has no host with a group, or all of those are full.
  bool at_home(int32_t p) {
    Fullness* best = nullptr;
    for (const std::string& host : hosts_[static_cast<size_t>(p)]) {
      const auto found = of_host_.find(host);
      if (found == of_host_.end()) continue;
      if (!best || found->second.top() < best->top()) best = &found->second;
    }
    if (!best || best->top().first >= most_) return false;
    put(p, *best);
    return true;
  }
  void fill_empty_ones() {
    auto& groups = made_.groups;
    const auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
    for (auto& group : groups) {
      if (!group.empty()) continue;
      auto& largest = *std::max_element(groups.begin(), groups.end(), shorter);
      group.push_back(largest.back());
      largest.pop_back();
    }
  }

  const Hosts& hosts_;
  Coalesced made_;
  size_t most_ = 0;  // partitions of a group for the sake of their host
  std::map<std::string, Fullness> of_host_;
};

}  // namespace

Coalesced coalesced(const Hosts& hosts, int32_t n) {
  n = std::min(n, static_cast<int32_t>(hosts.size()));
  if (n <= 0) return {};
  const bool somewhere = std::ranges::any_of(hosts, [](const auto& of) { return !of.empty(); });
  if (!somewhere) return {even_runs(hosts.size(), n), {}};
  return Filling(hosts, n).fill();
}

namespace {

std::vector<std::string> own_preference(const Node& node, int32_t partition) {
  const Checkpoint* written = node.checkpoint;
  const auto& preferred = written ? written->node->preferred : node.preferred;
  const auto p = static_cast<size_t>(partition);
  return p < preferred.size() ? preferred[p] : std::vector<std::string>();
}

Hosts preferences(const Node& parent) {
  Hosts hosts;
  net::Lock lock(lineage_mutex());
  for (int32_t p = 0; p < parent.num_partitions; ++p)
    hosts.push_back(first_preference(parent, p, own_preference));
  return hosts;
}

}  // namespace

Coalesced coalesced(const Node& parent, int32_t n) { return coalesced(preferences(parent), n); }

}  // namespace tinderbox::core
