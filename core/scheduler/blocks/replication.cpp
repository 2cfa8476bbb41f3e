#include "core/scheduler/blocks/replication.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/storage/block_id.hpp"

namespace tinderbox::core {

namespace {

bool there(const BlockUpdate& update) { return update.in_memory || update.on_disk; }

bool among(const std::vector<BlockManagerId>& holders, const ExecutorId& executor) {
  return std::any_of(holders.begin(), holders.end(),
                     [&](const BlockManagerId& at) { return at.executor == executor; });
}

}  // namespace

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
  for (const auto& [slot, told] : copying.unwanted) holders.insert(executors_.at(slot).id);
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

bool Replication::unwanted(int32_t slot, const BlockUpdate& update) {
  const auto at = copying_.find(update.block);
  if (at == copying_.end()) return false;
  const auto taker = at->second.unwanted.find(slot);
  if (taker == at->second.unwanted.end()) return false;
  return taker->second = there(update);
}

/// A holder that moves it between memory and disk tells of it again.
bool Replication::is_put(int32_t slot, const BlockUpdate& update) const {
  if (update.replication <= 1 || !there(update)) return false;
  const auto at = copying_.find(update.block);
  if (at != copying_.end() && at->second.asked.contains(slot)) return false;
  return !among(blocks_.locations(update.block), executors_.at(slot).id);
}

void Replication::put(const std::string& block, Turn& turn) {
  want_all(block);
  copy(block, turn);
}

/// One that is told of and not answered yet is counted once. Negative: there are more than wanted.
int32_t Replication::missing(const std::string& block, const Copying& copying) const {
  const std::vector<BlockManagerId> holders = blocks_.locations(block);
  auto have = static_cast<int32_t>(holders.size());
  for (const int32_t slot : copying.asked) have += !among(holders, executors_.at(slot).id);
  return blocks_.level_of(block).replication - have;
}

void Replication::want_all(const std::string& block) {
  Copying& copying = copying_[block];
  copying.left = std::max(missing(block, copying), 0);
}

/// Without a holder nothing is missing: nobody could give it.
bool Replication::wants_more(const std::string& block, const Copying& copying) const {
  return copying.left > 0 && missing(block, copying) > 0;
}

void Replication::copy(const std::string& block, Turn& turn) {
  Copying& copying = copying_[block];
  waiting_.erase(block);
  while (wants_more(block, copying) &&
         static_cast<int32_t>(copying.failed.size()) <= options_.max_failures) {
    const int32_t peer = choose(block, copying);
    if (peer == kBusy) waiting_.insert(block);
    if (peer < 0) break;
    ask(block, peer, copying, turn);
  }
  if (over(block, copying) && wants_more(block, copying))
    turn.log(Level::Warn, "Block " + block + " replicated to only " +
                              std::to_string(blocks_.locations(block).size() - 1) +
                              " peer(s) instead of " +
                              std::to_string(blocks_.level_of(block).replication - 1) + " peers");
  settle(block);
}

bool Replication::over(const std::string& block, const Copying& copying) const {
  return copying.asked.empty() && copying.unwanted.empty() && !waiting_.contains(block);
}

void Replication::settle(const std::string& block) {
  const auto at = copying_.find(block);
  if (at != copying_.end() && over(block, at->second)) copying_.erase(at);
}

void Replication::ask(const std::string& block, int32_t peer, Copying& copying, Turn& turn) {
  const BlockUpdate level = blocks_.level_of(block);
  const uint64_t request = next_request_++;
  asked_[request] = {peer, block};
  copying.asked.insert(peer);
  --copying.left;
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
  answered(by, block, answer, turn);
  copy(block, turn);
  serve_waiting(turn);
  return true;
}

/// One that refuses what is unpersisted may have told of a block of its own, which the table does
/// not know: that goes too, else it would stay for ever.
void Replication::answered(int32_t by, const std::string& block, const BlockTaken& answer,
                           Turn& turn) {
  Copying& copying = copying_[block];
  if (const auto taker = copying.unwanted.extract(by)) {
    if (answer.taken || taker.mapped()) turn.send(executors_.at(by).peer, RemoveBlocks{{block}});
    return;
  }
  copying.asked.erase(by);
  if (!answer.taken) {
    copying.failed.insert(by);
    ++copying.left;
    turn.log(Level::Warn, "Executor " + executors_.at(by).id.value + " did not take a copy of " +
                              block + ": " + answer.reason);
  }
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

/// Blocks that it was to take.
std::set<std::string> Replication::take_back(int32_t slot) {
  std::set<std::string> blocks;
  taking_.erase(slot);
  for (auto it = asked_.begin(); it != asked_.end();) {
    if (it->second.by == slot) {
      Copying& copying = copying_[it->second.block];
      copying.left += static_cast<int32_t>(copying.asked.erase(slot));
      copying.unwanted.erase(slot);
      blocks.insert(it->second.block);
      it = asked_.erase(it);
    } else {
      ++it;
    }
  }
  return blocks;
}

void Replication::executor_gone(int32_t slot, Turn& turn) {
  std::set<std::string> again = take_back(slot);
  for (const std::string& block : orphaned_) want_all(block);
  again.merge(std::exchange(orphaned_, {}));
  for (const std::string& block : again) copy(block, turn);
  serve_waiting(turn);
}

/// Copies on their way are remembered until their takers answer: they may come after the taker has
/// removed all it had of the RDD.
void Replication::forget(RddId rdd) {
  const auto of_rdd = [&](const std::string& block) {
    const auto id = parse_block_id(block);
    return id && id->kind == BlockId::Kind::Rdd && RddId{id->owner} == rdd;
  };
  std::erase_if(waiting_, of_rdd);
  for (auto& [block, copying] : copying_) {
    if (!of_rdd(block)) continue;
    for (const int32_t slot : copying.asked) copying.unwanted.emplace(slot, false);
    copying.asked.clear();
    copying.failed.clear();
    copying.left = 0;
  }
  std::erase_if(copying_, [&](const auto& entry) { return over(entry.first, entry.second); });
}

}  // namespace tinderbox::core
