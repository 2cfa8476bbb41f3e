// Text ↔ sizes, times, booleans and numbers.
#include "conf/values/units.hpp"

#include <charconv>
#include <cstdio>
#include <span>

#include "conf/error.hpp"

namespace tinderbox::conf {
namespace {

struct Suffix {
  std::string_view name;
  int64_t factor;
};

constexpr int64_t kKi = 1024;
constexpr Suffix kSizes[] = {
    {"b", 1},
    {"k", kKi},
    {"kb", kKi},
    {"m", kKi* kKi},
    {"mb", kKi* kKi},
    {"g", kKi* kKi* kKi},
    {"gb", kKi* kKi* kKi},
    {"t", kKi* kKi* kKi* kKi},
    {"tb", kKi* kKi* kKi* kKi},
    {"p", kKi* kKi* kKi* kKi* kKi},
    {"pb", kKi* kKi* kKi* kKi* kKi},
};
constexpr Suffix kTimes[] = {
    {"us", 1},         {"ms", 1000},      {"s", 1000000},     {"m", 60000000},
    {"min", 60000000}, {"h", 3600000000}, {"d", 86400000000},
};

/// One unit's factor in its base: bytes or microseconds.
constexpr int64_t factor(Unit unit) {
  switch (unit) {
    case Unit::kNone:
    case Unit::kByte:
      return 1;
    case Unit::kKiB:
      return kKi;
    case Unit::kMiB:
      return kKi * kKi;
    case Unit::kMillisecond:
      return 1000;
    case Unit::kSecond:
      return 1000000;
    case Unit::kMinute:
      return 60000000;
  }
  return 1;
}

constexpr std::string_view kSizeRule =
    "Size must be specified as bytes (b), kibibytes (k), mebibytes (m), gibibytes (g), "
    "tebibytes (t), or pebibytes(p). E.g. 50b, 100k, or 250m.";
constexpr std::string_view kTimeRule =
    "Time must be specified as seconds (s), milliseconds (ms), microseconds (us), "
    "minutes (m or min), hour (h), or day (d). E.g. 50s, 100ms, or 250us.";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

template <class N>
std::optional<N> parse_number(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  N value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

struct Rule {
  std::span<const Suffix> suffixes;
  std::string_view text;
  std::string_view noun;
  bool may_be_negative;
};

[[noreturn]] void refuse(const Rule& rule, const std::string& why) {
  throw Error(why + ". " + std::string(rule.text));
}

/// number, then an optional suffix: the value in the base unit.
int64_t parse_quantity(std::string_view input, Unit unit, const Rule& rule) {
  const std::string text = lower(trimmed(input));
  size_t digits = rule.may_be_negative && text.starts_with('-') ? 1 : 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  const std::string_view rest = std::string_view(text).substr(digits);
  if (rest.size() > 1 && rest[0] == '.' && is_digit(rest[1]))
    refuse(rule, "Fractional values are not supported. Input was: " + std::string(input));
  const std::optional<int64_t> number = parse_int64(std::string_view(text).substr(0, digits));
  bool letters = true;
  for (char c : rest) letters = letters && is_lower(c);
  if (!number || !letters)
    refuse(rule, "Failed to parse " + std::string(rule.noun) + " string: " + std::string(input));
  int64_t scale = factor(unit);
  if (!rest.empty()) {
    scale = 0;
    for (const Suffix& suffix : rule.suffixes)
      if (suffix.name == rest) scale = suffix.factor;
    if (scale == 0) refuse(rule, "Invalid suffix: \"" + std::string(rest) + "\"");
  }
  int64_t value = 0;
  if (__builtin_mul_overflow(*number, scale, &value))
    refuse(rule, "The value is too large: " + std::string(input));
  return value;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

std::string_view trim_except_newlines(std::string_view value) {
  const auto cut = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' && c != '\r' && c != '\n';
  };
  while (!value.empty() && cut(value.front())) value.remove_prefix(1);
  while (!value.empty() && cut(value.back())) value.remove_suffix(1);
  return value;
}

std::optional<bool> parse_bool(std::string_view text) {
  const std::string word = lower(trimmed(text));
  if (word == "true") return true;
  if (word == "false") return false;
  return {};
}

std::optional<int> parse_int(std::string_view text) { return parse_number<int>(text); }
std::optional<int64_t> parse_int64(std::string_view text) { return parse_number<int64_t>(text); }
std::optional<double> parse_double(std::string_view text) { return parse_number<double>(text); }

std::vector<std::string> parse_list(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view part = trimmed(text.substr(0, comma));
    if (!part.empty()) parts.emplace_back(part);
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

int64_t parse_size(std::string_view text, Unit unit) {
  return parse_quantity(text, unit, {kSizes, kSizeRule, "byte", false});
}

Duration parse_time(std::string_view text, Unit unit) {
  return Duration(parse_quantity(text, unit, {kTimes, kTimeRule, "time", true}));
}

std::string show_size(int64_t bytes) {
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  // Like Spark, a unit is used from twice its size on: 1536 KiB reads better than 1.5 MiB.
  while (value >= 2 * kKi && unit + 1 < std::size(kNames)) value /= kKi, ++unit;
  char out[64];
  std::snprintf(out, sizeof out, "%.1f %s", value, kNames[unit]);
  return out;
}

}  // namespace tinderbox::conf
