// How a value becomes bytes and comes back: the record codec.
//
// Memory copies for numbers, enums and plain structs of them without padding; varint lengths before
// text and containers; structs field by field. No type information travels: both sides run the same
// file. Equal values have equal bytes (but for unordered containers), which is what lets the
// shuffle compare keys as bytes.
//
// A class that is no plain aggregate says what it is made of by one member function:
//     template <class Self> static auto record_fields(Self& self) { return std::tie(self.a,
//     self.b); }
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/plan/bytes.hpp"
#include "net/wire/fields.hpp"

namespace tinderbox {

/// Set to true for a trivially copyable class whose bytes alone are its value: no pointers, no
/// padding.
template <class T>
inline constexpr bool kTrivialRecord = false;
namespace core {
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UnsignedInt128;
}  // namespace core
template <>
inline constexpr bool kTrivialRecord<core::Int128> = true;
template <>
inline constexpr bool kTrivialRecord<core::UnsignedInt128> = true;
template <class R, class P>
inline constexpr bool kTrivialRecord<std::chrono::duration<R, P>> =
    std::is_integral_v<R> && !std::is_same_v<R, bool>;  // others need the order of numbers
template <class C, class D>
inline constexpr bool kTrivialRecord<std::chrono::time_point<C, D>> = kTrivialRecord<D>;
/// Set to true for a class that is its elements and nothing else, with the members of the standard
/// containers: begin(), end(), size(), insert(end(), element). Those of the standard library need
/// no word.
template <class T>
inline constexpr bool kContainerRecord = false;

namespace core {

template <class T, template <class...> class Template>
inline constexpr bool kIs = false;
template <class... A, template <class...> class Template>
inline constexpr bool kIs<Template<A...>, Template> = true;

template <class T>
inline constexpr bool kIsArray = false;
template <class T, size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;

template <class T>
concept HasRecordFields = requires(T& value, const T& fixed) {
  T::record_fields(value);
  T::record_fields(fixed);
};
template <class T>
concept TextLike = std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;
template <class T>
concept Tupled = kIs<T, std::pair> || kIs<T, std::tuple>;
/// Becomes any base of T: initialises the first element of T only if that is one.
template <class T>
struct BaseOf {
  template <class B>
    requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
  operator B() const;
};
template <class T>
concept HasBase = requires { T{BaseOf<T>{}}; };
/// The base of T that an instance of C is, which T may be itself.
template <template <class...> class C, class... A>
C<A...> base_as(const C<A...>&);
/// T has nothing but what an instance of C has.
template <class T, template <class...> class C>
concept LikeContainer =
    requires(const T& value) { requires sizeof(base_as<C>(value)) == sizeof(T); };
template <class T>
concept Sequence = LikeContainer<T, std::vector> || LikeContainer<T, std::deque> ||
                   LikeContainer<T, std::list> || LikeContainer<T, std::basic_string>;
template <class T>
concept Tree = LikeContainer<T, std::set> || LikeContainer<T, std::multiset> ||
               LikeContainer<T, std::map> || LikeContainer<T, std::multimap>;
template <class T>
concept HashTable =
    LikeContainer<T, std::unordered_set> || LikeContainer<T, std::unordered_multiset> ||
    LikeContainer<T, std::unordered_map> || LikeContainer<T, std::unordered_multimap>;
/// Others may look alike and hold more than their elements.
template <class T>
concept Container = !TextLike<T> && std::is_class_v<T> &&
                    (kContainerRecord<T> || Sequence<T> || Tree<T> || HashTable<T>);
/// record_fields() of T is that of B.
template <class B, class T>
concept RecordFieldsOf = std::is_base_of_v<B, T> && !std::is_same_v<B, T> && requires {
  requires& B::template record_fields<T> == &T::template record_fields<T>;
};
template <class T>
struct RecordBaseOf {
  template <RecordFieldsOf<T> B>
  operator B() const;
};
/// A struct that has record_fields() of its base, and fields of its own beside.
template <class T>
consteval bool adds_to_record() {
  struct Other {};  // what takes that takes anything
  if constexpr (std::is_aggregate_v<T>)
    return requires { T{RecordBaseOf<T>{}, {}}; } && !requires { T{Other{}, {}}; };
  else
    return false;
}
template <class T>
concept HasManyFields = requires {
  T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
};
template <class T>
concept PlainAggregate =
    std::is_class_v<T> && std::is_aggregate_v<T> && !kIsArray<T> && !Container<T> &&
    !HasRecordFields<T> && !Tupled<T> && (std::is_empty_v<T> || (!HasBase<T> && !HasManyFields<T>));

/// Memory copies carry the value: no pointers, no padding, no value that some bytes don't have.
template <class T>
consteval bool plain_memory() {
  if constexpr (kTrivialRecord<T>)
    return true;
  else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, long double>)
    return false;
  else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
    return true;
  else if constexpr (kIsArray<T>)
    return plain_memory<typename T::value_type>();
  else if constexpr (PlainAggregate<T> && std::is_trivially_copyable_v<T> && !std::is_empty_v<T>) {
    constexpr int fields = net::field_count<T>();
    if constexpr (fields < 1 || fields > 20)
      return false;
    else {
      using Sizes = decltype(net::with_fields(std::declval<T&>(), []<class... F>(F&...) {
        return std::bool_constant < (plain_memory<F>() && ...) &&
               (sizeof(F) + ...) == sizeof(T) > {};
      }));
      return Sizes::value;
    }
  } else
    return false;
}
template <class T>
inline constexpr bool kPlainMemory = plain_memory<T>();

template <class T>
inline constexpr bool kNoCodec = false;
template <class T>
inline constexpr bool kTied = false;
template <class... A>
inline constexpr bool kTied<std::tuple<A...>> = (std::is_lvalue_reference_v<A> && ...);

/// Says why T cannot travel, once for all that want it to.
template <class T>
consteval void fail_codec() {
  constexpr bool kWrongFields = requires(T& value) { value.record_fields(); } ||
                                requires(T& value) { T::record_fields(value); };
  if constexpr (std::is_array_v<T>)
    static_assert(
        kNoCodec<T>,
        "tinderbox cannot turn an array inside a struct into bytes: make it a std::array");
  else if constexpr (kWrongFields)
    static_assert(
        kNoCodec<T>,
        "record_fields() must serve values to be read and to be filled: template <class "
        "Self> static auto record_fields(Self& self) { return std::tie(self.a, self.b); }");
  else if constexpr (std::is_aggregate_v<T> && HasBase<T>)
    static_assert(kNoCodec<T>,
                  "tinderbox cannot find the fields of a struct that has a base: write in it: "
                  "template <class Self> static auto record_fields(Self& self) { return "
                  "std::tie(self.a, self.b); }");
  else if constexpr (std::is_aggregate_v<T> && HasManyFields<T>)
    static_assert(kNoCodec<T>,
                  "tinderbox finds the fields of a struct with at most 20: write in it: template "
                  "<class Self> static auto record_fields(Self& self) { return std::tie(self.a, "
                  "self.b); }");
  else if constexpr (std::is_aggregate_v<T> && std::is_class_v<T>)
    static_assert(kNoCodec<T>,
                  "tinderbox cannot find the fields of a struct one of which {} does not "
                  "initialise: write in it: template <class Self> static auto record_fields(Self& "
                  "self) { return std::tie(self.a, self.b); }");
  else if constexpr (requires(T& value) {
                       value.insert(value.end(), std::declval<typename T::value_type>());
                     })
    static_assert(kNoCodec<T>,
                  "tinderbox cannot know that this class is its elements and nothing else: make it "
                  "a container of the standard library, write record_fields in it, or, if it is: "
                  "template <> inline constexpr bool tinderbox::kContainerRecord<T> = true;");
  else
    static_assert(
        kNoCodec<T>,
        "tinderbox cannot turn this type into bytes. Pointers (smart ones too), functions, "
        "threads, std::any, references, spans and Rdds cannot travel; for a class of your "
        "own write in it: template <class Self> static auto record_fields(Self& self) { "
        "return std::tie(self.a, self.b); }. For one that is not yours and whose bytes are its "
        "value: template <> inline constexpr bool tinderbox::kTrivialRecord<T> = true;");
}

/// What is wrong with record_fields() or a constructor of T, if it has its own.
template <class T>
consteval bool check_record_fields() {
  if constexpr (HasRecordFields<T>) {
    static_assert(!adds_to_record<T>(),
                  "record_fields() is that of a base and leaves out what this struct adds: write "
                  "one in it, with the members of the base");
    static_assert(
        kTied<decltype(T::record_fields(std::declval<T&>()))>,
        "record_fields() must return std::tie(self.a, self.b): references to the members");
    static_assert(std::is_default_constructible_v<T>,
                  "a record that comes from bytes is made first and filled then: give this class a "
                  "constructor without arguments");
    return kTied<decltype(T::record_fields(std::declval<T&>()))> &&
           std::is_default_constructible_v<T>;
  }
  return true;
}
/// The same of the parts of a tuple, which is made whole.
template <class T>
consteval bool check_made() {
  if constexpr (kIs<T, std::tuple>)
    return []<class... P>(std::type_identity<std::tuple<P...>>) {
      return (check_made<P>() && ...);
    }(std::type_identity<T>());
  else if constexpr (std::is_default_constructible_v<T> || HasRecordFields<T>)
    return check_record_fields<T>();
  else
    return fail_codec<T>(), false;
}

template <class T>
void encode(Encoder& out, const T& value);
template <class T>
T decode(Decoder& in);

template <class T>
void encode_container(Encoder& out, const T& values) {
  using V = typename T::value_type;
  out.varint(values.size());
  if constexpr (kIs<T, std::vector> && kPlainMemory<V>) {
    out.raw(values.data(), values.size() * sizeof(V));
  } else {
    for (const auto& v : values) encode<V>(out, v);
  }
}

template <class T>
T decode_container(Decoder& in) {
  using V = typename T::value_type;
  T values;
  if constexpr (kIs<T, std::vector> && kPlainMemory<V>) {
    const size_t n = in.count(sizeof(V));
    values.resize(n);
    if (n > 0) std::memcpy(values.data(), in.raw(n * sizeof(V)), n * sizeof(V));
  } else {
    Decoder::Nested nested(in);
    const size_t n = in.count();
    if constexpr (requires { values.reserve(n); }) values.reserve(std::min<size_t>(n, 4096));
    for (size_t i = 0; i < n; ++i) {
      if constexpr (Tupled<V> && requires { typename T::mapped_type; }) {
        auto key = decode<std::remove_const_t<typename V::first_type>>(in);
        values.insert(values.end(), V(std::move(key), decode<typename V::second_type>(in)));
      } else {
        values.insert(values.end(), decode<V>(in));
      }
    }
  }
  return values;
}

template <class Variant, size_t I = 0>
Variant decode_variant(Decoder& in, size_t index) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (index == I) {
      return Variant(std::in_place_index<I>, decode<std::variant_alternative_t<I, Variant>>(in));
    }
    return decode_variant<Variant, I + 1>(in, index);
  } else {
    Decoder::fail("a variant has no such alternative");
  }
}

