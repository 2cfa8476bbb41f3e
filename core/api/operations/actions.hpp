// Actions of Rdd<T>: what runs a job and gives its answer to the driver.
#pragma once

#include "core/api/operations/statistics.hpp"
#include "core/api/rdd.hpp"

namespace tinderbox {

namespace core {

template <class T>
class BorrowedCursor final : public Cursor<T> {
 public:
  explicit BorrowedCursor(Cursor<T>& cursor) : cursor_(cursor) {}
  bool next(Sink<T> out) override { return cursor_.next(out); }

 private:
  Cursor<T>& cursor_;
};

/// What f(partition) gives.
template <class F>
struct WholePartition {
  F f;
  auto parts() const { return std::tie(f); }
  template <class T>
  auto operator()(Cursor<T>& in, TaskContext& context) const {
    Partition<T> partition(std::make_unique<BorrowedCursor<T>>(in), context);
    return f(partition);
  }
};

/// How a take(n) goes on after it has looked at `scanned` partitions and found `found` records.
/// Source: spec/08 §4.
int32_t next_take_partitions(Context& context, int32_t scanned, int64_t found, int64_t wanted);

/// f(zero, record) over a partition: one record of type U.
template <class U, class Seq>
struct FoldPartition {
  Datum<U> zero;
  Seq f;
  auto parts() const { return std::tie(zero, f); }
  template <class T>
  void operator()(int32_t, Partition<T>& in, Emitter<U>& emit) const {
    U sum = zero.value;
    in.for_each([&](T&& record) { sum = U(f(std::move(sum), std::move(record))); });
    emit(std::move(sum));
  }
};
/// Partition p's one record with the key p mod n.
struct KeyByPartition {
  Datum<int32_t> n;
  auto parts() const { return std::tie(n); }
  template <class U, class Out>
  void operator()(int32_t p, Partition<U>& in, Emitter<Out>& emit) const {
    in.for_each([&](U&& value) { return emit(Out(p % n.value, std::move(value))); });
  }
};
/// A record into a reduction that may have had nothing to reduce. Records may be optionals, too.
template <class F>
struct ReduceRecord {
  F f;
  auto parts() const { return std::tie(f); }
  template <class U, class R>
  std::optional<U> operator()(std::optional<U> sum, R&& record) const {
    if (!sum) return std::optional<U>(std::in_place, std::forward<R>(record));
    return std::optional<U>(std::in_place, f(std::move(*sum), std::forward<R>(record)));
  }
};
/// Two such reductions into one.
template <class F>
struct ReducePartials {
  F f;
  auto parts() const { return std::tie(f); }
  template <class U>
  std::optional<U> operator()(std::optional<U> sum, std::optional<U> more) const {
    if (!more) return sum;
    if (!sum) return more;
    return std::optional<U>(std::in_place, f(std::move(*sum), std::move(*more)));
  }
};
/// 64 bits of each record into a sketch.
struct SketchRecords {
  Datum<HyperLogLog> zero;
  auto parts() const { return std::tie(zero); }
  template <class T>
  HyperLogLog operator()(Cursor<T>& in, TaskContext& context) const {
    HyperLogLog sketch = zero.value;
    Bytes scratch;
    drive<T>(in, context, [&](T&& record) {
      sketch.add(hash_wide(KeyBytes<T>::view(record, scratch)));
      return true;
    });
    return sketch;
  }
};

}  // namespace core

/// The records of an Rdd at the driver, a partition at a time, each fetched by a job of its own
/// when it is reached: `for (auto& record : rdd.to_local_iterator())`. Good for one pass.
template <class T>
class LocalRecords {
 public:
  LocalRecords(Rdd<T> rdd, Site site) : rdd_(std::move(rdd)), site_(site) {}
  using iterator = core::PullIterator<T, LocalRecords>;
  iterator begin() { return iterator(this); }
  std::default_sentinel_t end() const { return {}; }
  /// The next record to be taken, or null at the end; advance() takes it.
  owned_t<T>* peek() {
    while (at_ == batch_.size() && next_ < rdd_.num_partitions()) {
      at_ = 0;
      batch_.clear();
      rdd_.act(core::CollectRecords{}, {next_++}, "toLocalIterator", site_,
               [&](int32_t, Payload part) { Actions<T>::append_encoded(part, batch_); });
    }
    return at_ < batch_.size() ? &batch_[at_] : nullptr;
  }
  void advance() {
    if (peek()) ++at_;
  }

