// Sizes of a map task's output, one byte a reducer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "net/types.hpp"

namespace tinderbox::core {

/// 0 stays 0, other sizes become a power of 1.1 at or above them. Unit: bytes.
/// Source: Spark MapStatus.compressSize.
uint8_t encode_size(int64_t size);
/// Never 0 for a size that was not 0. Source: Spark MapStatus.decompressSize.
int64_t decode_size(uint8_t code);
/// Shape: one byte for each of `sizes`.
Bytes encode_sizes(std::span<const int64_t> sizes);
/// Estimate of what reducer `r` gets; 0 beyond the end.
inline int64_t size_for(std::string_view sizes, int32_t r) {
  const auto at = static_cast<size_t>(r);
  // Most of many are empty, and they are asked for each map and reducer.
  return at < sizes.size() && sizes[at] != 0 ? decode_size(static_cast<uint8_t>(sizes[at])) : 0;
}

}  // namespace tinderbox::core
