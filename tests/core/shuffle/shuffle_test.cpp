// The untyped shuffle: hash, table, blocks, map output with spills, and what a reader does with
// damage.
#include "core/api/tinderbox.hpp"
#include "core/shuffle/blocks/block.hpp"
#include "core/shuffle/blocks/map_status.hpp"
#include "core/shuffle/blocks/wants.hpp"
#include "core/shuffle/tables/combine_table.hpp"
#include "core/shuffle/tables/number_table.hpp"
#include "net/wire/task_messages.hpp"
#include "tests/core/api/local_runtime.hpp"

#include <random>

using namespace tinderbox;
using namespace tinderbox::core;
using tests::LocalRuntime;

TEST_CASE("B8 sizes travel as one byte on a log scale", "[shuffle]") {
  CHECK(encode_size(0) == 0);
  CHECK(encode_size(1) == 1);
  CHECK(encode_size(1000) == 73);
  CHECK(decode_size(encode_size(1000)) == 1051);
  CHECK(decode_size(encode_size(10000)) == 10353);
  CHECK(encode_size(INT64_MAX) == 255);
  CHECK(decode_size(0) == 0);
  int64_t before = 0;
  for (int64_t size = 1; size < (int64_t{1} << 34); size = size * 3 / 2 + 1) {
    const int64_t decoded = decode_size(encode_size(size));
    CHECK(decoded > 0);
    CHECK(decoded >= before);
    CHECK(std::abs(decoded - size) <= size / 8 + 1);
    before = decoded;
  }
  const Bytes sizes = encode_sizes(std::vector<int64_t>{0, 1, 1000});
  CHECK(size_for(sizes, 0) == 0);
  CHECK(size_for(sizes, 2) == 1051);
  CHECK(size_for(sizes, 3) == 0);
}

TEST_CASE("a key's hash depends on its bytes alone, wherever they lie", "[shuffle]") {
  std::mt19937 random(1);
  std::vector<char> page(3 * 4096);
  for (size_t length = 0; length <= 40; ++length) {
    std::string key(length, '\0');
    for (char& c : key) c = static_cast<char>(random());
    const uint32_t want = hash_key(key);
    for (const size_t at :
         {size_t{0}, size_t{1}, 4096 - length, 4096 - length / 2, size_t{4090}, size_t{4095}}) {
      std::fill(page.begin(), page.end(), static_cast<char>(random()));
      std::copy(key.begin(), key.end(), page.begin() + static_cast<ptrdiff_t>(at));
      CHECK(hash_key({page.data() + at, length}) == want);
    }
    if (length <= ShortKey::kMax) CHECK(short_key(key) == short_key_exact(key));
  }
}

TEST_CASE("hashes spread over partitions", "[shuffle]") {
  for (const int32_t n : {2, 7, 200}) {
    std::vector<int> sizes(static_cast<size_t>(n));
    for (int64_t i = 0; i < n * 1000; ++i) {
      const std::string_view key(reinterpret_cast<const char*>(&i), sizeof i);
      ++sizes[static_cast<size_t>(hash_partition(hash_key(key), n))];
    }
    for (const int size : sizes) CHECK(std::abs(size - 1000) < 200);
  }
}

TEST_CASE("the table keeps keys of any length apart while it grows", "[shuffle]") {
  CombineTable table;
  std::map<std::string, uint64_t> want;
  std::mt19937 random(3);
  for (int i = 0; i < 60000; ++i) {
    std::string key(random() % 40, '\0');
    for (char& c : key) c = static_cast<char>(random() % 3);
    if (i % 5000 == 0) key.assign(20000 + random() % 3 * 30000, static_cast<char>(i / 5000));
    auto [slot, fresh] = table.upsert(key, hash_key(key));
    CHECK(fresh == want.emplace(key, 0).second);
    CHECK(slot->key() == key);
    slot->value = ++want[key];
  }
  CHECK(table.size() == want.size());
  size_t seen = 0;
  table.each([&](const CombineTable::Slot& slot) {
    ++seen;
    CHECK(want.at(std::string(slot.key())) == slot.value);
    CHECK(slot.hash() == hash_key(slot.key()));
  });
  CHECK(seen == want.size());
  table.clear();
  CHECK(table.size() == 0);
  CHECK(table.upsert("x", hash_key("x")).fresh);
}

