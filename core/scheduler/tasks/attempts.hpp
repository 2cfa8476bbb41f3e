// Task attempts that have not ended, by task id. Ids are dense and grow; pages whose attempts all
// ended go.
#pragma once

#include <array>
#include <deque>
#include <memory>

#include "core/scheduler/tasks/task_set.hpp"

namespace tinderbox::core {

/// 32 bytes; `set` null: not in use.
struct Attempt {
  TaskSet* set = nullptr;
  int32_t index = 0;
  int32_t number = 0;
  int32_t executor = -1;
  Locality locality = Locality::Any;
  bool running : 1 = false;    // the executor said so
  bool ahead : 1 = false;      // beyond the executor's slots
  bool revoking : 1 = false;   // asked back, not answered yet
  bool announced : 1 = false;  // TaskStarted was published
  bool fetching_result : 1 = false;
  bool speculative : 1 = false;  // a second copy
  bool outrun : 1 = false;       // asked to end because another copy succeeded
  Time launched{};
};

class Attempts {
 public:
  /// The id that add() will give next.
  TaskId next() const { return TaskId{next_}; }
  TaskId add(const Attempt& attempt) {
    if (next_ % kPage == 0) pages_.push_back(std::make_unique<Page>());
    Page& page = *pages_.back();
    page.attempts[static_cast<size_t>(next_ % kPage)] = attempt;
    ++page.live;
    ++live_;
    return TaskId{next_++};
  }
  /// Null: never given, or ended.
  Attempt* find(TaskId id) {
    const int64_t page = id.value / kPage - first_;
    if (id.value < 0 || id.value >= next_ || page < 0) return nullptr;
    Page* p = pages_[static_cast<size_t>(page)].get();
    if (!p) return nullptr;
    Attempt& a = p->attempts[static_cast<size_t>(id.value % kPage)];
    return a.set ? &a : nullptr;
  }
  void erase(TaskId id) {
    const int64_t number = id.value / kPage;
    std::unique_ptr<Page>& page = pages_[static_cast<size_t>(number - first_)];
    page->attempts[static_cast<size_t>(id.value % kPage)].set = nullptr;
    --live_;
    if (--page->live > 0 || (number + 1) * kPage > next_) return;
    page.reset();
    while (!pages_.empty() && !pages_.front()) {
      pages_.pop_front();
      ++first_;
    }
  }
  int64_t live() const { return live_; }
  /// Calls f(id, attempt) in the order of launch; f must not add or erase.
  template <class F>
  void each(F&& f) {
    for (size_t p = 0; p < pages_.size(); ++p) {
      if (!pages_[p]) continue;
      for (int64_t i = 0; i < kPage; ++i)
        if (Attempt& a = pages_[p]->attempts[static_cast<size_t>(i)]; a.set)
          f(TaskId{(first_ + static_cast<int64_t>(p)) * kPage + i}, a);
    }
  }

 private:
  static constexpr int64_t kPage = 512;
  struct Page {
    std::array<Attempt, kPage> attempts;
    int32_t live = 0;
  };
  std::deque<std::unique_ptr<Page>> pages_;  // null: all of it ended
  int64_t first_ = 0;                        // number of pages_[0]
  int64_t next_ = 0;
  int64_t live_ = 0;
};

}  // namespace tinderbox::core
