// What an Rdd of pairs can do beside: everything by key.
#pragma once

#include "core/api/rdd.hpp"

namespace tinderbox {

namespace core {

/// Partitioners whose function is Code::partition(captured, key), of keys of type K.
template <class K, class Code>
struct PartitionCode {
  static constexpr Descriptor kDescriptor{.partition = &Code::partition};
  static inline const bool kRegistered = register_descriptor(&kDescriptor);
  /// `captured`: write(Encoder&) makes it.
  template <class Write>
  static Partitioner make(int32_t n, Write write) {
    (void)kRegistered;
    Partitioner made{Partitioner::Kind::Custom, n, {}, {}};
    const Holding holding(made.held);
    Encoder out(made.parameters);
    out.text(typeid(K).name());
    out.varint(descriptor_offset(&kDescriptor));
    write(out);
    return made;
  }
};
/// A user's partition function over keys of type K, by value.
template <class K, class F>
struct CustomPartition {
  static int32_t partition(std::string_view captured, const void* key) {
    Decoder in(captured);
    const auto n = decode<int32_t>(in);
    const int32_t p = ClosureCodec<F>::decode(in)(*static_cast<const K*>(key));
    if (p < 0 || p >= n) fail_partition(p, n);
    return p;
  }
  static Partitioner make(int32_t n, const F& f) {
    return PartitionCode<K, CustomPartition>::make(n, [&](Encoder& out) {
      core::encode(out, n);
      ClosureCodec<F>::encode(out, f);
    });
  }
};
/// Pairs that are keys themselves, where another partitioner has put them by their first parts.
template <class K, class V>
struct PartitionByFirst {
  static int32_t partition(std::string_view captured, const void* pair) {
    thread_local Bytes known, scratch;
    thread_local std::optional<PartitionOf<K>> partition_of;  // decoded once for many
    if (!partition_of || known != captured) {
      known = captured;
      partition_of.emplace(from_bytes<Partitioner>(captured));
    }
    const K& key = static_cast<const std::pair<K, V>*>(pair)->first;
    return (*partition_of)(key, hash_key(KeyBytes<K>::view(key, scratch)));
  }
  static Partitioner make(const Partitioner& by) {
    Partitioner made = PartitionCode<std::pair<K, V>, PartitionByFirst>::make(
        by.num_partitions, [&](Encoder& out) { core::encode<Partitioner>(out, by); });
    made.held = by.held;
    return made;
  }
};

/// Some of a partition's keys, for choosing bounds. Shape: seen ≥ keys.size().
template <class K>
struct KeySample {
  int64_t seen = 0;
  std::vector<owned_t<K>> keys;
  template <class Self>
  static auto record_fields(Self& self) {
    return std::tie(self.seen, self.keys);
  }
};
/// A reservoir of `size` keys of a partition.
template <class K, class V>
struct SampleKeys {
  Datum<int64_t> size;
  Datum<uint64_t> seed;
  auto parts() const { return std::tie(size, seed); }
  KeySample<K> operator()(Cursor<std::pair<K, V>>& in, TaskContext& context) const {
    KeySample<K> sample;
    Random random(seed.value, context.partition);
    drive<std::pair<K, V>>(in, context, [&](std::pair<K, V>&& record) {
      ++sample.seen;
      if (static_cast<int64_t>(sample.keys.size()) < size.value) {
        sample.keys.push_back(own<K>(std::move(record.first)));
      } else if (const auto at = random.below(static_cast<uint64_t>(sample.seen));
                 at < sample.keys.size()) {
        sample.keys[at] = own<K>(std::move(record.first));
      }
      return true;
    });
    return sample;
  }
};
/// About `fraction` of a partition's keys.
template <class K, class V>
struct SampleShare {
  Datum<double> fraction;
  Datum<uint64_t> seed;
  auto parts() const { return std::tie(fraction, seed); }
  std::vector<owned_t<K>> operator()(Cursor<std::pair<K, V>>& in, TaskContext& context) const {
    std::vector<owned_t<K>> keys;
    Random random(seed.value, context.partition);
    drive<std::pair<K, V>>(in, context, [&](std::pair<K, V>&& record) {
      if (random.unit() < fraction.value) keys.push_back(own<K>(std::move(record.first)));
      return true;
    });
    return keys;
  }
};
/// Sampled keys for n output partitions. Source: Spark RangePartitioner.
double sample_size(int32_t n);
/// How many of them of each partition at first.
int64_t reservoir_size(int32_t n, int32_t input_partitions);

/// Bounds that cut the weighted keys into n parts of about equal weight, or as many as there are
/// keys; equal keys never make two bounds.
template <class K>
std::vector<K> range_bounds(std::vector<std::pair<K, double>> keys, int32_t n) {
  std::sort(keys.begin(), keys.end(),
            [](const auto& a, const auto& b) { return before(a.first, b.first); });
  double total = 0, passed = 0;
  for (const auto& [key, weight] : keys) total += weight;
  n = std::min(n, static_cast<int32_t>(keys.size()));
  const double step = total / std::max(n, 1);
  double target = step;
  std::vector<K> bounds;
  for (auto& [key, weight] : keys) {
    passed += weight;
    if (passed < target || static_cast<int32_t>(bounds.size()) >= n - 1) continue;
    if (!bounds.empty() && !before(bounds.back(), key)) continue;
    bounds.push_back(std::move(key));
    target += step;
  }
  return bounds;
}

/// Every pair of values of a key, or a value alone. Source: Spark fullOuterJoin.
template <class K, class V, class W>
struct PairAll {
  using Out = std::pair<K, std::pair<std::optional<V>, std::optional<W>>>;
  template <class R>
  void operator()(R&& record, Emitter<Out>& emit) const {
    const auto& [vs, ws] = record.second;
    for (const auto& v : vs) {
      for (const auto& w : ws)
        if (!emit(Out(record.first, {borrow<V>(v), borrow<W>(w)}))) return;
      if (ws.empty() && !emit(Out(record.first, {borrow<V>(v), std::nullopt}))) return;
    }
    if (!vs.empty()) return;
    for (const auto& w : ws)
      if (!emit(Out(record.first, {std::nullopt, borrow<W>(w)}))) return;
  }
};
/// Values of keys that the other side lacks.
template <class K, class V>
struct OnlyLeft {
  template <class R>
  void operator()(R&& record, Emitter<std::pair<K, V>>& emit) const {
    if (!record.second.second.empty()) return;
    for (const auto& v : record.second.first) {
      if (!emit(std::pair<K, V>(record.first, borrow<V>(v)))) return;
    }
  }
};
template <class K>
struct HasKey {
  Datum<owned_t<K>> key;
  auto parts() const { return std::tie(key); }
  template <class R>
  bool operator()(const R& record) const {
    using Key = std::remove_cvref_t<decltype(record.first)>;
    Bytes one, other;
    return KeyBytes<Key>::view(record.first, one) == KeyBytes<owned_t<K>>::view(key.value, other);
  }
};

}  // namespace core

/// Nothing, but for pairs.
template <class T>
class PairOperations {
 public:
  void map_values(auto&&...) const { need_pairs(); }
  void keys(auto&&...) const { need_pairs(); }
  void values(auto&&...) const { need_pairs(); }
  void reduce_by_key(auto&&...) const { need_pairs(); }
  void group_by_key(auto&&...) const { need_pairs(); }
  void aggregate_by_key(auto&&...) const { need_pairs(); }
  void partition_by(auto&&...) const { need_pairs(); }
  void sort_by_key(auto&&...) const { need_pairs(); }
  void cogroup(auto&&...) const { need_pairs(); }
  void group_with(auto&&...) const { need_pairs(); }
  void join(auto&&...) const { need_pairs(); }
  void count_by_key(auto&&...) const { need_pairs(); }

