#include "core/api/operations/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "core/api/steps/transform.hpp"

namespace tinderbox {
namespace {

/// Nothing is larger, or smaller, than NaN. Source: java.lang.Math.max, min.
double larger(double a, double b) { return a != a || b != b ? a + b : std::max(a, b); }
double smaller(double a, double b) { return a != a || b != b ? a + b : std::min(a, b); }

}  // namespace

void StatCounter::add(double value) {
  const double delta = value - mu;
  ++n;
  mu += delta / static_cast<double>(n);
  m2 += delta * (value - mu);
  largest = larger(largest, value);
  smallest = smaller(smallest, value);
}

void StatCounter::merge(const StatCounter& other) {
  if (other.n == 0) return;
  if (n == 0) {
    *this = other;
    return;
  }
  const double delta = other.mu - mu;
  const auto a = static_cast<double>(n), b = static_cast<double>(other.n);
  // Where one side is much smaller, its mean moves the other's a little; else rounding is even.
  if (b * 10 < a)
    mu += delta * b / (a + b);
  else if (a * 10 < b)
    mu = other.mu - delta * a / (a + b);
  else
    mu = (mu * a + other.mu * b) / (a + b);
  m2 += other.m2 + delta * delta * a * b / (a + b);
  n += other.n;
  largest = larger(largest, other.largest);
  smallest = smaller(smallest, other.smallest);
}

double StatCounter::variance() const {
  return n == 0 ? std::numeric_limits<double>::quiet_NaN() : m2 / static_cast<double>(n);
}
double StatCounter::stdev() const { return std::sqrt(variance()); }
double StatCounter::sample_variance() const {
  return n <= 1 ? std::numeric_limits<double>::quiet_NaN() : m2 / static_cast<double>(n - 1);
}
double StatCounter::sample_stdev() const { return std::sqrt(sample_variance()); }

std::string StatCounter::to_string() const {
  char text[256];
  std::snprintf(text, sizeof text, "(count: %lld, mean: %f, stdev: %f, max: %f, min: %f)",
                static_cast<long long>(n), mean(), stdev(), max(), min());
  return text;
}

namespace core {

std::vector<double> even_buckets(double min, double max, int32_t n) {
  if (n <= 0)
    throw std::invalid_argument("Number of buckets must be positive, but was " + std::to_string(n));
  if (!std::isfinite(min) || !std::isfinite(max))
    throw std::domain_error(
        "Histogram on either an empty RDD or RDD containing +/-infinity or NaN");
  if (min == max) return {min, min};
  std::vector<double> bounds;
  for (int32_t i = 0; i < n; ++i) bounds.push_back(min + (max - min) * i / n);
  bounds.push_back(max);
  return bounds;
}

void check_buckets(const std::vector<double>& bounds) {
  if (bounds.size() < 2)
    throw std::invalid_argument("buckets array must have at least two elements");
  for (size_t i = 1; i < bounds.size(); ++i)
    if (!(bounds[i - 1] <= bounds[i]))
      throw std::invalid_argument("the bounds of buckets must ascend");
}

int32_t bucket_of(const std::vector<double>& bounds, double value) {
  if (!(value >= bounds.front() && value <= bounds.back())) return -1;
  const auto above = std::upper_bound(bounds.begin(), bounds.end(), value);
  const auto bucket = static_cast<int32_t>(above - bounds.begin()) - 1;
  return std::min(bucket, static_cast<int32_t>(bounds.size()) - 2);
}

HyperLogLog HyperLogLog::of(double relative_sd) {
  if (!(relative_sd > 0.000017))
    throw std::invalid_argument("accuracy (" + std::to_string(relative_sd) +
                                ") must be greater than 0.000017");
  HyperLogLog made;
  made.precision =
      std::clamp(static_cast<int32_t>(std::ceil(2 * std::log2(1.054 / relative_sd))), 4, 32);
  made.registers.resize(size_t{1} << made.precision);
  return made;
}

void HyperLogLog::add(uint64_t hash) {
  const size_t index = hash >> (64 - precision);
  // The guard bit ends the run of zeros where the hash's own bits end.
  const uint64_t rest = hash << precision | uint64_t{1} << (precision - 1);
  const auto rank = static_cast<uint8_t>(std::countl_zero(rest) + 1);
  registers[index] = std::max(registers[index], rank);
}

void HyperLogLog::merge(const HyperLogLog& other) {
  for (size_t i = 0; i < registers.size(); ++i)
    registers[i] = std::max(registers[i], other.registers.at(i));
}

namespace {

double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double y = 1, z = x, before;
  do {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  } while (z != before);
  return z;
}

double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1, z = 1 - x, before;
  do {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  } while (z != before);
  return z / 3;
}

}  // namespace

