// Task threads of one process: they run task attempts and say how each ended. Local mode uses it
// inside the driver.
//
// The target is 100,000 empty tasks a second on two cores, so a task costs one lock: the thread
// that finished one hands in its outcome and takes the next in the same critical section, wakes
// nobody while the queue is not empty, and rings the consumer once for all outcomes since the last
// take_updates().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/plan/program.hpp"
#include "core/plan/tasks/task.hpp"
#include "net/mutex.hpp"
#include "net/types.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

struct TaskRunnerOptions {
  int32_t threads = 1;
  int64_t max_result_size = 0;         // spark.driver.maxResultSize; 0: no limit
  int64_t max_direct_result_size = 0;  // of results and accumulators that go with the update
  /// Program::decode outside tests.
  std::function<Result<std::unique_ptr<Program>>(std::string_view)> decode;
  /// Thread: any. The loop's clock.
  std::function<Time()> now;
  /// Rung on a task thread when take_updates() has finished attempts to give, once until it is
  /// called; while more short tasks of the same stage wait, not for each. Whoever wants to know of
  /// their ends within a certain time looks by itself too. It must not call the runner back.
  std::function<void()> on_updates;
  /// Called after a task was marked killed, so that calls that block look at the mark again
  /// (ExecutorServices::interrupt).
  std::function<void()> on_kill;
};

/// Thread: every function may be called from any thread but a task's; calls never wait for a task,
/// except stop() and stop_within().
class TaskRunner {
 public:
  /// Errors: std::runtime_error, one line: the threads cannot be started.
  TaskRunner(TaskRunnerOptions options, TaskServices& services);
  /// As stop().
  ~TaskRunner();

  /// Before the tasks of the program. Decoded by the first task that runs it, once.
  void keep_program(const StageProgram& program);
  /// Tasks that were started already keep it until they are over.
  void forget_program(int64_t program);
  /// Queues attempts; they run in this order. A task whose program is unknown fails.
  void start(LaunchTasks launch);
  /// A running task sees its mark at the next record; one that waits ends without running; for one
  /// that has not come yet the mark is kept. Source: Spark Executor.killMarks.
  void kill(const KillTask& kill);
  /// Those of `tasks` that had not started; they never will, and get no update.
  std::vector<TaskId> revoke(const std::vector<TaskId>& tasks);

  /// What moved since the last call, in order: Finished, Failed, Killed; and one Running for each
  /// task that has run since an earlier call and was not reported yet. A task that ends before it
  /// was reported as Running gets only its end.
  std::vector<TaskUpdate> take_updates();
  /// From now on so many tasks may run at once, if they were fewer and the threads can be started.
  void grow(int32_t threads);
  /// Tasks that wait or run.
  size_t unfinished() const;
  /// Tasks that run now.
  std::vector<TaskId> running() const;
  /// How far they are.
  std::vector<TaskProgress> progress() const;
  /// Drops what waits, marks what runs as killed, waits for the threads. Idempotent.
  void stop();
  /// As stop(), but waits no longer than `patience` for tasks that do not look at their marks.
  /// False: some run on, and use this object and its services.
  bool stop_within(Duration patience);

 private:
  struct Code;
  struct Batch;
  class CpuMeter;
  struct Waiting {
    std::shared_ptr<const Batch> batch;
    size_t index = 0;
    bool expected = false;  // its input may be fetched already
  };
  struct Slot {
    TaskContext* context = nullptr;  // null: idle
    bool reported = false;
    bool killed = false;
    std::string kill_reason;
  };

  void begin_stop();
  bool busy() const REQUIRES(mutex_);
  void work(Slot& slot);
  TaskUpdate run(const Batch& batch, const TaskLaunch& task, TaskContext& context,
                 const Slot& slot);
  void execute(const Batch& batch, const TaskLaunch& task, TaskContext& context,
               TaskUpdate& update);
  void look_ahead(const Batch& batch, int32_t own, const Program& program);
  void settle(TaskContext& context, TaskOutput output, TaskUpdate& update);
  void store_result(TaskContext& context, Payload result, TaskUpdate& update);
  void explain(const TaskContext& context, const Slot& slot, TaskUpdate& update);
  bool take_mark(TaskId id, std::string& reason) REQUIRES(mutex_);
  bool finished(TaskUpdate update, bool may_wait) REQUIRES(mutex_);
  bool more_come(const Batch& batch, const TaskUpdate& update) REQUIRES(mutex_);

  const TaskRunnerOptions options_;
  TaskServices& services_;
  mutable net::Mutex mutex_;
  net::Condition wake_;
  net::Condition left_;  // a task is over after the stop began
  std::map<int64_t, std::shared_ptr<Code>> programs_ GUARDED_BY(mutex_);
  std::deque<Waiting> queue_ GUARDED_BY(mutex_);
  std::deque<Slot> slots_ GUARDED_BY(mutex_);
  std::vector<TaskUpdate> updates_ GUARDED_BY(mutex_);
  std::deque<std::pair<TaskId, std::string>> marks_ GUARDED_BY(mutex_);  // oldest first
  size_t idle_ GUARDED_BY(mutex_) = 0;
  bool rung_ GUARDED_BY(mutex_) = false;
  int64_t untold_ GUARDED_BY(mutex_) = 0;  // run time of `updates_`. Unit: microseconds
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tinderbox::core
