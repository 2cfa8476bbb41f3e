#include "core/scheduler/blocks/replication.hpp"

#include <algorithm>
#include <tuple>

#include "core/storage/block_id.hpp"

namespace tinderbox::core {

/// Another host first, then who has least to fetch.
int32_t Replication::choose(const std::string& block, const Copying& copying) const {
  std::set<ExecutorId> holders;
  std::set<std::string> hosts;
  const auto count = [&](const BlockManagerId& at) {
    holders.insert(at.executor);
    hosts.insert(at.host);
  };
  for (const BlockManagerId& at : blocks_.locations(block)) count(at);
  for (const int32_t slot : copying.asked) count(executors_.at(slot).address);
  int32_t best = -1;
  std::tuple<bool, int32_t> best_rank;
  for (const int32_t slot : executors_.active()) {
    const BlockManagerId& at = executors_.at(slot).address;
    if (holders.contains(at.executor) || copying.failed.contains(slot)) continue;
    const auto busy = taking_.find(slot);
    const std::tuple rank(hosts.contains(at.host), busy == taking_.end() ? 0 : busy->second);
    if (best < 0 || rank < best_rank) best = slot, best_rank = rank;
  }
  return best >= 0 && std::get<1>(best_rank) >= kAtOnce ? kBusy : best;
}

void Replication::updated(const std::string& block, Turn& turn) {
  if (blocks_.level_of(block).replication > 1 || copying_.contains(block)) copy(block, turn);
}

void Replication::copy(const std::string& block, Turn& turn) {
  const auto wanted = static_cast<size_t>(std::max(blocks_.level_of(block).replication, 0));
  Copying& copying = copying_[block];
  const auto have = [&] { return blocks_.locations(block).size() + copying.asked.size(); };
  waiting_.erase(block);
  while (have() < wanted && !blocks_.locations(block).empty() &&
         static_cast<int32_t>(copying.failed.size()) <= options_.max_failures) {
    const int32_t peer = choose(block, copying);
    if (peer == kBusy) waiting_.insert(block);
    if (peer < 0) break;
    ask(block, peer, copying, turn);
  }
  if (have() < wanted && copying.asked.empty() && !waiting_.contains(block) && wanted > 0)
    turn.log(Level::Warn, "Block " + block + " replicated to only " +
                              std::to_string(blocks_.locations(block).size() - 1) +
                              " peer(s) instead of " + std::to_string(wanted - 1) + " peers");
  settle(block);
}

void Replication::settle(const std::string& block) {
  const auto at = copying_.find(block);
  if (at != copying_.end() && at->second.asked.empty() && !waiting_.contains(block))
    copying_.erase(at);
}

void Replication::ask(const std::string& block, int32_t peer, Copying& copying, Turn& turn) {
  const BlockUpdate level = blocks_.level_of(block);
  const uint64_t request = next_request_++;
  asked_[request] = {peer, block};
  copying.asked.insert(peer);
  ++taking_[peer];
  turn.send(executors_.at(peer).peer,
            TakeBlock{request, blocks_.locations(block).front(), block, level.use_memory,
                      level.use_disk, level.replication});
}

bool Replication::taken(int32_t by, const BlockTaken& answer, Turn& turn) {
  const auto at = asked_.find(answer.request);
  if (at == asked_.end() || at->second.by != by) return answer.request >= kFirstRequest;
  const std::string block = at->second.block;
  asked_.erase(at);
  if (--taking_[by] == 0) taking_.erase(by);
  Copying& copying = copying_[block];
  copying.asked.erase(by);
  if (!answer.taken) {
    copying.failed.insert(by);
    turn.log(Level::Warn, "Executor " + executors_.at(by).id.value + " did not take a copy of " +
                              block + ": " + answer.reason);
  }
  // What it took is a copy once it has told of it.
  const std::vector<BlockManagerId> holders = blocks_.locations(block);
  if (answer.taken && std::none_of(holders.begin(), holders.end(), [&](const BlockManagerId& at) {
        return at.executor == executors_.at(by).id;
      }))
    settle(block);
  else
    copy(block, turn);
  serve_waiting(turn);
  return true;
}

/// One peer has room for one more: some blocks in turn are tried, as that peer may hold the first.
void Replication::serve_waiting(Turn& turn) {
  constexpr int kTried = 8;
  for (int tried = 0; tried < kTried && !waiting_.empty(); ++tried) {
    auto next = waiting_.upper_bound(last_tried_);
    if (next == waiting_.end()) next = waiting_.begin();
    last_tried_ = *next;
    copy(std::string(last_tried_), turn);
  }
}

void Replication::executor_leaves(int32_t slot) {
  orphaned_.clear();
  if (!options_.proactive) return;
  for (const BlockUpdate& block : blocks_.rdd_blocks_on(executors_.at(slot).id))
    if (block.replication > 1) orphaned_.insert(block.block);
}

void Replication::executor_gone(int32_t slot, Turn& turn) {
  std::set<std::string> again = std::exchange(orphaned_, {});
  taking_.erase(slot);
  for (auto it = asked_.begin(); it != asked_.end();) {
    if (it->second.by == slot) {
      copying_[it->second.block].asked.erase(slot);
      again.insert(it->second.block);
      it = asked_.erase(it);
    } else {
      ++it;
    }
  }
  for (const std::string& block : again) copy(block, turn);
  serve_waiting(turn);
}

void Replication::forget(RddId rdd) {
  std::erase_if(waiting_, [&](const std::string& block) {
    const auto id = parse_block_id(block);
    return id && id->kind == BlockId::Kind::Rdd && RddId{id->owner} == rdd;
  });
  std::erase_if(copying_, [&](const auto& entry) {
    return entry.second.asked.empty() && !waiting_.contains(entry.first);
  });
}

}  // namespace tinderbox::core
