// Which reduce partition a key belongs to, and the bytes by which keys are compared.
#pragma once

#include <algorithm>
#include <span>
#include <typeinfo>

#include "core/api/context.hpp"
#include "core/api/steps/by_key/sort_prefix.hpp"
#include "core/api/steps/values/order.hpp"
#include "core/plan/tasks/task.hpp"
#include "core/shuffle/tables/hash.hpp"

namespace tinderbox::core {

template <class T>
concept Unordered = Container<T> && requires { typename T::hasher; };
template <class T>
struct IsUnordered : std::bool_constant<Unordered<T>> {};

/// A key as bytes: equal keys have equal bytes.
template <class K>
struct KeyBytes {
  static_assert(!any_part<IsUnordered, K>(),
                "an unordered container cannot be a key, nor a part of one: equal ones may have "
                "different bytes");
  static constexpr bool kMemory = kPlainMemory<K> && !holds_floating<K>();
  /// A view of the key itself or of `scratch`.
  static std::string_view view(const K& key, Bytes& scratch) {
    if constexpr (TextLike<K>)
      return key;
    else if constexpr (kMemory)
      return {reinterpret_cast<const char*>(&key), sizeof key};
    else {
      scratch.clear();
      Encoder out(scratch);
      if constexpr (holds_floating<K>()) {
        K canonical = key;
        make_canonical(canonical);
        core::encode<K>(out, canonical);
      } else
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

/// What stands before the parameters of a partitioner that is for keys of one type.
template <class K>
std::string_view type_of_keys() {
  return typeid(owned_t<K>).name();
}
/// Errors: throws std::invalid_argument when `in` does not begin with that.
void require_keys(Decoder& in, std::string_view type);

/// The partition of a key by a Partitioner, decoded once a task. Errors: throws
/// std::invalid_argument when that was made for keys of another type.
template <class K>
class PartitionOf {
 public:
  explicit PartitionOf(const Partitioner& partitioner) : n_(partitioner.num_partitions) {
    if (partitioner.kind == Partitioner::Kind::Range) {
      Decoder in(partitioner.parameters);
      require_keys(in, type_of_keys<K>());
      range_.emplace();
      range_->ascending = decode<bool>(in);
      range_->bounds = decode<std::vector<owned_t<K>>>(in);
      for (const auto& bound : range_->bounds)
        prefixes_.push_back(SortPrefix<owned_t<K>>::of(bound));
    } else if (partitioner.kind == Partitioner::Kind::Custom) {
      custom_ = partitioner.parameters;
      Decoder in(custom_);
      require_keys(in, typeid(K).name());  // its function takes no other ones, owned or not
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
    if constexpr (Ordered<K>) {
      const auto bounds = range_->bounds.begin();
      const uint64_t prefix = SortPrefix<K>::of(key);
      const size_t n = prefixes_.size();
      size_t at = first_not_below(prefix);
      if (!SortPrefix<K>::kExact && at < n && prefixes_[at] == prefix) {
        const auto end = std::upper_bound(prefixes_.begin(), prefixes_.end(), prefix);
        at = static_cast<size_t>(std::lower_bound(bounds + static_cast<ptrdiff_t>(at),
                                                  bounds + (end - prefixes_.begin()), key,
                                                  Before{}) -
                                 bounds);
      }
      return static_cast<int32_t>(range_->ascending ? at : n - at);
    } else {
      Decoder::fail("keys without an order are partitioned by range");
    }
  }
  /// Without branches that depend on the key: they could not be foreseen.
  size_t first_not_below(uint64_t prefix) const {
    const uint64_t* from = prefixes_.data();
    size_t n = prefixes_.size();
    for (; n > 1; n -= n / 2) from += from[n / 2 - 1] < prefix ? n / 2 : 0;
    return static_cast<size_t>(from - prefixes_.data()) + (n == 1 && *from < prefix);
  }
  int32_t n_;
  std::optional<RangeBounds<K>> range_;
  std::vector<uint64_t> prefixes_;  // of the bounds
  Bytes custom_;
  int32_t (*function_)(std::string_view captured, const void* key) = nullptr;
};

/// Source: Spark Partitioner.defaultPartitioner (spec/08 §3).
Partitioner default_partitioner(Context& context, std::span<const NodePtr> inputs);
inline Partitioner hash_partitioner(int32_t n) { return {Partitioner::Kind::Hash, n, {}, {}}; }
/// Where an operation by key puts its results: `n` partitions by hash (0: as the default
/// partitioner says), or those of a partitioner.
struct Into {
  Into(int32_t count) : n(count) {}  // NOLINT(google-explicit-constructor): Spark has overloads
  Into(Partitioner one) : partitioner(std::move(one)) {}  // NOLINT(google-explicit-constructor)
  bool told() const { return partitioner || n != 0; }
  int32_t n = 0;
  std::optional<Partitioner> partitioner;
};
/// Errors: throws std::invalid_argument when there is no such number of partitions.
Partitioner choose_partitioner(Context& context, std::span<const NodePtr> inputs, const Into& into);
/// `n` partitions if given (0: not), else `otherwise`. Errors: as above.
int32_t choose_count(int32_t n, int32_t otherwise);
/// The error of a partition function: throws std::invalid_argument.
[[noreturn]] void fail_partition(int32_t got, int32_t n);

}  // namespace tinderbox::core
