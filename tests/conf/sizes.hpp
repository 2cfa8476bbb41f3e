// Sizes in bytes that the tests of conf expect.
#pragma once

#include <cstdint>

namespace tinderbox::conf::test {

inline constexpr int64_t kKi = 1024, kMi = kKi * kKi, kGi = kKi * kMi;

}  // namespace tinderbox::conf::test
