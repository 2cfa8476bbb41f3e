// What must hold after each step and at the end of a run.
//
// checks.cpp: results and the ends of jobs; events.cpp: what listeners are told; state.cpp: the
// driver's tables; limits.cpp: exclusion and pools; barrier.cpp: barrier jobs that fail;
// resources.cpp: addresses; unsteady.cpp: what can't be computed again; moves.cpp: blocks that
// move, and what executors hold in the end.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/scheduler/driver.hpp"
#include "tests/sim/checks/paths.hpp"
#include "tests/sim/checks/versions.hpp"
#include "tests/sim/scenario/scenario.hpp"
#include "tests/sim/world/world.hpp"

namespace tinderbox::sim {

/// Ids as reports name them.
inline std::string text(TaskId id) { return "task " + std::to_string(id.value); }
inline std::string text(StageId id) { return "stage " + std::to_string(id.value); }

struct PoolLoad;

/// What an executor holds: blocks by name; files of its that are lost.
struct Stored {
  ExecutorId executor;
  const std::map<std::string, Payload>& blocks;
  const std::set<std::string>& lost;
};

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
  /// The driver's process is gone, and all that was known of its application with it.
  void application_ended() { app_ = {}; }
  void submitted(uint64_t ticket);
  /// The cluster manager gives no executors any more: jobs may fail with that.
  void given_up(const std::string& reason) { app_.given_up = reason; }
  bool given_up() const { return !app_.given_up.empty(); }
  void may_be_cancelled(uint64_t ticket) { app_.cancelled.insert(ticket); }
  /// From now on no job of it may start.
  void group_cancelled(const std::string& group) { app_.cancelled_groups.insert(group); }
  /// How listeners know the job; none: they don't.
  std::optional<JobId> started_as(uint64_t ticket) const;
  bool has_ended(uint64_t ticket) const { return app_.ended.contains(ticket); }
  /// No job wants it any more, and nothing of it may be left.
  void forgotten(ShuffleId shuffle) { app_.forgotten.insert(shuffle); }
  void delivered(const core::DeliverResult& result);
  void ended(const core::DeliverJobEnd& end);
  void counted(const core::ApplyAccumulators& updates);
  void published(const core::ListenerEvent& event);
  /// The cluster manager says so: the outputs of all executors there are forgotten.
  void host_lost();
  /// Executors wanted in all, by resource profile.
  void asked_for(const std::map<int32_t, int32_t>& executors);
  void turn_ended(const core::Driver& driver);
  /// The slots there are after a turn; before turn_ended().
  void slots_are(const core::Driver& driver);

  // ---- what executors of the present application see ----
  /// Unit: tasks.
  void load(const std::string& executor, size_t waiting, size_t running, size_t slots);
  /// An executor, what it has, and what of it the tasks hold that it runs.
  struct Holder {
    struct Task {
      StageId stage;
      int32_t cpus = 1;
      ResourceAddresses addresses;
    };
    std::string id;
    int32_t cores = 0;
    ResourceAddresses resources;
    std::vector<Task> tasks;
  };
  void holds(const Holder& executor);
  void told_epoch(const std::string& executor, int64_t epoch);
  /// A block of a cached rdd: made by an executor; had by nobody that was asked.
  void cached(Place block, uint64_t value) {
    cached_.insert(block);
    app_.versions.cached(block, value);
  }
  void recomputed(Place block) {
    if (cached_.contains(block)) reached(Path::CacheRecomputed);
  }
  /// A task is over that computed something indeterminate.
  void made(const Made& made);
  void committing(StageId stage, int32_t partition, TaskId task);
  /// An executor is to take a block, says whether it did; the block leaves the one that had it.
  void told_to_take(const TakeBlock& what);
  void answered(const TakeBlock& what, bool taken);
  void left(const ExecutorId& executor, const std::string& block);
  /// A task writes its output. Nobody removes it once the shuffle is forgotten, as in Spark.
  void writes(const std::string& executor, ShuffleId shuffle) {
    if (app_.forgotten.contains(shuffle)) app_.written_late.emplace(executor, shuffle);
  }
  /// It keeps a block of a cached rdd. Nobody removes it once the rdd is unpersisted, as in Spark.
  void keeps(const std::string& executor, const std::string& block);
  /// A task wants something of a map output.
  void reads(ShuffleId shuffle, int64_t map_id);
  /// What a task says at a barrier; what it hears there, by partition.
  static std::string at_barrier(StageId stage, int32_t attempt, int32_t partition);
  void met(StageId stage, int32_t attempt, const std::vector<std::string>& said);

