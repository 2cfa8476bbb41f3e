// Several small outputs as one block: joined by their holder, taken apart by their reader.
#include "core/storage/map_outputs/map_output_group.hpp"

#include <random>

#include "tests/core/storage/store_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

/// What the group `name` has of each output; "error: …" for one that can't be had.
std::vector<std::string> parts_of(Store& s, const std::string& name) {
  const Result<Payload> group = s.blocks->read(name);
  if (!group) return {"refused: " + group.error().message};
  std::vector<std::string> parts;
  for (GroupReader in(group->view()); !in.done();) {
    const Result<std::string_view> part = in.next();
    parts.push_back(part ? std::string(*part) : "error: " + part.error().message);
  }
  return parts;
}

using Parts = std::vector<std::string>;

}  // namespace

TEST_CASE("a group has what a reducer gets of each output, in memory or not, in the order asked",
          "[storage][group]") {
  Store s;
  MapOutputStore& outputs = s.blocks->map_outputs();
  REQUIRE(write(outputs, 1, 7, {"ab", "", "cde"}));
  REQUIRE(write(outputs, 1, 8, {"in a file, this", "f", ""}));
  REQUIRE(write(outputs, 1, 9, {"x", "y", "z"}));
  CHECK(s.files.files.size() == 3);  // those of output 8
  CHECK(parts_of(s, "shuffle_1_7+1+1_0_1") == Parts{"ab", "in a file, this", "x"});
  CHECK(parts_of(s, "shuffle_1_9-2_1_2") == Parts{"y", ""});
  CHECK(parts_of(s, "shuffle_1_9-1_1_3") == Parts{"yz", "f"});
}

TEST_CASE("an output that can't be had says so in its place, the others are there",
          "[storage][group]") {
  Store s;
  REQUIRE(write(s.blocks->map_outputs(), 1, 7, {"ab", "c"}));
  REQUIRE(write(s.blocks->map_outputs(), 1, 9, {"x"}));
  CHECK(parts_of(s, "shuffle_1_7+1+1_0_1") == Parts{"ab", "error: shuffle_1_8_0 is not here", "x"});
  CHECK(
      parts_of(s, "shuffle_1_7+2_1_2") ==
      Parts{"c", "error: shuffle_1_9_1 was asked for, but that map output has only 1 partitions"});
}

TEST_CASE("a group that was asked for more often than it fits is refused", "[storage][group]") {
  BlockManagerOptions options = Store::usual();
  options.map_outputs = {.max_in_memory_output = kGroupedBlockBytes, .max_memory = 1 << 20};
  Store s(options);
  REQUIRE(write(s.blocks->map_outputs(), 1, 7, {Bytes(kGroupedBlockBytes, 'x')}));
  const auto group_of = [](int64_t blocks) {
    const std::vector<int64_t> maps(static_cast<size_t>(blocks), 7);
    return shuffle_group_block(ShuffleId{1}, maps, 0, 1);
  };
  constexpr int64_t kFit = kGroupBytes / kGroupedBlockBytes;
  CHECK(parts_of(s, group_of(kFit)).size() == kFit);
  CHECK(parts_of(s, group_of(kFit + 1)) ==
        Parts{"refused: a group of map outputs has more than its bound of bytes"});
}

TEST_CASE("a group cut anywhere, or with other bytes, ends, and is never read beyond its end",
          "[storage][group]") {
  Store s;
  REQUIRE(write(s.blocks->map_outputs(), 1, 7, {"ab"}));
  REQUIRE(write(s.blocks->map_outputs(), 1, 9, {"cde"}));
  const Bytes whole(s.blocks->read("shuffle_1_7+2_0_1")->view());
  REQUIRE(whole.size() == 2 * 4 + 5);
  const auto last = [](const Bytes& bytes) {
    std::optional<Error> error;
    size_t parts = 0;
    for (GroupReader in(bytes); !in.done() && !error; ++parts)
      if (const Result<std::string_view> part = in.next(); !part) error = part.error();
    return std::pair(parts, error ? error->message : "");
  };
  for (size_t size = 1; size < whole.size(); ++size) {
    CAPTURE(size);
    const auto [parts, error] = last(whole.substr(0, size));
    const bool inside_length = size < 4 || (size > 6 && size < 10);
    CHECK(parts == (size <= 6 ? 1 : 2));
    CHECK(error == (size == 6       ? ""
                    : inside_length ? "the group of map outputs ends inside a length"
                                    : "the group of map outputs ends inside one of them"));
  }
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 10'000; ++round) {
    Bytes bytes = whole;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    size_t seen = 0;
    for (GroupReader in(bytes); !in.done();)
      if (const Result<std::string_view> part = in.next()) seen += part->size();
    CHECK(seen <= whole.size());
  }
}
