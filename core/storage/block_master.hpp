// The driver's table of who holds which block. Pure: belongs to the driver's machine.
// Source: Spark BlockManagerMasterEndpoint 4.3.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/types.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// A preference that Spark prints as `executor_<host>_<id>`.
std::string executor_location(const BlockManagerId& at);

/// Only what can be asked for by name is kept: map outputs are the map output tracker's.
class BlockMaster {
 public:
  /// Known again under the same id (a restarted block manager): what it held before is forgotten.
  void add_executor(const BlockManagerId& id, std::vector<std::string> local_dirs);
  /// Forgets it and all its blocks. False: it was not known.
  bool remove_executor(const ExecutorId& executor);
  bool knows(const ExecutorId& executor) const { return executors_.contains(executor); }
  /// Null: not known.
  const BlockManagerId* executor(const ExecutorId& executor) const;
  /// Empty: not known, or it has none.
  const std::vector<std::string>& local_dirs(const ExecutorId& executor) const;

  /// False: the executor is not known and should register again.
  bool update(const ExecutorId& executor, const BlockUpdate& block);
  /// Ordered by executor id.
  std::vector<BlockManagerId> locations(std::string_view block) const;
  /// As its holders told it, with the most copies that one of them wants. Without any: none.
  BlockUpdate level_of(const std::string& block) const;
  /// Spark's location strings of the cached blocks of `rdd`.
  /// Shape: one entry for each of 0 … partitions−1, or none at all when nothing is cached.
  std::vector<std::vector<std::string>> cached_locations(RddId rdd, int32_t partitions) const;
  /// Cached partitions that the executor holds, ordered by Rdd and partition. A level that was not
  /// told is the place where the block lies. Costs what the executor holds.
  std::vector<BlockUpdate> rdd_blocks_on(const ExecutorId& executor) const;

  void remove_rdd(RddId rdd);
  void remove_broadcast(BroadcastId broadcast);

 private:
  struct Status {
    bool in_memory = false, on_disk = false;
    bool use_memory = false, use_disk = false;
    int32_t replication = 0;
    int64_t memory_bytes = 0;
    int64_t disk_bytes = 0;
  };
  using Holders = std::map<ExecutorId, Status>;
  struct Executor {
    BlockManagerId id;
    std::vector<std::string> local_dirs;
    std::set<std::pair<RddId, int32_t>> cached = {};  // Rdd and partition: what rdds_ has of it
  };

  static Status status(const BlockUpdate& block);
  void forget_blocks_of(const ExecutorId& executor);
  const Holders* find(std::string_view block) const;

  std::map<ExecutorId, Executor> executors_;
  std::map<RddId, std::map<int32_t, Holders>> rdds_;
  std::map<BroadcastId, std::map<int32_t, Holders>> broadcasts_;  // piece −1: the whole value
  std::map<std::string, Holders, std::less<>> others_;
};

}  // namespace tinderbox::core
