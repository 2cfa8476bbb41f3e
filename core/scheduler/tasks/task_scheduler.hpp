// Offers of free slots → launches, across task sets; and what becomes of each attempt.
//
// Each executor is offered its slots and `launch_ahead` tasks more, which wait in the executor's
// own queue so that a slot never waits a round trip. First all real slots are filled, round-robin;
// only when no executor has a slot free are tasks sent ahead. A task ahead is LAUNCHING:
// TaskStarted is published when a slot becomes its own (a task before it ended) or the executor
// says that it runs, so listeners see what they would see without launch-ahead. It is taken back
// (RevokeTasks, answered by TasksRevoked) when another executor idles that nothing pending may run
// on, and when something must run first: an earlier job's stage by FIFO, another pool, what a
// missing input is made of. A revoked attempt leaves no trace but its task id.
//
// Cost of a task: one launch and one end, each a few array accesses, its two events and its result;
// nothing here walks over all pending tasks or all executors per task. Source: Spark 4.3
// TaskSchedulerImpl, TaskSetManager, CoarseGrainedSchedulerBackend.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/scheduler/executors/executors.hpp"
#include "core/scheduler/pools/pools.hpp"
#include "core/scheduler/resources/task_resources.hpp"
#include "core/scheduler/tasks/attempts.hpp"
#include "core/scheduler/tasks/task_set.hpp"

namespace tinderbox::core {

/// The end of an attempt. `update`: what the executor said, if it did; may be moved from.
struct TaskEnd {
  const TaskSet& set;
  int32_t index;
  TaskInfo info;
  TaskEndReason reason;
  TaskUpdate* update;
  std::vector<AccumulatorUpdate> counted{};  // updates of accumulators that count
  bool by_executor = true;                   // who may be to blame, but for the driver's own disk
};

/// What the task scheduler tells the DAG scheduler; tests put a recorder in its place.
class StageProgress {
 public:
  virtual ~StageProgress() = default;
  /// The set's own state is up to date before the call.
  virtual void task_ended(TaskEnd& end, Turn& turn) = 0;
  virtual void task_set_failed(const TaskSet& set, const std::string& reason, Turn& turn) = 0;
  /// Whether the output of this task of `from`, which is gone, lies elsewhere by now.
  virtual bool output_moved(const TaskSet&, int32_t, TaskId, const ExecutorId&) const {
    return false;
  }
  /// Where a shuffle's outputs are, for the executor in that slot, unless it was told. Null:
  /// nothing is to be sent.
  virtual std::shared_ptr<const ToExecutor> outputs_ahead(ShuffleId, int32_t) { return nullptr; }
};

/// Why an executor is gone.
struct ExecutorLoss {
  std::string reason;
  bool caused_by_app = true;  // only tasks known to run are blamed
  TaskId culprit;             // that one alone then; none: it is not known
};

class TaskScheduler {
 public:
  TaskScheduler(const DriverOptions& options, const ProgramCodec& codec, Executors& executors,
                StageProgress& progress);

  void submit(TaskSetSpec spec, Turn& turn);
  /// Kills what runs of the stage and launches no more of it.
  void cancel(StageId stage, const std::string& reason, bool interrupt, Turn& turn);
  /// Kills attempts that are left of a stage that is finished.
  void kill_attempts_of(StageId stage, const std::string& reason, bool interrupt, Turn& turn);
  /// False: no such attempt.
  bool kill(TaskId task, bool interrupt, const std::string& reason, Turn& turn);
  /// Another attempt of the stage has made `output`.
  void output_completed(StageId stage, int32_t output, Turn& turn);

  void executor_ready(int32_t executor);
  /// No offers until its end is known.
  void executor_suspended(int32_t executor);
  Executors& executors() { return executors_; }
  /// No offers any more; what waits in its queue is asked back.
  void executor_draining(int32_t executor, Turn& turn);
  /// Tasks of the resource profile that all executors with offers could run at once.
  int32_t total_slots(int32_t profile) const;
  /// It has attempts, or results that have not been fetched.
  bool busy(int32_t executor);
  /// Null: see Executors::decommission_of.
  const Decommission* decommission_of(const ExecutorId& executor) const {
    return executors_.decommission_of(executors_.slot(executor));
  }
  /// To be called when it is no longer active.
  void executor_lost(int32_t executor, const ExecutorLoss& loss, Turn& turn);

  void status(int32_t executor, StatusUpdates updates, Turn& turn);
  /// The executor says of a task, by what it asks, that it runs: so its end will be told, whatever
  /// comes. False: it does not run there, as far as the driver is concerned.
  bool runs(int32_t executor, TaskId id, Turn& turn);
  void revoked(int32_t executor, const TasksRevoked& answer, Turn& turn);
  void result_fetched(ResultFetched result, Turn& turn);
  /// What running tasks have read so far.
  void progress(int32_t executor, const std::vector<TaskProgress>& tasks);

