// What part of a job's results says of the whole: an estimate, and bounds that hold with some
// confidence.
#pragma once

#include <cstdint>
#include <string>

#include "core/api/operations/statistics.hpp"

namespace tinderbox {

/// A number that lies in [low, high] with `confidence`; an exact one has confidence 1 and three
/// equal numbers. A plain record. Source: Spark BoundedDouble.
struct BoundedDouble {
  double mean = 0, confidence = 0, low = 0, high = 0;
  bool operator==(const BoundedDouble&) const = default;
  /// "[9.000, 11.000]"
  std::string to_string() const;
};

namespace core {

/// Errors: throws std::invalid_argument unless it is in [0, 1].
void check_confidence(double confidence);

// `share` of the partitions were seen, from 0 (none: nothing is known) to 1 (all: exact).

/// `seen` records so far. Source: Spark CountEvaluator.
BoundedDouble estimate_count(int64_t seen, double share, double confidence);
/// Source: Spark MeanEvaluator.
BoundedDouble estimate_mean(const StatCounter& seen, double share, double confidence);
/// Source: Spark SumEvaluator.
BoundedDouble estimate_sum(const StatCounter& seen, double share, double confidence);

}  // namespace core
}  // namespace tinderbox
