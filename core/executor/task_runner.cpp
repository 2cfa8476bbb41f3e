// Task threads of one process.
#include "core/executor/task_runner.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>
#include <typeinfo>
#include <utility>

#include "core/plan/tasks/task_result.hpp"
#include "core/storage/block_id.hpp"
#include "net/process/crash_watch.hpp"
#include "net/process/thread_time.hpp"

namespace tinderbox::core {
namespace {

/// Kills of tasks that never come are forgotten beyond this many.
constexpr size_t kMarks = 1024;

std::string readable(const std::type_info* type) {
  if (!type) return "unknown";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), std::free);
  return name ? name.get() : type->name();
}

/// Class and message of what was thrown; `stack` gets one line for each exception that caused it.
void describe(std::exception_ptr thrown, TaskEndReason& reason) {
  bool outermost = true;
  const auto add = [&](const char* what) {
    const std::string name = readable(abi::__cxa_current_exception_type());
    if (outermost) {
      reason.class_name = name;
      reason.description = what;
    }
    reason.stack += (outermost ? "" : "Caused by: ") + name + (*what ? ": " : "") + what + "\n";
    outermost = false;
  };
  while (thrown) {
    std::exception_ptr cause;
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
      add(e.what());
      if (dynamic_cast<const std::bad_alloc*>(&e)) reason.out_of_memory = true;
      if (const auto* nested = dynamic_cast<const std::nested_exception*>(&e))
        cause = nested->nested_ptr();
    } catch (const std::string& text) {
      add(text.c_str());
    } catch (const char* text) {
      add(text);
    } catch (...) {
      add("");
    }
    thrown = cause;
  }
}

TaskEndReason commit_denied(const CommitDeniedException& e) {
  TaskEndReason reason;
  reason.kind = TaskEndKind::TaskCommitDenied;
  reason.description = "attempt " + std::to_string(e.attempt) + " at partition " +
                       std::to_string(e.partition) + " of stage " + std::to_string(e.stage.value) +
                       " may not commit its output";
  return reason;
}

TaskEndReason failure(std::string class_name, std::string description) {
  TaskEndReason reason;
  reason.kind = TaskEndKind::ExceptionFailure;
  reason.class_name = std::move(class_name);
  reason.description = std::move(description);
  return reason;
}

void end(TaskUpdate& update, TaskState state, TaskEndReason reason) {
  update.state = state;
  update.reason = std::move(reason);
}

void end_killed(TaskUpdate& update, std::string why) {
  TaskEndReason reason;
  reason.kind = TaskEndKind::TaskKilled;
  reason.description = std::move(why);
  end(update, TaskState::Killed, std::move(reason));
}

}  // namespace

/// Processor time of the tasks of one thread. Asking for it is a system call of up to 2 µs, so a
/// short task's is taken to be its run time.
class TaskRunner::CpuMeter {
 public:
  /// Unit: microseconds.
  int64_t after_task(int64_t run_time) {
    constexpr int64_t kShort = 200;
    if (run_time < kShort) {
      unread_ += Duration(run_time);
      return run_time;
    }
    const Duration used = net::thread_cpu_time();
    const Duration of_task = used - read_ - std::exchange(unread_, Duration::zero());
    read_ = used;
    return std::clamp<int64_t>(of_task.count(), 0, run_time);
  }

 private:
  Duration read_ = net::thread_cpu_time();
  Duration unread_{};  // of short tasks since it was read
};

/// A program as it came, and rebuilt once. Thread: any.
struct TaskRunner::Code {
  Payload bytes;
  std::map<std::string, std::string> properties;
  std::atomic<const Program*> ready{nullptr};
  net::Mutex mutex;
  std::unique_ptr<Program> program GUARDED_BY(mutex);

  /// Errors: those of decoding; each task that meets them fails with them.
  Result<const Program*> get(const TaskRunnerOptions& options, TaskMetrics& metrics) {
    if (const Program* done = ready.load(std::memory_order_acquire)) return done;
    net::Lock lock(mutex);
    if (program) return static_cast<const Program*>(program.get());
    const Time start = options.now();
    Result<std::unique_ptr<Program>> decoded = options.decode(bytes.view());
    if (!decoded) return decoded.error();
    program = std::move(*decoded);
    metrics.deserialize_time = (options.now() - start).count();
    ready.store(program.get(), std::memory_order_release);
    return static_cast<const Program*>(program.get());
  }
};

/// What one LaunchTasks brought.
struct TaskRunner::Batch {
  LaunchTasks launch;
  std::shared_ptr<Code> code;  // null: unknown program
};

