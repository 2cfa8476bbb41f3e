// What else an Rdd of pairs can do: ranges of keys, samples and sketches by key, maps at the
// driver.
#pragma once

#include "core/api/operations/statistics.hpp"
#include "core/api/rdd.hpp"

namespace tinderbox {

namespace core {

template <class K>
struct InRange {
  Datum<owned_t<K>> low, high;
  auto parts() const { return std::tie(low, high); }
  template <class R>
  bool operator()(const R& record) const {
    return !before(record.first, low.value) && !before(high.value, record.first);
  }
};

template <class K>
struct SampleByKey {
  Datum<bool> with_replacement;
  Datum<MapBy<owned_t<K>, double>> fractions;
  Datum<uint64_t> seed;
  auto parts() const { return std::tie(with_replacement, fractions, seed); }
  struct Step {
    Random random;
    bool with_replacement;
    const MapBy<owned_t<K>, double>* fractions;
    template <class T>
    bool operator()(T&& record, const Sink<T>& out) {
      const auto found = fractions->find(own<K>(K(record.first)));
      if (found == fractions->end()) fail_fraction();
      if (!with_replacement) return random.unit() >= found->second || out(std::move(record));
      for (int32_t copies = poisson(random, found->second); copies > 0; --copies)
        if (!out(T(record))) return false;
      return true;
    }
  };
  Step operator()(int32_t partition) const {
    return Step{Random(seed.value, partition), with_replacement.value, &fractions.value};
  }
};
template <class K>
using Quotas = MapBy<owned_t<K>, Quota>;

/// A partition's keys and how often they are there.
template <class K>
struct CountKeysHere {
  auto parts() const { return std::tie(); }
  template <class T>
  MapBy<owned_t<K>, int64_t> operator()(Cursor<T>& in, TaskContext& context) const {
    MapBy<owned_t<K>, int64_t> counts;
    drive<T>(in, context, [&](T&& r) { return ++counts[own<K>(std::move(r.first))], true; });
    return counts;
  }
};

/// Takes what each partition's quotas say, any of the records as likely as the others.
template <class K>
struct SampleExactlyByKey {
  Datum<bool> with_replacement;
  Datum<std::vector<Quotas<K>>> quotas;
  Datum<uint64_t> seed;
  auto parts() const { return std::tie(with_replacement, quotas, seed); }
  struct Step {
    Random random;
    bool with_replacement;
    Quotas<K> quotas;
    template <class T>
    bool operator()(T&& record, const Sink<T>& out) {
      const auto found = quotas.find(own<K>(K(record.first)));
      if (found == quotas.end() || found->second.records == 0) return true;
      Quota& quota = found->second;
      const double share = 1.0 / static_cast<double>(quota.records--);
      int64_t copies = with_replacement ? binomial(random, quota.wanted, share)
                                        : random.unit() < share * static_cast<double>(quota.wanted);
      for (quota.wanted -= copies; copies > 1; --copies)
        if (!out(T(record))) return false;
      return copies == 0 || out(std::move(record));
    }
  };
  Step operator()(int32_t partition) const {
    return Step{Random(seed.value, partition), with_replacement.value,
                quotas.value.at(static_cast<size_t>(partition))};
  }
};

struct AddToSketch {
  template <class V>
  HyperLogLog operator()(HyperLogLog sketch, V&& value) const {
    Bytes scratch;
    sketch.add(hash_wide(KeyBytes<std::decay_t<V>>::view(value, scratch)));
    return sketch;
  }
};
struct MergeSketches {
  HyperLogLog operator()(HyperLogLog a, HyperLogLog b) const {
    a.merge(b);
    return a;
  }
};
struct EstimateOf {
  int64_t operator()(const HyperLogLog& sketch) const { return sketch.estimate(); }
};
/// A partition's keys with their values combined.
template <class K, class V, class F>
struct ReduceByKeyHere {
  F f;
  auto parts() const { return std::tie(f); }
  MapBy<owned_t<K>, owned_t<V>> operator()(Cursor<std::pair<K, V>>& in,
                                           TaskContext& context) const {
    MapBy<owned_t<K>, owned_t<V>> sums;
    drive<std::pair<K, V>>(in, context, [&](std::pair<K, V>&& r) {
      add(sums, own<K>(std::move(r.first)), std::move(r.second));
      return true;
    });
    return sums;
  }
  template <class Value>
  void add(MapBy<owned_t<K>, owned_t<V>>& sums, owned_t<K> key, Value&& value) const {
    const auto found = sums.find(key);
    if (found == sums.end())
      sums.emplace(std::move(key), own<V>(V(std::forward<Value>(value))));
    else
      found->second = owned_t<V>(f(std::move(found->second), std::forward<Value>(value)));
  }
};

}  // namespace core

template <class T>
class PairSamples {};

/// Source: Spark PairRDDFunctions, OrderedRDDFunctions.
template <class K, class V>
class PairSamples<std::pair<K, V>> {
 public:
  using Self = Rdd<std::pair<K, V>>;

