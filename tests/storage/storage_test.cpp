// Memory store, disk store, map outputs and the block manager over them, on files in memory.
#include "core/storage/block_manager.hpp"
#include "core/storage/map_output_store.hpp"
#include "core/storage/memory_store.hpp"
#include "tests/pch.hpp"
#include "tests/storage/fake_files.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using tinderbox::test::FakeFiles;

namespace {

constexpr StorageLevel kMemoryOnly{.memory = true};
constexpr StorageLevel kDiskOnly{.disk = true};
constexpr StorageLevel kMemoryAndDisk{.disk = true, .memory = true};

Payload bytes(size_t n, char fill = 'x') { return Payload(Bytes(n, fill)); }

/// A block manager with 100 bytes for cached blocks, and what it told the driver.
struct Store {
  FakeFiles files;
  std::vector<BlockUpdate> told;
  std::unique_ptr<BlockManager> blocks;

  explicit Store(BlockManagerOptions options = usual()) {
    auto opened = BlockManager::open(files, std::move(options), [this](auto updates) {
      told.insert(told.end(), updates.begin(), updates.end());
    });
    REQUIRE(opened);
    blocks = std::move(*opened);
  }
  static BlockManagerOptions usual() {
    return {.local_dirs = {"/d1", "/d2"},
            .unique_name = "u",
            .memory = 100,
            .sub_directories = 64,
            .map_outputs = {.max_in_memory_output = 8, .max_memory = 1000}};
  }
  bool put(const std::string& name, const StorageLevel& level, size_t n, char fill = 'x') {
    return blocks->put(name, level, bytes(n, fill), true);
  }
  std::string get(const std::string& name) {
    const std::optional<Payload> found = blocks->get(name);
    return found ? std::string(found->view().substr(0, 1)) + std::to_string(found->size()) : "-";
  }
  std::vector<std::string> news() {
    std::vector<std::string> lines;
    for (const BlockUpdate& u : told)
      lines.push_back(u.block + (u.in_memory ? " memory" : "") + (u.on_disk ? " disk" : "") +
                      (u.in_memory || u.on_disk ? "" : " gone"));
    told.clear();
    return lines;
  }
};
using Lines = std::vector<std::string>;

Result<std::vector<int64_t>> write(MapOutputStore& store, int32_t shuffle, int64_t map,
                                   const std::vector<std::string>& parts) {
  auto output = store.open(ShuffleId{shuffle}, map, static_cast<int32_t>(parts.size()));
  for (size_t r = 0; r < parts.size(); ++r)
    if (!parts[r].empty())
      if (Result<bool> put = output->append(static_cast<int32_t>(r), parts[r]); !put)
        return put.error();
  return output->commit();
}
std::string read(BlockManager& blocks, const std::string& name) {
  const Result<Payload> found = blocks.read(name);
  return found ? std::string(found->view()) : "error: " + found.error().message;
}

}  // namespace

// ---- memory ---------------------------------------------------------------------------

TEST_CASE("the least recently used block goes first", "[storage]") {
  Store s;
  CHECK(s.put("rdd_1_0", kMemoryOnly, 40));
  CHECK(s.put("rdd_2_0", kMemoryOnly, 40));
  CHECK(s.get("rdd_1_0") == "x40");  // a use
  s.news();
  CHECK(s.put("rdd_3_0", kMemoryOnly, 40));
  CHECK(s.news() == Lines{"rdd_2_0 gone", "rdd_3_0 memory"});
  CHECK(s.get("rdd_1_0") == "x40");
  CHECK(s.get("rdd_2_0") == "-");
  CHECK(s.blocks->memory_used() == 80);
}

TEST_CASE("B30 blocks of one Rdd don't push each other out: some are cached, the rest is not",
          "[storage]") {
  Store s;
  int cached = 0;
  for (int p = 0; p < 20; ++p) cached += s.put("rdd_1_" + std::to_string(p), kMemoryOnly, 30);
  CHECK(cached == 3);
  CHECK(s.get("rdd_1_0") == "x30");
  CHECK(s.get("rdd_1_3") == "-");
  CHECK(s.news() == Lines{"rdd_1_0 memory", "rdd_1_1 memory", "rdd_1_2 memory"});
}

TEST_CASE("B30 what fits nowhere is not cached, and nothing is thrown out for it", "[storage]") {
  Store s;
  CHECK(s.put("rdd_1_0", kMemoryOnly, 60));
  CHECK(!s.put("rdd_2_0", kMemoryOnly, 101));
  CHECK(s.put("rdd_3_0", kMemoryOnly, 30));
  CHECK(!s.put("rdd_3_1", kMemoryOnly, 80));  // even without rdd_1_0 it would not fit
  CHECK(s.get("rdd_1_0") == "x60");
  CHECK(s.news() == Lines{"rdd_1_0 memory", "rdd_3_0 memory"});
}

TEST_CASE("an evicted block of a level with disk moves to disk", "[storage]") {
  Store s;
  CHECK(s.put("rdd_1_0", kMemoryAndDisk, 60, 'a'));
  CHECK(s.put("rdd_2_0", kMemoryOnly, 60, 'b'));
  CHECK(s.news() == Lines{"rdd_1_0 memory", "rdd_1_0 disk", "rdd_2_0 memory"});
  CHECK(s.get("rdd_1_0") == "a60");
  CHECK(s.get("rdd_2_0") == "b60");
}