TaskRunner::TaskRunner(TaskRunnerOptions options, TaskServices& services)
    : options_(std::move(options)), services_(services) {
  const int32_t count = std::max(options_.threads, 1);
  try {
    net::Lock lock(mutex_);
    slots_.resize(static_cast<size_t>(count));
    for (Slot& slot : slots_) threads_.emplace_back([this, &slot] { work(slot); });
  } catch (const std::system_error& e) {
    stop();
    throw std::runtime_error("cannot start " + std::to_string(count) +
                             " task threads: " + e.code().message() +
                             "; give fewer (local[N], cores), or raise the limit of processes");
  }
}

TaskRunner::~TaskRunner() { stop(); }

void TaskRunner::keep_program(const StageProgram& program) {
  auto code = std::make_shared<Code>();
  code->bytes = program.code;
  code->properties = program.properties;
  net::Lock lock(mutex_);
  programs_.try_emplace(program.program, std::move(code));
}

void TaskRunner::forget_program(int64_t program) {
  std::shared_ptr<Code> last;  // freed without the lock
  net::Lock lock(mutex_);
  const auto it = programs_.find(program);
  if (it == programs_.end()) return;
  last = std::move(it->second);
  programs_.erase(it);
  lock.unlock();
}

void TaskRunner::start(LaunchTasks launch) {
  auto batch = std::make_shared<Batch>();
  batch->launch = std::move(launch);
  const size_t count = batch->launch.tasks.size();
  net::Lock lock(mutex_);
  if (stopping_) return;
  const auto code = programs_.find(batch->launch.program);
  if (code != programs_.end()) batch->code = code->second;
  const std::shared_ptr<const Batch> shared = std::move(batch);
  for (size_t i = 0; i < count; ++i) queue_.push_back({shared, i});
  const size_t wanted = std::min(count, idle_);
  lock.unlock();
  for (size_t i = 0; i < wanted; ++i) wake_.notify_one();
}

void TaskRunner::kill(const KillTask& kill) {
  bool ring = false;
  {
    net::Lock lock(mutex_);
    const auto waiting = std::find_if(queue_.begin(), queue_.end(), [&](const Waiting& w) {
      return w.batch->launch.tasks[w.index].id == kill.id;
    });
    const auto slot = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) {
      return s.context && s.context->id == kill.id;
    });
    if (slot != slots_.end()) {
      slot->killed = true;
      slot->kill_reason = kill.reason;
      slot->context->killed = true;
    } else if (waiting != queue_.end()) {
      queue_.erase(waiting);
      TaskUpdate update;
      update.id = kill.id;
      end_killed(update, kill.reason);
      ring = finished(std::move(update), false);
    } else {
      marks_.emplace_back(kill.id, kill.reason);
      if (marks_.size() > kMarks) marks_.pop_front();
    }
  }
  if (ring && options_.on_updates) options_.on_updates();
  if (options_.on_kill) options_.on_kill();
}

bool TaskRunner::take_mark(TaskId id, std::string& reason) {
  const auto it = std::find_if(marks_.begin(), marks_.end(),
                               [id](const auto& mark) { return mark.first == id; });
  if (it == marks_.end()) return false;
  reason = std::move(it->second);
  marks_.erase(it);
  return true;
}

std::vector<TaskId> TaskRunner::revoke(const std::vector<TaskId>& tasks) {
  std::vector<TaskId> wanted = tasks;
  std::sort(wanted.begin(), wanted.end());
  std::vector<TaskId> revoked;
  net::Lock lock(mutex_);
  std::erase_if(queue_, [&](const Waiting& w) {
    const TaskId id = w.batch->launch.tasks[w.index].id;
    if (!std::binary_search(wanted.begin(), wanted.end(), id)) return false;
    revoked.push_back(id);
    return true;
  });
  return revoked;
}

void TaskRunner::grow(int32_t threads) {
  net::Lock lock(mutex_);
  if (stopping_) return;
  while (slots_.size() < static_cast<size_t>(threads)) {
    Slot& slot = slots_.emplace_back();
    try {
      threads_.emplace_back([this, &slot] { work(slot); });
    } catch (const std::system_error&) {
      return slots_.pop_back();
    }
  }
}

/// True: the consumer has to be rung.
bool TaskRunner::finished(TaskUpdate update, bool may_wait) {
  updates_.push_back(std::move(update));
  return !may_wait && !std::exchange(rung_, true);
}

/// The end of a short task is told with those of the next ones of its stage, unless so few are left
/// that the driver should hear of it: each telling wakes six threads.
bool TaskRunner::more_come(const Batch& batch, const TaskUpdate& update) {
  constexpr int64_t kUntold = 500;  // microseconds
  untold_ += update.metrics->run_time;
  return update.state == TaskState::Finished && untold_ < kUntold &&
         updates_.size() + 1 < queue_.size() && queue_.front().batch->code == batch.code;
}

