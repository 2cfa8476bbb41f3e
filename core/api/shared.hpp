// Variables that tasks and the driver share: broadcast values go out, accumulators come back.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/api/context.hpp"
#include "core/api/input/text.hpp"
#include "core/api/steps/values/owned.hpp"
#include "core/api/steps/values/sum.hpp"
#include "core/plan/references.hpp"
#include "core/plan/tasks/task.hpp"
#include "net/mutex.hpp"

namespace tinderbox {

namespace core {
/// Errors: throws std::runtime_error when the value was destroyed or no one has it.
Payload fetch_broadcast(TaskContext& context, BroadcastId id);
/// `at`: where it was destroyed.
[[noreturn]] void fail_destroyed(BroadcastId id, const std::string& at);
[[noreturn]] void fail_driver_only(const char* what);

/// A value that is found once and then stays; a copy has what the other has. Thread: any, but for
/// assignment and clear().
template <class T>
class FoundOnce {
 public:
  FoundOnce() = default;
  FoundOnce(const FoundOnce& other) { keep(other.share()); }
  FoundOnce& operator=(const FoundOnce& other) {
    if (this != &other) keep(other.share());
    return *this;
  }
  /// Null: not found yet.
  const T* get() const { return ready_.load(std::memory_order_acquire); }
  /// Of several threads that found it the first one counts.
  const T& fill(std::shared_ptr<const T> found) {
    net::Lock lock(mutex_);
    if (!kept_) {
      kept_ = std::move(found);
      ready_.store(kept_.get(), std::memory_order_release);
    }
    return *kept_;
  }
  void clear() { keep(nullptr); }

 private:
  std::shared_ptr<const T> share() const {
    net::Lock lock(mutex_);
    return kept_;
  }
  void keep(std::shared_ptr<const T> value) {
    net::Lock lock(mutex_);
    kept_ = std::move(value);
    ready_.store(kept_.get(), std::memory_order_release);
  }
  mutable net::Mutex mutex_;
  std::shared_ptr<const T> kept_ GUARDED_BY(mutex_);
  std::atomic<const T*> ready_ = nullptr;
};
}  // namespace core

/// A read-only value that reaches each executor once. Copy it into capture(). It is removed from
/// all of them when the driver has no copy any more, and no Rdd or job that was given one. Source:
/// Spark Broadcast.
template <class T>
class Broadcast {
 public:
  static_assert(std::is_same_v<T, owned_t<T>> && !core::holds_view<T>(),
                "a broadcast value must own its bytes: text is passed as a "
                "std::string");
  Broadcast() = default;
  Broadcast(Context& context, T value)
      : id_(context.new_broadcast_id()), driver_(std::make_shared<Driver>()) {
    driver_->runtime = &context.runtime();
    const T& kept = driver_->value.fill(std::make_shared<const T>(std::move(value)));
    driver_->runtime->put_broadcast(id_, Payload(core::to_bytes<T>(kept)));
    driver_->end =
        context.at_end([id = id_](core::Runtime& runtime) { runtime.remove_broadcast(id, false); });
  }
  /// Fetched at the first use in a process. Errors: throws std::runtime_error after destroy().
  /// Thread: any.
  const T& value() const {
    if (driver_) check_there();
    const core::FoundOnce<T>& kept = driver_ ? driver_->value : value_;
    if (const T* found = kept.get()) return *found;
    return value_.fill(find());
  }
  const T& operator*() const { return value(); }
  BroadcastId id() const { return id_; }
  /// Executors drop it and fetch it again when they need it.
  void unpersist() { driver().runtime->remove_broadcast(id_, true); }
  /// Removed everywhere; a later use is an error, that by a function that is to travel too.
  void destroy(Site site = Site::current()) {
    driver().destroyed.fill(std::make_shared<const std::string>(short_site("destroy", site)));
    driver().end = nullptr;
    driver().value.clear();
  }
  template <class Self>
  static auto record_fields(Self& self) {
    self.check_there();
    core::Holding::note(self.driver_);
    return std::tie(self.id_.value);
  }