TEST_CASE("B29 every level keeps its blocks where it may", "[storage]") {
  struct Case {
    const char* name;
    StorageLevel level;
    size_t size;
    Lines want;
  };
  StorageLevel deserialized = kMemoryOnly;
  deserialized.deserialized = true;
  const Case cases[] = {
      {"MEMORY_ONLY", deserialized, 50, {"rdd_1_0 memory"}},
      {"MEMORY_ONLY_SER", kMemoryOnly, 50, {"rdd_1_0 memory"}},
      {"DISK_ONLY", kDiskOnly, 50, {"rdd_1_0 disk"}},
      {"MEMORY_AND_DISK", kMemoryAndDisk, 50, {"rdd_1_0 memory"}},
      {"MEMORY_AND_DISK, too large for memory", kMemoryAndDisk, 500, {"rdd_1_0 disk"}},
      {"MEMORY_ONLY, too large", kMemoryOnly, 500, {}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Store s;
    CHECK(s.put("rdd_1_0", c.level, c.size) == !c.want.empty());
    CHECK(s.news() == c.want);
    CHECK(s.get("rdd_1_0") == (c.want.empty() ? "-" : "x" + std::to_string(c.size)));
  }
}

TEST_CASE("a block that is there stays as it is", "[storage]") {
  Store s;
  CHECK(s.put("rdd_1_0", kMemoryOnly, 10, 'a'));
  CHECK(s.put("rdd_1_0", kMemoryOnly, 20, 'b'));
  CHECK(s.get("rdd_1_0") == "a10");
  CHECK(s.news() == Lines{"rdd_1_0 memory"});
}

TEST_CASE("the driver hears of what it was told before, and of nothing else", "[storage]") {
  Store s;
  CHECK(s.blocks->put("taskresult_4", kMemoryAndDisk, bytes(30), false));
  CHECK(s.put("rdd_1_0", kMemoryAndDisk, 30));
  CHECK(s.news() == Lines{"rdd_1_0 memory"});
  CHECK(s.blocks->state().size() == 1);
  CHECK(s.blocks->state()[0].memory_bytes == 30);
  s.blocks->remove("taskresult_4");
  s.blocks->remove("rdd_1_0");
  s.blocks->remove("rdd_1_0");
  CHECK(s.news() == Lines{"rdd_1_0 gone"});
  CHECK(s.blocks->state().empty());
}

TEST_CASE("B33 removing an Rdd or a broadcast leaves no block of it", "[storage]") {
  Store s;
  CHECK(s.put("rdd_1_0", kMemoryOnly, 10));
  CHECK(s.put("rdd_1_1", kDiskOnly, 10));
  CHECK(s.put("rdd_11_0", kMemoryOnly, 10));
  CHECK(s.put("broadcast_1_piece0", kDiskOnly, 10));
  CHECK(s.put("broadcast_1", kMemoryOnly, 10));
  s.news();
  s.blocks->remove_rdd(RddId{1});
  CHECK(s.get("rdd_1_0") + s.get("rdd_1_1") == "--");
  CHECK(s.get("rdd_11_0") == "x10");
  CHECK(s.files.path_of("rdd_1_1").empty());
  s.blocks->remove_broadcast(BroadcastId{1});
  CHECK(s.get("broadcast_1_piece0") + s.get("broadcast_1") == "--");
  CHECK(s.files.files.empty());
  CHECK(s.news().empty());  // the driver asked for it
}

// ---- disk -----------------------------------------------------------------------------

TEST_CASE("a block's file lies in blockmgr-<name>/<two hex digits> and goes with its owner",
          "[storage]") {
  FakeFiles outlives;
  {
    auto blocks = BlockManager::open(outlives, Store::usual(), {});
    REQUIRE(blocks);
    CHECK((*blocks)->local_dirs() == Lines{"/d1/blockmgr-u", "/d2/blockmgr-u"});
    CHECK((*blocks)->put("rdd_1_0", kDiskOnly, bytes(5), false));
    // "rdd_1_0".hashCode() is 1054351957: directory 1, folder 527175978 % 64
    CHECK(outlives.path_of("rdd_1_0") == "/d2/blockmgr-u/2a/rdd_1_0");
  }
  CHECK(outlives.files.empty());
  CHECK(outlives.directories.empty());
}

TEST_CASE("directories that can't be used are skipped; without any the store does not open",
          "[storage]") {
  FakeFiles files;
  files.read_only = {"/d1"};
  auto blocks = BlockManager::open(files, Store::usual(), {});
  REQUIRE(blocks);
  CHECK((*blocks)->local_dirs() == Lines{"/d2/blockmgr-u"});
  REQUIRE((*blocks)->skipped_dirs().size() == 1);
  CHECK((*blocks)->skipped_dirs()[0] ==
        "local directory /d1 is skipped: cannot create directory /d1/blockmgr-u: Read-only file "
        "system");
  files.read_only = {"/d1", "/d2"};
  auto none = BlockManager::open(files, Store::usual(), {});
  REQUIRE(!none);
  CHECK(none.error().message.starts_with("no local directory can be used for blocks"));
}

TEST_CASE("B23 a block whose file was deleted counts as missing, and the driver is told",
          "[storage]") {
  Store s;
  CHECK(s.put("rdd_1_0", kDiskOnly, 10));
  s.files.files.clear();
  CHECK(s.get("rdd_1_0") == "-");
  CHECK(s.news() == Lines{"rdd_1_0 disk", "rdd_1_0 gone"});
  CHECK(s.put("rdd_1_0", kDiskOnly, 10));
  CHECK(s.get("rdd_1_0") == "x10");
}

TEST_CASE("B40 a flipped bit or a torn end of a cached file is found", "[storage]") {
  Store s;
  CHECK(s.put("rdd_1_0", kDiskOnly, 10));
  s.files.flip("rdd_1_0", 3);
  CHECK(s.get("rdd_1_0") == "-");
  s.files.tear = "rdd_1_1";
  CHECK(s.put("rdd_1_1", kDiskOnly, 10));
  CHECK(s.get("rdd_1_1") == "-");
}

TEST_CASE("a full disk means not stored", "[storage]") {
  Store s;
  s.files.capacity = 15;
  CHECK(s.put("rdd_1_0", kDiskOnly, 10));
  CHECK(!s.put("rdd_1_1", kDiskOnly, 10));
  CHECK(s.get("rdd_1_1") == "-");
  CHECK(s.news() == Lines{"rdd_1_0 disk"});
}

TEST_CASE("a handed-out file is read by its name, other names are refused", "[storage]") {
  Store s;
  s.files.directories.insert("/src");
  {
    auto file = s.files.create("/src/words.txt");
    REQUIRE((*file)->append("hello"));
    REQUIRE((*file)->commit());
  }
  s.blocks->hand_out_file("words.txt", "/src/words.txt");
  CHECK(read(*s.blocks, "file/words.txt") == "hello");
  CHECK(read(*s.blocks, "file/passwd") == "error: no file named passwd is handed out here");
  CHECK(read(*s.blocks, "file/../words.txt") == "error: 'file/../words.txt' is no name of a block");
}

// ---- map outputs ----------------------------------------------------------------------

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
  CHECK(s.blocks->map_outputs().memory_used() > 0);
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

TEST_CASE("partitions out of order are refused", "[storage]") {
  Store s;
  auto output = s.blocks->map_outputs().open(ShuffleId{1}, 7, 3);
  CHECK(output->append(1, "a"));
  CHECK(!output->append(1, "b"));
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
    CAPTURE(torn);
    Store s;
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

TEST_CASE("B40 a byte flipped in a data file is found by the partition's checksum", "[storage]") {
  Store s;
  REQUIRE(write(s.blocks->map_outputs(), 1, 7, {"partition 0", "partition 1"}));
  s.files.flip("0.data", 13);
  CHECK(read(*s.blocks, "shuffle_1_7_0") == "partition 0");
  CHECK(read(*s.blocks, "shuffle_1_7_1") ==
        "error: shuffle_1_7_1 is corrupted due to DISK_ISSUE: the checksum of partition 1 is not "
        "the one written");
  CHECK(read(*s.blocks, "shuffle_1_7_0_2").find("DISK_ISSUE") != std::string::npos);
}

TEST_CASE("B39 removing a shuffle deletes all its files and memory, and no others", "[storage]") {
  Store s;
  REQUIRE(write(s.blocks->map_outputs(), 1, 7, {"large enough for files"}));
  REQUIRE(write(s.blocks->map_outputs(), 1, 8, {"small"}));
  REQUIRE(write(s.blocks->map_outputs(), 2, 9, {"another one for files"}));
  CHECK(read(*s.blocks, "shuffle_1_7_0") == "large enough for files");
  s.blocks->remove_shuffle(ShuffleId{1});
  CHECK(s.blocks->map_outputs().memory_used() == 0);
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

TEST_CASE("the conf's and the environment's settings reach the block manager", "[storage]") {
  const conf::Conf conf = conf::Conf{}
                              .with("spark.local.dir", "/a,/b")
                              .with("tinderbox.shuffle.maxInMemoryOutput", "1k")
                              .with("spark.memory.fraction", "0.5");
  const auto options = block_manager_options(conf, {}, 1324LL << 20, "u");
  CHECK(options.local_dirs == Lines{"/a", "/b"});
  CHECK(options.memory == 512LL << 20);
  CHECK(options.map_outputs.max_in_memory_output == 1024);
  CHECK(options.sub_directories == 64);
  CHECK(block_manager_options(conf, {{"SPARK_LOCAL_DIRS", "/c"}}, 0, "u").local_dirs ==
        Lines{"/c"});
  CHECK(block_manager_options(conf, {{"SPARK_LOCAL_DIRS", "/c"}, {"SPARK_EXECUTOR_DIRS", "/e,/f"}},
                              0, "u")
            .local_dirs == Lines{"/e", "/f"});
}