 private:
  static consteval void need_pairs() {
    static_assert(core::kIs<T, std::pair>,
                  "operations by key need an Rdd of std::pair<Key, Value>: make one by "
                  "key_by(function) or by a map() that returns a std::pair");
  }
};

template <class K, class V>
class PairOperations<std::pair<K, V>> {
 public:
  using Self = Rdd<std::pair<K, V>>;

  // ---- without moving keys ----

  template <class F>
  auto map_values(F f, Site site = Site::current()) const {
    using Out = std::pair<K, std::decay_t<core::Given<F, V>>>;
    return self().template op<Out, core::MapValuesOp>(std::move(f), "mapValues", site, true);
  }
  /// f(value) returns a container.
  template <class F>
  auto flat_map_values(F f, Site site = Site::current()) const {
    using Out = std::pair<K, core::Element<core::Given<F, V>>>;
    return self().template op<Out, core::FlatMapValuesOp>(std::move(f), "flatMapValues", site,
                                                          true);
  }
  Rdd<K> keys(Site site = Site::current()) const {
    return self().template op<K, core::MapOp>(core::FirstOf{}, "keys", site);
  }
  Rdd<V> values(Site site = Site::current()) const {
    return self().template op<V, core::MapOp>(core::SecondOf{}, "values", site);
  }

