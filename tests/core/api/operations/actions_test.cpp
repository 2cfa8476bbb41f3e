// Actions and sources of Rdd<T> against plain loops, every task through the wire form of its
// program.
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using tests::LocalRuntime;
using tests::sorted;
using tests::upto;

TEST_CASE("R6 fold and aggregate over ten partitions", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto nums = context.range(-1000, 1000, 1, 10);
  CHECK(nums.fold(0, [](int64_t a, int64_t b) { return a + b; }) == -1000);
  CHECK(nums.sum() == -1000);
  const auto set = nums.aggregate(
      std::set<int64_t>(),
      [](std::set<int64_t> s, int64_t x) {
        s.insert(x % 3);
        return s;
      },
      [](std::set<int64_t> a, std::set<int64_t> b) {
        a.merge(b);
        return a;
      });
  CHECK(set == std::set<int64_t>{-2, -1, 0, 1, 2});
}

TEST_CASE("what cannot be is refused at once", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto nums = context.range(0, 10, 1, 2);
  CHECK_THROWS_WITH(nums.random_split({1, -1}),
                    Catch::StartsWith("Weights must be nonnegative, but got -1"));
  CHECK_THROWS_WITH(nums.random_split({0, 0}),
                    Catch::StartsWith("Sum of weights must be positive, but got 0"));
  CHECK_THROWS_AS(nums.sample(true, -1), std::invalid_argument);
  CHECK_THROWS_WITH(context.request_executors(-1),
                    Catch::StartsWith("Attempted to request a negative number of "));
  CHECK_THROWS_WITH(context.request_total_executors(-2),
                    Catch::StartsWith("Attempted to request a negative number of "));
  CHECK_THROWS_AS(context.set_log_level("LOUD"), std::invalid_argument);
  CHECK(runtime.jobs == 0);
  CHECK_THROWS_WITH(nums.histogram(0), "Number of buckets must be positive, but was 0");
}

TEST_CASE("R15 take looks at as few partitions as it can", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto all = upto(999);
  for (const int n : {1, 2, 100, 1000}) {
    auto nums = context.parallelize(all, n);
    for (const int k : {0, 1, 3, 500, 501, 999, 1000}) {
      CHECK(nums.take(k) == std::vector<int>(all.begin(), all.begin() + std::min(k, 999)));
    }
  }
  CHECK(context.parallelize(std::vector<int>{1, 2}, 2).take(2147483638).size() == 2);
}

TEST_CASE("R16 take runs one job a round", "[rdd]") {
  LocalRuntime several;
  Context context(several);
  CHECK(context.parallelize(upto(101), 100).take(50).size() == 50);
  CHECK(several.jobs > 2);
  LocalRuntime twice(2, conf::Conf::of({{"spark.rdd.limit.scaleUpFactor", "1000"}}));
  Context eager(twice);
  CHECK(eager.parallelize(upto(101), 100).take(50).size() == 50);
  CHECK(twice.jobs == 2);
  LocalRuntime once(2, conf::Conf::of({{"spark.rdd.limit.initialNumPartitions", "1000"}}));
  Context other(once);
  CHECK(other.parallelize(upto(101), 100).take(50).size() == 50);
  CHECK(once.jobs == 1);
}

TEST_CASE("take stops an endless producer", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto endless = context.parallelize(upto(2), 2).flat_map<int64_t>([](int x, auto& emit) {
    for (int64_t i = 0; emit(i * x); ++i) {
    }
  });
  CHECK(endless.take(3) == std::vector<int64_t>{0, 1, 2});
  CHECK(endless.union_with(endless).take(2) == std::vector<int64_t>{0, 1});
  CHECK_FALSE(endless.is_empty());
}

TEST_CASE("R17 top and take_ordered", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto nums = context.range(1, 10000, 1, 5).map([](int64_t x) { return x * 7919 % 10007; });
  auto plain = nums.collect();
  std::sort(plain.begin(), plain.end());
  CHECK(nums.take_ordered(5) == std::vector<int64_t>(plain.begin(), plain.begin() + 5));
  CHECK(nums.top(5) == std::vector<int64_t>(plain.rbegin(), plain.rbegin() + 5));
  CHECK(context.parallelize(std::vector<std::string>{"a", "b", "c"}, 2).top(2, std::greater<>{}) ==
        std::vector<std::string>{"a", "b"});
  CHECK(nums.take_ordered(0).empty());
  CHECK(context.empty_rdd<int>().top(3).empty());
  CHECK(nums.filter([](int64_t) { return false; }).top(3).empty());
}

TEST_CASE("R18 is_empty", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK(context.empty_rdd<int>().is_empty());
  CHECK(context.parallelize(std::vector<int>{}, 3).is_empty());
  CHECK(context.parallelize(upto(3), 3).filter([](int) { return false; }).is_empty());
  CHECK_FALSE(context.parallelize(upto(3), 3).filter([](int x) { return x == 3; }).is_empty());
}

TEST_CASE("samples of partitions say nothing of each other, whatever the seed", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  constexpr int64_t kPartitions = 64, kRecords = 2000;
  const auto nums = context.range(0, kPartitions * kRecords, 1, kPartitions);
  for (const uint64_t seed : {0, 1, 7, 42}) {
    std::vector<std::vector<int>> taken(kPartitions, std::vector<int>(kRecords));
    for (const int64_t x : nums.sample(false, 0.5, seed).collect())
      taken[static_cast<size_t>(x / kRecords)][static_cast<size_t>(x % kRecords)] = 1;
    for (size_t a = 0; a < kPartitions; ++a)
      for (size_t b = 0; b < kPartitions; ++b)
        for (size_t shift = a < b ? 0 : 1; shift < 70; ++shift) {
          if (a == b) continue;
          int alike = 0;
          for (size_t i = shift; i < kRecords; ++i) alike += taken[a][i] == taken[b][i - shift];
          // Half of them, with a deviation of 22 or less.
          if (std::abs(alike - static_cast<int>(kRecords - shift) / 2) > 180)
            FAIL_CHECK("seed " << seed << ": partition " << a << " is " << b << ", " << shift
                               << " records later");
        }
  }
}

