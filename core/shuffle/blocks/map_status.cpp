#include "core/shuffle/blocks/map_status.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tinderbox::core {
namespace {

constexpr double kBase = 1.1;

std::array<int64_t, 256> make_sizes() {
  std::array<int64_t, 256> sizes{};
  for (size_t code = 1; code < sizes.size(); ++code) {
    sizes[code] = static_cast<int64_t>(std::pow(kBase, static_cast<double>(code)));
  }
  return sizes;
}

}  // namespace

uint8_t encode_size(int64_t size) {
  if (size <= 0) return 0;
  if (size == 1) return 1;
  const double code = std::ceil(std::log(static_cast<double>(size)) / std::log(kBase));
  return static_cast<uint8_t>(std::min(255.0, code));
}

int64_t decode_size(uint8_t code) {
  static const std::array<int64_t, 256> sizes = make_sizes();
  return sizes[code];
}

Bytes encode_sizes(std::span<const int64_t> sizes) {
  Bytes codes;
  codes.reserve(sizes.size());
  for (const int64_t size : sizes) codes.push_back(static_cast<char>(encode_size(size)));
  return codes;
}

}  // namespace tinderbox::core