  // ---- combining values (into: number of partitions, or a partitioner) ----

  /// f(a, b) → value, associative and commutative; combined before the shuffle.
  template <class F>
  Self reduce_by_key(F f, const core::Into& into = 0, Site site = Site::current()) const {
    core::check_gives<owned_t<V>, F, owned_t<V>, V>();
    return combine(core::ReduceAggregator<V, F>{std::move(f)}, std::true_type{}, into,
                   "reduceByKey", site);
  }
  /// All values of a key in memory at once.
  Rdd<std::pair<K, std::vector<owned_t<V>>>> group_by_key(const core::Into& into = 0,
                                                          Site site = Site::current()) const {
    return combine(core::GroupAggregator<V>{}, std::false_type{}, into, "groupByKey", site);
  }
  /// seq(U, V) → U from a copy of `zero` a key, comb(U, U) → U.
  template <class U, class Seq, class Comb>
  Rdd<std::pair<K, U>> aggregate_by_key(U zero, Seq seq, Comb comb, const core::Into& into = 0,
                                        Site site = Site::current()) const {
    return combine(
        core::ZeroAggregator<V, U, Seq, Comb>{{std::move(zero)}, std::move(seq), std::move(comb)},
        std::true_type{}, into, "aggregateByKey", site);
  }
  template <class F>
  Rdd<std::pair<K, owned_t<V>>> fold_by_key(owned_t<V> zero, F f, const core::Into& into = 0,
                                            Site site = Site::current()) const {
    return combine(core::ZeroAggregator<V, owned_t<V>, F, F>{{std::move(zero)}, f, f},
                   std::true_type{}, into, "foldByKey", site);
  }
  /// create(V) → C, seq(C, V) → C, comb(C, C) → C, before the shuffle if `map_side_combine`.
  template <class Create, class Seq, class Comb>
  auto combine_by_key(Create create, Seq seq, Comb comb, const core::Into& into = 0,
                      bool map_side_combine = true, Site site = Site::current()) const {
    return combine(core::CombineAggregator<V, Create, Seq, Comb>{std::move(create), std::move(seq),
                                                                 std::move(comb)},
                   map_side_combine, into, "combineByKey", site);
  }

  // ---- moving keys ----

  Self partition_by(const core::Partitioner& partitioner, Site site = Site::current()) const {
    if (self().partitioner() == partitioner) return self();
    auto node = std::make_unique<core::ShuffledNode<K, V>>();
    node->partitioner = partitioner;
    node->num_partitions = partitioner.num_partitions;
    return self().template make<std::pair<K, V>>(
        std::move(node), {"ShuffledRDD", "partitionBy", site}, {shuffle_by(partitioner)});
  }
  /// By hash of the key.
  Self partition_by(int32_t n, Site site = Site::current()) const {
    require_positive(n, "Number of partitions must be positive.");
    return partition_by(core::hash_partitioner(n), site);
  }
  /// By f(key) in [0, n).
  template <class F>
  Self partition_by(int32_t n, F f, Site site = Site::current()) const
    requires std::is_invocable_r_v<int32_t, const F&, const K&>
  {
    require_positive(n, "Number of partitions must be positive.");
    return partition_by(core::CustomPartition<K, F>::make(n, f), site);
  }
  /// Partitions in the order of their keys, sorted inside. Runs a job that samples the keys.
  Self sort_by_key(bool ascending = true, int32_t n = 0, Site site = Site::current()) const {
    core::check_ordered<K>();
    if constexpr (core::Ordered<K>) {
      auto partitioner =
          range_partitioner(ascending, core::choose_count(n, self().num_partitions()), site);
      return sorted(partitioner, ascending, "sortByKey", site);
    }
  }
  /// By the partitioner, ascending by key inside each partition.
  Self repartition_and_sort_within_partitions(const core::Partitioner& partitioner,
                                              Site site = Site::current()) const {
    return sorted(partitioner, true, "repartitionAndSortWithinPartitions", site);
  }

  /// The same by hash of the key, in n partitions.
  Self repartition_and_sort_within_partitions(int32_t n, Site site = Site::current()) const {
    require_positive(n, "Number of partitions must be positive.");
    return repartition_and_sort_within_partitions(core::hash_partitioner(n), site);
  }

  // ---- several Rdds ----

