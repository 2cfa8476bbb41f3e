// The application's accumulators, as updates of tasks reach them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/api/runtime/runtime.hpp"
#include "core/status/status_tracker.hpp"
#include "net/mutex.hpp"
#include "net/wire/task_values.hpp"

namespace tinderbox::core {

/// Thread: any. Source: Spark AccumulatorContext, DAGScheduler.updateAccumulators.
class AccumulatorTable {
 public:
  using Warn = std::function<void(const std::string&)>;
  /// `warn` hears once of each accumulator whose merge throws.
  explicit AccumulatorTable(Warn warn) : warn_(std::move(warn)) {}
  void add(AccumulatorId id, const std::string& name, Runtime::MergeAccumulator merge,
           Runtime::ShowAccumulator show);
  /// What it was at last goes on being shown, if it has a name, of as many as kShown. Thread: any,
  /// also one that merges or shows.
  void forget(AccumulatorId id, const std::string& last);
  static constexpr size_t kShown = 1000;
  /// As status shows it. nullopt: it has no name, or was forgotten long ago.
  std::optional<AccumulatorStatus> named(AccumulatorId id);
  /// In order; those of unknown accumulators are nobody's. What a merge throws costs that update
  /// only.
  void merge(const std::vector<AccumulatorUpdate>& updates);

 private:
  struct Entry {
    std::string name;
    Runtime::MergeAccumulator merge;
    Runtime::ShowAccumulator show;
    bool warned = false;
  };
  void merge_one(Entry& entry, const AccumulatorUpdate& update);
  void settle_forgotten() REQUIRES(mutex_);

  const Warn warn_;
  net::Mutex mutex_;
  std::map<AccumulatorId, Entry> entries_ GUARDED_BY(mutex_);
  std::deque<AccumulatorId> shown_ GUARDED_BY(mutex_);  // forgotten ones, the first one first
  net::Mutex forgotten_mutex_;                          // taken last
  std::vector<std::pair<AccumulatorId, std::string>> forgotten_ GUARDED_BY(forgotten_mutex_);
};

}  // namespace tinderbox::core
