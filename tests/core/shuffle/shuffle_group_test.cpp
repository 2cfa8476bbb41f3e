// Small blocks of one executor's memory come together: which do, and whose output is blamed for
// what is wrong with one of them.
#include "core/shuffle/blocks/map_status.hpp"
#include "core/shuffle/blocks/wants.hpp"
#include "core/shuffle/reader.hpp"
#include "tests/core/api/local_runtime.hpp"
#include "tests/core/executor/shuffle_process.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

MapOutputs outputs_at(const std::vector<std::string>& executors, const std::vector<int64_t>& sizes,
                      bool in_memory = true) {
  std::vector<MapStatus> statuses;
  for (const std::string& executor : executors)
    statuses.push_back({.location = {ExecutorId{executor}, "host", executor + ":1"},
                        .map_id = static_cast<int64_t>(10 + statuses.size()),
                        .sizes = encode_sizes(sizes),
                        .in_memory = in_memory});
  return outputs(std::move(statuses));
}

using Names = std::vector<std::string>;
Names names(const MapOutputs& all, int32_t reduce, int32_t count, const conf::Conf& conf = {}) {
  tests::LocalServices services(conf);
  Names names;
  int64_t size = 0, sizes = 0;
  size_t members = 0;
  for (const BlockWant& want : shuffle_wants(all, {all.shuffle, reduce, count}, services).blocks) {
    names.push_back(want.block.substr(std::string("shuffle_1_").size()));
    size += want.size;
    members += want.group.size();
    if (!want.group.empty()) CHECK(want.group.front().map_id == want.output.map_id);
  }
  for (const auto& status : all.statuses)
    for (int32_t r = reduce; r < reduce + count; ++r) sizes += size_for(status->sizes, r);
  CHECK(size == sizes);
  CHECK(members <= all.statuses.size());
  return names;
}

/// What reducer 0 reads of shuffle 1, a record a block; or whose output is to blame, and why.
std::string read(ShuffleProcess& p, const MapOutputs& all) {
  p.services->on_driver_message(ToExecutor{all});
  TaskContext task;
  task.services = p.services.get();
  try {
    ShuffleReader reader(task, {all.shuffle, 0});
    std::string records;
    while (const auto piece = reader.next()) records += *piece;
    CHECK(reader.part_read() == 1);
    return records;
  } catch (const FetchFailedException& failure) {
    return std::to_string(failure.reason.map_index) + " of executor " +
           failure.reason.address.executor.value + ": " + failure.reason.description;
  }
}

/// One block for reducer 0, none for the two others.
MapStatus write(ShuffleProcess& p, int64_t map_id, std::string_view bytes) {
  auto output = p.services->map_output(ShuffleId{1}, map_id, 0, 3);
  REQUIRE(output->append(0, bytes));
  auto status = output->commit();
  REQUIRE(status);
  return *status;
}
Bytes piece(std::string_view records) {
  Bytes sealed;
  seal_piece(records, {}, sealed);
  return sealed;
}

}  // namespace

TEST_CASE("small blocks of one executor's memory are one block, where the first of them is",
          "[shuffle][group]") {
  const std::vector<int64_t> small = {9, 0, 9};
  const auto conf = [](const char* key, const char* value) {
    return conf::Conf::of({{key, value}});
  };
  CHECK(names(outputs_at({"a", "a", "a"}, small), 0, 1) == Names{"10+1+1_0_1"});
  CHECK(names(outputs_at({"a", "b", "a", "c", "b"}, small), 2, 1) ==
        Names{"10+2_2_3", "11+3_2_3", "13_2"});
  CHECK(names(outputs_at({"a", "a"}, small), 0, 3) == Names{"10+1_0_3"});
  CHECK(names(outputs_at({"a", "b"}, small), 0, 3) == Names{"10_0_3", "11_0_3"});
  CHECK(names(outputs_at({"a", "a"}, small), 1, 1).empty());
  SECTION("not those in files, nor large ones") {
    CHECK(names(outputs_at({"a", "a"}, small, false), 0, 1) == Names{"10_0", "11_0"});
    CHECK(names(outputs_at({"a", "a"}, {kGroupedBlockBytes + 1}), 0, 1) == Names{"10_0", "11_0"});
  }
  SECTION("as many as a group has, in bytes and in blocks") {
    const std::vector<std::string> many(kGroupBlocks + 1, "a");
    const Names two = names(outputs_at(many, small), 0, 1);
    REQUIRE(two.size() == 2);
    CHECK(two[1] == std::to_string(10 + kGroupBlocks) + "_0");
    const auto blocks = static_cast<size_t>(kGroupBytes / (kGroupedBlockBytes / 2));
    CHECK(names(outputs_at(std::vector<std::string>(blocks, "a"), {kGroupedBlockBytes / 2}), 0, 1)
              .size() == 2);
  }
  SECTION("not where the blocks asked of one address are bounded") {
    CHECK(names(outputs_at({"a", "a"}, small), 0, 1,
                conf("spark.reducer.maxBlocksInFlightPerAddress", "5")) == Names{"10_0", "11_0"});
  }
  SECTION("within a fifth of what may be in flight, and no partition twice") {
    const char* key = "spark.reducer.maxSizeInFlight";
    CHECK(names(outputs_at({"a", "a", "a"}, small), 0, 1, conf(key, "100b")) ==
          Names{"10+1_0_1", "12_0"});
    CHECK(names(outputs_at({"a", "a"}, {19, 19}), 0, 2, conf(key, "100b")) ==
          Names{"10_0", "10_1", "11_0", "11_1"});
  }
}

TEST_CASE("a reader gets every block of its groups, and of its own", "[shuffle][group]") {
  tinderbox::test::FakeFiles files;
  ShuffleProcess a(files, "1", 0), b(files, "2", 0);
  const MapOutputs all = outputs({write(a, 1, piece("one ")), write(b, 2, piece("two ")),
                                  write(a, 3, piece("three ") + piece("and ")),
                                  write(a, 4, Bytes()), write(a, 5, piece("five "))});
  const std::string records = read(b, all);
  CHECK_THAT(records, Catch::Contains("one three and five "));
  CHECK_THAT(records, Catch::Contains("two "));
  CHECK(records.size() == std::string("one two three and five ").size());
}

TEST_CASE("an output of a group that is lost, damaged or empty is blamed, no other",
          "[shuffle][group]") {
  tinderbox::test::FakeFiles files;
  ShuffleProcess a(files, "1", 0), b(files, "2", 0);
  Bytes damaged = piece("two ");
  damaged.back() ^= 1;
  const MapStatus one = write(a, 1, piece("one ")), three = write(a, 3, piece("three "));
  MapStatus lost = one, empty = write(a, 4, Bytes());
  lost.map_id = 7;
  empty.sizes = one.sizes;
  CHECK(read(b, outputs({one, lost, three})) == "1 of executor 1: shuffle_1_7_0 is not here");
  CHECK(read(b, outputs({one, three, write(a, 2, damaged)})) ==
        "2 of executor 1: block shuffle_1_2_0 is damaged: the checksum is wrong");
  CHECK(read(b, outputs({empty, one, three})) ==
        "0 of executor 1: block shuffle_1_4_0 came without bytes");
  const MapOutputs all = outputs({one, three});
  a.transfer->stop();
  CHECK_THAT(read(b, all), Catch::StartsWith("0 of executor 1: cannot fetch shuffle_1_1+2_0_1"));
}
