// Sums, moments, histograms, samples, trees and sketches against plain loops.
#include <cmath>
#include <random>

#include "tests/core/api/values.hpp"

using namespace tinderbox;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using tests::LocalRuntime;
using tests::sorted;
using tests::upto;

namespace {

std::vector<double> random_numbers(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(100, 15);
  std::vector<double> numbers(n);
  for (double& x : numbers) x = normal(random);
  return numbers;
}

}  // namespace

TEST_CASE("moments of numbers in any number of partitions", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto numbers = random_numbers(1000, 1);
  double sum = 0, squares = 0;
  for (const double x : numbers) sum += x;
  const double mean = sum / 1000;
  for (const double x : numbers) squares += (x - mean) * (x - mean);
  for (const int n : {1, 2, 7, 2000}) {
    INFO(n);
    auto rdd = context.parallelize(numbers, n);
    const StatCounter stats = rdd.stats();
    CHECK(stats.count() == 1000);
    CHECK_THAT(stats.mean(), WithinRel(mean, 1e-12));
    CHECK_THAT(stats.sum(), WithinRel(sum, 1e-12));
    CHECK_THAT(rdd.mean(), WithinRel(mean, 1e-12));
    CHECK_THAT(rdd.variance(), WithinRel(squares / 1000, 1e-9));
    CHECK(rdd.pop_variance() == rdd.variance());
    CHECK(rdd.pop_stdev() == rdd.stdev());
    CHECK_THAT(rdd.sample_variance(), WithinRel(squares / 999, 1e-9));
    CHECK_THAT(rdd.stdev(), WithinRel(std::sqrt(squares / 1000), 1e-9));
    CHECK_THAT(rdd.sample_stdev(), WithinRel(std::sqrt(squares / 999), 1e-9));
    CHECK(stats.max() == *std::max_element(numbers.begin(), numbers.end()));
    CHECK(stats.min() == *std::min_element(numbers.begin(), numbers.end()));
  }
}

TEST_CASE("moments of no number and of one", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const StatCounter none = context.empty_rdd<double>().stats();
  CHECK(none.count() == 0);
  CHECK(none.mean() == 0);
  CHECK(std::isnan(none.variance()));
  const auto one = context.parallelize(std::vector<int>{4}, 3);
  CHECK(one.stats().to_string() ==
        "(count: 1, mean: 4.000000, stdev: 0.000000, max: 4.000000, min: 4.000000)");
  CHECK(std::isnan(one.sample_variance()));
}

TEST_CASE("histogram: even buckets, the last one closed", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  using Counts = std::vector<int64_t>;
  auto numbers = context.parallelize(upto(50), 4);
  const auto [bounds, counts] = numbers.histogram(2);
  CHECK(bounds == std::vector<double>{1, 25.5, 50});
  CHECK(counts == Counts{25, 25});
  CHECK(context.parallelize(std::vector<int>{3, 3, 3}, 2).histogram(4) ==
        std::pair<std::vector<double>, Counts>({3, 3}, {3}));
  CHECK_THROWS_WITH(context.empty_rdd<double>().histogram(1),
                    "Histogram on either an empty RDD or RDD containing +/-infinity or NaN");
  for (const double odd : {std::nan(""), HUGE_VAL})
    CHECK_THROWS_AS(context.parallelize(std::vector<double>{1, odd}, 2).histogram(1),
                    std::domain_error);
}

TEST_CASE("histogram of given buckets: what lies outside, and NaN, is in none", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  using Counts = std::vector<int64_t>;
  auto numbers =
      context.parallelize(std::vector<double>{10.01, -0.01, 0, 5, 5, 7.5, 10, std::nan("")}, 3);
  CHECK(numbers.histogram(std::vector<double>{0, 5, 10}) == Counts{1, 4});
  CHECK(numbers.histogram(std::vector<double>{0, 4, 6, 10}) == Counts{1, 2, 2});
  CHECK(context.empty_rdd<int>().histogram(std::vector<double>{0, 10}) == Counts{0});
  CHECK_THROWS_WITH(numbers.histogram(std::vector<double>{1}),
                    "buckets array must have at least two elements");
  CHECK_THROWS_AS(numbers.histogram(std::vector<double>{1, 0}), std::invalid_argument);
}

