// Map outputs in memory and on files in memory, through the block manager.
#include <cstdlib>

#include "tests/core/storage/store_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

/// With the first no index is kept, and of each only what a block needs is read.
constexpr int64_t kIndexCaches[] = {0, 8 << 20};

BlockManagerOptions with_index_cache(int64_t bytes) {
  BlockManagerOptions options = Store::usual();
  options.map_outputs.index_cache = bytes;
  return options;
}

}  // namespace

TEST_CASE("a small map output stays in memory and makes no file", "[storage]") {
  Store s;
  CHECK(*write(s.blocks->map_outputs(), 1, 7, {"ab", "", "cde"}) == std::vector<int64_t>{2, 0, 3});
  CHECK(s.files.files.empty());
  CHECK(read(*s.blocks, "shuffle_1_7_0") == "ab");
  CHECK(read(*s.blocks, "shuffle_1_7_1") == "");
  CHECK(read(*s.blocks, "shuffle_1_7_2") == "cde");
  CHECK(read(*s.blocks, "shuffle_1_7_0_3") == "abcde");
  CHECK(read(*s.blocks, "shuffle_1_7_3").starts_with("error: shuffle_1_7_3 was asked for"));
  CHECK(read(*s.blocks, "shuffle_1_8_0") == "error: shuffle_1_8_0 is not here");
}

TEST_CASE("B34 a larger map output is one data file and one index of big-endian offsets",
          "[storage]") {
  Store s;
  CHECK(s.files.path_of("shuffle_1_7_0.data").empty());
  CHECK(*write(s.blocks->map_outputs(), 1, 7, {"abcdef", "", "ghijkl"}) ==
        std::vector<int64_t>{6, 0, 6});
  CHECK(*s.files.files.at(s.files.path_of("shuffle_1_7_0.data")) == "abcdefghijkl");
  const std::string want = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6,
                            0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 12};
  CHECK(*s.files.files.at(s.files.path_of("shuffle_1_7_0.index")) == want);
  CHECK(read(*s.blocks, "shuffle_1_7_2") == "ghijkl");
  CHECK(read(*s.blocks, "shuffle_1_7_1") == "");
  CHECK(read(*s.blocks, "shuffle_1_7_0_2") == "abcdef");
  s.files.files.erase(s.files.path_of("shuffle_1_7_0.data"));
  CHECK(read(*s.blocks, "shuffle_1_7_2").starts_with("error: cannot open"));
}

TEST_CASE("many small partitions pass through the write buffer in order", "[storage]") {
  Store s;
  std::vector<std::string> parts;
  std::string all;
  for (int r = 0; r < 5000; ++r) {
    parts.push_back(
        r % 3 == 0 ? ""
                   : std::string(static_cast<size_t>(r % 41), static_cast<char>('a' + r % 26)));
    all += parts.back();
  }
  REQUIRE(write(s.blocks->map_outputs(), 1, 7, parts));
  CHECK(*s.files.files.at(s.files.path_of("shuffle_1_7_0.data")) == all);
  for (const size_t r : {1u, 40u, 2500u, 4999u})
    CHECK(read(*s.blocks, "shuffle_1_7_" + std::to_string(r)) == parts[r]);
}

TEST_CASE("B35 201 partitions with 4 elements: four lengths are not zero", "[storage]") {
  Store s;
  std::vector<std::string> parts(201);
  for (const size_t r : {3u, 50u, 120u, 200u}) parts[r] = "element";
  const auto lengths = *write(s.blocks->map_outputs(), 1, 7, parts);
  CHECK(lengths.size() == 201);
  CHECK(std::count(lengths.begin(), lengths.end(), 0) == 197);
  CHECK(std::count(lengths.begin(), lengths.end(), 7) == 4);
}

