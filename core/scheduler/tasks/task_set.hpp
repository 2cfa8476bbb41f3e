// One stage attempt's tasks: which are pending, where they may run, how often they failed.
//
// Per task: 12 bytes, 16 more in a map stage, up to 8 for ids that don't count from 0. What
// speculation and exclusion need is there only when they are on. Source: Spark 4.3 TaskSetManager.
#pragma once

#include <array>
#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler/executors/executors.hpp"
#include "core/scheduler/executors/health.hpp"
#include "core/scheduler/tasks/pace.hpp"
#include "core/scheduler/tasks/pending_tasks.hpp"
#include "core/scheduler/tasks/speculation.hpp"

namespace tinderbox::core {

inline constexpr size_t kLocalities = 5;

using PropertiesPtr = std::shared_ptr<const std::map<std::string, std::string>>;

/// What the DAG scheduler hands over for one stage attempt.
struct TaskSetSpec {
  StageId stage;
  int32_t attempt = 0;
  JobId priority;  // the job that it runs for; earlier jobs go first
  bool map_tasks = false;
  bool barrier = false;  // all tasks are launched together, or none
  int32_t num_partitions = 0;
  int64_t epoch = 0;
  NodePtr root;
  bool has_inputs = false;  // source data travels with the tasks
  /// Shuffles that the tasks read: where their outputs are goes ahead of the tasks.
  std::vector<ShuffleId> reads;
  int32_t profile = 0;  // resource profile
  Payload code;
  PropertiesPtr properties;
  /// What each task makes: a position of the result, or a map partition. Ascending.
  std::vector<int32_t> ids;
  /// Partition of task i; empty: equal to `ids`.
  std::vector<int32_t> partitions;
  Places places;
};

class TaskSet {
 public:
  struct Pick {
    int32_t index = 0;
    Locality locality = Locality::Any;
    bool copy = false;  // of a task that runs and is slow
    bool operator==(const Pick&) const = default;
  };
  /// Which attempt made a map task's output, the latest of those that did. Executor −1: none, or
  /// one of another stage attempt.
  struct Winner {
    TaskId task;
    int32_t executor = -1;
    int32_t number = 0;  // of the attempt
  };

  TaskSet(TaskSetSpec spec, Executors& executors, const DriverOptions& options, int64_t program,
          Time now);
  TaskSet(const TaskSet&) = delete;
  TaskSet& operator=(const TaskSet&) = delete;

  const TaskSetSpec& spec() const { return spec_; }
  int64_t program() const { return program_; }
  /// `<stage>.<attempt>`
  std::string id() const;
  std::string name() const { return "TaskSet_" + id(); }
  int32_t size() const { return static_cast<int32_t>(tasks_.size()); }
  int32_t partition(int32_t index) const {
    return spec_.partitions.empty() ? output(index) : spec_.partitions[static_cast<size_t>(index)];
  }
  int32_t output(int32_t index) const {
    return spec_.ids.empty() ? index : spec_.ids[static_cast<size_t>(index)];
  }
  /// −1: no task makes that.
  int32_t index_of(int32_t output) const;

  bool barrier() const { return spec_.barrier; }
  int32_t pending() const { return zombie_ ? 0 : pending_; }
  /// Some task is pending, or waits for its copy. Tasks that were sent ahead come before copies.
  bool wants_offers() const { return pending() > 0 || copies_wait(); }
  int32_t running() const { return running_; }
  int32_t successes() const { return successes_; }
  bool all_successful() const { return successes_ == size(); }
  bool zombie() const { return zombie_; }
  void make_zombie() { zombie_ = true; }
  bool successful(int32_t index) const { return task(index).successful; }
  int32_t copies_running(int32_t index) const { return task(index).copies; }
  int32_t failures(int32_t index) const { return task(index).failures; }
  int32_t attempts(int32_t index) const { return task(index).attempts; }

  /// Adds how many of its tasks wait and would rather run on a host, by the host's number. Shape:
  /// `tasks` grows as needed.
  void count_local(std::vector<int32_t>& tasks) const;

  // ---- choosing ----
  /// A task for a free slot; `rejected`: something is pending but waits for a better place.
  /// The task stays pending until start(). Copies of slow tasks come after all others.
  std::optional<Pick> offer(int32_t executor, Locality max, Time now, bool& rejected);
  struct Levels {
    std::array<Locality, kLocalities> level{};
    size_t count = 0;
    const Locality* begin() const { return level.data(); }
    const Locality* end() const { return level.data() + count; }
  };
  const Levels& levels() const { return levels_; }
  void recompute_locality();
  /// `best`: most local level that was launched.
  void reset_delay(Time now, Locality best);
  bool no_rejects_since_reset = true;

