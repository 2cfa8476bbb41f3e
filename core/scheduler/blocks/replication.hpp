// Makes copies of cached partitions when they are put until each has as many holders as its level
// says, and again when a holder is lost. Source: Spark BlockManager.replicate,
// BlockManagerMasterEndpoint.
//
// A copy that a holder throws out is not made again: where memory is short the new one would throw
// out another, and so on without end.
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

  /// True: a copy came after its RDD was unpersisted, and goes once the question is answered; the
  /// table must not know of it.
  bool unwanted(int32_t slot, const BlockUpdate& update);
  /// Before the table knows: the executor has it anew, not as one of our copies.
  bool is_put(int32_t slot, const BlockUpdate& update) const;
  /// The table knows already.
  void put(const std::string& block, Turn& turn);
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
    int32_t left = 0;                  // copies to ask for
    std::set<int32_t> asked, failed;   // slots
    std::map<int32_t, bool> unwanted;  // slots asked before it was unpersisted: told they have it?
  };
  /// −1: none; kBusy: none now.
  int32_t choose(const std::string& block, const Copying& copying) const;
  int32_t missing(const std::string& block, const Copying& copying) const;
  bool wants_more(const std::string& block, const Copying& copying) const;
  bool over(const std::string& block, const Copying& copying) const;
  void want_all(const std::string& block);
  void copy(const std::string& block, Turn& turn);
  void ask(const std::string& block, int32_t peer, Copying& copying, Turn& turn);
  void answered(int32_t by, const std::string& block, const BlockTaken& answer, Turn& turn);
  std::set<std::string> take_back(int32_t slot);
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