  /// Offer everything at the end of this turn.
  void revive() { offer_all_ = true; }
  void revive_timer() {
    revive_timer_set_ = false;
    offer_all_ = true;
  }
  /// The starvation timer ran.
  void starvation(Turn& turn);
  /// Time to look for slow tasks.
  void speculation_timer(Turn& turn);
  /// A task set that could run nowhere had its time to get another executor.
  void unschedulable_timer(int64_t program, Turn& turn);
  /// Executors to be ended because of failures, since the last call.
  std::vector<ExecutorRemoval> take_removals();
  /// Why the cluster manager gives nothing; said beside the starvation warning.
  void set_backend_status(std::string reason) { backend_status_ = std::move(reason); }
  /// Places what can be placed; ends each turn.
  void settle(Turn& turn);

  /// Free slots of one executor.
  struct Offer {
    int32_t executor = 0;
    int32_t slots = 0;
  };
  /// One round of offers. `all_free`: they are all that is free. `ahead`: beyond the executors'
  /// slots.
  void resource_offers(std::vector<Offer> offers, bool all_free, bool ahead, Turn& turn);

  Profiles& profiles() { return executors_.profiles(); }
  /// Null: slots are all that counts.
  const TaskResources* resources() const { return resources_.get(); }

  /// Null: the application level of spark.excludeOnFailure is off.
  const HealthTracker* health() const { return health_.get(); }
  /// Task sets that wait for an executor that is not excluded for them.
  size_t unschedulable() const { return unschedulable_.size(); }

  bool idle() const {
    return queue_.empty() && attempts_.live() == 0 && fetching_.empty() && pools_.empty() &&
           (!resources_ || resources_->unused());
  }
  const Pools& pools() const { return pools_; }
  /// By job, stage and attempt: the scheduling order in FIFO mode.
  const std::vector<std::unique_ptr<TaskSet>>& task_sets() const { return queue_; }
  const TaskSet* task_set(StageId stage, int32_t attempt) const;

 private:
  /// What one task set met in a round of offers.
  struct Pass {
    TaskSet* set;
    bool launched = false;
    bool rejects = false;           // it waits for a better place
    Locality best = Locality::Any;  // most local level that was launched
    // Of a barrier set: places taken until there is one for every task.
    struct Reserved {
      TaskSet::Pick pick;
      int32_t number = 0;
      size_t offer = 0;
    };
    std::vector<Reserved> reserved = {};
  };

  // task_scheduler.cpp: task sets and offers
  void abort(TaskSet& set, const std::string& reason, Turn& turn);
  void finish_if_done(TaskSet& set, Turn& turn);
  void collect_schedulable();
  bool anything_pending() const;
  bool anything_to_offer() const;
  bool offerable(const Executor& executor) const;
  bool offer_level(Pass& pass, Locality level, std::vector<Offer>& offers, bool ahead, Turn& turn);
  void one_taken(Offer& offer) const;
  void offer_set(Pass& pass, std::vector<Offer>& offers, bool ahead, Turn& turn);
  void reset_delay(const Pass& pass, bool all_free, Turn& turn);
  void fifo_offers(std::vector<Offer> offers, bool all_free, bool ahead, Turn& turn);
  std::vector<Offer> real_offers();
  int32_t room_ahead(const TaskSet& set, const Executor& executor) const;
  std::vector<Offer> ahead_offers();
  void set_revive_timer(Turn& turn);
  void update_idle(int32_t executor);
  void freed(int32_t executor, Turn& turn);

  // taking_back.cpp: what was sent ahead
  void revoke_for_idle(Turn& turn);
  void take_back(TaskId id, Attempt& attempt, Turn& turn);
  /// At most `count`, of those that were not asked back yet.
  void ask_back(Executor& executor, int32_t count, Turn& turn);

  // fair_offers.cpp: the same by pools
  void refresh_pools();
  bool contested();
  Pass& pass_of(TaskSet& set);
  void fair_offers(std::vector<Offer> offers, bool all_free, bool ahead, Turn& turn);
  void take_all_back(Turn& turn);

  // counting.cpp: custom resources, resource profiles
  void count_resources(int32_t profile, Turn& turn);
  void take_resources(TaskId id, const TaskSet& set, const Executor& executor,
                      LaunchTasks& message);

  // barrier_offers.cpp: all tasks of a set at once
  void reserve(Pass& pass, const TaskSet::Pick& pick, size_t offer, int32_t executor);
  int32_t slots_for(const TaskSet& set, const std::vector<Offer>& offers) const;
  void offer_barrier(Pass& pass, std::vector<Offer>& offers, Turn& turn);
  void give_back(Pass& pass, std::vector<Offer>& offers);
  void launch_together(Pass& pass, std::vector<Offer>& offers, Turn& turn);
  static void say_why_it_waits(TaskSet& set, std::string why, Turn& turn);

