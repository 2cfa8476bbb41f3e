// Aggregation by key: what is done to values, and the table in which it is done on both sides of a
// shuffle.
#pragma once

#include "core/api/closure.hpp"
#include "core/api/steps/by_key/partitioner.hpp"
#include "core/api/steps/values/held_bytes.hpp"
#include "core/shuffle/spilling/task_memory.hpp"
#include "core/shuffle/tables/combine_table.hpp"
#include "core/shuffle/tables/number_table.hpp"

namespace tinderbox::core {

// An aggregator says: Combined (what is kept a key), Result (what readers get), and how values
// become and join one.

/// Source: reduceByKey.
template <class V, class F>
struct ReduceAggregator {
  using Combined = owned_t<V>;
  using Result = V;
  F f;
  auto parts() const { return std::tie(f); }
  Combined create(V&& value) const { return own<V>(std::move(value)); }
  void merge_value(Combined& into, V&& value) const {
    into = Combined(f(std::move(into), std::move(value)));
  }
  void merge_combined(Combined& into, Combined&& other) const {
    into = Combined(f(std::move(into), std::move(other)));
  }
};

/// Source: groupByKey.
template <class V>
struct GroupAggregator {
  using Combined = std::vector<owned_t<V>>;
  using Result = Combined;
  Combined create(V&& value) const {
    Combined group;
    group.push_back(own<V>(std::move(value)));
    return group;
  }
  void merge_value(Combined& into, V&& value) const { into.push_back(own<V>(std::move(value))); }
  void merge_combined(Combined& into, Combined&& other) const {
    into.insert(into.end(), std::make_move_iterator(other.begin()),
                std::make_move_iterator(other.end()));
  }
};

/// Source: aggregateByKey: a copy of `zero` a key. The functions return the new sum.
template <class V, class U, class Seq, class Comb>
struct ZeroAggregator {
  using Combined = U;
  using Result = U;
  Datum<U> zero;
  Seq seq;
  Comb comb;
  auto parts() const { return std::tie(zero, seq, comb); }
  Combined create(V&& value) const {
    check_kept<U>();
    return U(seq(U(zero.value), std::move(value)));
  }
  void merge_value(Combined& into, V&& value) const {
    into = U(seq(std::move(into), std::move(value)));
  }
  void merge_combined(Combined& into, Combined&& other) const {
    into = U(comb(std::move(into), std::move(other)));
  }
};

/// Source: combineByKey.
template <class V, class Create, class Seq, class Comb>
struct CombineAggregator {
  using Combined = std::decay_t<std::invoke_result_t<const Create&, V>>;
  using Result = Combined;
  Create create_f;
  Seq seq;
  Comb comb;
  auto parts() const { return std::tie(create_f, seq, comb); }
  Combined create(V&& value) const {
    check_kept<Combined>();
    return create_f(std::move(value));
  }
  void merge_value(Combined& into, V&& value) const {
    into = Combined(seq(std::move(into), std::move(value)));
  }
  void merge_combined(Combined& into, Combined&& other) const {
    into = Combined(comb(std::move(into), std::move(other)));
  }
};

/// The table for keys of a type.
template <class K>
struct TableOf {
  using type = CombineTable;
};
template <class K>
  requires(KeyBytes<K>::kMemory && sizeof(K) <= sizeof(uint64_t))
struct TableOf<K> {
  using type = NumberTable<sizeof(K)>;
};
template <class K>
using KeyTable = typename TableOf<K>::type;

/// How many keys the last table of this kind in this process had: the next one begins with room for
/// as many, if it may hold so much, as growing costs as much as filling.
template <class Table>
class LastSize {
 public:
  static size_t expected(TaskMemory& memory) {
    const size_t keys = last_.load(std::memory_order_relaxed);
    return memory.hold(Table::bytes_for(keys)) ? keys : 0;
  }
  static void note(size_t keys) { last_.store(keys, std::memory_order_relaxed); }

 private:
  static inline std::atomic<size_t> last_{0};
};

/// Values that may wait in a Combiner's queue.
template <class V>
inline constexpr bool kQueued = std::is_trivially_copyable_v<V> && sizeof(V) <= sizeof(uint64_t);

/// Values of equal keys, combined. Small plain values lie in the table's slots, others beside them.
template <class K, class C>
class Combiner {
 public:
  using Table = KeyTable<K>;
  using Slot = typename Table::Slot;
  static constexpr bool kInline = std::is_trivially_copyable_v<C> &&
                                  std::is_default_constructible_v<C> &&
                                  sizeof(C) <= sizeof(uint64_t);

  /// With room for so many keys, before it has to grow.
  explicit Combiner(size_t keys = 0) : table_(keys) {
    if constexpr (!kInline) values_.reserve(keys);
  }
  /// What one made for so many keys begins with. Unit: bytes.
  static int64_t bytes_for(size_t keys) {
    return Table::bytes_for(keys) + static_cast<int64_t>(kInline ? 0 : keys * sizeof(C));
  }

