// Memory store, disk store and the block manager over them, on files in memory.
#include "core/storage/stores/memory_store.hpp"

#include <xxhash.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "core/storage/stores/checksum.hpp"
#include "tests/core/storage/store_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

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
  const BlockUpdate moved = s.blocks->state()[0];  // its level is still what it was
  CHECK((moved.use_memory && moved.use_disk && !moved.in_memory));
}

TEST_CASE("a block that is removed while it moves to disk leaves no file", "[storage]") {
  Store s;
  CHECK(s.put("rdd_1_0", kMemoryAndDisk, 60));
  s.files.before_commit = [&](const std::string&) { s.blocks->remove_rdd(RddId{1}); };
  CHECK(s.put("rdd_2_0", kMemoryOnly, 60));
  CHECK(s.files.files.empty());
  CHECK(s.get("rdd_1_0") == "-");
  CHECK(s.news() == Lines{"rdd_1_0 memory", "rdd_2_0 memory"});
}

TEST_CASE("a block of an Rdd stays in memory while somebody reads it", "[storage]") {
  Store s;
  const std::atomic<bool> alive{false};
  CHECK(s.put("rdd_1_0", kMemoryOnly, 60, 'a'));
  std::optional<Payload> reader = s.blocks->get("rdd_1_0");
  CHECK_FALSE(s.put("rdd_2_0", kMemoryOnly, 60));
  CHECK(s.blocks->memory().acquire(TaskId{1}, 50, alive) == 40);
  s.blocks->memory().release(TaskId{1}, 40);
  CHECK(s.news() == Lines{"rdd_1_0 memory"});
  reader.reset();
  CHECK(s.put("rdd_2_0", kMemoryAndDisk, 60));
  CHECK(s.news() == Lines{"rdd_1_0 gone", "rdd_2_0 memory"});
  // Somebody begins to read it while it is written to disk.
  s.files.before_commit = [&](const std::string&) { reader = s.blocks->get("rdd_2_0"); };
  CHECK_FALSE(s.put("rdd_3_0", kMemoryOnly, 60));
  CHECK(s.blocks->memory().use().storage == 60);
  reader.reset();
  CHECK(s.put("rdd_3_0", kMemoryOnly, 60));
  CHECK(s.get("rdd_2_0") == "x60");
  CHECK(s.news() == Lines{"rdd_2_0 disk", "rdd_3_0 memory"});
}

TEST_CASE("what is told of a block keeps the order in which it happened", "[storage]") {
  FakeFiles files;
  std::unique_ptr<BlockManager> blocks;
  std::mutex mutex;
  std::vector<bool> here;
  std::atomic<bool> told_gone{false};
  std::thread remover;
  auto opened = BlockManager::open(files, Store::usual(), [&](const auto& updates) {
    if (updates[0].in_memory) {
      remover = std::thread([&] { blocks->remove("rdd_1_0"); });
      for (int i = 0; i < 2000 && !told_gone; ++i) std::this_thread::yield();
    } else {
      told_gone = true;
    }
    std::lock_guard lock(mutex);
    here.push_back(updates[0].in_memory);
  });
  REQUIRE(opened);
  blocks = std::move(*opened);
  CHECK(blocks->put("rdd_1_0", kMemoryOnly, bytes(10), true));
  remover.join();
  CHECK(here == std::vector<bool>{true, false});
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
  s.blocks->put("broadcast_1", kMemoryOnly, Payload(Bytes(10, 'x')), false);
  s.news();
  s.blocks->remove_rdd(RddId{1});
  CHECK(s.get("rdd_1_0") + s.get("rdd_1_1") == "--");
  CHECK(s.get("rdd_11_0") == "x10");
  CHECK(s.files.path_of("rdd_1_1").empty());
  CHECK(s.news().empty());  // the driver asked for it
  s.blocks->remove_broadcast(BroadcastId{1});
  CHECK(s.get("broadcast_1_piece0") + s.get("broadcast_1") == "--");
  CHECK(s.files.files.empty());
  CHECK(s.news() == Lines{"broadcast_1_piece0 gone"});
  CHECK(s.blocks->state().size() == 1);
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
  CHECK(s.get("rdd_1_0") == "-");
  REQUIRE(s.warnings.size() == 1);
  CHECK(s.warnings[0].starts_with("rdd_1_0 cannot be read from disk: cannot open /"));
  CHECK(s.news() == Lines{"rdd_1_0 disk", "rdd_1_0 gone"});
  CHECK(s.put("rdd_1_0", kDiskOnly, 10));
  CHECK(s.get("rdd_1_0") == "x10");
}