TEST_CASE("an output without any bytes is committed and read as empty", "[storage]") {
  for (const int64_t in_memory : {0, 8}) {
    BlockManagerOptions options = Store::usual();
    options.map_outputs.max_memory = in_memory * 100;
    Store s(options);
    CHECK(*write(s.blocks->map_outputs(), 1, 7, {"", ""}) == std::vector<int64_t>{0, 0});
    CHECK(read(*s.blocks, "shuffle_1_7_1") == "");
    CHECK(s.files.path_of("0.index").empty() == (in_memory > 0));
  }
}

TEST_CASE("a partition that comes in parts is one: length, bytes and checksum", "[storage]") {
  for (const std::string part : {"a", "longer than memory allows "}) {
    CAPTURE(part);
    Store s;
    auto output = s.blocks->map_outputs().open(ShuffleId{1}, 7, 3);
    for (const int32_t reduce : {0, 2, 2, 2}) CHECK(output->append(reduce, part));
    const auto size = static_cast<int64_t>(part.size());
    CHECK(*output->commit() == std::vector<int64_t>{size, 0, 3 * size});
    CHECK(read(*s.blocks, "shuffle_1_7_0") == part);
    CHECK(read(*s.blocks, "shuffle_1_7_2") == part + part + part);
  }
}

TEST_CASE("partitions out of order are refused", "[storage]") {
  Store s;
  auto output = s.blocks->map_outputs().open(ShuffleId{1}, 7, 3);
  CHECK(output->append(1, "a"));
  CHECK(!output->append(0, "b"));
  CHECK(!output->append(3, "b"));
}

TEST_CASE("B38 two attempts of one map id: both get the lengths of the first to commit",
          "[storage]") {
  for (const std::string base : {"", "longer than memory allows "}) {
    CAPTURE(base);
    Store s;
    MapOutputStore& store = s.blocks->map_outputs();
    auto first = store.open(ShuffleId{1}, 7, 2);
    auto second = store.open(ShuffleId{1}, 7, 2);
    CHECK(first->append(0, base + "1"));
    CHECK(second->append(0, base + "22"));
    CHECK(second->append(1, base + "2"));
    CHECK(first->append(1, base + "11"));
    const auto size = static_cast<int64_t>(base.size());
    const std::vector<int64_t> want = {size + 2, size + 1};
    CHECK(*second->commit() == want);
    CHECK(*first->commit() == want);
    first.reset();
    CHECK(read(*s.blocks, "shuffle_1_7_0") == base + "22");
    CHECK(read(*s.blocks, "shuffle_1_7_1") == base + "2");
  }
}

TEST_CASE("B38 a first attempt in memory is kept when the second is too large for it",
          "[storage]") {
  Store s;
  CHECK(*write(s.blocks->map_outputs(), 1, 7, {"small"}) == std::vector<int64_t>{5});
  CHECK(*write(s.blocks->map_outputs(), 1, 7, {"much too large"}) == std::vector<int64_t>{5});
  CHECK(s.files.files.empty());
  CHECK(*write(s.blocks->map_outputs(), 1, 8, {"much too large"}) == std::vector<int64_t>{14});
  CHECK(*write(s.blocks->map_outputs(), 1, 8, {"small"}) == std::vector<int64_t>{14});
  CHECK(read(*s.blocks, "shuffle_1_8_0") == "much too large");
}

TEST_CASE("a torn index or data file is replaced by the next attempt", "[storage]") {
  for (const char* torn : {"0.index", "0.data"}) {
    for (const int64_t index_cache : kIndexCaches) {
      CAPTURE(torn, index_cache);
      Store s(with_index_cache(index_cache));
      s.files.tear = torn;
      REQUIRE(write(s.blocks->map_outputs(), 1, 7, {"first attempt", ""}));
      CHECK(read(*s.blocks, "shuffle_1_7_0").find("corrupted due to DISK_ISSUE") !=
            std::string::npos);
      s.files.tear.clear();
      CHECK(*write(s.blocks->map_outputs(), 1, 7, {"second", "attempt"}) ==
            std::vector<int64_t>{6, 7});
      CHECK(read(*s.blocks, "shuffle_1_7_0") == "second");
      CHECK(read(*s.blocks, "shuffle_1_7_1") == "attempt");
    }
  }
}