TEST_CASE("sample and R21 random_split follow their seed", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto nums = context.range(0, 10000, 1, 4);
  const auto once = nums.sample(false, 0.3, 7).collect();
  CHECK(once == nums.sample(false, 0.3, 7).collect());
  CHECK(once != nums.sample(false, 0.3, 8).collect());
  CHECK(once.size() > 2700);
  CHECK(once.size() < 3300);
  const auto twice = nums.sample(true, 2.0, 7).count();
  CHECK(twice > 19000);
  CHECK(twice < 21000);
  CHECK_THROWS_AS(nums.sample(false, 1.5, 1), std::invalid_argument);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto parts = context.range(0, 600, 1, 3).random_split({1, 2, 3}, seed);
    REQUIRE(parts.size() == 3);
    std::vector<int64_t> all;
    for (size_t i = 0; i < 3; ++i) {
      const auto part = parts[i].collect();
      CHECK(std::abs(static_cast<int>(part.size()) - 100 * static_cast<int>(i + 1)) < 50);
      all.insert(all.end(), part.begin(), part.end());
    }
    CHECK(sorted(all) == context.range(0, 600).collect());
  }
}

TEST_CASE("samples whose seed nobody names differ, each stays as it is", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto nums = context.range(0, 10000, 1, 4);
  auto some = nums.sample(false, 0.5);
  const auto once = some.collect();
  CHECK(once == some.collect());
  CHECK(once != nums.sample(false, 0.5).collect());
  const auto parts = nums.random_split({1, 1});
  auto all = parts[0].collect();
  CHECK(all != nums.random_split({1, 1})[0].collect());
  const auto rest = parts[1].collect();
  all.insert(all.end(), rest.begin(), rest.end());
  CHECK(sorted(all) == nums.collect());
  CHECK(nums.take_sample(false, 100) != nums.take_sample(false, 100));
  auto pairs = nums.key_by([](int64_t x) { return x % 2; });
  const std::map<int64_t, double> halves{{0, 0.5}, {1, 0.5}};
  CHECK(pairs.sample_by_key(false, halves).collect() !=
        pairs.sample_by_key(false, halves).collect());
  CHECK(pairs.sample_by_key_exact(false, halves).collect() !=
        pairs.sample_by_key_exact(false, halves).collect());
}

TEST_CASE("R22 a job on a partition that is not there", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto two = context.parallelize(upto(4), 2);
  CHECK_THROWS_AS(
      two.act(core::CountRecords{}, {2}, "count", Site::current(), [](int32_t, int64_t) {}),
      std::invalid_argument);
}

TEST_CASE("R25 cartesian, also with empty sides", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto a = context.parallelize(std::vector<int>{1, 2, 3}, 2);
  auto b = context.parallelize(std::vector<std::string>{"x", "y"}, 2);
  CHECK(a.cartesian(b).num_partitions() == 4);
  CHECK(sorted(a.cartesian(b).collect()) ==
        std::vector<std::pair<int, std::string>>{
            {1, "x"}, {1, "y"}, {2, "x"}, {2, "y"}, {3, "x"}, {3, "y"}});
  CHECK(a.cartesian(context.empty_rdd<int>()).count() == 0);
  CHECK(context.empty_rdd<int>().cartesian(a).count() == 0);
  auto wide = context.range(0, 10, 1, 50000);
  CHECK_THROWS_WITH(wide.cartesian(wide),
                    "cartesian() of 50000 and 50000 partitions would have 2500000000, and an RDD "
                    "has at most 2147483647: coalesce() its sides");
}

TEST_CASE("ranges of any step keep within their bounds", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK(context.range(0, 10, 3, 4).collect() == std::vector<int64_t>{0, 3, 6, 9});
  CHECK(context.range(10, 0, -3, 2).collect() == std::vector<int64_t>{10, 7, 4, 1});
  CHECK(context.range(5, 5).count() == 0);
  CHECK_THROWS_AS(context.range(0, 5, 0), std::invalid_argument);
  CHECK_THROWS_WITH(context.range(0, 5, 1, -1), "Positive number of partitions required");
  CHECK(context.range(INT64_MIN, INT64_MAX, INT64_MAX, 3).collect() ==
        std::vector<int64_t>{INT64_MIN, -1, INT64_MAX - 1});
}

TEST_CASE("R23 sort_by of records with keys of their own", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  using Person = std::pair<std::string, int>;
  const std::vector<Person> people{{"carol", 30}, {"bob", 20}, {"ann", 40}};
  auto rdd = context.parallelize(people, 2);
  CHECK(rdd.sort_by([](const Person& p) { return p.first; }).keys().collect() ==
        std::vector<std::string>{"ann", "bob", "carol"});
  CHECK(rdd.sort_by([](const Person& p) { return p.second; }, false).keys().collect() ==
        std::vector<std::string>{"ann", "carol", "bob"});
  CHECK(context.empty_rdd<Person>()
            .sort_by([](const Person& p) { return p.first; })
            .collect()
            .empty());
}
