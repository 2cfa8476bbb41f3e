// Map outputs of this process: small ones in memory, others as files (map_output_files.hpp).
//
// Source: Spark IndexShuffleBlockResolver 4.3.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/storage/block_id.hpp"
#include "core/storage/map_outputs/map_output_files.hpp"
#include "core/storage/stores/disk_store.hpp"
#include "net/files/files.hpp"
#include "net/mutex.hpp"
#include "net/types.hpp"

namespace tinderbox::core {

struct MapOutputOptions {
  int64_t max_in_memory_output = 0;  // tinderbox.shuffle.maxInMemoryOutput
  int64_t max_memory = 0;  // for all outputs in memory together; beyond it they go to files
  bool checksum = true;    // spark.shuffle.checksum.enabled
  bool sync = false;       // spark.shuffle.sync
  /// See MapOutputFiles.
  int64_t index_cache = 8 << 20;
};

/// One output that is being written. Thread: one task's. Dropped unless committed.
class PendingMapOutput {
 public:
  virtual ~PendingMapOutput() = default;
  /// Partitions in ascending order, the bytes of one also in parts; empty ones may be left out.
  virtual Result<bool> append(int32_t reduce, std::string_view bytes) = 0;
  /// Lengths of all partitions of what is visible now: this output, or an earlier valid one of the
  /// same map id, which is kept.
  virtual Result<std::vector<int64_t>> commit() = 0;
  /// After commit(): there is no file to look for.
  virtual bool in_memory() const = 0;
};

/// Thread: any. Must outlive what open() made.
class MapOutputStore {
 public:
  MapOutputStore(net::Files& files, DiskStore& disk, size_t sub_directories,
                 MapOutputOptions options)
      : disk_(disk),
        files_(files),
        reader_(files, options.index_cache),
        sub_directories_(sub_directories),
        options_(options) {}

  std::unique_ptr<PendingMapOutput> open(ShuffleId shuffle, int64_t map_id, int32_t num_reduces);
  /// `block` is a Shuffle, a ShuffleRange or a ShuffleIndex.
  Result<Payload> read(const BlockId& block);
  /// The same part, which `block` names, of each of `maps` in turn, until `take` has enough: false.
  void read_each(BlockId block, const std::vector<int64_t>& maps,
                 const std::function<bool(const Result<std::string_view>&)>& take);
  /// For another process of this host; see MapOutputFiles.
  MapOutputFiles::Outcome read_host_local(const std::vector<std::string>& directories,
                                          const BlockId& block) {
    return reader_.read(directories, sub_directories_, block);
  }
  /// What of it is committed later fails, and is dropped.
  void remove(ShuffleId shuffle);
  /// Bytes of outputs in files.
  int64_t disk_used() const;

 private:
  class Pending;
  /// Shape: offsets has P + 1 entries.
  struct InMemory {
    std::vector<uint32_t> offsets;
    Payload bytes;
    int64_t cost() const {
      return static_cast<int64_t>(bytes.size() + offsets.size() * sizeof(uint32_t));
    }
  };
  struct Output {
    std::shared_ptr<const InMemory> memory;  // null: in files
    int64_t file_bytes = 0;
    std::vector<int64_t> lengths() const;
  };
  using Outputs = std::map<int64_t, Output>;
  /// An output when it was looked up.
  struct Found {
    bool there = false;
    std::shared_ptr<const InMemory> memory;  // null: in files
  };

  Result<std::vector<int64_t>> commit_files(ShuffleId shuffle, int64_t map_id,
                                            const std::vector<int64_t>& lengths,
                                            const std::vector<uint64_t>& checksums,
                                            std::unique_ptr<net::WriteFile> data);
  /// Where they are, or would be.
  std::string commit_checksums(ShuffleId shuffle, int64_t map_id,
                               const std::vector<uint64_t>& checksums);
  /// Errors: the shuffle was removed; then so are the files.
  Result<bool> add_files(ShuffleId shuffle, int64_t map_id, const std::vector<int64_t>& lengths);
  void remove_files(ShuffleId shuffle, int64_t map_id);
  Outputs& outputs_of(ShuffleId shuffle) REQUIRES(mutex_);
  static Found found_in(const Outputs& outputs, int64_t map_id);
  /// Shape: `found` has as many as `maps`; null: there is none.
  static void find_each(const Outputs& outputs, const std::vector<int64_t>& maps,
                        std::vector<const Output*>& found);
  /// Not inline GCC takes it for a function without effect, and leaves its calls out.
  [[gnu::always_inline]] static inline void prefetch(const BlockId& block,
                                                     const std::vector<const Output*>& found);
  static Result<std::string_view> part_of(const BlockId& block, const InMemory& memory);
  Result<Payload> read_found(const BlockId& block, Found output);
  Result<Payload> read_index(const BlockId& block, const InMemory* memory);
  bool commit_memory(ShuffleId shuffle, int64_t map_id, std::shared_ptr<const InMemory> output,
                     std::vector<int64_t>& lengths);

  DiskStore& disk_;
  net::Files& files_;
  MapOutputFiles reader_;
  const size_t sub_directories_;
  const MapOutputOptions options_;
  net::Mutex commit_mutex_;  // Spark's per-process commit lock
  mutable net::Mutex mutex_;
  std::map<ShuffleId, std::shared_ptr<Outputs>> shuffles_ GUARDED_BY(mutex_);
  std::set<ShuffleId> removed_ GUARDED_BY(mutex_);  // the last ones
  int64_t memory_used_ GUARDED_BY(mutex_) = 0;
  int64_t disk_used_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tinderbox::core