  /// Records with low ≤ key ≤ high; looks at few partitions where they are sorted by range.
  Self filter_by_range(const owned_t<K>& low, const owned_t<K>& high,
                       Site site = Site::current()) const {
    return of_range(low, high, site).filter(core::InRange<K>{{low}, {high}}, site);
  }
  /// Of each key about its fraction of the records. Errors: std::invalid_argument; a task fails for
  /// a key without a fraction.
  Self sample_by_key(bool with_replacement, core::MapBy<owned_t<K>, double> fractions,
                     uint64_t seed = core::random_seed(), Site site = Site::current()) const {
    std::vector<double> all;
    for (const auto& [key, fraction] : fractions) all.push_back(fraction);
    core::require_fractions(with_replacement, all);
    return self().template stateful<std::pair<K, V>>(
        core::SampleByKey<K>{{with_replacement}, {std::move(fractions)}, {seed}}, "sampleByKey",
        site, true, true);
  }
  /// Of each key exactly ⌈its fraction × its number⌉ records; keys without a fraction have none. A
  /// job counts the keys first. Errors: std::invalid_argument. Source: Spark sampleByKeyExact.
  Self sample_by_key_exact(bool with_replacement, const core::MapBy<owned_t<K>, double>& fractions,
                           uint64_t seed = core::random_seed(), Site site = Site::current()) const {
    std::vector<double> all;
    for (const auto& [key, fraction] : fractions) all.push_back(fraction);
    core::require_fractions(with_replacement, all);
    std::vector<core::Quotas<K>> quotas(static_cast<size_t>(self().num_partitions()));
    self().act(core::CountKeysHere<K>{}, self().all(), "sampleByKeyExact", site,
               [&](int32_t partition, const core::MapBy<owned_t<K>, int64_t>& counts) {
                 for (const auto& [key, n] : counts)
                   quotas[static_cast<size_t>(partition)][key].records = n;
               });
    core::Random random(seed, -1);
    for (const auto& [key, fraction] : fractions) {
      std::vector<core::Quota*> of_key;
      for (auto& here : quotas)
        if (const auto found = here.find(key); found != here.end())
          of_key.push_back(&found->second);
      core::share_out(of_key, fraction, with_replacement, random);
    }
    return self().template stateful<std::pair<K, V>>(
        core::SampleExactlyByKey<K>{{with_replacement}, {std::move(quotas)}, {seed}},
        "sampleByKeyExact", site, true, true);
  }
  /// About how many different values each key has.
  auto count_approx_distinct_by_key(double relative_sd = 0.05, const core::Into& into = 0,
                                    Site site = Site::current()) const {
    return self()
        .aggregate_by_key(core::HyperLogLog::of(relative_sd), core::AddToSketch{},
                          core::MergeSketches{}, into, site)
        .map_values(core::EstimateOf{}, site);
  }
  /// As reduce_by_key(), merged at the driver without a shuffle.
  template <class F>
  core::MapBy<owned_t<K>, owned_t<V>> reduce_by_key_locally(F f,
                                                            Site site = Site::current()) const {
    core::check_ordered<owned_t<K>>();
    const core::ReduceByKeyHere<K, V, F> reduce{std::move(f)};
    core::MapBy<owned_t<K>, owned_t<V>> sums;
    self().act(reduce, self().all(), "reduceByKeyLocally", site,
               [&](int32_t, core::MapBy<owned_t<K>, owned_t<V>> part) {
                 for (auto& [key, value] : part) reduce.add(sums, key, core::release<V>(value));
               });
    return sums;
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }

  /// The partitions that may have keys of the range. Source: Spark PartitionPruningRDD.
  Self of_range(const owned_t<K>& low, const owned_t<K>& high, Site site) const {
    const auto& partitioner = self().partitioner();
    if (!partitioner || partitioner->kind != core::Partitioner::Kind::Range) return self();
    const core::PartitionOf<K> partition_of(*partitioner);
    auto first = partition_of(core::borrow<K>(low), 0),
         last = partition_of(core::borrow<K>(high), 0);
    if (first > last) std::swap(first, last);
    auto dependency = self().narrow();
    dependency.kind = core::NarrowDependency::Kind::Table;
    for (int32_t p = first; p <= last; ++p) dependency.table.push_back({p});
    auto node = std::make_unique<core::ChainNode<std::pair<K, V>>>();
    node->num_partitions = last - first + 1;
    return self().template make<std::pair<K, V>>(
        std::move(node), {"PartitionPruningRDD", "filterByRange", site}, {std::move(dependency)});
  }
};

}  // namespace tinderbox