namespace {

template <class Key>
void check_numbers() {
  NumberTable<sizeof(Key)> table(3);
  std::map<Key, uint64_t> want;
  std::mt19937_64 random(5);
  const auto view = [](const Key& key) {
    return std::string_view(reinterpret_cast<const char*>(&key), sizeof key);
  };
  for (int i = 0; i < 60000; ++i) {
    const auto key = static_cast<Key>(i % 3 == 0 ? random() : random() % 2000 - 1000);
    CHECK((table.find(view(key), hash_key(view(key))) != nullptr) == want.contains(key));
    const auto found = i % 2 == 0
                           ? table.upsert(view(key), hash_key(view(key)))
                           : table.upsert_short(short_key(view(key)), sizeof key,
                                                hash_short(short_key(view(key)), sizeof key));
    CHECK(found.fresh == want.emplace(key, 0).second);
    CHECK(found.slot->key() == view(key));
    found.slot->value = ++want[key];
  }
  CHECK(want.contains(0));
  CHECK(table.size() == want.size());
  size_t seen = 0;
  table.each([&](const auto& slot) {
    ++seen;
    Key key;
    std::memcpy(&key, slot.key().data(), sizeof key);
    CHECK(want.at(key) == slot.value);
    CHECK(slot.hash() == hash_key(slot.key()));
  });
  CHECK(seen == want.size());
  table.clear();
  CHECK(table.size() == 0);
  const Key zero{};
  const auto again = table.upsert(view(zero), hash_key(view(zero)));
  CHECK((again.fresh && again.slot->value == 0));
}

}  // namespace

TEST_CASE("the table of numbers keeps them apart while it grows, zero too", "[shuffle]") {
  check_numbers<int8_t>();
  check_numbers<uint16_t>();
  check_numbers<int32_t>();
  check_numbers<int64_t>();
}

namespace {

auto counted(Context& context, int32_t maps, int32_t reduces) {
  return context.range(0, 20000, 1, maps)
      .map([](int64_t x) { return std::pair("key-" + std::to_string(x % 5000), int64_t{1}); })
      .reduce_by_key([](int64_t a, int64_t b) { return a + b; }, reduces);
}

}  // namespace

TEST_CASE("map output larger than its memory is spilled and joined", "[shuffle]") {
  // The least budget is 4 MiB; the values make the table and the pieces pass it many times.
  LocalRuntime runtime(
      2, conf::Conf::of({{"spark.executor.memory", "8m"}, {"spark.shuffle.compress", "false"}}));
  Context context(runtime);
  auto rows = context.range(0, 60000, 1, 2).map([](int64_t x) {
    return std::pair(x % 30000, std::string(200, static_cast<char>('a' + x % 26)));
  });
  auto moved = rows.partition_by(5);
  int64_t bytes = 0;
  moved.foreach ([](const auto&) {});
  bytes = moved.map([](const auto& r) { return static_cast<int64_t>(r.second.size()); }).sum();
  CHECK(bytes == 60000 * 200);
  auto left = runtime.files().list(runtime.services.directory);
  CHECK(left->empty());
  auto combined = rows.map_values([](const std::string&) { return int64_t{1}; })
                      .reduce_by_key([](int64_t a, int64_t b) { return a + b; });
  CHECK(combined.filter([](const auto& r) { return r.second == 2; }).count() == 30000);
}

