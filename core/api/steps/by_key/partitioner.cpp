#include "core/api/steps/by_key/partitioner.hpp"

#include <algorithm>
#include <cmath>

#include "conf/conf.hpp"
#include "conf/keys.hpp"
#include "core/api/operations/pair_rdd.hpp"

namespace tinderbox::core {

Partitioner default_partitioner(Context& context, std::span<const NodePtr> inputs) {
  int32_t most = 0;
  const Partitioner* candidate = nullptr;
  for (const NodePtr& input : inputs) {
    most = std::max(most, input->num_partitions);
    const auto& own = input->partitioner;
    if (own && own->num_partitions > 0 &&
        (!candidate || own->num_partitions > candidate->num_partitions)) {
      candidate = &*own;
    }
  }
  const auto configured = context.conf().get(conf::kDefaultParallelism);
  const int32_t count = configured.value_or(most);
  if (candidate) {
    const bool close = std::log10(most) - std::log10(candidate->num_partitions) < 1;
    if (close || count <= candidate->num_partitions) return *candidate;
  }
  return hash_partitioner(std::max(count, 1));
}

Partitioner choose_partitioner(Context& context, std::span<const NodePtr> inputs,
                               const Into& into) {
  if (into.partitioner) return *into.partitioner;
  const int32_t n = choose_count(into.n, 0);
  return n > 0 ? hash_partitioner(n) : default_partitioner(context, inputs);
}

int32_t choose_count(int32_t n, int32_t otherwise) {
  if (n < 0)
    throw std::invalid_argument("Number of partitions (" + std::to_string(n) +
                                ") cannot be negative.");
  return n > 0 ? n : otherwise;
}

double sample_size(int32_t n) { return std::min(20.0 * n, 1e6); }

int64_t reservoir_size(int32_t n, int32_t input_partitions) {
  return static_cast<int64_t>(std::ceil(3.0 * sample_size(n) / std::max(input_partitions, 1)));
}

void require_keys(Decoder& in, std::string_view type) {
  const std::string_view of = in.text();
  if (of == type) return;
  throw std::invalid_argument("a partitioner of keys of the type " + std::string(of) +
                              " was given keys of the type " + std::string(type) +
                              " (as the compiler names them)");
}

void fail_partition(int32_t got, int32_t n) {
  throw std::invalid_argument("the partition function answered " + std::to_string(got) +
                              ", but partitions are 0 to " + std::to_string(n - 1));
}

}  // namespace tinderbox::core
