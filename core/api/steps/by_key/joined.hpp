// Pairs of records of two inputs with equal keys: one input lies in a table, the other one flows
// by.
#pragma once

#include "core/api/steps/by_key/shuffled.hpp"

namespace tinderbox::core {

/// Values by key; those of one key in the order in which they came.
template <class K, class W>
class JoinTable {
 public:
  void add(const K& key, W&& value) {
    const std::string_view bytes = KeyBytes<K>::view(key, scratch_);
    const auto found = table_.upsert(bytes, hash_key(bytes));
    const size_t at = entries_.size();
    entries_.push_back({own<W>(std::move(value)), at});
    // A ring: after the last one, which the slot knows, comes the first.
    if (!found.fresh) std::swap(entries_[at].next, entries_[found.slot->value].next);
    found.slot->value = at;
  }
  /// Calls f(value, whether it is the last one) for each value of the key while it answers true.
  /// False: there is none.
  template <class F>
  bool each(const K& key, const F& f) {
    const std::string_view bytes = KeyBytes<K>::view(key, scratch_);
    const auto* slot = table_.find(bytes, hash_key(bytes));
    if (!slot) return false;
    for (size_t at = entries_[slot->value].next;; at = entries_[at].next)
      if (!f(entries_[at].value, at == slot->value) || at == slot->value) return true;
  }
  int64_t bytes() const {
    return table_.bytes() + static_cast<int64_t>(entries_.capacity() * sizeof(Entry));
  }

 private:
  struct Entry {
    owned_t<W> value;
    size_t next;
  };
  CombineTable table_;
  std::vector<Entry> entries_;
  Bytes scratch_;
};

/// kKeepLeft, kKeepRight: also records of that side without a partner; not both. The side that is
/// kept flows by, with neither the left one. Source: Spark PairRDDFunctions.join and its outer ones
/// of one side.
template <class K, class V, class W, bool kKeepLeft, bool kKeepRight>
class JoinNode final
    : public OperatorNode<
          JoinNode<K, V, W, kKeepLeft, kKeepRight>,
          std::pair<K, std::pair<std::conditional_t<kKeepRight, std::optional<V>, V>,
                                 std::conditional_t<kKeepLeft, std::optional<W>, W>>>> {
  static_assert(!(kKeepLeft && kKeepRight));
  static constexpr size_t kFlowing = kKeepRight ? 1 : 0;
  static constexpr bool kKeeps = kKeepLeft || kKeepRight;
  using Flowing = std::conditional_t<kKeepRight, W, V>;
  using Lying = std::conditional_t<kKeepRight, V, W>;

 public:
  using Values = std::pair<std::conditional_t<kKeepRight, std::optional<V>, V>,
                           std::conditional_t<kKeepLeft, std::optional<W>, W>>;
  using Out = std::pair<K, Values>;
  JoinNode() = default;
  explicit JoinNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<Out>> open(int32_t partition, TaskContext& context) const override {
    auto table = std::make_unique<JoinTable<K, Lying>>();
    each_input<std::pair<K, Lying>>(
        *this, 1 - kFlowing, partition, context,
        [&](std::pair<K, Lying>&& r) { table->add(r.first, std::move(r.second)); });
    context.metrics.peak_memory = std::max(context.metrics.peak_memory, table->bytes());
    return std::make_unique<JoinCursor>(
        open_input<std::pair<K, Flowing>>(*this, kFlowing, partition, context), std::move(table));
  }

 private:
  class JoinCursor final : public Cursor<Out> {
   public:
    JoinCursor(std::unique_ptr<Cursor<std::pair<K, Flowing>>> flowing,
               std::unique_ptr<JoinTable<K, Lying>> table)
        : flowing_(std::move(flowing)), table_(std::move(table)) {}
    bool next(Sink<Out> out) override {
      const Emitter<Out> emit(out);
      auto join = [&](std::pair<K, Flowing>&& record) { return pair_up(record, emit); };
      return flowing_->next(sink_to<std::pair<K, Flowing>>(join)) && emit.going();
    }

   private:
    bool pair_up(std::pair<K, Flowing>& record, const Emitter<Out>& emit) {
      const bool found = table_->each(record.first, [&](const auto& value, bool last) {
        if (!last) return emit(Out(record.first, values(Flowing(record.second), value)));
        return emit(Out(record.first, values(std::move(record.second), value)));
      });
      if constexpr (kKeeps)
        if (!found) emit(Out(record.first, alone(std::move(record.second))));
      return emit.going();
    }
    static Values values(Flowing&& flowing, const owned_t<Lying>& lying) {
      if constexpr (kKeepRight)
        return Values(borrow<Lying>(lying), std::move(flowing));
      else
        return Values(std::move(flowing), borrow<Lying>(lying));
    }
    static Values alone(Flowing&& flowing) {
      if constexpr (kKeepRight)
        return Values(std::nullopt, std::move(flowing));
      else
        return Values(std::move(flowing), std::nullopt);
    }
    std::unique_ptr<Cursor<std::pair<K, Flowing>>> flowing_;
    std::unique_ptr<JoinTable<K, Lying>> table_;
  };
};

}  // namespace tinderbox::core
