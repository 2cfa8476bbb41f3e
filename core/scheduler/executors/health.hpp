// Executors and hosts that get no tasks after failures: of one task, of a stage attempt, of the
// application. Off by default; nothing here is made before spark.excludeOnFailure asks for it.
//
// Failures count for the application only when their task set succeeds: a bug in the user's code
// says nothing about an executor. Source: Spark 4.3 TaskSetExcludelist, HealthTracker.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/scheduler/executors/executors.hpp"
#include "core/scheduler/options.hpp"
#include "core/scheduler/turn.hpp"

namespace tinderbox::core {

/// What failed of one task set on one executor.
struct ExecutorFailures {
  struct Failure {
    int32_t count = 0;
    Time last{};
  };
  int32_t host = -1;
  std::map<int32_t, Failure> tasks;  // by index
};
/// By executor slot.
using SetFailures = std::map<int32_t, ExecutorFailures>;

/// Of one stage attempt. Never expires. With the task and stage level off it only remembers the
/// failures.
class TaskSetExclusion {
 public:
  TaskSetExclusion(const ExclusionOptions& options, const Executors& executors, StageId stage,
                   int32_t attempt);

  /// A failure that counts. Publishes what is now excluded for the stage.
  void task_failed(int32_t executor, int32_t index, std::string reason, Turn& turn);

  /// None of the stage's tasks may run there.
  bool excludes(int32_t executor) const;
  /// This task may not run there; to be asked of executors that are not excluded for the stage.
  bool excludes_task(int32_t executor, int32_t index) const;
  const SetFailures& failures() const { return failures_; }
  const std::string& latest_reason() const { return latest_reason_; }

 private:
  void exclude_task_on_host(int32_t host, int32_t index);
  void exclude_executor(int32_t executor, int32_t failed_tasks, Turn& turn);

  const ExclusionOptions& options_;
  const Executors& executors_;
  const StageId stage_;
  const int32_t attempt_;
  SetFailures failures_;
  std::map<int32_t, std::set<int32_t>> tasks_by_host_;  // excluded there
  std::set<int32_t> excluded_executors_, excluded_hosts_;
  std::string latest_reason_;
};

/// An executor to be ended because of its failures. Executors that are gone are left alone.
struct ExecutorRemoval {
  int32_t executor = -1;
  bool decommission = false;  // let its tasks end first
  std::string reason;
};

/// Of the application.
class HealthTracker {
 public:
  HealthTracker(const ExclusionOptions& options, Executors& executors);

  /// Executors and hosts whose time is over get tasks again.
  void expire(Turn& turn);
  void task_set_succeeded(const SetFailures& failures, Turn& turn);
  /// A map output could not be fetched from there.
  void fetch_failed(int32_t executor, int32_t host, Turn& turn);
  /// It is gone; what is excluded stays so, that its host can be excluded too.
  void executor_removed(int32_t executor) { failures_.erase(executor); }

  bool executor_excluded(int32_t executor) const { return executors_excluded_.contains(executor); }
  bool host_excluded(int32_t host) const { return hosts_excluded_.contains(host); }
  bool any_excluded() const { return !executors_excluded_.empty() || !hosts_excluded_.empty(); }
  /// The earliest time at which something is admitted again; none: nothing is excluded.
  std::optional<Time> next_expiry() const { return next_expiry_; }

  /// Since the last call: what is excluded has changed.
  bool take_changed() { return std::exchange(changed_, false); }
  /// Since the last call: executors to be ended.
  std::vector<ExecutorRemoval> take_removals() { return std::exchange(removals_, {}); }

 private:
  struct Excluded {
    int32_t host = -1;
    Time until{};
  };
  int32_t failures_of(int32_t executor, const ExecutorFailures& failures, Time now);
  void exclude_executor(int32_t executor, int32_t host, int32_t failed_tasks, Turn& turn);
  void exclude_host(int32_t host, int32_t excluded_executors, Turn& turn);
  void readmit_executors(Turn& turn);
  void readmit_hosts(Turn& turn);
  void update_next_expiry();
  void remove(int32_t executor, std::string reason);

  const ExclusionOptions& options_;
  Executors& known_;
  std::map<int32_t, std::vector<Time>> failures_;  // when each counts no longer, by executor
  std::map<int32_t, Excluded> executors_excluded_;
  std::map<int32_t, Time> hosts_excluded_;            // until when
  std::map<int32_t, std::set<int32_t>> excluded_on_;  // host → executors, those gone too
  std::optional<Time> next_expiry_;
  bool changed_ = false;
  std::vector<ExecutorRemoval> removals_;
};

}  // namespace tinderbox::core
