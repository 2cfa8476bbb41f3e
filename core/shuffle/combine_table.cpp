#include "core/shuffle/combine_table.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace tinderbox::core {
namespace {

constexpr size_t kFirstCapacity = 256;
constexpr size_t kChunk = 64 << 10;
constexpr size_t kHugePage = 2 << 20;

}  // namespace

void CombineTable::Free::operator()(Slot* slots) const { std::free(slots); }

CombineTable::CombineTable() { allocate(kFirstCapacity); }

void CombineTable::allocate(size_t capacity) {
  const size_t bytes = capacity * sizeof(Slot);
  // Large tables are probed at random: huge pages save a page walk a probe.
  const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  auto* slots = static_cast<Slot*>(std::aligned_alloc(alignment, bytes));
  if (!slots) throw std::bad_alloc();
  if (bytes >= kHugePage) madvise(slots, bytes, MADV_HUGEPAGE);
  std::memset(static_cast<void*>(slots), 0, bytes);
  slots_.reset(slots);
  mask_ = capacity - 1;
  limit_ = capacity / 8 * 5;
}

void CombineTable::grow() {
  const auto old = std::move(slots_);
  const size_t old_capacity = capacity();
  allocate(old_capacity * 2);
  for (size_t i = 0; i < old_capacity; ++i) {
    if (old[i].length == 0) continue;
    size_t to = old[i].hash & mask_;
    while (slots_[to].length != 0) to = (to + 1) & mask_;
    slots_[to] = old[i];
  }
}

CombineTable::Found CombineTable::upsert_long(std::string_view key, uint32_t hash) {
  if (size_ >= limit_) grow();
  const auto tag = static_cast<uint32_t>(key.size() + 1);
  size_t i = hash & mask_;
  for (; slots_[i].length != 0; i = (i + 1) & mask_) {
    if (slots_[i].hash == hash && slots_[i].length == tag && slots_[i].key() == key) {
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
  slots_.reset();
  allocate(kFirstCapacity);
}

}  // namespace tinderbox::core
