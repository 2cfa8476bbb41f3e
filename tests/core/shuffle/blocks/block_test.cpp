// Pieces of every codec: what is sealed is read, what is damaged or made up is refused.
#include "core/shuffle/blocks/block.hpp"
#include "conf/keys.hpp"

#include <xxhash.h>

#include <random>

#include "core/shuffle/task_setting.hpp"
#include "tests/core/api/local_runtime.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using tests::LocalRuntime;

namespace {

constexpr PieceFormat kFormats[] = {
    {}, {PieceCodec::Lz4}, {PieceCodec::Zstd, 1}, {PieceCodec::Zstd, 9}, {PieceCodec::Zstd, -5}};

/// Words of a small vocabulary: what can be compressed, but is no run of one byte.
std::string words(size_t bytes) {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < bytes) text += "word-" + std::to_string(random() % 500) + " ";
  return text;
}

/// `piece` with the checksum of the bytes that it has now: as if someone had made it so.
Bytes signed_again(Bytes piece) {
  const uint64_t sum = XXH3_64bits(piece.data() + kPieceHeader, piece.size() - kPieceHeader);
  std::memcpy(piece.data() + 16, &sum, sizeof sum);
  return piece;
}

Bytes sealed(std::string_view records, PieceFormat format) {
  Bytes piece;
  seal_piece(records, format, piece);
  return piece;
}

}  // namespace

TEST_CASE("a piece of no records is one", "[shuffle]") {
  for (const PieceFormat format : kFormats) {
    const Bytes piece = sealed({}, format);
    PieceReader reader(piece);
    CHECK(reader.next()->empty());
  }
}

TEST_CASE("records that are too many for one piece are refused before any is copied", "[shuffle]") {
  const std::string first = words(1000);
  for (const PieceFormat format : kFormats)
    for (const size_t size : {kLargestPiece + 1, kLargestPiece + 100}) {
      Bytes block = first;
      // Nobody looks at bytes of what is too long, so that there are as few of them does no harm.
      CHECK_THROWS_WITH(seal_piece({first.data(), size}, format, block),
                        "a record, or all values of a key, has about " + std::to_string(size) +
                            " bytes, but may have 4294967295 at most");
      CHECK(block == first);
    }
}

TEST_CASE("pieces of every codec lie in one block and are read without being told", "[shuffle]") {
  const std::string text = words(5000), noise = "short";
  Bytes block;
  for (const PieceFormat format : kFormats)
    for (const std::string& records : {text, noise}) seal_piece(records, format, block);
  PieceReader reader(block);
  for (size_t i = 0; i < std::size(kFormats); ++i)
    for (const std::string& records : {text, noise}) CHECK(*reader.next() == records);
  CHECK(reader.done());
  const size_t plain = sealed(text, {}).size(), lz4 = sealed(text, kFormats[1]).size(),
               zstd = sealed(text, kFormats[2]).size();
  CHECK(plain == text.size() + kPieceHeader);
  CHECK(lz4 < plain);
  CHECK(zstd < lz4);
  CHECK(sealed(text, {PieceCodec::Zstd, 9}).size() < zstd);
  CHECK(sealed(noise, kFormats[2]).size() == noise.size() + kPieceHeader);
}

TEST_CASE("pieces of a block are checked before they are read", "[shuffle]") {
  const std::string text = words(5000);
  for (const PieceFormat format : kFormats) {
    CAPTURE(static_cast<int>(format.codec), format.level);
    const Bytes one = sealed(text, format);
    for (size_t i = 0; i < one.size(); ++i) {
      if (i >= 5 && i < 8) continue;  // the header's spare bytes
      Bytes torn = one;
      torn[i] = static_cast<char>(torn[i] ^ 4);
      PieceReader damaged(torn);
      const auto piece = damaged.next();
      CHECK((!piece || *piece != text || i < 24));
      if (i >= 24) CHECK_FALSE(piece);
    }
    for (size_t n = 1; n < one.size(); ++n)
      CHECK_FALSE(PieceReader(std::string_view(one).substr(0, n)).next());
  }
}

TEST_CASE("a piece whose checksum is right may still be made up", "[shuffle]") {
  const std::string text = words(5000);
  std::mt19937 random(11);
  for (const PieceFormat format : kFormats) {
    if (format.codec == PieceCodec::None) continue;
    CAPTURE(static_cast<int>(format.codec), format.level);
    const Bytes one = sealed(text, format);
    for (const uint32_t raw : {0U, 1U, 4999U, 5001U, 0x7e000000U, 0x7e000001U, 0xffffffffU}) {
      CAPTURE(raw);
      Bytes claims = one;
      std::memcpy(claims.data() + 8, &raw, sizeof raw);
      CHECK_FALSE(PieceReader(claims).next());
    }
    for (int round = 0; round < 3000; ++round) {
      Bytes made = one;
      for (uint32_t n = random() % 4 + 1; n > 0; --n)
        made[kPieceHeader + random() % (made.size() - kPieceHeader)] = static_cast<char>(random());
      const Bytes again = signed_again(std::move(made));
      PieceReader pieces(again);
      if (const auto piece = pieces.next()) CHECK(piece->size() == text.size());
    }
    for (size_t n = kPieceHeader; n < one.size(); ++n) {
      Bytes cut = one.substr(0, n);
      const auto stored = static_cast<uint32_t>(n - kPieceHeader);
      std::memcpy(cut.data() + 12, &stored, sizeof stored);
      CHECK_FALSE(PieceReader(signed_again(std::move(cut))).next());
    }
  }
  Bytes unknown = sealed(text, {PieceCodec::Zstd});
  unknown[4] = 3;
  CHECK(PieceReader(unknown).next().error().message == "the block does not start with a piece");
}

TEST_CASE("what shrinks most is no made up claim", "[shuffle]") {
  const std::string run(8 << 20, 'a');
  for (const PieceFormat format : kFormats) {
    const Bytes piece = sealed(run, format);
    CHECK(*PieceReader(piece).next() == run);
  }
}

TEST_CASE("the codec of pieces is the conf's", "[shuffle]") {
  struct Case {
    conf::Pairs settings;
    PieceCodec codec;
    int level;
  };
  const std::string codec = "spark.io.compression.codec";
  for (const Case& c :
       {Case{{}, PieceCodec::Lz4, 1}, Case{{{codec, "LZ4"}}, PieceCodec::Lz4, 1},
        Case{{{codec, "Zstd"}}, PieceCodec::Zstd, 1},
        Case{{{codec, "org.apache.spark.io.ZStdCompressionCodec"},
              {"spark.io.compression.zstd.level", "7"}},
             PieceCodec::Zstd,
             7},
        Case{{{codec, "org.apache.spark.io.LZ4CompressionCodec"}}, PieceCodec::Lz4, 1},
        Case{{{codec, "zstd"}, {"spark.shuffle.compress", "false"}}, PieceCodec::None, 1}}) {
    LocalRuntime runtime(1, conf::Conf::of(c.settings));
    const PieceFormat format = piece_format(runtime.services, conf::kShuffleCompress);
    CHECK(format.codec == c.codec);
    CHECK(format.level == c.level);
  }
}

TEST_CASE("a piece that is taken outlives the next one", "[shuffle]") {
  const std::string one(1000, 'a'), two(1000, 'b');
  for (const PieceFormat format : kFormats) {
    Bytes block;
    seal_piece(one, format, block);
    seal_piece(two, format, block);
    PieceReader pieces(block);
    const Bytes taken = pieces.take(*pieces.next());
    CHECK(*pieces.next() == two);
    CHECK(taken == one);
  }
}