  /// create() → C for a new key, else merge(C&).
  template <class Create, class Merge>
  void add(const K& key, Create&& create, Merge&& merge) {
    const std::string_view bytes = KeyBytes<K>::view(key, scratch_);
    put(table_.upsert(bytes, hash_key(bytes)), create, merge);
  }
  /// The same a little later, in order with other short keys: what a record touches is on its way
  /// from memory while kLength others are added. Values are small and plain; call flush() before
  /// reading, and before clear().
  template <class V>
  class Queue {
   public:
    static_assert(kQueued<V>);
    static constexpr size_t kLength = 64;
    explicit Queue(Combiner& combiner) : combiner_(combiner) {}
    /// create(V&&) → C or merge(C&, V&&), for this one later. Shape: key.size() ≤ ShortKey::kMax.
    /// True: look at what is held; each time when values lie beside the table, as one may be large.
    template <class Create, class Merge>
    bool push(std::string_view key, V value, Create&& create, Merge&& merge) {
      if (pushed_ - done_ == kLength) finish(entry(done_++), create, merge);
      const ShortKey words = short_key(key);
      const uint32_t hash = hash_short(words, key.size());
      combiner_.table_.prefetch(hash);
      entry(pushed_++) = {words, hash, static_cast<uint32_t>(key.size()), value, kUnknown};
      if constexpr (!kInline) {
        if (pushed_ - found_ > kLength / 2) find(entry(found_++), create);
        if (found_ > kLength / 4) reach(entry(found_ - kLength / 4));
      }
      return !kInline || pushed_ % kLength == 0;
    }
    template <class Create, class Merge>
    void flush(Create&& create, Merge&& merge) {
      if constexpr (!kInline)
        while (found_ < pushed_) find(entry(found_++), create);
      while (done_ < pushed_) finish(entry(done_++), create, merge);
      pushed_ = found_ = done_ = 0;
    }

   private:
    static constexpr size_t kUnknown = SIZE_MAX, kCreated = SIZE_MAX - 1;
    struct Entry {
      ShortKey words;
      uint32_t hash;
      uint32_t length;
      V value;
      size_t at;  // of values_, or one of those above
    };
    Entry& entry(size_t number) { return entries_[number % kLength]; }
    auto upsert(const Entry& e) { return combiner_.table_.upsert_short(e.words, e.length, e.hash); }
    /// Where its value lies, for those that do not lie in the slot.
    template <class Create>
    void find(Entry& e, Create&& create) {
      const auto found = upsert(e);
      if (found.fresh) {
        combiner_.put(
            found, [&] { return create(std::move(e.value)); }, [](C&) {});
        e.at = kCreated;
      } else {
        e.at = found.slot->value;
        __builtin_prefetch(&combiner_.values_[e.at], 1);
      }
    }
    /// The end of a value that lies elsewhere itself.
    void reach(const Entry& e) {
      if constexpr (requires(C& c) { c.data() + c.size(); })
        if (e.at < kCreated) {
          const C& c = combiner_.values_[e.at];
          __builtin_prefetch(c.data() + c.size(), 1);
        }
    }
    template <class Create, class Merge>
    void finish(Entry& e, Create&& create, Merge&& merge) {
      auto merge_it = [&](C& c) { merge(c, std::move(e.value)); };
      if constexpr (kInline)
        combiner_.put(
            upsert(e), [&] { return create(std::move(e.value)); }, merge_it);
      else if (e.at != kCreated)
        combiner_.change(combiner_.values_[e.at], merge_it);
    }
    Combiner& combiner_;
    size_t pushed_ = 0, found_ = 0, done_ = 0;  // of entries, since the last flush
    std::array<Entry, kLength> entries_;
  };
  const Table& table() const { return table_; }
  C value(const Slot& slot) const
    requires kInline
  {
    C c{};
    if constexpr (!std::is_empty_v<C>) std::memcpy(static_cast<void*>(&c), &slot.value, sizeof c);
    return c;
  }
  C& value(const Slot& slot)
    requires(!kInline)
  {
    return values_[slot.value];
  }
  /// Memory that it holds, its values' own by estimate.
  int64_t bytes() const {
    return table_.bytes() + static_cast<int64_t>(values_.capacity() * sizeof(C)) + held_;
  }
  /// With what it takes beside that when it grows, which it may before it is looked at again.
  int64_t needs() const { return bytes() + table_.growth(kMore) + growth_of(values_, kMore); }
  void clear() {
    table_.clear();
    values_ = {};
    held_ = 0;
  }

 private:
  template <class Create, class Merge>
  void put(typename Table::Found found, Create&& create, Merge&& merge) {
    if constexpr (std::is_empty_v<C>) {
      C c;
      if (!found.fresh) merge(c);
    } else if constexpr (kInline) {
      C c{};
      if (found.fresh)
        c = create();
      else {
        std::memcpy(static_cast<void*>(&c), &found.slot->value, sizeof c);
        merge(c);
      }
      std::memcpy(&found.slot->value, static_cast<const void*>(&c), sizeof c);
    } else if (found.fresh) {
      found.slot->value = values_.size();
      values_.push_back(create());
      held_ += held_bytes(values_.back());
    } else {
      change(values_[found.slot->value], merge);
    }
  }
  template <class Merge>
  void change(C& c, Merge&& merge) {
    held_ -= held_bytes(c);
    merge(c);
    held_ += held_bytes(c);
  }
  Table table_;
  std::vector<C> values_;
  int64_t held_ = 0;
  Bytes scratch_;
};

}  // namespace tinderbox::core
