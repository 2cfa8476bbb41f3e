// What must hold after each step and at the end of a run, and which paths it took.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/scheduler/driver.hpp"
#include "tests/sim/scenario.hpp"
#include "tests/sim/world.hpp"

namespace tinderbox::sim {

/// Ways through the scheduler that only faults open (and a few that show that tests have
/// substance).
enum class Path : uint8_t {
  JobSucceeded,
  JobCancelled,
  TaskAbort,
  StageAbort,
  StageSkipped,
  TaskRetried,
  TaskKilled,
  FetchFailed,
  MissingOutput,
  StageResubmitted,
  MapResubmitted,
  ZombieSuccess,
  BogusCompletion,
  HeartbeatExpiry,
  Disassociated,
  LossBlamed,
  LossUnblamed,
  HostLost,
  ExecutorSawLoss,
  Refetched,
  LaunchedAhead,
  Revoked,
  RevokedTooLate,
  IndirectResult,
  IndirectResultLost,
  CommitAllowed,
  CommitDenied,
  CacheHitLocal,
  CacheHitRemote,
  CacheRecomputed,
  Reregistered,
  OutputNotStored,
  ServicesFailed,
  MasterRecovered,
  WorkerRemoved,
  CopyWon,
  CopyLost,
};
inline constexpr size_t kPaths = 37;
const char* name_of(Path path);

/// Throws Broken as soon as something does not hold. Thread: the simulator's.
class Checks {
 public:
  Checks(World& world, Lineage& lineage, const Scenario& scenario)
      : world_(world), lineage_(lineage), scenario_(scenario) {}

  void reached(Path path) { paths_[static_cast<size_t>(path)] = true; }
  void reached(Fault::Kind kind) { faults_[static_cast<size_t>(kind)] = true; }
  const std::array<bool, kPaths>& paths() const { return paths_; }
  const std::array<bool, kFaultKinds>& faults() const { return faults_; }

  // ---- what the driver's host sees; a ticket is the job's place in the scenario plus one ----
  void submitted(uint64_t ticket) { open_.insert(ticket); }
  /// The cluster manager gives no executors any more: jobs may fail with that.
  void given_up(const std::string& reason) { given_up_ = reason; }
  bool given_up() const { return !given_up_.empty(); }
  void may_be_cancelled(uint64_t ticket) { cancelled_.insert(ticket); }
  void delivered(const core::DeliverResult& result);
  void ended(const core::DeliverJobEnd& end);
  void counted(const core::ApplyAccumulators& updates);
  void published(const core::ListenerEvent& event);
  void turn_ended(const core::Driver& driver);

  // ---- what executors see ----
  /// Unit: tasks.
  void load(const std::string& executor, size_t waiting, size_t running, size_t slots);
  void told_epoch(const std::string& executor, int64_t epoch);
  /// A block of a cached rdd: made by an executor; had by nobody that was asked.
  void cached(std::pair<int32_t, int32_t> block) { cached_.insert(block); }
  void recomputed(std::pair<int32_t, int32_t> block) {
    if (cached_.contains(block)) reached(Path::CacheRecomputed);
  }
  void committing(StageId stage, int32_t partition, TaskId task);

  bool all_ended() const { return ended_.size() == scenario_.jobs.size(); }
  const std::set<uint64_t>& open() const { return open_; }
  /// Everything ended: nothing may be left.
  void at_end(const core::Driver& driver) const;

 private:
  struct Attempt {
    bool ended = false;
    core::TaskInfo info;
    TaskEndKind how{};
  };
  using TaskKey = std::tuple<StageId, int32_t, int32_t>;  // stage, attempt, index

  [[noreturn]] void broken(const std::string& check, const std::string& detail) const;
  const JobPlan& job(uint64_t ticket) const { return scenario_.jobs[ticket - 1]; }
  void justified(const JobPlan& plan, uint64_t ticket, const std::string& error);
  void on(const core::TaskStarted& e);
  void on(const core::TaskEnded& e);
  void on(const core::StageSubmitted& e);
  void on(const core::StageCompleted& e);
  void on(const core::JobStarted& e);
  void on(const core::JobEnded& e);
  void on(const core::ExecutorRemoved& e);
  void on(const core::BlockManagerRemoved& e) {
    submitted_now_.clear();
    without_blocks_.insert(e.id.executor);
  }
  template <class E>
  void on(const E&) {}
  void count_failure(const core::TaskEnded& e);
  void bogus_completions(const core::Driver& driver);
  void parents_complete(const core::Driver& driver);

  World& world_;
  Lineage& lineage_;
  const Scenario& scenario_;
  std::array<bool, kPaths> paths_{};
  std::array<bool, kFaultKinds> faults_{};
  std::set<uint64_t> open_, ended_, cancelled_;
  std::map<uint64_t, std::set<int32_t>> results_;
  std::map<uint64_t, int64_t> counts_;
  std::map<TaskId, Attempt> attempts_;
  std::map<StageId, core::StageInfo> latest_;
  std::set<StageId> running_stages_;
  std::set<StageId> failed_stages_;  // their last event was an attempt that failed
  std::map<StageId, std::set<int32_t>> fetch_failures_;
  std::map<TaskKey, int32_t> failures_;
  std::map<JobId, bool> jobs_;  // ended
  std::map<JobId, std::vector<StageId>> stages_of_;
  std::vector<StageId> submitted_now_;
  std::set<ExecutorId> without_blocks_;
  std::vector<std::pair<StageId, int32_t>> doubtful_;  // successes of such executors in this turn
  std::set<std::pair<int32_t, int32_t>> cached_;
  std::map<std::string, int64_t> epochs_;
  std::map<std::pair<StageId, int32_t>, TaskId> committers_;
  int64_t epoch_ = 0;
  std::string given_up_;
};

}  // namespace tinderbox::sim
