// What a configuration key is: name, type, unit, default, one line of help.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "conf/secret.hpp"

namespace tinderbox::conf {

/// Every time of the configuration. Unit: microseconds, the finest that a key can name.
using Duration = std::chrono::microseconds;

/// The unit of a size or time that is written without a suffix.
enum class Unit : uint8_t { kNone, kByte, kKiB, kMiB, kMillisecond, kSecond, kMinute };

enum class Type : uint8_t { kBool, kInt, kLong, kDouble, kString, kList, kSecret, kSize, kTime };

/// A key without its C++ type: what the reference page, the misspelling check and Conf need.
struct KeySpec {
  std::string_view name;
  std::optional<std::string_view> default_text;  // none: the key is optional, or falls back
  Type type;
  Unit unit;
  std::string_view doc;
  const KeySpec* fallback = nullptr;  // the key whose value counts when this one is not set
  std::string_view old_name = {};     // still read when the key itself is not set
};

template <class T>
struct OptionalOf {
  static constexpr bool kIs = false;
  using Value = T;
};
template <class T>
struct OptionalOf<std::optional<T>> {
  static constexpr bool kIs = true;
  using Value = T;
};

template <class T>
constexpr Type type_of(Unit unit) {
  using V = typename OptionalOf<T>::Value;
  if constexpr (std::is_same_v<V, bool>)
    return Type::kBool;
  else if constexpr (std::is_same_v<V, int>)
    return Type::kInt;
  else if constexpr (std::is_same_v<V, int64_t>)
    return unit == Unit::kNone ? Type::kLong : Type::kSize;
  else if constexpr (std::is_same_v<V, double>)
    return Type::kDouble;
  else if constexpr (std::is_same_v<V, std::string>)
    return Type::kString;
  else if constexpr (std::is_same_v<V, std::vector<std::string>>)
    return Type::kList;
  else if constexpr (std::is_same_v<V, Secret>)
    return Type::kSecret;
  else {
    static_assert(std::is_same_v<V, Duration>, "no key has values of this type");
    return Type::kTime;
  }
}

/// A typed key. T is bool, int, int64_t (a size in bytes when it has a unit), double, std::string,
/// std::vector<std::string> (comma list), Secret, Duration, or std::optional of one of these.
template <class T>
struct Key {
  static constexpr bool kOptional = OptionalOf<T>::kIs;
  KeySpec spec;

  constexpr Key(std::string_view name, std::string_view default_text, std::string_view doc)
    requires(!kOptional && !std::is_same_v<T, Duration>)
      : spec{name, default_text, type_of<T>(Unit::kNone), Unit::kNone, doc} {}
  constexpr Key(std::string_view name, std::string_view default_text, Unit unit,
                std::string_view doc)
    requires(!kOptional)
      : spec{name, default_text, type_of<T>(unit), unit, doc} {}
  constexpr Key(std::string_view name, std::string_view doc)
    requires(kOptional)
      : spec{name, {}, type_of<T>(Unit::kNone), Unit::kNone, doc} {}
  constexpr Key(std::string_view name, Unit unit, std::string_view doc)
    requires(kOptional)
      : spec{name, {}, type_of<T>(unit), unit, doc} {}
  /// A key which, while it is not set, has the value of `fallback`.
  constexpr Key(std::string_view name, const Key& fallback, std::string_view doc)
      : spec{name, {}, fallback.spec.type, fallback.spec.unit, doc, &fallback.spec} {}

  /// The same key, read under an older name too.
  constexpr Key formerly(std::string_view old_name) const {
    Key key = *this;
    key.spec.old_name = old_name;
    return key;
  }
};

}  // namespace tinderbox::conf
