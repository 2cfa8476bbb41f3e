// What a record type is made of, all the way down: whether a kind of type is a part of another.
#pragma once

#include "core/api/serde.hpp"

namespace tinderbox::core {

/// Whether Is<P>::value for T itself or for any part of it, as the codec sees parts. Seen: the
/// types that T is a part of.
template <template <class> class Is, class T, class... Seen>
consteval bool any_part();
template <template <class> class Is, class... Seen, class... Part>
consteval bool any_of_parts(std::type_identity<std::tuple<Part...>>) {
  return (any_part<Is, std::remove_cvref_t<Part>, Seen...>() || ...);
}
template <template <class> class Is, class T, class... Seen>
consteval bool any_part() {
  if constexpr (Is<T>::value)
    return true;
  else if constexpr ((std::is_same_v<T, Seen> || ...) || kTrivialRecord<T> || TextLike<T> ||
                     std::is_scalar_v<T>)
    return false;
  else if constexpr (kIs<T, std::pair> || kIs<T, std::tuple> || kIs<T, std::variant>)
    return []<template <class...> class Of, class... Part>(std::type_identity<Of<Part...>>) {
      return any_of_parts<Is, T, Seen...>(std::type_identity<std::tuple<Part...>>());
    }(std::type_identity<T>());
  else if constexpr (HasRecordFields<T>) {
    using Fields = decltype(T::record_fields(std::declval<T&>()));
    if constexpr (kTied<Fields>)
      return any_of_parts<Is, T, Seen...>(std::type_identity<Fields>());
    else
      return false;  // its codec says what is wrong
  } else if constexpr (kIs<T, std::optional> || kIsArray<T> || Container<T>)
    return any_part<Is, std::remove_cv_t<typename T::value_type>, T, Seen...>();
  else if constexpr (PlainAggregate<T> && net::field_count<T>() > 0)
    return any_of_parts<Is, T, Seen...>(
        decltype(net::with_fields(std::declval<T&>(), []<class... Part>(Part&...) {
          return std::type_identity<std::tuple<Part...>>();
        }))());
  else
    return false;
}

template <class T>
concept HasFields = HasRecordFields<T> || (PlainAggregate<T> && net::field_count<T>() > 0);
/// The fields of a value, as a tuple of references.
template <HasFields T>
auto tied_parts(const T& value) {
  if constexpr (HasRecordFields<T>)
    return T::record_fields(value);
  else
    return net::with_fields(value, [](const auto&... part) { return std::tie(part...); });
}

}  // namespace tinderbox::core
