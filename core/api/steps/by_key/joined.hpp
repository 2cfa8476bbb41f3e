// Pairs of records of two inputs with equal keys: one input lies in a table, the other one flows
// by. When the table has no room, both are parted by the keys' hashes, and part is joined with
// part.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "core/api/steps/by_key/shuffled.hpp"

namespace tinderbox::core {

/// Values by key; those of one key in the order in which they came.
template <class K, class W>
class JoinTable {
 public:
  /// With room for so many keys, before it has to grow.
  explicit JoinTable(size_t keys = 0) : table_(keys) { entries_.reserve(keys); }
  static int64_t bytes_for(size_t keys) {
    return KeyTable<K>::bytes_for(keys) + static_cast<int64_t>(keys * sizeof(Entry));
  }
  void add(const K& key, W&& value) {
    const std::string_view bytes = KeyBytes<K>::view(key, scratch_);
    const auto found = table_.upsert(bytes, hash_key(bytes));
    const size_t at = entries_.size();
    entries_.push_back({own<W>(std::move(value)), at});
    held_ += held_bytes(entries_.back().value);
    // A ring: after the last one, which the slot knows, comes the first.
    if (!found.fresh) std::swap(entries_[at].next, entries_[found.slot->value].next);
    found.slot->value = at;
  }
  /// Where the last value of the key lies; nullopt: there is none. After it comes the first.
  std::optional<size_t> last(const K& key) {
    const std::string_view bytes = KeyBytes<K>::view(key, scratch_);
    const auto* slot = table_.find(bytes, hash_key(bytes));
    return slot ? std::optional<size_t>(slot->value) : std::nullopt;
  }
  size_t after(size_t at) const { return entries_[at].next; }
  const owned_t<W>& value(size_t at) const { return entries_[at].value; }
  /// Calls f(bytes of the key, its hash, value) for each value, those of a key in order.
  template <class F>
  void each(const F& f) const {
    table_.each([&](const auto& slot) {
      for (size_t at = entries_[slot.value].next;; at = entries_[at].next) {
        f(slot.key(), slot.hash(), entries_[at].value);
        if (at == slot.value) break;
      }
    });
  }
  size_t keys() const { return table_.size(); }
  /// Memory that it holds, its values' own by estimate.
  int64_t bytes() const {
    return table_.bytes() + static_cast<int64_t>(entries_.capacity() * sizeof(Entry)) + held_;
  }
  /// With what it takes beside that when it grows, which it may before it is looked at again.
  int64_t needs() const { return bytes() + table_.growth(kMore) + growth_of(entries_, kMore); }

 private:
  struct Entry {
    owned_t<W> value;
    size_t next;
  };
  KeyTable<K> table_;
  std::vector<Entry> entries_;
  int64_t held_ = 0;
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
  static int64_t bytes_for(size_t keys) { return JoinTable<K, Lying>::bytes_for(keys); }
  JoinNode() = default;
  explicit JoinNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<Out>> open(int32_t partition, TaskContext& context) const override {
    auto cursor = std::make_unique<JoinCursor>(context, SpillLevel{});
    each_input<std::pair<K, Lying>>(*this, 1 - kFlowing, partition, context,
                                    [&](std::pair<K, Lying>&& r) { cursor->lie(std::move(r)); });
    cursor->flow(open_input<std::pair<K, Flowing>>(*this, kFlowing, partition, context));
    return cursor;
  }

 private:
  using Table = JoinTable<K, Lying>;
  using Size = LastSize<JoinNode>;
  class JoinCursor final : public Cursor<Out> {
   public:
    JoinCursor(TaskContext& context, SpillLevel level)
        : context_(context),
          level_(level),
          memory_(context),
          table_(std::make_unique<Table>(level.depth == 0 ? Size::expected(memory_) : 0)) {}
    /// First all that lies, then once what flows.
    void lie(std::pair<K, Lying>&& record) {
      if (lying_parts_) return put<Lying>(*lying_parts_, record);
      table_->add(record.first, std::move(record.second));
      if (!memory_.hold(table_->needs())) [[unlikely]]
        spill();
    }
    void flow(std::unique_ptr<Cursor<std::pair<K, Flowing>>> flowing) {
      if (table_) {
        note_peak();
        if (level_.depth == 0) Size::note(table_->keys());
      }
      flowing_ = std::move(flowing);
    }
    bool next(Sink<Out> out) override {
      if (!lying_parts_) return next_pairs(Emitter<Out>(out));
      if (flowing_) part_flowing();
      bool going = true;
      auto watched = [&](Out&& record) { return going = out(std::move(record)); };
      if (!inner_ && part_ < SpillLevel::kParts) inner_ = joined_part(part_++);
      if (inner_ && !inner_->next(sink_to<Out>(watched))) inner_.reset();
      return going && (inner_ || part_ < SpillLevel::kParts);
    }

