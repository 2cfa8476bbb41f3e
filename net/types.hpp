// Vocabulary of the whole tree: bytes, time, strong ids, results.
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tinderbox {

/// Owned bytes; not text.
using Bytes = std::string;

/// Length of time. Unit: microseconds.
using Duration = std::chrono::microseconds;

/// A moment that only a `net::Loop` can tell: there is no now(), so a machine is told the time.
/// Unit: microseconds since the Unix epoch; never goes back within a process.
using Time = std::chrono::time_point<struct LoopClock, Duration>;

/// Whole milliseconds since the Unix epoch, as Spark's events and pages show a time.
inline int64_t epoch_millis(Time t) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

/// A number that means one kind of thing. Negative: none.
template <class Tag, class V = int32_t>
struct Id {
  using value_type = V;
  V value = -1;
  auto operator<=>(const Id&) const = default;
};
using JobId = Id<struct JobTag>;
using StageId = Id<struct StageTag>;
using RddId = Id<struct RddTag>;
using ShuffleId = Id<struct ShuffleTag>;
using BroadcastId = Id<struct BroadcastTag, int64_t>;
using AccumulatorId = Id<struct AccumulatorTag, int64_t>;
using TaskId = Id<struct TaskTag, int64_t>;

/// A text that means one kind of thing. Empty: none.
template <class Tag>
struct Name {
  std::string value;
  auto operator<=>(const Name&) const = default;
};
using ExecutorId = Name<struct ExecutorTag>;
using AppId = Name<struct AppTag>;
using WorkerId = Name<struct WorkerTag>;
using DriverId = Name<struct DriverTag>;

/// What went wrong, for a person.
struct Error {
  std::string message;
  /// A disk of this process failed: who sent what was to be written is not to blame.
  bool own_disk = false;
  bool operator==(const Error&) const = default;
};

/// A value or an error, for what can happen in normal running (lost peer, missing block, bad
/// frame).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return v_.index() == 0; }
  T& operator*() { return std::get<0>(v_); }
  const T& operator*() const { return std::get<0>(v_); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }
  const Error& error() const { return std::get<1>(v_); }

 private:
  std::variant<T, Error> v_;
};

/// Immutable bytes that several owners share; copying it copies a pointer, never the bytes.
/// Thread: may be read from any thread.
class Payload {
 public:
  Payload() = default;
  explicit Payload(Bytes bytes) {
    auto owner = std::make_shared<const Bytes>(std::move(bytes));
    view_ = *owner;
    owner_ = std::move(owner);
  }
  /// `view` must stay valid while `owner` lives.
  Payload(std::shared_ptr<const void> owner, std::string_view view)
      : owner_(std::move(owner)), view_(view) {}
  /// Of a file that is mapped: `forget` takes a part of it out of this process's memory.
  using Forget = void (*)(std::string_view part);
  Payload(std::shared_ptr<const void> owner, std::string_view view, Forget forget)
      : owner_(std::move(owner)), view_(view), forget_(forget) {}
  std::string_view view() const { return view_; }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  /// Whether somebody else holds these bytes, too.
  bool shared() const { return owner_.use_count() > 1; }
  bool operator==(const Payload& o) const { return view_ == o.view_; }
  /// `part` of view() has been read, and need not be in memory: it stays as it is, and comes from
  /// its file when it is read again. Nothing happens where no file is mapped.
  void forget(std::string_view part) const {
    if (forget_) forget_(part);
  }
  bool mapped() const { return forget_ != nullptr; }
  /// So much at a time is worth it. Unit: bytes.
  static constexpr size_t kForget = 4 << 20;
  /// The same of all before `read`, once it is worth it; `forgotten` says how far that is done.
  void forget_before(size_t read, size_t& forgotten) const {
    if (!forget_ || read - forgotten < kForget) return;
    forget(view_.substr(forgotten, read - forgotten));
    forgotten = read;
  }
  /// Gives `each` what lies in `part` of view(), a few megabytes at a time, each forgotten when it
  /// was seen.
  template <class F>
  void each_window(std::string_view part, F&& each) const {
    for (; !part.empty(); part.remove_prefix(std::min(part.size(), kForget))) {
      each(part.substr(0, kForget));
      forget(part.substr(0, kForget));
    }
  }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
  Forget forget_ = nullptr;
};

/// One incarnation of a peer as its endpoint sees it; never used twice in a process. 0: none.
using PeerId = uint64_t;

}  // namespace tinderbox

template <class Tag, class V>
struct std::hash<tinderbox::Id<Tag, V>> {
  size_t operator()(const tinderbox::Id<Tag, V>& id) const { return std::hash<V>{}(id.value); }
};
template <class Tag>
struct std::hash<tinderbox::Name<Tag>> {
  size_t operator()(const tinderbox::Name<Tag>& n) const {
    return std::hash<std::string>{}(n.value);
  }
};
