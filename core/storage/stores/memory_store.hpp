// Blocks in memory, least recently used first. Source: Spark MemoryStore 4.3.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/plan/lineage/lineage.hpp"
#include "core/storage/stores/memory_pool.hpp"
#include "net/types.hpp"

namespace tinderbox::core {

/// A block in memory and what may become of it.
struct MemoryBlock {
  std::string name;
  RddId rdd;  // none: not part of an Rdd
  StorageLevel level;
  Payload bytes;
};

/// Thread: the block manager's lock guards it.
class MemoryStore {
 public:
  explicit MemoryStore(MemoryPool& pool) : pool_(pool) {}

  /// Blocks that must go before `size` bytes of `rdd` fit, least recently used first; blocks of the
  /// same Rdd are never among them, nor those that are being read. nullopt: it does not fit,
  /// whatever goes.
  std::optional<std::vector<MemoryBlock>> victims(int64_t size, RddId rdd) const;
  /// The least recently used ones with `size` bytes together; all, if they have less. None of them
  /// is of the Rdd `keep`, or being read.
  std::vector<MemoryBlock> oldest(int64_t size, RddId keep) const;
  /// False: the pool has no room. A block of that name must not be there.
  bool insert(MemoryBlock block);
  /// Counts as a use.
  const MemoryBlock* get(const std::string& name);
  /// Does not count as a use. Null: not there.
  const MemoryBlock* peek(const std::string& name) const;
  bool contains(const std::string& name) const { return places_.contains(name); }
  /// A reader holds its bytes, so that throwing it out would free none.
  static bool is_read(const MemoryBlock& block) { return block.bytes.shared(); }
  /// False: it was not there.
  bool erase(const std::string& name);
  /// In order of use.
  const std::list<MemoryBlock>& blocks() const { return blocks_; }

 private:
  static bool is_of(const MemoryBlock& block, RddId rdd) {
    return rdd.value >= 0 && block.rdd == rdd;
  }
  MemoryPool& pool_;
  std::list<MemoryBlock> blocks_;
  std::unordered_map<std::string, std::list<MemoryBlock>::iterator> places_;
};

}  // namespace tinderbox::core