   private:
    void note_peak() {
      context_.metrics.peak_memory = std::max(context_.metrics.peak_memory, table_->bytes());
    }
    void spill() {
      note_peak();
      if (level_.depth == SpillLevel::kDeepest || table_->keys() < 2)
        return memory_.overdraw(table_->needs());
      lying_parts_ = make_parts(context_);
      context_.metrics.memory_spilled += table_->bytes();
      SpilledParts& to = *lying_parts_;
      table_->each([&](std::string_view key, uint32_t hash, const owned_t<Lying>& value) {
        const int32_t part = level_.part_of(hash);
        Encoder out(to.buffer(part));
        KeyBytes<K>::encode(out, key);
        core::encode<owned_t<Lying>>(out, value);
        to.added(part);
      });
      table_.reset();
      memory_.release();
    }
    template <class Value>
    void put(SpilledParts& to, const std::pair<K, Value>& record) {
      const int32_t part = level_.part_of(hash_key(KeyBytes<K>::view(record.first, scratch_)));
      Encoder out(to.buffer(part));
      core::encode<std::pair<K, Value>>(out, record);
      to.added(part);
    }
    void part_flowing() {
      flowing_parts_ = make_parts(context_);
      drive<std::pair<K, Flowing>>(*flowing_, context_, [&](std::pair<K, Flowing>&& record) {
        return put<Flowing>(*flowing_parts_, record), true;
      });
      flowing_.reset();
      lying_parts_->finish();
      flowing_parts_->finish();
    }
    std::unique_ptr<JoinCursor> joined_part(int32_t part) {
      auto inner = std::make_unique<JoinCursor>(context_, level_.next());
      SpilledCursor<std::pair<K, Lying>> lying(*lying_parts_, part);
      drive<std::pair<K, Lying>>(lying, context_, [&](std::pair<K, Lying>&& record) {
        return inner->lie(std::move(record)), true;
      });
      inner->flow(std::make_unique<SpilledCursor<std::pair<K, Flowing>>>(*flowing_parts_, part));
      return inner;
    }
    /// A batch of what flows may have any number of partners: the rest of it waits then.
    bool next_pairs(const Emitter<Out>& emit) {
      room_ = kPairs;
      if (!waiting_.empty()) return pair_up_waiting(emit);
      auto join = [&](std::pair<K, Flowing>&& record) {
        if (room_ > 0) return pair_up(record, emit, kFirst);
        waiting_.push_back({own<std::pair<K, Flowing>>(std::move(record)), kFirst});
        return waiting_.size() < kWaiting || pair_up_all(emit);
      };
      more_ = flowing_->next(sink_to<std::pair<K, Flowing>>(join));
      return emit.going() && (more_ || !waiting_.empty());
    }
    bool pair_up_waiting(const Emitter<Out>& emit) {
      while (!waiting_.empty() && room_ > 0 && emit.going()) {
        const Waiting first = std::move(waiting_.front());
        waiting_.pop_front();
        std::pair<K, Flowing> record = borrow<std::pair<K, Flowing>>(first.record);
        pair_up(record, emit, first.at);
      }
      return emit.going() && (more_ || !waiting_.empty());
    }
    /// A function pushes all its records in one batch: they do not wait for the reader then.
    bool pair_up_all(const Emitter<Out>& emit) {
      room_ = INT64_MAX;
      pair_up_waiting(emit);
      room_ = 0;
      return emit.going();
    }
    /// With the partners from `at` on.
    bool pair_up(std::pair<K, Flowing>& record, const Emitter<Out>& emit, size_t at) {
      const std::optional<size_t> last = table_->last(record.first);
      if (!last) {
        if constexpr (kKeeps) emit(Out(record.first, alone(std::move(record.second))));
        return emit.going();
      }
      for (at = at == kFirst ? table_->after(*last) : at; at != *last; at = table_->after(at)) {
        if (room_-- <= 0) {
          waiting_.push_front({own<std::pair<K, Flowing>>(std::move(record)), at});
          return true;
        }
        if (!emit(Out(record.first, values(Flowing(record.second), table_->value(at)))))
          return false;
      }
      --room_;
      return emit(Out(record.first, values(std::move(record.second), table_->value(at))));
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
    TaskContext& context_;
    const SpillLevel level_;
    TaskMemory memory_;
    std::unique_ptr<Table> table_;  // null: it had no room
    std::unique_ptr<Cursor<std::pair<K, Flowing>>> flowing_;
    /// A record that flows, and its next partner.
    struct Waiting {
      owned_t<std::pair<K, Flowing>> record;
      size_t at;
    };
    static constexpr size_t kFirst = SIZE_MAX;
    static constexpr int64_t kPairs = 16 << 10;
    static constexpr size_t kWaiting = 4 << 10;
    std::deque<Waiting> waiting_;
    int64_t room_ = 0;  // for pairs of this batch
    bool more_ = true;  // flows
    std::unique_ptr<SpilledParts> lying_parts_, flowing_parts_;
    std::unique_ptr<JoinCursor> inner_;  // of the part before part_
    int32_t part_ = 0;
    Bytes scratch_;
  };
};

}  // namespace tinderbox::core