  template <class W>
  auto cogroup(const Rdd<std::pair<K, W>>& other, const core::Into& into = 0,
               Site site = Site::current()) const {
    return cogroup_all(into, "cogroup", site, self(), other);
  }
  template <class W, class X>
  auto cogroup(const Rdd<std::pair<K, W>>& b, const Rdd<std::pair<K, X>>& c,
               const core::Into& into = 0, Site site = Site::current()) const {
    return cogroup_all(into, "cogroup", site, self(), b, c);
  }
  template <class W, class X, class Y>
  auto cogroup(const Rdd<std::pair<K, W>>& b, const Rdd<std::pair<K, X>>& c,
               const Rdd<std::pair<K, Y>>& d, const core::Into& into = 0,
               Site site = Site::current()) const {
    return cogroup_all(into, "cogroup", site, self(), b, c, d);
  }
  /// cogroup() by its other name, without a number of partitions.
  template <class W>
  auto group_with(const Rdd<std::pair<K, W>>& other, Site site = Site::current()) const {
    return cogroup(other, 0, site);
  }
  template <class W, class X>
  auto group_with(const Rdd<std::pair<K, W>>& b, const Rdd<std::pair<K, X>>& c,
                  Site site = Site::current()) const {
    return cogroup(b, c, 0, site);
  }
  template <class W, class X, class Y>
  auto group_with(const Rdd<std::pair<K, W>>& b, const Rdd<std::pair<K, X>>& c,
                  const Rdd<std::pair<K, Y>>& d, Site site = Site::current()) const {
    return cogroup(b, c, d, 0, site);
  }
  template <class W>
  auto join(const Rdd<std::pair<K, W>>& other, const core::Into& into = 0,
            Site site = Site::current()) const {
    return join_as<W, false, false>(other, into, "join", site);
  }
  /// With anything else.
  template <class U>
  void join(const Rdd<U>&, const core::Into& = 0, Site = Site::current()) const {
    static_assert(std::is_same_v<U, std::pair<K, V>>,
                  "join() needs another Rdd of std::pair with keys of the same type: map() its "
                  "records to such");
  }
  template <class W>
  auto left_outer_join(const Rdd<std::pair<K, W>>& other, const core::Into& into = 0,
                       Site site = Site::current()) const {
    return join_as<W, true, false>(other, into, "leftOuterJoin", site);
  }
  template <class W>
  auto right_outer_join(const Rdd<std::pair<K, W>>& other, const core::Into& into = 0,
                        Site site = Site::current()) const {
    return join_as<W, false, true>(other, into, "rightOuterJoin", site);
  }
  template <class W>
  auto full_outer_join(const Rdd<std::pair<K, W>>& other, const core::Into& into = 0,
                       Site site = Site::current()) const {
    using Pairs = core::PairAll<K, V, W>;
    return cogroup_all(into, "fullOuterJoin", site, self(), other)
        .template op<typename Pairs::Out, core::EmitOp>(Pairs{}, "fullOuterJoin", site, true);
  }
  /// Pairs whose key is not in `other`.
  template <class W>
  Self subtract_by_key(const Rdd<std::pair<K, W>>& other, const core::Into& into = 0,
                       Site site = Site::current()) const {
    const auto& own = self().partitioner();
    const core::Into otherwise = own ? core::Into(*own) : std::max(self().num_partitions(), 1);
    const core::Into& chosen = into.told() ? into : otherwise;
    const auto partitioner = core::choose_partitioner(self().context(), {}, chosen);
    auto groups = cogroup_by(partitioner, "subtractByKey", site, self(), other);
    return groups.template op<std::pair<K, V>, core::EmitOp>(core::OnlyLeft<K, V>{},
                                                             "subtractByKey", site, true);
  }

  // ---- actions ----

