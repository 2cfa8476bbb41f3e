// What task bodies of this process reach: its blocks, its peers' blocks, and what the driver knows.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "conf/conf.hpp"
#include "core/plan/tasks/task.hpp"
#include "core/storage/block_manager.hpp"
#include "core/storage/broadcast_header.hpp"
#include "core/storage/transfer/block_transfer.hpp"
#include "net/files/files.hpp"
#include "net/mutex.hpp"
#include "net/types.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// The way to the driver. Answers come back through ExecutorServices::on_driver_message.
class DriverLink {
 public:
  virtual ~DriverLink() = default;
  /// Thread: any.
  virtual void send(ToDriver message) = 0;
};

struct ExecutorServicesOptions {
  BlockManagerId self;
  /// The driver's own block server; empty executor: this process is the driver, nobody else has
  /// blocks.
  BlockManagerId driver;
  std::map<std::string, std::string>
      properties;                    // spark.* and tinderbox.* as the driver resolved them
  int64_t broadcast_piece_size = 0;  // spark.broadcast.blockSize
  uint64_t seed = 0;                 // order in which pieces and peers are tried
  /// After this long without the driver's answer a call fails (spark.rpc.askTimeout). Zero: never.
  Duration ask_timeout{};
  /// Of what the driver is sent, which takes no larger one (spark.rpc.message.maxSize). Unit:
  /// bytes. 0: none.
  int64_t max_message_size = 0;
};

/// What the conf says of it; the rest is the caller's.
ExecutorServicesOptions executor_services_options(const conf::Conf& conf);

/// Thread: task threads call the TaskServices functions, the control loop the others.
class ExecutorServices : public TaskServices {
 public:
  /// Everything given must outlive it.
  ExecutorServices(ExecutorServicesOptions options, BlockManager& blocks, BlockTransfer& transfer,
                   DriverLink& driver);
  ~ExecutorServices() override;

  /// MapOutputs, BlockLocations, CommitAnswer, BarrierReached, RemoveRdd, RemoveShuffle,
  /// RemoveBroadcast, RemoveBlocks. False: the message is none of these.
  bool on_driver_message(const ToExecutor& message);
  /// A task was killed: calls that block look at their task's mark again.
  void interrupt();
  /// The driver is gone or the process stops: every call that waits, now or later, fails with
  /// `reason`.
  void stop(const std::string& reason);
  /// No task of that program will begin any more.
  void forget_program(int64_t program);
  /// Makes a broadcast variable on the driver: cut into pieces, which executors fetch.
  Result<bool> create_broadcast(BroadcastId id, Payload value);

  Result<MapOutputsPtr> map_outputs(ShuffleId shuffle, int64_t epoch) override;
  std::unique_ptr<BlockStream> fetch(std::vector<BlockWant> wants,
                                     const std::atomic<bool>& killed) override;
  std::unique_ptr<MapOutputWriter> map_output(ShuffleId shuffle, int64_t map_id, int32_t map_index,
                                              int32_t num_reduces) override;
  std::optional<Payload> get_block(const std::string& block) override;
  bool put_block(const std::string& block, const StorageLevel& level, Payload bytes) override;
  Result<Payload> broadcast(BroadcastId id) override;
  void expect(int64_t program, const std::vector<ShuffleRead>& reads) override;
  bool may_commit(AskPermissionToCommit question) override;
  Result<std::vector<std::string>> barrier_sync(BarrierSync sync) override;
  MemoryPool& memory() override { return blocks_.memory(); }
  Result<std::string> temp_directory() override;
  std::optional<std::string> property(const std::string& key) const override;
  ExecutorId executor_id() const override { return options_.self.executor; }
  net::Files& files() override { return blocks_.files(); }

