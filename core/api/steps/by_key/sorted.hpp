// Records of a shuffle in the order of their keys.
#pragma once

#include <algorithm>
#include <optional>

#include "core/api/steps/by_key/shuffled.hpp"
#include "core/api/steps/by_key/sort_prefix.hpp"

namespace tinderbox::core {

/// Where a record stands, and the prefix of its key.
struct SortEntry {
  uint64_t prefix;
  size_t at;
};

/// The places of `records` in the order of their keys.
template <class K, class V>
std::vector<SortEntry> sorted_places(const std::vector<std::pair<K, V>>& records, bool ascending) {
  using Prefix = SortPrefix<K>;
  const uint64_t flip = ascending ? 0 : ~uint64_t{0};
  std::vector<SortEntry> places(records.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = {Prefix::of(records[i].first) ^ flip, i};
  std::sort(places.begin(), places.end(), [&](const SortEntry& a, const SortEntry& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    if constexpr (Prefix::kExact) return false;
    const K &x = records[a.at].first, &y = records[b.at].first;
    return ascending ? x < y : y < x;
  });
  return places;
}

/// Records in the order of their keys, of any size: what has no room is sorted and written as a
/// run; at the end the runs are merged. Source: Spark ExternalSorter. Thread: one task's.
template <class K, class V>
class SpillingSorter {
 public:
  using Record = std::pair<K, V>;
  SpillingSorter(TaskContext& context, bool ascending)
      : context_(context), ascending_(ascending), memory_(context) {}

  /// Encoded records; views of them stay good.
  void add(Bytes piece) {
    pieces_.push_back(std::make_unique<Bytes>(std::move(piece)));
    held_ += static_cast<int64_t>(pieces_.back()->capacity());
    for (Decoder in(*pieces_.back()); !in.done();) {
      records_.push_back(decode<Record>(in));
      ++added_;
      if constexpr (kHoldsBytes<Record>) held_ += held_bytes(records_.back());
    }
    if (!memory_.hold(bytes())) spill();
  }
  /// Nothing will be added.
  void finish() {
    context_.metrics.peak_memory = std::max(context_.metrics.peak_memory, bytes());
    if (!runs_) {
      places_ = sorted_places(records_, ascending_);
      return;
    }
    spill();
    runs_->finish();
    for (int32_t run = 0; run < runs_->size(); ++run) {
      merging_.push_back(std::make_unique<Run>(*runs_, run, flip()));
      if (!merging_.back()->next()) merging_.pop_back();
    }
    std::make_heap(merging_.begin(), merging_.end(), Later{ascending_});
  }
  int64_t added() const { return added_; }
  /// A bounded batch. False: there is nothing more, or `out` said stop.
  bool next(Sink<Record> out) { return runs_ ? next_merged(out) : next_sorted(out); }

 private:
  using Prefix = SortPrefix<K>;
  static constexpr int kBatch = 1024;

  /// One run, at one of its records.
  class Run {
   public:
    Run(SpilledParts& runs, int32_t run, uint64_t flip) : reader_(runs, run), flip_(flip) {}
    /// False: it has ended.
    bool next() {
      while (in_.done()) {
        const auto piece = reader_.next();
        if (!piece) return false;
        in_ = Decoder(*piece);
      }
      record.emplace(decode<Record>(in_));
      prefix = Prefix::of(record->first) ^ flip_;
      return true;
    }
    std::optional<Record> record;
    uint64_t prefix = 0;

   private:
    SpilledReader reader_;
    const uint64_t flip_;
    Decoder in_{std::string_view()};
  };
  struct Later {
    bool ascending;
    bool operator()(const std::unique_ptr<Run>& a, const std::unique_ptr<Run>& b) const {
      if (a->prefix != b->prefix) return a->prefix > b->prefix;
      if constexpr (Prefix::kExact) return false;
      const K &x = a->record->first, &y = b->record->first;
      return ascending ? y < x : x < y;
    }
  };

  uint64_t flip() const { return ascending_ ? 0 : ~uint64_t{0}; }
  int64_t bytes() const {
    return held_ + static_cast<int64_t>(records_.capacity() * sizeof(Record) +
                                        records_.size() * sizeof(SortEntry));
  }
  void spill() {
    if (records_.empty()) return;
    if (!runs_) runs_ = make_parts(context_, 0);
    context_.metrics.memory_spilled += bytes();
    const int32_t run = runs_->size();
    runs_->resize(run + 1);
    for (const SortEntry& place : sorted_places(records_, ascending_)) {
      Encoder out(runs_->buffer(run));
      core::encode<Record>(out, records_[place.at]);
      runs_->added(run);
    }
    std::vector<Record>().swap(records_);
    pieces_.clear();
    held_ = 0;
    memory_.release();
    runs_->spill();
  }
  bool next_sorted(Sink<Record> out) {
    for (const size_t end = std::min(at_ + kBatch, places_.size()); at_ < end;)
      if (!out(std::move(records_[places_[at_++].at]))) return false;
    return at_ < places_.size();
  }
  bool next_merged(Sink<Record> out) {
    for (int left = kBatch; left > 0 && !merging_.empty(); --left) {
      std::pop_heap(merging_.begin(), merging_.end(), Later{ascending_});
      Run& first = *merging_.back();
      if (!out(std::move(*first.record))) return false;
      if (first.next())
        std::push_heap(merging_.begin(), merging_.end(), Later{ascending_});
      else
        merging_.pop_back();
    }
    return !merging_.empty();
  }

  TaskContext& context_;
  const bool ascending_;
  TaskMemory memory_;
  std::vector<std::unique_ptr<Bytes>> pieces_;
  std::vector<Record> records_;
  int64_t held_ = 0;  // by both
  int64_t added_ = 0;
  std::vector<SortEntry> places_;
  size_t at_ = 0;
  std::unique_ptr<SpilledParts> runs_;
  std::vector<std::unique_ptr<Run>> merging_;  // a heap, the least one first
};

/// Source: Spark ShuffledRDD with a key ordering.
template <class K, class V>
class SortedNode final : public OperatorNode<SortedNode<K, V>, std::pair<K, V>> {
 public:
  using Record = std::pair<K, V>;
  explicit SortedNode(bool ascending) : ascending_(ascending) {}
  explicit SortedNode(Decoder& in) : ascending_(decode<bool>(in)) {}
  void encode(Encoder& out) const { core::encode(out, ascending_); }
  std::unique_ptr<Cursor<Record>> open(int32_t partition, TaskContext& context) const override {
    auto cursor = std::make_unique<SortedCursor>(context, ascending_);
    ShuffleReader reader(context, {std::get<ShufflePtr>(this->dependencies.at(0))->id, partition});
    while (const auto piece = reader.next()) {
      check_killed(context);
      cursor->sorter.add(reader.take(*piece));
    }
    cursor->sorter.finish();
    context.metrics.shuffle_read_records += cursor->sorter.added();
    return cursor;
  }

 private:
  struct SortedCursor final : Cursor<Record> {
    SortedCursor(TaskContext& context, bool ascending) : sorter(context, ascending) {}
    bool next(Sink<Record> out) override { return sorter.next(out); }
    SpillingSorter<K, V> sorter;
  };
  bool ascending_;
};

}  // namespace tinderbox::core
