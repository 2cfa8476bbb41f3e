// Records of a shuffle in the order of their keys.
#pragma once

#include <algorithm>
#include <optional>

#include "core/api/steps/by_key/shuffled.hpp"
#include "core/api/steps/by_key/sort_records.hpp"

namespace tinderbox::core {

/// Records in the order of their keys, of any size: what has no room is sorted and written as a
/// run; at the end the runs are merged. Source: Spark ExternalSorter. Thread: one task's.
template <class K, class V>
class SpillingSorter {
 public:
  using Record = std::pair<K, V>;
  SpillingSorter(TaskContext& context, bool ascending)
      : context_(context), ascending_(ascending), memory_(context), records_(ascending) {}

  /// Encoded records; views of them stay good. `added`: which part of all was added with them.
  void add(Bytes piece, double added) {
    added_ += records_.add(std::move(piece));
    const bool fits = memory_.hold(bytes());
    if (!fits || bytes() > kShortRun) plan_runs(fits, added);
    if (!fits || bytes() > longest_run_) spill();
  }
  /// Nothing will be added.
  void finish() {
    context_.metrics.peak_memory = std::max(context_.metrics.peak_memory, bytes());
    if (!runs_) return records_.sort();
    spill();
    runs_->finish();
    const int64_t of_one =
        3 * runs_->largest_piece();  // as it was written, as it is read, a record
    const auto most = static_cast<int32_t>(
        std::clamp<int64_t>(memory_.share() / std::max<int64_t>(of_one, 1), 2, INT32_MAX));
    while (runs_->size() > most) merge_runs(most);
    begin_merge(0, runs_->size());
    (void)memory_.hold(of_one * runs_->size());
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
      return ascending ? before(y, x) : before(x, y);
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
  int64_t bytes() const { return records_.bytes(); }
  void begin_merge(int32_t first, int32_t end) {
    merging_.clear();
    for (int32_t run = first; run < end; ++run) {
      merging_.push_back(std::make_unique<Run>(*runs_, run, flip()));
      if (!merging_.back()->next()) merging_.pop_back();
    }
    std::make_heap(merging_.begin(), merging_.end(), Later{ascending_});
  }
  /// Longer runs, of `most` each.
  void merge_runs(int32_t most) {
    auto longer = make_parts(context_, 0);
    for (int32_t first = 0; first < runs_->size(); first += most) {
      const int32_t run = longer->size();
      longer->resize(run + 1);
      begin_merge(first, std::min(first + most, runs_->size()));
      auto write = [&](Record&& record) { return append(*longer, run, record), true; };
      do check_killed(context_);
      while (next_merged(sink_to<Record>(write)));
      longer->spill();
    }
    merging_.clear();
    longer->finish();
    runs_ = std::move(longer);
  }
  static void append(SpilledParts& runs, int32_t run, const Record& record) {
    Encoder out(runs.buffer(run));
    core::encode<Record>(out, record);
    runs.added(run);
  }
  void spill() {
    if (records_.size() == 0) return;
    if (!runs_) runs_ = make_parts(context_, 0);
    context_.metrics.memory_spilled += bytes();
    const int32_t run = runs_->size();
    runs_->resize(run + 1);
    size_t at = 0;
    records_.sort();
    records_.each(at, records_.size(),
                  [&](const Record& record) { return append(*runs_, run, record), true; });
    records_.clear();
    memory_.release();
    runs_->spill();
  }
  bool next_sorted(Sink<Record> out) {
    bool going = true;
    records_.each(at_, std::min(at_ + kBatch, records_.size()),
                  [&](Record&& record) { return going = out(std::move(record)); });
    return going && at_ < records_.size();
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
  SortRecords<K, V> records_;
  size_t at_ = 0;  // of those that are handed out
  int64_t added_ = 0;
  int64_t longest_run_ = INT64_MAX;  // while all may fit
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
    if (const auto* shuffle = std::get_if<ShufflePtr>(&this->dependencies.at(0)))
      add_shuffled({(*shuffle)->id, partition}, context, cursor->sorter);
    else
      add_records(partition, context, cursor->sorter);
    cursor->sorter.finish();
    return cursor;
  }

 private:
  static void add_shuffled(const ShuffleRead& read, TaskContext& context,
                           SpillingSorter<K, V>& sorter) {
    ShuffleReader reader(context, read);
    while (const auto piece = reader.next()) {
      check_killed(context);
      Bytes records = reader.take(*piece);
      sorter.add(std::move(records), reader.part_read());
    }
    context.metrics.shuffle_read_records += sorter.added();
  }
  /// Of a parent that is partitioned already.
  void add_records(int32_t partition, TaskContext& context, SpillingSorter<K, V>& sorter) const {
    constexpr size_t kPiece = 256 << 10;
    Bytes piece;
    const auto add = [&] { sorter.add(std::exchange(piece, {}), 1); };
    drive<Record>(*open_parent<Record>(*this, 0, partition, context), context,
                  [&](Record&& record) {
                    Encoder out(piece);
                    core::encode<Record>(out, record);
                    if (piece.size() >= kPiece) add();
                    return true;
                  });
    add();
  }
  struct SortedCursor final : Cursor<Record> {
    SortedCursor(TaskContext& context, bool ascending) : sorter(context, ascending) {}
    bool next(Sink<Record> out) override { return sorter.next(out); }
    SpillingSorter<K, V> sorter;
  };
  bool ascending_;
};

}  // namespace tinderbox::core
