// The type that keeps a record beyond the push that brought it.
//
// Records may be views into a buffer that the next record overwrites. Whatever outlives one push (a
// cache, an accumulator, a hash table, a result) holds owned_t<T>: std::string for
// std::string_view, also inside pairs, tuples, vectors and optionals. borrow() turns it back into a
// record that is good while the owned value lives.
#pragma once

#include <concepts>

#include "core/api/parts.hpp"

namespace tinderbox {
namespace core {

template <class T>
struct Owned {
  using type = T;
};
template <>
struct Owned<std::string_view> {
  using type = std::string;
};
template <class A, class B>
struct Owned<std::pair<A, B>> {
  using type = std::pair<typename Owned<A>::type, typename Owned<B>::type>;
};
template <class... A>
struct Owned<std::tuple<A...>> {
  using type = std::tuple<typename Owned<A>::type...>;
};
template <class A>
struct Owned<std::optional<A>> {
  using type = std::optional<typename Owned<A>::type>;
};
template <class A>
struct Owned<std::vector<A>> {
  using type = std::vector<typename Owned<A>::type>;
};

template <class T>
struct IsView : std::is_same<T, std::string_view> {};
/// Whether a view is a part of T. Of an owned_t: where Owned can't replace it, as in a struct, a
/// set, a variant.
template <class T>
consteval bool holds_view() {
  return any_part<IsView, T>();
}
/// Of what functions of the user make and the engine keeps beyond a push.
template <class T>
consteval void check_kept() {
  static_assert(std::is_same_v<T, typename Owned<T>::type> && !holds_view<T>(),
                "this is kept for longer than the record that it comes from: it must not hold a "
                "std::string_view, use std::string");
}

/// Values of it have an order.
template <class T>
concept Ordered = requires(const T& a, const T& b) {
  { a < b } -> std::convertible_to<bool>;
};
template <class T>
consteval void check_ordered() {
  static_assert(Ordered<T>,
                "what is sorted needs an order: write in it: auto operator<=>(const Key&) const = "
                "default; or an operator<");
}

}  // namespace core

/// T without views: what may be kept.
template <class T>
using owned_t = typename core::Owned<T>::type;

namespace core {

/// A copy of `value` as type To: views become text or the other way round, parts likewise.
template <class To, class From>
To convert_record(From&& value) {
  using Bare = std::remove_cvref_t<From>;
  if constexpr (std::is_same_v<To, Bare>)
    return std::forward<From>(value);
  else if constexpr (TextLike<To>)
    return To(value);
  else if constexpr (kIs<To, std::pair>) {
    return To(convert_record<typename To::first_type>(std::forward<From>(value).first),
              convert_record<typename To::second_type>(std::forward<From>(value).second));
  } else if constexpr (kIs<To, std::tuple>) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return To(
          convert_record<std::tuple_element_t<I, To>>(std::get<I>(std::forward<From>(value)))...);
    }(std::make_index_sequence<std::tuple_size_v<To>>{});
  } else if constexpr (kIs<To, std::optional>) {
    if (!value) return std::nullopt;
    return convert_record<typename To::value_type>(*std::forward<From>(value));
  } else if constexpr (kIs<To, std::vector>) {
    To to;
    to.reserve(value.size());
    for (auto& v : value) to.push_back(convert_record<typename To::value_type>(v));
    return to;
  } else {
    return static_cast<To>(std::forward<From>(value));
  }
}

/// The record as something to keep.
template <class T>
owned_t<T> own(T&& record)
  requires(!std::is_reference_v<T>)
{
  static_assert(!holds_view<owned_t<T>>(),
                "this record must be kept, but it holds a std::string_view inside a struct, a set, "
                "an array or a variant: use a pair, a tuple, an optional or a vector of views, or "
                "std::string");
  return convert_record<owned_t<T>>(std::move(record));
}
template <class T>
owned_t<T> own_copy(const T& record) {
  return own<T>(T(record));
}
/// The kept value as a record; good while `kept` lives and does not change.
template <class T>
T borrow(const owned_t<T>& kept) {
  return convert_record<T>(kept);
}
/// The same where `kept` is not needed any more but stays alive: what owns memory is moved out.
template <class T>
T release(owned_t<T>& kept) {
  if constexpr (std::is_same_v<T, owned_t<T>>)
    return std::move(kept);
  else
    return convert_record<T>(kept);
}

}  // namespace core
}  // namespace tinderbox
