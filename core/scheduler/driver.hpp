// The Driver machine: an application's scheduler. Pure: (event, time) → effects.
//
// It owns the registry of executors, the tables of map outputs and blocks, the DAG scheduler and
// the task scheduler, and routes every event to them; each event ends with one round of offers.
// What happens in which order is said in dag_scheduler.hpp and task_scheduler.hpp.
#pragma once

#include <cstdint>
#include <set>

#include "core/scheduler/allocation/allocation.hpp"
#include "core/scheduler/allocation/rolling.hpp"
#include "core/scheduler/blocks/migration.hpp"
#include "core/scheduler/blocks/replication.hpp"
#include "core/scheduler/dag/commit_coordinator.hpp"
#include "core/scheduler/dag/dag_scheduler.hpp"
#include "core/scheduler/dag/map_output_tracker.hpp"
#include "core/scheduler/driver_io.hpp"
#include "core/scheduler/executors/executors.hpp"
#include "core/scheduler/options.hpp"
#include "core/scheduler/tasks/task_scheduler.hpp"
#include "core/storage/block_master.hpp"

namespace tinderbox::core {

class Driver {
 public:
  using Event = DriverEvent;
  using Effect = DriverEffect;

  Driver(DriverOptions options, ProgramCodec codec);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void on(const DriverEvent& event, Time now, DriverEffects& out);
  /// As above; payloads are moved on instead of copied.
  void on(DriverEvent&& event, Time now, DriverEffects& out);

  /// No job, stage, task set or attempt is left, and no commit permission.
  bool idle_state_is_clean() const;
  /// No decommissioned executor ends what it runs, or waits for what it holds to be moved.
  bool drained() const { return draining_.empty() && migration_.idle(); }

  const Executors& executors() const { return executors_; }
  const MapOutputTracker& map_outputs() const { return outputs_; }
  const BlockMaster& blocks() const { return blocks_; }
  const DagScheduler& dag() const { return dag_; }
  const TaskScheduler& tasks() const { return tasks_; }
  /// Null: the number of executors does not follow the load.
  const Allocation* allocation() const { return allocation_ ? &*allocation_ : nullptr; }
  /// Of executors that get offers.
  int32_t total_cores() const;

 private:
  void handle(Received<ToDriver>& event, Turn& turn);
  void handle(PeerLost& event, Turn& turn);
  void handle(SubmitJob& event, Turn& turn) { dag_.submit(std::move(event.job), turn); }
  void handle(CancelJob& event, Turn& turn) { dag_.cancel_job(event.ticket, event.reason, turn); }
  void handle(CancelJobById& event, Turn& turn) { dag_.cancel_job(event.job, event.reason, turn); }
  void handle(CancelJobGroup& event, Turn& turn) {
    dag_.cancel_group(event.group, event.future, turn);
  }
  void handle(CancelJobsWithTag& event, Turn& turn) { dag_.cancel_tag(event.tag, turn); }
  void handle(CancelStage& event, Turn& turn) {
    dag_.cancel_stage(event.stage, event.reason, turn);
  }
  void handle(CancelAllJobs&, Turn& turn) { dag_.cancel_all(turn); }
  void handle(KillTaskAttempt& event, Turn& turn);
  void handle(BackendExecutorExited& event, Turn& turn);
  void handle(BackendWorkerRemoved& event, Turn& turn);
  void handle(BackendDead& event, Turn& turn) { dag_.backend_dead(event.reason, turn); }
  void handle(BackendStatus& event, Turn&) { tasks_.set_backend_status(event.reason); }
  void handle(ResultFetched& event, Turn& turn) { tasks_.result_fetched(std::move(event), turn); }
  void handle(UnpersistRdd& event, Turn& turn);
  void handle(DestroyBroadcast& event, Turn& turn);
  void handle(ForgetShuffle& event, Turn& turn);
  void handle(CheckpointDone& event, Turn&) { dag_.checkpoint_done(std::move(event.rdd)); }
  void handle(ShipFiles& event, Turn& turn);
  void handle(StopDriver& event, Turn& turn);
  void handle(DriverTimer& event, Turn& turn);
  void handle(StartDriver& event, Turn& turn);
  void handle(BackendExecutorDecommissioned& event, Turn& turn);
  void handle(ScaleExecutors& event, Turn& turn);