  core::MapBy<owned_t<K>, int64_t> count_by_key(Site site = Site::current()) const {
    core::check_ordered<owned_t<K>>();
    core::MapBy<owned_t<K>, int64_t> counts;
    auto ones = map_values([](const auto&) { return int64_t{1}; }, site);
    for (auto& [key, n] : ones.reduce_by_key(core::Plus{}, 0, site).collect(site))
      counts[std::move(key)] = n;
    return counts;
  }
  /// The last value of each key wins.
  core::MapBy<owned_t<K>, owned_t<V>> collect_as_map(Site site = Site::current()) const {
    core::check_ordered<owned_t<K>>();
    core::MapBy<owned_t<K>, owned_t<V>> all;
    for (auto& [key, value] : self().collect(site))
      all.insert_or_assign(std::move(key), std::move(value));
    return all;
  }
  /// All values of a key; looks at one partition when the Rdd is partitioned by key.
  std::vector<owned_t<V>> lookup(const owned_t<K>& key, Site site = Site::current()) const {
    auto found = self().filter(core::HasKey<K>{{key}}, site).values(site);
    auto partitions = found.all();
    if (const auto& partitioner = self().partitioner()) {
      Bytes scratch;
      const K wanted = core::borrow<K>(key);
      const uint32_t hash = core::hash_key(core::KeyBytes<K>::view(wanted, scratch));
      partitions = {core::PartitionOf<K>(*partitioner)(wanted, hash)};
    }
    std::vector<Payload> parts(partitions.size());
    found.act(core::CollectRecords{}, partitions, "lookup", site,
              [&](int32_t p, Payload part) { parts[static_cast<size_t>(p)] = std::move(part); });
    std::vector<owned_t<V>> values;
    for (const Payload& part : parts) {
      core::each_encoded<V>(part.view(),
                            [&](V&& v) { values.push_back(core::own<V>(std::move(v))); });
    }
    return values;
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }

  core::ShufflePtr shuffle_by(const core::Partitioner& partitioner) const {
    return core::make_shuffle<core::PartitionWriter<K, V>>(self().context(), self().node(),
                                                           partitioner);
  }
  /// How a node reads this Rdd by key: in place when it is partitioned so already.
  core::Dependency by_key(const core::Partitioner& partitioner) const {
    if (self().partitioner() == partitioner) return self().narrow();
    return shuffle_by(partitioner);
  }
  template <class>
  friend class PairOperations;