  // exclusion.cpp: executors that get no offers, task sets that can run nowhere
  struct Unschedulable {
    StageId stage;
    int32_t stage_attempt = 0;
    int32_t index = 0;
    Time until{};
    bool announced = false;  // dynamic allocation was told
  };
  void update_excluded(Executor& executor);
  void refresh_excluded(Turn& turn);
  void recall_excluded(const TaskSet& set, Turn& turn);
  void readmit_excluded(Turn& turn);
  void drop_excluded(std::vector<Offer>& offers, Turn& turn);
  void fetch_failed_from(const BlockManagerId& address, Turn& turn);
  void judge_executors(const TaskSet& set, Turn& turn);
  void look_for_unschedulable(Turn& turn);
  void forget_unschedulable(Turn& turn);
  void cannot_run(TaskSet& set, int32_t index, Turn& turn);
  void abort_excluded(TaskSet& set, int32_t index, Turn& turn);

  // speculation.cpp: second copies of slow tasks
  void start_speculation_timer(Turn& turn);
  void check_speculation(Turn& turn);
  void speculate(TaskId id, const Attempt& attempt, const Speculation::Rule& rule, Turn& turn);
  static void note_end(TaskId id, const Attempt& attempt, int32_t failed_on);

  // launching.cpp: one attempt on its way out
  bool launch(TaskSet& set, TaskSet::Pick pick, int32_t executor, bool ahead, Turn& turn);
  bool encode_inputs(TaskSet& set, int32_t index, Payload& inputs, Turn& turn);
  LaunchTasks& open_message(TaskSet& set, Executor& executor, size_t bytes, Turn& turn);
  void announce(TaskId id, Attempt& attempt, Turn& turn);
  void promote(Executor& executor, Turn& turn);
  void no_longer_ahead(Attempt& attempt, Executor& executor);
  void no_longer_revoking(Attempt& attempt, Executor& executor);
  TaskInfo info(TaskId id, const Attempt& attempt) const;

  // task_ends.cpp: one attempt on its way back
  void prefetch(int32_t executor, const StatusUpdates& updates);
  void update(int32_t executor, TaskUpdate& update, Turn& turn);
  void runs(TaskId id, Attempt& attempt, Turn& turn);
  bool within_result_size(TaskSet& set, const TaskUpdate& update, Turn& turn);
  void finished(TaskId id, TaskUpdate& update, Turn& turn);
  void fetch_result(TaskId id, Attempt& attempt, TaskUpdate& update, Turn& turn);
  void succeeded(TaskId id, TaskUpdate& update, Turn& turn);
  void came_second(TaskId id, const std::string& result_block, Turn& turn);
  void failed(TaskId id, TaskEndReason reason, TaskUpdate* update, Turn& turn,
              bool by_executor = true);
  Attempt take(TaskId id, Turn& turn);
  void kill_other_attempts(const TaskSet& set, int32_t index, Turn& turn);
  void after_failure(TaskSet& set, const TaskEnd& end, Turn& turn);
  void resubmit_lost(int32_t executor, Turn& turn);
  static std::string lost_text(const TaskEnd& end);

  const DriverOptions& options_;
  const ProgramCodec& codec_;
  Executors& executors_;
  StageProgress& progress_;
  Pools pools_;

  std::vector<std::unique_ptr<TaskSet>> queue_;    // by (priority, stage, attempt)
  std::vector<std::unique_ptr<TaskSet>> retired_;  // destroyed when the turn ends
  std::vector<TaskSet*> schedulable_;              // of one round of offers
  std::vector<Pass> passes_;                       // of one round in FAIR mode
  int32_t quota_ = 0;                              // tasks that the set in turn may still launch
  Attempts attempts_;
  std::map<TaskId, TaskUpdate> fetching_;  // indirect results on their way
  int64_t next_program_ = 0;

  std::vector<int32_t> idle_;  // executors with free slots
  int32_t idle_slots_ = 0;     // their sum
  int32_t total_ahead_ = 0, total_revoking_ = 0;
  std::vector<int32_t> freed_;  // executors to offer at the end of this turn
  bool offer_all_ = false;
  bool pools_stale_ = false;  // count all sets anew before the next round
  size_t rotation_ = 0, revoke_cursor_ = 0;
  bool revive_timer_set_ = false;
  bool submitted_any_ = false, launched_any_ = false;
  bool speculation_timer_set_ = false;
  std::string backend_status_;

  std::unique_ptr<TaskResources> resources_;  // null: slots are all that counts
  std::unique_ptr<HealthTracker> health_;
  std::map<int64_t, Unschedulable> unschedulable_;  // by program
  std::vector<ExecutorRemoval> removals_;
};

}  // namespace tinderbox::core
