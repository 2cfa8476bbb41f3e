// What an Rdd of numbers can do beside: sums, moments, histograms.
#pragma once

#include <chrono>
#include <cmath>

#include "core/api/operations/estimates.hpp"
#include "core/api/rdd.hpp"

namespace tinderbox {

namespace core {

struct CountMoments {
  template <class T>
  StatCounter operator()(Cursor<T>& in, TaskContext& context) const {
    StatCounter stats;
    drive<T>(in, context, [&](T&& x) { return stats.add(static_cast<double>(x)), true; });
    return stats;
  }
};
struct CountBuckets {
  Datum<std::vector<double>> bounds;
  auto parts() const { return std::tie(bounds); }
  template <class T>
  std::vector<int64_t> operator()(Cursor<T>& in, TaskContext& context) const {
    std::vector<int64_t> counts(bounds.value.size() - 1);
    drive<T>(in, context, [&](T&& x) {
      const int32_t bucket = bucket_of(bounds.value, static_cast<double>(x));
      if (bucket >= 0) ++counts[static_cast<size_t>(bucket)];
      return true;
    });
    return counts;
  }
};

}  // namespace core

/// Source: Spark DoubleRDDFunctions. Nothing, but for numbers.
template <class T>
class NumericOperations {
 public:
  void sum(auto&&...) const { need_numbers(); }
  void stats(auto&&...) const { need_numbers(); }
  void mean(auto&&...) const { need_numbers(); }
  void stdev(auto&&...) const { need_numbers(); }
  void variance(auto&&...) const { need_numbers(); }
  void histogram(auto&&...) const { need_numbers(); }

 private:
  static consteval void need_numbers() {
    static_assert(std::is_arithmetic_v<T>,
                  "sums and statistics need an Rdd of numbers: map() its records to numbers first");
  }
};

template <class T>
  requires std::is_arithmetic_v<T>
class NumericOperations<T> {
 public:
  /// 0 when there are none. Of integers exact, in 64 bits (unsigned ones of 64 bits: unsigned);
  /// beyond these it wraps around, as Java's and Scala's sum of Longs.
  auto sum(Site site = Site::current()) const {
    using Integer = std::conditional_t<std::is_unsigned_v<T> && sizeof(T) == 8, uint64_t, int64_t>;
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, Integer>;
    return self().aggregate(Sum{0}, core::Plus{}, core::Plus{}, site);
  }
  /// All moments in one job.
  StatCounter stats(Site site = Site::current()) const { return moments("stats", site); }
  double mean(Site site = Site::current()) const { return moments("mean", site).mean(); }
  /// Of the whole population, as stdev(); sample_… divide by n - 1.
  double variance(Site site = Site::current()) const {
    return moments("variance", site).variance();
  }
  double stdev(Site site = Site::current()) const { return moments("stdev", site).stdev(); }
  double pop_variance(Site site = Site::current()) const { return variance(site); }
  double pop_stdev(Site site = Site::current()) const { return stdev(site); }
  double sample_variance(Site site = Site::current()) const {
    return moments("sampleVariance", site).sample_variance();
  }
  double sample_stdev(Site site = Site::current()) const {
    return moments("sampleStdev", site).sample_stdev();
  }
  /// What is known of it after `timeout`. Source: Spark DoubleRDDFunctions.sumApprox, meanApprox.
  auto sum_approx(std::chrono::milliseconds timeout, double confidence = 0.95,
                  Site site = Site::current()) const {
    return moments_by(timeout, confidence, "sumApprox", site, core::estimate_sum);
  }
  auto mean_approx(std::chrono::milliseconds timeout, double confidence = 0.95,
                   Site site = Site::current()) const {
    return moments_by(timeout, confidence, "meanApprox", site, core::estimate_mean);
  }
  /// Bounds of n even buckets from the smallest to the largest number, and how many lie in each.
  /// Runs two jobs. Errors: std::domain_error when there are none, or not all are finite.
  std::pair<std::vector<double>, std::vector<int64_t>> histogram(
      int32_t n, Site site = Site::current()) const {
    const StatCounter all = moments("histogram", site);
    auto bounds = std::isnan(all.mean()) ? core::even_buckets(all.mean(), all.mean(), n)
                                         : core::even_buckets(all.min(), all.max(), n);
    auto counts = histogram(bounds, site);
    return {std::move(bounds), std::move(counts)};
  }
  /// How many lie in each bucket [bounds[i], bounds[i+1]), the last one with its upper bound; NaN
  /// and what lies outside in none. Shape: one less than `bounds`, which ascend. Errors:
  /// std::invalid_argument.
  std::vector<int64_t> histogram(const std::vector<double>& bounds,
                                 Site site = Site::current()) const {
    core::check_buckets(bounds);
    std::vector<int64_t> counts(bounds.size() - 1);
    self().act(core::CountBuckets{{bounds}}, self().all(), "histogram", site,
               [&](int32_t, const std::vector<int64_t>& part) {
                 for (size_t i = 0; i < counts.size(); ++i) counts[i] += part.at(i);
               });
    return counts;
  }

 private:
  const Rdd<T>& self() const { return static_cast<const Rdd<T>&>(*this); }
  StatCounter moments(const char* operation, Site site) const {
    StatCounter all;
    self().act(core::CountMoments{}, self().all(), operation, site,
               [&](int32_t, const StatCounter& part) { all.merge(part); });
    return all;
  }
  template <class Estimate>
  auto moments_by(std::chrono::milliseconds timeout, double confidence, const char* operation,
                  Site site, Estimate estimate) const {
    return self().template tally<StatCounter>(
        core::CountMoments{}, timeout, confidence, operation, site,
        [](StatCounter& all, const StatCounter& part) { all.merge(part); }, estimate);
  }
};

}  // namespace tinderbox
