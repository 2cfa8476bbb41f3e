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

TEST_CASE("filter_by_range: NaN is beyond every other number, however the records lie", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const double nan = std::nan("");
  auto rdd = context.parallelize(
      std::vector<std::pair<double, int>>{{1.5, 1}, {nan, 2}, {9, 3}, {-0.0, 4}}, 1);
  for (const auto& records : {rdd, rdd.sort_by_key(true, 3)}) {
    CHECK(records.filter_by_range(1.0, 2.0).values().collect() == std::vector{1});
    CHECK(records.filter_by_range(0.0, 1.0).values().collect() == std::vector{4});
    CHECK(sorted(records.filter_by_range(2.0, nan).values().collect()) == std::vector{2, 3});
  }
}

TEST_CASE("R36 sample_by_key takes of each key about its fraction, the same for a seed", "[rdd]") {
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

TEST_CASE("R36 sample_by_key_exact takes exactly so many of each key, any of them as likely",
          "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto all = pairs(4003, 2);
  const std::set<std::pair<int, int>> known(all.begin(), all.end());
  std::map<int, int64_t> there;
  for (const auto& [key, value] : all) ++there[key];
  for (const int32_t partitions : {1, 2, 7}) {
    auto rdd = context.parallelize(all, partitions);
    for (const bool with_replacement : {false, true})
      for (const double fraction : {0.0, 0.001, 0.1, 0.75, 1.0}) {
        INFO(partitions << " " << with_replacement << " " << fraction);
        auto some = rdd.sample_by_key_exact(with_replacement, {{0, fraction}, {1, 0.5}}, 17);
        const auto taken = some.collect();
        std::map<int, int64_t> counts;
        for (const auto& record : taken) {
          CHECK(known.contains(record));
          ++counts[record.first];
        }
        CHECK(counts[0] == std::ceil(fraction * static_cast<double>(there[0])));
        CHECK(counts[1] == std::ceil(0.5 * static_cast<double>(there[1])));
        CHECK(some.collect() == taken);
        if (!with_replacement) CHECK(std::set(taken.begin(), taken.end()).size() == taken.size());
      }
    CHECK(rdd.sample_by_key_exact(false, {{1, 0.5}}, 17).count_by_key().count(0) == 0);
  }
  CHECK(context.parallelize(all, 2).sample_by_key_exact(true, {{0, 2.5}}, 3).count() ==
        std::ceil(2.5 * static_cast<double>(there[0])));
  CHECK_THROWS_AS(context.parallelize(all, 2).sample_by_key_exact(false, {{0, 1.5}}, 1),
                  std::invalid_argument);
  // Half of ten times a hundred: each hundred gives as many as the others, over many seeds.
  std::vector<int> often(10);
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::vector<core::Quota> quotas(10, core::Quota{100, 0});
    std::vector<core::Quota*> parts;
    for (auto& quota : quotas) parts.push_back(&quota);
    core::Random random(seed, 0);
    core::share_out(parts, 0.5, false, random);
    int64_t sum = 0;
    for (size_t i = 0; i < quotas.size(); ++i) {
      often[i] += static_cast<int>(quotas[i].wanted);
      sum += quotas[i].wanted;
    }
    CHECK(sum == 500);
  }
  for (size_t i = 0; i < 10; ++i) CHECK(std::abs(often[i] - 100000) < 1000);
}

TEST_CASE("a binomial number is what so many tries give", "[rdd]") {
  core::Random random(5, 0);
  for (const auto& [tries, likelihood] : std::vector<std::pair<int64_t, double>>{
           {10, 0.3}, {1000, 0.01}, {1000, 0.97}, {100000, 0.2}, {1, 0.5}}) {
    INFO(tries << " " << likelihood);
    constexpr int kTimes = 20000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kTimes; ++i) {
      const auto n = static_cast<double>(core::binomial(random, tries, likelihood));
      REQUIRE((n >= 0 && n <= static_cast<double>(tries)));
      sum += n;
      squares += n * n;
    }
    const double mean = sum / kTimes, variance = squares / kTimes - mean * mean;
    const double want = static_cast<double>(tries) * likelihood;
    CHECK(std::abs(mean - want) < 0.02 * want + 0.02);
    CHECK(std::abs(variance / (want * (1 - likelihood)) - 1) < 0.06);
  }
  CHECK(core::binomial(random, 7, 0) == 0);
  CHECK(core::binomial(random, 7, 1) == 7);
  CHECK(core::binomial(random, 0, 0.5) == 0);
}

TEST_CASE("R37 count_approx_distinct_by_key counts values of each key", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  IntPairs all;
  for (int key = 1; key <= 20; ++key)
    for (int v = 0; v < key * 50; ++v) all.insert(all.end(), 2, {key, v});
  for (const auto& [key, n] :
       context.parallelize(all, 7).count_approx_distinct_by_key(0.0025).collect())
    CHECK(std::abs(static_cast<double>(n) / (key * 50) - 1) < 0.01);
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
