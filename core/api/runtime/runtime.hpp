// The port between an application's Context and what runs its jobs.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/plan/job.hpp"
#include "core/plan/lineage/lineage.hpp"
#include "net/types.hpp"
#include "net/wire/resources.hpp"

namespace tinderbox::conf {
class Conf;
}
namespace tinderbox::net {
class Files;
}

namespace tinderbox {

/// A job did not succeed. what(): "Job aborted due to stage failure: …", "Job 3 cancelled …".
class JobFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace core {

class Listener;
class StatusTracker;

/// Implemented by the driver over its machine, and by tests in one process.
/// Thread: any user thread; several jobs may run at once. Results are handed to user code on the
/// thread that runs the job concerned; accumulators merge on that of any job that has news, or the
/// listeners', one at a time.
class Runtime {
 public:
  using OnResult = std::function<void(int32_t position, Payload value)>;
  virtual ~Runtime() = default;

  /// Runs `job` to its end. Calls on_result in order of completion, each position once. `ticket` is
  /// the runtime's to set. Errors: throws JobFailed; an exception of on_result cancels the job and
  /// is passed on.
  virtual void run_job(JobRequest job, const OnResult& on_result) = 0;
  /// Partitions of a parallelize without a count: spark.default.parallelism, else the cluster's
  /// cores.
  virtual int32_t default_parallelism() const = 0;
  virtual const conf::Conf& conf() const = 0;
  virtual const AppId& app_id() const = 0;
  /// Addresses of the driver's custom resources.
  virtual const ResourceAddresses& resources() const = 0;
  /// The driver's files: inputs are listed and outputs prepared through it.
  virtual net::Files& files() = 0;

  virtual void put_broadcast(BroadcastId id, Payload value) = 0;
  /// Removes it everywhere. With `keep_on_driver` executors may fetch it again.
  virtual void remove_broadcast(BroadcastId id, bool keep_on_driver) = 0;
  virtual void unpersist(RddId id) = 0;
  /// No Rdd of the application reaches this shuffle any more. Thread: any; must not wait.
  virtual void forget_shuffle(ShuffleId id) = 0;
  /// `rdd` has its checkpoint, which later jobs read in its place. Thread: any; must not wait.
  virtual void checkpointed(const NodePtr& rdd) = 0;

  /// `merge` takes an encoded delta and throws DecodeError when it is none; what it throws costs
  /// that delta and is logged. `show` gives the value as text. Empty name: not shown.
  using MergeAccumulator = std::function<void(std::string_view delta)>;
  using ShowAccumulator = std::function<std::string()>;
  virtual void register_accumulator(AccumulatorId id, const std::string& name,
                                    MergeAccumulator merge, ShowAccumulator show) = 0;
  /// Nobody adds to it or reads it any more; status shows `last`. Thread: any, also one that
  /// merges; must not wait.
  virtual void forget_accumulator(AccumulatorId id, const std::string& last) = 0;

  /// Executors get the file, or the unpacked archive, before the tasks of later jobs. `path`: a
  /// path or URL. Errors: throws when it is not there, or another one has its name.
  virtual void add_file(const std::string& path, bool archive) = 0;
  /// Source: Spark SparkContext.addSparkListener.
  virtual void add_listener(std::shared_ptr<Listener> listener) = 0;
  virtual const StatusTracker& status() const = 0;

  virtual void cancel_job_group(const std::string& group, bool future) = 0;
  virtual void cancel_jobs_with_tag(const std::string& tag) = 0;
  virtual void cancel_job(JobId job, const std::string& reason) = 0;
  virtual void cancel_stage(StageId stage, const std::string& reason) = 0;
  virtual void kill_task_attempt(TaskId task, bool interrupt, const std::string& reason) = 0;
  virtual void cancel_all_jobs() = 0;

  /// So many in all, or so many more. False, and logged why: nothing came of it.
  virtual bool request_executors(int32_t executors, bool in_all) = 0;
  /// False: none of them is there.
  virtual bool kill_executors(const std::vector<ExecutorId>& executors) = 0;
};

}  // namespace core
}  // namespace tinderbox
