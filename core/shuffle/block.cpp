#include "core/shuffle/block.hpp"

#include <lz4.h>
#include <xxhash.h>

#include <cstring>
#include <utility>

namespace tinderbox::core {
namespace {

constexpr uint32_t kMagic = 0x31786274;  // "tbx1"
constexpr size_t kWorthCompressing = 256;
constexpr uint32_t kMaxRaw = 0x7e000000;  // LZ4_MAX_INPUT_SIZE
enum class Codec : uint8_t { None, Lz4 };

struct Header {
  uint32_t magic = kMagic;
  Codec codec = Codec::None;
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
  if (header.magic != kMagic || header.codec > Codec::Lz4)
    return Error{"the block does not start with a piece"};
  return header;
}

}  // namespace

Result<size_t> piece_size(std::string_view header) {
  const Result<Header> found = header_of(header);
  if (!found) return found.error();
  return sizeof(Header) + found->stored;
}

void seal_piece(std::string_view records, bool compress, Bytes& out) {
  Header header;
  header.raw = header.stored = static_cast<uint32_t>(records.size());
  const size_t start = out.size();
  const size_t body = start + sizeof header;
  if (compress && records.size() >= kWorthCompressing) {
    const int bound = LZ4_compressBound(static_cast<int>(records.size()));
    out.resize(body + static_cast<size_t>(bound));
    const int size = LZ4_compress_default(records.data(), out.data() + body,
                                          static_cast<int>(records.size()), bound);
    if (size > 0 && static_cast<size_t>(size) < records.size()) {
      header.codec = Codec::Lz4;
      header.stored = static_cast<uint32_t>(size);
    }
  }
  out.resize(body + header.stored);
  if (header.codec == Codec::None) std::memcpy(out.data() + body, records.data(), records.size());
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
  if (header.codec == Codec::None) return stored;
  // lz4 shrinks at most 255 times: a larger claim is not worth the memory.
  if (header.raw > kMaxRaw || header.raw / 255 > header.stored)
    return Error{"the raw length is wrong"};
  raw_.resize(header.raw);
  const int size = LZ4_decompress_safe(stored.data(), raw_.data(), static_cast<int>(stored.size()),
                                       static_cast<int>(raw_.size()));
  if (size < 0 || static_cast<uint32_t>(size) != header.raw)
    return Error{"the compressed bytes are wrong"};
  return std::string_view(raw_);
}

Bytes PieceReader::take(std::string_view piece) {
  return piece.data() == raw_.data() ? std::exchange(raw_, {}) : Bytes(piece);
}

}  // namespace tinderbox::core
