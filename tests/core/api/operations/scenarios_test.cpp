// Scenarios of Spark's RDD suites that belong to no one operation (R of docs/scenarios.md).
#include <set>

#include "tests/core/api/values.hpp"

using namespace tinderbox;
using namespace tinderbox::tests;
using Catch::Matchers::Contains;

TEST_CASE("R2 distinct of an Rdd that is partitioned by range: the same records", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::vector<int> doubled = {1, 1, 2, 3, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 9, 10};
  auto by_range =
      context.parallelize(doubled, 4).key_by([](int x) { return x; }).sort_by_key(true, 3);
  auto same = by_range.distinct(3), other = by_range.distinct(5);
  CHECK(sorted(same.keys().collect()) == upto(10));
  REQUIRE(by_range.partitioner());
  CHECK(same.partitioner() == by_range.partitioner());
  CHECK(same.shuffles() == by_range.shuffles());
  CHECK(sorted(other.keys().collect()) == upto(10));
  CHECK(other.num_partitions() == 5);
  CHECK_FALSE(other.partitioner());
}

TEST_CASE("R4 unions: of many, of partitioned ones, without the empty ones", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  std::vector<Rdd<int>> many;
  std::vector<int> want;
  for (int i = 0; i < 15; ++i) {
    many.push_back(context.parallelize(std::vector{i, i}, i % 3 + 1));
    want.insert(want.end(), {i, i});
  }
  CHECK(context.union_all(many).collect() == want);
  CHECK(context.union_all(std::vector{many[0], context.empty_rdd<int>()}).num_partitions() ==
        many[0].num_partitions());
  CHECK(context.union_all(std::vector<Rdd<int>>{}).collect().empty());

  auto pairs = context.parallelize(IntPairs{{1, 1}, {2, 2}, {3, 3}, {4, 4}}, 2);
  auto a = pairs.partition_by(3), b = pairs.map_values([](int v) { return -v; }).partition_by(3);
  auto both = a.union_with(b);
  CHECK(both.num_partitions() == 3);
  CHECK(both.partitioner() == a.partitioner());
  const auto parts = both.glom().collect(), of_a = a.glom().collect(), of_b = b.glom().collect();
  for (size_t i = 0; i < 3; ++i) {
    auto joined = of_a[i];
    joined.insert(joined.end(), of_b[i].begin(), of_b[i].end());
    CHECK(parts[i] == joined);
  }
  auto plain = a.union_with(pairs);
  CHECK(plain.num_partitions() == 5);
  CHECK_FALSE(plain.partitioner());
}

TEST_CASE("R13 a range of keys reads only the partitions that may have them", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto ordered =
      context.parallelize(upto(100), 10).key_by([](int x) { return x; }).sort_by_key(true, 10);
  auto last = ordered.filter_by_range(95, 100);
  CHECK(last.keys().collect() == std::vector{95, 96, 97, 98, 99, 100});
  CHECK(last.num_partitions() == 1);
  CHECK(ordered.filter_by_range(85, 95).num_partitions() == 2);
}

TEST_CASE("R26 intersection has each common record once", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto all = context.parallelize(upto(10), 3);
  auto evens = context.parallelize(std::vector{2, 2, 4, 6, 6, 8, 10, 12, 12}, 2);
  CHECK(sorted(all.intersection(evens).collect()) == std::vector{2, 4, 6, 8, 10});
  CHECK(sorted(evens.intersection(all).collect()) == std::vector{2, 4, 6, 8, 10});
}

TEST_CASE("R27 records by number: in order, chained, unique", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const int partitions : {1, 3}) {
    std::vector<std::pair<int, int64_t>> want;
    for (const int x : upto(10)) want.emplace_back(x, x - 1);
    CHECK(context.parallelize(upto(10), partitions).zip_with_index().collect() == want);
  }
  CHECK(context.parallelize(upto(10), 3).zip_with_index().repartition(4).count() == 10);
  std::set<int64_t> ids;
  for (const auto& [x, id] : context.parallelize(upto(10), 3).zip_with_unique_id().collect())
    ids.insert(id);
  CHECK(ids.size() == 10);
}

TEST_CASE("R40 cogroup with an empty Rdd, and with one without partitions", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto full = context.parallelize(IntPairs{{1, 1}, {2, 2}}, 2);
  auto empty = context.parallelize(IntPairs{}, 2);
  auto none = context.empty_rdd<std::pair<int, int>>();
  for (const auto& other : {empty, none}) {
    const auto groups = full.cogroup(other).collect();
    CHECK(groups.size() == 2);
    for (const auto& [key, sides] : groups) {
      CHECK(sides.first == std::vector{key});
      CHECK(sides.second.empty());
    }
    CHECK(other.cogroup(full).count() == 2);
    CHECK(other.join(full).count() == 0);
  }
}

