// Watches tasks that were told to stop until they do, and gives the process up when one never does.
// Source: Spark 4.3 Executor.TaskReaper.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/machine.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// spark.task.reaper.*
struct TaskReaperOptions {
  Duration polling_interval{};
  Duration kill_timeout{};  // not positive: never
  bool is_local = false;    // the process is the application's own: it goes on
};

struct ReaperTimer {
  TaskId task;
  bool operator==(const ReaperTimer&) const = default;
};
/// Answer to LookAtTask.
struct TaskSeen {
  TaskId task;
  bool running = false;
};

/// Does the task still run? Answered by TaskSeen.
struct LookAtTask {
  TaskId task;
  bool operator==(const LookAtTask&) const = default;
};
/// Tell the driver `reason`, and end the process without waiting for its tasks.
struct GiveUpProcess {
  int code = 0;
  std::string reason;
  bool operator==(const GiveUpProcess&) const = default;
};

/// Thread: one loop's.
class TaskReaper {
 public:
  using Event = std::variant<KillTask, ReaperTimer, TaskSeen>;
  using Effect = std::variant<LookAtTask, GiveUpProcess, After<ReaperTimer>, Log>;
  using Effects = std::vector<Effect>;

  explicit TaskReaper(TaskReaperOptions options) : options_(options) {}
  void on(const Event& event, Time now, Effects& out);

  /// Killed tasks that are not known to have ended.
  size_t watched() const { return killed_.size(); }

 private:
  void on(const KillTask& e, Time now, Effects& out);
  void on(const ReaperTimer& e, Time now, Effects& out);
  void on(const TaskSeen& e, Time now, Effects& out);
  void give_up(TaskId task, Effects& out);

  const TaskReaperOptions options_;
  std::map<TaskId, Time> killed_;  // and when
};

}  // namespace tinderbox::core
