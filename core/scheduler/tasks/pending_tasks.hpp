// Tasks that wait for a slot, by where they would rather run.
//
// Lists of indices; the last one pushed goes first, so that a task that failed is tried again
// before others. Removal is lazy: an index that is not wanted any more goes when it is met. Tasks
// without preferences need no lists at all but a range of fresh indices and a stack of those to
// retry. Source: Spark PendingTasksByLocality.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/scheduler/executors/places.hpp"

namespace tinderbox::core {

/// From most to least local; the numbers are those of TaskInfo::locality.
enum class Locality : uint8_t { Process, Node, NoPref, Rack, Any };

/// Stacks by number, as many as the largest number needs.
class Lists {
 public:
  using Stack = std::vector<int32_t>;

  /// `sizes[key]` indices will come.
  void expect(const std::vector<int32_t>& sizes);
  void push(int32_t key, int32_t index);
  size_t entries() const;
  /// Null: nothing was ever pushed there.
  Stack* at(int32_t key) {
    return listed(static_cast<size_t>(key)) ? &lists_[static_cast<size_t>(key)].stack : nullptr;
  }
  /// Some stack has an index that is wanted; those that have none are dropped.
  template <class Wanted>
  bool any(Wanted&& wanted);
  /// Some key that is listed is `alive`.
  template <class Alive>
  bool any_key(Alive&& alive) const;

 private:
  struct List {
    Stack stack;
    bool listed = false;
  };
  bool listed(size_t key) const { return key < lists_.size() && lists_[key].listed; }

  std::vector<List> lists_;
  size_t first_ = 0;  // none is listed before
};

class PendingTasks {
 public:
  struct Pick {
    int32_t index = 0;
    Locality locality = Locality::Any;
  };

  /// Tasks 0 … `fresh`−1 wait from the start. What is given must outlive this.
  PendingTasks(const Places& places, Executors& executors, int32_t fresh);

  /// Some task would rather run somewhere.
  bool located() const { return located_; }
  /// Before all others.
  void push(int32_t index);
  /// All wait, as from the start. What push() left more than once goes.
  void start_over();
  /// Of all lists, those not wanted any more too.
  size_t entries() const;
  /// A task for that executor at most as far away as `max`. wanted(index) false: drop it;
  /// fits(index) false: leave it to another executor.
  template <class Wanted, class Fits>
  std::optional<Pick> pop(int32_t executor, Locality max, Wanted&& wanted, Fits&& fits);
  /// Some wanted task has a preference of that level (NoPref: has none).
  template <class Wanted>
  bool any_at(Locality level, Wanted&& wanted);
  /// The one that goes first among all that are wanted, wherever it would rather run; it stays.
  template <class Wanted>
  std::optional<int32_t> front(Wanted&& wanted);

  /// Those that pop() would look at first on that executor's host, the first of them last.
  std::span<const int32_t> upcoming(int32_t executor);

  bool executor_alive() const;  // some list is of an executor that is
  bool host_alive() const;
  bool without_preference() const { return !no_prefs_.empty(); }

 private:
  using Stack = Lists::Stack;

  void expect_places();
  void list(int32_t index);
  template <class Wanted, class Fits>
  static std::optional<int32_t> pop_from(Stack& stack, Wanted&& wanted, Fits&& fits);
  template <class Wanted, class Fits>
  static std::optional<int32_t> pop_from(Lists& lists, int32_t key, Wanted&& wanted, Fits&& fits);
  template <class Wanted, class Fits>
  std::optional<int32_t> pop_any(Wanted&& wanted, Fits&& fits);