TEST_CASE("R44 subtract compares whole records, subtract_by_key keys", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK(context.parallelize(upto(3), 2)
            .subtract(context.parallelize(std::vector{2, 3}, 4))
            .collect() == std::vector{1});
  using Pairs = std::vector<std::pair<int, std::string>>;
  auto left = context.parallelize(Pairs{{1, "a"}, {1, "a"}, {2, "b"}, {3, "c"}}, 2).partition_by(4);
  auto right = context.parallelize(Pairs{{1, "b"}, {2, "b"}, {4, "d"}}, 3);
  auto rest = left.subtract(right);
  CHECK(sorted(rest.collect()) == Pairs{{1, "a"}, {1, "a"}, {3, "c"}});
  auto by_key = left.subtract_by_key(context.parallelize(Pairs{{2, "x"}, {3, "x"}}, 2));
  CHECK(by_key.collect() == Pairs{{1, "a"}, {1, "a"}});
  CHECK(by_key.partitioner() == left.partitioner());
}

TEST_CASE("R45 fold_by_key: the zero does not leak into what is cached", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  using Lists = std::vector<std::pair<int, std::vector<int>>>;
  auto lists = context.parallelize(Lists{{1, {1}}, {1, {1}}, {2, {1}}, {2, {2}}}, 2);
  lists.cache();
  const auto append = [](std::vector<int> a, const std::vector<int>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const auto before = lists.collect();
  auto joined = lists.fold_by_key(std::vector<int>{}, append).collect();
  for (auto& [key, values] : joined) values = sorted(values);
  CHECK(sorted(joined) == Lists{{1, {1, 1}}, {2, {1, 2}}});
  CHECK(lists.collect() == before);
}

TEST_CASE("R46 what fails while it is saved leaves nothing that looks whole", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string path = runtime.services.directory + "/out";
  auto failing = context.parallelize(upto(4), 2).map([](int x) -> int {
    if (x == 4) throw std::runtime_error("no more");
    return x;
  });
  CHECK_THROWS_WITH(failing.save_as_text_file(path), Contains("no more"));
  CHECK_FALSE(*runtime.files().stat(path + "/_SUCCESS"));
  CHECK_FALSE(*runtime.files().stat(path + "/part-00001"));
}

TEST_CASE("B36 every choice of compressing outputs and what is spilled gives the same", "[rdd]") {
  struct Case {
    std::string outputs, spills, codec;
  };
  for (const Case& c :
       {Case{"true", "true", "lz4"}, Case{"true", "true", "zstd"}, Case{"true", "false", "lz4"},
        Case{"false", "true", "zstd"}, Case{"false", "false", "zstd"}}) {
    CAPTURE(c.outputs, c.spills, c.codec);
    LocalRuntime runtime(2, conf::Conf::of({{"spark.shuffle.compress", c.outputs},
                                            {"spark.shuffle.spill.compress", c.spills},
                                            {"spark.io.compression.codec", c.codec},
                                            {"spark.executor.memory", "512k"}}));
    Context context(runtime);
    auto rows = context.range(0, 100000, 1, 3).map([](int64_t x) {
      return std::pair(std::to_string(x % 40000), std::string(200, 'x'));
    });
    const auto groups = rows.group_by_key(1);
    CHECK(groups.map([](const auto& g) { return static_cast<int64_t>(g.second.size()); }).sum() ==
          100000);
    CHECK((runtime.last_metrics.disk_spilled > 0) == (c.spills == "false"));
  }
}

TEST_CASE("B37 what was written of a shuffle is what is read of it", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto check = [&](const auto& shuffled, int64_t records, int64_t in_all) {
    CHECK(shuffled.count() == records);
    int64_t written = 0, bytes = 0;
    for (const auto& status : runtime.services.outputs.at(shuffled.shuffles().at(0)->id).statuses)
      written += status->records;
    for (const auto& [name, block] : runtime.services.blocks)
      if (name.starts_with("shuffle_" + std::to_string(shuffled.shuffles().at(0)->id.value) + "_"))
        bytes += static_cast<int64_t>(block.size());
    CHECK(written == in_all);
    CHECK(runtime.last_metrics.shuffle_read_records == written);
    CHECK(runtime.last_metrics.shuffle_read_local_bytes +
              runtime.last_metrics.shuffle_read_remote_bytes ==
          bytes);
    CHECK(bytes > 0);
  };
  // 4 maps with all of 100 keys each: combined before they are written.
  auto keyed = context.range(0, 10000, 1, 4).map([](int64_t x) { return std::pair(x % 100, x); });
  check(keyed.reduce_by_key(std::plus<int64_t>(), 3), 100, 400);
  check(keyed.partition_by(3), 10000, 10000);
}
