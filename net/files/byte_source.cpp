#include "net/files/byte_source.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace tinderbox::net {
namespace {

constexpr size_t kInput = 128 << 10;
constexpr size_t kOutput = 4 << 10, kMoreOutput = 1 << 20;
// The largest window; a gzip header, or zlib's own.
constexpr int kGzip = 15 + 16, kZlib = 15;

class FileBytes final : public ByteSource {
 public:
  FileBytes(std::unique_ptr<ReadFile> file, int64_t at) : file_(std::move(file)), at_(at) {}
  Result<size_t> read(char* to, size_t n) override {
    Result<size_t> got = file_->read_at(at_, to, n);
    if (got) at_ += static_cast<int64_t>(*got);
    return got;
  }

 private:
  std::unique_ptr<ReadFile> file_;
  int64_t at_;
};

class ViewBytes final : public ByteSource {
 public:
  explicit ViewBytes(std::string_view bytes) : left_(bytes) {}
  Result<size_t> read(char* to, size_t n) override {
    const size_t got = left_.copy(to, n);
    left_.remove_prefix(got);
    return got;
  }

 private:
  std::string_view left_;
};

/// What all kinds share: a part of the input at a time, the output as much as is asked for.
class Decompressor : public ByteSource {
 public:
  Decompressor(std::unique_ptr<ByteSource> from, std::string name, size_t input)
      : from_(std::move(from)), name_(std::move(name)), input_(input) {}

  Result<size_t> read(char* to, size_t n) final {
    size_t made = 0;
    while (made < n) {
      if (at_ == have_ && !ended_) {
        if (Result<bool> more = refill(); !more) return more.error();
      }
      const Result<size_t> got = step(to + made, n - made);
      if (!got) return got.error();
      made += *got;
      if (*got == 0 && at_ == have_ && ended_) {
        if (inside()) return Error{"'" + name_ + "' is cut short: its compressed data do not end"};
        break;
      }
    }
    return made;
  }

 protected:
  /// Takes from input_ [at_, have_) and moves at_; returns how many bytes it made.
  virtual Result<size_t> step(char* to, size_t n) = 0;
  /// Whether a member has begun and not ended.
  virtual bool inside() const = 0;
  Error damaged(const std::string& why) const {
    return Error{"'" + name_ + "' is damaged: " + why};
  }

  std::unique_ptr<ByteSource> from_;
  const std::string name_;
  std::vector<char> input_;
  size_t at_ = 0, have_ = 0;

 private:
  Result<bool> refill() {
    const Result<size_t> got = from_->read(input_.data(), input_.size());
    if (!got) return got.error();
    at_ = 0;
    have_ = *got;
    ended_ = have_ < input_.size();
    return true;
  }
  bool ended_ = false;
};

class Inflate final : public Decompressor {
 public:
  Inflate(int header, std::unique_ptr<ByteSource> from, std::string name, size_t input)
      : Decompressor(std::move(from), std::move(name), input) {
    if (inflateInit2(&stream_, header) != Z_OK) throw std::bad_alloc();
  }
  ~Inflate() override { inflateEnd(&stream_); }

 private:
  Result<size_t> step(char* to, size_t n) override {
    if (at_ == have_) return size_t{0};
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data() + at_);
    stream_.avail_in = static_cast<uInt>(have_ - at_);
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    const auto room = static_cast<uInt>(std::min<size_t>(n, 1u << 30));
    stream_.avail_out = room;
    inside_ = true;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    at_ = have_ - stream_.avail_in;
    if (result == Z_STREAM_END) {
      inside_ = false;
      inflateReset(&stream_);  // another member may follow
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return damaged(stream_.msg ? stream_.msg : "no such data");
    }
    return size_t{room - stream_.avail_out};
  }
  bool inside() const override { return inside_; }

  z_stream stream_{};
  bool inside_ = false;
};

class Unzstd final : public Decompressor {
 public:
  Unzstd(std::unique_ptr<ByteSource> from, std::string name, size_t input)
      : Decompressor(std::move(from), std::move(name), input), stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
  }
  ~Unzstd() override { ZSTD_freeDStream(stream_); }

 private:
  Result<size_t> step(char* to, size_t n) override {
    ZSTD_inBuffer in{input_.data(), have_, at_};
    ZSTD_outBuffer out{to, n, 0};
    if (at_ == have_ && !inside_) return size_t{0};
    const size_t result = ZSTD_decompressStream(stream_, &out, &in);
    at_ = in.pos;
    if (ZSTD_isError(result)) return damaged(ZSTD_getErrorName(result));
    inside_ = result != 0;
    return out.pos;
  }
  bool inside() const override { return inside_; }

  ZSTD_DStream* stream_;
  bool inside_ = false;
};

