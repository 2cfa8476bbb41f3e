// Tasks that were sent ahead come back: for executors that idle, for what must run first, and when
// their own is lost.
#include <algorithm>

#include "core/scheduler/tasks/task_end.hpp"
#include "core/scheduler/tasks/task_scheduler.hpp"

namespace tinderbox::core {

void TaskScheduler::revoke_for_idle(Turn& turn) {
  const size_t n = executors_.active().size();
  for (size_t seen = 0; seen < n && idle_slots_ > total_revoking_ && total_ahead_ > total_revoking_;
       ++seen) {
    Executor& e = executors_.at(executors_.active()[revoke_cursor_++ % n]);
    const int32_t revocable = e.ahead - e.revoking;
    if (revocable <= 0) continue;
    // Half of its queue at least, so that a long queue is shared out in a few steps.
    const int32_t wanted = std::max(idle_slots_ - total_revoking_, revocable / 2);
    ask_back(e, std::min(wanted, revocable), turn);
  }
}

void TaskScheduler::ask_back(Executor& e, int32_t count, Turn& turn) {
  RevokeTasks message;
  // The last sent are the last to start.
  for (size_t i = e.ahead_queue.size(); i-- > 0 && count > 0;) {
    Attempt* a = attempts_.find(e.ahead_queue[i]);
    if (!a || !a->ahead || a->revoking) continue;
    a->revoking = true;
    ++e.revoking;
    ++total_revoking_;
    --count;
    message.tasks.push_back(e.ahead_queue[i]);
  }
  if (message.tasks.empty()) return;
  e.asked.push_back(message.tasks);
  turn.send(e.peer, std::move(message));
}

void TaskScheduler::take_back(TaskId id, Attempt& a, Turn& turn) {
  Executor& e = executors_.at(a.executor);
  no_longer_revoking(a, e);
  no_longer_ahead(a, e);
  const Attempt gone = a;
  attempts_.erase(id);
  --e.running;
  executors_.settle(gone.executor);
  if (resources_) resources_->give_back(id);
  gone.set->take_back(gone.index, gone.number, gone.speculative ? e.host : -1);
  finish_if_done(*gone.set, turn);
}

/// What was asked and not given back had started.
void TaskScheduler::revoked(int32_t executor, const TasksRevoked& answer, Turn& turn) {
  Executor& e = executors_.at(executor);
  if (e.asked.empty()) return;
  std::vector<TaskId> asked = std::move(e.asked.front());
  e.asked.erase(e.asked.begin());
  std::vector<TaskId> given = answer.tasks;
  std::sort(given.begin(), given.end());
  for (const TaskId id : asked) {
    Attempt* a = attempts_.find(id);
    if (!a) continue;
    const bool taken_back = std::binary_search(given.begin(), given.end(), id);
    if (taken_back && a->announced) {
      failed(id, task_killed("revoked"), nullptr, turn);
    } else if (taken_back) {
      take_back(id, *a, turn);
    } else if (a->revoking) {
      no_longer_revoking(*a, e);
      no_longer_ahead(*a, e);
      a->running = true;
      announce(id, *a, turn);
    }
  }
  update_idle(executor);
  offer_all_ = true;
}

}  // namespace tinderbox::core
