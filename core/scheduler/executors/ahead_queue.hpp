// Tasks that were sent to an executor ahead of its slots. A deque would hold half a kilobyte for
// each of thousands of executors that have none.
#pragma once

#include <cstddef>
#include <vector>

#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// First in, first out; nothing is allocated while it is empty. A pop costs constant time on
/// average.
class AheadQueue {
 public:
  bool empty() const { return begin_ == ids_.size(); }
  size_t size() const { return ids_.size() - begin_; }
  /// Shape: not empty.
  TaskId front() const { return ids_[begin_]; }
  /// The one that is i after the front. Shape: i < size().
  TaskId operator[](size_t i) const { return ids_[begin_ + i]; }
  void push_back(TaskId id) { ids_.push_back(id); }
  /// Shape: not empty.
  void pop_front() {
    ++begin_;
    if (empty())
      clear();
    else if (begin_ >= kGaps && begin_ >= size())
      close_gap();
  }
  void clear() {
    ids_ = std::vector<TaskId>();
    begin_ = 0;
  }

 private:
  static constexpr size_t kGaps = 64;  // so many that went stay in their places
  void close_gap() {
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }

  std::vector<TaskId> ids_;
  size_t begin_ = 0;
};

}  // namespace tinderbox::core
