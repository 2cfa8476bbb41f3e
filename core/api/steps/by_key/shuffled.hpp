// Both sides of a shuffle, typed: terminal operations that write map output, nodes that read it.
#pragma once

#include "core/api/steps/by_key/spilling.hpp"
#include "core/api/steps/node.hpp"
#include "core/shuffle/reader.hpp"
#include "core/shuffle/writer.hpp"

namespace tinderbox::core {

/// What both kinds of writer capture before their own part.
struct ShuffleTarget {
  int32_t shuffle = 0;
  Partitioner partitioner;
};

// ---- map side ----------------------------------------------------------------------------------

/// Every record of pair<K, V> to its partition, as it is.
template <class K, class V>
class PartitionWriter final : public RegisteredTerminal<PartitionWriter<K, V>> {
 public:
  using Key = K;
  explicit PartitionWriter(Decoder& in) : target_(decode<ShuffleTarget>(in)) {}
  TaskOutput run(const Node& root, int32_t partition, TaskContext& context) const override {
    const auto cursor = open_partition(as_typed<std::pair<K, V>>(root), partition, context);
    const PartitionOf<K> partition_of(target_.partitioner);
    ShuffleWriter writer(context, {target_.shuffle}, target_.partitioner.num_partitions);
    Bytes scratch;
    drive<std::pair<K, V>>(*cursor, context, [&](std::pair<K, V>&& record) {
      const uint32_t hash =
          partition_of.by_hash() ? hash_key(KeyBytes<K>::view(record.first, scratch)) : 0;
      const int32_t r = partition_of(record.first, hash);
      Encoder out(writer.buffer(r));
      encode<std::pair<K, V>>(out, record);
      writer.added(r);
      return true;
    });
    return writer.commit();
  }

 private:
  ShuffleTarget target_;
};

/// Combines the values of equal keys first.
template <class K, class V, class Aggregator>
class CombineWriter final : public RegisteredTerminal<CombineWriter<K, V, Aggregator>> {
 public:
  using Key = K;
  using C = typename Aggregator::Combined;
  explicit CombineWriter(Decoder& in)
      : target_(decode<ShuffleTarget>(in)), aggregator_(ClosureCodec<Aggregator>::decode(in)) {}
  TaskOutput run(const Node& root, int32_t partition, TaskContext& context) const override {
    const auto cursor = open_partition(as_typed<std::pair<K, V>>(root), partition, context);
    ShuffleWriter writer(context, {target_.shuffle}, target_.partitioner.num_partitions);
    TaskMemory memory(context);
    using Size = LastSize<Combiner<K, C>>;
    Combiner<K, C> combiner(Size::expected(memory));
    auto create = [this](V&& value) { return aggregator_.create(std::move(value)); };
    auto merge = [this](C& c, V&& value) { aggregator_.merge_value(c, std::move(value)); };
    auto add = [&](std::pair<K, V>& record) {
      combiner.add(
          record.first, [&] { return create(std::move(record.second)); },
          [&](C& c) { merge(c, std::move(record.second)); });
    };
    const auto full = [&] { return !memory.hold(combiner.needs()); };
    const auto empty = [&] {
      drain(combiner, writer);
      memory.release();
    };
    if constexpr (kQueued<V>) {
      typename Combiner<K, C>::template Queue<V> queue(combiner);
      Bytes scratch;
      drive<std::pair<K, V>>(*cursor, context, [&](std::pair<K, V>&& record) {
        const std::string_view key = KeyBytes<K>::view(record.first, scratch);
        const bool is_long = key.size() > ShortKey::kMax;
        if (is_long) add(record);
        const bool grew = is_long || queue.push(key, record.second, create, merge);
        if (grew && full()) [[unlikely]]
          queue.flush(create, merge), empty();
        return true;
      });
      queue.flush(create, merge);
    } else {
      drive<std::pair<K, V>>(*cursor, context, [&](std::pair<K, V>&& record) {
        add(record);
        if (full()) [[unlikely]]
          empty();
        return true;
      });
    }
    context.metrics.peak_memory = std::max(context.metrics.peak_memory, combiner.bytes());
    Size::note(combiner.table().size());
    empty();
    return writer.commit();
  }

