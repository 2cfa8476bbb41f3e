#include "core/shuffle/blocks/block.hpp"

#include <lz4.h>
#include <xxhash.h>
#include <zstd.h>

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace tinderbox::core {
namespace {

constexpr uint32_t kMagic = 0x31786274;  // "tbx1"
constexpr size_t kWorthCompressing = 256;
constexpr uint32_t kMaxRaw = 0x7e000000;  // LZ4_MAX_INPUT_SIZE

struct Header {
  uint32_t magic = kMagic;
  PieceCodec codec = PieceCodec::None;
  uint8_t zero[3] = {};
  uint32_t raw = 0;
  uint32_t stored = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(Header) == kPieceHeader);

Result<Header> header_of(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof header) return Error{"the block ends inside a header"};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kMagic || header.codec > PieceCodec::Zstd ||
      header.zero[0] + header.zero[1] + header.zero[2] != 0)
    return Error{"the block does not start with a piece"};
  return header;
}

// One a thread, kept: the memory of a context is larger than a piece.
struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
template <class Context, Context* (*create)()>
Context* zstd_context() {
  thread_local const std::unique_ptr<Context, FreeZstd> context(create());
  if (!context) throw std::bad_alloc();
  return context.get();
}

size_t bound(PieceCodec codec, size_t size) {
  if (codec == PieceCodec::Zstd) return ZSTD_compressBound(size);
  return static_cast<size_t>(LZ4_compressBound(static_cast<int>(size)));
}

/// 0: it could not be compressed. Shape: `room` is bound(how.codec, records.size()).
size_t compress(PieceFormat how, std::string_view records, char* to, size_t room) {
  if (how.codec == PieceCodec::Lz4)
    return static_cast<size_t>(LZ4_compress_default(
        records.data(), to, static_cast<int>(records.size()), static_cast<int>(room)));
  const size_t size = ZSTD_compressCCtx(zstd_context<ZSTD_CCtx, ZSTD_createCCtx>(), to, room,
                                        records.data(), records.size(), how.level);
  return ZSTD_isError(size) ? 0 : size;
}

/// What a piece can be uncompressed to at most: a larger claim is not worth the memory. lz4 shrinks
/// 255 times; a block of zstd has at least 4 bytes and stands for 128 KiB.
bool plausible(const Header& header, std::string_view stored) {
  if (header.raw > kMaxRaw) return false;
  if (header.codec == PieceCodec::Lz4) return header.raw / 255 <= header.stored;
  return header.raw / (32 << 10) <= header.stored &&
         ZSTD_getFrameContentSize(stored.data(), stored.size()) == header.raw;
}

bool uncompress(PieceCodec codec, std::string_view stored, Bytes& raw) {
  if (codec == PieceCodec::Lz4)
    return LZ4_decompress_safe(stored.data(), raw.data(), static_cast<int>(stored.size()),
                               static_cast<int>(raw.size())) == static_cast<int>(raw.size());
  return ZSTD_decompressDCtx(zstd_context<ZSTD_DCtx, ZSTD_createDCtx>(), raw.data(), raw.size(),
                             stored.data(), stored.size()) == raw.size();
}

/// A full piece takes no further record, so it is the last one that is as long as that.
uint32_t raw_length(std::string_view records) {
  if (records.size() <= kLargestPiece) return static_cast<uint32_t>(records.size());
  throw std::length_error("a record, or all values of a key, has about " +
                          std::to_string(records.size()) + " bytes, but may have " +
                          std::to_string(kLargestPiece) + " at most");
}

}  // namespace

Result<size_t> piece_size(std::string_view header) {
  const Result<Header> found = header_of(header);
  if (!found) return found.error();
  return sizeof(Header) + found->stored;
}

void seal_piece(std::string_view records, PieceFormat how, Bytes& out) {
  Header header;
  header.raw = header.stored = raw_length(records);
  const size_t start = out.size();
  const size_t body = start + sizeof header;
  if (how.codec != PieceCodec::None && records.size() >= kWorthCompressing &&
      records.size() <= kMaxRaw) {
    const size_t room = bound(how.codec, records.size());
    out.resize(body + room);
    const size_t size = compress(how, records, out.data() + body, room);
    if (size > 0 && size < records.size()) {
      header.codec = how.codec;
      header.stored = static_cast<uint32_t>(size);
    }
  }
  out.resize(body + header.stored);
  if (header.codec == PieceCodec::None) records.copy(out.data() + body, records.size());
  header.checksum = XXH3_64bits(out.data() + body, header.stored);
  std::memcpy(out.data() + start, &header, sizeof header);
}

Result<std::string_view> PieceReader::next() {
  const Result<Header> found = header_of(left_);
  if (!found) return found.error();
  const Header& header = *found;
  left_.remove_prefix(sizeof header);
  if (header.stored > left_.size()) return Error{"the block ends inside a piece"};
  const std::string_view stored = left_.substr(0, header.stored);
  left_.remove_prefix(header.stored);
  if (XXH3_64bits(stored.data(), stored.size()) != header.checksum)
    return Error{"the checksum is wrong"};
  if (header.codec == PieceCodec::None && header.raw != header.stored)
    return Error{"the raw length is wrong"};
  if (header.codec == PieceCodec::None) return stored;
  if (!plausible(header, stored)) return Error{"the raw length is wrong"};
  raw_.resize(header.raw);
  if (!uncompress(header.codec, stored, raw_)) return Error{"the compressed bytes are wrong"};
  return std::string_view(raw_);
}

Bytes PieceReader::take(std::string_view piece) {
  return piece.data() == raw_.data() ? std::exchange(raw_, {}) : Bytes(piece);
}

}  // namespace tinderbox::core