  /// `map_side`: whether values of a key are combined before the shuffle. A type that says so,
  /// where it is known, so that the other way is not compiled; else a bool.
  template <class Aggregator, class MapSide>
  auto combine(Aggregator aggregator, MapSide map_side, const core::Into& into,
               const char* operation, Site site) const {
    using Out = std::pair<K, typename Aggregator::Result>;
    const std::vector<core::NodePtr> inputs{self().node()};
    const auto partitioner = core::choose_partitioner(self().context(), inputs, into);
    const bool in_place = self().partitioner() == partitioner;
    core::Dependency dependency = self().narrow();
    if (!in_place) dependency = combine_shuffle(aggregator, map_side, partitioner);
    auto node = std::make_unique<core::AggregatedNode<K, V, Aggregator>>(map_side && !in_place,
                                                                         std::move(aggregator));
    node->partitioner = partitioner;
    node->num_partitions = partitioner.num_partitions;
    return self().template make<Out>(
        std::move(node), {in_place ? "MapPartitionsRDD" : "ShuffledRDD", operation, site},
        {std::move(dependency)});
  }
  template <class Aggregator>
  core::ShufflePtr combine_shuffle(const Aggregator& aggregator, std::true_type,
                                   const core::Partitioner& partitioner) const {
    core::References held = partitioner.held;
    Bytes extra;
    {
      const core::Holding holding(held);
      Encoder out(extra);
      core::ClosureCodec<Aggregator>::encode(out, aggregator);
    }
    auto shuffle = core::make_shuffle<core::CombineWriter<K, V, Aggregator>>(
        self().context(), self().node(), partitioner, extra);
    shuffle->held = std::move(held);
    shuffle->aggregator = shuffle->map_side_combine = true;
    return shuffle;
  }
  template <class Aggregator>
  core::ShufflePtr combine_shuffle(const Aggregator&, std::false_type,
                                   const core::Partitioner& partitioner) const {
    auto shuffle = core::make_shuffle<core::PartitionWriter<K, V>>(self().context(), self().node(),
                                                                   partitioner);
    shuffle->aggregator = true;
    return shuffle;
  }
  template <class Aggregator>
  core::ShufflePtr combine_shuffle(const Aggregator& aggregator, bool map_side,
                                   const core::Partitioner& partitioner) const {
    return map_side ? combine_shuffle(aggregator, std::true_type{}, partitioner)
                    : combine_shuffle(aggregator, std::false_type{}, partitioner);
  }
  Self sorted(const core::Partitioner& partitioner, bool ascending, const char* operation,
              Site site) const {
    const bool in_place = self().partitioner() == partitioner;
    core::Dependency dependency = self().narrow();
    if (!in_place) {
      auto shuffle = core::make_shuffle<core::PartitionWriter<K, V>>(self().context(),
                                                                     self().node(), partitioner);
      shuffle->key_ordering = true;
      dependency = core::ShufflePtr(std::move(shuffle));
    }
    auto node = std::make_unique<core::SortedNode<K, V>>(ascending);
    node->partitioner = partitioner;
    node->num_partitions = partitioner.num_partitions;
    return self().template make<std::pair<K, V>>(
        std::move(node), {in_place ? "MapPartitionsRDD" : "ShuffledRDD", operation, site},
        {std::move(dependency)});
  }
  core::Partitioner range_partitioner(bool ascending, int32_t n, Site site) const {
    core::RangeBounds<K> range;
    range.ascending = ascending;
    if (n > 1) range.bounds = core::range_bounds(sampled_keys(n, site), n);
    Bytes parameters;
    Encoder out(parameters);
    out.text(core::type_of_keys<K>());
    core::encode(out, range.ascending);
    core::encode(out, range.bounds);
    return {core::Partitioner::Kind::Range, static_cast<int32_t>(range.bounds.size()) + 1,
            std::move(parameters)};
  }
  /// Keys, and how many records each stands for. Partitions with so many records that their keys
  /// would stand for too many are looked at again.
  std::vector<std::pair<owned_t<K>, double>> sampled_keys(int32_t n, Site site) const {
    const auto seed = static_cast<uint64_t>(self().id().value);
    const int64_t reservoir = core::reservoir_size(n, self().num_partitions());
    std::vector<core::KeySample<K>> samples(self().all().size());
    int64_t total = 0;
    self().act(core::SampleKeys<K, V>{{reservoir}, {seed}}, self().all(), "sortByKey", site,
               [&](int32_t p, core::KeySample<K> sample) {
                 total += sample.seen;
                 samples[static_cast<size_t>(p)] = std::move(sample);
               });
    std::vector<std::pair<owned_t<K>, double>> keys;
    const auto add = [&](std::vector<owned_t<K>>& some, double weight) {
      for (auto&& key : some) keys.emplace_back(std::move(key), weight);
    };
    const double fraction =
        std::min(core::sample_size(n) / static_cast<double>(std::max<int64_t>(total, 1)), 1.0);
    std::vector<int32_t> again;
    for (const int32_t p : self().all()) {
      auto& sample = samples[static_cast<size_t>(p)];
      const auto seen = static_cast<double>(sample.seen);
      if (fraction * seen > static_cast<double>(reservoir))
        again.push_back(p);
      else
        add(sample.keys, seen / static_cast<double>(sample.keys.size()));
    }
    if (!again.empty())
      self().act(core::SampleShare<K, V>{{fraction}, {seed}}, again, "sortByKey", site,
                 [&](int32_t, std::vector<owned_t<K>> some) { add(some, 1 / fraction); });
    return keys;
  }
  template <class... W>
  auto cogroup_all(const core::Into& into, const char* operation, Site site,
                   const Rdd<std::pair<K, W>>&... inputs) const {
    const std::vector<core::NodePtr> nodes{inputs.node()...};
    return cogroup_by(core::choose_partitioner(self().context(), nodes, into), operation, site,
                      inputs...);
  }
  template <class... W>
  auto cogroup_by(const core::Partitioner& partitioner, const char* operation, Site site,
                  const Rdd<std::pair<K, W>>&... inputs) const {
    auto node = std::make_unique<core::CoGroupNode<K, W...>>();
    node->partitioner = partitioner;
    node->num_partitions = partitioner.num_partitions;
    return self().template make<std::pair<K, typename core::GroupsOf<W...>::type>>(
        std::move(node), {"CoGroupedRDD", operation, site}, {inputs.by_key(partitioner)...});
  }
  template <class W, bool kLeft, bool kRight>
  auto join_as(const Rdd<std::pair<K, W>>& other, const core::Into& into, const char* operation,
               Site site) const {
    const std::vector<core::NodePtr> nodes{self().node(), other.node()};
    const auto partitioner = core::choose_partitioner(self().context(), nodes, into);
    using Node = core::JoinNode<K, V, W, kLeft, kRight>;
    auto node = std::make_unique<Node>();
    node->partitioner = partitioner;
    node->num_partitions = partitioner.num_partitions;
    return self().template make<typename Node::Out>(
        std::move(node), {"CoGroupedRDD", operation, site},
        {self().by_key(partitioner), other.by_key(partitioner)});
  }
};

}  // namespace tinderbox