TEST_CASE("B40 a byte flipped in a data file is found by the partition's checksum", "[storage]") {
  for (const int64_t index_cache : kIndexCaches) {
    CAPTURE(index_cache);
    Store s(with_index_cache(index_cache));
    REQUIRE(write(s.blocks->map_outputs(), 1, 7, {"partition 0", "partition 1"}));
    s.files.flip("0.data", 13);
    CHECK(read(*s.blocks, "shuffle_1_7_0") == "partition 0");
    CHECK(read(*s.blocks, "shuffle_1_7_1") ==
          "error: shuffle_1_7_1 is corrupted due to DISK_ISSUE: the checksum of partition 1 is not "
          "the one written");
    CHECK(read(*s.blocks, "shuffle_1_7_0_2").find("DISK_ISSUE") != std::string::npos);
  }
}

TEST_CASE("a byte flipped in an index is found by its order, the data or a checksum", "[storage]") {
  struct Case {
    const char* name;
    size_t at;
    const char* block;
  };
  const Case cases[] = {
      {"the first offset is not 0", 7, "shuffle_1_7_0"},
      {"the partition ends behind the data", 8, "shuffle_1_7_0"},
      {"the partition begins behind its end", 8, "shuffle_1_7_1"},
      {"the partition is too short", 15, "shuffle_1_7_0"},
      {"the partition begins too early", 15, "shuffle_1_7_1"},
  };
  for (const int64_t index_cache : kIndexCaches) {
    for (const Case& c : cases) {
      CAPTURE(index_cache, c.name);
      Store s(with_index_cache(index_cache));
      REQUIRE(write(s.blocks->map_outputs(), 1, 7, {"partition 0", "partition 1"}));
      s.files.flip("0.index", c.at);
      CHECK(read(*s.blocks, c.block).find("corrupted due to DISK_ISSUE") != std::string::npos);
    }
  }
}

TEST_CASE("an output whose checksum file is torn is read without it", "[storage]") {
  for (const int64_t index_cache : kIndexCaches) {
    CAPTURE(index_cache);
    Store s(with_index_cache(index_cache));
    s.files.tear = ".checksum";
    REQUIRE(write(s.blocks->map_outputs(), 1, 7, {"partition 0", "partition 1"}));
    CHECK(read(*s.blocks, "shuffle_1_7_1") == "partition 1");
    CHECK(read(*s.blocks, "shuffle_1_7_0_2") == "partition 0partition 1");
  }
}

// ---- the cache of indexes -------------------------------------------------------------

TEST_CASE("of an index that would take much of the cache only what a block needs is read",
          "[storage]") {
  constexpr int kOutputs = 20, kPartitions = 1000;
  Store s(with_index_cache(1 << 20));
  const auto part = [](int map, int reduce) {
    return std::to_string(map) + "/" + std::to_string(reduce) + " ";
  };
  for (int map = 0; map < kOutputs; ++map) {
    std::vector<std::string> parts;
    for (int reduce = 0; reduce < kPartitions; ++reduce) parts.push_back(part(map, reduce));
    REQUIRE(write(s.blocks->map_outputs(), 1, map, parts));
  }
  for (const int reduce : {0, 1, kPartitions - 1})
    for (int map = 0; map < kOutputs; ++map)
      CHECK(read(*s.blocks, shuffle_block(ShuffleId{1}, map, reduce)) == part(map, reduce));
  CHECK(s.files.bytes_read(".index") == 3 * kOutputs * 16);
  CHECK(s.files.bytes_read(".checksum") == 3 * kOutputs * 8);
  CHECK(read(*s.blocks, "shuffle_1_7_4_7") == part(7, 4) + part(7, 5) + part(7, 6));
  const std::string none = " was asked for, but that map output has only 1000 partitions";
  for (const std::string block : {"shuffle_1_7_1000", "shuffle_1_7_999_1001"})
    CHECK(read(*s.blocks, block) == "error: " + block + none);
}

