// The beginning of a key as a number.
//
// Problem: comparing keys where they lie misses the cache at every step of a sort. So eight bytes
// of each key are compared first, as one number that lies beside its record's place; most keys that
// differ, differ there.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/api/serde.hpp"

namespace tinderbox::core {

/// Where a record stands, and the prefix of its key.
struct SortEntry {
  uint64_t prefix;
  size_t at;
};
/// Ascending by prefix; what is equal in any order.
void sort_by_prefix(std::vector<SortEntry>& places);

/// A number that is not greater than another key's when the key is not greater.
/// kExact: equal numbers are equal keys.
template <class K>
struct SortPrefix {
  static constexpr bool kExact = false;
  static uint64_t of(const K&) { return 0; }
};
template <class K>
  requires(std::is_integral_v<K> && sizeof(K) <= sizeof(uint64_t))
struct SortPrefix<K> {
  static constexpr bool kExact = true;
  static uint64_t of(K key) {
    constexpr uint64_t kSign = std::is_signed_v<K> ? uint64_t{1} << 63 : 0;
    return static_cast<uint64_t>(key) ^ kSign;
  }
};
template <>
struct SortPrefix<double> {
  static constexpr bool kExact = true;
  static uint64_t of(double key) {
    if (key != key) return ~uint64_t{0};                   // NaN is last
    const auto bits = std::bit_cast<uint64_t>(key + 0.0);  // -0.0 is 0.0
    return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
  }
};
template <>
struct SortPrefix<float> : SortPrefix<double> {};
template <TextLike K>
struct SortPrefix<K> {
  static constexpr bool kExact = false;
  static uint64_t of(const K& key) {
    uint64_t number = 0;
    if (key.size() >= sizeof number) {
      std::memcpy(&number, key.data(), sizeof number);
      return std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
    }
    for (const char c : key) number = number << 8 | static_cast<unsigned char>(c);
    return key.empty() ? 0 : number << 8 * (sizeof number - key.size());
  }
};
template <class A, class... B>
struct SortPrefix<std::tuple<A, B...>> {
  static constexpr bool kExact = false;
  static uint64_t of(const std::tuple<A, B...>& key) { return SortPrefix<A>::of(std::get<0>(key)); }
};
template <class A, class B>
struct SortPrefix<std::pair<A, B>> {
  static constexpr bool kExact = false;
  static uint64_t of(const std::pair<A, B>& key) { return SortPrefix<A>::of(key.first); }
};

}  // namespace tinderbox::core
