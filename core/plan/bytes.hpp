// The floor of the record codec: raw memory, varints and length-prefixed text, read with bounds
// checked.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string_view>

#include "net/types.hpp"

namespace tinderbox {

/// Bytes that do not spell the value that was asked for.
class DecodeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Appends values to a buffer in this machine's byte order: every process of an application runs
/// the same file.
class Encoder {
 public:
  explicit Encoder(Bytes& out) : out_(out) {}
  void raw(const void* data, size_t size) { out_.append(static_cast<const char*>(data), size); }
  template <class T>
  void scalar(const T& value) {
    raw(&value, sizeof value);
  }
  /// Seven bits a byte, low bits first.
  void varint(uint64_t value) {
    char buffer[10];
    size_t n = 0;
    while (value >= 0x80) {
      buffer[n++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    buffer[n++] = static_cast<char>(value);
    raw(buffer, n);
  }
  void text(std::string_view value) {
    varint(value.size());
    raw(value.data(), value.size());
  }
  Bytes& bytes() { return out_; }

 private:
  Bytes& out_;
};

/// Reads what Encoder wrote; never touches a byte past the end.
/// Errors: every function throws DecodeError when the bytes run out or make no sense.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
  const char* raw(size_t size) {
    if (size > remaining()) fail("the bytes end too early");
    const char* start = at_;
    at_ += size;
    return start;
  }
  template <class T>
  T scalar() {
    T value;
    std::memcpy(&value, raw(sizeof value), sizeof value);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(*raw(1));
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    fail("a number is longer than ten bytes");
  }
  std::string_view text() {
    const uint64_t size = varint();
    if (size > remaining()) fail("a text is longer than what is left");
    return {raw(size), static_cast<size_t>(size)};
  }
  /// A number of elements, each at least `least` bytes long: refused when they can't all be there.
  size_t count(size_t least = 1) {
    const uint64_t n = varint();
    if (n > remaining() / least) fail("there are fewer elements than announced");
    return static_cast<size_t>(n);
  }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  bool done() const { return at_ == end_; }
  const char* at() const { return at_; }
  /// Bounds the nesting of values whose type contains itself.
  class Nested {
   public:
    explicit Nested(Decoder& d) : d_(d) {
      if (++d_.depth_ > kMaxDepth) fail("values are nested too deeply");
    }
    ~Nested() { --d_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Decoder& d_;
  };
  [[noreturn, gnu::noinline, gnu::cold]] static void fail(const char* why) {
    throw DecodeError(std::string("malformed record: ") + why);
  }

 private:
  static constexpr int kMaxDepth = 500;
  const char* at_;
  const char* end_;
  int depth_ = 0;
};

}  // namespace tinderbox
