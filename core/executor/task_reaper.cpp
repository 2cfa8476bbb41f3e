// Watches tasks that were told to stop.
#include "core/executor/task_reaper.hpp"

#include "core/status/exit_codes.hpp"

namespace tinderbox::core {

namespace {
std::string in_ms(Duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(d).count()) + " ms";
}
}  // namespace

void TaskReaper::on(const Event& event, Time now, Effects& out) {
  std::visit([&](const auto& e) { on(e, now, out); }, event);
}

/// A task that is killed again is watched since its first kill.
void TaskReaper::on(const KillTask& e, Time now, Effects& out) {
  if (killed_.try_emplace(e.id, now).second)
    out.emplace_back(std::in_place_type<After<ReaperTimer>>, options_.polling_interval,
                     ReaperTimer{e.id});
}

void TaskReaper::on(const ReaperTimer& e, Time, Effects& out) {
  if (killed_.contains(e.task)) out.emplace_back(std::in_place_type<LookAtTask>, e.task);
}

void TaskReaper::on(const TaskSeen& e, Time now, Effects& out) {
  const auto at = killed_.find(e.task);
  if (at == killed_.end()) return;
  const Duration since = now - at->second;
  const bool too_long = options_.kill_timeout > Duration{0} && since > options_.kill_timeout;
  if (e.running)
    out.push_back(Log{Level::Warn, "Killed task " + std::to_string(e.task.value) +
                                       " is still running after " + in_ms(since)});
  if (e.running && !too_long) {
    out.emplace_back(std::in_place_type<After<ReaperTimer>>, options_.polling_interval,
                     ReaperTimer{e.task});
    return;
  }
  killed_.erase(at);
  if (e.running) give_up(e.task, out);
}

void TaskReaper::give_up(TaskId task, Effects& out) {
  const std::string what =
      std::to_string(task.value) + " could not be stopped within " + in_ms(options_.kill_timeout);
  if (options_.is_local)
    out.push_back(Log{Level::Error, "Killed task " + what +
                                        "; not killing the process because it runs in local mode"});
  else
    out.push_back(GiveUpProcess{kExitUncaughtException,
                                "Killing executor because killed task " + what + "."});
}

}  // namespace tinderbox::core
