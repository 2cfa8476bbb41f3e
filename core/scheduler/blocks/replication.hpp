// Makes copies of cached partitions until each has as many holders as its level says, and again
// when a holder is lost. Source: Spark BlockManager.replicate, BlockManagerMasterEndpoint.
//
// There the process that stored a block pushes it to peers; here the driver, which knows all
// holders, tells a peer to fetch it (TakeBlock), as for decommissioned executors.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/scheduler/executors/executors.hpp"
#include "core/scheduler/options.hpp"
#include "core/scheduler/turn.hpp"
#include "core/storage/block_master.hpp"

namespace tinderbox::core {

class Replication {
 public:
  /// What is given must outlive it.
  Replication(const ReplicationOptions& options, const Executors& executors,
              const BlockMaster& blocks)
      : options_(options), executors_(executors), blocks_(blocks) {}

  /// A holder told of it; the table knows already.
  void updated(const std::string& block, Turn& turn);
  /// Before the table forgets what it held.
  void executor_leaves(int32_t slot);
  /// After that.
  void executor_gone(int32_t slot, Turn& turn);
  /// False: this answers no question of ours.
  bool taken(int32_t by, const BlockTaken& answer, Turn& turn);
  void forget(RddId rdd);
  /// No copy is on its way.
  bool idle() const { return asked_.empty() && waiting_.empty(); }

 private:
  struct Asked {
    int32_t by = -1;  // slot
    std::string block;
  };
  struct Copying {
    std::set<int32_t> asked, failed;  // slots
  };
  /// −1: none; kBusy: none now.
  int32_t choose(const std::string& block, const Copying& copying) const;
  void copy(const std::string& block, Turn& turn);
  void ask(const std::string& block, int32_t peer, Copying& copying, Turn& turn);
  void serve_waiting(Turn& turn);
  void settle(const std::string& block);

  static constexpr int32_t kBusy = -2;
  static constexpr int32_t kAtOnce = 4;  // blocks that one peer fetches
  /// Answers of other questions have small numbers.
  static constexpr uint64_t kFirstRequest = uint64_t{1} << 62;

  const ReplicationOptions& options_;
  const Executors& executors_;
  const BlockMaster& blocks_;
  std::map<std::string, Copying> copying_;
  std::map<uint64_t, Asked> asked_;
  std::map<int32_t, int32_t> taking_;  // peers and how many blocks are on their way to each
  std::set<std::string> waiting_;      // blocks whose peers are all busy
  std::string last_tried_;             // of these
  std::set<std::string> orphaned_;     // of the executor that leaves
  uint64_t next_request_ = kFirstRequest;
};

}  // namespace tinderbox::core
