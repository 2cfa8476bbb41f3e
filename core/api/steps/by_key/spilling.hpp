// Combining by key where the values of all keys don't fit in memory.
//
// When there is none left, what was combined so far moves to one of many parts, chosen by the key's
// hash. At the end each part is combined by itself, in memory; one that is still too large is
// parted again by other bits of the hash. So data of any size is written once a level, and nothing
// is ever sorted. (Spark's ExternalAppendOnlyMap sorts runs by hash and merges them.)
#pragma once

#include "core/api/steps/by_key/combine.hpp"
#include "core/api/steps/cursor.hpp"
#include "core/shuffle/spilling/spilled_parts.hpp"

namespace tinderbox::core {

/// How keys are parted at one level.
struct SpillLevel {
  static constexpr int32_t kParts = 32;
  static constexpr int kDeepest = 5;  // hashes of 32 bits tell no more keys apart
  int depth = 0;
  int32_t part_of(uint32_t hash) const {
    // Keys of one reduce partition, or part, agree in some bits of their hash: mixed anew.
    uint64_t mixed = (hash + 0x9e3779b97f4a7c15ULL * static_cast<uint64_t>(depth + 1));
    mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ mixed >> 29) * 0x94d049bb133111ebULL;
    return static_cast<int32_t>(mixed >> 59);
  }
  SpillLevel next() const { return {depth + 1}; }
};
static_assert(SpillLevel::kParts == 1 << (64 - 59));

/// For what a step of a task can't hold. Source: Spark's temporary local blocks.
std::unique_ptr<SpilledParts> make_parts(TaskContext& context, int32_t parts = SpillLevel::kParts);

/// A table of keys and their combined values of any size. First all is added, then read.
/// Thread: one task's.
template <class K, class C, class Merge>
class SpillingCombiner {
 public:
  /// merge(C& into, C&& other) joins two values of one key.
  SpillingCombiner(TaskContext& context, Merge merge, SpillLevel level = {})
      : context_(context),
        merge_(std::move(merge)),
        level_(level),
        memory_(context),
        table_(level.depth == 0 ? Size::expected(memory_) : 0) {}

  static int64_t bytes_for(size_t keys) { return Combiner<K, C>::bytes_for(keys); }
  /// As Combiner::add.
  template <class Create, class MergeValue>
  void add(const K& key, Create&& create, MergeValue&& merge) {
    table_.add(key, create, merge);
    if (!memory_.hold(table_.needs())) [[unlikely]]
      spill();
  }
  template <class V>
  using Queue = typename Combiner<K, C>::template Queue<V>;
  template <class V>
  Queue<V> queue() {
    return Queue<V>(table_);
  }
  /// As Combiner::Queue::push, for keys of any length.
  template <class V, class Create, class MergeValue>
  void add(Queue<V>& queue, const K& key, V value, Create&& create, MergeValue&& merge) {
    const std::string_view bytes = KeyBytes<K>::view(key, scratch_);
    const bool is_long = bytes.size() > ShortKey::kMax;
    if (is_long)
      table_.add(
          key, [&] { return create(std::move(value)); }, [&](C& c) { merge(c, std::move(value)); });
    const bool look = is_long || queue.push(bytes, value, create, merge);
    if (!look || memory_.hold(table_.needs())) [[likely]]
      return;
    queue.flush(create, merge);
    spill();
  }
  void add_combined(std::pair<K, C>&& record) {
    add(
        record.first, [&] { return std::move(record.second); },
        [&](C& c) { merge_(c, std::move(record.second)); });
  }
  /// Nothing will be added.
  void finish() {
    note_peak();
    if (level_.depth == 0) Size::note(table_.table().size());
    if (!parts_) return;
    move_to_parts();
    parts_->finish();
  }
  /// Key as bytes and its value, to be taken.
  struct Entry {
    std::string_view key;
    C& value;
  };
  /// A bounded batch. False: there is nothing more, or `out` said stop.
  bool next(Sink<Entry> out) {
    if (!parts_) return next_slots(out);
    bool going = true;
    auto watched = [&](Entry&& entry) { return going = out(std::move(entry)); };
    if (!inner_ && part_ < SpillLevel::kParts) inner_ = combined_part(part_++);
    if (inner_ && !inner_->next(sink_to<Entry>(watched))) inner_.reset();
    return going && (inner_ || part_ < SpillLevel::kParts);
  }

 private:
  void note_peak() {
    context_.metrics.peak_memory = std::max(context_.metrics.peak_memory, table_.bytes());
  }
  void spill() {
    note_peak();
    if (level_.depth == SpillLevel::kDeepest || table_.table().size() < 2)
      return memory_.overdraw(table_.needs());
    if (!parts_) parts_ = make_parts(context_);
    context_.metrics.memory_spilled += table_.bytes();
    move_to_parts();
  }
  void move_to_parts() {
    table_.table().each([&](const auto& slot) {
      const int32_t part = level_.part_of(slot.hash());
      Encoder out(parts_->buffer(part));
      KeyBytes<K>::encode(out, slot.key());
      encode<C>(out, table_.value(slot));
      parts_->added(part);
    });
    table_.clear();
    memory_.release();
  }
  std::unique_ptr<SpillingCombiner> combined_part(int32_t part) {
    auto inner = std::make_unique<SpillingCombiner>(context_, merge_, level_.next());
    SpilledReader reader(*parts_, part);
    while (const auto piece = reader.next()) {
      check_killed(context_);
      for (Decoder in(*piece); !in.done();) inner->add_combined(decode<std::pair<K, C>>(in));
    }
    inner->finish();
    return inner;
  }
  bool next_slots(Sink<Entry> out) {
    const auto& table = table_.table();
    for (const size_t end = std::min(at_ + 4096, table.capacity()); at_ < end; ++at_) {
      const auto* slot = table.at(at_);
      if (!slot) continue;
      auto&& value = table_.value(*slot);
      if (!out(Entry{slot->key(), value})) return false;
    }
    return at_ < table.capacity();
  }

  using Size = LastSize<SpillingCombiner>;
  TaskContext& context_;
  Merge merge_;
  const SpillLevel level_;
  TaskMemory memory_;
  Combiner<K, C> table_;
  std::unique_ptr<SpilledParts> parts_;
  std::unique_ptr<SpillingCombiner> inner_;  // of the part before part_
  int32_t part_ = 0;
  size_t at_ = 0;  // slot of the table
  Bytes scratch_;
};

/// The records of one part of what was spilled; views among them are good until the next one.
template <class T>
class SpilledCursor final : public Cursor<T> {
 public:
  SpilledCursor(SpilledParts& parts, int32_t part) : reader_(parts, part) {}
  bool next(Sink<T> out) override {
    const auto piece = reader_.next();
    if (!piece) return false;
    for (Decoder in(*piece); !in.done();)
      if (!out(decode<T>(in))) return false;
    return true;
  }

 private:
  SpilledReader reader_;
};

}  // namespace tinderbox::core
