// The bytes of a shuffle block: pieces, each a header and records, compressed or not.
//
// Header (24 bytes): magic "tbx1", codec (0 none, 1 lz4, 2 zstd), three zero bytes, raw length,
// stored length, xxh3 of the stored bytes. A block is a sequence of pieces, so that spilled runs
// are joined by copying.
#pragma once

#include <cstdint>
#include <string_view>

#include "net/types.hpp"

namespace tinderbox::core {

/// A piece with so many bytes of records is full; with its last record it may be longer.
inline constexpr size_t kPieceBytes = 256 << 10;
/// Records of one piece at most, which its header can tell. Unit: bytes.
inline constexpr size_t kLargestPiece = UINT32_MAX;

/// What tells how long a piece is lies at its beginning. Unit: bytes.
inline constexpr size_t kPieceHeader = 24;
/// All of the piece that begins with `header`. Shape: header.size() ≥ kPieceHeader.
/// Errors: it begins none.
Result<size_t> piece_size(std::string_view header);

/// How the records of a piece are stored. Its number stands in the header: append only.
enum class PieceCodec : uint8_t { None, Lz4, Zstd };
struct PieceFormat {
  PieceCodec codec = PieceCodec::None;
  int level = 1;  // of zstd
};

/// Appends `records` as one piece to `out`, as they are where compression gains nothing.
/// Errors: throws std::length_error when they are more than kLargestPiece; `out` stays as it is.
void seal_piece(std::string_view records, PieceFormat how, Bytes& out);

/// Reads the pieces of one block, of any codec, checking each before any record of it is seen.
class PieceReader {
 public:
  explicit PieceReader(std::string_view block) : left_(block) {}
  bool done() const { return left_.empty(); }
  /// What next() has not come to. Unit: bytes.
  size_t left() const { return left_.size(); }
  /// What comes next is `block`; the memory of the pieces before serves again.
  void go_on_with(std::string_view block) { left_ = block; }
  /// Records of the next piece; good until the next call and while the block lives.
  /// Errors: what is wrong with the bytes.
  Result<std::string_view> next();
  /// The records `piece` of the last next(), to be kept.
  Bytes take(std::string_view piece);

 private:
  std::string_view left_;
  Bytes raw_;
};

}  // namespace tinderbox::core
