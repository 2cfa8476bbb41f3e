// A reduce task's input: the pieces of every map output of one shuffle, fetched and checked.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/plan/tasks/task.hpp"
#include "core/shuffle/blocks/block.hpp"
#include "core/storage/map_outputs/map_output_group.hpp"

namespace tinderbox::core {

/// Reads partitions of a shuffle, pieces in order of arrival.
/// Errors: a missing, unreachable or damaged block throws FetchFailedException, with everything
/// that the driver needs to make it again, also left in context.fetch_failure; a block that only
/// this process's own disk could not keep throws std::runtime_error; a killed task throws
/// TaskKilledException. Thread: one task's.
class ShuffleReader {
 public:
  ShuffleReader(TaskContext& context, const ShuffleRead& read);
  /// Records of the next piece, good until the next call; nullopt after the last one.
  std::optional<std::string_view> next();
  /// The records `piece` of the last next(), to be kept. What pointed into them does so no more.
  Bytes take(std::string_view piece) { return pieces_->take(piece); }
  /// Which part of all blocks next() has come to, about. Shape: 0 … 1.
  double part_read() const {
    return bytes_ > 0 ? static_cast<double>(read_bytes_) / static_cast<double>(bytes_) : 1;
  }

 private:
  bool next_block();
  void forget_read();
  void next_of_group();
  void begin(std::string_view block);
  std::string name() const;
  [[noreturn]] void not_fetched(const Error& error);
  [[noreturn]] void fail(const std::string& why);

  TaskContext& context_;
  const ShuffleRead read_;
  std::vector<BlockWant> wants_;
  std::unique_ptr<BlockStream> stream_;
  Payload block_;
  size_t forgotten_ = 0;                // bytes of block_
  bool local_ = false;                  // block_ did not come over the network
  std::optional<GroupReader> group_;    // of block_
  size_t current_ = 0;                  // whose it is
  size_t member_ = 0;                   // of its group
  int64_t bytes_ = 0, read_bytes_ = 0;  // as told by the outputs' statuses
  std::optional<PieceReader> pieces_;
};

}  // namespace tinderbox::core
