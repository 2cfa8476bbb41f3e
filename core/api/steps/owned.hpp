// The type that keeps a record beyond the push that brought it.
//
// Records may be views into a buffer that the next record overwrites. Whatever outlives one push (a
// cache, an accumulator, a hash table, a result) holds owned_t<T>: std::string for
// std::string_view, also inside pairs, tuples, vectors and optionals. borrow() turns it back into a
// record that is good while the owned value lives.
#pragma once

#include <concepts>

#include "core/api/serde.hpp"

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

/// Whether a view hides where Owned can't replace it: in a struct, a set, a variant.
template <class T>
consteval bool holds_view() {
  if constexpr (std::is_same_v<T, std::string_view>)
    return true;
  else if constexpr (TextLike<T> || kPlainMemory<T> || std::is_arithmetic_v<T>)
    return false;
  else if constexpr (kIs<T, std::pair>)
    return holds_view<typename T::first_type>() || holds_view<typename T::second_type>();
  else if constexpr (Container<T> && !HasRecordFields<T>) {
    if constexpr (std::is_same_v<typename T::value_type, T>)
      return false;
    else
      return holds_view<std::remove_cv_t<typename T::value_type>>();
  } else if constexpr (PlainAggregate<T> && net::field_count<T>() > 0 &&
                       net::field_count<T>() <= 20) {
    return decltype(net::with_fields(std::declval<T&>(), []<class... F>(F&...) {
      return std::bool_constant<(std::is_same_v<F, std::string_view> || ...)>{};
    }))::value;
  } else
    return false;
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
                "this record must be kept, but it holds a std::string_view inside a struct or set: "
                "use a pair, a tuple "
                "or a vector of views, or std::string");
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
