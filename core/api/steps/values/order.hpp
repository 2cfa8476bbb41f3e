// The order of records, and one form for equal ones, also of those with floating point in them.
//
// NaN is neither less than itself nor equal, and -0.0 equals 0.0 with other bytes: maps, sorts and
// tables of keys would lose records by it. So here NaN comes last and equals itself.
#pragma once

#include <algorithm>
#include <compare>
#include <limits>
#include <map>

#include "core/api/steps/values/owned.hpp"

namespace tinderbox::core {

/// Whether values of T have floating point in them.
template <class T>
consteval bool holds_floating() {
  return any_part<std::is_floating_point, T>();
}

/// Classes whose `<=>` may say that two values have no order: one with fields that are compared
/// one after the other, as `= default` does.
template <class T>
concept PartlyOrdered = HasFields<T> && requires(const T& a, const T& b) {
  { a <=> b } -> std::same_as<std::partial_ordering>;
};

template <class A, class B>
bool before(const A& a, const B& b);
/// Of variants that hold the same alternative.
template <class V>
bool before_alike(const V& a, const V& b) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    bool less = false;
    ((a.index() == I && (less = before(*std::get_if<I>(&a), *std::get_if<I>(&b)), true)) || ...);
    return less;
  }(std::make_index_sequence<std::variant_size_v<V>>{});
}
/// a < b, but NaN comes after all others; of A and B one may be owned, the other one have views,
/// which pairs and vectors do not compare. A class with an operator< of its own, or whose fields
/// are not known, orders NaN itself. Source: java.lang.Double.compare, for which -0.0 is less.
template <class A, class B>
bool before(const A& a, const B& b) {
  if constexpr (!holds_floating<A>() && requires { a < b; })
    return a < b;
  else if constexpr (std::is_floating_point_v<A>)
    return a < b || (b != b && a == a);
  else if constexpr (kIs<A, std::pair>)
    return before(a.first, b.first) || (!before(b.first, a.first) && before(a.second, b.second));
  else if constexpr (kIs<A, std::optional>)
    return b && (!a || before(*a, *b));
  else if constexpr (kIs<A, std::tuple>)
    return [&]<size_t... I>(std::index_sequence<I...>) {
      int order = 0;
      ((order = before(std::get<I>(a), std::get<I>(b))   ? -1
                : before(std::get<I>(b), std::get<I>(a)) ? 1
                                                         : 0) ||
       ...);
      return order < 0;
    }(std::make_index_sequence<std::tuple_size_v<A>>());
  else if constexpr (kIs<A, std::variant>)
    return a.index() != b.index() ? a.index() < b.index() : before_alike(a, b);
  else if constexpr (kIsArray<A> || (Container<A> && !HasRecordFields<A>))
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](const auto& x, const auto& y) { return before(x, y); });
  else if constexpr (PartlyOrdered<A>) {
    const std::partial_ordering order = a <=> b;
    return order == std::partial_ordering::unordered ? before(tied_parts(a), tied_parts(b))
                                                     : order < 0;
  } else
    return a < b;
}
struct Before {
  using is_transparent = void;
  auto parts() const { return std::tie(); }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return before(a, b);
  }
};

/// A map by records: where they have floating point in them one that finds NaN.
template <class K, class V>
using MapBy = std::conditional_t<holds_floating<K>(), std::map<K, V, Before>, std::map<K, V>>;

/// Makes equal values of one form: one zero, one NaN.
template <class T>
void make_canonical(T& value) {
  auto each = [](auto&... part) { (make_canonical(part), ...); };
  if constexpr (!holds_floating<T>())
    return;
  else if constexpr (std::is_floating_point_v<T>)
    value = value == value ? value + T{0} : std::numeric_limits<T>::quiet_NaN();
  else if constexpr (kIs<T, std::variant>)
    std::visit(each, value);
  else if constexpr (kIs<T, std::optional>) {
    if (value) make_canonical(*value);
  } else if constexpr (HasRecordFields<T> || Tupled<T> || (PlainAggregate<T> && !kIsArray<T>))
    each_part(value, each);
  else if constexpr (requires { typename T::key_type; }) {
    T made;
    for (const auto& entry : value) {
      auto copy = [&] {
        if constexpr (requires { typename T::mapped_type; })
          return std::pair<typename T::key_type, typename T::mapped_type>(entry);
        else
          return entry;
      }();
      make_canonical(copy);
      made.insert(std::move(copy));
    }
    value = std::move(made);
  } else
    for (auto& part : value) make_canonical(part);
}

}  // namespace tinderbox::core
