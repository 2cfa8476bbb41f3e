// The block plane: any process asks a block server.
#pragma once

#include <string>
#include <variant>

#include "net/types.hpp"
#include "net/wire/identity.hpp"

namespace tinderbox {

/// Ask for a block or a range of it (shuffle_S_M_R, shuffle_S_M_R1_R2, rdd_R_P, broadcast_I_pieceN,
/// taskresult_T, file/NAME). The server answers with chunks of at most `chunk` bytes and sends at
/// most `credit` bytes ahead of what was granted by GrantCredit.
struct OpenBlock {
  Identity who;
  uint64_t stream = 0;
  std::string block;
  int64_t offset = 0;
  int64_t length = -1;  // negative: to the end
  int64_t chunk = 1 << 20;
  int64_t credit = 4 << 20;
  bool operator==(const OpenBlock&) const = default;
};
struct GrantCredit {
  uint64_t stream = 0;
  int64_t bytes = 0;
  bool operator==(const GrantCredit&) const = default;
};
struct CancelStream {
  uint64_t stream = 0;
  bool operator==(const CancelStream&) const = default;
};

using ToBlocks = std::variant<OpenBlock, GrantCredit, CancelStream>;

struct BlockChunk {
  uint64_t stream = 0;
  int64_t offset = 0;
  int64_t total = 0;      // of the whole answer
  uint64_t checksum = 0;  // xxh3 of `bytes`
  Payload bytes;
  bool operator==(const BlockChunk&) const = default;
};
struct BlockMissing {
  uint64_t stream = 0;
  std::string reason;
  bool operator==(const BlockMissing&) const = default;
};

using FromBlocks = std::variant<BlockChunk, BlockMissing>;

}  // namespace tinderbox
