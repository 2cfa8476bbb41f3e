// Moves what decommissioned executors hold to others before they end: map outputs first, then
// cached partitions. Source: Spark 4.3 BlockManagerDecommissioner.
//
// The driver knows what each executor holds and who may take it, so it is the driver that hands out
// the blocks: a peer is told to fetch one (TakeBlock), says when it has it (BlockTaken), and only
// then the map output has its new place. A peer takes one block at a time. One that could not is
// left alone for a while, and the block goes to the next; one that has a copy takes no other; after
// some failures a block is given up, as is one whose executor is lost meanwhile. When there is no
// executor that could take anything, all is given up that is left: else the last executors of an
// application would never end.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/scheduler/blocks/free_peers.hpp"
#include "core/scheduler/dag/map_output_tracker.hpp"
#include "core/scheduler/executors/executors.hpp"
#include "core/scheduler/options.hpp"
#include "core/scheduler/turn.hpp"
#include "core/storage/block_master.hpp"

namespace tinderbox::core {

class Migration {
 public:
  /// What is given must outlive it.
  Migration(const MigrationOptions& options, Executors& executors, MapOutputTracker& outputs,
            const BlockMaster& blocks)
      : options_(options),
        executors_(executors),
        outputs_(outputs),
        blocks_(blocks),
        free_(executors) {}

  /// The executor drains from now on.
  void start(int32_t slot, Turn& turn);
  /// No task runs on it any more: is there nothing left that could be moved?
  bool finished(int32_t slot, Turn& turn);
  /// Another executor may take blocks.
  void executor_ready(int32_t slot, Turn& turn);
  void executor_gone(int32_t slot, Turn& turn);
  /// True: a cached partition has another place now.
  bool taken(int32_t by, const BlockTaken& answer, Turn& turn);
  /// Of DriverTimer::Kind::Migration.
  void timer(int32_t slot, Turn& turn);
  /// The executor takes the block over.
  bool takes(int32_t slot, std::string_view block) const;
  /// Nobody leaves, and no block is on its way.
  bool idle() const {
    return leaving_.empty() && wanting_.empty() && asked_.empty() && taking_.empty();
  }
  /// Some executor could take blocks, now or later.
  bool any_peer() const { return any_peer({}); }

 private:
  struct Block {
    std::string name;
    ShuffleId shuffle;  // negative: a cached partition
    int32_t map = -1;   // its index
    int64_t map_id = -1;
    bool use_memory = false, use_disk = false;  // its level
    int32_t replication = 0;
  };
  struct Leaving {
    std::deque<Block> waiting;
    std::set<std::string> over;  // moved or given up
    std::map<std::string, int32_t> failures;
    FreePeers::Resting resting;
    int32_t asked = 0;  // peers that are taking a block
    bool timer_set = false;
  };
  struct Asked {
    int32_t from = -1, by = -1;  // slots
    Block block;
  };

  void find_blocks(int32_t slot, Leaving& leaving) const;
  bool held(int32_t slot, const Block& block) const;
  std::set<int32_t> holders(const Block& block) const;
  bool any_peer(const std::set<int32_t>& but) const;
  void hand_out(int32_t slot, Leaving& leaving, Turn& turn);
  void ask(int32_t slot, int32_t peer, Leaving& leaving, Turn& turn);
  void serve_waiting(Turn& turn);
  void note_wants(int32_t slot, const Leaving& leaving);
  void freed(int32_t peer);
  void took(const Asked& asked);
  void failed(const Asked& asked, const std::string& why, Turn& turn);
  bool moved(const Asked& asked, Turn& turn);
  void remove_copy(const Asked& asked, Turn& turn);

  const MigrationOptions& options_;
  Executors& executors_;
  MapOutputTracker& outputs_;
  const BlockMaster& blocks_;
  std::map<int32_t, Leaving> leaving_;
  std::map<uint64_t, Asked> asked_;
  std::set<int32_t> wanting_;  // of leaving_, that wait and may ask
  std::set<int32_t> taking_;   // peers with a block on its way
  FreePeers free_;
  uint64_t next_request_ = 1;
};

}  // namespace tinderbox::core