  // ---- one attempt's life ----
  /// Number of the new attempt.
  int32_t start(int32_t index);
  /// The attempt ended.
  void stop(int32_t index);
  /// The attempt was taken back before it ran: as if it had never been. `copy_on`: the host of a
  /// copy, or −1.
  void take_back(int32_t index, int32_t number, int32_t copy_on = -1);
  /// Nothing runs any more: all tasks wait as they did at first.
  void start_over() { pending_tasks_.start_over(); }
  /// Entries of the lists of pending tasks.
  size_t listed() const { return pending_tasks_.entries(); }
  /// False: it was successful before.
  bool succeed(int32_t index, Winner winner);
  /// Successful by another attempt of the stage, or not worth running any more.
  void complete(int32_t index);
  /// Failures so far, with this one.
  int32_t count_failure(int32_t index) { return ++task(index).failures; }
  /// An executor died, perhaps by this task, under an attempt that had a slot but had not said that
  /// it ran. True: not for the first time. A task that ends its process before it could report
  /// would else be tried without end.
  bool lost_before_report(int32_t index) {
    const bool before = task(index).lost_unreported;
    task(index).lost_unreported = true;
    return before;
  }
  /// Pending again, before all others, unless it is done or runs elsewhere.
  void requeue(int32_t index);
  /// Tasks whose output is lost with an executor, now pending again; not those with an output that
  /// was `moved` away from it.
  std::vector<std::pair<int32_t, Winner>> undo(
      int32_t executor, const std::function<bool(int32_t index, TaskId made_by)>& moved = {});

  // ---- memory, of many tasks and executors more than a cache holds ----
  /// The task's end is near.
  void prefetch_end(int32_t index) const { __builtin_prefetch(&task(index), 1); }
  /// An offer of that executor is near.
  void prefetch_offer(int32_t executor) {
    for (const int32_t index : pending_tasks_.upcoming(executor)) prefetch_end(index);
  }

  // ---- speculation; null: off ----
  Speculation* speculation() { return speculation_.get(); }
  const Speculation* speculation() const { return speculation_.get(); }

  // ---- exclusion on failure ----
  /// Null: off, or nothing failed yet.
  const TaskSetExclusion* exclusion() const { return exclusion_.get(); }
  /// To be called when spark.excludeOnFailure is on, before the task is requeued.
  void exclude_after_failure(int32_t executor, int32_t index, std::string reason, Turn& turn);
  /// The pending task that goes first, if every executor is excluded for it.
  std::optional<int32_t> excluded_everywhere();

  // ---- bookkeeping that belongs to TaskScheduler ----
  Pace pace;
  int64_t total_result_size = 0;
  int32_t calculated_results = 0;
  bool warned_of_size = false;
  int64_t largest_inputs = 0;  // of a task, as far as they were launched. Unit: bytes
  int32_t exchanges = 0;       // executors given up because a task is excluded everywhere
  bool retired = false;
  std::string addresses;             // of a barrier set's executors, once it is launched
  std::optional<Time> told_to_wait;  // when the log last said why a barrier set waits
  int32_t ahead = 0;                 // of running(): beyond the executors' slots
  uint64_t launched_turn = 0;        // the last turn that launched something
  /// Its pool, and what the pools have counted of it.
  struct Place {
    int32_t pool = 0;
    int32_t running = 0;   // in slots of executors
    bool ready = false;    // can get slots
    bool waiting = false;  // has tasks without a slot
    bool touched = false;  // to be counted anew
  };
  Place place;
  bool sent_to(int32_t executor) const;
  void mark_sent(int32_t executor);
  /// Calls f(executor) for each that was marked.
  template <class F>
  void each_sent(F&& f) const {
    for (size_t word = 0; word < sent_.size(); ++word)
      for (uint64_t bits = sent_[word]; bits != 0; bits &= bits - 1)
        f(static_cast<int32_t>(word * 64) + std::countr_zero(bits));
  }

 private:
  struct Task {  // eight bytes: a stage may have millions, and each keeps one when it is done
    uint64_t attempts : 27 = 0;
    uint64_t failures : 27 = 0;
    uint64_t copies : 7 = 0;
    uint64_t successful : 1 = false;
    uint64_t queued : 1 = true;  // counted in pending_
    uint64_t lost_unreported : 1 = false;
  };
  static_assert(sizeof(Task) == 8);
  Task& task(int32_t i) { return tasks_[static_cast<size_t>(i)]; }
  const Task& task(int32_t i) const { return tasks_[static_cast<size_t>(i)]; }
  bool wanted(int32_t i) const { return !task(i).successful && task(i).copies == 0; }
  bool copies_wait() const {
    return speculation_ && !zombie_ && ahead == 0 && speculation_->any_waiting();
  }
  void unqueue(Task& task);
  void make_successful(int32_t index);
  void set_levels();
  size_t level_index(Locality locality) const;
  Locality allowed(Time now);
  Duration wait(Locality level) const;
  bool more_at(Locality level);
  bool excluded(int32_t executor, int32_t index) const;
  std::optional<Pick> dequeue(int32_t executor, Locality max);
  std::optional<Pick> dequeue_copy(int32_t executor, Locality max);

  void drop_plain_ids();

  TaskSetSpec spec_;  // but for places of tasks that are done; ids that count from 0 are left out
  const int64_t program_;
  Executors& executors_;
  const DriverOptions& options_;

  std::vector<Task> tasks_;
  std::vector<Winner> winners_;  // map stages only
  int32_t pending_ = 0, running_ = 0, successes_ = 0;
  bool zombie_ = false;

  PendingTasks pending_tasks_;
  std::unique_ptr<Speculation> speculation_;
  std::unique_ptr<TaskSetExclusion> exclusion_;

  Levels levels_;
  size_t level_ = 0;
  Time last_reset_;
  std::vector<uint64_t> sent_;  // bit an executor slot
};

}  // namespace tinderbox::core
