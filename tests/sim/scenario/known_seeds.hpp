// Seeds that found something: `make sim` runs them before all others.
//
// What a seed means changes with the generator, so none of these repeats what it found for ever:
// the bug itself stays as a test of the machine that had it, which is named here. Whoever mends
// what a seed found adds it.
#pragma once

#include <cstdint>

namespace tinderbox::sim {

struct KnownSeed {
  uint64_t seed = 0;
  const char* found;
};
inline constexpr KnownSeed kKnownSeeds[] = {
    {29916, "orders to end executors that a master took with it: tests/core/deploy"},
    {30431, "an executor exchanged without end for an excluded task: tests/core/scheduler"},
    {45435, "a scenario too long for its time, where one task runs at once"},
};

}  // namespace tinderbox::sim
