// Takes blocks over from executors that are decommissioned: fetches them and keeps them as if they
// had been made here. Pure: fetching and keeping are effects.
//
// A map output comes as its index, then as runs of partitions of some megabytes, one after the
// other, so that a large output is never in memory as a whole; it counts when the last one is kept.
// Source: Spark 4.3 NettyBlockRpcServer's UploadBlock, IndexShuffleBlockResolver
// putShuffleBlockAsStream; there the sender pushes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/machine.hpp"
#include "core/plan/lineage/lineage.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

// ---- events beside TakeBlock -------------------------------------------------------------------

/// Answer to FetchPart.
struct PartFetched {
  uint64_t request = 0;
  Result<Payload> bytes;
};
/// Answer to KeepBlock and KeepPartitions.
struct PartKept {
  uint64_t request = 0;
  Result<bool> kept;
};

// ---- effects -----------------------------------------------------------------------------------

struct FetchPart {
  uint64_t request = 0;
  BlockManagerId from;
  std::string block;
};
struct KeepBlock {
  uint64_t request = 0;
  std::string block;
  StorageLevel level;
  Payload bytes;
};
/// Partitions `first` … of an output with `num_reduces` of them; the first ones begin it, the last
/// ones commit it.
struct KeepPartitions {
  uint64_t request = 0;
  ShuffleId shuffle;
  int64_t map_id = -1;
  int32_t num_reduces = 0;
  int32_t first = 0;
  std::vector<int64_t> lengths;
  Payload bytes;
};

/// Thread: one loop's.
class BlockTaker {
 public:
  using Event = std::variant<TakeBlock, PartFetched, PartKept>;
  using Effect = std::variant<FetchPart, KeepBlock, KeepPartitions, BlockTaken>;
  using Effects = std::vector<Effect>;

  /// `max_part`: bytes of an output fetched at once, unless one partition is larger.
  explicit BlockTaker(int64_t max_part = 16 << 20) : max_part_(max_part) {}
  void on(const Event& event, Time now, Effects& out);

 private:
  struct Taking {
    TakeBlock what;
    bool output = false;  // a map output
    ShuffleId shuffle;
    int64_t map_id = -1;
    std::vector<int64_t> offsets;  // P + 1; empty: the index is on its way
    size_t first = 0, last = 0;    // partitions on their way
  };

  void on(const TakeBlock& e, Effects& out);
  void on(const PartFetched& e, Effects& out);
  void on(const PartKept& e, Effects& out);
  bool read_index(Taking& taking, std::string_view bytes) const;
  void next_part(Taking& taking, Effects& out);
  void keep_part(const Taking& taking, Payload bytes, Effects& out) const;
  void end(uint64_t request, std::string error, Effects& out);

  const int64_t max_part_;
  std::map<uint64_t, Taking> taking_;
};

}  // namespace tinderbox::core
