#include "tests/sim/scenario/shrink.hpp"

#include <algorithm>
#include <vector>

namespace tinderbox::sim {

namespace {

template <class T>
bool drop_one(Scenario& scenario, std::vector<T> Scenario::*list, size_t least,
              const std::function<bool(const Scenario&)>& fails) {
  bool dropped = false;
  for (size_t i = (scenario.*list).size(); i-- > 0 && (scenario.*list).size() > least;) {
    Scenario smaller = scenario;
    (smaller.*list).erase((smaller.*list).begin() + static_cast<std::ptrdiff_t>(i));
    if (!fails(smaller)) continue;
    scenario = std::move(smaller);
    dropped = true;
  }
  return dropped;
}

int32_t& partitions_of(Scenario& s, int32_t node) {
  return s.nodes[static_cast<size_t>(node)].partitions;
}

/// Partitions follow from parents; jobs compute what there still is.
void fit(Scenario& s) {
  using Kind = NodePlan::Kind;
  for (NodePlan& n : s.nodes) {
    if (n.parents.empty()) continue;
    const int32_t first = partitions_of(s, n.parents[0]);
    if (n.kind == Kind::Map || n.kind == Kind::Zip || n.kind == Kind::HalfCogroup)
      n.partitions = first;
    if (n.kind == Kind::Union) n.partitions = first + partitions_of(s, n.parents[1]);
    if (n.kind == Kind::Coalesce) n.partitions = std::min(n.partitions, first);
    if (n.kind == Kind::Zip && partitions_of(s, n.parents[1]) != first) n.parents[1] = n.parents[0];
  }
  for (JobPlan& j : s.jobs) {
    const int32_t count = partitions_of(s, j.node);
    std::erase_if(j.partitions, [&](int32_t p) { return p >= count; });
    if (j.partitions.empty()) j.partitions = {0};
    if (j.poison >= count) j.poison = -1;
  }
}

/// Whoever reads the node reads its first parent instead. False: it has none, but is read.
bool drop_node(Scenario& s, int32_t node) {
  const std::vector<int32_t>& parents = s.nodes[static_cast<size_t>(node)].parents;
  const int32_t instead = parents.empty() ? -1 : parents[0];
  bool read = false;
  const auto moved = [&](int32_t& use) {
    read |= use == node;
    use = use == node ? instead : use - (use > node ? 1 : 0);
  };
  for (size_t i = static_cast<size_t>(node) + 1; i < s.nodes.size(); ++i)
    for (int32_t& parent : s.nodes[i].parents) moved(parent);
  for (JobPlan& j : s.jobs) moved(j.node);
  if (read && instead < 0) return false;
  s.nodes.erase(s.nodes.begin() + node);
  fit(s);
  return true;
}

/// What it was made of need not be.
bool cut_lineage(Scenario& s, int32_t node) {
  NodePlan& n = s.nodes[static_cast<size_t>(node)];
  if (n.parents.empty()) return false;
  n.kind = NodePlan::Kind::Source;
  n.parents.clear();
  return true;
}

bool drop_steps(Scenario& scenario, const std::function<bool(const Scenario&)>& fails) {
  bool dropped = false;
  for (const auto cut : {cut_lineage, drop_node})
    for (int32_t i = static_cast<int32_t>(scenario.nodes.size()); i-- > 0;) {
      Scenario smaller = scenario;
      if (!cut(smaller, i) || !fails(smaller)) continue;
      scenario = std::move(smaller);
      dropped = true;
    }
  return dropped;
}

}  // namespace

Scenario shrink(Scenario scenario, const std::function<bool(const Scenario&)>& fails) {
  using Cut = std::function<void(Scenario&)>;
  const std::vector<Cut> cuts = {
      [](Scenario& s) { s.executors = std::max(1, s.executors - 1); },
      [](Scenario& s) { s.hosts = std::max(1, s.hosts - 1); },
      [](Scenario& s) { s.settings.launch_ahead = 0; },
      [](Scenario& s) { s.settings.tail = 0; },
      [](Scenario& s) { s.settings.skewed = false; },
      [](Scenario& s) { s.settings.untold = 0; },
      [](Scenario& s) { s.settings.speculation = false; },
      [](Scenario& s) { s.settings.fair = false; },
      [](Scenario& s) { s.settings.other_share = 0; },
      [](Scenario& s) { s.settings.weight = s.settings.other_weight = 1; },
      [](Scenario& s) { s.settings.exclusion = {}; },
      [](Scenario& s) {  // profiles with executors of their own need it
        if (s.settings.profiles.empty()) s.settings.allocation.reset();
      },
      [](Scenario& s) { s.settings.force_kill.reset(); },
      [](Scenario& s) { s.settings.migration = {}; },
      [](Scenario& s) { s.settings.pods = {}; },
      [](Scenario& s) { s.settings.pods.claims = 0; },
      [](Scenario& s) {
        s.settings.pods.max_pending = s.settings.pods.max_pending_per_profile = INT32_MAX;
      },
      [](Scenario& s) {
        s.settings.profiles.clear();
        for (NodePlan& n : s.nodes) n.profile = -1;
      },
      [](Scenario& s) {
        if (s.settings.profiles.empty()) s.settings.gpus = 0;
        s.settings.task_gpus = 0;
      },
      [](Scenario& s) { s.forgets = false; },
      [](Scenario& s) { s.settings.reduce_locality = false; },
      [](Scenario& s) { s.settings.locality_wait = Duration{0}; },
      [](Scenario& s) {
        for (NodePlan& n : s.nodes) n.cached = false;
      },
      [](Scenario& s) {
        for (NodePlan& n : s.nodes) n.barrier = false;
      },
      [](Scenario& s) {
        for (NodePlan& n : s.nodes) n.unsteady = false;
      },
      [](Scenario& s) {
        for (JobPlan& j : s.jobs) j.commits = j.large_results = false;
      },
      [](Scenario& s) {
        for (JobPlan& j : s.jobs) j.map_stage = false;
      },
  };
  for (bool smaller = true; smaller;) {
    smaller = drop_one(scenario, &Scenario::jobs, 1, fails);
    smaller |= drop_one(scenario, &Scenario::faults, 0, fails);
    smaller |= drop_steps(scenario, fails);
  }
  for (const Cut& cut : cuts) {
    Scenario less = scenario;
    cut(less);
    if (fails(less)) scenario = std::move(less);
  }
  drop_one(scenario, &Scenario::faults, 0, fails);
  drop_steps(scenario, fails);
  return scenario;
}

}  // namespace tinderbox::sim
