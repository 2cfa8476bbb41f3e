// What an executor must know to put a broadcast variable together: block `broadcast_I` of the
// driver.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::core {

/// Shape: one checksum a piece; all pieces have `piece_size` bytes but the last, which has the
/// rest.
struct BroadcastHeader {
  uint64_t size = 0;
  uint64_t piece_size = 1;
  std::vector<uint64_t> checksums;
  bool operator==(const BroadcastHeader&) const = default;

  /// Offset and length of a piece within the value.
  std::pair<size_t, size_t> span(size_t piece) const;
  Bytes encode() const;
  /// Errors: bytes that no encode() made.
  static Result<BroadcastHeader> decode(std::string_view bytes);
  static uint64_t checksum(std::string_view piece);
};

}  // namespace tinderbox::core
