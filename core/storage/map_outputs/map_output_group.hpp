// The bytes of a ShuffleGroup: what one reducer gets of several small outputs of one process.
//
// Problem: 200 maps and 200 reducers make 40,000 blocks of a few bytes each, and as a block of its
// own each costs a name, tables and messages of two processes, far more than its bytes do. Those
// that one reducer wants of one process's memory come as one block.
//
// For each output, in the order of the name: 32 bits, least significant byte first, how many bytes
// follow; its highest bit says that they are the reason why the output can't be had.
// Source: Spark FetchShuffleBlocks, which asks for many blocks of one executor at once.
#pragma once

#include <optional>
#include <string_view>

#include "core/storage/map_outputs/map_output_store.hpp"

namespace tinderbox::core {

/// A group has at most so many bytes of blocks, none of which is larger than the other.
inline constexpr int64_t kGroupBytes = 256 << 10, kGroupedBlockBytes = 16 << 10;

/// `block` is a ShuffleGroup. Errors: its outputs have more than kGroupBytes.
Result<Payload> read_group(MapOutputStore& outputs, const BlockId& block);

/// Takes such bytes apart.
class GroupReader {
 public:
  explicit GroupReader(std::string_view group) : left_(group) {}
  bool done() const { return left_.empty(); }
  /// The next output's bytes. Errors: why it can't be had, or what is wrong with the group, which
  /// then is done.
  Result<std::string_view> next();

 private:
  std::string_view left_;
};

}  // namespace tinderbox::core