TEST_CASE("an index for which there is no room takes that of one other, not of all", "[storage]") {
  constexpr int kOutputs = 342;  // of 24 bytes each: one more than fits
  Store s(with_index_cache(8 << 10));
  for (int map = 0; map < kOutputs; ++map)
    REQUIRE(write(s.blocks->map_outputs(), 1, map, {"in a file"}));
  const auto read_all = [&] {
    const int64_t before = s.files.bytes_read(".index");
    for (int map = 0; map < kOutputs; ++map)
      CHECK(read(*s.blocks, shuffle_block(ShuffleId{1}, map, 0)) == "in a file");
    return s.files.bytes_read(".index") - before;
  };
  CHECK(read_all() == kOutputs * 16);
  CHECK(read_all() < kOutputs * 16 / 2);
}

TEST_CASE("a map output that can't be committed leaves no files", "[storage]") {
  struct Case {
    const char *name, *refuse;
    int64_t capacity;
  };
  const Case cases[] = {
      {"the disk is full when its index is written", "", 13},
      {"its data can't be put in place", ".data", 1000},
      {"its index can't be put in place", ".index", 1000},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Store s;
    s.files.capacity = c.capacity;
    s.files.refuse = c.refuse;
    CHECK_FALSE(write(s.blocks->map_outputs(), 1, 7, {"partition 0"}));
    CHECK(s.files.files.empty());
    CHECK(s.blocks->map_outputs().disk_used() == 0);
    s.files.capacity = 1000;
    s.files.refuse = "";
    CHECK(write(s.blocks->map_outputs(), 1, 7, {"partition 0"}));
    CHECK(read(*s.blocks, "shuffle_1_7_0") == "partition 0");
  }
}

TEST_CASE("B39 removing a shuffle deletes all its files and memory, and no others", "[storage]") {
  Store s;
  REQUIRE(write(s.blocks->map_outputs(), 1, 7, {"large enough for files"}));
  REQUIRE(write(s.blocks->map_outputs(), 1, 8, {"small"}));
  REQUIRE(write(s.blocks->map_outputs(), 2, 9, {"another one for files"}));
  CHECK(read(*s.blocks, "shuffle_1_7_0") == "large enough for files");
  s.blocks->remove_shuffle(ShuffleId{1});
  CHECK(read(*s.blocks, "shuffle_1_7_0") == "error: shuffle_1_7_0 is not here");
  CHECK(read(*s.blocks, "shuffle_1_8_0") == "error: shuffle_1_8_0 is not here");
  CHECK(s.files.path_of("shuffle_1_7_0.index").empty());
  CHECK(s.files.files.size() == 3);
  CHECK(read(*s.blocks, "shuffle_2_9_0") == "another one for files");
}

TEST_CASE("when small outputs have used their memory, the next ones go to files", "[storage]") {
  BlockManagerOptions options = Store::usual();
  options.map_outputs.max_memory = 20;
  Store s(options);
  REQUIRE(write(s.blocks->map_outputs(), 1, 1, {"small"}));
  CHECK(s.files.files.empty());
  REQUIRE(write(s.blocks->map_outputs(), 1, 2, {"other"}));
  CHECK(s.files.files.size() == 3);
  CHECK(read(*s.blocks, "shuffle_1_1_0") + read(*s.blocks, "shuffle_1_2_0") == "smallother");
}

TEST_CASE("a full disk is an error of the map output, not a half one", "[storage]") {
  Store s;
  s.files.capacity = 10;
  CHECK(!write(s.blocks->map_outputs(), 1, 7, {"more than ten bytes"}));
  CHECK(s.files.files.empty());
  CHECK(read(*s.blocks, "shuffle_1_7_0") == "error: shuffle_1_7_0 is not here");
}