  bool all_ended() const { return app_.ended.size() == scenario_.jobs.size(); }
  const std::set<uint64_t>& open() const { return app_.open; }
  /// Everything ended: nothing may be left.
  void at_end(const core::Driver& driver) const;
  /// It holds what the driver says, as it was made.
  void at_end(const core::Driver& driver, const Stored& stored);

 private:
  struct Attempt {
    bool ended = false;
    core::TaskInfo info;
    TaskEndKind how{};
  };
  using TaskKey = std::tuple<StageId, int32_t, int32_t>;  // stage, attempt, index
  using SetKey = std::pair<StageId, int32_t>;             // stage, attempt
  /// What is known of one run of the application.
  struct Application {
    std::set<uint64_t> open, ended, cancelled;
    std::set<uint64_t> refused;  // as they came after their group was cancelled for ever
    std::set<std::string> cancelled_groups;
    std::map<uint64_t, JobId> started;
    std::set<ShuffleId> forgotten;
    std::set<std::pair<std::string, ShuffleId>> written_late;  // by executor
    std::map<uint64_t, std::set<int32_t>> results;
    std::map<uint64_t, int64_t> counts;
    std::map<TaskId, Attempt> attempts;
    std::map<StageId, core::StageInfo> latest;
    std::set<StageId> running_stages;
    std::set<StageId> failed_stages;  // their last event was an attempt that failed
    std::map<StageId, std::set<int32_t>> failed_attempts;
    std::map<TaskKey, int32_t> failures;
    std::map<JobId, bool> jobs;  // ended
    std::map<JobId, std::vector<StageId>> stages_of;
    std::vector<StageId> submitted_now, completed_now;
    std::vector<ShuffleId> made_now;  // by map-stage jobs
    bool outputs_changed_now = false;
    std::map<SetKey, int32_t> started_now;  // tasks
    std::map<SetKey, int32_t> served_now;   // the same, for limits.cpp
    std::vector<ExecutorId> unreached_now;  // blocks could not be had from there
    std::set<ExecutorId> without_blocks;
    std::vector<std::pair<StageId, int32_t>> doubtful;  // successes of such executors in this turn
    std::map<std::string, int64_t> epochs;
    std::map<std::pair<StageId, int32_t>, TaskId> committers;
    int64_t epoch = 0;
    // unsteady.cpp
    Versions versions;
    std::map<uint64_t, std::vector<const Made*>> made;  // results by ticket
    std::map<StageId, uint64_t> tickets;                // of result stages
    std::set<StageId> completed;                        // at least once
    std::set<ShuffleId> unfetched;
    std::set<ExecutorId> gone;
    std::string given_up;
    int32_t asked_for = -1;
    // limits.cpp
    std::set<ExecutorId> excluded;
    std::set<std::string> excluded_hosts;
    std::map<SetKey, std::set<ExecutorId>> excluded_for;
    std::map<SetKey, std::set<std::string>> excluded_hosts_for;
    std::map<std::pair<TaskKey, ExecutorId>, int32_t> failed_at;
    Time readmitted{};  // the last time that an executor or a host was
    // moves.cpp
    std::map<std::pair<ExecutorId, std::string>, int32_t> not_taken;  // by holder and block
    std::set<std::pair<ExecutorId, std::string>> copied;              // cached blocks, by holder
    std::set<std::pair<ShuffleId, int64_t>> moved;                    // map outputs
    std::vector<std::pair<ExecutorId, std::string>> moved_now;        // to whom, and their files
    std::set<RddId> unpersisted;
    std::set<std::pair<std::string, std::string>> cached_late;  // by executor
    std::map<int32_t, std::map<std::string, double>> needs;     // of tasks, by resource profile
    bool host_lost = false;                                     // unsteady.cpp
    // barrier.cpp
    std::map<uint64_t, Time> submitted;           // by ticket
    std::vector<std::pair<Time, int32_t>> slots;  // since when there are so many
    std::optional<int32_t> too_few_now;           // fewer slots than these failed a job
    std::optional<int32_t> enough_now;            // places for so many tasks were offered
  };

