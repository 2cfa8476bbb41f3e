// Pools of task sets in FAIR mode: which task set a free slot goes to.
//
// The root holds pools, pools hold task sets. In a FAIR pool the child goes first that has less
// than its share: one below its minShare before one that is not; below it, the smaller part of
// minShare; above it, the smaller number of running tasks by weight; then by name. In a FIFO pool
// the earlier job, then the earlier stage. In FIFO mode there are no pools: the scheduler's queue
// is in that order at all times, and nothing here is called.
//
// Spark sorts all task sets once a round of offers. Here each pool keeps what its sets add up to;
// before a round those that changed since are counted anew, so that a round costs what changed and
// one look at each pool, however many sets there are. Spark's round is what one ended task left
// free, and ours all that a turn left free: a set gets only a small share of its slots before the
// next one is looked for.
//
// Tasks ahead of free slots would bind slots that another pool should get, for as long as tasks
// last. So they count as not running, and while sets of several pools have tasks waiting
// (contested()) none are sent and those sent are asked back. Source: Spark 4.3 Pool,
// SchedulableBuilder, SchedulingAlgorithm.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conf/values/pools.hpp"
#include "core/scheduler/tasks/task_set.hpp"

namespace tinderbox::core {

/// One child of a FAIR pool, as far as its turn is concerned.
struct FairShare {
  int32_t running = 0;
  int32_t min_share = 0;
  int32_t weight = 1;
};
/// less: `a` goes first; equivalent: their names decide.
std::weak_ordering fair_order(const FairShare& a, const FairShare& b);

class Pools {
 public:
  static constexpr int32_t kRoot = 0;

  explicit Pools(const DriverOptions& options);

  bool fair() const { return pools_[kRoot].spec.mode == conf::SchedulingMode::kFair; }
  /// Number of the new pool. Task sets go into pools that have no pools in them.
  int32_t add(conf::PoolSpec spec, int32_t parent = kRoot);
  /// The pool that a job's properties choose, made with the defaults if there is none; the root in
  /// FIFO mode.
  int32_t of(const PropertiesPtr& properties, Turn& turn);
  const conf::PoolSpec& spec(int32_t pool) const { return at(pool).spec; }
  int32_t count() const { return static_cast<int32_t>(pools_.size()); }

  // ---- what the sets add up to ----
  /// Something about `set` changed.
  void touch(TaskSet& set) {
    if (set.place.pool == kRoot || set.place.touched || set.retired) return;
    set.place.touched = true;
    touched_.push_back(&set);
  }
  /// Nothing is counted.
  bool empty() const;
  /// `set` is about to go.
  void remove(TaskSet& set);
  /// Counts those that were touched anew.
  void refresh();
  /// Counts all anew. `queue`: all task sets.
  void refresh(const std::vector<std::unique_ptr<TaskSet>>& queue);

  // ---- one round of offers, after refresh() ----
  /// The pending set that is first now; null: none is left.
  TaskSet* first() const { return at(kRoot).ready > 0 ? first(at(kRoot)) : nullptr; }
  /// Tasks of `set` were launched.
  void launched(TaskSet& set) { count_anew(set); }
  /// Nothing more for `set` until the next refresh().
  void pass(TaskSet& set);
  /// Sets that a FAIR pool chooses between have tasks without a slot.
  bool contested() const { return contested(at(kRoot)); }

 private:
  struct Pool {
    conf::PoolSpec spec;
    int32_t parent = -1;
    std::vector<int32_t> children;

    // Sums over its sets, those further below too.
    int32_t running = 0, ready = 0, waiting = 0;
    std::vector<TaskSet*> sets = {};  // the ready ones of this very pool, in FIFO order
  };
  Pool& at(int32_t pool) { return pools_[static_cast<size_t>(pool)]; }
  const Pool& at(int32_t pool) const { return pools_[static_cast<size_t>(pool)]; }
  TaskSet* first(const Pool& pool) const;
  bool contested(const Pool& pool) const;
  bool before(const Pool& a, const Pool& b) const;
  void count_anew(TaskSet& set);
  void move(TaskSet& set, const TaskSet::Place& now);

  std::vector<Pool> pools_;
  std::map<std::string, int32_t, std::less<>> by_name_;
  std::vector<TaskSet*> touched_;
};

}  // namespace tinderbox::core
