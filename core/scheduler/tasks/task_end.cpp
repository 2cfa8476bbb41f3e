// How the end of a task attempt is said in words.
#include "core/scheduler/tasks/task_end.hpp"

namespace tinderbox::core {

namespace {

std::string exception_text(const TaskEndReason& r) {
  std::string text = r.class_name;
  if (!r.description.empty()) text += (text.empty() ? "" : ": ") + r.description;
  if (!r.stack.empty()) text += "\n" + r.stack;
  return text;
}

std::string fetch_failed_text(const TaskEndReason& r) {
  const std::string at =
      r.address.executor.value.empty()
          ? "null"
          : "BlockManagerId(" + r.address.executor.value + ", " + r.address.address + ")";
  return "FetchFailed(" + at + ", shuffleId=" + std::to_string(r.shuffle.value) +
         ", mapIndex=" + std::to_string(r.map_index) + ", mapId=" + std::to_string(r.map_id) +
         ", reduceId=" + std::to_string(r.reduce) + ", message=\n" + r.description + "\n)";
}

}  // namespace

std::string error_text(const TaskEndReason& r) {
  switch (r.kind) {
    case TaskEndKind::Success:
      return "Success";
    case TaskEndKind::Resubmitted:
      return "Resubmitted (resubmitted due to lost executor)";
    case TaskEndKind::FetchFailed:
      return fetch_failed_text(r);
    case TaskEndKind::ExceptionFailure:
      return exception_text(r);
    case TaskEndKind::TaskResultLost:
      return "TaskResultLost (result lost from block manager)" +
             (r.description.empty() ? "" : ": " + r.description);
    case TaskEndKind::TaskKilled:
      return "TaskKilled (" + r.description + ")";
    case TaskEndKind::TaskCommitDenied:
      return "TaskCommitDenied (Driver denied task commit)";
    case TaskEndKind::ExecutorLostFailure:
      return "ExecutorLostFailure (executor " + r.executor.value + " exited " +
             (r.exit_caused_by_app ? "caused by one of the running tasks"
                                   : "unrelated to the running tasks") +
             ") Reason: " + r.description;
    case TaskEndKind::UnknownReason:
      return "UnknownReason";
  }
  return "UnknownReason";
}

bool counts_as_failure(const TaskEndReason& r) {
  switch (r.kind) {
    case TaskEndKind::TaskKilled:
    case TaskEndKind::TaskCommitDenied:
    case TaskEndKind::FetchFailed:
      return false;
    case TaskEndKind::ExecutorLostFailure:
      return r.exit_caused_by_app;
    default:
      return true;
  }
}

TaskEndReason task_end(TaskEndKind kind) {
  TaskEndReason reason;
  reason.kind = kind;
  return reason;
}

TaskEndReason task_killed(std::string why) {
  TaskEndReason reason = task_end(TaskEndKind::TaskKilled);
  reason.description = std::move(why);
  return reason;
}

}  // namespace tinderbox::core
