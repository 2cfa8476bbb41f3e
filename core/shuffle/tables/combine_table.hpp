// The table in which a shuffle combines the values of equal keys.
//
// Problem: word count of 500 MB does 70 million lookups; with keys as views into the text every
// probe misses the cache twice (slot, text). Here a slot is half a cache line: hash, length, the
// key itself when it has at most 16 bytes (else its place in an arena), and eight bytes for the
// value. Open addressing, linear probing, at most 5/8 full. Keys are bytes: any type with the
// record codec will do, hashed once by core/shuffle/tables/hash.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/shuffle/tables/cleared_memory.hpp"
#include "core/shuffle/tables/hash.hpp"

namespace tinderbox::core {

class CombineTable {
 public:
  struct Slot {
    uint32_t hash_;
    uint32_t length;  // of the key, plus one; 0: the slot is free
    ShortKey words;   // the key, or its address and length when it is longer than 16 bytes
    uint64_t value;   // the caller's: a value of up to 8 bytes, or an index
    uint32_t hash() const { return hash_; }
    /// Good while the table lives and does not grow.
    std::string_view key() const {
      const size_t n = length - 1;
      if (n <= ShortKey::kMax) return {reinterpret_cast<const char*>(&words), n};
      return {reinterpret_cast<const char*>(words.lo), static_cast<size_t>(words.hi)};
    }
  };
  struct Found {
    Slot* slot;  // good until the next call
    bool fresh;  // the key was not there: value is 0 and the caller's to set
  };

  /// With room for so many keys, before it has to grow.
  explicit CombineTable(size_t keys = 0);
  CombineTable(const CombineTable&) = delete;
  CombineTable& operator=(const CombineTable&) = delete;

  /// Shape: key.size() < 2^32 - 1; hash = hash_key(key).
  Found upsert(std::string_view key, uint32_t hash) {
    if (key.size() > ShortKey::kMax) return upsert_long(key, hash);
    return upsert_short(short_key(key), key.size(), hash);
  }
  /// Shape: hash = hash_short(words, length).
  Found upsert_short(ShortKey words, size_t length, uint32_t hash) {
    if (size_ >= limit_) [[unlikely]]
      grow();
    const auto tag = static_cast<uint32_t>(length + 1);
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.words == words && slot.length == tag) return {&slot, false};
      if (slot.length == 0) {
        ++size_;
        slot.hash_ = hash;
        slot.length = tag;
        slot.words = words;
        return {&slot, true};
      }
    }
  }
  /// Null: the key is not there. Shape: as upsert().
  const Slot* find(std::string_view key, uint32_t hash) const {
    const auto tag = static_cast<uint32_t>(key.size() + 1);
    for (size_t i = hash & mask_; slots_[i].length != 0; i = (i + 1) & mask_)
      if (slots_[i].hash_ == hash && slots_[i].length == tag && slots_[i].key() == key)
        return &slots_[i];
    return nullptr;
  }
  /// Brings the slot of a key that will be asked for soon into the cache.
  void prefetch(uint32_t hash) const { __builtin_prefetch(&slots_[hash & mask_], 1); }
  /// Calls f(const Slot&) for every key, in no meaningful order.
  template <class F>
  void each(F&& f) const {
    for (size_t i = 0; i <= mask_; ++i) {
      if (slots_[i].length != 0) f(slots_[i]);
    }
  }
  /// For reading slot by slot: index < capacity(); null: it is free.
  const Slot* at(size_t index) const {
    return slots_[index].length != 0 ? &slots_[index] : nullptr;
  }
  size_t capacity() const { return mask_ + 1; }
  size_t size() const { return size_; }
  /// Memory that the table holds. Unit: bytes.
  int64_t bytes() const { return static_cast<int64_t>(capacity() * sizeof(Slot)) + arena_bytes_; }
  /// What it holds beside that when it grows, if it may while `more` keys come.
  int64_t growth(size_t more) const {
    return size_ + more > limit_ ? static_cast<int64_t>(capacity() * 2 * sizeof(Slot)) : 0;
  }
  /// What one made for so many keys begins with.
  static int64_t bytes_for(size_t keys);
  /// Forgets all keys and gives the memory back.
  void clear();

 private:
  Found upsert_long(std::string_view key, uint32_t hash);
  void grow();
  void allocate(size_t capacity);
  const char* keep(std::string_view key);

  ClearedMemory memory_;
  Slot* slots_ = nullptr;
  size_t mask_ = 0;
  size_t size_ = 0;
  size_t limit_ = 0;
  std::vector<std::unique_ptr<char[]>> arena_;
  size_t arena_left_ = 0;
  int64_t arena_bytes_ = 0;
};
static_assert(sizeof(CombineTable::Slot) == 32);

}  // namespace tinderbox::core
