// Cuts a failing scenario down to what it needs to fail.
#pragma once

#include <functional>
#include <string>

#include "tests/sim/scenario/scenario.hpp"

namespace tinderbox::sim {

/// `fails(scenario)`: whether it still fails as it should. Drops jobs, faults, steps of the
/// lineage, executors, hosts and settings one at a time, as long as that succeeds.
Scenario shrink(Scenario scenario, const std::function<bool(const Scenario&)>& fails);

}  // namespace tinderbox::sim
