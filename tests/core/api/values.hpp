// Values that tests of the typed API share.
#pragma once

#include "core/api/tinderbox.hpp"
#include "tests/core/api/local_runtime.hpp"

#include <algorithm>
#include <numeric>
#include <regex>

namespace tinderbox::tests {

/// A lineage's text without the places in a source.
inline std::string without_sites(const std::string& text) {
  return std::regex_replace(text, std::regex(" at \\S+:\\d+"), "");
}

inline std::vector<int> upto(int n) {
  std::vector<int> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 1);
  return all;
}
template <class T>
std::vector<T> sorted(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  return v;
}
using IntPairs = std::vector<std::pair<int, int>>;
struct Sum {
  int operator()(int a, int b) const { return a + b; }
};

}  // namespace tinderbox::tests