  const Places& places_;
  Executors& executors_;
  const int32_t fresh_;
  int32_t next_ = 0;  // fresh indices from here on were never popped
  Stack again_;       // these go before them
  Lists for_executor_, for_host_;
  Stack no_prefs_;
  bool located_ = false;
};

/// Drops what is not wanted from the top.
template <class Wanted>
bool any_in(Lists::Stack& stack, Wanted&& wanted) {
  while (!stack.empty() && !wanted(stack.back())) stack.pop_back();
  return !stack.empty();
}

/// Memory of a stack that shrank goes back.
inline void trim(Lists::Stack& stack) {
  constexpr size_t kSmall = 64;
  if (stack.capacity() > kSmall && stack.size() < stack.capacity() / 4) stack.shrink_to_fit();
}

template <class Wanted>
bool Lists::any(Wanted&& wanted) {
  for (; first_ < lists_.size(); ++first_) {
    List& list = lists_[first_];
    if (!list.listed) continue;
    if (any_in(list.stack, wanted)) return true;
    list = {};
  }
  return false;
}

template <class Alive>
bool Lists::any_key(Alive&& alive) const {
  for (size_t key = first_; key < lists_.size(); ++key)
    if (lists_[key].listed && alive(static_cast<int32_t>(key))) return true;
  return false;
}

template <class Wanted, class Fits>
std::optional<int32_t> PendingTasks::pop_from(Stack& stack, Wanted&& wanted, Fits&& fits) {
  for (size_t i = stack.size(); i-- > 0;) {
    const int32_t index = stack[i];
    const bool keep = wanted(index);
    const bool take = keep && fits(index);
    if (take || !keep) stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(i));
    if (!take) continue;
    trim(stack);
    return index;
  }
  trim(stack);
  return std::nullopt;
}

template <class Wanted, class Fits>
std::optional<int32_t> PendingTasks::pop_from(Lists& lists, int32_t key, Wanted&& wanted,
                                              Fits&& fits) {
  Stack* const stack = lists.at(key);
  return stack ? pop_from(*stack, wanted, fits) : std::nullopt;
}

template <class Wanted, class Fits>
std::optional<int32_t> PendingTasks::pop_any(Wanted&& wanted, Fits&& fits) {
  if (const std::optional<int32_t> again = pop_from(again_, wanted, fits)) return again;
  // One that does not fit was tried before, so it was pushed too.
  while (next_ < fresh_) {
    const int32_t index = next_++;
    if (wanted(index) && fits(index)) return index;
  }
  return std::nullopt;
}

template <class Wanted, class Fits>
std::optional<PendingTasks::Pick> PendingTasks::pop(int32_t executor, Locality max, Wanted&& wanted,
                                                    Fits&& fits) {
  if (!located_) {
    if (max < Locality::NoPref) return std::nullopt;
    if (const auto i = pop_any(wanted, fits)) return Pick{*i, Locality::Process};
    return std::nullopt;
  }
  if (const auto i = pop_from(for_executor_, executor, wanted, fits))
    return Pick{*i, Locality::Process};
  if (max >= Locality::Node)
    if (const auto i = pop_from(for_host_, executors_.at(executor).host, wanted, fits))
      return Pick{*i, Locality::Node};
  if (max >= Locality::NoPref)
    if (const auto i = pop_from(no_prefs_, wanted, fits)) return Pick{*i, Locality::Process};
  if (max >= Locality::Any)
    if (const auto i = pop_any(wanted, fits)) return Pick{*i, Locality::Any};
  return std::nullopt;
}

template <class Wanted>
bool PendingTasks::any_at(Locality level, Wanted&& wanted) {
  switch (level) {
    case Locality::Process:
      return for_executor_.any(wanted);
    case Locality::Node:
      return for_host_.any(wanted);
    case Locality::NoPref:
      return any_in(no_prefs_, wanted);
    default:
      return false;
  }
}

template <class Wanted>
std::optional<int32_t> PendingTasks::front(Wanted&& wanted) {
  if (any_in(again_, wanted)) return again_.back();
  while (next_ < fresh_ && !wanted(next_)) ++next_;
  return next_ < fresh_ ? std::optional(next_) : std::nullopt;
}

}  // namespace tinderbox::core
