// Blocks in memory, least recently used first.
#include "core/storage/stores/memory_store.hpp"

#include <iterator>

namespace tinderbox::core {

std::optional<std::vector<MemoryBlock>> MemoryStore::victims(int64_t size, RddId rdd) const {
  std::vector<MemoryBlock> chosen;
  int64_t free = pool_.free();
  for (auto it = blocks_.begin(); it != blocks_.end() && free < size; ++it) {
    if (is_of(*it, rdd) || is_read(*it)) continue;
    free += static_cast<int64_t>(it->bytes.size());
    chosen.push_back(*it);
  }
  if (free < size) return std::nullopt;
  return chosen;
}

std::vector<MemoryBlock> MemoryStore::oldest(int64_t size, RddId keep) const {
  std::vector<MemoryBlock> chosen;
  for (const MemoryBlock& block : blocks_) {
    if (size <= 0) break;
    if (is_of(block, keep) || is_read(block)) continue;
    size -= static_cast<int64_t>(block.bytes.size());
    chosen.push_back(block);
  }
  return chosen;
}

bool MemoryStore::insert(MemoryBlock block) {
  if (!pool_.take_storage(static_cast<int64_t>(block.bytes.size()))) return false;
  blocks_.push_back(std::move(block));
  places_.emplace(blocks_.back().name, std::prev(blocks_.end()));
  return true;
}

const MemoryBlock* MemoryStore::get(const std::string& name) {
  const auto place = places_.find(name);
  if (place == places_.end()) return nullptr;
  blocks_.splice(blocks_.end(), blocks_, place->second);
  return &*place->second;
}

const MemoryBlock* MemoryStore::peek(const std::string& name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &*place->second;
}

bool MemoryStore::erase(const std::string& name) {
  const auto place = places_.find(name);
  if (place == places_.end()) return false;
  pool_.give_storage(static_cast<int64_t>(place->second->bytes.size()));
  blocks_.erase(place->second);
  places_.erase(place);
  return true;
}

}  // namespace tinderbox::core
