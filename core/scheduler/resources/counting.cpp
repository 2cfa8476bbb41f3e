// Where the task scheduler begins to count more than slots, and what a task is given.
#include <utility>

#include "core/scheduler/tasks/task_scheduler.hpp"

namespace tinderbox::core {

/// A set that needs more than a slot of any executor: from now on that is kept count of.
void TaskScheduler::count_resources(int32_t profile, Turn& turn) {
  if (!resources_) {
    resources_ = std::make_unique<TaskResources>(executors_);
    take_all_back(turn);
  }
  if (profiles().borrows(profile)) resources_->share();
  for (const int32_t e : executors_.active()) update_idle(e);
}

void TaskScheduler::take_resources(TaskId id, const TaskSet& set, const Executor& e,
                                   LaunchTasks& message) {
  ResourceAddresses taken = resources_->take(id, set.spec().profile, e);
  if (taken.empty()) return;
  message.resources.resize(message.tasks.size());
  message.resources.back() = std::move(taken);
}

}  // namespace tinderbox::core