TEST_CASE("spilled bytes are counted and their files removed", "[shuffle]") {
  LocalRuntime runtime(
      1, conf::Conf::of({{"spark.executor.memory", "8m"}, {"spark.shuffle.compress", "false"}}));
  Context context(runtime);
  auto rows = context.range(0, 50000, 1, 1).map([](int64_t x) {
    return std::pair(x, std::string(300, 'x'));
  });
  auto moved = rows.partition_by(3);
  const auto& shuffle = *std::get<ShufflePtr>(moved.node()->dependencies.at(0));
  auto program =
      Program::decode(encode_program(*shuffle.parent, shuffle.writer, shuffle.writer_captured));
  TaskContext task;
  task.id = {0};
  task.services = &runtime.services;
  const TaskOutput output = (*program)->run(0, {}, task);
  CHECK(task.metrics.disk_spilled > 8 << 20);
  CHECK(output.map_status->records == 50000);
  CHECK(output.map_status->sizes.size() == 3);
  CHECK(runtime.files().list(runtime.services.directory)->empty());
}

TEST_CASE("a missing, torn or lost block is a fetch failure with every field", "[shuffle]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto counts = counted(context, 3, 2);
  CHECK(counts.count() == 5000);
  const auto& shuffle = *std::get<ShufflePtr>(counts.node()->dependencies.at(0));
  auto& statuses = runtime.services.outputs.at(shuffle.id).statuses;
  const int64_t map_id = statuses[1]->map_id;
  const std::string block =
      "shuffle_" + std::to_string(shuffle.id.value) + "_" + std::to_string(map_id) + "_1";
  auto program = Program::decode(encode_program(
      *counts.node(), PartitionAction<std::pair<std::string, int64_t>, CountRecords>::code(), {}));
  auto run = [&](const char* why) {
    TaskContext task;
    task.services = &runtime.services;
    try {
      (*program)->run(1, {}, task);
      FAIL("it should have thrown");
    } catch (const FetchFailedException& failure) {
      CHECK(failure.reason.kind == TaskEndKind::FetchFailed);
      CHECK(failure.reason.shuffle == shuffle.id);
      CHECK(failure.reason.reduce == 1);
      CHECK_THAT(failure.reason.description, Catch::Contains(why));
      REQUIRE(task.fetch_failure);
      CHECK(*task.fetch_failure == failure.reason);
    }
    return *task.fetch_failure;
  };
  runtime.services.faults.missing_blocks = {block};
  auto missing = run("no block");
  CHECK(missing.address.executor == ExecutorId{"0"});
  CHECK(missing.map_id == map_id);
  CHECK(missing.map_index == 1);
  runtime.services.faults = {};
  runtime.services.faults.torn_blocks = {block};
  statuses[1]->in_memory = false;
  CHECK(run(" is corrupted due to DISK_ISSUE: the checksum is wrong").map_index == 1);
  statuses[1]->in_memory = true;
  CHECK(run(" is damaged: the checksum is wrong").map_index == 1);
  runtime.services.faults = {};
  statuses[1].reset();
  auto lost = run("Missing an output location for shuffle 0 partition 1");
  CHECK(lost.address.executor.value.empty());
  CHECK(lost.map_id == -1);
  CHECK(lost.map_index == -1);
}

TEST_CASE("an attempt that may not commit throws and leaves nothing", "[shuffle]") {
  LocalRuntime runtime;
  Context context(runtime);
  runtime.services.faults.deny_commits = true;
  const std::string out = runtime.services.directory + "/out";
  CHECK_THROWS_AS(context.range(0, 4, 1, 1).save_as_text_file(out), CommitDeniedException);
  CHECK(runtime.files().list(out)->empty());
}

