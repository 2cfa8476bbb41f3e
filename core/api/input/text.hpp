// Text in and out of records: words of a line, a record as a line.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/serde.hpp"

namespace tinderbox {

namespace core {

/// Bit i: whether text[i] is ASCII white space; set from bit n on. Shape: n ≤ 64.
uint64_t spaces_in(const char* text, size_t n);

}  // namespace core

/// Calls emit(word) for each run of characters that are not ASCII white space; stops when it
/// answers false. Where words begin and end is looked up for 64 characters at a time: a loop over
/// characters mispredicts the end of every word.
template <class Emit>
void words(std::string_view line, Emit&& emit) {
  const auto go_on = [&](const char* start, const char* end) {
    const std::string_view word(start, static_cast<size_t>(end - start));
    if constexpr (std::is_void_v<decltype(emit(word))>) {
      emit(word);
      return true;
    } else {
      return static_cast<bool>(emit(word));
    }
  };
  const char* start = nullptr;  // of the word that goes on
  for (size_t at = 0; at < line.size(); at += 64) {
    const char* const block = line.data() + at;
    const uint64_t spaces = core::spaces_in(block, std::min<size_t>(64, line.size() - at));
    // Bits where a word begins, or ends, after another character.
    for (uint64_t turns = spaces ^ (spaces << 1 | (start ? 0 : 1)); turns != 0;
         turns &= turns - 1) {
      const char* const here = block + std::countr_zero(turns);
      if (!start)
        start = here;
      else if (!go_on(std::exchange(start, nullptr), here))
        return;
    }
  }
  if (start) go_on(start, line.data() + line.size());
}

namespace core {

/// As Java's Double.toString and Float.toString: 3.0, 1.0E10, NaN.
void append_number(Bytes& out, double value);
void append_number(Bytes& out, float value);

/// A record as save_as_text_file writes it: text and numbers plainly, (a,b) for pairs and tuples,
/// [a, b] for containers.
template <class T>
void append_text(Bytes& out, const T& value) {
  if constexpr (TextLike<T>)
    out += value;
  else if constexpr (std::is_same_v<T, bool>)
    out += value ? "true" : "false";
  else if constexpr (std::is_same_v<T, char>)
    out += value;
  else if constexpr (std::is_same_v<T, float>)
    append_number(out, value);
  else if constexpr (std::is_floating_point_v<T>)
    append_number(out, static_cast<double>(value));
  else if constexpr (std::is_integral_v<T>) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  } else if constexpr (Tupled<T>) {
    const char* before = "(";
    each_part(value, [&](const auto& part) {
      out += before;
      append_text(out, part);
      before = ",";
    });
    out += ')';
  } else if constexpr (kIs<T, std::optional>) {
    if (value)
      append_text(out, *value);
    else
      out += "none";
  } else if constexpr (Container<T> || kIsArray<T>) {
    const char* before = "[";
    for (const auto& part : value) {
      out += before;
      append_text(out, part);
      before = ", ";
    }
    out += value.begin() == value.end() ? "[]" : "]";
  } else {
    static_assert(kNoCodec<T>,
                  "records of this type have no text form: map them to std::string before saving");
  }
}

}  // namespace core
}  // namespace tinderbox