/// Calls f with references to the parts of a value that is made of parts.
template <class T, class F>
void each_part(T& value, F&& f) {
  using Bare = std::remove_const_t<T>;
  if constexpr (Tupled<Bare>)
    std::apply([&](auto&... part) { (f(part), ...); }, value);
  else if constexpr (HasRecordFields<Bare>)
    std::apply([&](auto&... part) { (f(part), ...); }, Bare::record_fields(value));
  else if constexpr (net::field_count<Bare>() > 0)
    net::with_fields(value, [&](auto&... part) { (f(part), ...); });
  else if constexpr (!std::is_empty_v<Bare>)
    fail_codec<Bare>();
}

template <class T>
void encode(Encoder& out, const T& value) {
  if constexpr (TextLike<T>)
    out.text(value);
  else if constexpr (kPlainMemory<T>)
    out.scalar(value);
  else if constexpr (std::is_same_v<T, bool>)
    out.scalar(static_cast<uint8_t>(value));
  else if constexpr (std::is_same_v<T, long double>)
    out.raw(&value, 10);
  else if constexpr (std::is_empty_v<T>)
    out.scalar(uint8_t{0});
  else if constexpr (kIs<T, std::optional>) {
    out.scalar(static_cast<uint8_t>(value.has_value()));
    if (value) encode(out, *value);
  } else if constexpr (kIs<T, std::variant>) {
    out.varint(value.index());
    std::visit([&](const auto& v) { encode(out, v); }, value);
  } else if constexpr (kIsArray<T>) {
    for (const auto& v : value) encode(out, v);
  } else if constexpr (HasRecordFields<T> || Tupled<T> || PlainAggregate<T>) {
    if constexpr (check_record_fields<T>())
      each_part(value, [&](const auto& part) { encode(out, part); });
  } else if constexpr (Container<T>)
    encode_container(out, value);
  else
    fail_codec<T>();
}