TEST_CASE("adjacent partitions of one output are one block, up to a fifth of what may be in flight",
          "[shuffle]") {
  // Sizes as they come back from a status: 0, and powers of 1.1 that are near.
  struct Case {
    std::vector<int64_t> sizes;
    int32_t reduce, count;
    const char* limit;
    std::vector<std::string> want;
  };
  for (const Case& c : {
           Case{{9, 9, 9, 9}, 0, 4, "48m", {"0_4"}},
           Case{{9, 9, 9, 9}, 2, 1, "48m", {"2"}},
           Case{{9, 9, 9, 9}, 1, 2, "48m", {"1_3"}},
           Case{{0, 9, 0, 9, 0}, 0, 5, "48m", {"1_4"}},
           Case{{0, 0, 9, 0}, 0, 4, "48m", {"2"}},
           Case{{0, 0}, 0, 2, "48m", {}},
           Case{{9, 9, 9, 9, 9}, 0, 5, "100b", {"0_2", "2_4", "4"}},
           Case{{9, 500, 9, 9}, 0, 4, "100b", {"0", "1", "2_4"}},
           Case{{9, 9}, 0, 2, "1b", {"0", "1"}},
       }) {
    LocalRuntime runtime(1, conf::Conf::of({{"spark.reducer.maxSizeInFlight", c.limit}}));
    MapOutputs outputs;
    outputs.shuffle = ShuffleId{3};
    outputs.statuses.push_back(MapStatus{.map_id = 7, .sizes = encode_sizes(c.sizes)});
    std::vector<std::string> want, got;
    for (const std::string& name : c.want) want.push_back("shuffle_3_7_" + name);
    int64_t size = 0, sizes = 0;
    for (const BlockWant& block :
         shuffle_wants(outputs, {outputs.shuffle, c.reduce, c.count}, runtime.services).blocks) {
      got.push_back(block.block);
      size += block.size;
    }
    for (int32_t r = c.reduce; r < c.reduce + c.count; ++r)
      sizes += size_for(outputs.statuses[0]->sizes, r);
    CHECK(got == want);
    CHECK(size == sizes);
  }
}

TEST_CASE("a task that reads adjacent partitions of a shuffle asks each output once", "[shuffle]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rows =
      context.range(0, 3000, 1, 3).map([](int64_t x) { return std::pair(x * 7919 % 3000, x); });
  const auto asked = [&](const auto& rdd) {
    runtime.services.fetched.clear();
    int64_t sum = 0, records = 0;
    for (const auto& [key, value] : rdd.collect()) sum += value, ++records;
    CHECK(records == 3000);
    CHECK(sum == 2999 * 1500);
    return runtime.services.fetched.size();
  };
  auto moved = rows.partition_by(8);
  CHECK(asked(moved) == 24);
  CHECK(asked(moved.coalesce(2)) == 6);
  const std::string block = *runtime.services.fetched.begin();
  CHECK_THAT(block, Catch::EndsWith("_0_4"));
  auto mapped =
      moved.map_values([](int64_t x) { return x; }).filter([](const auto&) { return true; });
  CHECK(asked(mapped.coalesce(3)) == 9);
  CHECK(asked(mapped.coalesce(3).map([](const auto& r) { return r; })) == 9);
  SECTION("not where a partition is a whole of its own") {
    CHECK(asked(rows.reduce_by_key([](int64_t a, int64_t b) { return a + b; }, 8).coalesce(2)) ==
          24);
    CHECK(asked(rows.sort_by_key(true, 8).coalesce(2)) == 24);
    using Rows = Partition<std::pair<int64_t, int64_t>>;
    auto whole = moved.map_partitions([](Rows& in) {
      std::vector<std::pair<int64_t, int64_t>> all;
      for (const auto& row : in) all.push_back(row);
      return all;
    });
    CHECK(asked(whole.coalesce(2)) == 24);
  }
  SECTION("not where partitions are kept") {
    moved.persist();
    CHECK(asked(mapped.coalesce(2)) == 24);
    CHECK(asked(mapped.coalesce(2)) == 0);
  }
  SECTION("a block of several that is lost is a fetch failure") {
    runtime.services.faults.missing_blocks = {block};
    std::string why;
    try {
      moved.coalesce(2).count();
    } catch (const FetchFailedException& failure) {
      why = failure.reason.description;
    }
    CHECK(why == "no block " + block);
  }
}
