#include "core/executor/held_orders.hpp"

#include <algorithm>

namespace tinderbox::core {
namespace {

/// Moves those of `wanted`, which is sorted, from `launch` to `taken`.
void take_from(LaunchTasks& launch, const std::vector<TaskId>& wanted, std::vector<TaskId>& taken) {
  for (size_t i = launch.tasks.size(); i-- > 0;) {
    const TaskId id = launch.tasks[i].id;
    if (!std::binary_search(wanted.begin(), wanted.end(), id)) continue;
    taken.push_back(id);
    const auto at = static_cast<std::ptrdiff_t>(i);
    launch.tasks.erase(launch.tasks.begin() + at);
    if (i < launch.resources.size()) launch.resources.erase(launch.resources.begin() + at);
  }
}

/// As what the task would throw that did not find it.
TaskUpdate failed_without_file(TaskId task, const Error& why) {
  TaskEndReason reason;
  reason.kind = TaskEndKind::ExceptionFailure;
  reason.class_name = "std::runtime_error";
  reason.description = why.message;
  TaskUpdate update;
  update.id = task;
  update.state = TaskState::Failed;
  update.reason = std::move(reason);
  return update;
}

}  // namespace

HeldOrders::Released HeldOrders::files_came(const Result<bool>& got) {
  Released released;
  Group& first = groups_.front();
  if (!got) {
    for (Group& group : groups_)
      std::erase_if(group.orders, [&](const Order& order) {
        const auto* start = std::get_if<StartTasks>(&order);
        if (!start) return false;
        for (const TaskLaunch& task : start->launch.tasks)
          released.failed.push_back(failed_without_file(task.id, got.error()));
        return true;
      });
    missing_.push_back(std::move(first.files));
  }
  released.orders = std::move(first.orders);
  groups_.pop_front();
  return released;
}

std::vector<TaskId> HeldOrders::take_back(std::vector<TaskId> tasks) {
  std::sort(tasks.begin(), tasks.end());
  std::vector<TaskId> taken;
  for (Group& group : groups_)
    for (Order& order : group.orders)
      if (auto* start = std::get_if<StartTasks>(&order)) take_from(start->launch, tasks, taken);
  return taken;
}

}  // namespace tinderbox::core