std::vector<TaskUpdate> TaskRunner::take_updates() {
  std::vector<TaskUpdate> taken;
  net::Lock lock(mutex_);
  rung_ = false;
  untold_ = 0;
  taken.swap(updates_);
  updates_.reserve(taken.size());
  for (Slot& slot : slots_) {
    if (!slot.context || std::exchange(slot.reported, true)) continue;
    taken.emplace_back().id = slot.context->id;
  }
  return taken;
}

size_t TaskRunner::unfinished() const {
  net::Lock lock(mutex_);
  const auto busy = [](const Slot& slot) { return slot.context != nullptr; };
  return queue_.size() + static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), busy));
}

std::vector<TaskId> TaskRunner::running() const {
  net::Lock lock(mutex_);
  std::vector<TaskId> ids;
  for (const Slot& slot : slots_)
    if (slot.context) ids.push_back(slot.context->id);
  return ids;
}

std::vector<TaskProgress> TaskRunner::progress() const {
  const int64_t now = options_.now().time_since_epoch().count();
  net::Lock lock(mutex_);
  std::vector<TaskProgress> tasks;
  for (const Slot& slot : slots_) {
    const int64_t start = slot.context ? slot.context->started.load(std::memory_order_relaxed) : 0;
    if (start == 0) continue;
    tasks.push_back({slot.context->id, slot.context->records_read.load(std::memory_order_relaxed),
                     std::max<int64_t>(now - start, 0)});
  }
  return tasks;
}

void TaskRunner::begin_stop() {
  {
    net::Lock lock(mutex_);
    stopping_ = true;
    queue_.clear();
    for (Slot& slot : slots_)
      if (slot.context) slot.killed = slot.context->killed = true;
    wake_.notify_all();
  }
  if (options_.on_kill) options_.on_kill();
}

void TaskRunner::stop() {
  begin_stop();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

bool TaskRunner::stop_within(Duration patience) {
  begin_stop();
  {
    const Time deadline = options_.now() + patience;
    net::Lock lock(mutex_);
    while (busy()) {
      const Duration left = deadline - options_.now();
      if (left <= Duration::zero()) return false;
      left_.wait_for(lock, left);
    }
  }
  stop();
  return true;
}

bool TaskRunner::busy() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.context != nullptr; });
}

// ---- a task thread --------------------------------------------------------------------

void TaskRunner::work(Slot& slot) {
  CpuMeter cpu;
  net::SignalStack stack;
  net::Lock lock(mutex_);
  while (true) {
    while (queue_.empty() && !stopping_) {
      ++idle_;
      wake_.wait(lock);
      --idle_;
    }
    if (stopping_) return;
    const Waiting task = std::move(queue_.front());
    queue_.pop_front();
    const LaunchTasks& launch = task.batch->launch;
    TaskContext context;
    context.id = launch.tasks[task.index].id;
    slot.context = &context;
    slot.reported = false;
    slot.kill_reason.clear();
    slot.killed = !marks_.empty() && take_mark(context.id, slot.kill_reason);
    context.killed = slot.killed;
    lock.unlock();
    TaskUpdate update = run(*task.batch, launch.tasks[task.index], context, slot);
    update.metrics->cpu_time = cpu.after_task(update.metrics->run_time);
    lock.lock();
    slot.context = nullptr;
    if (stopping_) left_.notify_all();
    const bool may_wait = more_come(*task.batch, update);
    if (!finished(std::move(update), may_wait) || stopping_ || !options_.on_updates) continue;
    lock.unlock();
    options_.on_updates();
    lock.lock();
  }
}

TaskUpdate TaskRunner::run(const Batch& batch, const TaskLaunch& task, TaskContext& context,
                           const Slot& slot) {
  TaskUpdate update;
  update.id = task.id;
  context.stage = batch.launch.stage;
  context.stage_attempt = batch.launch.stage_attempt;
  context.partition = task.partition;
  context.num_partitions = batch.launch.num_partitions;
  context.index = task.index;
  context.attempt = task.attempt;
  context.epoch = batch.launch.epoch;
  context.cpus = batch.launch.cpus;
  const size_t at = static_cast<size_t>(&task - batch.launch.tasks.data());
  if (at < batch.launch.resources.size()) context.own_resources = &batch.launch.resources[at];
  context.properties = batch.code ? &batch.code->properties : nullptr;
  context.services = &services_;
  TaskContext::set_current(&context);
  const Time start = options_.now();
  context.started.store(start.time_since_epoch().count(), std::memory_order_relaxed);
  try {
    execute(batch, task, context, update);
  } catch (...) {
    explain(context, slot, update);
  }
  TaskContext::set_current(nullptr);
  context.metrics.run_time = (options_.now() - start).count() - context.metrics.deserialize_time;
  update.metrics = context.metrics;
  return update;
}

