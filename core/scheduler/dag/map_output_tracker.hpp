// The driver's table of map outputs: which executor holds which, and since which epoch.
// Source: Spark 4.3 MapOutputTrackerMaster.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// Shape: a shuffle has `maps` outputs, each with one size a reducer.
class MapOutputTracker {
 public:
  /// False: it is registered already; what is known of it stays.
  bool register_shuffle(ShuffleId shuffle, int32_t maps, int32_t reduces);
  void unregister_shuffle(ShuffleId shuffle);
  bool contains(ShuffleId shuffle) const { return shuffles_.contains(shuffle); }

  void register_output(ShuffleId shuffle, int32_t map, MapStatus status);
  /// Only if it is still there.
  void unregister_output(ShuffleId shuffle, int32_t map, const BlockManagerId& at);
  void unregister_all_outputs(ShuffleId shuffle);
  void remove_outputs_on_executor(const ExecutorId& executor);
  void remove_outputs_on_host(const std::string& host);

  struct Held {
    ShuffleId shuffle;
    int32_t map = -1;
    int64_t map_id = -1;
    bool operator==(const Held&) const = default;
  };
  /// Ascending. Costs what the executor holds, and a look at each shuffle.
  std::vector<Held> outputs_on(const ExecutorId& executor) const;
  /// Null: missing.
  const MapStatus* output(ShuffleId shuffle, int32_t map) const;
  /// An output that is there has another place. Who cached the old one asks again, but only for
  /// tasks that begin later: see epoch(). Source: Spark updateMapOutput.
  void move_output(ShuffleId shuffle, int32_t map, const BlockManagerId& to);

  int32_t available(ShuffleId shuffle) const;
  /// Some output of it was registered since the shuffle was, perhaps lost meanwhile.
  bool ever_had(ShuffleId shuffle) const;
  /// Ascending. A shuffle that is not registered has none.
  std::vector<int32_t> missing(ShuffleId shuffle) const;
  /// Of a task set that begins now. All outputs that were moved since the last one began share one
  /// new epoch: an executor that hears of one forgets every shuffle's outputs, so an epoch for each
  /// output would have all of them asked for again and again while an executor drains. The old
  /// place serves until its executor is gone, which begins an epoch anyway. Spark begins none.
  int64_t epoch() const { return epoch_ + (moved_ ? 1 : 0); }
  void increment_epoch() { ++epoch_; }
  /// A task set begins: its tasks are told of that epoch, and so are all answers from now on.
  int64_t begin_readers();

  /// Estimated bytes for each reducer. Source: Spark getStatistics.
  std::vector<int64_t> statistics(ShuffleId shuffle) const;
  /// Hosts that hold at least `fraction` of what `reduce` reads, by name.
  std::vector<std::string> preferred_hosts(ShuffleId shuffle, int32_t reduce,
                                           double fraction) const;

  /// The answer to a MapOutputsRequest: made once for all who ask until the shuffle changes. An
  /// unknown shuffle has one missing output: who asks must not take it for one without maps.
  /// `local_dirs(executor)`: its directories, empty when it is
  /// gone.
  using LocalDirs = std::function<std::vector<std::string>(const ExecutorId&)>;
  std::shared_ptr<const ToExecutor> answer(ShuffleId shuffle, const LocalDirs& local_dirs);
  /// The same before it was asked for, to the executor in `slot`, whose tasks will read the
  /// shuffle. Null: it was given that answer already, or the answer is so large that only who asks
  /// gets it.
  std::shared_ptr<const ToExecutor> answer_ahead(ShuffleId shuffle, int32_t slot,
                                                 const LocalDirs& local_dirs);

 private:
  struct Shuffle {
    int32_t reduces = 0;
    int32_t available = 0;
    bool ever_had = false;
    std::vector<std::optional<MapStatus>> statuses;
    std::map<ExecutorId, std::set<int32_t>> held;  // maps by where they are; no empty set
    std::shared_ptr<const ToExecutor> answer;      // null or of another epoch: to be made
    std::set<int32_t> given_ahead;                 // slots that got `answer`
    // Each map's place as a number, so that asking for every reducer compares no text. Empty: to be
    // made.
    mutable std::vector<int32_t> place_of;
    mutable std::vector<BlockManagerId> places;
  };
  static void find_places(const Shuffle& shuffle);
  static void put(Shuffle& shuffle, int32_t map, std::optional<MapStatus> status);
  void drop_outputs_on(const ExecutorId& executor);

  std::map<ShuffleId, Shuffle> shuffles_;
  int64_t epoch_ = 0;   // of answers
  bool moved_ = false;  // some output, since readers began
};

}  // namespace tinderbox::core
