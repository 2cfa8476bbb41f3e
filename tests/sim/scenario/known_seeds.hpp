// Seeds that find a bug that was mended: `make sim` runs them before all others.
//
// What a seed means changes with the generator, so none of these repeats what it found for ever:
// the bug itself stays as the test case that is named here, and in docs/simulator.md. Whoever
// changes the generator looks for seeds that still find these bugs where they are put back, and
// whoever mends what a seed found adds it.
#pragma once

#include <cstdint>

namespace tinderbox::sim {

struct KnownSeed {
  uint64_t seed = 0;
  const char* found;
  const char* kept_by;  // test case
};
inline constexpr KnownSeed kKnownSeeds[] = {
    {1804, "an executor exchanged without end for a task that is excluded everywhere",
     "outputs that are made again on each new executor do not hold a set up for ever"},
    {623626, "numbers of executors that had ended while there was no master given again",
     "recovery: executors that workers tell of keep their numbers"},
    {725953, "a result that could not be fetched left at its executor",
     "T8 T9 a result that is lost is a failure, the fourth aborts"},
};

}  // namespace tinderbox::sim
