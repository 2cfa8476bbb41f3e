// The order of records, and one form for equal ones, also of those with floating point in them.
//
// NaN is neither less than itself nor equal, and -0.0 equals 0.0 with other bytes: maps, sorts and
// tables of keys would lose records by it. So here NaN comes last and equals itself.
#pragma once

#include <algorithm>
#include <limits>
#include <map>

#include "core/api/steps/owned.hpp"

namespace tinderbox::core {

/// Whether values of T have floating point in them. Seen: the types that T is a part of.
template <class T, class... Seen>
consteval bool holds_floating();
template <class Whole, class... Seen, class... Part>
consteval bool any_floating(std::type_identity<std::tuple<Part...>>) {
  return (holds_floating<std::remove_cvref_t<Part>, Whole, Seen...>() || ...);
}
template <class T, class... Seen>
consteval bool holds_floating() {
  if constexpr ((std::is_same_v<T, Seen> || ...) || kTrivialRecord<T> || TextLike<T>)
    return false;
  else if constexpr (std::is_scalar_v<T>)
    return std::is_floating_point_v<T>;
  else if constexpr (kIs<T, std::pair> || kIs<T, std::tuple> || kIs<T, std::variant>)
    return []<template <class...> class Of, class... Part>(std::type_identity<Of<Part...>>) {
      return any_floating<T, Seen...>(std::type_identity<std::tuple<Part...>>());
    }(std::type_identity<T>());
  else if constexpr (HasRecordFields<T>) {
    using Fields = decltype(T::record_fields(std::declval<T&>()));
    if constexpr (kTied<Fields>)
      return any_floating<T, Seen...>(std::type_identity<Fields>());
    else
      return false;  // its codec says what is wrong
  } else if constexpr (kIs<T, std::optional> || kIsArray<T> || Container<T>)
    return holds_floating<std::remove_cv_t<typename T::value_type>, T, Seen...>();
  else if constexpr (PlainAggregate<T> && net::field_count<T>() > 0)
    return any_floating<T, Seen...>(
        decltype(net::with_fields(std::declval<T&>(), []<class... Part>(Part&...) {
          return std::type_identity<std::tuple<Part...>>();
        }))());
  else
    return false;
}

/// a < b, but NaN comes after all others. Source: java.lang.Double.compare, for which -0.0 is less.
template <class A, class B>
bool before(const A& a, const B& b) {
  if constexpr (!holds_floating<A>())
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
  else if constexpr (kIsArray<A> || (Container<A> && !HasRecordFields<A>))
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](const auto& x, const auto& y) { return before(x, y); });
  else
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
