// The blocks of one process: cached partitions, broadcast pieces, large results, map outputs, files
// that it hands out. Source: Spark BlockManager 4.3.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conf/conf.hpp"
#include "core/plan/lineage/lineage.hpp"
#include "core/storage/map_outputs/map_output_store.hpp"
#include "core/storage/stores/disk_store.hpp"
#include "core/storage/stores/memory_store.hpp"
#include "net/files/files.hpp"
#include "net/mutex.hpp"
#include "net/types.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

struct BlockManagerOptions {
  std::vector<std::string> local_dirs;
  std::string unique_name;        // of its directories: blockmgr-<unique_name>
  int64_t memory = 0;             // for cached blocks and tasks
  double storage_fraction = 0.5;  // of it, which tasks leave to blocks
  size_t sub_directories = 1;
  MapOutputOptions map_outputs;
  /// Told, one line a block, what a disk did to cached ones. Thread: any.
  std::function<void(const std::string& line)> warn = {};
};
/// Sizes and keys from the conf; `process_memory` is what spark.executor.memory or
/// spark.driver.memory says. Local dirs: SPARK_EXECUTOR_DIRS, SPARK_LOCAL_DIRS, else
/// spark.local.dir.
BlockManagerOptions block_manager_options(const conf::Conf& conf,
                                          const std::map<std::string, std::string>& environment,
                                          int64_t process_memory, std::string unique_name);

/// What the driver must know, in the order in which it happened. Thread: any, with the block
/// manager's mutex held: it must only note it and post, and not call back.
using BlockListener = std::function<void(std::vector<BlockUpdate>)>;

/// A file that executors get from the driver, or from where `url` says.
struct HandedOutFile {
  std::string name;  // in their directories
  std::string url;   // without fragment
  bool archive = false;
  std::string read_as = {};  // peers read it as `file/` and this; empty: they do not
  std::string path = {};     // of this machine
  bool operator==(const HandedOutFile&) const = default;
};

/// Thread: any.
class BlockManager {
 public:
  /// Errors: no local dir can be written: exit code 53. `files` must outlive it.
  static Result<std::unique_ptr<BlockManager>> open(net::Files& files, BlockManagerOptions options,
                                                    BlockListener listener);
  /// What open() does once it has directories.
  BlockManager(net::Files& files, BlockManagerOptions options, DiskStore::Opened opened,
               BlockListener listener);
  /// Removes its directories.
  ~BlockManager();

  /// `<local dir>/blockmgr-…` each: where readers of the same host find the map outputs.
  const std::vector<std::string>& local_dirs() const { return disk_.directories(); }
  /// One line for each local dir that could not be used.
  const std::vector<std::string>& skipped_dirs() const { return skipped_; }
  net::Files& files() { return files_; }
  MapOutputStore& map_outputs() { return outputs_; }
  MemoryPool& memory() { return pool_; }

  /// False: it fits nowhere that `level` allows, or was removed meanwhile. A block that is there
  /// already stays as it is.
  /// All bytes are encoded ones, so `level.deserialized` changes nothing.
  bool put(const std::string& block, const StorageLevel& level, Payload bytes, bool tell_driver);
  /// From memory or disk. A damaged or vanished file counts as missing, and the driver is told.
  std::optional<Payload> get(const std::string& block);
  /// Any kind of block, also map outputs and handed-out files. Errors: one line with the reason.
  Result<Payload> read(const std::string& block);
  bool contains(const std::string& block) const;
  void remove(const std::string& block);
  void remove_rdd(RddId rdd);
  void remove_shuffle(ShuffleId shuffle) { outputs_.remove(shuffle); }
  void remove_broadcast(BroadcastId broadcast);
  /// False: it was handed out before. An error, and nothing changes: another file has its name.
  Result<bool> hand_out_file(const HandedOutFile& file);
  /// Everything the driver should know of, for a new registration.
  std::vector<BlockUpdate> state() const;
  /// Before a process ends at once; what is written afterwards stays.
  void remove_directories() { disk_.remove_directories(); }

 private:
  struct Putting;
  bool put_somewhere(const std::string& block, const StorageLevel& level, Payload bytes);
  bool put_in_memory(MemoryBlock block) REQUIRES(put_mutex_);
  /// Out of memory, to disk if their levels say so; what somebody reads meanwhile stays. False: no
  /// disk takes some of them, which stay, too.
  bool throw_out(std::vector<MemoryBlock> victims) REQUIRES(put_mutex_);
  bool write(const std::string& block, const Payload& bytes);
  void warn(const std::string& block, const char* what, const Error& error);
  std::vector<std::string> remove_if(const std::function<bool(const std::string&)>& chosen)
      REQUIRES(mutex_);
  BlockUpdate status(const std::string& block) const REQUIRES(mutex_);
  void tell(const std::vector<std::string>& blocks) REQUIRES(mutex_);

  net::Files& files_;
  const BlockListener listener_;
  const std::function<void(const std::string&)> warn_;
  const std::vector<std::string> skipped_;
  DiskStore disk_;
  MapOutputStore outputs_;
  MemoryPool pool_;
  net::Mutex put_mutex_;  // one at a time makes room
  mutable net::Mutex mutex_;
  MemoryStore memory_ GUARDED_BY(mutex_);
  /// Blocks that the driver knows of, and the level of each.
  std::map<std::string, StorageLevel> told_ GUARDED_BY(mutex_);
  std::vector<HandedOutFile> handed_out_ GUARDED_BY(mutex_);
  std::set<std::string> warned_ GUARDED_BY(mutex_);  // blocks that a disk failed
  std::list<Putting> putting_ GUARDED_BY(mutex_);
};

}  // namespace tinderbox::core