TEST_CASE("another process of the host reads the files; what is in memory it does not find",
          "[storage]") {
  FakeFiles files;
  auto owner = BlockManager::open(files, Store::usual(), {});
  BlockManagerOptions other_options = Store::usual();
  other_options.unique_name = "v";
  auto reader = BlockManager::open(files, other_options, {});
  REQUIRE(write((*owner)->map_outputs(), 1, 7, {"in a file", "and more"}));
  REQUIRE(write((*owner)->map_outputs(), 1, 8, {"small"}));
  const auto read_local = [&](const std::string& block) {
    return (*reader)->map_outputs().read_host_local((*owner)->local_dirs(), *parse_block_id(block));
  };
  CHECK(read_local("shuffle_1_7_1").bytes->view() == "and more");
  CHECK(read_local("shuffle_1_8_0").missing);
  const int opened = files.opened;
  CHECK(read_local("shuffle_1_7_0").bytes->view() == "in a file");
  CHECK(files.opened == opened + 1);  // only the data: the index was kept
}

TEST_CASE("nothing is copied when a process reads its own outputs or files of its host",
          "[storage]") {
  char name[] = "/tmp/tinderbox-test-XXXXXX";
  const std::string directory = ::mkdtemp(name);
  const auto files = net::make_real_files();
  {
    BlockManagerOptions options = Store::usual();
    options.local_dirs = {directory};
    auto owner = BlockManager::open(*files, options, {});
    options.unique_name = "v";
    auto reader = BlockManager::open(*files, options, {});
    const std::string large(3 << 20, 'x');
    REQUIRE(write((*owner)->map_outputs(), 1, 7, {"first", large}));
    REQUIRE(write((*owner)->map_outputs(), 1, 8, {"small"}));
    const auto of_host = (*reader)->map_outputs().read_host_local((*owner)->local_dirs(),
                                                                  *parse_block_id("shuffle_1_7_1"));
    for (const Result<Payload>& read : {of_host.bytes, (*owner)->read("shuffle_1_7_1")}) {
      REQUIRE(read);
      CHECK(read->mapped());
      CHECK(read->view() == large);
    }
    const Result<Payload> once = (*owner)->read("shuffle_1_8_0"),
                          twice = (*owner)->read("shuffle_1_8_0");
    CHECK(once->view() == "small");
    CHECK(once->view().data() == twice->view().data());
  }
  (void)files->remove_tree(directory);
}

TEST_CASE("an output whose shuffle was removed meanwhile is not kept", "[storage]") {
  Store s;
  const int64_t disk = s.blocks->map_outputs().disk_used();
  for (const std::string part : {"a", "longer than memory allows "}) {
    CAPTURE(part);
    auto output = s.blocks->map_outputs().open(ShuffleId{1}, 7, 1);
    REQUIRE(output->append(0, part));
    SECTION("while it was written") { s.blocks->map_outputs().remove(ShuffleId{1}); }
    SECTION("while its files were committed") {
      s.files.before_commit = [&](const std::string& path) {
        if (path.ends_with(".index")) s.blocks->map_outputs().remove(ShuffleId{1});
      };
      if (part == "a") continue;
    }
    const auto lengths = output->commit();
    REQUIRE_FALSE(lengths);
    CHECK(lengths.error().message == "shuffle 1 was removed: nothing reads it any more");
    CHECK(read(*s.blocks, "shuffle_1_7_0") == "error: shuffle_1_7_0 is not here");
    CHECK(s.files.files.empty());
  }
  CHECK(s.blocks->map_outputs().disk_used() == disk);
  s.files.before_commit = {};
  CHECK(write(s.blocks->map_outputs(), 2, 7, {"longer than memory allows "}));
}
