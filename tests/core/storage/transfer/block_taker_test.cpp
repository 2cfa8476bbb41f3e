// The block taker in a table of events and effects.
#include "core/storage/transfer/block_taker.hpp"

#include "tests/core/storage/payload_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

/// Big-endian offsets, as an index file has them.
Payload index_of(const std::vector<uint64_t>& offsets) {
  Bytes bytes;
  for (const uint64_t offset : offsets)
    for (int shift = 56; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<char>(offset >> shift));
  return Payload(std::move(bytes));
}

struct Taking {
  BlockTaker taker{10};

  /// One line an effect.
  std::vector<std::string> feed(BlockTaker::Event event) {
    BlockTaker::Effects out;
    taker.on(event, {}, out);
    std::vector<std::string> lines;
    for (const BlockTaker::Effect& effect : out)
      lines.push_back(std::visit([](const auto& e) { return line(e); }, effect));
    return lines;
  }
  std::vector<std::string> take(const std::string& block, bool memory = false, bool disk = true) {
    return feed(TakeBlock{7, {ExecutorId{"3"}, "h", "h:1"}, block, memory, disk});
  }
  std::vector<std::string> fetched(Payload bytes) { return feed(PartFetched{7, bytes}); }
  std::vector<std::string> kept() { return feed(PartKept{7, true}); }

  static std::string line(const FetchPart& e) {
    return "fetch " + e.block + " from " + e.from.address;
  }
  static std::string line(const KeepBlock& e) {
    return "keep " + e.block + (e.level.memory ? " memory" : "") + (e.level.disk ? " disk" : "") +
           " " + std::string(e.bytes.view());
  }
  static std::string line(const KeepPartitions& e) {
    std::string l = "keep " + std::to_string(e.shuffle.value) + "/" + std::to_string(e.map_id) +
                    " from " + std::to_string(e.first) + " of " + std::to_string(e.num_reduces) +
                    ":";
    for (const int64_t length : e.lengths) l += " " + std::to_string(length);
    return l + " '" + std::string(e.bytes.view()) + "'";
  }
  static std::string line(const BlockTaken& e) { return e.taken ? "taken" : "not: " + e.reason; }
};

}  // namespace

TEST_CASE("a cached partition is fetched and kept where it may be", "[block_taker]") {
  Taking t;
  CHECK(t.take("rdd_1_2", true, false) == Lines{"fetch rdd_1_2 from h:1"});
  CHECK(t.fetched(text("abc")) == Lines{"keep rdd_1_2 memory abc"});
  CHECK(t.kept() == Lines{"taken"});
  CHECK(t.take("rdd_1_2") == Lines{"fetch rdd_1_2 from h:1"});
  CHECK(t.fetched(text("abc")) == Lines{"keep rdd_1_2 disk abc"});
  CHECK(t.feed(PartKept{7, Error{"no room"}}) == Lines{"not: no room"});
}

TEST_CASE("a map output comes as its index, then in runs of partitions", "[block_taker]") {
  Taking t;
  CHECK(t.take("shuffle_1_5_0.data") == Lines{"fetch shuffle_1_5_0.index from h:1"});
  // Lengths 4 4 4 20 0: two runs of at most 10 bytes, one partition that is larger alone, the rest.
  CHECK(t.fetched(index_of({0, 4, 8, 12, 32, 32})) == Lines{"fetch shuffle_1_5_0_2 from h:1"});
  CHECK(t.fetched(text("aaaabbbb")) == Lines{"keep 1/5 from 0 of 5: 4 4 'aaaabbbb'"});
  CHECK(t.kept() == Lines{"fetch shuffle_1_5_2_3 from h:1"});
  CHECK(t.fetched(text("cccc")) == Lines{"keep 1/5 from 2 of 5: 4 'cccc'"});
  CHECK(t.kept() == Lines{"fetch shuffle_1_5_3_4 from h:1"});
  CHECK(t.fetched(text("dddddddddddddddddddd")) ==
        Lines{"keep 1/5 from 3 of 5: 20 'dddddddddddddddddddd'"});
  CHECK(t.kept() == Lines{"keep 1/5 from 4 of 5: 0 ''"});  // empty: nothing to fetch
  CHECK(t.kept() == Lines{"taken"});
  CHECK(t.kept().empty());
}

TEST_CASE("what cannot be taken over is refused with the reason", "[block_taker]") {
  Taking t;
  CHECK(t.take("broadcast_1") == Lines{"not: broadcast_1 is no block that can be taken over"});
  CHECK(t.take("nonsense") == Lines{"not: nonsense is no block that can be taken over"});
  t.take("rdd_1_2");
  CHECK(t.take("rdd_1_2").empty());  // asked twice: taken once
  CHECK(t.feed(PartFetched{7, Error{"gone"}}) == Lines{"not: gone"});
  CHECK(t.fetched(text("late")).empty());
  const std::vector<std::vector<uint64_t>> none = {
      {}, {0}, {1, 2}, {0, 5, 4}, {0, uint64_t{1} << 63}};
  for (const std::vector<uint64_t>& bad : none) {
    t.take("shuffle_1_5_0.data");
    CHECK(t.fetched(index_of(bad)) ==
          Lines{"not: the index of shuffle_1_5_0.data is no list of offsets"});
  }
}