TEST_CASE("the checksum of a long block is that of its bytes, whatever of it stays in memory",
          "[storage]") {
  std::string text(9 << 20, 'x');
  for (size_t i = 0; i < text.size(); i += 100) text[i] = static_cast<char>(i);
  static size_t forgotten;
  forgotten = 0;
  const Payload bytes(nullptr, text, [](std::string_view part) { forgotten += part.size(); });
  CHECK(checksum(bytes) == XXH3_64bits(text.data(), text.size()));
  CHECK(forgotten == text.size());
  const std::string_view part = bytes.view().substr(1000, 5 << 20);
  CHECK(checksum(bytes, part) == XXH3_64bits(part.data(), part.size()));
  CHECK(checksum(bytes, part.substr(0, 10)) == XXH3_64bits(part.data(), 10));
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

TEST_CASE("a full disk means not stored, and one line a block says why", "[storage]") {
  Store s;
  s.files.capacity = 15;
  CHECK(s.put("rdd_1_0", kDiskOnly, 10));
  CHECK(!s.put("rdd_1_1", kDiskOnly, 10));
  CHECK(!s.put("rdd_1_1", kDiskOnly, 10));
  CHECK(s.get("rdd_1_1") == "-");
  CHECK(s.news() == Lines{"rdd_1_0 disk"});
  const auto full = [](const std::string& block) {
    return block + " cannot be written to disk: cannot write " +
           block_path({"/d1/blockmgr-u", "/d2/blockmgr-u"}, 64, block) +
           ": No space left on device";
  };
  CHECK(s.warnings == Lines{full("rdd_1_1")});
  s.blocks->remove_rdd(RddId{1});
  s.files.capacity = 5;
  CHECK(!s.put("rdd_1_1", kDiskOnly, 10));
  CHECK(s.warnings == Lines{full("rdd_1_1"), full("rdd_1_1")});
}

TEST_CASE("a block that no disk takes stays in memory, as it may be a local checkpoint",
          "[storage]") {
  Store s;
  s.files.capacity = 15;
  CHECK(s.put("rdd_1_0", kMemoryAndDisk, 60, 'a'));
  CHECK_FALSE(s.put("rdd_2_0", kMemoryOnly, 60));
  CHECK(s.blocks->memory().acquire(TaskId{1}, 60, std::atomic<bool>{false}) == 40);
  CHECK(s.get("rdd_1_0") == "a60");
  CHECK(s.warnings.size() == 1);
  CHECK(s.news() == Lines{"rdd_1_0 memory"});
  s.files.capacity = 100;
  s.blocks->memory().release(TaskId{1}, 40);
  CHECK(s.put("rdd_2_0", kMemoryOnly, 60));
  CHECK(s.get("rdd_1_0") == "a60");
  CHECK(s.news() == Lines{"rdd_1_0 disk", "rdd_2_0 memory"});
}

TEST_CASE("a handed-out file is read by its name, other names are refused", "[storage]") {
  Store s;
  s.files.directories.insert("/src");
  {
    auto file = s.files.create("/src/words.txt");
    REQUIRE((*file)->append("hello"));
    REQUIRE((*file)->commit());
  }
  const auto hand_out = [&](const HandedOutFile& file) {
    const Result<bool> fresh = s.blocks->hand_out_file(file);
    return !fresh ? fresh.error().message : *fresh ? "fresh" : "before";
  };
  const HandedOutFile words{.name = "words.txt",
                            .url = "file:/src/words.txt",
                            .read_as = "words.txt",
                            .path = "/src/words.txt"};
  CHECK(hand_out(words) == "fresh");
  CHECK(hand_out(words) == "before");
  CHECK(hand_out({.name = "words.txt", .url = "http://u:secret@h/b/words.txt?key=secret"}) ==
        "Executors cannot get file http://h/b/words.txt as words.txt: file file:/src/words.txt has "
        "that name; rename one");
  CHECK(hand_out({.name = "w.txt", .url = "http://h/a/w.txt"}) == "fresh");
  CHECK(hand_out({.name = "w.txt", .url = "http://h/b/w.txt"}) ==
        "Executors cannot get file http://h/b/w.txt as w.txt: file http://h/a/w.txt has that "
        "name; rename one");
  CHECK(read(*s.blocks, "file/words.txt") == "hello");
  CHECK(read(*s.blocks, "file/w.txt") == "error: no file named w.txt is handed out here");
  CHECK(read(*s.blocks, "file/passwd") == "error: no file named passwd is handed out here");
  CHECK(read(*s.blocks, "file/../words.txt") == "error: 'file/../words.txt' is no name of a block");
}

TEST_CASE("the conf's and the environment's settings reach the block manager", "[storage]") {
  const conf::Conf conf = conf::Conf{}
                              .with("spark.local.dir", "/a,/b")
                              .with("tinderbox.shuffle.maxInMemoryOutput", "1k")
                              .with("spark.memory.fraction", "0.5")
                              .with("spark.memory.storageFraction", "0.25")
                              .with("spark.diskStore.subDirectories", "16")
                              .with("spark.shuffle.sync", "true")
                              .with("spark.shuffle.checksum.enabled", "false");
  const auto options = block_manager_options(conf, {}, 1324LL << 20, "u");
  CHECK(options.local_dirs == Lines{"/a", "/b"});
  CHECK(options.memory == 512LL << 20);
  CHECK(options.storage_fraction == 0.25);
  CHECK(block_manager_options(conf, {}, 450LL << 20, "u").memory == 75LL << 20);
  CHECK(block_manager_options(conf, {}, 192LL << 20, "u").memory == 32LL << 20);
  CHECK(options.map_outputs.max_in_memory_output == 1024);
  CHECK(options.sub_directories == 16);
  CHECK(options.map_outputs.sync);
  CHECK_FALSE(options.map_outputs.checksum);
  CHECK(block_manager_options(conf, {{"SPARK_LOCAL_DIRS", "/c"}}, 0, "u").local_dirs ==
        Lines{"/c"});
  CHECK(block_manager_options(conf, {{"SPARK_LOCAL_DIRS", "/c"}, {"SPARK_EXECUTOR_DIRS", "/e:/f"}},
                              0, "u")
            .local_dirs == Lines{"/e", "/f"});
}

TEST_CASE("a block that is removed while it is put is not there", "[storage]") {
  Store s;
  s.files.before_commit = [&](const std::string&) { s.blocks->remove_rdd(RddId{1}); };
  CHECK_FALSE(s.blocks->put("rdd_1_0", {.disk = true}, text("of nobody"), true));
  CHECK_FALSE(s.blocks->contains("rdd_1_0"));
  CHECK(s.files.files.empty());
  CHECK(s.blocks->state().empty());
  CHECK(s.blocks->put("rdd_2_0", {.disk = true}, text("of somebody"), true));
  s.files.before_commit = {};
  CHECK(s.blocks->put("rdd_1_0", {.disk = true}, text("again"), true));
  CHECK(s.blocks->state().size() == 2);
}