int64_t HyperLogLog::estimate() const {
  const int q = 64 - precision;
  std::vector<int64_t> with_rank(static_cast<size_t>(q) + 2);
  for (const uint8_t rank : registers) ++with_rank[rank];
  const auto m = static_cast<double>(registers.size());
  double z = m * tau(1 - static_cast<double>(with_rank.back()) / m);
  for (int k = q; k >= 1; --k)
    z = 0.5 * (z + static_cast<double>(with_rank[static_cast<size_t>(k)]));
  z += m * sigma(static_cast<double>(with_rank.front()) / m);
  return std::llround(m * m / (2 * std::log(2.0)) / z);
}

double fraction_for_sample(int64_t wanted, int64_t total, bool with_replacement) {
  const double fraction = static_cast<double>(wanted) / static_cast<double>(total);
  if (with_replacement) {
    const double deviations = wanted < 12 ? 9 : 5;
    return std::max(1e-10,
                    fraction + deviations * std::sqrt(fraction / static_cast<double>(total)));
  }
  const double gamma = -std::log(1e-4) / static_cast<double>(total);
  return std::min(
      1.0, std::max(1e-10, fraction + gamma + std::sqrt(gamma * gamma + 2 * gamma * fraction)));
}

void check_sample_size(int64_t n) {
  if (n < 0) throw std::invalid_argument("Negative number of elements requested");
  constexpr double kLargest = std::numeric_limits<int32_t>::max();
  if (static_cast<double>(n) > kLargest - 10 * std::sqrt(kLargest))
    throw std::invalid_argument(
        "Cannot support a sample size > Int.MaxValue - 10.0 * math.sqrt(Int.MaxValue)");
}

int32_t tree_scale(int32_t n, int32_t depth) {
  if (depth < 1)
    throw std::invalid_argument("Depth must be greater than or equal to 1 but got " +
                                std::to_string(depth) + ".");
  return std::max(static_cast<int32_t>(std::ceil(std::pow(n, 1.0 / depth))), 2);
}

bool another_level(int32_t n, int32_t scale) {
  return n > scale + static_cast<int32_t>(std::ceil(static_cast<double>(n) / scale));
}

namespace {

/// Near that mean, never outside of what is possible.
int64_t near(Random& random, double mean, double variance, int64_t least, int64_t most) {
  double sum = -6;  // of twelve uniform numbers: normal but for the far tails
  for (int i = 0; i < 12; ++i) sum += random.unit();
  const auto found = std::llround(mean + sum * std::sqrt(std::max(variance, 0.0)));
  return std::clamp<int64_t>(found, least, most);
}

/// How many of `good` among `all` are among `draws` that are drawn without replacement.
int64_t hypergeometric(Random& random, int64_t draws, int64_t good, int64_t all) {
  constexpr int64_t kTried = 1000;  // draws that are made one by one
  int64_t found = 0;
  if (draws <= kTried) {
    for (; draws > 0; --draws, --all)
      if (static_cast<int64_t>(random.below(static_cast<uint64_t>(all))) < good) ++found, --good;
    return found;
  }
  const auto d = static_cast<double>(draws), g = static_cast<double>(good),
             n = static_cast<double>(all);
  const double variance = all > 1 ? d * (g / n) * (1 - g / n) * (n - d) / (n - 1) : 0;
  return near(random, d * g / n, variance, std::max<int64_t>(0, draws - (all - good)),
              std::min(draws, good));
}

}  // namespace

int64_t binomial(Random& random, int64_t tries, double likelihood) {
  if (tries <= 0 || likelihood <= 0) return 0;
  if (likelihood >= 1) return tries;
  if (likelihood > 0.5) return tries - binomial(random, tries, 1 - likelihood);
  const double mean = static_cast<double>(tries) * likelihood;
  if (mean > 30) return near(random, mean, mean * (1 - likelihood), 0, tries);
  // How many tries go by until it happens next is told by one uniform number.
  const double log_not = std::log1p(-likelihood);
  int64_t happened = 0;
  for (double at = 0;;) {
    at += std::floor(std::log1p(-random.unit()) / log_not) + 1;
    if (at > static_cast<double>(tries)) return happened;
    ++happened;
  }
}

void share_out(const std::vector<Quota*>& partitions, double fraction, bool with_replacement,
               Random& random) {
  int64_t records = 0;
  for (const Quota* quota : partitions) records += quota->records;
  auto wanted = static_cast<int64_t>(std::ceil(fraction * static_cast<double>(records)));
  if (!with_replacement) wanted = std::min(wanted, records);
  for (Quota* quota : partitions) {
    quota->wanted =
        with_replacement
            ? binomial(random, wanted,
                       static_cast<double>(quota->records) / static_cast<double>(records))
            : hypergeometric(random, quota->records, wanted, records);
    wanted -= quota->wanted;
    records -= quota->records;
  }
}

}  // namespace core
}  // namespace tinderbox
