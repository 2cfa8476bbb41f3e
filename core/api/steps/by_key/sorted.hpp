// Records of a shuffle in the order of their keys.
#pragma once

#include <algorithm>
#include <optional>

#include "core/api/steps/by_key/shuffled.hpp"
#include "core/api/steps/by_key/sort_prefix.hpp"

namespace tinderbox::core {

/// The places of `records` in the order of their keys.
template <class K, class V>
std::vector<SortEntry> sorted_places(const std::vector<std::pair<K, V>>& records, bool ascending) {
  using Prefix = SortPrefix<K>;
  const uint64_t flip = ascending ? 0 : ~uint64_t{0};
  std::vector<SortEntry> places(records.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = {Prefix::of(records[i].first) ^ flip, i};
  sort_by_prefix(places);
  if constexpr (!Prefix::kExact) {
    const auto by_key = [&](const SortEntry& a, const SortEntry& b) {
      const K &x = records[a.at].first, &y = records[b.at].first;
      return ascending ? x < y : y < x;
    };
    for (auto first = places.begin(), last = first; first != places.end(); first = last) {
      while (last != places.end() && last->prefix == first->prefix) ++last;
      if (last - first > 1) std::sort(first, last, by_key);
    }
  }
  return places;
}

/// Calls f(record) for those of `places`, from `at` until `end` or false. They lie apart: what is
/// handed out soon is fetched into the cache meanwhile.
template <class K, class V, class F>
void each_place(const std::vector<SortEntry>& places, std::vector<std::pair<K, V>>& records,
                size_t& at, size_t end, F&& f) {
  constexpr size_t kFar = 24, kNear = 12;
  while (at < end) {
    if (at + kFar < places.size()) __builtin_prefetch(&records[places[at + kFar].at]);
    if (at + kNear < places.size()) {
      const auto& [key, value] = records[places[at + kNear].at];
      if constexpr (TextLike<K>) __builtin_prefetch(key.data());
      if constexpr (TextLike<V>) __builtin_prefetch(value.data() + value.size() / 2);
    }
    if (!f(records[places[at++].at])) return;
  }
}

/// Records in the order of their keys, of any size: what has no room is sorted and written as a
/// run; at the end the runs are merged. Source: Spark ExternalSorter. Thread: one task's.
template <class K, class V>
class SpillingSorter {
 public:
  using Record = std::pair<K, V>;
  SpillingSorter(TaskContext& context, bool ascending)
      : context_(context), ascending_(ascending), memory_(context) {}

  /// Encoded records; views of them stay good. `added`: which part of all was added with them.
  void add(Bytes piece, double added) {
    pieces_.push_back(std::make_unique<Bytes>(std::move(piece)));
    held_ += static_cast<int64_t>(pieces_.back()->capacity());
    for (Decoder in(*pieces_.back()); !in.done();) {
      records_.push_back(decode<Record>(in));
      ++added_;
      if constexpr (kHoldsBytes<Record>) held_ += held_bytes(records_.back());
    }
    const bool fits = memory_.hold(bytes());
    if (!fits || bytes() > kShortRun) plan_runs(fits, added);
    if (!fits || bytes() > longest_run_) spill();
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
  static constexpr int64_t kShortRun = 64 << 20, kRuns = 64;

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

  /// What will not fit whatever is held of it is held in shorter runs: all of it is written once
  /// all the same, and merging some dozens takes no longer than merging a few.
  void plan_runs(bool fits, double added) {
    if (longest_run_ < INT64_MAX) return;
    const auto all = static_cast<int64_t>(static_cast<double>(bytes()) / std::max(added, 1e-9));
    if (!fits || all > memory_.share()) longest_run_ = std::max(kShortRun, all / kRuns);
  }
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
    size_t at = 0;
    each_place(sorted_places(records_, ascending_), records_, at, records_.size(),
               [&](const Record& record) {
                 Encoder out(runs_->buffer(run));
                 core::encode<Record>(out, record);
                 runs_->added(run);
                 return true;
               });
    std::vector<Record>().swap(records_);
    pieces_.clear();
    held_ = 0;
    memory_.release();
    runs_->spill();
  }
  bool next_sorted(Sink<Record> out) {
    bool going = true;
    each_place(places_, records_, at_, std::min(at_ + kBatch, places_.size()),
               [&](Record& record) { return going = out(std::move(record)); });
    return going && at_ < places_.size();
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
  int64_t longest_run_ = INT64_MAX;  // while all may fit
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
      Bytes records = reader.take(*piece);
      cursor->sorter.add(std::move(records), reader.part_read());
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