 private:
  void drain(Combiner<K, C>& combiner, ShuffleWriter& writer) const {
    const PartitionOf<K> partition_of(target_.partitioner);
    combiner.table().each([&](const auto& slot) {
      const std::string_view key = slot.key();
      const int32_t r = partition_of.by_hash()
                            ? hash_partition(slot.hash(), target_.partitioner.num_partitions)
                            : partition_of(KeyBytes<K>::restore(key), slot.hash());
      Encoder out(writer.buffer(r));
      KeyBytes<K>::encode(out, key);
      encode<C>(out, combiner.value(slot));
      writer.added(r);
    });
    combiner.clear();
  }
  ShuffleTarget target_;
  Aggregator aggregator_;
};

// ---- reduce side -------------------------------------------------------------------------------

/// Calls f(record) for every record of type T of dependency `i`, which is a shuffle; they point
/// into a piece.
template <class T, class F>
void each_shuffled(const ShufflePtr& shuffle, int32_t partition, TaskContext& context, F&& f) {
  ShuffleReader reader(context, {shuffle->id, partition});
  while (const auto piece = reader.next()) {
    check_killed(context);
    Decoder in(*piece);
    int64_t records = 0;
    for (; !in.done(); ++records) f(decode<T>(in));
    context.metrics.shuffle_read_records += records;
  }
}

/// Records of a shuffle as they come.
template <class T>
class ShuffledCursor final : public Cursor<T> {
 public:
  ShuffledCursor(TaskContext& context, const ShuffleRead& read)
      : context_(context), reader_(context, read) {}
  bool next(Sink<T> out) override {
    const auto piece = reader_.next();
    if (!piece) return false;
    Decoder in(*piece);
    while (!in.done()) {
      ++context_.metrics.shuffle_read_records;
      if (!out(decode<T>(in))) return false;
    }
    return true;
  }

