// How the records of one partition flow: a cursor pushes them, a bounded batch at a time, into a
// sink.
//
// Push and pull are one thing. A narrow operator wraps its parent's cursor and puts its own sink in
// front of the reader's, so a chain of operators is a chain of plain calls; `while
// (cursor.next(sink));` runs a partition. Whoever needs two partitions side by side (zip) pulls a
// batch of each and keeps owned copies of it.
#pragma once

#include <cassert>
#include <deque>
#include <exception>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/api/steps/values/owned.hpp"
#include "core/plan/lineage/lineage.hpp"
#include "core/plan/tasks/task.hpp"

namespace tinderbox {

/// Where records are pushed. False: send no more; the producer stops within one record.
template <class T>
struct Sink {
  /// Small values travel in registers, others by the address of the producer's record.
  using Arg = std::conditional_t<std::is_trivially_copyable_v<T> && sizeof(T) <= 16, T, T&&>;
  bool (*push)(void* self, Arg record);
  void* self;
  bool operator()(T&& record) const { return push(self, static_cast<Arg>(record)); }
};

/// The records of one partition, once, in order.
template <class T>
class Cursor {
 public:
  virtual ~Cursor() = default;
  /// Pushes one bounded batch. False: there is nothing more, or the sink said stop; not to be
  /// called again then.
  virtual bool next(Sink<T> out) = 0;
};

/// What user code calls to send on a record; see flat_map and map_partitions.
template <class T>
class Emitter {
 public:
  explicit Emitter(Sink<T> out) : out_(out) {}
  /// False: the reader wants no more, or the task was killed.
  bool operator()(T record) const {
    if (!going_ || (--until_look_ == 0 && !look())) return going_ = false;
    try {
      return going_ = out_(std::move(record));
    } catch (...) {
      going_ = false;
      core::note_failure();
      throw;
    }
  }
  bool going() const { return going_; }

 private:
  // One record may make any number of others: whether to go on is asked in between, too.
  static constexpr uint32_t kLook = 1024;
  bool look() const {
    until_look_ = kLook;
    return !core::this_task_is_killed();
  }
  Sink<T> out_;
  mutable bool going_ = true;
  mutable uint32_t until_look_ = kLook;
};

namespace core {

/// Throws when the task that runs here was killed, or has failed already in steps behind an
/// Emitter. Asked once a batch, and before what was read counts as whole, since both end it early;
/// tells how far the task is.
inline void check_killed(const TaskContext& context) {
  context.records_read.store(context.metrics.input_records + context.metrics.shuffle_read_records,
                             std::memory_order_relaxed);
  if (context.kill_mark().load(std::memory_order_relaxed)) throw TaskKilledException{};
  if (context.failure) std::rethrow_exception(context.failure);
}

/// A sink over a callable that takes T&& and returns whether to go on. The callable must outlive
/// it.
template <class T, class F>
Sink<T> sink_to(F& f) {
  return {[](void* self, typename Sink<T>::Arg r) -> bool {
            return (*static_cast<F*>(self))(std::forward<T>(r));
          },
          &f};
}

/// A range that a function returned and whose elements are its own, so that they may be moved out:
/// a container, not a view of other records, and no reference to one.
template <class R>
concept OwnsElements =
    !std::is_lvalue_reference_v<R> && requires(const std::remove_reference_t<R>& range) {
      requires std::is_const_v<std::remove_reference_t<decltype(*range.begin())>>;
    };
/// Calls f(element) for each of `range` until that says false, which is then the answer.
template <class R, class F>
bool each_returned(R&& range, F&& f) {
  for (auto&& element : range) {
    if constexpr (OwnsElements<R>) {
      if (!f(std::move(element))) return false;
    } else if (!f(std::forward<decltype(element)>(element))) {
      return false;
    }
  }
  return true;
}

/// Pushes all that is left. False: the sink said stop.
template <class T, class F>
bool drive(Cursor<T>& cursor, const TaskContext& context, F&& f) {
  bool going = true;
  auto push = [&](T&& record) { return going = f(std::move(record)); };
  const Sink<T> sink = sink_to<T>(push);
  do check_killed(context);
  while (cursor.next(sink));
  check_killed(context);
  return going;
}

/// A node whose partitions hold records of type T.
template <class T>
struct TypedNode : Node {
  virtual std::unique_ptr<Cursor<T>> open(int32_t partition, TaskContext& context) const = 0;
  /// `count` adjacent partitions as if they were one; of nodes that has_runs().
  virtual std::unique_ptr<Cursor<T>> open_run(int32_t first, int32_t count,
                                              TaskContext& context) const {
    assert(count == 1);
    (void)count;
    return open(first, context);
  }
};

/// Some records, each of which has an address.
template <class T>
using Batch = std::conditional_t<std::is_same_v<T, bool>, std::deque<T>, std::vector<T>>;

/// Takes the records of a cursor one by one, keeping a batch of owned copies.
template <class T>
class Puller {
 public:
  Puller(std::unique_ptr<Cursor<T>> cursor, const TaskContext& context)
      : cursor_(std::move(cursor)), context_(context) {}
  /// The next record to be taken, or null at the end.
  owned_t<T>* peek() {
    while (at_ == batch_.size() && more_) refill();
    return at_ < batch_.size() ? &batch_[at_] : nullptr;
  }
  void advance() {
    if (peek()) ++at_;
  }
  /// How many are at hand without pulling another batch.
  size_t at_hand() const { return batch_.size() - at_; }