TEST_CASE("sums of integers: exact, unsigned ones too, and they wrap around", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  CHECK(context.parallelize(std::vector<int64_t>{kMost, 1}, 1).sum() ==
        std::numeric_limits<int64_t>::min());
  CHECK(context.parallelize(std::vector<uint64_t>{uint64_t{1} << 63, 5}, 2).sum() ==
        (uint64_t{1} << 63) + 5);
  CHECK(context.parallelize(std::vector<int32_t>{2'000'000'000, 2'000'000'000}, 2).sum() ==
        4'000'000'000);
  auto total = context.long_accumulator();
  context.parallelize(std::vector<int64_t>{kMost, 1}, 1)
      .foreach (capture(total, [](const auto& t, int64_t x) { t.add(x); }));
  CHECK(total.value() == std::numeric_limits<int64_t>::min());
}

TEST_CASE("tree_reduce: an optional without a value is a record as others are", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  using Maybe = std::optional<int>;
  const auto both = [](Maybe a, Maybe b) { return a && b ? Maybe(*a + *b) : Maybe(); };
  for (const int n : {1, 2, 7}) {
    const auto all = [&](std::vector<Maybe> records) { return context.parallelize(records, n); };
    CHECK(all({1, std::nullopt, 3}).tree_reduce(both) == std::nullopt);
    CHECK(all({1, 2, 3}).tree_reduce(both) == 6);
    CHECK(all({std::nullopt, std::nullopt}).tree_reduce(both) == std::nullopt);
    CHECK(all({1, std::nullopt, 3}).tree_reduce(both) == all({1, std::nullopt, 3}).reduce(both));
    CHECK_THROWS_AS(all({}).tree_reduce(both), std::domain_error);
  }
}

TEST_CASE("tree_aggregate and tree_reduce give what aggregate and reduce give", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const int n : {1, 2, 7, 40})
    for (const int depth : {1, 2, 3, 10}) {
      INFO(n << " partitions, depth " << depth);
      auto numbers = context.parallelize(upto(100), n);
      CHECK(numbers.tree_reduce([](int a, int b) { return a + b; }, depth) == 5050);
      const auto count = numbers.tree_aggregate(
          int64_t{0}, [](int64_t s, int) { return s + 1; },
          [](int64_t a, int64_t b) { return a + b; }, depth);
      CHECK(count == 100);
      const auto sum = numbers.tree_aggregate(
          0, [](int s, int x) { return s + x; }, [](int a, int b) { return a + b; }, depth, true);
      CHECK(sum == 5050);
    }
  auto few = context.parallelize(std::vector<std::string>{"a", "b"}, 20);
  CHECK(sorted(std::vector<char>{
                   few.tree_reduce([](std::string a, std::string b) { return a + b; })[0]})
            .size() == 1);
  CHECK(context.empty_rdd<int>().tree_aggregate(
            7, [](int a, int) { return a; }, [](int a, int) { return a; }) == 7);
  CHECK_THROWS_WITH(context.empty_rdd<int>().tree_reduce([](int a, int) { return a; }),
                    "empty collection");
  CHECK_THROWS_WITH(few.tree_reduce([](std::string a, std::string) { return a; }, 0),
                    "Depth must be greater than or equal to 1 but got 0.");
}

TEST_CASE("tree_aggregate merges on executors: the driver gets few parts", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.parallelize(upto(100), 100).tree_reduce([](int a, int b) { return a + b; });
  CHECK(runtime.stages == 2);
  CHECK(runtime.tasks == 110);
  context.parallelize(upto(100), 100)
      .tree_aggregate(
          0, [](int s, int x) { return s + x; }, [](int a, int b) { return a + b; }, 2, true);
  CHECK(runtime.stages == 2 + 3);
  CHECK(runtime.tasks == 110 + 100 + 10 + 1);
}

TEST_CASE("R20 take_sample: as many as asked for, from the records alone, none twice", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto numbers = context.parallelize(upto(100), 7);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    const auto some = numbers.take_sample(false, 20, seed);
    CHECK(some.size() == 20);
    CHECK(std::set<int>(some.begin(), some.end()).size() == 20);
    CHECK(numbers.take_sample(false, 20, seed) == some);
    CHECK(sorted(numbers.take_sample(false, 200, seed)) == upto(100));
    const auto with = numbers.take_sample(true, 200, seed);
    CHECK(with.size() == 200);
    CHECK(std::set<int>(with.begin(), with.end()).size() < 100);
    CHECK(*std::min_element(with.begin(), with.end()) >= 1);
  }
  CHECK(numbers.take_sample(false, 0, 1).empty());
  CHECK(context.empty_rdd<int>().take_sample(true, 5, 1).empty());
  CHECK_THROWS_WITH(numbers.take_sample(false, -1, 1), "Negative number of elements requested");
  CHECK_THROWS_AS(numbers.take_sample(false, 2147483647, 1), std::invalid_argument);
}

TEST_CASE("R3 count_approx_distinct is near the truth, whatever the number", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const int64_t n : {0, 1, 10, 100, 1000, 20000, 300000})
    for (const double sd : {0.01, 0.05, 0.2}) {
      INFO(n << " values, " << sd);
      auto values = context.range(0, n, 1, 5).flat_map([](int64_t x) {
        return std::vector<int64_t>{x, x};
      });
      const auto about = static_cast<double>(values.count_approx_distinct(sd));
      CHECK_THAT(about, WithinAbs(static_cast<double>(n), 4 * sd * static_cast<double>(n) + 0.5));
    }
  CHECK(context.parallelize(std::vector<std::string>{"a", "b", "a"}, 2).count_approx_distinct() ==
        2);
  CHECK_THROWS_AS(context.range(0, 1).count_approx_distinct(0.000017), std::invalid_argument);
}

TEST_CASE("to_local_iterator runs a job a partition, when it is reached", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto numbers = context.parallelize(upto(20), 5);
  std::vector<int> seen;
  for (const int x : numbers.to_local_iterator()) {
    seen.push_back(x);
    if (x == 6) break;
  }
  CHECK(seen == upto(6));
  CHECK(runtime.jobs == 2);
  seen.clear();
  for (const int x : numbers.to_local_iterator()) seen.push_back(x);
  CHECK(seen == upto(20));
  for (const int x : context.parallelize(upto(1), 9).to_local_iterator()) CHECK(x == 1);
}

TEST_CASE("the sum of any unsigned numbers of 64 bits is unsigned", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK(context.parallelize(std::vector{1ULL << 63}, 1).sum() == uint64_t{1} << 63);
  CHECK(context.parallelize(std::vector{1UL << 63}, 1).sum() == uint64_t{1} << 63);
}