 private:
  struct Driver {
    core::Runtime* runtime = nullptr;
    core::FoundOnce<T> value;
    core::FoundOnce<std::string> destroyed;  // where
    std::shared_ptr<const void> end;         // removes it everywhere
  };
  /// Source: Spark Broadcast.assertValid.
  void check_there() const {
    if (!driver_) return;
    if (const std::string* at = driver_->destroyed.get()) core::fail_destroyed(id_, *at);
  }
  Driver& driver() const {
    if (!driver_) core::fail_driver_only("a broadcast variable");
    return *driver_;
  }
  std::shared_ptr<const T> find() const {
    auto* context = core::TaskContext::current();
    if (!context) core::fail_driver_only("a broadcast variable");
    return std::static_pointer_cast<const T>(
        context->services->shared_objects().get_or_make(id_, [&] {
          return std::make_shared<const T>(
              core::from_bytes<T>(core::fetch_broadcast(*context, id_).view()));
        }));
  }
  BroadcastId id_;
  std::shared_ptr<Driver> driver_;  // null on executors
  mutable core::FoundOnce<T> value_;
};

struct Add {
  template <class T>
  void operator()(T& into, const T& value) const {
    if constexpr (std::is_integral_v<T>)
      into = core::sum_of(into, value);
    else
      into += value;
  }
};
struct Append {
  template <class T>
  void operator()(std::vector<T>& into, const std::vector<T>& values) const {
    into.insert(into.end(), values.begin(), values.end());
  }
  template <class T>
  void operator()(std::vector<T>& into, const T& value) const {
    into.push_back(value);
  }
};

/// A sum and how many numbers are in it.
struct Average {
  double sum = 0;
  int64_t count = 0;
  /// Not a number when there is none.
  double mean() const { return sum / static_cast<double>(count); }
};
struct AddToAverage {
  void operator()(Average& into, const Average& more) const {
    into.sum += more.sum;
    into.count += more.count;
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(Average& into, T value) const {
    into.sum += static_cast<double>(value);
    ++into.count;
  }
};

namespace core {
/// What status shows of an accumulator that is gone: the beginning of its text. Throws nothing.
std::string last_shown(const std::function<std::string()>& text);
/// An accumulator's value as status shows it; empty: it has no text form.
template <class T>
std::string shown(const T& value) {
  Bytes text;
  if constexpr (std::is_same_v<T, Average>)
    append_number(text, value.mean());
  else if constexpr (std::is_arithmetic_v<T> || TextLike<T>)
    append_text(text, value);
  else if constexpr (kIs<T, std::vector>)
    if constexpr (std::is_arithmetic_v<typename T::value_type> || TextLike<typename T::value_type>)
      append_text(text, value);
  return text;
}
}  // namespace core

/// A sum that tasks add to and the driver reads. Copy it into capture().
/// Exactly once a partition in actions; in transformations a retry may add again. Source: Spark
/// AccumulatorV2.
template <class T, class Merge>
class Accumulator {
 public:
  static_assert(std::is_empty_v<Merge>,
                "the merge function of an accumulator must not capture anything");
  Accumulator() = default;
  Accumulator(Context& context, T zero, const std::string& name)
      : id_(context.new_accumulator_id()), zero_(zero), driver_(std::make_shared<Driver>()) {
    driver_->value = std::move(zero);
    const std::weak_ptr<Driver> known = driver_;
    const auto merge = [known](std::string_view delta) {
      const auto driver = known.lock();
      if (!driver) return;
      const T more = core::from_bytes<T>(delta);
      net::Lock lock(driver->mutex);
      Merge{}(driver->value, more);
    };
    const auto show = [known] {
      const auto driver = known.lock();
      if (!driver) return std::string();
      net::Lock lock(driver->mutex);
      return core::shown(driver->value);
    };
    context.runtime().register_accumulator(id_, name, merge, show);
    if (!name.empty()) driver_->last = std::make_shared<std::string>();
    driver_->end = context.at_end([id = id_, last = driver_->last](core::Runtime& runtime) {
      runtime.forget_accumulator(id, last ? *last : std::string());
    });
  }
  /// On the driver it counts at once; in a task, when the task succeeds. Errors: throws
  /// std::logic_error in a thread that a task has begun: whose task it is for is not known there.
  template <class U>
  void add(const U& value) const {
    static_assert(std::is_arithmetic_v<T> ? std::is_convertible_v<U, T>
                                          : std::is_invocable_v<Merge, T&, const U&>,
                  "add() was given what this accumulator does not add");
    if (auto* context = core::TaskContext::current()) {
      add_to(pending(*context).value, value);
    } else if (driver_) {
      net::Lock lock(driver_->mutex);
      add_to(driver_->value, value);
    } else {
      core::fail_driver_only("an accumulator's add outside a task's own thread");
    }
  }
  /// Errors: throws std::logic_error in a task.
  T value() const {
    if (!driver_ || core::TaskContext::current()) core::fail_driver_only("an accumulator's value");
    net::Lock lock(driver_->mutex);
    return driver_->value;
  }
  void reset() {
    if (!driver_) core::fail_driver_only("an accumulator's reset");
    net::Lock lock(driver_->mutex);
    driver_->value = zero_;
  }
  /// What one task added to it, of what a listener hears with the task's end
  /// (core::TaskEnded::accumulators). None: nothing that counts.
  std::optional<T> added(const std::vector<AccumulatorUpdate>& updates) const {
    std::optional<T> sum;
    for (const AccumulatorUpdate& u : updates) {
      if (u.id != id_ || u.internal_metric) continue;
      T more = core::from_bytes<T>(u.value);
      if (sum)
        Merge{}(*sum, std::as_const(more));
      else
        sum = std::move(more);
    }
    return sum;
  }
  AccumulatorId id() const { return id_; }
  template <class Self>
  static auto record_fields(Self& self) {
    core::Holding::note(self.driver_);
    return std::tie(self.id_.value, self.zero_);
  }

