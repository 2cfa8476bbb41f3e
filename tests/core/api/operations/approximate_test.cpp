// Answers by time: what part of the results says of the whole, and jobs that go on.
#include <atomic>
#include <cmath>

#include "core/api/operations/estimates.hpp"
#include "core/api/runtime/driver_runtime.hpp"
#include "core/api/tinderbox.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace std::chrono_literals;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using core::estimate_count;
using core::estimate_mean;
using core::estimate_sum;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

StatCounter counted(std::initializer_list<double> values) {
  StatCounter stats;
  for (const double x : values) stats.add(x);
  return stats;
}

/// Jobs that are held keep a slot each.
struct ApproximateDriver {
  std::unique_ptr<core::DriverRuntime> runtime = core::DriverRuntime::start(
      conf::Conf::of({{"spark.master", "local[4]"}, {"spark.app.name", "test"}}), {});
  Context context{*runtime};
};

std::atomic<bool> second_may_end{false};

/// 0 to 9 in the first partition, which ends at once; 10 to 19 in the second, which waits.
auto half_ready(Context& context) {
  second_may_end = false;
  return context.range(0, 20, 1, 2).flat_map<int64_t>([](int64_t x, auto& emit) {
    while (x >= 10 && !second_may_end && !core::this_task_is_killed()) {
    }
    emit(x);
  });
}

/// Asks, each time more patiently, until the first partition had been counted by the time of the
/// answer.
template <class Ask>
auto with_one_partition(Ask ask) {
  for (std::chrono::milliseconds patience = 1ms;; patience *= 2) {
    auto result = ask(patience);
    REQUIRE(!result.is_initial_value_final());
    if (result.initial_value().confidence > 0) return result;
  }
}

}  // namespace

TEST_CASE("counts: bounds of Spark's CountEvaluator", "[approximate]") {
  CHECK(estimate_count(1, 0.1, 0.95) == BoundedDouble{10, 0.95, 1, 36});
  CHECK(estimate_count(4, 0.2, 0.95) == BoundedDouble{20, 0.95, 7, 41});
  CHECK(estimate_count(12, 0.3, 0.95) == BoundedDouble{40, 0.95, 24, 61});
  CHECK(estimate_count(82, 1, 0.95) == BoundedDouble{82, 1, 82, 82});
  CHECK(estimate_count(0, 0.5, 0.95) == BoundedDouble{0, 0, 0, kInfinity});
  CHECK(estimate_count(0, 0, 0.95) == BoundedDouble{0, 0, 0, kInfinity});
}

TEST_CASE("counts of many records: as a Poisson process", "[approximate]") {
  const BoundedDouble b = estimate_count(1'000'000, 0.5, 0.95);
  CHECK(b.mean == 2'000'000);
  CHECK_THAT(b.low, WithinAbs(2'000'000 - 1960, 3));
  CHECK_THAT(b.high, WithinAbs(2'000'000 + 1960, 3));
}

