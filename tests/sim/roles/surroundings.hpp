// What every simulated process lives in.
#pragma once

#include <string>

#include "tests/sim/checks/checks.hpp"
#include "tests/sim/world/network.hpp"

namespace tinderbox::sim {

inline constexpr const char* kDriverAddress = "driver:7078";
inline constexpr const char* kDriverBlocks = "driver:7079";

/// The application as it runs now: its driver may crash and begin anew.
struct ApplicationRun {
  AppId id;  // as the cluster manager called it
  int32_t number = 0;
};

/// Outlives everything in it.
struct Surroundings {
  World& world;
  Network& network;
  Lineage& lineage;
  const Settings& settings;
  Checks& checks;
  ApplicationRun& application;
};

/// `skewed`: its host's clock is wrong, and runs at a wrong rate.
ProcessPtr make_process(World& world, const std::string& name, const std::string& host,
                        bool skewed);

}  // namespace tinderbox::sim