 private:
  TaskContext& context_;
  ShuffleReader reader_;
};

/// Dependency `i`, a shuffle or a parent that is partitioned already.
template <class T>
std::unique_ptr<Cursor<T>> open_input(const Node& node, size_t i, int32_t partition,
                                      TaskContext& context) {
  if (const auto* shuffle = std::get_if<ShufflePtr>(&node.dependencies.at(i)))
    return std::make_unique<ShuffledCursor<T>>(context, ShuffleRead{(*shuffle)->id, partition});
  return open_parent<T>(node, i, partition, context);
}

/// Calls f(T&&) for every record of dependency `i`, a shuffle or not.
template <class T, class F>
void each_input(const Node& node, size_t i, int32_t partition, TaskContext& context, F&& f) {
  if (const auto* shuffle = std::get_if<ShufflePtr>(&node.dependencies.at(i)))
    return each_shuffled<T>(*shuffle, partition, context, f);
  drive<T>(*open_parent<T>(node, i, partition, context), context,
           [&](T&& record) { return f(std::move(record)), true; });
}

/// Source: Spark ShuffledRDD without aggregator and ordering.
template <class K, class V>
class ShuffledNode final : public OperatorNode<ShuffledNode<K, V>, std::pair<K, V>> {
 public:
  ShuffledNode() = default;
  explicit ShuffledNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<std::pair<K, V>>> open(int32_t partition,
                                                TaskContext& context) const override {
    return open_input<std::pair<K, V>>(*this, 0, partition, context);
  }
  bool has_runs() const override {
    return std::holds_alternative<ShufflePtr>(this->dependencies.at(0));
  }
  std::unique_ptr<Cursor<std::pair<K, V>>> open_run(int32_t first, int32_t count,
                                                    TaskContext& context) const override {
    return std::make_unique<ShuffledCursor<std::pair<K, V>>>(
        context, ShuffleRead{std::get<ShufflePtr>(this->dependencies.at(0))->id, first, count});
  }
};

/// Equal keys once, their values combined. Reads a shuffle, of combined values when the map side
/// combined, or, when its parent is partitioned already, the parent's partition.
template <class K, class V, class Aggregator>
class AggregatedNode final : public OperatorNode<AggregatedNode<K, V, Aggregator>,
                                                 std::pair<K, typename Aggregator::Result>> {
 public:
  using C = typename Aggregator::Combined;
  using Out = std::pair<K, typename Aggregator::Result>;
  AggregatedNode(bool map_side, Aggregator aggregator)
      : map_side_(map_side), aggregator_(std::move(aggregator)) {}
  explicit AggregatedNode(Decoder& in)
      : map_side_(decode<bool>(in)), aggregator_(ClosureCodec<Aggregator>::decode(in)) {}
  void encode(Encoder& out) const {
    core::encode(out, map_side_);
    ClosureCodec<Aggregator>::encode(out, aggregator_);
  }
  std::unique_ptr<Cursor<Out>> open(int32_t partition, TaskContext& context) const override {
    auto cursor = std::make_unique<CombinedCursor>(context, aggregator_);
    auto& combiner = cursor->combiner;
    auto create = [this](V&& value) { return aggregator_.create(std::move(value)); };
    auto merge = [this](C& c, V&& value) { aggregator_.merge_value(c, std::move(value)); };
    if (map_side_ && std::holds_alternative<ShufflePtr>(this->dependencies.at(0))) {
      each_input<std::pair<K, C>>(*this, 0, partition, context, [&](std::pair<K, C>&& r) {
        combiner.add_combined(std::move(r));
      });
    } else if constexpr (kQueued<V>) {
      auto queue = combiner.template queue<V>();
      each_input<std::pair<K, V>>(*this, 0, partition, context, [&](std::pair<K, V>&& r) {
        combiner.template add<V>(queue, r.first, std::move(r.second), create, merge);
      });
      queue.flush(create, merge);
    } else {
      each_input<std::pair<K, V>>(*this, 0, partition, context, [&](std::pair<K, V>&& r) {
        combiner.add(
            r.first, [&] { return create(std::move(r.second)); },
            [&](C& c) { merge(c, std::move(r.second)); });
      });
    }
    combiner.finish();
    return cursor;
  }

 private:
  struct Merge {
    const Aggregator& aggregator;
    void operator()(C& into, C&& other) const { aggregator.merge_combined(into, std::move(other)); }
  };
  struct CombinedCursor final : Cursor<Out> {
    CombinedCursor(TaskContext& context, const Aggregator& aggregator)
        : combiner(context, Merge{aggregator}) {}
    using Table = SpillingCombiner<K, C, Merge>;
    bool next(Sink<Out> out) override {
      auto send = [&](typename Table::Entry&& entry) {
        return out(Out(KeyBytes<K>::restore(entry.key),
                       release<typename Aggregator::Result>(entry.value)));
      };
      return combiner.next(sink_to<typename Table::Entry>(send));
    }
    Table combiner;
  };
  bool map_side_;
  Aggregator aggregator_;
};

/// The values of each key from every input: a pair of vectors for two, a tuple for more.
template <class... V>
struct GroupsOf {
  using type = std::tuple<std::vector<owned_t<V>>...>;
};
template <class V, class W>
struct GroupsOf<V, W> {
  using type = std::pair<std::vector<owned_t<V>>, std::vector<owned_t<W>>>;
};

/// Source: Spark CoGroupedRDD. Inputs that are partitioned already are read in place.
template <class K, class... V>
class CoGroupNode final
    : public OperatorNode<CoGroupNode<K, V...>, std::pair<K, typename GroupsOf<V...>::type>> {
 public:
  using Groups = typename GroupsOf<V...>::type;
  using Out = std::pair<K, Groups>;
  CoGroupNode() = default;
  explicit CoGroupNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<Out>> open(int32_t partition, TaskContext& context) const override {
    auto cursor = std::make_unique<GroupsCursor>(context);
    [&]<size_t... I>(std::index_sequence<I...>) {
      (read<I, V>(cursor->combiner, partition, context), ...);
    }(std::index_sequence_for<V...>{});
    cursor->combiner.finish();
    return cursor;
  }

 private:
  static constexpr auto kEach = std::index_sequence_for<V...>{};
  struct Append {
    void operator()(Groups& into, Groups&& other) const {
      [&]<size_t... I>(std::index_sequence<I...>) {
        (append(std::get<I>(into), std::move(std::get<I>(other))), ...);
      }(kEach);
    }
    template <class W>
    static void append(std::vector<W>& into, std::vector<W>&& other) {
      into.insert(into.end(), std::make_move_iterator(other.begin()),
                  std::make_move_iterator(other.end()));
    }
  };
  using AllGroups = SpillingCombiner<K, Groups, Append>;
  template <size_t I, class W>
  void read(AllGroups& combiner, int32_t partition, TaskContext& context) const {
    each_input<std::pair<K, W>>(*this, I, partition, context, [&](std::pair<K, W>&& r) {
      auto append = [&](Groups& groups) {
        std::get<I>(groups).push_back(own<W>(std::move(r.second)));
      };
      combiner.add(
          r.first,
          [&] {
            Groups fresh;
            append(fresh);
            return fresh;
          },
          append);
    });
  }
  struct GroupsCursor final : Cursor<Out> {
    explicit GroupsCursor(TaskContext& context) : combiner(context, Append{}) {}
    bool next(Sink<Out> out) override {
      auto send = [&](typename AllGroups::Entry&& entry) {
        return out(Out(KeyBytes<K>::restore(entry.key), std::move(entry.value)));
      };
      return combiner.next(sink_to<typename AllGroups::Entry>(send));
    }
    AllGroups combiner;
  };
};

/// Sets up a shuffle of `parent` by `partitioner`, written by `Writer`. Errors: throws
/// std::invalid_argument when that is for keys of another type.
template <class Writer>
std::shared_ptr<ShuffleDependency> make_shuffle(Context& context, NodePtr parent,
                                                const Partitioner& partitioner,
                                                const Bytes& extra = {}) {
  (void)PartitionOf<typename Writer::Key>(partitioner);
  auto shuffle = context.new_shuffle(std::move(parent));
  shuffle->num_reduces = partitioner.num_partitions;
  shuffle->writer = Writer::code();
  shuffle->held = partitioner.held;
  shuffle->writer_captured = to_bytes(ShuffleTarget{shuffle->id.value, partitioner}) + extra;
  return shuffle;
}

}  // namespace tinderbox::core
