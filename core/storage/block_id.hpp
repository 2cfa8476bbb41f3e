// Names of blocks, as the driver, the wire and files print them. Source: Spark BlockId.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::core {

/// Outputs that a ShuffleGroup names at most.
inline constexpr size_t kGroupBlocks = 256;

/// A parsed name. Only the numbers of its kind are set.
struct BlockId {
  enum class Kind : uint8_t {
    Rdd,           // rdd_R_P
    Shuffle,       // shuffle_S_M_R
    ShuffleRange,  // shuffle_S_M_R1_R2: reduces R1 … R2−1
    ShuffleGroup,  // shuffle_S_M1+D2-D3…_R1_R2: those of several outputs, M2 = M1 + D2, M3 = M2 −
                   // D3; see map_output_group.hpp
    ShuffleData,     // shuffle_S_M_0.data
    ShuffleIndex,    // shuffle_S_M_0.index
    Broadcast,       // broadcast_I
    BroadcastPiece,  // broadcast_I_pieceN
    TaskResult,      // taskresult_T
    File,            // file/NAME
  };
  Kind kind = Kind::Rdd;
  int32_t owner = -1;              // R of an Rdd, S of a shuffle
  int64_t number = -1;             // M of a shuffle, I of a broadcast, T of a result
  int32_t part = -1;               // P of an Rdd, N of a piece, R or R1 of a shuffle
  int32_t part_end = -1;           // R2
  std::string file = {};           // NAME: without directories
  std::vector<int64_t> maps = {};  // M1, M2, … of a ShuffleGroup, which has two or more
  bool operator==(const BlockId&) const = default;
};

/// nullopt: no block has such a name.
std::optional<BlockId> parse_block_id(std::string_view name);
/// The inverse of parse_block_id.
std::string block_name(const BlockId& id);
/// A name for people: a group's is cut.
std::string shown_block(const std::string& name);

std::string rdd_block(RddId rdd, int32_t partition);
std::string shuffle_block(ShuffleId shuffle, int64_t map_id, int32_t reduce);
/// Partitions `first` … `end` − 1, be it one or several.
std::string shuffle_range_block(ShuffleId shuffle, int64_t map_id, int32_t first, int32_t end);
/// Shape: two maps or more.
std::string shuffle_group_block(ShuffleId shuffle, std::span<const int64_t> maps, int32_t first,
                                int32_t end);
std::string shuffle_data_file(ShuffleId shuffle, int64_t map_id);
std::string shuffle_index_file(ShuffleId shuffle, int64_t map_id);
std::string broadcast_block(BroadcastId broadcast);
std::string broadcast_piece_block(BroadcastId broadcast, int32_t piece);
std::string task_result_block(TaskId task);

/// Where a file of that name lies below a local directory: directory index and two hex digits.
/// Source: Spark DiskBlockManager.getFile.
struct DiskPlace {
  size_t directory = 0;
  std::string folder;
  bool operator==(const DiskPlace&) const = default;
};
DiskPlace disk_place(std::string_view name, size_t directories, size_t sub_directories);

}  // namespace tinderbox::core
