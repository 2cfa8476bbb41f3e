// Map outputs as files, which readers of the same host open themselves:
//
//   shuffle_S_M_0.data            bytes of partition 0, 1, … one after the other
//   shuffle_S_M_0.index           P+1 big-endian 64-bit offsets, the first is 0
//   shuffle_S_M_0.checksum.XXH3   P big-endian 64-bit checksums, one a partition
//
// Source: Spark IndexShuffleBlockResolver 4.3.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/storage/block_id.hpp"
#include "net/files/files.hpp"
#include "net/mutex.hpp"
#include "net/types.hpp"

namespace tinderbox::core {

/// The bytes of an index or a list of checksums.
template <class Words>
Bytes map_output_words(const Words& words) {
  Bytes bytes;
  for (const uint64_t word : words)
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(word >> shift));
  return bytes;
}
std::string checksum_file(ShuffleId shuffle, int64_t map_id);
/// Partitions that a block names: the first, and the one after the last.
std::pair<size_t, size_t> partitions_of(const BlockId& block);
Error no_such_partition(const BlockId& block, size_t partitions);
/// Shape: one less than offsets.
std::vector<int64_t> lengths_of(const std::vector<int64_t>& offsets);
/// All of it, in memory or mapped.
Result<Payload> read_file(net::Files& files, const std::string& path);

/// What an index says: where each partition begins, and where the last one ends. Empty: it is no
/// index.
std::vector<int64_t> map_output_offsets(std::string_view index);

/// Reads partitions of committed outputs from files, of this or another process of the same host.
/// Errors: no such output (`missing` in the outcome), unreadable, or corrupted. Thread: any.
class MapOutputFiles {
 public:
  /// `cache_bytes`: how much of the indexes is kept. Of one that would take much of it only what a
  /// block needs is read, each time.
  MapOutputFiles(net::Files& files, int64_t cache_bytes)
      : files_(files), cache_bytes_(cache_bytes) {}

  struct Outcome {
    Result<Payload> bytes;
    bool missing = false;  // there is no such file: it may be in the memory of its owner
  };
  /// `block` is a Shuffle or a ShuffleRange.
  Outcome read(const std::vector<std::string>& directories, size_t sub_directories,
               const BlockId& block);
  /// Lengths of the partitions of a valid pair. Errors: there is none.
  Result<std::vector<int64_t>> lengths(const std::string& data_path, const std::string& index_path,
                                       int32_t num_reduces);
  /// Indexes of files that were replaced or removed are read again.
  void forget(const std::string& index_path);

 private:
  /// What an index and its checksums say of n partitions: all, or those of one block.
  struct Index {
    size_t first = 0;                 // of the partitions
    std::vector<int64_t> offsets;     // n + 1
    std::vector<uint64_t> checksums;  // n, or none
    int64_t cost() const {
      return static_cast<int64_t>(offsets.size() * sizeof(int64_t) +
                                  checksums.size() * sizeof(uint64_t));
    }
  };
  using IndexPtr = std::shared_ptr<const Index>;
  struct Loaded {
    Result<IndexPtr> index;
    bool missing = false;
  };
  /// All partitions, or at least those of `block`.
  Loaded load(const BlockId& block, const std::string& index_path,
              const std::string& checksum_path);
  void keep(const std::string& index_path, IndexPtr index);
  Result<Payload> checked(const Index& index, const BlockId& block, Payload bytes) const;

  net::Files& files_;
  const int64_t cache_bytes_;
  net::Mutex mutex_;
  std::map<std::string, IndexPtr> cache_ GUARDED_BY(mutex_);  // each of all partitions
  int64_t cached_ GUARDED_BY(mutex_) = 0;
  std::string evicted_ GUARDED_BY(mutex_);  // the last one
};

}  // namespace tinderbox::core
