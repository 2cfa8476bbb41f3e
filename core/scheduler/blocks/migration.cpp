// Moves what decommissioned executors hold to others before they end.
#include "core/scheduler/blocks/migration.hpp"

#include <algorithm>

#include "core/storage/block_id.hpp"

namespace tinderbox::core {

void Migration::start(int32_t slot, Turn& turn) {
  Leaving& leaving = leaving_[slot];
  find_blocks(slot, leaving);
  turn.log(Level::Info, "Migrating " + std::to_string(leaving.waiting.size()) +
                            " blocks of executor " + executors_.at(slot).id.value);
  hand_out(slot, leaving, turn);
}

/// What its last tasks left is found by looking once more when all else is moved. Without anybody
/// who could take what waits its end would be put off for ever.
bool Migration::finished(int32_t slot, Turn& turn) {
  if (taking_.contains(slot)) return false;
  const auto at = leaving_.find(slot);
  if (at == leaving_.end()) return true;
  Leaving& leaving = at->second;
  while (leaving.asked == 0 && !leaving.waiting.empty() && !held(slot, leaving.waiting.front()))
    leaving.waiting.pop_front();
  if (leaving.asked == 0 && leaving.waiting.empty()) {
    find_blocks(slot, leaving);
    hand_out(slot, leaving, turn);
  }
  if (leaving.asked > 0 || (!leaving.waiting.empty() && any_peer())) return false;
  if (!leaving.waiting.empty())
    turn.log(Level::Warn, "Giving up " + std::to_string(leaving.waiting.size()) +
                              " blocks of executor " + executors_.at(slot).id.value +
                              ": there is no executor that could take them");
  leaving_.erase(at);
  wanting_.erase(slot);
  return true;
}

void Migration::executor_ready(int32_t slot, Turn& turn) {
  free_.add(slot);
  serve_waiting(turn);
}

/// One peer at a time becomes free: of thousands that leave only the first that waits looks for it.
void Migration::serve_waiting(Turn& turn) {
  for (auto at = wanting_.begin(); at != wanting_.end() && free_.any();) {
    const int32_t slot = *at;
    hand_out(slot, leaving_.at(slot), turn);
    at = wanting_.upper_bound(slot);
  }
}

void Migration::executor_gone(int32_t slot, Turn& turn) {
  leaving_.erase(slot);
  wanting_.erase(slot);
  free_.remove(slot);
  for (auto it = asked_.begin(); it != asked_.end();) {
    if (it->second.from == slot) {
      freed(it->second.by);
      it = asked_.erase(it);
    } else if (it->second.by == slot) {
      const Asked asked = it->second;
      it = asked_.erase(it);
      failed(asked, "it was lost", turn);
    } else {
      ++it;
    }
  }
  serve_waiting(turn);
}

void Migration::timer(int32_t slot, Turn& turn) {
  const auto at = leaving_.find(slot);
  if (at == leaving_.end()) return;
  at->second.timer_set = false;
  hand_out(slot, at->second, turn);
}

// ---- blocks ------------------------------------------------------------------------------------

void Migration::find_blocks(int32_t slot, Leaving& leaving) const {
  const ExecutorId& from = executors_.at(slot).id;
  const auto want = [&](Block block) {
    if (!leaving.over.contains(block.name)) leaving.waiting.push_back(std::move(block));
  };
  if (options_.shuffles)
    for (const MapOutputTracker::Held& h : outputs_.outputs_on(from))
      want({shuffle_data_file(h.shuffle, h.map_id), h.shuffle, h.map, h.map_id, false, true, 0});
  if (options_.rdds)
    for (const BlockUpdate& b : blocks_.rdd_blocks_on(from))
      want({b.block, {}, -1, -1, b.use_memory, b.use_disk, b.replication});
}

/// Not removed, computed again elsewhere or thrown out meanwhile.
bool Migration::held(int32_t slot, const Block& block) const {
  const ExecutorId& from = executors_.at(slot).id;
  if (block.shuffle.value >= 0) {
    const MapStatus* status = outputs_.output(block.shuffle, block.map);
    return status && status->map_id == block.map_id && status->location.executor == from;
  }
  const std::vector<BlockManagerId> at = blocks_.locations(block.name);
  return std::any_of(at.begin(), at.end(),
                     [&](const BlockManagerId& id) { return id.executor == from; });
}

/// Executors that have a copy of a cached partition. Of an output there is one.
std::set<int32_t> Migration::holders(const Block& block) const {
  std::set<int32_t> slots;
  if (block.shuffle.value >= 0) return slots;
  for (const BlockManagerId& id : blocks_.locations(block.name))
    slots.insert(executors_.slot(id.executor));
  return slots;
}

bool Migration::any_peer(const std::set<int32_t>& but) const {
  const std::vector<int32_t>& active = executors_.active();
  return std::any_of(active.begin(), active.end(),
                     [&](int32_t peer) { return free_.may_take(peer) && !but.contains(peer); });
}

bool Migration::takes(int32_t slot, std::string_view block) const {
  return std::any_of(asked_.begin(), asked_.end(), [&](const auto& entry) {
    return entry.second.by == slot && entry.second.block.name == block;
  });
}

void Migration::note_wants(int32_t slot, const Leaving& leaving) {
  if (!leaving.waiting.empty() && leaving.asked < options_.max_threads)
    wanting_.insert(slot);
  else
    wanting_.erase(slot);
}

void Migration::hand_out(int32_t slot, Leaving& leaving, Turn& turn) {
  while (!leaving.waiting.empty() && leaving.asked < options_.max_threads) {
    if (!held(slot, leaving.waiting.front())) {
      leaving.waiting.pop_front();
      continue;
    }
    const std::set<int32_t> have = holders(leaving.waiting.front());
    const int32_t peer = free_.next(leaving.resting, have, turn.now);
    if (peer < 0 && any_peer() && !any_peer(have)) {
      leaving.over.insert(leaving.waiting.front().name);
      leaving.waiting.pop_front();
      continue;
    }
    if (peer < 0) break;
    ask(slot, peer, leaving, turn);
  }
  note_wants(slot, leaving);
  if (leaving.waiting.empty() && leaving.asked == 0) executors_.settle(slot);
  if (leaving.waiting.empty() || leaving.asked > 0 || leaving.timer_set) return;
  leaving.timer_set = true;
  turn.after(options_.reattempt_interval, DriverTimer::Kind::Migration, slot);
}

void Migration::ask(int32_t slot, int32_t peer, Leaving& leaving, Turn& turn) {
  const uint64_t request = next_request_++;
  const Block& block =
      asked_.emplace(request, Asked{slot, peer, std::move(leaving.waiting.front())})
          .first->second.block;
  leaving.waiting.pop_front();
  ++leaving.asked;
  taking_.insert(peer);
  free_.remove(peer);
  turn.send(executors_.at(peer).peer,
            TakeBlock{request, executors_.at(slot).address, block.name, block.use_memory,
                      block.use_disk, block.replication});
}

// ---- answers -----------------------------------------------------------------------------------

bool Migration::taken(int32_t by, const BlockTaken& answer, Turn& turn) {
  const auto at = asked_.find(answer.request);
  if (at == asked_.end() || at->second.by != by) return false;
  const Asked asked = std::move(at->second);
  asked_.erase(at);
  bool cached_moved = false;
  if (answer.taken)
    cached_moved = moved(asked, turn);
  else
    failed(asked, answer.reason, turn);
  serve_waiting(turn);
  return cached_moved;
}

void Migration::freed(int32_t peer) {
  taking_.erase(peer);
  if (executors_.alive(peer)) free_.add(peer);
  executors_.settle(peer);
}

void Migration::took(const Asked& asked) {
  freed(asked.by);
  Leaving& leaving = leaving_.at(asked.from);
  --leaving.asked;
  note_wants(asked.from, leaving);
  executors_.settle(asked.from);
}

void Migration::failed(const Asked& asked, const std::string& why, Turn& turn) {
  took(asked);
  Leaving& leaving = leaving_.at(asked.from);
  if (!held(asked.from, asked.block)) return;
  leaving.resting[asked.by] = turn.now + options_.reattempt_interval;
  const bool give_up = ++leaving.failures[asked.block.name] >= options_.max_failures;
  turn.log(Level::Warn, "Executor " + executors_.at(asked.by).id.value + " did not take " +
                            asked.block.name + " of executor " +
                            executors_.at(asked.from).id.value + ": " + why +
                            (give_up ? "; giving up on it" : ""));
  if (give_up)
    leaving.over.insert(asked.block.name);
  else
    leaving.waiting.push_back(asked.block);
  note_wants(asked.from, leaving);
}

/// A map output has its new place; a cached partition goes from its old one. A copy of what is
/// gone from there meanwhile is nobody's.
bool Migration::moved(const Asked& asked, Turn& turn) {
  took(asked);
  leaving_.at(asked.from).over.insert(asked.block.name);
  if (!held(asked.from, asked.block)) {
    remove_copy(asked, turn);
    return false;
  }
  const Executor& to = executors_.at(asked.by);
  if (asked.block.shuffle.value < 0) {
    turn.send(executors_.at(asked.from).peer, RemoveBlocks{{asked.block.name}});
    return true;
  }
  outputs_.move_output(asked.block.shuffle, asked.block.map, to.address);
  BlockUpdated& event = turn.post<BlockUpdated>();
  event.executor = to.id;
  event.block.block = asked.block.name;
  event.block.on_disk = true;
  return false;
}

/// That of a shuffle that is still used goes with the shuffle: nothing else removes an output.
void Migration::remove_copy(const Asked& asked, Turn& turn) {
  const PeerId taker = executors_.at(asked.by).peer;
  if (asked.block.shuffle.value < 0)
    turn.send(taker, RemoveBlocks{{asked.block.name}});
  else if (!outputs_.contains(asked.block.shuffle))
    turn.send(taker, RemoveShuffle{asked.block.shuffle});
}

}  // namespace tinderbox::core