 private:
  void refill() {
    batch_.clear();
    at_ = 0;
    check_killed(context_);
    auto keep = [this](T&& record) {
      batch_.push_back(own<T>(std::move(record)));
      return true;
    };
    more_ = cursor_->next(sink_to<T>(keep));
    if (!more_) check_killed(context_);
  }
  std::unique_ptr<Cursor<T>> cursor_;
  const TaskContext& context_;
  Batch<owned_t<T>> batch_;
  size_t at_ = 0;
  bool more_ = true;
};

/// One pass over owned records that `Source` gives: peek() is the next one to be taken, or null at
/// the end; advance() takes it.
template <class T, class Source>
class PullIterator {
 public:
  using value_type = owned_t<T>;
  using difference_type = ptrdiff_t;
  using iterator_category = std::input_iterator_tag;
  using pointer = owned_t<T>*;
  using reference = owned_t<T>&;
  explicit PullIterator(Source* source) : source_(source) {}
  reference operator*() const { return *source_->peek(); }
  PullIterator& operator++() {
    source_->advance();
    return *this;
  }
  void operator++(int) { source_->advance(); }
  bool operator==(std::default_sentinel_t) const { return source_->peek() == nullptr; }

 private:
  Source* source_;
};

}  // namespace core

/// One partition's records as map_partitions and foreach_partition see them: `for (auto& record :
/// partition)` takes owned records one by one, for_each pushes them without copies. Good for one
/// pass.
template <class T>
class Partition {
 public:
  Partition(std::unique_ptr<Cursor<T>> cursor, const core::TaskContext& context)
      : context_(context), cursor_(std::move(cursor)) {}

  /// Calls f(record) for each that was not taken yet; f may return false to stop.
  template <class F>
  void for_each(F&& f) {
    const auto each = [&](T&& record) {
      if constexpr (std::is_same_v<decltype(f(std::move(record))), bool>)
        return f(std::move(record));
      else
        return f(std::move(record)), true;
    };
    if (!puller_) {
      core::drive(*cursor_, context_, each);
      return;
    }
    while (auto* record = puller_->peek()) {
      const bool more = each(core::release<T>(*record));
      puller_->advance();
      if (!more) return;
    }
  }

  using iterator = core::PullIterator<T, core::Puller<T>>;
  iterator begin() { return iterator(&pull()); }
  std::default_sentinel_t end() const { return {}; }
  /// The next record to be taken, or null at the end; advance() takes it.
  owned_t<T>* peek() { return pull().peek(); }
  void advance() { pull().advance(); }

 private:
  core::Puller<T>& pull() {
    if (!puller_) puller_.emplace(std::move(cursor_), context_);
    return *puller_;
  }
  const core::TaskContext& context_;
  std::unique_ptr<Cursor<T>> cursor_;
  std::optional<core::Puller<T>> puller_;
};

}  // namespace tinderbox
