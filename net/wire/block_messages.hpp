// The block plane: any process asks a block server.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "net/types.hpp"
#include "net/wire/identity.hpp"

namespace tinderbox {

/// A block (shuffle_S_M_R, shuffle_S_M_R1_R2, shuffle_S_M1+M2+…_R1_R2, rdd_R_P,
/// broadcast_I_pieceN, taskresult_T, file/NAME) or a range of it. `stream`: the asker's number of
/// the answer.
struct WishedBlock {
  uint64_t stream = 0;
  std::string block;
  int64_t offset = 0;
  int64_t length = -1;  // negative: to the end
  bool operator==(const WishedBlock&) const = default;
};
/// The server answers each with chunks of at most `chunk` bytes and sends at most `credit` bytes of
/// it ahead of what was granted by GrantCredit.
struct OpenBlocks {
  Identity who;
  std::vector<WishedBlock> wishes;
  int64_t chunk = 1 << 20;
  int64_t credit = 4 << 20;
  bool operator==(const OpenBlocks&) const = default;
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

using ToBlocks = std::variant<OpenBlocks, GrantCredit, CancelStream>;

struct BlockChunk {
  uint64_t stream = 0;
  int64_t offset = 0;
  int64_t total = 0;      // of the whole answer
  uint64_t checksum = 0;  // xxh3 of `bytes`
  Payload bytes;
  bool operator==(const BlockChunk&) const = default;
};
/// Of any streams; those of one in order.
struct BlockChunks {
  std::vector<BlockChunk> chunks;
  bool operator==(const BlockChunks&) const = default;
};
struct BlockMissing {
  uint64_t stream = 0;
  std::string reason;
  bool operator==(const BlockMissing&) const = default;
};

using FromBlocks = std::variant<BlockChunks, BlockMissing>;

}  // namespace tinderbox
