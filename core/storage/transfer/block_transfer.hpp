// Block transfer of one process: a thread with one endpoint that serves blocks and fetches them,
// and the blocking face of it that task threads use.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conf/conf.hpp"
#include "core/plan/tasks/task.hpp"
#include "core/storage/block_manager.hpp"
#include "core/storage/transfer/block_client.hpp"
#include "core/storage/transfer/block_server.hpp"
#include "core/storage/transfer/block_taker.hpp"
#include "core/storage/transfer/blocks_ahead.hpp"
#include "net/mutex.hpp"
#include "net/transport/endpoint.hpp"

namespace tinderbox::core {

struct BlockTransferOptions {
  BlockManagerId self;  // executor and host; the address is not known yet
  bool network = true;  // false: everything is this process's own (local mode); no thread, no port
  net::Listen listen;
  bool read_host_local = true;  // spark.shuffle.readHostLocalDisk
  /// More bytes of map outputs in files than that: others' outputs are not taken over.
  std::optional<int64_t> max_disk;  // spark.storage.decommission.shuffleBlocks.maxDiskSize
  int64_t max_ahead = 0;            // tinderbox.shuffle.fetchAhead
  BlockClientOptions client;
  BlockServerOptions server;
};
/// What the conf says of it; `self` and `listen` are the caller's.
BlockTransferOptions block_transfer_options(const conf::Conf& conf);

/// Thread: any, but for start, stop and the destructor.
class BlockTransfer {
 public:
  /// Listens and starts its thread. Errors: the port can't be had. `blocks` must outlive it.
  static Result<std::unique_ptr<BlockTransfer>> start(BlockTransferOptions options,
                                                      BlockManager& blocks);
  /// What start() makes; without network until then.
  BlockTransfer(BlockTransferOptions options, BlockManager& blocks);
  ~BlockTransfer();

  /// 0 without network.
  int port() const { return port_; }
  /// Where the map outputs of another executor lie, should it run on this host.
  void set_local_dirs(const ExecutorId& executor, std::vector<std::string> directories);
  /// This process's own blocks and those of this host's files are read directly, others come by
  /// network, at most spark.reducer.maxSizeInFlight at once. `killed` must outlive the stream.
  std::unique_ptr<BlockStream> fetch(std::vector<BlockWant> wants, const std::atomic<bool>& killed);
  /// Blocks of other processes' memory that tasks of a stage attempt will want soon: they are asked
  /// for in one go, as far as there is room, and are there, or coming, when fetch() wants them.
  void fetch_ahead(int64_t stage, const std::vector<BlockWant>& wants);
  /// Bytes that may still be fetched ahead.
  int64_t room_ahead();
  /// No task of that stage attempt will begin any more.
  void forget_stage(int64_t stage);
  void forget_shuffle(ShuffleId shuffle);
  /// `done` is called once: at once when the block is this process's own, else on the transfer's
  /// thread.
  void fetch_async(BlockWant want, std::function<void(Result<Payload>)> done);
  /// Takes a block over from a decommissioned executor. `done` is called once, on the transfer's
  /// thread; without network, or when it stops, never.
  void take(TakeBlock what, std::function<void(BlockTaken)> done);
  /// Streams that wait look at their kill mark again.
  void interrupt();
  /// Runs `task` on the transfer's thread later; without network never.
  void after(Duration delay, std::function<void()> task);
  /// Ends the thread; streams that wait get errors. Idempotent.
  void stop();

 private:
  class Plane;
  class Stream;
  struct Inbox;

  /// nullopt: it has to come by network.
  std::optional<Result<Payload>> read_directly(const BlockWant& want);
  bool may_read_directly(const BlockWant& want) REQUIRES(mutex_);
  std::shared_ptr<Inbox> open_inbox(std::function<void(Result<Payload>)> done);
  void close_inbox(uint64_t request, bool asked);
  void ask_peers(uint64_t request, std::vector<WantedBlock> wanted);
  void deliver(const DeliverBlock& block);
  std::optional<BlocksAhead::Reader> reader_of(const DeliverBlock& block) REQUIRES(mutex_);
  bool take_ahead(const BlockWant& want, size_t index, Inbox& inbox) REQUIRES(mutex_);

  const BlockTransferOptions options_;
  BlockManager& blocks_;
  int port_ = 0;
  net::Mutex mutex_;
  std::unique_ptr<Plane> plane_ GUARDED_BY(mutex_);  // null: without network, or stopped
  std::map<ExecutorId, std::vector<std::string>> local_dirs_ GUARDED_BY(mutex_);
  std::map<uint64_t, std::shared_ptr<Inbox>> inboxes_ GUARDED_BY(mutex_);
  /// Names of the blocks of a request that went ahead of their readers; how many did not come yet.
  struct AheadRequest {
    std::vector<std::string> blocks;
    size_t open = 0;
  };
  BlocksAhead ahead_ GUARDED_BY(mutex_);
  std::map<uint64_t, AheadRequest> ahead_requests_ GUARDED_BY(mutex_);
  uint64_t next_request_ GUARDED_BY(mutex_) = 1;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace tinderbox::core
