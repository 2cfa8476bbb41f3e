// One attempt on its way back: status updates, results, failures.
#include <algorithm>
#include <utility>

#include "conf/values/units.hpp"
#include "core/plan/tasks/task_result.hpp"
#include "core/scheduler/tasks/task_end.hpp"
#include "core/scheduler/tasks/task_scheduler.hpp"
#include "net/log.hpp"

namespace tinderbox::core {

namespace {
std::string task_text(const TaskEnd& end) {
  return "Task " + std::to_string(end.index) + " in stage " + end.set.id();
}

/// However often the task is tried, it fails by this. Null: it may be tried again.
const char* in_vain(const TaskEndReason& reason) {
  if (reason.class_name.ends_with("FileAlreadyExistsException"))
    return " can not write to output file: ";
  if (reason.class_name.ends_with("NotSerializableException"))
    return " had a not serializable result: ";
  return nullptr;
}
}  // namespace

/// What a message's ends touch, and the offer that follows them, lies apart when executors and
/// tasks are many: memory is asked for all of it at once, not for one thing after the other.
void TaskScheduler::prefetch(int32_t executor, const StatusUpdates& updates) {
  constexpr size_t kSome = 64;
  const Executor& e = executors_.at(executor);
  __builtin_prefetch(&e.open_turn, 1);
  __builtin_prefetch(&e.address.host);
  TaskSet* set = nullptr;
  for (size_t i = 0; i < std::min(kSome, updates.tasks.size()); ++i) {
    const Attempt* a = attempts_.find(updates.tasks[i].id);
    if (!a) continue;
    set = a->set;
    set->prefetch_end(a->index);
  }
  if (set) set->prefetch_offer(executor);
}

void TaskScheduler::status(int32_t executor, StatusUpdates updates, Turn& turn) {
  turn.expect(2 * updates.tasks.size() + 2);
  prefetch(executor, updates);
  for (TaskUpdate& u : updates.tasks) update(executor, u, turn);
}

void TaskScheduler::update(int32_t executor, TaskUpdate& u, Turn& turn) {
  Attempt* a = attempts_.find(u.id);
  if (!a || a->executor != executor || a->fetching_result) return;
  switch (u.state) {
    case TaskState::Launching:
      return;
    case TaskState::Running:
      return runs(u.id, *a, turn);
    case TaskState::Finished:
      return finished(u.id, u, turn);
    case TaskState::Failed:
    case TaskState::Killed:
    case TaskState::Lost: {
      TaskEndReason reason = task_end(TaskEndKind::UnknownReason);
      if (u.reason && u.reason->kind != TaskEndKind::Success)
        reason = std::move(*u.reason);
      else if (u.state == TaskState::Killed)
        reason = task_killed("");
      return failed(u.id, std::move(reason), &u, turn);
    }
  }
}

void TaskScheduler::runs(TaskId id, Attempt& a, Turn& turn) {
  Executor& e = executors_.at(a.executor);
  a.running = true;
  no_longer_revoking(a, e);
  no_longer_ahead(a, e);
  announce(id, a, turn);
  update_idle(a.executor);
}

bool TaskScheduler::runs(int32_t executor, TaskId id, Turn& turn) {
  Attempt* a = attempts_.find(id);
  if (!a || a->executor != executor || a->fetching_result) return false;
  runs(id, *a, turn);
  return true;
}

/// Outputs of map tasks stay where they are: they don't count.
bool TaskScheduler::within_result_size(TaskSet& set, const TaskUpdate& u, Turn& turn) {
  if (set.spec().map_tasks) return true;
  const int64_t told = static_cast<int64_t>(u.result.size()) + accumulator_bytes(u.accumulators);
  set.total_result_size += u.result_block.empty() ? told : u.result_size;
  ++set.calculated_results;
  if (options_.max_result_size <= 0 || set.total_result_size <= options_.max_result_size)
    return true;
  abort(set,
        "Total size of serialized results of " + std::to_string(set.calculated_results) +
            " tasks (" + conf::show_size(set.total_result_size) +
            ") is bigger than spark.driver.maxResultSize (" +
            conf::show_size(options_.max_result_size) + ")",
        turn);
  return false;
}

void TaskScheduler::finished(TaskId id, TaskUpdate& u, Turn& turn) {
  Attempt& a = *attempts_.find(id);
  a.running = true;
  if (a.outrun) return came_second(id, u.result_block, turn);
  if (!within_result_size(*a.set, u, turn)) {
    if (!u.result_block.empty())
      turn.send(executors_.at(a.executor).peer, RemoveBlocks{{u.result_block}});
    return failed(id, task_killed("Tasks result size has exceeded maxResultSize"), nullptr, turn);
  }
  if (a.set->spec().map_tasks) {
    if (!u.map_status) return failed(id, task_end(TaskEndKind::UnknownReason), &u, turn);
    // An output lies where it was made, whatever the update says.
    const BlockManagerId& here = executors_.at(a.executor).address;
    if (u.map_status->location.executor != here.executor) u.map_status->location = here;
  }
  if (u.result_block.empty()) return succeeded(id, u, turn);
  fetch_result(id, a, u, turn);
}

/// The slot is free at once; the attempt lasts until its result is here.
void TaskScheduler::fetch_result(TaskId id, Attempt& a, TaskUpdate& u, Turn& turn) {
  Executor& e = executors_.at(a.executor);
  announce(id, a, turn);
  no_longer_revoking(a, e);
  no_longer_ahead(a, e);
  a.fetching_result = true;
  --e.running;
  if (resources_) resources_->give_back(id);
  promote(e, turn);
  update_idle(a.executor);
  freed(a.executor, turn);
  turn.post<TaskGettingResult>().task = info(id, a);
  turn.out.push_back(FetchResult{id, e.address, u.result_block, u.result_size});
  fetching_.emplace(id, std::move(u));
}

namespace {
TaskEndReason result_lost(const Result<Payload>& fetched) {
  TaskEndReason reason = task_end(TaskEndKind::TaskResultLost);
  if (!fetched) reason.description = fetched.error().message;
  return reason;
}
}  // namespace

void TaskScheduler::result_fetched(ResultFetched result, Turn& turn) {
  auto node = fetching_.extract(result.task);
  Attempt* a = attempts_.find(result.task);
  if (node.empty() || !a) return;
  TaskUpdate u = std::move(node.mapped());
  if (result.bytes && a->outrun) return came_second(result.task, u.result_block, turn);
  // One that cannot be reached is there yet, it may be.
  turn.send(executors_.at(a->executor).peer, RemoveBlocks{{u.result_block}});
  if (!result.bytes || (u.accumulators_in_block && !unpack_result(*result.bytes, u))) {
    const bool own_disk = !result.bytes && result.bytes.error().own_disk;
    return failed(result.task, result_lost(result.bytes), nullptr, turn, !own_disk);
  }
  if (!u.accumulators_in_block) u.result = std::move(*result.bytes);
  succeeded(result.task, u, turn);
}

/// It finished before its end for another copy's sake reached it: nothing of it counts.
void TaskScheduler::came_second(TaskId id, const std::string& result_block, Turn& turn) {
  if (!result_block.empty())
    turn.send(executors_.at(attempts_.find(id)->executor).peer, RemoveBlocks{{result_block}});
  failed(id, task_killed("Finish but did not commit due to another attempt succeeded"), nullptr,
         turn);
}

/// Ends an attempt as far as slots and sets are concerned.
Attempt TaskScheduler::take(TaskId id, Turn& turn) {
  Attempt& a = *attempts_.find(id);
  Executor& e = executors_.at(a.executor);
  announce(id, a, turn);
  no_longer_revoking(a, e);
  no_longer_ahead(a, e);
  const Attempt gone = a;
  attempts_.erase(id);
  gone.set->stop(gone.index);
  pools_.touch(*gone.set);
  executors_.settle(gone.executor);
  if (gone.fetching_result) {
    fetching_.erase(id);
    return gone;
  }
  --e.running;
  if (resources_) resources_->give_back(id);
  freed(gone.executor, turn);
  return gone;
}

void TaskScheduler::succeeded(TaskId id, TaskUpdate& u, Turn& turn) {
  const Attempt a = take(id, turn);
  TaskSet& set = *a.set;
  if (u.metrics) set.pace.ended(*u.metrics);
  if (Speculation* s = set.speculation()) {
    note_end(id, a, -1);
    // The end of a short task may be the first that is heard of it.
    const Duration ran(u.metrics ? u.metrics->run_time : 0);
    s->succeeded(std::max(turn.now - a.launched, ran), u.metrics);
  }
  const bool first = set.succeed(a.index, {id, a.executor, a.number});
  TaskEnd end{set, a.index, info(id, a), {}, &u};
  end.info.finished = turn.now;
  if (first && set.speculation() && set.copies_running(a.index) > 0)
    kill_other_attempts(set, a.index, turn);
  progress_.task_ended(end, turn);
  finish_if_done(set, turn);
  promote(executors_.at(a.executor), turn);
  update_idle(a.executor);
}

void TaskScheduler::kill_other_attempts(const TaskSet& set, int32_t index, Turn& turn) {
  for (const TaskId id : set.speculation()->attempts(index)) {
    Attempt* other = attempts_.find(id);
    if (!other) continue;
    other->outrun = true;
    turn.send(executors_.at(other->executor).peer, KillTask{id, true, "another attempt succeeded"});
  }
}

void TaskScheduler::failed(TaskId id, TaskEndReason reason, TaskUpdate* u, Turn& turn,
                           bool by_executor) {
  const Attempt a = take(id, turn);
  TaskSet& set = *a.set;
  // Of a set that is over an executor's loss is no news, as the driver may be stopping, nor is the
  // next task that misses the same.
  const bool news = !set.zombie() || (reason.kind != TaskEndKind::ExecutorLostFailure &&
                                      reason.kind != TaskEndKind::FetchFailed);
  if (set.speculation()) note_end(id, a, executors_.at(a.executor).host);
  if (reason.kind == TaskEndKind::FetchFailed) {
    // The stage is run again for it; this set is not.
    set.complete(a.index);
    set.make_zombie();
    // What waits in queues would miss the same, and hold the slots of what is made again.
    if (set.ahead > 0) take_all_back(turn);
    fetch_failed_from(reason.address, turn);
  }
  const bool was_zombie = set.zombie();
  // The others wait for it in vain.
  if (set.barrier()) set.make_zombie();
  TaskEnd end{set, a.index, info(id, a), std::move(reason), u};
  end.by_executor = by_executor;
  end.info.finished = turn.now;
  // Stacks are for the events; the log has one line a failure.
  if (end.reason.kind != TaskEndKind::TaskKilled)
    turn.log(news ? Level::Warn : Level::Info, net::one_line(lost_text(end)));
  progress_.task_ended(end, turn);
  if (const char* why = was_zombie ? nullptr : in_vain(end.reason))
    abort(set, task_text(end) + why + end.reason.description + "; not retrying", turn);
  else
    after_failure(set, end, turn);
  finish_if_done(set, turn);
  promote(executors_.at(a.executor), turn);
  update_idle(a.executor);
}

std::string TaskScheduler::lost_text(const TaskEnd& end) {
  const TaskInfo& i = end.info;
  return "Lost task " + std::to_string(i.index) + "." + std::to_string(i.attempt) + " in stage " +
         end.set.id() + " (TID " + std::to_string(i.id.value) + ") (" + i.host + " executor " +
         i.executor.value + "): " + error_text(end.reason);
}

void TaskScheduler::after_failure(TaskSet& set, const TaskEnd& end, Turn& turn) {
  if (set.zombie()) return;
  const std::string where = task_text(end);
  if (counts_as_failure(end.reason)) {
    if (options_.exclusion.on() && end.by_executor) {
      set.exclude_after_failure(executors_.slot(end.info.executor), end.index, lost_text(end),
                                turn);
      recall_excluded(set, turn);
    }
    const int32_t failures = set.count_failure(end.index);
    if (failures >= options_.max_task_failures)
      return abort(set,
                   where + " failed " + std::to_string(failures) +
                       " times, most recent failure: " + lost_text(end) + "\nDriver stacktrace:",
                   turn);
  }
  set.requeue(end.index);
  offer_all_ = offer_all_ || !idle_.empty();
}

void TaskScheduler::resubmit_lost(int32_t executor, Turn& turn) {
  std::vector<TaskSet*> sets;
  for (const auto& set : queue_) sets.push_back(set.get());
  const ExecutorId& gone = executors_.at(executor).id;
  for (TaskSet* set : sets) {
    const auto moved = [&](int32_t index, TaskId made_by) {
      return progress_.output_moved(*set, index, made_by, gone);
    };
    for (const auto& [index, winner] : set->undo(executor, moved)) {
      if (set->barrier()) set->make_zombie();
      Attempt was;
      was.set = set;
      was.index = index;
      was.number = winner.number;
      was.executor = winner.executor;
      was.launched = turn.now;
      TaskEnd end{*set, index, info(winner.task, was), task_end(TaskEndKind::Resubmitted), nullptr};
      end.info.finished = turn.now;
      progress_.task_ended(end, turn);
    }
  }
}

}  // namespace tinderbox::core
