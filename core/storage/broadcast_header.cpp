// What an executor must know to put a broadcast variable together.
#include "core/storage/broadcast_header.hpp"

#include <xxhash.h>

#include <algorithm>

#include "core/plan/bytes.hpp"

namespace tinderbox::core {

std::pair<size_t, size_t> BroadcastHeader::span(size_t piece) const {
  const size_t start = piece * piece_size;
  return {start, std::min<size_t>(piece_size, size - start)};
}

Bytes BroadcastHeader::encode() const {
  Bytes bytes;
  Encoder out(bytes);
  out.varint(size);
  out.varint(piece_size);
  for (const uint64_t sum : checksums) out.scalar(sum);
  return bytes;
}

Result<BroadcastHeader> BroadcastHeader::decode(std::string_view bytes) {
  try {
    Decoder in(bytes);
    BroadcastHeader header;
    header.size = in.varint();
    header.piece_size = in.varint();
    const size_t pieces = in.remaining() / sizeof(uint64_t);
    if (in.remaining() % sizeof(uint64_t) != 0 || header.piece_size == 0 ||
        pieces != header.size / header.piece_size + (header.size % header.piece_size != 0))
      return Error{"its header does not fit its pieces"};
    for (size_t i = 0; i < pieces; ++i) header.checksums.push_back(in.scalar<uint64_t>());
    return header;
  } catch (const DecodeError& e) {
    return Error{std::string("its header is damaged: ") + e.what()};
  }
}

uint64_t BroadcastHeader::checksum(std::string_view piece) {
  return XXH3_64bits(piece.data(), piece.size());
}

}  // namespace tinderbox::core
