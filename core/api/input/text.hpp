// Text in and out of records: words of a line, a record as a line.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "core/api/serde.hpp"

namespace tinderbox {

/// Calls emit(word) for each run of characters that are not ASCII white space; stops when it
/// answers false.
template <class Emit>
void words(std::string_view line, Emit&& emit) {
  const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  const char* at = line.data();
  const char* const end = at + line.size();
  while (true) {
    while (at != end && space(*at)) ++at;
    if (at == end) return;
    const char* const start = at;
    while (at != end && !space(*at)) ++at;
    if constexpr (std::is_void_v<decltype(emit(line))>)
      emit(std::string_view(start, static_cast<size_t>(at - start)));
    else if (!emit(std::string_view(start, static_cast<size_t>(at - start))))
      return;
  }
}

namespace core {

void append_number(Bytes& out, double value);

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