 private:
  Rdd<T> rdd_;
  Site site_;
  int32_t next_ = 0;
  core::Batch<owned_t<T>> batch_;
  size_t at_ = 0;
};

/// The part of Rdd<T> that gives answers.
template <class T>
class Actions {
 public:
  int64_t count(Site site = Site::current()) const {
    int64_t total = 0;
    self().act(core::CountRecords{}, self().all(), "count", site,
               [&](int32_t, int64_t n) { total += n; });
    return total;
  }
  std::vector<owned_t<T>> collect(Site site = Site::current()) const {
    std::vector<Payload> parts(static_cast<size_t>(self().num_partitions()));
    self().act(
        core::CollectRecords{}, self().all(), "collect", site,
        [&](int32_t p, Payload records) { parts[static_cast<size_t>(p)] = std::move(records); });
    std::vector<owned_t<T>> records;
    for (const Payload& part : parts) append_encoded(part, records);
    return records;
  }
  /// The first n records in order; looks at as few partitions as it can.
  std::vector<owned_t<T>> take(int64_t n, Site site = Site::current()) const {
    std::vector<owned_t<T>> records;
    for (int32_t scanned = 0;
         scanned < self().num_partitions() && static_cast<int64_t>(records.size()) < n;) {
      const auto found = static_cast<int64_t>(records.size());
      const int32_t more = core::next_take_partitions(self().context(), scanned, found, n);
      const int32_t end =
          more < self().num_partitions() - scanned ? scanned + more : self().num_partitions();
      std::vector<Payload> parts(static_cast<size_t>(end - scanned));
      self().act(core::TakeRecords{{n - found}}, core::partition_range(scanned, end), "take", site,
                 [&](int32_t p, Payload part) { parts[static_cast<size_t>(p)] = std::move(part); });
      for (const Payload& part : parts) append_encoded(part, records);
      scanned = end;
    }
    if (static_cast<int64_t>(records.size()) > n)
      records.resize(static_cast<size_t>(std::max<int64_t>(n, 0)));
    return records;
  }
  /// Errors: std::domain_error("empty collection").
  owned_t<T> first(Site site = Site::current()) const {
    auto one = take(1, site);
    if (one.empty()) core::fail_empty();
    return std::move(one.front());
  }
  bool is_empty(Site site = Site::current()) const { return take(1, site).empty(); }
  /// f(a, b) must be associative and commutative. Errors: std::domain_error("empty collection").
  template <class F>
  owned_t<T> reduce(F f, Site site = Site::current()) const {
    core::check_gives<owned_t<T>, F, owned_t<T>, T>();
    std::optional<owned_t<T>> sum;
    self().act(core::ReduceRecords<F>{f}, self().all(), "reduce", site,
               [&](int32_t, std::optional<owned_t<T>> part) {
                 if (!part) return;
                 if (!sum)
                   sum = std::move(part);
                 else
                   sum = owned_t<T>(f(std::move(*sum), core::release<T>(*part)));
               });
    if (!sum) core::fail_empty();
    return std::move(*sum);
  }
  /// Starts each partition, and the merge, from `zero`.
  template <class F>
  owned_t<T> fold(owned_t<T> zero, F f, Site site = Site::current()) const {
    owned_t<T> sum = zero;
    self().act(core::FoldRecords<owned_t<T>, F>{{std::move(zero)}, f}, self().all(), "fold", site,
               [&](int32_t, owned_t<T> part) {
                 sum = owned_t<T>(f(std::move(sum), core::release<T>(part)));
               });
    return sum;
  }
  /// seq(U, T) → U in each partition, comb(U, U) → U over them.
  template <class U, class Seq, class Comb>
  U aggregate(U zero, Seq seq, Comb comb, Site site = Site::current()) const {
    core::check_kept<U>();
    U sum = zero;
    self().act(core::FoldRecords<U, Seq>{{std::move(zero)}, std::move(seq)}, self().all(),
               "aggregate", site,
               [&](int32_t, U part) { sum = U(comb(std::move(sum), std::move(part))); });
    return sum;
  }
  template <class F>
  void foreach (F f, Site site = Site::current()) const {
    self().act(core::ForeachRecord<F>{std::move(f)}, self().all(), "foreach", site, [](int32_t) {});
  }
  template <class F>
  void foreach_partition(F f, Site site = Site::current()) const {
    self().act(core::WholePartition<F>{std::move(f)}, self().all(), "foreachPartition", site,
               [](int32_t) {});
  }
  /// Runs f(partition) on these partitions and calls handle(i, value) with what it gave of the i-th
  /// of them, in the order in which they end. Errors: std::invalid_argument for a partition that is
  /// not there. Source: Spark SparkContext.runJob.
  template <class F, class Handle>
  void run_job(F f, std::vector<int32_t> partitions, Handle handle,
               Site site = Site::current()) const {
    self().act(core::WholePartition<F>{std::move(f)}, std::move(partitions), "runJob", site,
               std::move(handle));
  }
  /// One file a partition, one line a record, in the new directory `path`; compressed if it is said
  /// how. Errors: the directory exists; a disk fails.
  void save_as_text_file(const std::string& path, Compression how = Compression::None,
                         Site site = Site::current()) const {
    save(path, "saveAsTextFile", site, [how](const std::string& directory) {
      return core::SaveText{{directory}, {how}};
    });
  }
  /// One file a partition, for Context::object_file() of the same type. Errors: as above.
  void save_as_object_file(const std::string& path, Site site = Site::current()) const {
    save(path, "saveAsObjectFile", site,
         [](const std::string& directory) { return core::SaveObjects{{directory}}; });
  }
  /// Of pairs: one of Hadoop's sequence files a partition, for Context::sequence_file() and Spark;
  /// in compressed blocks if it is said how. Errors: as above; std::invalid_argument for Zstd.
  void save_as_sequence_file(const std::string& path, Compression how = Compression::None,
                             Site site = Site::current()) const {
    static_assert(core::kIs<T, std::pair>,
                  "save_as_sequence_file() saves pairs: map each record to a std::pair of key and "
                  "value");
    core::require_sequence_codec(how);
    save(path, "saveAsSequenceFile", site, [how](const std::string& directory) {
      return core::SaveSequence{{directory}, {how}};
    });
  }
  core::MapBy<owned_t<T>, int64_t> count_by_value(Site site = Site::current()) const {
    core::check_ordered<owned_t<T>>();
    return self()
        .template op<std::pair<T, core::Unit>, core::MapOp>(core::WithUnit{}, "countByValue", site)
        .count_by_key(site);
  }
  /// The n smallest by `less`, ascending.
  template <class Less = core::Before>
  std::vector<owned_t<T>> take_ordered(int64_t n, Less less = {},
                                       Site site = Site::current()) const {
    std::vector<owned_t<T>> best;
    if (n <= 0) return best;
    self().act(core::SmallestRecords<T, Less>{{n}, less}, self().all(), "takeOrdered", site,
               [&](int32_t, std::vector<owned_t<T>> part) {
                 core::keep_smallest(best, std::move(part), n, less);
               });
    return best;
  }
  /// The n largest by `less`, descending.
  template <class Less = core::Before>
  std::vector<owned_t<T>> top(int64_t n, Less less = {}, Site site = Site::current()) const {
    return take_ordered(n, core::Reversed<Less>{std::move(less)}, site);
  }
  owned_t<T> max(Site site = Site::current()) const {
    core::check_ordered<T>();
    if constexpr (core::Ordered<T>) return reduce(core::Larger{}, site);
  }
  owned_t<T> min(Site site = Site::current()) const {
    core::check_ordered<T>();
    if constexpr (core::Ordered<T>) return reduce(core::Smaller{}, site);
  }
  /// As aggregate(), but partial sums are merged by executors in a tree of about `depth` levels:
  /// the driver gets few of them, with `final_on_executor` one. Source: Spark RDD.treeAggregate.
  template <class U, class Seq, class Comb>
  U tree_aggregate(U zero, Seq seq, Comb comb, int32_t depth = 2, bool final_on_executor = false,
                   Site site = Site::current()) const {
    core::check_kept<U>();
    int32_t n = self().num_partitions();
    const int32_t scale = core::tree_scale(n, depth);
    if (n == 0) return zero;
    auto partial = self().template whole<U>(core::FoldPartition<U, Seq>{{zero}, std::move(seq)},
                                            "treeAggregate", site, false);
    while (core::another_level(n, scale) || (final_on_executor && n > 1)) {
      n = core::another_level(n, scale) ? n / scale : 1;
      partial = partial
                    .template whole<std::pair<int32_t, U>>(core::KeyByPartition{{n}},
                                                           "treeAggregate", site, false)
                    .reduce_by_key(comb, n, site)
                    .values(site);
    }
    return partial.fold(std::move(zero), std::move(comb), site);
  }
  /// As reduce(), in a tree. Errors: std::domain_error("empty collection").
  template <class F>
  owned_t<T> tree_reduce(F f, int32_t depth = 2, Site site = Site::current()) const {
    auto sum = tree_aggregate(std::optional<owned_t<T>>(), core::ReduceRecord<F>{f},
                              core::ReducePartials<F>{f}, depth, false, site);
    if (!sum) core::fail_empty();
    return std::move(*sum);
  }
  /// n records (or all) at random, in random order. Runs several jobs. Errors:
  /// std::invalid_argument for a size below 0 or near 2^31.
  std::vector<owned_t<T>> take_sample(bool with_replacement, int64_t n,
                                      uint64_t seed = core::random_seed(),
                                      Site site = Site::current()) const {
    core::check_sample_size(n);
    const int64_t total = n == 0 ? 0 : count(site);
    if (total == 0) return {};
    core::Random random(seed, 0);
    std::vector<owned_t<T>> taken;
    if (!with_replacement && n >= total) {
      taken = collect(site);
    } else {
      const double fraction = core::fraction_for_sample(n, total, with_replacement);
      while (static_cast<int64_t>(taken.size()) < n)
        taken = self().sample(with_replacement, fraction, random.bits(), site).collect(site);
    }
    for (size_t i = taken.size(); i > 1; --i)
      std::swap(taken[i - 1], taken[static_cast<size_t>(random.below(i))]);
    if (static_cast<int64_t>(taken.size()) > n) taken.resize(static_cast<size_t>(n));
    return taken;
  }
  /// About how many different records there are. Errors: std::invalid_argument unless `relative_sd`
  /// > 0.000017.
  int64_t count_approx_distinct(double relative_sd = 0.05, Site site = Site::current()) const {
    core::HyperLogLog all = core::HyperLogLog::of(relative_sd);
    self().act(core::SketchRecords{{all}}, self().all(), "countApproxDistinct", site,
               [&](int32_t, const core::HyperLogLog& part) { all.merge(part); });
    return all.estimate();
  }
  LocalRecords<T> to_local_iterator(Site site = Site::current()) const { return {self(), site}; }

 private:
  friend class LocalRecords<T>;
  template <class Writer>
  void save(const std::string& path, const char* operation, Site site, Writer writer) const {
    core::OutputDirectory directory(self().context(), path);
    try {
      self().act(writer(directory.path()), self().all(), operation, site, [](int32_t) {});
    } catch (...) {
      directory.abort();
      throw;
    }
    directory.commit();
  }
  const Rdd<T>& self() const { return static_cast<const Rdd<T>&>(*this); }
  static void append_encoded(const Payload& part, auto& records) {
    core::each_encoded<T>(part.view(),
                          [&](T&& record) { records.push_back(core::own<T>(std::move(record))); });
  }
};

}  // namespace tinderbox
