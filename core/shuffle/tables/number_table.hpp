// The table of CombineTable for keys that are numbers: half as large.
//
// Problem: sums of 100 M integers, ranks of a million pages: every probe misses the cache, and most
// of a slot of 32 bytes is padding then. Here a slot is the key and eight bytes for the value. The
// key 0 marks a free slot; the real one lies beside the table.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/shuffle/tables/cleared_memory.hpp"
#include "core/shuffle/tables/hash.hpp"

namespace tinderbox::core {

/// Keys of `kSize` bytes, at most 8. The same functions as CombineTable, which tells their shapes.
template <size_t kSize>
class NumberTable {
  static_assert(kSize >= 1 && kSize <= sizeof(uint64_t));

 public:
  struct Slot {
    uint64_t word;  // the key
    uint64_t value;
    std::string_view key() const { return {reinterpret_cast<const char*>(&word), kSize}; }
    uint32_t hash() const { return hash_short({word, 0}, kSize); }
  };
  struct Found {
    Slot* slot;
    bool fresh;
  };

  explicit NumberTable(size_t keys = 0) { allocate(capacity_for(keys)); }
  NumberTable(const NumberTable&) = delete;
  NumberTable& operator=(const NumberTable&) = delete;

  Found upsert(std::string_view key, uint32_t hash) { return upsert(word_of(key), hash); }
  Found upsert_short(ShortKey words, size_t, uint32_t hash) { return upsert(words.lo, hash); }
  const Slot* find(std::string_view key, uint32_t hash) const {
    const uint64_t word = word_of(key);
    if (word == 0) return has_zero_ ? &zero_ : nullptr;
    for (size_t i = hash & mask_; slots_[i].word != 0; i = (i + 1) & mask_)
      if (slots_[i].word == word) return &slots_[i];
    return nullptr;
  }
  void prefetch(uint32_t hash) const { __builtin_prefetch(&slots_[hash & mask_], 1); }
  template <class F>
  void each(F&& f) const {
    for (size_t i = 0; i < capacity(); ++i)
      if (const Slot* slot = at(i)) f(*slot);
  }
  const Slot* at(size_t index) const {
    if (index > mask_) return has_zero_ ? &zero_ : nullptr;
    return slots_[index].word != 0 ? &slots_[index] : nullptr;
  }
  size_t capacity() const { return mask_ + 2; }
  size_t size() const { return size_ + (has_zero_ ? 1 : 0); }
  int64_t bytes() const { return static_cast<int64_t>((mask_ + 1) * sizeof(Slot)); }
  int64_t growth(size_t more) const {
    return size_ + more > limit_ ? static_cast<int64_t>((mask_ + 1) * 2 * sizeof(Slot)) : 0;
  }
  static int64_t bytes_for(size_t keys) {
    return static_cast<int64_t>(capacity_for(keys) * sizeof(Slot));
  }
  void clear() {
    size_ = 0;
    has_zero_ = false;
    memory_ = {};
    allocate(capacity_for(0));
  }

 private:
  static size_t capacity_for(size_t keys) {
    return std::max<size_t>(512, std::bit_ceil(keys / 5 * 8 + 8));
  }
  static uint64_t word_of(std::string_view key) {
    uint64_t word = 0;
    std::memcpy(&word, key.data(), kSize);
    return word;
  }
  Found upsert(uint64_t word, uint32_t hash) {
    if (word == 0) [[unlikely]] {
      if (!has_zero_) zero_.value = 0;
      return {&zero_, !std::exchange(has_zero_, true)};
    }
    if (size_ >= limit_) [[unlikely]]
      grow();
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.word == word) return {&slot, false};
      if (slot.word == 0) {
        ++size_;
        slot.word = word;
        return {&slot, true};
      }
    }
  }
  void allocate(size_t capacity) {
    memory_ = ClearedMemory(capacity * sizeof(Slot));
    slots_ = static_cast<Slot*>(memory_.data());
    mask_ = capacity - 1;
    limit_ = capacity / 8 * 5;
  }
  [[gnu::noinline]] void grow() {
    const ClearedMemory before = std::move(memory_);
    const Slot* old = slots_;
    const size_t old_capacity = mask_ + 1;
    allocate(old_capacity * 2);
    for (size_t i = 0; i < old_capacity; ++i) {
      if (old[i].word == 0) continue;
      size_t to = old[i].hash() & mask_;
      while (slots_[to].word != 0) to = (to + 1) & mask_;
      slots_[to] = old[i];
    }
  }

  ClearedMemory memory_;
  Slot* slots_ = nullptr;
  size_t mask_ = 0;
  size_t size_ = 0;  // without the key 0
  size_t limit_ = 0;
  Slot zero_{0, 0};
  bool has_zero_ = false;
};

}  // namespace tinderbox::core
