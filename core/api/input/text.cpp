#include "core/api/input/text.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tinderbox::core {
namespace {

constexpr size_t kLane = 16;

/// Bit i: whether text[i] is white space. Shape: 16 characters.
uint64_t spaces_in_lane(const char* text) {
#if defined(__SSE2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  // \t … \r are the only ones that a shift by −\t brings below 5.
  const __m128i shifted = _mm_sub_epi8(bytes, _mm_set1_epi8('\t'));
  const __m128i controls =
      _mm_cmpeq_epi8(_mm_min_epu8(shifted, _mm_set1_epi8('\r' - '\t')), shifted);
  const __m128i blanks = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_or_si128(controls, blanks)));
#else
  uint64_t spaces = 0;
  for (size_t i = 0; i < kLane; ++i)
    spaces |= uint64_t{text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')} << i;
  return spaces;
#endif
}

/// The shortest digits that give the value back. Java writes at least two, and then the two that
/// come nearest to the value.
template <class Float>
void append_java(Bytes& out, Float value) {
  if (std::isnan(value)) return void(out += "NaN");
  if (std::isinf(value)) return void(out += value < 0 ? "-Infinity" : "Infinity");
  char digits[40];
  const auto written = [&](auto... how) {
    return std::string_view(digits,
                            std::to_chars(digits, digits + sizeof digits, value, how...).ptr);
  };
  const Float size = std::abs(value);
  if (size == 0 || (size >= Float(1e-3) && size < Float(1e7))) {
    const std::string_view text = written(std::chars_format::fixed);
    out += text;
    if (text.find('.') == std::string_view::npos) out += ".0";
    return;
  }
  std::string_view text = written(std::chars_format::scientific);
  if (text.find('.') == std::string_view::npos) text = written(std::chars_format::scientific, 1);
  const size_t at = text.find('e');
  out += text.substr(0, at);
  out += text[at + 1] == '-' ? "E-" : "E";
  out += text.substr(text.find_first_not_of('0', at + 2));
}

}  // namespace

uint64_t spaces_in(const char* text, size_t n) {
  uint64_t spaces = n < 64 ? ~uint64_t{0} << n : 0;
  size_t at = 0;
  for (; at + kLane <= n; at += kLane) spaces |= spaces_in_lane(text + at) << at;
  if (at < n) {
    char rest[kLane];
    std::memset(rest, ' ', kLane);
    std::memcpy(rest, text + at, n - at);
    spaces |= spaces_in_lane(rest) << at;
  }
  return spaces;
}

void append_number(Bytes& out, double value) { append_java(out, value); }
void append_number(Bytes& out, float value) { append_java(out, value); }

}  // namespace tinderbox::core
