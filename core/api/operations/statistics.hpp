// What numeric actions count with: moments, buckets, and how many different values there are.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tinderbox {

/// Count, mean, variance and extremes of numbers that come one by one, or part by part.
/// Source: Spark StatCounter (Welford's and Chan's updates). A plain record, so it travels.
struct StatCounter {
  int64_t n = 0;
  double mu = 0, m2 = 0;  // running mean; sum of squared distances from it
  double largest = -std::numeric_limits<double>::infinity();
  double smallest = std::numeric_limits<double>::infinity();

  void add(double value);
  void merge(const StatCounter& other);
  int64_t count() const { return n; }
  double mean() const { return mu; }
  double sum() const { return static_cast<double>(n) * mu; }
  double max() const { return largest; }
  double min() const { return smallest; }
  /// Of the whole population; NaN when there is none.
  double variance() const;
  double stdev() const;
  /// Of a sample, which divides by n - 1; NaN for fewer than two.
  double sample_variance() const;
  double sample_stdev() const;
  /// "(count: 4, mean: 2.500000, stdev: 1.118034, max: 4.000000, min: 1.000000)"
  std::string to_string() const;
};

namespace core {

/// `n` buckets of the same width from min to max: n + 1 bounds; two equal ones when min is max.
/// Errors: throws std::domain_error with Spark's words unless both are finite.
std::vector<double> even_buckets(double min, double max, int32_t n);
/// Errors: throws std::invalid_argument for fewer than two bounds, or bounds that do not ascend.
void check_buckets(const std::vector<double>& bounds);
/// The bucket of a value, the last one with its upper bound; below 0: none has it.
int32_t bucket_of(const std::vector<double>& bounds, double value);

/// How many different values there were, from 2^precision registers of a byte.
/// Source: Flajolet et al., HyperLogLog; the estimate is Ertl's (2017), which needs no tables of
/// corrections for small counts.
struct HyperLogLog {
  int32_t precision = 0;
  std::vector<uint8_t> registers;

  /// Registers for a relative standard deviation. Errors: throws std::invalid_argument unless
  /// `relative_sd` > 0.000017.
  static HyperLogLog of(double relative_sd);
  /// `hash`: 64 well mixed bits of the value.
  void add(uint64_t hash);
  void merge(const HyperLogLog& other);
  int64_t estimate() const;
};

/// The fraction by which a sample of a Bernoulli (without replacement) or Poisson process almost
/// never has fewer than `wanted` of `total`. Source: Spark
/// SamplingUtils.computeFractionForSampleSize.
double fraction_for_sample(int64_t wanted, int64_t total, bool with_replacement);
/// Errors: throws std::invalid_argument with Spark's words.
void check_sample_size(int64_t n);

class Random;

/// Of one key in one partition: records that are there, and those to be taken.
struct Quota {
  int64_t records = 0, wanted = 0;
};
/// How often something of that likelihood happens in so many tries. Above thirty expected, and as
/// many expected not, by the normal distribution.
int64_t binomial(Random& random, int64_t tries, double likelihood);
/// Sets `wanted` of all partitions so that together they are ⌈fraction × records⌉, as if that many
/// had been drawn from all records.
void share_out(const std::vector<Quota*>& partitions, double fraction, bool with_replacement,
               Random& random);

/// How wide a tree of aggregations over n partitions is at each level. Errors: throws
/// std::invalid_argument unless depth is positive.
int32_t tree_scale(int32_t n, int32_t depth);
/// Whether another level of n / scale partitions makes the last one smaller.
bool another_level(int32_t n, int32_t scale);

}  // namespace core
}  // namespace tinderbox
