// Functions that travel to executors: their code by its place in the file, their values by the
// record codec.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/api/steps/values/owned.hpp"

namespace tinderbox {

/// A lambda with the values that travel with it; made by capture().
template <class F, class... V>
struct Captured {
  std::tuple<V...> values;
  template <class... A>
    requires std::is_invocable_v<const F&, const V&..., A...>
  decltype(auto) operator()(A&&... a) const {
    return std::apply(
        [&](const V&... v) -> decltype(auto) { return F{}(v..., std::forward<A>(a)...); }, values);
  }
};

namespace core {

template <class F>
inline constexpr bool kBare = std::is_empty_v<F> && std::is_default_constructible_v<F>;

/// A closure of our own that holds closures: parts() gives a std::tie of them, in order of
/// construction.
template <class F>
concept Composite = requires(const F& f) { f.parts(); };

/// A value inside such a closure.
template <class T>
struct Datum {
  T value;
};

/// What f returns for these arguments.
template <class F, class... A>
struct Call {
  static_assert(std::is_invocable_v<const F&, A...>,
                "the function does not take what this operator calls it with: its doc says what "
                "that is; take records by value or by const reference, a pair as one argument");
  using Out = std::invoke_result_t<const F&, A...>;
};
template <class F, class... A>
using Given = typename Call<F, A...>::Out;

/// f(A…) gives something that becomes a T.
template <class T, class F, class... A>
consteval void check_gives() {
  static_assert(std::is_constructible_v<T, Given<F, A...>>,
                "the function must return what is combined: a value of the same type as its "
                "arguments");
}

template <class V>
consteval void check_captured() {
  static_assert(!std::is_pointer_v<V> && !std::is_member_pointer_v<V>,
                "capture() was given a pointer: pass what it points to (text as std::string), it "
                "travels by value");
  static_assert(!kIs<V, std::reference_wrapper>,
                "capture() was given a reference: it cannot travel, pass the value");
  static_assert(!holds_view<owned_t<V>>() && std::is_same_v<V, owned_t<V>>,
                "capture() was given a std::string_view: what travels must own its bytes, pass a "
                "std::string");
}

template <class F>
struct ClosureCodec {
  static void encode(Encoder& out, const F& f) {
    if constexpr (Composite<F>) {
      std::apply([&]<class... P>(const P&... part) { (ClosureCodec<P>::encode(out, part), ...); },
                 f.parts());
    } else {
      static_assert(
          kBare<F>,
          "this closure captures variables, so it cannot be sent to executors: name them with "
          "capture(values..., [](const auto& value, auto record) {...}); a function is passed as a "
          "lambda "
          "that calls it");
    }
  }
  static F decode([[maybe_unused]] Decoder& in) {
    if constexpr (Composite<F>) {
      using Parts = decltype(std::declval<const F&>().parts());
      return [&]<size_t... I>(std::index_sequence<I...>) {
        return F{ClosureCodec<std::remove_cvref_t<std::tuple_element_t<I, Parts>>>::decode(in)...};
      }(std::make_index_sequence<std::tuple_size_v<Parts>>{});
    } else {
      return F{};
    }
  }
};
template <class T>
struct ClosureCodec<Datum<T>> {
  static void encode(Encoder& out, const Datum<T>& d) { core::encode(out, d.value); }
  static Datum<T> decode(Decoder& in) { return {core::decode<T>(in)}; }
};
template <class F, class... V>
struct ClosureCodec<Captured<F, V...>> {
  static void encode(Encoder& out, const Captured<F, V...>& c) { core::encode(out, c.values); }
  static Captured<F, V...> decode(Decoder& in) { return {core::decode<std::tuple<V...>>(in)}; }
};

}  // namespace core

/// `capture(stop_words, [](const auto& stop_words, std::string_view word) {…})`: a closure with
/// values. The values are copied now, sent as records, and reach the lambda as const references
/// before its arguments.
template <class... A>
auto capture(A... a) {
  static_assert(sizeof...(A) >= 2,
                "capture() takes the values and, last, the lambda that uses them");
  auto all = std::tuple<A...>(std::move(a)...);
  return [&]<size_t... I>(std::index_sequence<I...>) {
    using F = std::tuple_element_t<sizeof...(A) - 1, decltype(all)>;
    static_assert(core::kBare<F>,
                  "the lambda given to capture() must not capture anything itself: list the values "
                  "before it");
    (core::check_captured<std::tuple_element_t<I, decltype(all)>>(), ...);
    return Captured<F, std::tuple_element_t<I, decltype(all)>...>{{std::move(std::get<I>(all))...}};
  }(std::make_index_sequence<sizeof...(A) - 1>{});
}

}  // namespace tinderbox