void TaskRunner::execute(const Batch& batch, const TaskLaunch& task, TaskContext& context,
                         TaskUpdate& update) {
  if (context.killed) throw TaskKilledException{};
  if (!batch.code)
    return end(update, TaskState::Failed,
               failure("UnknownProgram", "the program " + std::to_string(batch.launch.program) +
                                             " of this task did not come before it"));
  const Result<const Program*> program = batch.code->get(options_, context.metrics);
  if (!program)
    return end(update, TaskState::Failed,
               failure("BadProgram", "the stage cannot be rebuilt: " + program.error().message));
  if ((*program)->reads_shuffles()) look_ahead(batch, task.partition, **program);
  TaskOutput output = (*program)->run(task.partition, task.inputs.view(), context);
  if (context.killed) throw TaskKilledException{};
  settle(context, std::move(output), update);
}

/// Tells what tasks behind the one of `own` will read: many at once, and again when few of them are
/// left. Peers serve in turn, so what this one reads itself goes before: it would come after all
/// of theirs.
void TaskRunner::look_ahead(const Batch& batch, int32_t own, const Program& program) {
  constexpr size_t kMany = 128, kFew = 64;
  std::vector<int32_t> partitions{own};
  {
    net::Lock lock(mutex_);
    if (queue_.empty() || queue_[std::min(kFew, queue_.size() - 1)].expected) return;
    for (size_t i = 0; i < std::min(kMany, queue_.size()); ++i) {
      Waiting& w = queue_[i];
      if (w.batch->code != batch.code || std::exchange(w.expected, true)) continue;
      partitions.push_back(w.batch->launch.tasks[w.index].partition);
    }
  }
  if (partitions.size() == 1) return;
  std::vector<ShuffleRead> reads;
  for (const int32_t p : partitions) program.add_reads(p, reads);
  if (!reads.empty()) services_.expect(batch.launch.program, reads);
}

/// A value and what was added to accumulators go back with the update, or by block when they are
/// large, or not at all when they are too large: the driver learns the size and ends the job. It
/// does not for a map task's. What a task that fails has added counts nowhere, and stays here.
void TaskRunner::settle(TaskContext& context, TaskOutput output, TaskUpdate& update) {
  update.state = TaskState::Finished;
  update.map_status = std::move(output.map_status);
  update.result_size =
      static_cast<int64_t>(output.result.size()) + accumulator_bytes(context.accumulators);
  if (!update.map_status && options_.max_result_size > 0 &&
      update.result_size > options_.max_result_size) {
    update.result_block = task_result_block(context.id);
    return;
  }
  if (update.result_size > options_.max_direct_result_size)
    return store_result(context, std::move(output.result), update);
  update.result = std::move(output.result);
  update.accumulators = std::move(context.accumulators);
}

/// Accumulators that a message can take stay out of the block: the result would be copied to lie
/// beside them.
void TaskRunner::store_result(TaskContext& context, Payload result, TaskUpdate& update) {
  update.result_block = task_result_block(context.id);
  if (accumulator_bytes(context.accumulators) > options_.max_direct_result_size) {
    result = pack_result(result, std::exchange(context.accumulators, {}));
    update.accumulators_in_block = true;
  }
  if (services_.put_block(update.result_block, kMemoryAndDisk, std::move(result))) {
    update.accumulators = std::move(context.accumulators);
    return;
  }
  update.result_block.clear();
  update.accumulators_in_block = false;
  end(update, TaskState::Failed,
      failure("ResultNotStored", "the result of " + std::to_string(update.result_size) +
                                     " bytes fits neither in memory nor on disk"));
}

/// Called in a catch block. Source: Spark Executor.TaskRunner.run, the order of its cases.
void TaskRunner::explain(const TaskContext& context, const Slot& slot, TaskUpdate& update) {
  update.result = {};
  update.map_status.reset();
  std::string killed_because;
  bool killed = false;
  {
    net::Lock lock(mutex_);
    killed = slot.killed;
    killed_because = slot.kill_reason;
  }
  try {
    throw;
  } catch (const TaskKilledException& e) {
    end_killed(update, killed_because.empty() ? e.reason : killed_because);
  } catch (...) {
    if (killed) return end_killed(update, killed_because);
    if (context.fetch_failure) return end(update, TaskState::Failed, *context.fetch_failure);
    try {
      throw;
    } catch (const FetchFailedException& e) {
      end(update, TaskState::Failed, e.reason);
    } catch (const CommitDeniedException& e) {
      end(update, TaskState::Killed, commit_denied(e));
    } catch (...) {
      TaskEndReason reason = failure("", "");
      describe(std::current_exception(), reason);
      end(update, TaskState::Failed, std::move(reason));
    }
  }
}

}  // namespace tinderbox::core
