// How much memory a kept value has beside itself.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "core/api/steps/values/owned.hpp"

namespace tinderbox::core {

/// Whether a value of this type may own memory beside itself.
template <class T>
inline constexpr bool kHoldsBytes = !std::is_trivially_copyable_v<T>;

/// Between two looks at what a table holds so many values come at most.
inline constexpr size_t kMore = 128;
/// What `values` holds beside its elements when it grows, if it may while `more` come.
template <class T>
int64_t growth_of(const std::vector<T>& values, size_t more) {
  const bool may_grow = values.size() + more > values.capacity();
  return may_grow ? static_cast<int64_t>(2 * values.capacity() * sizeof(T)) : 0;
}

template <class T>
int64_t held_bytes(const T& value, int depth = 0);

/// Of the elements of a container: some are looked at, the others are taken to be like them. Of
/// containers in containers so many are looked into: they may be made of their like.
template <class T>
int64_t held_by_elements(const T& values, int depth) {
  constexpr int kDeepest = 4;
  using V = typename T::value_type;
  constexpr size_t kLooked = 4;
  // Nodes of sets and maps: three pointers and a colour, or a link and a hash.
  constexpr bool kInARow = kIs<T, std::vector> || kIsArray<T>;
  constexpr int64_t kNode = kInARow ? 0 : 32 + static_cast<int64_t>(sizeof(V));
  int64_t sum = 0;
  const size_t n = values.size(), looked = std::min(n, kLooked);
  if constexpr (kHoldsBytes<V>) {
    if (depth == kDeepest)
      sum = 0;
    else if constexpr (kInARow)
      for (size_t i = 0; i < looked; ++i) sum += held_bytes<V>(values[i * n / looked], depth + 1);
    else {
      auto it = values.begin();
      for (size_t i = 0; i < looked; ++i, ++it) sum += held_bytes<V>(*it, depth + 1);
    }
  }
  const auto of_one = looked == 0 ? 0 : kNode + sum / static_cast<int64_t>(looked);
  return static_cast<int64_t>(n) * of_one;
}

/// An estimate in constant time. Unit: bytes. Source: Spark SizeEstimator.
template <class T>
int64_t held_bytes(const T& value, int depth) {
  const auto sum = [depth](const auto&... v) { return (int64_t{0} + ... + held_bytes(v, depth)); };
  if constexpr (!kHoldsBytes<T>)
    return 0;
  else if constexpr (std::is_same_v<T, std::string>)
    return value.capacity() > sizeof(std::string) / 2 ? static_cast<int64_t>(value.capacity()) : 0;
  else if constexpr (kIs<T, std::optional>)
    return value ? sum(*value) : 0;
  else if constexpr (kIs<T, std::variant>)
    return std::visit(sum, value);
  else if constexpr (Tupled<T>)
    return std::apply(sum, value);
  else if constexpr (kIs<T, std::vector>)
    return static_cast<int64_t>(value.capacity() * sizeof(typename T::value_type)) +
           held_by_elements(value, depth);
  else if constexpr (Container<T> || kIsArray<T>)
    return held_by_elements(value, depth);
  else if constexpr (HasRecordFields<T>)
    return std::apply(sum, T::record_fields(value));
  else if constexpr (PlainAggregate<T> && net::field_count<T>() > 0 && net::field_count<T>() <= 20)
    return net::with_fields(value, sum);
  else
    return 0;
}

}  // namespace tinderbox::core
