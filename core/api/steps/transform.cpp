#include "core/api/steps/transform.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <typeinfo>

#include "conf/conf.hpp"
#include "conf/keys.hpp"
#include "core/api/rdd.hpp"
#include "net/process/environment.hpp"

namespace tinderbox::core {
namespace {

constexpr double kFractionSlack = 1e-6;

int32_t index_itself(std::string_view, const void* key) {
  return *static_cast<const int32_t*>(key);
}
constexpr Descriptor kIndexItself{.partition = &index_itself};
const bool kIndexRegistered = register_descriptor(&kIndexItself);

}  // namespace

void require_zippable(const Node& a, const Node& b) {
  if (a.num_partitions == b.num_partitions) return;
  throw std::invalid_argument("Can't zip RDDs with unequal numbers of partitions: List(" +
                              std::to_string(a.num_partitions) + ", " +
                              std::to_string(b.num_partitions) + ")");
}

void require_fraction(bool with_replacement, double fraction) {
  const bool fits = with_replacement
                        ? fraction >= 0
                        : fraction >= -kFractionSlack && fraction <= 1 + kFractionSlack;
  if (fits) return;
  throw std::invalid_argument(
      with_replacement
          ? "the fraction of a sample with replacement must be at least 0, but was " +
                std::to_string(fraction)
          : "the fraction of a sample without replacement must be between 0 and 1, but was " +
                std::to_string(fraction));
}

void require_fractions(bool with_replacement, const std::vector<double>& fractions) {
  for (const double fraction : fractions) require_fraction(with_replacement, fraction);
}

uint64_t random_seed() { return net::random_bits(); }

void fail_fraction() {
  throw std::out_of_range("sample_by_key was given no fraction for a key that is there");
}

std::vector<std::pair<double, double>> split_bounds(const std::vector<double>& weights) {
  double sum = 0;
  for (const double w : weights) {
    if (!(w >= 0))
      throw std::invalid_argument("Weights must be nonnegative, but got " + std::to_string(w));
    sum += w;
  }
  if (!(sum > 0))
    throw std::invalid_argument("Sum of weights must be positive, but got " + std::to_string(sum));
  std::vector<std::pair<double, double>> bounds;
  double from = 0;
  for (const double w : weights) {
    bounds.emplace_back(from, from + w / sum);
    from = bounds.back().second;
  }
  bounds.back().second = std::max(bounds.back().second, 1.0);
  return bounds;
}

int32_t cartesian_partitions(int32_t n, int32_t m) {
  const int64_t all = int64_t{n} * m;
  if (all <= std::numeric_limits<int32_t>::max()) return static_cast<int32_t>(all);
  throw std::invalid_argument("cartesian() of " + std::to_string(n) + " and " + std::to_string(m) +
                              " partitions would have " + std::to_string(all) +
                              ", and an RDD has at most 2147483647: coalesce() its sides");
}

std::vector<Dependency> cartesian_dependencies(const NodePtr& left, const NodePtr& right) {
  NarrowDependency to_left{.parent = left, .kind = NarrowDependency::Kind::Table, .table = {}};
  NarrowDependency to_right{.parent = right, .kind = NarrowDependency::Kind::Table, .table = {}};
  for (int32_t i = 0; i < left->num_partitions; ++i) {
    for (int32_t j = 0; j < right->num_partitions; ++j) {
      to_left.table.push_back({i});
      to_right.table.push_back({j});
    }
  }
  return {std::move(to_left), std::move(to_right)};
}

std::vector<Dependency> union_dependencies(const std::vector<NodePtr>& inputs, Node& node,
                                           const char*& name) {
  std::vector<NodePtr> filled;
  for (const auto& input : inputs) {
    if (input->num_partitions > 0) filled.push_back(input);
  }
  std::vector<Dependency> dependencies;
  if (filled.empty()) return dependencies;
  const auto& partitioner = filled[0]->partitioner;
  const bool alike =
      partitioner && std::all_of(filled.begin(), filled.end(), [&](const NodePtr& input) {
        return input->partitioner == partitioner;
      });
  if (alike) {
    name = "PartitionerAwareUnionRDD";
    node.partitioner = partitioner;
    node.num_partitions = partitioner->num_partitions;
    for (const auto& input : filled)
      dependencies.push_back(NarrowDependency{.parent = input, .table = {}});
    return dependencies;
  }
  for (const auto& input : filled) {
    dependencies.push_back(NarrowDependency{.parent = input,
                                            .kind = NarrowDependency::Kind::Range,
                                            .out_start = node.num_partitions,
                                            .in_start = 0,
                                            .length = input->num_partitions,
                                            .table = {}});
    node.num_partitions += input->num_partitions;
  }
  return dependencies;
}

Partitioner by_index_partitioner(int32_t n) {
  Bytes parameters;
  Encoder out(parameters);
  out.text(typeid(int32_t).name());
  out.varint(descriptor_offset(&kIndexItself));
  return {Partitioner::Kind::Custom, n, std::move(parameters), {}};
}

int32_t poisson(Random& random, double mean) {
  // Knuth's product of uniforms, in steps small enough for exp.
  int32_t n = 0;
  for (; mean > 0; mean -= 500) {
    const double limit = std::exp(-std::min(mean, 500.0));
    for (double product = random.unit(); product > limit; product *= random.unit()) ++n;
  }
  return n;
}

int32_t next_take_partitions(Context& context, int32_t scanned, int64_t found, int64_t wanted) {
  if (scanned == 0) return std::max(context.conf().get(conf::kRddLimitInitialPartitions), 1);
  const int64_t factor = std::max(context.conf().get(conf::kRddLimitScaleUpFactor), 2);
  int64_t more = scanned * factor;
  if (found > 0) {
    const double left = static_cast<double>(wanted - found);
    const double estimate = std::ceil(1.5 * left * scanned / static_cast<double>(found));
    more = std::clamp<int64_t>(static_cast<int64_t>(std::min(estimate, 1e9)), 1, more);
  }
  return static_cast<int32_t>(std::min<int64_t>(more, INT32_MAX));
}

}  // namespace tinderbox::core
