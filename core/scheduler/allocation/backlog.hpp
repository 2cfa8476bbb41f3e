// How many tasks wait and run, by stage attempt: what the number of executors follows.
// Source: Spark 4.3 ExecutorAllocationManager's listener.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "net/types.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// A stage and its attempt's number.
using StageAttempt = std::pair<StageId, int32_t>;

/// Shape: an entry a stage attempt that is submitted or still has running tasks; two bits a
/// task.
class Backlog {
 public:
  /// Tasks of one resource profile. `unschedulable`: task sets that no executor may run.
  struct Load {
    int32_t pending = 0, speculative = 0, running = 0, unschedulable = 0;
  };

  void stage_submitted(StageAttempt attempt, int32_t tasks, int32_t profile);
  /// Tasks that still run of it go on to count.
  void stage_completed(StageAttempt attempt);
  void task_started(StageAttempt attempt, int32_t index, bool speculative);
  /// A task that failed is pending again. So is one that was killed while nobody has its result:
  /// as long as its stage goes on it is tried again. (Spark counts none that was killed, and lacks
  /// an executor for it when the last one goes.)
  void task_ended(StageAttempt attempt, int32_t index, bool speculative, TaskEndKind how);
  /// The stage attempt goes on without the result of this task.
  bool lacks(StageAttempt attempt, int32_t index) const;
  void speculative_submitted(StageAttempt attempt, int32_t index);
  void set_unschedulable(StageAttempt attempt, bool unschedulable);

  /// A task that has not started, or a copy of one.
  bool anything_pending() const { return pending_ > 0 || speculative_ > 0; }
  /// No stage is submitted.
  bool empty() const { return submitted_ == 0; }
  /// Nothing is left of any stage, or of a task that outlived its stage.
  bool idle() const { return entries_.empty() && pending_ == 0 && speculative_ == 0; }
  Load load(int32_t profile) const;

 private:
  struct Entry {
    int32_t profile = 0;
    bool submitted = false;
    bool unschedulable = false;
    int32_t pending = 0;
    int32_t running = 0;
    std::vector<bool> started, done;
    std::set<int32_t> speculative;  // copies that have not started
  };
  using Entries = std::map<StageAttempt, Entry>;
  void drop_copy(Entry& entry, int32_t index);
  void set_started(Entry& entry, int32_t index, bool started);
  void erase_if_done(Entries::iterator at);

  Entries entries_;
  int32_t submitted_ = 0;                  // entries
  int64_t pending_ = 0, speculative_ = 0;  // tasks of all entries
};

}  // namespace tinderbox::core