 private:
  using Locations = std::vector<std::vector<BlockManagerId>>;
  /// One question to the driver; those who wait for it share it.
  struct Ask {
    uint64_t id = 0;
    bool answered = false;
    bool timed_out = false;
    bool may_time_out = false;
    Locations locations;
    bool allowed = false;
    std::string error;  // of a barrier
    std::vector<std::string> messages;
  };
  using AskPtr = std::shared_ptr<Ask>;
  struct Outputs {
    AskPtr ask;  // null: nobody asked yet
    MapOutputsPtr value;
  };
  /// A broadcast variable that a task fetches; others that want it wait.
  struct Fetching {
    bool removed = false;  // meanwhile
  };
  /// Ends it, whether it gave a value, an error or an exception.
  struct FetchingBroadcast {
    ExecutorServices& services;
    BroadcastId id;
    ~FetchingBroadcast() { services.end_fetching(id); }
  };
  /// Lets a timer find out that its services are gone.
  struct Alarm {
    net::Mutex mutex;
    ExecutorServices* services GUARDED_BY(mutex) = nullptr;
  };

  /// The mark of the task that runs on this thread; outside tasks one that is never set.
  static const std::atomic<bool>& kill_mark();
  AskPtr begin_ask() REQUIRES(mutex_);
  AskPtr begin_long_ask() REQUIRES(mutex_);  // never times out by itself
  void end_ask(Ask& ask) REQUIRES(mutex_);
  Result<bool> wait(net::Lock& lock, const Ask& ask) REQUIRES(mutex_);
  /// nullopt: go on waiting.
  std::optional<Error> why_not_wait() const REQUIRES(mutex_);
  void tick_later() REQUIRES(mutex_);
  void tick();
  void clear_outputs(int64_t epoch) REQUIRES(mutex_);
  Result<Locations> ask_locations(std::vector<std::string> blocks);
  std::vector<BlockManagerId> in_trying_order(std::vector<BlockManagerId> from, bool driver_too);
  Result<Payload> fetch_one(const BlockManagerId& from, const std::string& block);
  void on_map_outputs(const MapOutputs& message);
  // broadcasts.cpp
  void end_fetching(BroadcastId id);
  Result<BroadcastHeader> broadcast_header(BroadcastId id);
  Result<Payload> fetch_broadcast(BroadcastId id);
  Result<bool> fetch_pieces(BroadcastId id, const BroadcastHeader& header,
                            const std::shared_ptr<char[]>& value, std::vector<int32_t> missing);
  void remove_broadcast(BroadcastId id);
  // fetch_ahead.cpp
  struct Expected {
    int64_t program = 0;
    ShuffleRead read;
  };
  void fetch_ahead(const MapOutputs& outputs, const std::vector<Expected>& expected);

  const ExecutorServicesOptions options_;
  BlockManager& blocks_;
  BlockTransfer& transfer_;
  DriverLink& driver_;
  const std::shared_ptr<Alarm> alarm_ = std::make_shared<Alarm>();
  net::Mutex mutex_;
  net::Condition changed_;
  std::string stopped_ GUARDED_BY(mutex_);  // why; empty: not stopped
  int64_t epoch_ GUARDED_BY(mutex_) = -1;
  std::map<ShuffleId, Outputs> outputs_ GUARDED_BY(mutex_);
  /// Reads of tasks that have not begun, until it is known where the outputs are.
  std::map<ShuffleId, std::vector<Expected>> expected_ GUARDED_BY(mutex_);
  std::map<BroadcastId, Fetching> fetching_ GUARDED_BY(mutex_);
  std::map<uint64_t, std::weak_ptr<Ask>> asks_ GUARDED_BY(mutex_);
  uint64_t next_ask_ GUARDED_BY(mutex_) = 1;
  bool ticking_ GUARDED_BY(mutex_) = false;        // some question may time out
  std::deque<uint64_t> ticks_ GUARDED_BY(mutex_);  // next_ask_ at each of the last ones
  std::mt19937_64 random_ GUARDED_BY(mutex_);
  size_t next_directory_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tinderbox::core
