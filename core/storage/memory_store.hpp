// Blocks in memory, least recently used first. Source: Spark MemoryStore 4.3.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/plan/lineage.hpp"
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
  explicit MemoryStore(int64_t capacity) : capacity_(capacity) {}

  /// Blocks that must go before `size` bytes of `rdd` fit, least recently used first; blocks of the
  /// same Rdd are never among them. nullopt: it does not fit, whatever goes.
  std::optional<std::vector<MemoryBlock>> victims(int64_t size, RddId rdd) const;
  /// Its size must fit; a block of that name must not be there.
  void insert(MemoryBlock block);
  /// Counts as a use.
  const MemoryBlock* get(const std::string& name);
  /// Does not count as a use. Null: not there.
  const MemoryBlock* peek(const std::string& name) const;
  bool contains(const std::string& name) const { return places_.contains(name); }
  /// False: it was not there.
  bool erase(const std::string& name);
  /// In order of use.
  const std::list<MemoryBlock>& blocks() const { return blocks_; }

 private:
  const int64_t capacity_;
  int64_t used_ = 0;
  std::list<MemoryBlock> blocks_;
  std::unordered_map<std::string, std::list<MemoryBlock>::iterator> places_;
};

}  // namespace tinderbox::core