TEST_CASE("means: Student's distribution for few, the normal one for many", "[approximate]") {
  const StatCounter ten = counted({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const BoundedDouble b = estimate_mean(ten, 0.5, 0.95);
  CHECK(b.mean == 5.5);
  CHECK_THAT(b.high - b.mean, WithinRel(2.2621572 * std::sqrt(ten.sample_variance() / 10), 1e-7));
  CHECK_THAT(b.mean - b.low, WithinRel(b.high - b.mean, 1e-12));
  StatCounter many;
  for (int i = 0; i < 1000; ++i) many.add(i);
  const BoundedDouble n = estimate_mean(many, 0.5, 0.95);
  CHECK_THAT(n.high - n.mean,
             WithinRel(1.9599640 * std::sqrt(many.sample_variance() / 1000), 1e-7));
  CHECK(estimate_mean(counted({3}), 0.5, 0.95) == BoundedDouble{3, 0.95, -kInfinity, kInfinity});
  CHECK(estimate_mean({}, 0, 0.95) == BoundedDouble{0, 0, -kInfinity, kInfinity});
  CHECK(estimate_mean(ten, 1, 0.95) == BoundedDouble{5.5, 1, 5.5, 5.5});
}

TEST_CASE("sums: what was seen, and as much again as is left", "[approximate]") {
  const StatCounter two = counted({2, 4});
  const BoundedDouble b = estimate_sum(two, 0.5, 0.95);
  CHECK(b.mean == 12);
  // mean 3 of variance 1, two to come with variance 4: 9 * 4 + 4 * 1 + 1 * 4
  CHECK_THAT(b.high - b.mean, WithinRel(12.7062047 * std::sqrt(44.0), 1e-7));
  CHECK(estimate_sum(counted({3}), 0.5, 0.95) == BoundedDouble{6, 0.95, -kInfinity, kInfinity});
  CHECK(estimate_sum(two, 1, 0.95) == BoundedDouble{6, 1, 6, 6});
  CHECK(estimate_sum({}, 0, 0.95).confidence == 0);
  CHECK(BoundedDouble{10, 0.95, 9, 11.5}.to_string() == "[9.000, 11.500]");
}

TEST_CASE("bounds hold as often as they say", "[approximate]") {
  // What is counted in a share of the partitions when each of 2,000 records lies anywhere.
  core::Random random(7, 0);
  int held = 0;
  for (int round = 0; round < 1000; ++round) {
    int64_t seen = 0;
    for (int i = 0; i < 2000; ++i) seen += random.below(10) < 3;
    const BoundedDouble b = estimate_count(seen, 0.3, 0.9);
    held += b.low <= 2000 && 2000 <= b.high;
  }
  CHECK(held > 870);
  CHECK(held < 930);
}

TEST_CASE("an answer before the end is an estimate, the final one exact", "[approximate]") {
  ApproximateDriver driver;
  auto numbers = half_ready(driver.context);
  auto count = with_one_partition([&](auto time) { return numbers.count_approx(time); });
  CHECK(count.initial_value() == estimate_count(10, 0.5, 0.95));
  auto sum = with_one_partition([&](auto time) { return numbers.sum_approx(time, 0.9); });
  CHECK(sum.initial_value().mean == 90);
  CHECK(sum.initial_value().confidence == 0.9);
  auto mean = with_one_partition([&](auto time) { return numbers.mean_approx(time); });
  CHECK(mean.initial_value().mean == 4.5);
  second_may_end = true;
  CHECK(count.final_value() == BoundedDouble{20, 1, 20, 20});
  CHECK(sum.final_value() == BoundedDouble{190, 1, 190, 190});
  CHECK(mean.final_value().mean == 9.5);
}

TEST_CASE("values and keys counted approximately", "[approximate]") {
  ApproximateDriver driver;
  auto words = driver.context.parallelize<std::string>({"a", "b", "a", "c"}, 2);
  const auto counts = words.count_by_value_approx(1h);
  CHECK(counts.is_initial_value_final());
  CHECK(counts.initial_value() == std::map<std::string, BoundedDouble>{{"a", {2, 1, 2, 2}},
                                                                       {"b", {1, 1, 1, 1}},
                                                                       {"c", {1, 1, 1, 1}}});
  auto pairs = words.key_by([](const std::string& w) { return w == "a"; });
  CHECK(pairs.count_by_key_approx(1h).final_value().at(false).mean == 2);
  CHECK(driver.context.empty_rdd<int64_t>().count_approx(1h).initial_value() ==
        BoundedDouble{0, 1, 0, 0});
}

TEST_CASE("what fails, and a result that nobody waits for", "[approximate]") {
  ApproximateDriver driver;
  auto numbers = half_ready(driver.context);
  CHECK_THROWS_AS(numbers.count_approx(1ms, 1.5), std::invalid_argument);
  auto failing = driver.context.range(0, 2, 1, 2).map([](int64_t x) -> int64_t {
    throw std::runtime_error("no " + std::to_string(x));
  });
  CHECK_THROWS_AS(failing.count_approx(1h), JobFailed);
  {
    const auto dropped = numbers.count_approx(0ms);
    CHECK(!dropped.is_initial_value_final());
  }
  // Its tasks are gone: both slots are free for others.
  CHECK(driver.context.range(0, 100, 1, 4).count() == 100);
}
