// Keys and values as Hadoop's Writable classes lay them out: big-endian numbers, text behind its
// length.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "core/api/serde.hpp"

namespace tinderbox::core {

// Names as files of sequences hold them.
inline constexpr std::string_view kNullWritable = "org.apache.hadoop.io.NullWritable";
inline constexpr std::string_view kBooleanWritable = "org.apache.hadoop.io.BooleanWritable";
inline constexpr std::string_view kIntWritable = "org.apache.hadoop.io.IntWritable";
inline constexpr std::string_view kLongWritable = "org.apache.hadoop.io.LongWritable";
inline constexpr std::string_view kFloatWritable = "org.apache.hadoop.io.FloatWritable";
inline constexpr std::string_view kDoubleWritable = "org.apache.hadoop.io.DoubleWritable";
inline constexpr std::string_view kText = "org.apache.hadoop.io.Text";
inline constexpr std::string_view kBytesWritable = "org.apache.hadoop.io.BytesWritable";

/// Errors: throws DecodeError, always.
[[noreturn]] void malformed(const char* why);

/// Hadoop's number of a variable length: one byte, or how many follow and those, high ones first.
/// Source: Hadoop WritableUtils.writeVLong.
void append_vint(Bytes& out, int64_t value);
/// Takes one from the front. Errors: throws DecodeError when the bytes run out.
int64_t take_vint(std::string_view& from);
/// The same as a length or a count. Errors: also unless 0 ≤ n < 2^31.
size_t take_length(std::string_view& from);

template <class T>
void append_big_endian(Bytes& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  if constexpr (std::endian::native == std::endian::little)
    std::reverse(bytes, bytes + sizeof bytes);
  out.append(bytes, sizeof bytes);
}
/// Errors: throws DecodeError when there are fewer bytes.
template <class T>
T take_big_endian(std::string_view& from) {
  if (from.size() < sizeof(T)) malformed("the bytes end too early");
  char bytes[sizeof(T)];
  from.copy(bytes, sizeof bytes);
  from.remove_prefix(sizeof bytes);
  if constexpr (std::endian::native == std::endian::little)
    std::reverse(bytes, bytes + sizeof bytes);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Raw bytes: a vector of char, unsigned char or std::byte.
template <class T>
inline constexpr bool kRawBytes = false;
template <>
inline constexpr bool kRawBytes<std::vector<char>> = true;
template <>
inline constexpr bool kRawBytes<std::vector<signed char>> = true;
template <>
inline constexpr bool kRawBytes<std::vector<unsigned char>> = true;
template <>
inline constexpr bool kRawBytes<std::vector<std::byte>> = true;

/// The class that holds a T. Source: Spark SequenceFileRDDFunctions, WritableFactory.
template <class T>
consteval std::string_view writable_class() {
  if constexpr (std::is_same_v<T, std::monostate>)
    return kNullWritable;
  else if constexpr (std::is_same_v<T, bool>)
    return kBooleanWritable;
  else if constexpr (std::is_same_v<T, int32_t>)
    return kIntWritable;
  else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, long long>)
    return kLongWritable;
  else if constexpr (std::is_same_v<T, float>)
    return kFloatWritable;
  else if constexpr (std::is_same_v<T, double>)
    return kDoubleWritable;
  else if constexpr (TextLike<T>)
    return kText;
  else if constexpr (kRawBytes<T>)
    return kBytesWritable;
  else
    static_assert(kNoCodec<T>,
                  "Hadoop has no Writable class for this type: keys and values of sequence files "
                  "are bool, int32_t, int64_t, float, double, std::string, std::vector<uint8_t> "
                  "or std::monostate; save other records with save_as_object_file()");
}

/// Whether a T can be read from what the class `name` wrote: its own, and text from raw bytes.
template <class T>
bool reads_class(std::string_view name) {
  return name == writable_class<T>() || (TextLike<T> && name == kBytesWritable);
}
/// What this program calls a T that the class `name` holds; empty: it has none.
std::string_view type_of_class(std::string_view name);

void append_text_writable(Bytes& out, std::string_view text);
void append_bytes_writable(Bytes& out, std::string_view bytes);
/// What is behind the length. Errors: throws DecodeError unless it is as long as that says.
std::string_view text_in(std::string_view bytes);
std::string_view bytes_in(std::string_view bytes);

template <class T>
void append_writable(Bytes& out, const T& value) {
  if constexpr (TextLike<T>)
    append_text_writable(out, value);
  else if constexpr (kRawBytes<T>)
    append_bytes_writable(out, {reinterpret_cast<const char*>(value.data()), value.size()});
  else if constexpr (std::is_same_v<T, bool>)
    out += static_cast<char>(value);
  else if constexpr (!std::is_same_v<T, std::monostate>)
    append_big_endian(out, value);
}

/// What append_writable() wrote, all of `bytes`; text may be a view of them. `raw`: they are
/// BytesWritable's. Errors: throws DecodeError.
template <class T>
T read_writable(std::string_view bytes, bool raw) {
  T value{};
  if constexpr (TextLike<T>) {
    return T(raw ? bytes_in(bytes) : text_in(bytes));
  } else if constexpr (kRawBytes<T>) {
    const std::string_view content = bytes_in(bytes);
    value.resize(content.size());
    if (!content.empty()) std::memcpy(value.data(), content.data(), content.size());
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    value = take_big_endian<char>(bytes) != 0;
  } else if constexpr (!std::is_same_v<T, std::monostate>) {
    value = take_big_endian<T>(bytes);
  }
  if (!bytes.empty()) malformed("bytes are left over");
  return value;
}

}  // namespace tinderbox::core
