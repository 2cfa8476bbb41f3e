// Executor rolling: every so often one executor is decommissioned, so that a fresh one takes its
// place. Which one, is told by what the executors have done. Pure.
// Source: Spark 4.3 ExecutorRollPlugin.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "conf/conf.hpp"
#include "core/status/events.hpp"

namespace tinderbox::core {

/// Spark's names; its policies by memory and by garbage collection need a JVM.
enum class RollPolicy : uint8_t {
  Id,                 // the smallest
  AddTime,            // the oldest
  TotalDuration,      // of its tasks: the most
  AverageDuration,    // of a task: the most
  FailedTasks,        // the most
  TotalShuffleWrite,  // the most bytes
  DiskUsed,           // by cached blocks: the most bytes
  IdleTime,           // without a task for longest; all have one: nobody. Not a policy of Spark's
  Outlier,            // far from the others in one of these; nobody is: as TotalDuration
  OutlierNoFallback,  // or nobody
};

struct RollingOptions {
  Duration interval{};
  RollPolicy policy = RollPolicy::Outlier;
  int32_t min_tasks = 0;  // that it started
};
/// None: it is off. Errors: conf::Error for a policy that is none here, for a negative number, and
/// when executors may not be decommissioned.
std::optional<RollingOptions> rolling_options(const conf::Conf& conf, bool is_local);

class Rolling {
 public:
  explicit Rolling(RollingOptions options) : options_(options) {}

  /// Events in the order in which they happened.
  void observe(const std::vector<ListenerEvent>& events);
  /// Unit: bytes. None: it is on its way out.
  using DiskUsed = std::function<std::optional<int64_t>(const ExecutorId&)>;
  /// Whose turn it is; none: nobody's.
  std::optional<ExecutorId> choose(const DiskUsed& disk_used) const;

  const RollingOptions& options() const { return options_; }

 private:
  struct Summary {
    ExecutorId id;
    Time added{};
    int64_t tasks = 0, failed = 0, running = 0;
    Time idle_since{};  // while nothing runs
    Duration duration{};
    int64_t shuffle_write = 0, disk_used = 0;
  };
  using Measure = double (*)(const Summary&);
  using Summaries = std::vector<Summary>;

  void on(const ExecutorJoined& e);
  void on(const ExecutorRemoved& e) { executors_.erase(e.executor); }
  void on(const TaskStarted& e);
  void on(const TaskEnded& e);
  template <class E>
  void on(const E&) {}
  static std::optional<ExecutorId> most(const Summaries& all, Measure measure);
  static std::optional<ExecutorId> longest_idle(Summaries all);
  static std::optional<ExecutorId> outlier(const Summaries& all);
  static std::optional<ExecutorId> outlier(const Summaries& all, Measure measure);

  const RollingOptions options_;
  std::map<ExecutorId, Summary> executors_;
};

}  // namespace tinderbox::core
