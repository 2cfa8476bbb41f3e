#include "core/api/operations/estimates.hpp"

#include <boost/math/distributions/negative_binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

namespace tinderbox {

std::string BoundedDouble::to_string() const {
  char text[80];
  std::snprintf(text, sizeof text, "[%.3f, %.3f]", low, high);
  return text;
}

namespace core {
namespace {

namespace math = boost::math;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Above it the rest of a count is taken as a Poisson process.
constexpr int64_t kFewRecords = 10000;
/// Above it a mean is taken as normal.
constexpr int64_t kFewForMean = 100;

// A quantile of a count is a whole number, the smallest one with that much below it.
using Whole =
    math::policies::policy<math::policies::discrete_quantile<math::policies::integer_round_up>,
                           math::policies::overflow_error<math::policies::ignore_error>>;
using Ignoring =
    math::policies::policy<math::policies::overflow_error<math::policies::ignore_error>>;

BoundedDouble exactly(double value) { return {value, 1, value, value}; }
BoundedDouble unknown(double low) { return {0, 0, low, kInfinity}; }

template <class Distribution>
BoundedDouble beside(int64_t seen, const Distribution& rest, double confidence) {
  const auto n = static_cast<double>(seen);
  return {n + mean(rest), confidence, n + quantile(rest, (1 - confidence) / 2),
          n + quantile(rest, (1 + confidence) / 2)};
}

/// How many standard deviations hold `confidence`.
double deviations(int64_t n, double confidence) {
  const double p = (1 + confidence) / 2;
  if (n > kFewForMean) return quantile(math::normal_distribution<double, Ignoring>(), p);
  return quantile(math::students_t_distribution<double, Ignoring>(static_cast<double>(n - 1)), p);
}

}  // namespace

void check_confidence(double confidence) {
  if (!(confidence >= 0 && confidence <= 1))
    throw std::invalid_argument("confidence (" + std::to_string(confidence) + ") must be in [0,1]");
}

BoundedDouble estimate_count(int64_t seen, double share, double confidence) {
  if (share == 1) return exactly(static_cast<double>(seen));
  if (share == 0 || seen == 0) return unknown(0);
  const auto n = static_cast<double>(seen);
  if (seen <= kFewRecords)
    return beside(seen, math::negative_binomial_distribution<double, Whole>(n, share), confidence);
  return beside(seen, math::poisson_distribution<double, Whole>(n * (1 - share) / share),
                confidence);
}

BoundedDouble estimate_mean(const StatCounter& seen, double share, double confidence) {
  if (share == 1) return exactly(seen.mean());
  if (share == 0 || seen.count() == 0) return unknown(-kInfinity);
  if (seen.count() == 1) return {seen.mean(), confidence, -kInfinity, kInfinity};
  const double error = std::sqrt(seen.sample_variance() / static_cast<double>(seen.count()));
  const double reach = deviations(seen.count(), confidence) * error;
  return {seen.mean(), confidence, seen.mean() - reach, seen.mean() + reach};
}

BoundedDouble estimate_sum(const StatCounter& seen, double share, double confidence) {
  if (share == 1) return exactly(seen.sum());
  if (share == 0 || seen.count() == 0) return unknown(-kInfinity);
  const auto n = static_cast<double>(seen.count());
  const double mean = seen.mean(), rest = n * (1 - share) / share, sum = mean * rest;
  if (seen.count() == 1) return {seen.sum() + sum, confidence, -kInfinity, kInfinity};
  // Of the product of two that are independent: how many are to come, and what they are.
  const double of_mean = seen.sample_variance() / n, of_count = rest / share;
  const double variance = mean * mean * of_count + rest * rest * of_mean + of_mean * of_count;
  const double reach = deviations(seen.count(), confidence) * std::sqrt(variance);
  return {seen.sum() + sum, confidence, seen.sum() + sum - reach, seen.sum() + sum + reach};
}

}  // namespace core
}  // namespace tinderbox