 private:
  struct Driver {
    ~Driver() {
      if (last) *last = text_of(value);
    }
    static std::string text_of(const T& ended) {
      return core::last_shown([&ended] { return core::shown(ended); });
    }
    net::Mutex mutex;
    T value GUARDED_BY(mutex);
    std::shared_ptr<std::string> last;  // null: it has no name
    std::shared_ptr<const void> end;    // the runtime is told that it is gone, and the last value
  };
  struct Pending final : core::PendingAccumulator {
    explicit Pending(T zero) : value(std::move(zero)) {}
    Bytes encode() const override { return core::to_bytes<T>(value); }
    T value;
  };
  template <class U>
  static void add_to(T& into, const U& value) {
    if constexpr (std::is_arithmetic_v<T>)
      Merge{}(into, static_cast<T>(value));
    else
      Merge{}(into, value);
  }
  Pending& pending(core::TaskContext& context) const {
    if (auto* found = context.pending(id_)) return static_cast<Pending&>(*found);
    auto& fresh = context.pending_accumulators.emplace_back(id_, std::make_unique<Pending>(zero_));
    return static_cast<Pending&>(*fresh.second);
  }
  AccumulatorId id_;
  T zero_{};
  std::shared_ptr<Driver> driver_;  // null on executors
};

using LongAccumulator = Accumulator<int64_t, Add>;
using DoubleAccumulator = Accumulator<double, Add>;
using AverageAccumulator = Accumulator<Average, AddToAverage>;
template <class T>
using CollectionAccumulator = Accumulator<std::vector<T>, Append>;

template <class T>
Broadcast<T> Context::broadcast(T value) {
  return Broadcast<T>(*this, std::move(value));
}
template <class T>
Accumulator<std::vector<T>, Append> Context::collection_accumulator(const std::string& name) {
  return {*this, {}, name};
}
template <class T, class Merge>
Accumulator<T, Merge> Context::accumulator(T zero, Merge, const std::string& name) {
  static_assert(std::is_invocable_v<Merge, T&, const T&>,
                "the merge function of an accumulator is called as merge(T& into, const T& more)");
  return {*this, std::move(zero), name};
}

}  // namespace tinderbox
