#include "tests/sim/scenario/shrink.hpp"

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
      [](Scenario& s) { s.settings.exclusion = {}; },
      [](Scenario& s) {  // profiles with executors of their own need it
        if (s.settings.profiles.empty()) s.settings.allocation.reset();
      },
      [](Scenario& s) { s.settings.force_kill.reset(); },
      [](Scenario& s) { s.settings.migration = {}; },
      [](Scenario& s) {
        s.settings.profiles.clear();
        for (NodePlan& n : s.nodes) n.profile = -1;
      },
      [](Scenario& s) {
        if (s.settings.profiles.empty()) s.settings.gpus = 0;
        s.settings.task_gpus = 0;
      },
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
  };
  for (bool smaller = true; smaller;) {
    smaller = drop_one(scenario, &Scenario::jobs, 1, fails);
    smaller |= drop_one(scenario, &Scenario::faults, 0, fails);
  }
  for (const Cut& cut : cuts) {
    Scenario less = scenario;
    cut(less);
    if (fails(less)) scenario = std::move(less);
  }
  drop_one(scenario, &Scenario::faults, 0, fails);
  return scenario;
}

}  // namespace tinderbox::sim
