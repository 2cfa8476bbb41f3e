// Events and effects of the Driver machine (core/scheduler/driver.hpp).
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/machine.hpp"
#include "core/plan/job.hpp"
#include "core/status/events.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

// ---- events beside Received<ToDriver> and PeerLost ---------------------------------------------

struct SubmitJob {
  JobRequest job;
};
/// `reason` completes "Job N cancelled …".
struct CancelJob {
  uint64_t ticket = 0;
  std::string reason;
};
/// As CancelJob, by the number that listeners hear.
struct CancelJobById {
  JobId job;
  std::string reason;
};
/// `future`: jobs of the group that come later fail too.
struct CancelJobGroup {
  std::string group;
  bool future = false;
};
struct CancelJobsWithTag {
  std::string tag;
};
struct CancelStage {
  StageId stage;
  std::string reason;
};
struct CancelAllJobs {};
struct KillTaskAttempt {
  TaskId task;
  bool interrupt = true;
  std::string reason;
};
/// From the cluster manager. No exit code: the process or its worker is lost.
struct BackendExecutorExited {
  ExecutorId executor;
  std::optional<int32_t> exit_code;
  std::string message;
  std::string worker_host;  // set when the worker itself is gone
  bool by_manager = false;  // the cluster manager or a person ended it: not its own fault
};
/// The cluster manager takes the executor away soon.
struct BackendExecutorDecommissioned {
  ExecutorId executor;
  std::string message;
  std::string worker_host;  // set when the worker goes with it
};
/// The application itself wants another number of executors, of the default resource profile, or
/// certain ones gone, which are not replaced. Ended by DeliverJobEnd; its error says why nothing
/// came of it.
struct ScaleExecutors {
  uint64_t ticket = 0;
  int32_t executors = 0;
  bool in_all = false;           // else so many more
  std::vector<ExecutorId> kill;  // not empty: nothing else is wanted
};
/// The worker is gone: outputs on that host are lost.
struct BackendWorkerRemoved {
  std::string host;
  std::string message;
};
/// The application can't go on: fail all jobs.
struct BackendDead {
  std::string reason;
};
/// Why the cluster manager gives no executors; part of the starvation warning.
struct BackendStatus {
  std::string reason;
};
/// An indirect result arrived, or could not be had.
struct ResultFetched {
  TaskId task;
  Result<Payload> bytes;
};
struct UnpersistRdd {
  RddId rdd;
};
struct DestroyBroadcast {
  BroadcastId broadcast;
};
/// A shuffle that no live Rdd can reach.
struct ForgetShuffle {
  ShuffleId shuffle;
};
/// `rdd` has its checkpoint: its lineage is cut from now on.
struct CheckpointDone {
  std::weak_ptr<const Node> rdd;
};
/// Executors, those to come too, get these before further tasks.
struct ShipFiles {
  AddFiles files;
};
/// Before all others.
struct StartDriver {};
/// Stop: fail what runs, tell executors to stop.
struct StopDriver {
  std::string cause;  // of a stop that the application did not ask for; else empty
};
/// `kind` and `id` say what it was set for; stale ones are ignored.
struct DriverTimer {
  enum class Kind : uint8_t {
    ResubmitFailedStages,
    Revive,
    Heartbeats,
    Starvation,
    RemoveDelay,
    Speculation,
    Unschedulable,
    Allocation,
    ForceKill,
    Migration,
    Roll,
    BarrierSlots,
    BarrierSync
  } kind{};
  int64_t id = 0;
  std::string name;
  bool operator==(const DriverTimer&) const = default;
};

using DriverEvent =
    std::variant<Received<ToDriver>, PeerLost, SubmitJob, CancelJob, CancelJobGroup,
                 CancelJobsWithTag, CancelStage, CancelAllJobs, KillTaskAttempt,
                 BackendExecutorExited, BackendWorkerRemoved, BackendDead, BackendStatus,
                 ResultFetched, UnpersistRdd, DestroyBroadcast, ForgetShuffle, CheckpointDone,
                 ShipFiles, StopDriver, DriverTimer, StartDriver, BackendExecutorDecommissioned,
                 CancelJobById, ScaleExecutors>;

// ---- effects beside Send<ToExecutor>, Disconnect, After<DriverTimer>, Log ----------------------

/// Value of `partitions[position]` for the waiting caller. Each position at most once a job.
struct DeliverResult {
  uint64_t ticket = 0;
  int32_t position = 0;
  Payload value;
};
/// The job is over; nothing more comes under this ticket. Empty error: it succeeded.
struct DeliverJobEnd {
  uint64_t ticket = 0;
  JobId job;
  std::string error;
};
/// Count these updates, exactly once a result partition (spec/03 §3.1).
struct ApplyAccumulators {
  std::vector<AccumulatorUpdate> updates;
};
/// In the order in which they happened; at most one a turn of the machine.
struct Publish {
  std::vector<ListenerEvent> events;
};
/// As Send, for a message that many peers get: encode it once.
struct SendShared {
  PeerId to = 0;
  std::shared_ptr<const ToExecutor> message;
};
/// Fetch an indirect result from the executor's block server; answered by ResultFetched.
struct FetchResult {
  TaskId task;
  BlockManagerId from;
  std::string block;
  int64_t size = 0;
};
/// Ask the cluster manager to end an executor. Another one takes its place where there are fewer
/// than are wanted.
struct KillBackendExecutor {
  ExecutorId executor;
};
/// An executor moves what it holds from now on, and then ends.
struct DecommissionBackendExecutor {
  ExecutorId executor;
};
/// An executor that the cluster manager began without an id has one now.
struct NameBackendExecutor {
  ExecutorId executor;
  std::string pod;
};
/// Ask the cluster manager for so many executors in all, by resource profile. `profiles` says what
/// those beside the default one are, `local_tasks` how many tasks that wait have their data on a
/// host. Source: Spark 4.3 ExecutorAllocationClient.requestTotalExecutors.
struct RequestTotalExecutors {
  std::map<int32_t, int32_t> totals;
  std::vector<ProfileRequest> profiles;
  std::map<std::string, int32_t> local_tasks;
};

using AnyDriverEffect =
    std::variant<Send<ToExecutor>, SendShared, Disconnect, After<DriverTimer>, Log, DeliverResult,
                 DeliverJobEnd, ApplyAccumulators, Publish, FetchResult, KillBackendExecutor,
                 RequestTotalExecutors, NameBackendExecutor, DecommissionBackendExecutor>;
/// A class of its own, so that one source compiles what copying and destroying it takes.
struct DriverEffect : AnyDriverEffect {
  using AnyDriverEffect::variant;
  DriverEffect(const DriverEffect&);
  DriverEffect(DriverEffect&&) noexcept;
  DriverEffect& operator=(const DriverEffect&);
  DriverEffect& operator=(DriverEffect&&) noexcept;
  ~DriverEffect();
};
using DriverEffects = std::vector<DriverEffect>;

}  // namespace tinderbox::core
