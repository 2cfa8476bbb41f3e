// The driver's table of who holds which block.
#include "core/storage/block_master.hpp"

#include <iterator>

#include "core/storage/block_id.hpp"

namespace tinderbox::core {

std::string executor_location(const BlockManagerId& at) {
  return "executor_" + at.host + "_" + at.executor.value;
}

void BlockMaster::add_executor(const BlockManagerId& id, std::vector<std::string> local_dirs) {
  forget_blocks_of(id.executor);
  executors_[id.executor] = {id, std::move(local_dirs)};
}

bool BlockMaster::remove_executor(const ExecutorId& executor) {
  forget_blocks_of(executor);
  return executors_.erase(executor) > 0;
}

const BlockManagerId* BlockMaster::executor(const ExecutorId& executor) const {
  const auto it = executors_.find(executor);
  return it == executors_.end() ? nullptr : &it->second.id;
}

const std::vector<std::string>& BlockMaster::local_dirs(const ExecutorId& executor) const {
  static const std::vector<std::string> kNone;
  const auto it = executors_.find(executor);
  return it == executors_.end() ? kNone : it->second.local_dirs;
}

void BlockMaster::forget_blocks_of(const ExecutorId& executor) {
  const auto drop = [&](auto& table) {
    for (auto it = table.begin(); it != table.end();) {
      it->second.erase(executor);
      it = it->second.empty() ? table.erase(it) : std::next(it);
    }
  };
  for (const BlockUpdate& block : rdd_blocks_on(executor)) update(executor, {.block = block.block});
  for (auto it = broadcasts_.begin(); it != broadcasts_.end();) {
    drop(it->second);
    it = it->second.empty() ? broadcasts_.erase(it) : std::next(it);
  }
  drop(others_);
}

BlockMaster::Status BlockMaster::status(const BlockUpdate& block) {
  const bool told = block.use_memory || block.use_disk;
  return {.in_memory = block.in_memory,
          .on_disk = block.on_disk,
          .use_memory = told ? block.use_memory : block.in_memory,
          .use_disk = told ? block.use_disk : block.on_disk,
          .replication = block.replication,
          .memory_bytes = block.memory_bytes,
          .disk_bytes = block.disk_bytes};
}

bool BlockMaster::update(const ExecutorId& executor, const BlockUpdate& block) {
  if (!knows(executor)) return false;
  const bool gone = !block.in_memory && !block.on_disk;
  const auto change = [&](auto& table, const auto& key) {
    if (!gone) {
      table[key][executor] = status(block);
    } else if (const auto it = table.find(key); it != table.end()) {
      it->second.erase(executor);
      if (it->second.empty()) table.erase(it);
    }
  };
  const auto change_nested = [&](auto& tables, const auto& outer, int32_t inner) {
    if (gone && !tables.contains(outer)) return;
    auto& table = tables[outer];
    change(table, inner);
    if (table.empty()) tables.erase(outer);
  };
  const std::optional<BlockId> id = parse_block_id(block.block);
  if (id && id->kind == BlockId::Kind::Rdd) {
    const std::pair key(RddId{id->owner}, id->part);
    change_nested(rdds_, key.first, key.second);
    auto& cached = executors_.at(executor).cached;
    if (gone)
      cached.erase(key);
    else
      cached.insert(key);
  } else if (id &&
             (id->kind == BlockId::Kind::Broadcast || id->kind == BlockId::Kind::BroadcastPiece)) {
    change_nested(broadcasts_, BroadcastId{id->number}, id->part);
  } else {
    change(others_, block.block);
  }
  return true;
}

const BlockMaster::Holders* BlockMaster::find(std::string_view block) const {
  const auto inner = [](const auto& tables, const auto& outer, int32_t part) -> const Holders* {
    const auto table = tables.find(outer);
    if (table == tables.end()) return nullptr;
    const auto it = table->second.find(part);
    return it == table->second.end() ? nullptr : &it->second;
  };
  const std::optional<BlockId> id = parse_block_id(block);
  if (id && id->kind == BlockId::Kind::Rdd) return inner(rdds_, RddId{id->owner}, id->part);
  if (id && (id->kind == BlockId::Kind::Broadcast || id->kind == BlockId::Kind::BroadcastPiece))
    return inner(broadcasts_, BroadcastId{id->number}, id->part);
  const auto it = others_.find(block);
  return it == others_.end() ? nullptr : &it->second;
}

std::vector<BlockManagerId> BlockMaster::locations(std::string_view block) const {
  std::vector<BlockManagerId> found;
  if (const Holders* holders = find(block))
    for (const auto& [executor, status] : *holders) found.push_back(executors_.at(executor).id);
  return found;
}

BlockUpdate BlockMaster::level_of(const std::string& block) const {
  BlockUpdate level{.block = block};
  if (const Holders* holders = find(block))
    for (const auto& [executor, status] : *holders) {
      level.use_memory |= status.use_memory;
      level.use_disk |= status.use_disk;
      level.replication = std::max(level.replication, status.replication);
    }
  return level;
}

std::vector<std::vector<std::string>> BlockMaster::cached_locations(RddId rdd,
                                                                    int32_t partitions) const {
  std::vector<std::vector<std::string>> found;
  const auto table = rdds_.find(rdd);
  if (table == rdds_.end()) return found;
  found.resize(static_cast<size_t>(partitions));
  for (const auto& [partition, holders] : table->second) {
    if (partition >= partitions) break;
    for (const auto& [executor, status] : holders)
      found[static_cast<size_t>(partition)].push_back(
          executor_location(executors_.at(executor).id));
  }
  return found;
}

std::vector<BlockUpdate> BlockMaster::rdd_blocks_on(const ExecutorId& executor) const {
  std::vector<BlockUpdate> blocks;
  const auto known = executors_.find(executor);
  if (known == executors_.end()) return blocks;
  for (const auto& [rdd, partition] : known->second.cached) {
    const Status& s = rdds_.at(rdd).at(partition).at(executor);
    blocks.push_back({rdd_block(rdd, partition), s.in_memory, s.on_disk, s.memory_bytes,
                      s.disk_bytes, s.use_memory, s.use_disk, s.replication});
  }
  return blocks;
}

void BlockMaster::remove_rdd(RddId rdd) {
  const auto removed = rdds_.extract(rdd);
  if (!removed) return;
  for (const auto& [partition, holders] : removed.mapped())
    for (const auto& [executor, status] : holders)
      executors_.at(executor).cached.erase({rdd, partition});
}
void BlockMaster::remove_broadcast(BroadcastId broadcast) { broadcasts_.erase(broadcast); }

}  // namespace tinderbox::core
