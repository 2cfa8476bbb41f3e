// Seeded randomness that is the same on every platform (splitmix64).
#pragma once

#include <cstdint>

#include "net/types.hpp"

namespace tinderbox::sim {

/// Mixes two numbers into one; the simulator's only hash.
constexpr uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u, 0); }
  /// Both ends included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  Duration between(Duration low, Duration high) {
    return Duration(between(low.count(), high.count()));
  }
  bool chance(int64_t per_mille) { return between(0, 999) < per_mille; }
  /// Mostly short, now and then a hundred times `usual`.
  Duration long_tailed(Duration usual) {
    const int64_t stretch = int64_t{1} << between(0, 6);
    return usual * between(1, 4) * (chance(250) ? stretch : 1) / 2;
  }

 private:
  uint64_t state_;
};

}  // namespace tinderbox::sim