  // Messages of executors; `slot` −1: not registered.
  void message(PeerId from, int32_t slot, ExecutorHello& m, Turn& turn);
  void message(PeerId from, int32_t slot, RegisterExecutor& m, Turn& turn);
  void message(PeerId from, int32_t slot, ExecutorReady& m, Turn& turn);
  void message(PeerId from, int32_t slot, StatusUpdates& m, Turn& turn);
  void message(PeerId from, int32_t slot, TasksRevoked& m, Turn& turn);
  void message(PeerId from, int32_t slot, ExecutorHeartbeat& m, Turn& turn);
  void message(PeerId from, int32_t slot, BlockUpdates& m, Turn& turn);
  void message(PeerId from, int32_t slot, MapOutputsRequest& m, Turn& turn);
  void message(PeerId from, int32_t slot, BlockLocationsRequest& m, Turn& turn);
  void message(PeerId from, int32_t slot, ExecutorExiting& m, Turn& turn);
  void message(PeerId from, int32_t slot, AskPermissionToCommit& m, Turn& turn);
  void message(PeerId from, int32_t slot, ExecutorDecommissioning& m, Turn& turn);
  void message(PeerId from, int32_t slot, BlockTaken& m, Turn& turn);
  void message(PeerId from, int32_t slot, BarrierSync& m, Turn& turn);

  void know_blocks_of(const Executor& executor, Turn& turn);
  void check_heartbeats(Turn& turn);
  void check_heartbeats_later(Turn& turn);
  bool manager_may_tell(int32_t slot) const;
  void await_reason(int32_t slot, std::string last_words, Turn& turn);
  void remove_executor(int32_t slot, const ExecutorLoss& loss, const std::string& worker_host,
                       Turn& turn);
  std::string host_gone_with(int32_t slot) const;
  void end_excluded(Turn& turn);
  static void kill(Executor& executor, Turn& turn);
  void to_all(const ToExecutor& message, Turn& turn);

  // driver_scaling.cpp: executors that come and go by will
  void observe(Turn& turn);
  void roll(Turn& turn);
  void allocate(Turn& turn);
  void ask_for_executors(Turn& turn);
  void ask_for_executors(const Allocation::Totals& totals, Turn& turn);
  int32_t executors_wanted() const;
  std::string scale(const ScaleExecutors& event, Turn& turn);
  bool here(int32_t slot) const;
  bool kill_wanted(int32_t slot, const std::string& why, Turn& turn);
  std::map<std::string, int32_t> local_tasks() const;
  bool kill_idle(int32_t slot, Turn& turn);
  bool decommission(int32_t slot, std::string message, std::string worker_host, Turn& turn);
  void decommission_early(int32_t slot, Turn& turn);
  void ended_at_once(int32_t slot, const BackendExecutorDecommissioned& why, Turn& turn);
  void finish_drained(Turn& turn);
  void force_kill(int32_t slot, Turn& turn);
  ExecutorLoss attributed(int32_t slot, const ExecutorLoss& loss) const;

  const DriverOptions options_;
  const ProgramCodec codec_;
  Executors executors_;
  MapOutputTracker outputs_;
  BlockMaster blocks_;
  CommitCoordinator commits_;
  TaskScheduler tasks_;
  DagScheduler dag_;
  Migration migration_;
  Replication replication_;
  std::optional<Allocation> allocation_;
  std::optional<Rolling> rolling_;
  std::optional<int32_t> wanted_;  // executors, by the application
  int32_t profiles_told_ = 1;      // resource profiles that the allocation knows
  std::set<int32_t> draining_;     // decommissioned executors that are not told to stop yet
  std::deque<BackendExecutorDecommissioned> early_;  // of executors that are not here yet
  std::vector<AddFiles> shipped_;                    // for executors that become ready later
  uint64_t turns_ = 0;
  bool heartbeat_timer_set_ = false;
  Time heartbeat_check_due_{};
  bool stopped_ = false;
};

}  // namespace tinderbox::core
