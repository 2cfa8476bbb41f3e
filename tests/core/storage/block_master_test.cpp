// Names of blocks, and the driver's table of them.
#include "core/storage/block_master.hpp"

#include "core/storage/block_id.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using Kind = BlockId::Kind;

namespace {

BlockManagerId at(const char* id, const char* host) {
  return {ExecutorId{id}, host, std::string(host) + ":7079"};
}
BlockUpdate in_memory(std::string block, int64_t bytes) {
  return {.block = std::move(block), .in_memory = true, .memory_bytes = bytes};
}
BlockUpdate gone(std::string block) { return {.block = std::move(block)}; }

BlockMaster two_executors() {
  BlockMaster master;
  master.add_executor(at("1", "a"), {"/tmp/x"});
  master.add_executor(at("2", "b"), {});
  return master;
}

}  // namespace

TEST_CASE("block names are parsed and printed", "[block_id]") {
  struct Case {
    std::string name;
    BlockId want;
  };
  const Case cases[] = {
      {"rdd_3_14", {.kind = Kind::Rdd, .owner = 3, .part = 14}},
      {"shuffle_1_20_3", {.kind = Kind::Shuffle, .owner = 1, .number = 20, .part = 3}},
      {"shuffle_1_20_3_7",
       {.kind = Kind::ShuffleRange, .owner = 1, .number = 20, .part = 3, .part_end = 7}},
      {"shuffle_1_20-16+8999999996_3_4",
       {.kind = Kind::ShuffleGroup,
        .owner = 1,
        .part = 3,
        .part_end = 4,
        .maps = {20, 4, 9000000000}}},
      {"shuffle_1_20_0.data", {.kind = Kind::ShuffleData, .owner = 1, .number = 20, .part = 0}},
      {"shuffle_1_20_0.index", {.kind = Kind::ShuffleIndex, .owner = 1, .number = 20, .part = 0}},
      {"broadcast_9000000000", {.kind = Kind::Broadcast, .number = 9000000000}},
      {"broadcast_5_piece2", {.kind = Kind::BroadcastPiece, .number = 5, .part = 2}},
      {"taskresult_77", {.kind = Kind::TaskResult, .number = 77}},
      {"file/words.txt", {.kind = Kind::File, .file = "words.txt"}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const std::optional<BlockId> id = parse_block_id(c.name);
    REQUIRE(id);
    CHECK(*id == c.want);
    CHECK(block_name(*id) == c.name);
  }
}

TEST_CASE("what is no block name is refused", "[block_id]") {
  for (const char* name : {"",
                           "rdd_",
                           "rdd_1",
                           "rdd_1_2_3",
                           "rdd_-1_2",
                           "rdd_01_2",
                           "rdd_1_99999999999",
                           "shuffle_1_2",
                           "shuffle_1_2_3.data",
                           "shuffle_1_2_3_3",
                           "shuffle_1_2_4_3",
                           "shuffle_1_2_3_4_5",
                           "shuffle_1_2+_3_4",
                           "shuffle_1_+2_3_4",
                           "shuffle_1_2+3_4",
                           "shuffle_1_2+3_0.data",
                           "shuffle_1_2-0_3_4",
                           "shuffle_1_2-3_3_4",
                           "shuffle_1_2+-3_3_4",
                           "shuffle_1_2+9223372036854775807_3_4",
                           "shuffle_1_2+3_4_4",
                           "broadcast_",
                           "broadcast_1_piece",
                           "broadcast_1_piece2x",
                           "taskresult_",
                           "file/",
                           "file/..",
                           "file/a/b",
                           "file//etc/passwd",
                           "unknown_1"}) {
    CAPTURE(name);
    CHECK(!parse_block_id(name));
  }
}

TEST_CASE("a group names no more outputs than it may have", "[block_id]") {
  const std::vector<int64_t> most(kGroupBlocks, 7), more(kGroupBlocks + 1, 7);
  const auto parsed = parse_block_id(shuffle_group_block(ShuffleId{1}, most, 0, 1));
  REQUIRE(parsed);
  CHECK(parsed->maps == most);
  CHECK(!parse_block_id(shuffle_group_block(ShuffleId{1}, more, 0, 1)));
}

TEST_CASE("a file's place follows Java's hash of its name", "[block_id]") {
  // "ab".hashCode() is 97·31 + 98 = 3105 in Java.
  CHECK(disk_place("ab", 2, 64) == DiskPlace{1, "10"});  // 3105 / 2 % 64 = 16
  CHECK(disk_place("", 1, 64) == DiskPlace{0, "00"});
  // "polygenelubricants".hashCode() is Integer.MIN_VALUE, whose absolute value is no int.
  CHECK(disk_place("polygenelubricants", 3, 64) == DiskPlace{0, "00"});
  // "taskresult_5".hashCode() is −2001002216: its absolute value counts.
  CHECK(disk_place("taskresult_5", 3, 64) == DiskPlace{2, "22"});
}

TEST_CASE("locations follow updates, removals and losses", "[block_master]") {
  BlockMaster master = two_executors();
  CHECK(master.locations("rdd_1_0").empty());
  CHECK(master.update(ExecutorId{"2"}, in_memory("rdd_1_0", 10)));
  CHECK(master.update(ExecutorId{"1"}, in_memory("rdd_1_0", 10)));
  CHECK(master.update(ExecutorId{"1"}, in_memory("rdd_1_2", 10)));
  CHECK(master.locations("rdd_1_0") == std::vector{at("1", "a"), at("2", "b")});

  CHECK(master.update(ExecutorId{"1"}, gone("rdd_1_0")));
  CHECK(master.update(ExecutorId{"1"}, gone("rdd_1_77")));  // was never there
  CHECK(master.locations("rdd_1_0") == std::vector{at("2", "b")});

  CHECK(master.remove_executor(ExecutorId{"2"}));
  CHECK(!master.remove_executor(ExecutorId{"2"}));
  CHECK(master.locations("rdd_1_0").empty());
  CHECK(master.locations("rdd_1_2") == std::vector{at("1", "a")});
}

TEST_CASE("an unknown executor's update asks it to register again", "[block_master]") {
  BlockMaster master = two_executors();
  CHECK(!master.update(ExecutorId{"3"}, in_memory("rdd_1_0", 10)));
  CHECK(master.locations("rdd_1_0").empty());
}

TEST_CASE("cached locations are Spark's strings, and nothing when nothing is cached",
          "[block_master]") {
  BlockMaster master = two_executors();
  CHECK(master.cached_locations(RddId{1}, 3).empty());
  master.update(ExecutorId{"1"}, in_memory("rdd_1_2", 10));
  master.update(ExecutorId{"2"}, in_memory("rdd_1_2", 10));
  master.update(ExecutorId{"2"}, in_memory("rdd_1_5", 10));  // beyond what is asked for
  const std::vector<std::vector<std::string>> want = {{}, {}, {"executor_a_1", "executor_b_2"}};
  CHECK(master.cached_locations(RddId{1}, 3) == want);
}

TEST_CASE("cached partitions of an executor, with where they lie and their level",
          "[block_master]") {
  BlockMaster m;
  m.add_executor({{"1"}, "h", "h:1"}, {});
  m.add_executor({{"2"}, "h", "h:2"}, {});
  m.update({"1"}, {"rdd_2_0", true, false, 5, 0});
  m.update({"1"}, {"rdd_1_10", false, true, 0, 6});
  m.update({"1"}, {"broadcast_1", true, false, 5, 0});
  m.update({"1"}, {"rdd_3_0", true, false, 0, 0});
  m.update({"1"}, {"rdd_4_0", false, true, 0, 0, false, true});  // empty, of DISK_ONLY
  m.update({"1"}, {"rdd_5_0", true, false, 5, 0, true, true});
  m.update({"2"}, {"rdd_1_9", true, false, 5, 0});
  const std::vector<BlockUpdate> want = {
      {"rdd_1_10", false, true, 0, 6, false, true}, {"rdd_2_0", true, false, 5, 0, true, false},
      {"rdd_3_0", true, false, 0, 0, true, false},  {"rdd_4_0", false, true, 0, 0, false, true},
      {"rdd_5_0", true, false, 5, 0, true, true},
  };
  CHECK(m.rdd_blocks_on({"1"}) == want);
  CHECK(m.rdd_blocks_on({"3"}).empty());
}

TEST_CASE("cached partitions of an executor follow all that becomes of them", "[block_master]") {
  const ExecutorId one{"1"}, two{"2"};
  const auto names = [](const BlockMaster& m, const ExecutorId& e) {
    std::vector<std::string> v;
    for (const BlockUpdate& b : m.rdd_blocks_on(e)) v.push_back(b.block);
    return v;
  };
  using Names = std::vector<std::string>;
  struct Case {
    const char* name;
    std::function<void(BlockMaster&)> change;
    Names on_one, on_two;
    size_t holders_of(const std::string& block) const {
      return static_cast<size_t>(std::count(on_one.begin(), on_one.end(), block) +
                                 std::count(on_two.begin(), on_two.end(), block));
    }
  };
  const Case cases[] = {
      {"as they came", [](BlockMaster&) {}, {"rdd_1_0", "rdd_1_1", "rdd_2_0"}, {"rdd_1_0"}},
      {"told again",
       [&](BlockMaster& m) { m.update(one, in_memory("rdd_1_0", 9)); },
       {"rdd_1_0", "rdd_1_1", "rdd_2_0"},
       {"rdd_1_0"}},
      {"one is thrown out",
       [&](BlockMaster& m) { m.update(one, gone("rdd_1_0")); },
       {"rdd_1_1", "rdd_2_0"},
       {"rdd_1_0"}},
      {"one that was not there is thrown out",
       [&](BlockMaster& m) { m.update(two, gone("rdd_2_0")); },
       {"rdd_1_0", "rdd_1_1", "rdd_2_0"},
       {"rdd_1_0"}},
      {"an Rdd is removed", [](BlockMaster& m) { m.remove_rdd(RddId{1}); }, {"rdd_2_0"}, {}},
      {"an Rdd without blocks is removed",
       [](BlockMaster& m) { m.remove_rdd(RddId{7}); },
       {"rdd_1_0", "rdd_1_1", "rdd_2_0"},
       {"rdd_1_0"}},
      {"the executor is lost", [&](BlockMaster& m) { m.remove_executor(one); }, {}, {"rdd_1_0"}},
      {"it registers again",
       [](BlockMaster& m) { m.add_executor(at("1", "a"), {}); },
       {},
       {"rdd_1_0"}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    BlockMaster m = two_executors();
    for (const char* block : {"rdd_2_0", "rdd_1_1", "rdd_1_0"}) m.update(one, in_memory(block, 1));
    m.update(two, in_memory("rdd_1_0", 1));
    c.change(m);
    CHECK(names(m, one) == c.on_one);
    CHECK(names(m, two) == c.on_two);
    for (const char* block : {"rdd_1_0", "rdd_1_1", "rdd_2_0"})
      CHECK(m.locations(block).size() == c.holders_of(block));
  }
}

TEST_CASE("B33 after unpersist the table is empty", "[block_master]") {
  BlockMaster master = two_executors();
  master.update(ExecutorId{"1"}, in_memory("rdd_1_0", 10));
  master.update(ExecutorId{"2"}, {.block = "rdd_1_1", .on_disk = true, .disk_bytes = 7});
  master.update(ExecutorId{"2"}, in_memory("rdd_2_0", 5));
  master.remove_rdd(RddId{1});
  CHECK(master.cached_locations(RddId{1}, 2).empty());
  CHECK(master.locations("rdd_1_0").empty());
  CHECK(master.locations("rdd_2_0") == std::vector{at("2", "b")});
}

TEST_CASE("a removed broadcast is forgotten, other blocks are not", "[block_master]") {
  BlockMaster master = two_executors();
  for (const char* block :
       {"broadcast_4_piece0", "broadcast_4_piece1", "broadcast_5_piece0", "taskresult_9"})
    master.update(ExecutorId{"1"}, in_memory(block, 1));
  master.remove_broadcast(BroadcastId{4});
  CHECK(master.locations("broadcast_4_piece0").empty());
  CHECK(master.locations("broadcast_4_piece1").empty());
  CHECK(master.locations("broadcast_5_piece0").size() == 1);
  CHECK(master.locations("taskresult_9").size() == 1);
}

TEST_CASE("an executor that registers again has lost its blocks", "[block_master]") {
  BlockMaster master = two_executors();
  master.update(ExecutorId{"1"}, in_memory("rdd_1_0", 10));
  master.add_executor(at("1", "c"), {"/tmp/y"});
  CHECK(master.locations("rdd_1_0").empty());
  CHECK(master.local_dirs(ExecutorId{"1"}) == std::vector<std::string>{"/tmp/y"});
  CHECK(master.local_dirs(ExecutorId{"9"}).empty());
  CHECK(master.executor(ExecutorId{"1"})->host == "c");
  CHECK(master.executor(ExecutorId{"9"}) == nullptr);
}
