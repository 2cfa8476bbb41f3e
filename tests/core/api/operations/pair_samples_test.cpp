// Ranges of keys, samples and sketches by key, maps at the driver.
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using tests::IntPairs;
using tests::LocalRuntime;
using tests::sorted;
using tests::Sum;

namespace {

IntPairs pairs(int n, int keys) {
  IntPairs all;
  for (int i = 0; i < n; ++i) all.emplace_back(i % keys, i);
  return all;
}

}  // namespace

TEST_CASE("filter_by_range keeps keys between two, both with them", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const int n : {1, 2, 7}) {
    auto rdd = context.parallelize(pairs(100, 20), n);
    IntPairs want;
    for (const auto& [k, v] : pairs(100, 20))
      if (k >= 3 && k <= 5) want.emplace_back(k, v);
    CHECK(sorted(rdd.filter_by_range(3, 5).collect()) == sorted(want));
    for (const bool ascending : {true, false}) {
      auto by_range = rdd.sort_by_key(ascending, 10);
      auto some = by_range.filter_by_range(3, 5);
      CHECK(sorted(some.collect()) == sorted(want));
      CHECK(some.num_partitions() <= by_range.num_partitions());
      if (n > 1) CHECK(some.num_partitions() < 5);
    }
    CHECK(rdd.filter_by_range(50, 60).collect().empty());
    CHECK(rdd.sort_by_key(true, 4).filter_by_range(5, 3).collect().empty());
  }
}

TEST_CASE("sample_by_key takes of each key about its fraction, the same for a seed", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd = context.parallelize(pairs(4000, 2), 5);
  for (const bool with_replacement : {false, true}) {
    auto some = rdd.sample_by_key(with_replacement, {{0, 0.1}, {1, 0.5}}, 17);
    const auto counts = some.count_by_key();
    CHECK(std::abs(counts.at(0) - 200) < 60);
    CHECK(std::abs(counts.at(1) - 1000) < 130);
    CHECK(some.collect() ==
          rdd.sample_by_key(with_replacement, {{0, 0.1}, {1, 0.5}}, 17).collect());
    const auto taken = some.collect();
    const auto all = pairs(4000, 2);
    const std::set<std::pair<int, int>> known(all.begin(), all.end());
    for (const auto& record : taken) CHECK(known.contains(record));
    if (!with_replacement) CHECK(std::set(taken.begin(), taken.end()).size() == taken.size());
  }
  CHECK_THROWS_AS(rdd.sample_by_key(false, {{0, 1.5}}, 1), std::invalid_argument);
  CHECK_THROWS_WITH(rdd.sample_by_key(false, {{0, 1.0}}, 1).count(),
                    Catch::Matchers::Contains("no fraction for a key"));
}

TEST_CASE("count_approx_distinct_by_key counts values of each key", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  IntPairs all;
  for (int key = 1; key <= 20; ++key)
    for (int v = 0; v < key * 50; ++v) all.insert(all.end(), 2, {key, v});
  for (const auto& [key, n] :
       context.parallelize(all, 7).count_approx_distinct_by_key(0.02).collect())
    CHECK(std::abs(static_cast<double>(n) / (key * 50) - 1) < 0.1);
}

TEST_CASE("reduce_by_key_locally gives a map, without a shuffle", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  std::map<int, int> want;
  for (const auto& [k, v] : pairs(100, 7)) want[k] += v;
  for (const int n : {1, 2, 7, 200}) {
    const int before = runtime.stages;
    CHECK(context.parallelize(pairs(100, 7), n).reduce_by_key_locally(Sum{}) == want);
    CHECK(runtime.stages == before + 1);
  }
  CHECK(context.empty_rdd<std::pair<int, int>>().reduce_by_key_locally(Sum{}).empty());
}

TEST_CASE("repartition_and_sort_within_partitions by a number of partitions", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd = context.parallelize(pairs(100, 30), 4).repartition_and_sort_within_partitions(3);
  CHECK(rdd.num_partitions() == 3);
  CHECK(sorted(rdd.collect()) == sorted(pairs(100, 30)));
  for (const auto& part : rdd.keys().glom().collect())
    CHECK(std::is_sorted(part.begin(), part.end()));
  CHECK_THROWS_AS(rdd.repartition_and_sort_within_partitions(0), std::invalid_argument);
}
