// The hash of a shuffled key: of its bytes, the same in every process of an application.
//
// One 32-bit number serves twice. A reduce partition takes its high bits (a scaled product), a hash
// table its low bits, so the keys of one partition still spread over the whole table.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "net/process/sanitizers.hpp"

namespace tinderbox::core {

/// A key of at most 16 bytes as two words, zeros behind its end.
struct ShortKey {
  static constexpr size_t kMax = 16;
  uint64_t lo = 0, hi = 0;
  bool operator==(const ShortKey&) const = default;
};

inline uint64_t load_word(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

/// Shape: key.size() ≤ 16.
inline ShortKey short_key_exact(std::string_view key) {
  ShortKey words;
  const size_t n = key.size();
  if (n >= 8) {
    words.lo = load_word(key.data());
    if (n > 8) std::memcpy(&words.hi, key.data() + 8, n - 8);
  } else if (n > 0) {
    std::memcpy(&words.lo, key.data(), n);
  }
  return words;
}

#if defined(TINDERBOX_ADDRESS_SANITIZER) || defined(TINDERBOX_THREAD_SANITIZER)
inline ShortKey short_key(std::string_view key) { return short_key_exact(key); }
#else
/// The same without a branch on the length, which is what a text's words mispredict: reads 16 bytes
/// and masks, unless they would cross into a page that may not be there.
[[gnu::always_inline]] inline ShortKey short_key(std::string_view key) {
  static constexpr uint64_t kMask[17][2] = {{0, 0},
                                            {0xff, 0},
                                            {0xffff, 0},
                                            {0xffffff, 0},
                                            {0xffffffff, 0},
                                            {0xffffffffff, 0},
                                            {0xffffffffffff, 0},
                                            {0xffffffffffffff, 0},
                                            {~0ull, 0},
                                            {~0ull, 0xff},
                                            {~0ull, 0xffff},
                                            {~0ull, 0xffffff},
                                            {~0ull, 0xffffffff},
                                            {~0ull, 0xffffffffff},
                                            {~0ull, 0xffffffffffff},
                                            {~0ull, 0xffffffffffffff},
                                            {~0ull, ~0ull}};
  if ((reinterpret_cast<uintptr_t>(key.data()) & 4095) > 4096 - ShortKey::kMax) [[unlikely]] {
    return short_key_exact(key);
  }
  ShortKey words;
  // Through assembler operands the compiler can't see how many bytes are there; a page boundary was
  // ruled out.
  const char* p = key.data();
  asm("" : "+r"(p));
  words.lo = load_word(p) & kMask[key.size()][0];
  words.hi = load_word(p + 8) & kMask[key.size()][1];
  return words;
}
#endif

/// Hash of a short key. Constants: the fractional digits of pi.
inline uint32_t hash_short(ShortKey key, size_t length) {
  const uint64_t a = key.lo ^ 0x243f6a8885a308d3ull ^ (uint64_t{length} << 56);
  const uint64_t b = key.hi ^ 0x13198a2e03707344ull;
  const auto product = static_cast<unsigned __int128>(a) * (b | 1);
  const uint64_t folded = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  return static_cast<uint32_t>((folded * 0xa4093822299f31d1ull) >> 32);
}
/// Hash of a key of more than 16 bytes.
uint32_t hash_long(std::string_view key);

inline uint32_t hash_key(std::string_view key) {
  return key.size() <= ShortKey::kMax ? hash_short(short_key(key), key.size()) : hash_long(key);
}

/// 64 bits, all of them well mixed, of a key of any length: for sketches.
uint64_t hash_wide(std::string_view key);

/// The partition of n that a hash belongs to. Shape: n > 0.
inline int32_t hash_partition(uint32_t hash, int32_t n) {
  return static_cast<int32_t>(uint64_t{hash} * static_cast<uint64_t>(n) >> 32);
}

}  // namespace tinderbox::core
