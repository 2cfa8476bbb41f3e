// What one run is about: a value that a seed makes, and that can be cut down.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/scenario/faults.hpp"
#include "tests/sim/scenario/lineage.hpp"
#include "tests/sim/scenario/settings.hpp"

namespace tinderbox::sim {

/// One action. Shape: as JobRequest.
struct JobPlan {
  int32_t node = 0;
  std::vector<int32_t> partitions;
  Duration at{};
  std::string group, tag;      // empty: it has none
  bool commits = false;        // its result tasks ask whether they may commit
  bool large_results = false;  // results go by block
  int32_t poison = -1;         // this partition's result task always throws
  bool map_stage = false;      // makes what the node's last shuffle reads, if it has one
};

struct Scenario {
  uint64_t seed = 0;
  Settings settings;
  ManagerKind manager = ManagerKind::Seeded;
  int32_t executors = 2, hosts = 2;
  std::vector<NodePlan> nodes;
  std::vector<JobPlan> jobs;
  std::vector<Fault> faults;
  bool forgets = false;  // shuffles go with the last job that needs them
};

Scenario make_scenario(uint64_t seed);
/// Executors that a worker of a standalone cluster without dynamic allocation has room for.
inline int32_t executors_a_host(const Scenario& s) { return std::max(1, s.executors / s.hosts); }
std::string describe(const Scenario& scenario);
/// After this no fault begins or lasts, and every job was submitted.
Duration end_of_faults(const Scenario& scenario);

}  // namespace tinderbox::sim