template <class T>
T decode(Decoder& in) {
  static_assert(!std::is_const_v<T>,
                "a record and its parts must not be const: elements of maps are std::pair<const K, "
                "V>, make them std::pair<K, V>");
  if constexpr (TextLike<T>)
    return T(in.text());
  else if constexpr (kPlainMemory<T>)
    return in.scalar<T>();
  else if constexpr (std::is_same_v<T, bool>)
    return in.scalar<uint8_t>() != 0;
  else if constexpr (std::is_same_v<T, long double>) {
    T value = 0;
    std::memcpy(&value, in.raw(10), 10);
    return value;
  } else if constexpr (std::is_empty_v<T>) {
    in.raw(1);
    return T{};
  } else if constexpr (kIs<T, std::optional>) {
    if (in.scalar<uint8_t>() == 0) return std::nullopt;
    return decode<typename T::value_type>(in);
  } else if constexpr (kIs<T, std::variant>)
    return decode_variant<T>(in, in.varint());
  else if constexpr (kIs<T, std::pair>) {
    auto first = decode<typename T::first_type>(in);
    return T(std::move(first), decode<typename T::second_type>(in));
  } else if constexpr (HasRecordFields<T> || Tupled<T> || kIsArray<T> || PlainAggregate<T>) {
    Decoder::Nested nested(in);
    if constexpr (check_made<T>()) {
      T value{};
      if constexpr (kIsArray<T>) {
        for (auto& part : value) part = decode<typename T::value_type>(in);
      } else {
        each_part(value, [&]<class P>(P& part) {
          if constexpr (std::is_array_v<P>)
            fail_codec<P>();
          else
            part = decode<P>(in);
        });
      }
      return value;
    }
  } else if constexpr (Container<T>)
    return decode_container<T>(in);
  else
    fail_codec<T>();
}

/// A value of type T to or from bytes of its own.
template <class T>
Bytes to_bytes(const T& value) {
  Bytes bytes;
  Encoder out(bytes);
  encode(out, value);
  return bytes;
}
/// Errors: DecodeError; also when bytes are left over.
template <class T>
T from_bytes(std::string_view bytes) {
  Decoder in(bytes);
  T value = decode<T>(in);
  if (!in.done()) Decoder::fail("bytes are left over");
  return value;
}

}  // namespace core
}  // namespace tinderbox
