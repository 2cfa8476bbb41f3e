// Jobs → stages → task sets, and what failures mean for them.
//
// A job's lineage is cut at its shuffles into stages. A stage runs when the map outputs that it
// reads exist; each run of it is an attempt over the partitions that are still missing. A lost map
// output is found when it is fetched (or at the next submission), never by watching executors: the
// stage that wanted it fails, both stages are submitted again, and only what is missing is
// computed.
//
// Order within the end of a task: the commit coordinator is told, accumulators are applied,
// TaskEnded is published, then comes what follows for stage and job; JobEnded precedes the job's
// last result. All state but epochs is gone when no job runs; idle() says so. Source: Spark 4.3
// DAGScheduler.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/scheduler/dag/barrier_coordinator.hpp"
#include "core/scheduler/dag/checkpoints.hpp"
#include "core/scheduler/dag/commit_coordinator.hpp"
#include "core/scheduler/dag/map_output_tracker.hpp"
#include "core/scheduler/dag/stage.hpp"
#include "core/scheduler/dag/stage_graph.hpp"
#include "core/scheduler/tasks/task_scheduler.hpp"
#include "core/storage/block_master.hpp"

namespace tinderbox::core {

class DagScheduler final : public StageProgress {
 public:
  DagScheduler(const DriverOptions& options, const ProgramCodec& codec, TaskScheduler& tasks,
               MapOutputTracker& outputs, BlockMaster& blocks, CommitCoordinator& commits);

  void submit(JobRequest request, Turn& turn);
  /// Listeners hear of resource profiles that they don't know yet.
  void tell_profiles(Turn& turn);
  /// Unknown or finished jobs are not an error.
  void cancel_job(uint64_t ticket, const std::string& reason, Turn& turn);
  void cancel_job(JobId id, const std::string& reason, Turn& turn);
  /// `future`: later jobs of it fail when they are submitted.
  void cancel_group(const std::string& group, bool future, Turn& turn);
  void cancel_tag(const std::string& tag, Turn& turn);
  void cancel_stage(StageId stage, const std::string& reason, Turn& turn);
  void cancel_all(Turn& turn);
  /// No executors will come any more: now and later jobs fail.
  void backend_dead(const std::string& reason, Turn& turn);
  void stop(const std::string& cause, Turn& turn);
  /// Later jobs read it. What is behind it goes when no job that runs needs it.
  void checkpoint_done(std::weak_ptr<const Node> rdd);

  void task_ended(TaskEnd& end, Turn& turn) override;
  void task_set_failed(const TaskSet& set, const std::string& reason, Turn& turn) override;
  void resubmit_failed_stages(Turn& turn);
  /// Time to look again whether there are slots for the barrier stages of a job.
  void retry_job(JobId id, Turn& turn);
  BarrierCoordinator& barriers() { return barriers_; }
  /// The first of a partition's attempts that asks may; none whose result would not count. Source:
  /// Spark OutputCommitCoordinator, which lets those of rolled back stages commit too.
  bool may_commit(const AskPermissionToCommit& ask);

  void executor_added(const ExecutorId& executor);
  /// `worker_host`: the whole host is gone.
  void executor_lost(const ExecutorId& executor, const std::string& worker_host, Turn& turn);
  void worker_removed(const std::string& host);
  /// Cached partitions of a decommissioned executor have another place.
  void blocks_moved() { placement_.forget(); }
  bool output_moved(const TaskSet& set, int32_t index, TaskId made_by,
                    const ExecutorId& from) const override;
  std::shared_ptr<const ToExecutor> outputs_ahead(ShuffleId shuffle, int32_t slot) override;
  /// The answer to a MapOutputsRequest.
  std::shared_ptr<const ToExecutor> outputs(ShuffleId shuffle);

  /// Nothing of any job is left.
  bool idle() const;
  const std::map<StageId, Stage>& stages() const { return stages_; }
  const std::set<StageId>& running() const { return running_; }
  const std::set<StageId>& waiting() const { return waiting_; }
  const std::set<StageId>& failed() const { return failed_; }

 private:
  // dag_jobs.cpp: jobs from start to end
  void submit_empty(JobRequest& request, JobId id, Turn& turn);
  std::string conflict_in(const JobRequest& request);
  std::string cancelled_group_of(const JobRequest& request) const;
  void start_job(JobRequest& request, JobId id, Turn& turn);
  StageId final_stage_for(const JobRequest& request, JobId id);
  void refuse(uint64_t ticket, JobId id, std::string error, Turn& turn);
  /// False: there were none.
  bool cancel_jobs_where(const std::function<bool(const Job&)>& chosen, const std::string& reason,
                         Turn& turn);
  void fail_job(JobId id, const std::string& error, Turn& turn);
  void finish_job(Job& job, Stage& stage, Turn& turn);
  void finish_map_stage_jobs(StageId stage, Turn& turn);
  void end_job(Job& job, const std::string& error, Turn& turn);
  static bool interrupts(const Job& job);
  void cancel_independent_stages(const Job& job, const std::string& reason, Turn& turn);
  void clean_up(JobId id);
  void abort_stage(StageId stage, const std::string& reason, Turn& turn);
  void go_on_without(StageId id, const std::vector<JobId>& jobs, const std::string& reason,
                     Turn& turn);
  /// What `last` still lacks, or itself, is made from `target`.
  bool depends_on(StageId last, StageId target) const;

