// Which reduce partition a key belongs to, and the bytes by which keys are compared.
#pragma once

#include <span>

#include "core/api/context.hpp"
#include "core/api/steps/owned.hpp"
#include "core/plan/task.hpp"
#include "core/shuffle/hash.hpp"

namespace tinderbox::core {

/// A key as bytes: equal keys have equal bytes.
template <class K>
struct KeyBytes {
  static_assert(
      !Container<K> || TextLike<K> || !requires { typename K::hasher; },
      "an unordered container cannot be a key: equal ones may have different bytes");
  static constexpr bool kMemory = kPlainMemory<K> && !std::is_floating_point_v<K>;
  /// A view of the key itself or of `scratch`.
  static std::string_view view(const K& key, Bytes& scratch) {
    if constexpr (TextLike<K>)
      return key;
    else if constexpr (kMemory)
      return {reinterpret_cast<const char*>(&key), sizeof key};
    else {
      scratch.clear();
      Encoder out(scratch);
      if constexpr (std::is_floating_point_v<K>)
        core::encode<K>(out, key + K{0});  // -0.0 is 0.0
      else
        core::encode<K>(out, key);
      return scratch;
    }
  }
  /// The key back; views in it point into `bytes`.
  static K restore(std::string_view bytes) {
    if constexpr (TextLike<K>)
      return K(bytes);
    else {
      Decoder in(bytes);
      return core::decode<K>(in);
    }
  }
  /// Writes what encode<K> would have written.
  static void encode(Encoder& out, std::string_view bytes) {
    if constexpr (TextLike<K>)
      out.text(bytes);
    else
      out.raw(bytes.data(), bytes.size());
  }
};

template <class K>
struct RangeBounds {
  bool ascending = true;
  std::vector<owned_t<K>> bounds;
};

/// The partition of a key by a Partitioner, decoded once a task.
template <class K>
class PartitionOf {
 public:
  explicit PartitionOf(const Partitioner& partitioner) : n_(partitioner.num_partitions) {
    if (partitioner.kind == Partitioner::Kind::Range) {
      Decoder in(partitioner.parameters);
      range_.emplace();
      range_->ascending = decode<bool>(in);
      range_->bounds = decode<std::vector<owned_t<K>>>(in);
    } else if (partitioner.kind == Partitioner::Kind::Custom) {
      custom_ = partitioner.parameters;
      Decoder in(custom_);
      const auto* code = find_descriptor(in.varint());
      if (!code || !code->partition) Decoder::fail("an unknown partition function");
      function_ = code->partition;
      custom_.erase(0, custom_.size() - in.remaining());
    }
  }
  /// Whether the hash alone decides.
  bool by_hash() const { return !range_ && !function_; }
  int32_t operator()(const K& key, uint32_t hash) const {
    if (range_) return by_range(key);
    if (function_) return function_(custom_, &key);
    return hash_partition(hash, n_);
  }

 private:
  int32_t by_range(const K& key) const {
    if constexpr (requires(const owned_t<K>& a, const K& b) { a < b; }) {
      const auto& bounds = range_->bounds;
      const auto at = std::lower_bound(bounds.begin(), bounds.end(), key) - bounds.begin();
      return static_cast<int32_t>(range_->ascending ? at
                                                    : static_cast<ptrdiff_t>(bounds.size()) - at);
    } else {
      Decoder::fail("keys without an order are partitioned by range");
    }
  }
  int32_t n_;
  std::optional<RangeBounds<K>> range_;
  Bytes custom_;
  int32_t (*function_)(std::string_view captured, const void* key) = nullptr;
};

/// Source: Spark Partitioner.defaultPartitioner (spec/08 §3).
Partitioner default_partitioner(Context& context, std::span<const NodePtr> inputs);
inline Partitioner hash_partitioner(int32_t n) { return {Partitioner::Kind::Hash, n, {}}; }
/// `n` partitions if given (0: not), else the default.
/// Errors: throws std::invalid_argument when n is negative.
Partitioner choose_partitioner(Context& context, std::span<const NodePtr> inputs, int32_t n);
/// The error of a partition function: throws std::invalid_argument.
[[noreturn]] void fail_partition(int32_t got, int32_t n);

}  // namespace tinderbox::core