std::unique_ptr<ByteSource> decompressor(Compression how, std::unique_ptr<ByteSource> from,
                                         std::string name, size_t input) {
  switch (how) {
    case Compression::Gzip:
      return std::make_unique<Inflate>(kGzip, std::move(from), std::move(name), input);
    case Compression::Deflate:
      return std::make_unique<Inflate>(kZlib, std::move(from), std::move(name), input);
    case Compression::Zstd:
      return std::make_unique<Unzstd>(std::move(from), std::move(name), input);
    case Compression::None:
      break;
  }
  return from;
}

/// zlib counts what it is given in 32 bits: it gets `most` bytes at once.
Bytes deflated(int header, std::string_view bytes, size_t most) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, header, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw std::bad_alloc();
  Bytes out(deflateBound(&stream, bytes.size()), 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  int result = Z_OK;
  while (result == Z_OK) {
    const size_t in = std::min<size_t>(bytes.size() - stream.total_in, most);
    stream.avail_in = static_cast<uInt>(in);
    stream.avail_out = static_cast<uInt>(std::min<size_t>(out.size() - stream.total_out, most));
    result = deflate(&stream, stream.total_in + in < bytes.size() ? Z_NO_FLUSH : Z_FINISH);
  }
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END)
    throw std::runtime_error("zlib failed to compress: " + std::to_string(result));
  return out;
}

Bytes zstandard(std::string_view bytes) {
  Bytes out(ZSTD_compressBound(bytes.size()), 0);
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

/// Of a web server's URL what names the file: a query may end in anything.
std::string_view without_query(std::string_view name) {
  return place_of(name) == Place::Web ? name.substr(0, name.find_first_of("?#")) : name;
}

}  // namespace

std::unique_ptr<ByteSource> bytes_of(std::unique_ptr<ReadFile> file, int64_t offset, int64_t end) {
  file->expect(offset, end);
  return std::make_unique<FileBytes>(std::move(file), offset);
}

Compression compression_of(std::string_view name) {
  name = without_query(name);
  if (name.ends_with(".gz") || name.ends_with(".gzip")) return Compression::Gzip;
  if (name.ends_with(".deflate")) return Compression::Deflate;
  return name.ends_with(".zst") ? Compression::Zstd : Compression::None;
}

std::string_view suffix_of(Compression how) {
  switch (how) {
    case Compression::Gzip:
      return ".gz";
    case Compression::Zstd:
      return ".zst";
    case Compression::Deflate:
      return ".deflate";
    case Compression::None:
      break;
  }
  return "";
}

std::string_view unreadable_suffix(std::string_view name) {
  for (const std::string_view suffix : {".bz2", ".lz4", ".xz", ".snappy"})
    if (without_query(name).ends_with(suffix)) return suffix;
  return {};
}

std::unique_ptr<ByteSource> decompressed(Compression how, std::unique_ptr<ByteSource> from,
                                         std::string name) {
  return decompressor(how, std::move(from), std::move(name), kInput);
}

Bytes compressed(Compression how, std::string_view bytes, size_t most) {
  switch (how) {
    case Compression::Gzip:
      return deflated(kGzip, bytes, most);
    case Compression::Deflate:
      return deflated(kZlib, bytes, most);
    case Compression::Zstd:
      return zstandard(bytes);
    case Compression::None:
      break;
  }
  return Bytes(bytes);
}

Result<Bytes> uncompressed(Compression how, std::string_view bytes, size_t most,
                           const std::string& name) {
  // One byte more than there is, so that the first read tells the end.
  const auto from = decompressor(how, std::make_unique<ViewBytes>(bytes), name,
                                 std::min(kInput, bytes.size() + 1));
  Bytes out;
  for (size_t have = 0;; have = out.size()) {
    out.resize(have + std::clamp(have, kOutput, kMoreOutput));
    const Result<size_t> got = from->read(out.data() + have, out.size() - have);
    if (!got) return got.error();
    const bool ended = *got < out.size() - have;
    out.resize(have + *got);
    if (out.size() > most)
      return Error{"'" + name + "' is damaged: it holds more than it announces"};
    if (ended) return out;
  }
}

}  // namespace tinderbox::net