  // dag_scheduler.cpp: stages
  Stage& create_stage(NodePtr root, ShufflePtr shuffle, JobId job, std::string name);
  StageId map_stage_for(const ShufflePtr& shuffle, JobId job);
  void add_job_to(StageId stage, JobId job);
  bool available(const Stage& stage) const;
  std::vector<StageId> missing_parents(const Stage& stage);
  std::vector<int32_t> missing_outputs(const Stage& stage) const;
  JobId active_job_for(const Stage& stage) const;
  void submit_stage(StageId id, Turn& turn);
  void submit_missing_tasks(Stage& stage, JobId job, Turn& turn);
  bool encode(Stage& stage, Payload& code, Turn& turn);
  void begin_attempt(Stage& stage, const Job& job, size_t tasks, Turn& turn);
  void mark_finished(Stage& stage, const std::string& error, bool will_retry, Turn& turn);
  void submit_waiting_children(StageId parent, Turn& turn);
  Stage* find(StageId id);

  // dag_task_ends.cpp: what the end of a task means
  void apply_accumulators(const Stage& stage, TaskEnd& end, Turn& turn);
  void result_ready(Stage& stage, TaskEnd& end, Turn& turn);
  void output_ready(Stage& stage, TaskEnd& end, Turn& turn);
  void map_stage_done(Stage& stage, Turn& turn);
  bool outdated(const Stage& stage, int32_t attempt) const;
  void fetch_failed(Stage& stage, const TaskEnd& end, Turn& turn);
  void outputs_lost(Stage& map_stage, const TaskEndReason& reason);
  MapOutputTracker::LocalDirs local_dirs();
  bool failed_too_often(const Stage& stage) const;
  std::string why_no_retry(const Stage& stage, const std::string& reason) const;
  void retry_later(StageId stage, Turn& turn);
  void remove_executor_and_outputs(const ExecutorId& executor, const std::string& host,
                                   int64_t epoch, Turn& turn, bool host_condemned = false);

  // dag_rollback.cpp: outputs that would come out otherwise when they are made again
  std::set<StageId> with_readers(StageId stage) const;
  bool abort_unless_revocable(const std::set<StageId>& stages, StageId source, Turn& turn);
  void forget_outputs(const Stage& stage);
  bool roll_back(StageId source, Turn& turn);
  bool start_anew(Stage& stage, Turn& turn);

  // dag_barrier.cpp: stages whose tasks run together
  struct Delayed {
    JobRequest request;
    int32_t failures = 0;
  };
  struct Lack {
    int32_t needed = 0, available = 0;
    int32_t slots() const { return needed - available; }
  };
  std::string barrier_error(const Stage& stage, size_t tasks) const;
  bool held_back(JobRequest& request, JobId id, Turn& turn);
  void delay_job(JobRequest& request, JobId id, const Lack& lack, Turn& turn);
  bool fail_delayed_jobs(const std::function<bool(const Job&)>& chosen,
                         const std::function<std::string(JobId)>& error, Turn& turn);
  void give_up_attempt(Stage& stage, const TaskEnd& end, Turn& turn);
  void barrier_task_failed(Stage& stage, const TaskEnd& end, Turn& turn);

  const DriverOptions& options_;
  const ProgramCodec& codec_;
  TaskScheduler& tasks_;
  MapOutputTracker& outputs_;
  BlockMaster& blocks_;
  CommitCoordinator& commits_;
  Placement placement_;
  Checkpoints checkpoints_;
  BarrierCoordinator barriers_;

  int32_t next_job_ = 0, next_stage_ = 0;
  std::map<JobId, Job> jobs_;
  std::map<JobId, Delayed> delayed_;  // until there are slots for their barrier stages
  std::map<uint64_t, JobId> job_by_ticket_;
  std::map<StageId, Stage> stages_;
  std::map<ShuffleId, StageId> map_stages_;
  std::set<StageId> waiting_, running_, failed_;
  std::map<ExecutorId, int64_t> executor_lost_epoch_, files_lost_epoch_;
  std::string dead_reason_;
  std::string stopped_;                       // what a job is told that comes after stop()
  std::deque<std::string> cancelled_groups_;  // for ever; the last ones
  bool profiles_ = false;                     // some Rdd has a resource profile
  int32_t profiles_told_ = 0;                 // how many of them listeners know
};

}  // namespace tinderbox::core
