// Operators by key against plain loops, every task through the wire form of its program.
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using tests::IntPairs;
using tests::LocalRuntime;
using tests::sorted;
using tests::Sum;

TEST_CASE("R35 reduce_by_key", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto pairs = context.parallelize(IntPairs{{1, 1}, {1, 2}, {1, 3}, {1, 1}, {2, 1}}, 3);
  CHECK(pairs.reduce_by_key(Sum{}).collect_as_map() == std::map<int, int>{{1, 7}, {2, 1}});
  auto placed = pairs.partition_by(4);
  auto sums = placed.reduce_by_key(Sum{});
  CHECK(sums.partitioner() == placed.partitioner());
  CHECK(std::holds_alternative<core::NarrowDependency>(sums.node()->dependencies.at(0)));
  CHECK(sums.collect_as_map() == std::map<int, int>{{1, 7}, {2, 1}});
}

TEST_CASE("R33 aggregate_by_key copies its zero for each key", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto pairs = context.parallelize(IntPairs{{1, 1}, {1, 1}, {3, 2}, {5, 1}, {5, 3}}, 2);
  auto sets = pairs.aggregate_by_key(
      std::set<int>(),
      [](std::set<int> s, int v) {
        s.insert(v);
        return s;
      },
      [](std::set<int> a, std::set<int> b) {
        a.merge(b);
        return a;
      });
  CHECK(sets.collect_as_map() == std::map<int, std::set<int>>{{1, {1}}, {3, {2}}, {5, {1, 3}}});
  CHECK(pairs.fold_by_key(0, Sum{}).collect_as_map() == std::map<int, int>{{1, 2}, {3, 2}, {5, 4}});
  auto joined = pairs.combine_by_key([](int v) { return std::to_string(v); },
                                     [](std::string s, int v) { return s + std::to_string(v); },
                                     [](std::string a, std::string b) { return a + b; });
  CHECK(joined.lookup(5).at(0).size() == 2);
}

TEST_CASE("R34 group_by_key keeps duplicates and negative keys", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto groups =
      context.parallelize(IntPairs{{1, 1}, {1, 1}, {1, 2}, {1, 3}, {-7, 1}}, 2).group_by_key(10);
  CHECK(groups.num_partitions() == 10);
  auto all = groups.collect_as_map();
  CHECK(sorted(all.at(1)) == std::vector<int>{1, 1, 2, 3});
  CHECK(all.at(-7) == std::vector<int>{1});
}

TEST_CASE("keys of many types are counted right over 1, 2 and 7 partitions", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const int n : {1, 2, 7}) {
    auto nums = context.range(0, 2000, 1, n);
    auto check = [&](auto key_of) {
      const auto counts = nums.map(key_of).count_by_value();
      CHECK(counts.size() == 50);
      for (const auto& [key, count] : counts) CHECK(count == 40);
    };
    check([](int64_t x) { return x % 50; });
    check([](int64_t x) { return static_cast<double>(x % 50) / 4; });
    check([](int64_t x) { return std::to_string(x % 50); });
    check([](int64_t x) { return std::string(static_cast<size_t>(x % 50), 'k'); });
    check([](int64_t x) { return std::string(100, 'k') + std::to_string(x % 50); });
    check([](int64_t x) { return std::pair(x % 5, std::to_string(x / 5 % 10)); });
    check([](int64_t x) { return std::vector<int64_t>{x % 2, x / 2 % 25}; });
    check([](int64_t x) {
      return std::optional<int64_t>(x % 50 ? std::optional(x % 50) : std::nullopt);
    });
  }
}

TEST_CASE("sort_by_key orders all partitions, equal keys included", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const int n : {1, 2, 7}) {
    auto pairs =
        context.range(0, 3000, 1, n).map([](int64_t x) { return std::pair(x * 7919 % 1009, x); });
    auto keys = pairs.sort_by_key().keys().collect();
    CHECK(std::is_sorted(keys.begin(), keys.end()));
    CHECK(keys.size() == 3000);
    auto down = pairs.sort_by_key(false, 4).keys().collect();
    CHECK(std::is_sorted(down.rbegin(), down.rend()));
    CHECK(down.size() == 3000);
    auto sizes = pairs.sort_by_key(true, 5).glom().collect();
    CHECK(sizes.size() == 5);
    for (const auto& part : sizes) CHECK(part.size() < 1200);
  }
  auto same = context.range(0, 100, 1, 4)
                  .map([](int64_t x) { return std::pair(7, x); })
                  .sort_by_key(true, 4);
  CHECK(same.num_partitions() <= 2);
  CHECK(same.count() == 100);
  auto text = context.parallelize(
      std::vector<std::pair<std::string, int>>{{"pear", 1}, {"apple", 2}, {"fig", 3}}, 2);
  CHECK(text.sort_by_key().values().collect() == std::vector<int>{2, 3, 1});
}

TEST_CASE("R24 repartition_and_sort_within_partitions", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto pairs = context.parallelize(IntPairs{{0, 5}, {3, 8}, {2, 6}, {0, 8}, {3, 8}, {1, 3}}, 2);
  auto by_parity = pairs.partition_by(2, [](int key) { return key % 2; });
  auto parts =
      pairs.repartition_and_sort_within_partitions(*by_parity.partitioner()).glom().collect();
  REQUIRE(parts.size() == 2);
  CHECK(sorted(parts[0]) == IntPairs{{0, 5}, {0, 8}, {2, 6}});
  CHECK(sorted(parts[1]) == IntPairs{{1, 3}, {3, 8}, {3, 8}});
  CHECK(parts[1][0].first == 1);
}
