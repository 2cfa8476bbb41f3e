#include "core/api/input/writable.hpp"

#include <limits>

namespace tinderbox::core {
namespace {

constexpr int64_t kInt32 = std::numeric_limits<int32_t>::max();

struct NamedClass {
  std::string_view name, type;
};
constexpr NamedClass kClasses[] = {
    {kNullWritable, "std::monostate"},
    {kBooleanWritable, "bool"},
    {kIntWritable, "int32_t"},
    {kLongWritable, "int64_t"},
    {kFloatWritable, "float"},
    {kDoubleWritable, "double"},
    {kText, "std::string"},
    {kBytesWritable, "std::vector<uint8_t>"},
};

/// A length as the four bytes, or the vint, that can hold it.
int32_t as_length(size_t n) {
  if (n > static_cast<size_t>(kInt32))
    throw std::length_error("a key or value of " + std::to_string(n) +
                            " bytes is longer than a sequence file can hold (2147483647)");
  return static_cast<int32_t>(n);
}

}  // namespace

void malformed(const char* why) { throw DecodeError(why); }

void append_vint(Bytes& out, int64_t value) {
  if (value >= -112 && value <= 127) {
    out += static_cast<char>(value);
    return;
  }
  const auto bits = static_cast<uint64_t>(value < 0 ? ~value : value);
  const int bytes = (std::bit_width(bits) + 7) / 8;
  out += static_cast<char>((value < 0 ? -120 : -112) - bytes);
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(bits >> (8 * i));
}

int64_t take_vint(std::string_view& from) {
  const auto first = take_big_endian<signed char>(from);
  if (first >= -112) return first;
  const bool negative = first < -120;
  const auto bytes = static_cast<size_t>((negative ? -120 : -112) - first);
  if (from.size() < bytes) malformed("the bytes end too early");
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes; ++i) bits = bits << 8 | static_cast<unsigned char>(from[i]);
  from.remove_prefix(bytes);
  return static_cast<int64_t>(negative ? ~bits : bits);
}

size_t take_length(std::string_view& from) {
  const int64_t n = take_vint(from);
  if (n < 0 || n > kInt32) malformed("a length makes no sense");
  return static_cast<size_t>(n);
}

std::string_view type_of_class(std::string_view name) {
  for (const NamedClass& named : kClasses)
    if (named.name == name) return named.type;
  return {};
}

void append_text_writable(Bytes& out, std::string_view text) {
  append_vint(out, as_length(text.size()));
  out += text;
}

void append_bytes_writable(Bytes& out, std::string_view bytes) {
  append_big_endian(out, as_length(bytes.size()));
  out += bytes;
}

std::string_view text_in(std::string_view bytes) {
  if (take_length(bytes) != bytes.size()) malformed("a text is not as long as it says");
  return bytes;
}

std::string_view bytes_in(std::string_view bytes) {
  const auto length = take_big_endian<int32_t>(bytes);
  if (length < 0 || static_cast<size_t>(length) != bytes.size())
    malformed("bytes are not as many as they say");
  return bytes;
}

}  // namespace tinderbox::core
