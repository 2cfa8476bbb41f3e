// Answers of lineage with unsteady nodes: right are those that are made of one version.
//
// A version of a map output is the task that made it. Each task says which versions it read; so an
// answer is followed down to all of them, and none may stand beside another one of its partition.
// Two cases are let pass, as Spark lets them pass:
// - A cached block stays when what it was made of is rolled back: what lies behind one is not
//   followed.
// - A roll-back reaches the stages of running jobs. Outputs that jobs before left stay, though what
//   they were made of is made again for a job that does not know them. A later job that reads both
//   gets two versions; both were there, or on their way, when it began.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/sim/scenario/lineage.hpp"

namespace tinderbox::sim {

/// What one task made, and of what.
struct Made {
  const core::Node* node = nullptr;
  int32_t partition = 0;
  ShuffleId shuffle;    // negative: a result
  uint64_t ticket = 0;  // of the job that had the task started
  uint64_t value = 0;
  TaskId task;
  StageId stage;
  int32_t stage_attempt = 0;
  std::string executor;
  std::map<Place, uint64_t> cached;             // blocks of indeterminate rdds that it took
  std::map<Place, std::vector<int64_t>> reads;  // of indeterminate shuffles: the tasks, by map
};

/// Of one run of the application. Only what is indeterminate is recorded.
class Versions {
 public:
  void began(JobId job) { jobs_[job] = ++clock_; }
  void began(StageId stage, int32_t attempt) { attempts_[{stage, attempt}] = ++clock_; }
  void cached(Place block, uint64_t value) { cached_[block].insert(value); }
  /// Whether `made` is what follows from what it read; if so, it is kept.
  bool add(const Made& made, Lineage& lineage);
  /// By whoever read least: the others took it from a cache, or may have. Null: nobody made it.
  const Made* result(uint64_t ticket, int32_t partition, uint64_t value) const;
  /// What stands in two versions behind the results of `job`; empty: nothing does.
  std::string mixed(JobId job, const std::vector<const Made*>& results) const;
  /// What the task `map_id` wrote; none: nothing.
  std::optional<uint64_t> output(ShuffleId shuffle, int64_t map_id) const;
  /// What tasks wrote for one map of it.
  std::set<uint64_t> outputs(ShuffleId shuffle, int32_t map) const;
  /// A task made this value of a cached block.
  bool knows(Place block, uint64_t value) const {
    const auto known = cached_.find(block);
    return known != cached_.end() && known->second.contains(value);
  }
  /// Executors that made outputs of `shuffle`.
  std::set<std::string> makers(ShuffleId shuffle) const;

 private:
  /// Versions of one map output, and whether all who read it were there before the job began.
  using Readers = std::map<int64_t, bool>;
  using Seen = std::map<Place, Readers>;
  std::optional<uint64_t> value(const Made& made, const core::Node& node, int32_t partition,
                                Lineage& lineage) const;
  std::optional<uint64_t> read(const Made& made, const core::ShuffleDependency& shuffle,
                               int32_t reduce, Lineage& lineage) const;
  bool before(const Made& made, JobId job) const;
  void follow(const Made& made, JobId job, Seen& seen) const;
  bool allowed(ShuffleId shuffle, const Readers& versions, JobId job) const;

  uint64_t clock_ = 0;  // counts what began
  std::map<JobId, uint64_t> jobs_;
  std::map<std::pair<StageId, int32_t>, uint64_t> attempts_;
  std::map<Place, std::set<uint64_t>> cached_;
  std::map<std::pair<ShuffleId, int64_t>, Made> outputs_;
  // By ticket, partition and value: one task may compute what another takes from a cache.
  std::map<std::tuple<uint64_t, int32_t, uint64_t>, std::deque<Made>> results_;
};

}  // namespace tinderbox::sim
