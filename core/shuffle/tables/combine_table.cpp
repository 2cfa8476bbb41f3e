#include "core/shuffle/tables/combine_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tinderbox::core {
namespace {

constexpr size_t kFirstCapacity = 256;
constexpr size_t kChunk = 64 << 10;

size_t capacity_for(size_t keys) {
  return std::max(kFirstCapacity, std::bit_ceil(keys / 5 * 8 + 8));
}

}  // namespace

CombineTable::CombineTable(size_t keys) { allocate(capacity_for(keys)); }

int64_t CombineTable::bytes_for(size_t keys) {
  return static_cast<int64_t>(capacity_for(keys) * sizeof(Slot));
}

void CombineTable::allocate(size_t capacity) {
  memory_ = ClearedMemory(capacity * sizeof(Slot));
  slots_ = static_cast<Slot*>(memory_.data());
  mask_ = capacity - 1;
  limit_ = capacity / 8 * 5;
}

void CombineTable::grow() {
  const ClearedMemory before = std::move(memory_);
  const Slot* old = slots_;
  const size_t old_capacity = capacity();
  allocate(old_capacity * 2);
  for (size_t i = 0; i < old_capacity; ++i) {
    if (old[i].length == 0) continue;
    size_t to = old[i].hash() & mask_;
    while (slots_[to].length != 0) to = (to + 1) & mask_;
    slots_[to] = old[i];
  }
}

CombineTable::Found CombineTable::upsert_long(std::string_view key, uint32_t hash) {
  if (size_ >= limit_) grow();
  const auto tag = static_cast<uint32_t>(key.size() + 1);
  size_t i = hash & mask_;
  for (; slots_[i].length != 0; i = (i + 1) & mask_) {
    if (slots_[i].hash_ == hash && slots_[i].length == tag && slots_[i].key() == key) {
      return {&slots_[i], false};
    }
  }
  ++size_;
  const char* kept = keep(key);
  slots_[i] = {hash, tag, {reinterpret_cast<uintptr_t>(kept), key.size()}, 0};
  return {&slots_[i], true};
}

const char* CombineTable::keep(std::string_view key) {
  if (key.size() > arena_left_) {
    // A key that is large itself gets a chunk of its own and leaves the current one in use.
    const size_t size = key.size() > kChunk / 4 ? key.size() : kChunk;
    arena_.push_back(std::make_unique<char[]>(size));
    arena_bytes_ += static_cast<int64_t>(size);
    if (size != kChunk) {
      std::memcpy(arena_.back().get(), key.data(), key.size());
      const char* kept = arena_.back().get();
      if (arena_.size() > 1) std::swap(arena_.back(), arena_[arena_.size() - 2]);
      return kept;
    }
    arena_left_ = kChunk;
  }
  char* to = arena_.back().get() + (kChunk - arena_left_);
  std::memcpy(to, key.data(), key.size());
  arena_left_ -= key.size();
  return to;
}

void CombineTable::clear() {
  size_ = 0;
  arena_.clear();
  arena_left_ = 0;
  arena_bytes_ = 0;
  memory_ = {};
  allocate(kFirstCapacity);
}

}  // namespace tinderbox::core