  [[noreturn]] void broken(const std::string& check, const std::string& detail) const;
  const JobPlan& job(uint64_t ticket) const { return scenario_.jobs[ticket - 1]; }
  /// What a map-stage job makes. Null: the plan is of another job.
  core::ShufflePtr wanted_by(const JobPlan& plan) const {
    return plan.map_stage ? lineage_.read_by(plan.node) : nullptr;
  }
  void refused(const JobPlan& plan, const core::DeliverJobEnd& e);
  void complete(const JobPlan& plan, const core::DeliverJobEnd& e);
  void justified(const JobPlan& plan, const core::DeliverJobEnd& e);
  bool result_stage_failed(JobId job, const char* task) const;
  bool needs_barrier(int32_t node) const;

  // barrier.cpp
  void too_few_slots(const JobPlan& plan, const core::DeliverJobEnd& e);
  void refused_shape(const JobPlan& plan, const core::DeliverJobEnd& e) const;
  void placed_in_part(const core::DeliverJobEnd& e, const char* words);
  bool may_have_shape(const JobPlan& plan) const;
  Duration longest_with(int32_t slots, Time from) const;

  // events.cpp
  void on(const core::TaskStarted& e);
  void on(const core::TaskEnded& e);
  void on(const core::StageSubmitted& e);
  void on(const core::StageCompleted& e);
  void on(const core::JobStarted& e);
  void on(const core::JobEnded& e);
  void on(const core::ExecutorRemoved& e);
  void on(const core::BlockManagerRemoved& e);
  template <class E>
  void on(const E&) {}
  void succeeded(const core::TaskEnded& e);
  void outputs_changed();

  // limits.cpp
  void on(const core::ExecutorExcludedForStage& e);
  void on(const core::NodeExcludedForStage& e);
  void on(const core::ExecutorExcluded& e);
  void on(const core::NodeExcluded& e);
  void on(const core::ExecutorUnexcluded& e);
  void on(const core::NodeUnexcluded& e);
  void count_failure(const core::TaskEnded& e);
  void not_excluded(const core::TaskInfo& task);
  bool may_run_nowhere(const std::string& error) const;
  bool excluded_lately() const;
  void min_shares(const core::Driver& driver);
  void in_turn(const PoolLoad& served, const PoolLoad& waiting);

  // moves.cpp
  void on(const core::BlockUpdated& e);
  void on(const core::RddUnpersisted& e) { app_.unpersisted.insert(e.rdd); }
  void moved_there(const core::Driver& driver);
  std::optional<uint64_t> made_by(ShuffleId shuffle, int32_t map, int64_t map_id);
  void right_output(const core::MapOutputTracker::Held& output, const Stored& stored);
  void nothing_forgotten(const Stored& stored) const;
  void right_block(const std::string& block, const Stored& stored);

  // resources.cpp
  void on(const core::ResourceProfileAdded& e);
  void on(const core::ExecutorJoined& e);
  void hold(const Holder& executor, const Holder::Task& task,
            std::map<std::pair<std::string, std::string>, double>& used);
  void lost_addresses(const core::Driver& driver) const;

  // unsteady.cpp
  void right_answer(uint64_t ticket, int32_t partition, const Payload& value);
  void right_statistics(const core::ShuffleDependency& shuffle, const Payload& value);
  std::set<uint64_t> made_of(const core::ShuffleDependency& shuffle, int32_t map);
  void one_version(const core::DeliverJobEnd& e) const;
  void made_whole(const core::StageInfo& stage);
  bool counts_for_nothing(const Attempt& success) const;
  bool some_lost(const core::Node& node) const;
  void cannot_roll_back(const JobPlan& plan, uint64_t ticket, const std::string& error);

  // state.cpp
  void bogus_completions(const core::Driver& driver);
  void parents_complete(const core::Driver& driver);
  void stages_complete(const core::Driver& driver);
  void forgotten_gone(const core::Driver& driver) const;
  void map_stages_made(const core::Driver& driver);
  void started_together(const core::Driver& driver);
  void one_active_set(const core::Driver& driver) const;
  void slots(const core::Driver& driver) const;
  void of_open_jobs(const core::Driver& driver) const;
  void gone_whole(const core::Driver& driver, const core::Executor& e) const;

  World& world_;
  Lineage& lineage_;
  const Scenario& scenario_;
  std::array<bool, kPaths> paths_{};
  std::array<bool, kFaultKinds> faults_{};
  std::set<Place> cached_;
  Application app_;
};

}  // namespace tinderbox::sim
