// What an application holds of the cluster: it makes Rdds and shared variables and runs jobs.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/runtime/checkpoint_marks.hpp"
#include "core/api/runtime/runtime.hpp"
#include "core/plan/lineage/lineage.hpp"

namespace tinderbox {

template <class T>
class Rdd;
template <class T>
class Broadcast;
template <class T, class Merge>
class Accumulator;
struct Add;
struct Average;
struct AddToAverage;
struct Append;

/// Where in the application's source an Rdd or a job was made.
using Site = std::source_location;
/// `map at word_count.cpp:7`.
std::string short_site(const char* operation, const Site& site);

/// Estimated bytes that each reducer of a shuffle will read. Source: Spark MapOutputStatistics.
struct MapOutputStatistics {
  ShuffleId shuffle;
  std::vector<int64_t> bytes_by_partition;
};

/// Source: Spark SparkContext.
/// Thread: any. Local properties belong to the thread that sets them.
class Context {
 public:
  explicit Context(core::Runtime& runtime);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // ---- sources ----

  /// Driver data in `slices` partitions of nearly equal length (0: default_parallelism()).
  template <class T>
  Rdd<T> parallelize(const std::vector<T>& values, int32_t slices = 0, Site site = Site::current());
  /// start, start+step, … below `end` (above it when step < 0).
  Rdd<int64_t> range(int64_t start, int64_t end, int64_t step = 1, int32_t slices = 0,
                     Site site = Site::current());
  /// Lines of the files at `path` (files, directories, globs, comma-separated), without their line
  /// ends. Errors: `Input path does not exist: file:/…` when nothing is there.
  Rdd<std::string_view> text_file(const std::string& path, int32_t min_partitions = 0,
                                  Site site = Site::current());
  /// (URL, content) of each file at `path`, as above; several files a partition.
  Rdd<std::pair<std::string, std::string>> whole_text_files(const std::string& path,
                                                            int32_t min_partitions = 0,
                                                            Site site = Site::current());
  /// The same, but the bytes of the files as they are: nothing is uncompressed. Source: Spark
  /// SparkContext.binaryFiles.
  Rdd<std::pair<std::string, std::string>> binary_files(const std::string& path,
                                                        int32_t min_partitions = 0,
                                                        Site site = Site::current());
  /// Records of `length` bytes. Errors: a file that does not hold whole records.
  Rdd<std::string_view> binary_records(const std::string& path, int64_t length,
                                       Site site = Site::current());
  /// What save_as_object_file() wrote, a file a partition. Errors: a task fails where the type is
  /// another one, or the file damaged.
  template <class T>
  Rdd<T> object_file(const std::string& path, Site site = Site::current());
  /// Keys and values of Hadoop's sequence files, as save_as_sequence_file() and Spark write them: K
  /// and V are those of its table of types. Errors: a task fails where a file holds other classes,
  /// is compressed by a codec that is not read here, or damaged.
  template <class K, class V>
  Rdd<std::pair<K, V>> sequence_file(const std::string& path, int32_t min_partitions = 0,
                                     Site site = Site::current());
  /// Partition i holds values[i].first and would rather run on the hosts values[i].second. Source:
  /// Spark SparkContext.makeRDD.
  template <class T>
  Rdd<T> make_rdd(const std::vector<std::pair<T, std::vector<std::string>>>& values,
                  Site site = Site::current());
  template <class T>
  Rdd<T> empty_rdd(Site site = Site::current());
  template <class T>
  Rdd<T> union_all(const std::vector<Rdd<T>>& inputs, Site site = Site::current());

  // ---- shared variables ----

  template <class T>
  Broadcast<T> broadcast(T value);
  Accumulator<int64_t, Add> long_accumulator(const std::string& name = {});
  Accumulator<double, Add> double_accumulator(const std::string& name = {});
  Accumulator<Average, AddToAverage> average_accumulator(const std::string& name = {});
  template <class T>
  Accumulator<std::vector<T>, Append> collection_accumulator(const std::string& name = {});
  /// `merge(T& into, const U& value)` adds a T or anything else that tasks add; an empty function
  /// object.
  template <class T, class Merge>
  Accumulator<T, Merge> accumulator(T zero, Merge merge, const std::string& name = {});

  // ---- executors ----

  /// By the application's own will: so many in all. False, and a warning: nothing came of it, as in
  /// local mode. With dynamic allocation its next decision counts again. Errors:
  /// std::invalid_argument for a negative number. Source: Spark SparkContext.requestTotalExecutors,
  /// requestExecutors.
  bool request_total_executors(int32_t executors);
  /// So many more than were wanted, or are there.
  bool request_executors(int32_t more);
  /// Their tasks run elsewhere, as no fault of theirs; nothing replaces them. False: none is there.
  /// Errors: std::invalid_argument with dynamic allocation. Source: Spark
  /// SparkContext.killExecutors.
  bool kill_executors(const std::vector<ExecutorId>& executors);
  bool kill_executor(const ExecutorId& executor) { return kill_executors({executor}); }

  // ---- jobs ----

  void set_job_group(const std::string& id, const std::string& description,
                     bool interrupt_on_cancel = false);
  void clear_job_group();
  /// Whether cancelling a job of this thread interrupts its tasks.
  void set_interrupt_on_cancel(bool interrupt);
  void set_job_description(const std::string& description);
  /// Errors: std::invalid_argument when it is empty or has a comma, as with all that take one.
  void add_job_tag(const std::string& tag);
  void remove_job_tag(const std::string& tag);
  void clear_job_tags();
  std::vector<std::string> job_tags() const;
  /// nullopt removes the property.
  void set_local_property(const std::string& key, std::optional<std::string> value);
  std::optional<std::string> local_property(const std::string& key) const;
  /// All of this thread's. A thread starts with none: one that shall inherit them is given what
  /// its parent had, by set_local_properties(). Source: Spark SparkContext.getLocalProperties.
  std::map<std::string, std::string> local_properties() const;
  void set_local_properties(std::map<std::string, std::string> properties);
  /// Ships a file, or an archive (.tar, .tar.gz; `#name` says to where it is unpacked), to all
  /// executors: the tasks of later jobs find it under shipped_file(name), and fail when it cannot
  /// be had. What was added before is not shipped again; another one of its name is an error.
  /// Source: Spark SparkContext.addFile, addArchive.
  void add_file(const std::string& path);
  void add_archive(const std::string& path);
  /// As they were named: by --files and --archives, then by the calls above.
  std::vector<std::string> list_files() const;
  std::vector<std::string> list_archives() const;
  /// Those that run fail with "Job N cancelled part of cancelled job group …".
  void cancel_job_group(const std::string& group) { runtime_.cancel_job_group(group, false); }
  /// Those that come later fail too: spark.scheduler.numCancelledJobGroupsToTrack groups, the last
  /// ones, are remembered.
  void cancel_job_group_and_future_jobs(const std::string& group) {
    runtime_.cancel_job_group(group, true);
  }
  /// Errors: as add_job_tag().
  void cancel_jobs_with_tag(const std::string& tag);
  /// `job` and `stage` as listeners hear them; `reason` becomes part of JobFailed::what(). What is
  /// over, or never was, is no error.
  void cancel_job(JobId job, const std::string& reason = {}) { runtime_.cancel_job(job, reason); }
  /// Cancels the jobs that need the stage.
  void cancel_stage(StageId stage, const std::string& reason = {}) {
    runtime_.cancel_stage(stage, reason);
  }
  /// The task is tried again. A warning is logged when there is no such attempt.
  void kill_task_attempt(TaskId task, bool interrupt = true,
                         const std::string& reason = "killed via SparkContext.killTaskAttempt") {
    runtime_.kill_task_attempt(task, interrupt, reason);
  }
  /// Calls it with the events of this application, from now on, on a thread of their own.
  void add_listener(std::shared_ptr<core::Listener> listener) {
    runtime_.add_listener(std::move(listener));
  }
  void cancel_all_jobs();
  /// What runs, what ran lately, and where. Source: Spark SparkContext.statusTracker.
  const core::StatusTracker& status_tracker() const { return runtime_.status(); }
  /// Makes the outputs of `shuffle` (Rdd::shuffles()) without anyone who reads them, and waits.
  /// Jobs that read them find them there. Errors: those of run_job. Source: Spark
  /// SparkContext.submitMapStage.
  MapOutputStatistics submit_map_stage(const core::ShufflePtr& shuffle,
                                       Site site = Site::current());

  /// Jobs and Rdds that this thread makes from now on are shown as made at `site`.
  void set_call_site(const std::string& site);
  void clear_call_site();
  /// Of this process. Errors: std::invalid_argument unless it is one of Spark's names.
  void set_log_level(const std::string& level);
  /// Those that are persisted and still held by the application.
  std::map<RddId, core::StorageLevel> persistent_rdds() const;
  /// Errors: the directory cannot be made.
  void set_checkpoint_dir(const std::string& directory);
  int32_t default_parallelism() const;
  int32_t default_min_partitions() const;
  const conf::Conf& conf() const { return runtime_.conf(); }
  /// When this Context was made. Unit: milliseconds since 1970.
  int64_t start_time() const;
  const std::string& application_id() const { return runtime_.app_id().value; }
  /// Of the Spark whose words and keys these are. Source: Spark SparkContext.version.
  static std::string_view version();

  /// Addresses of custom resources that the driver has. Source: Spark SparkContext.resources.
  const ResourceAddresses& resources() const { return runtime_.resources(); }

  // ---- for operators ----

  /// What an operator says of the node that it makes.
  struct Making {
    const char* name;       // Spark's class: MapPartitionsRDD
    const char* operation;  // map
    Site site;
  };
  /// Completes a new node: id, name, call site, what follows from its ancestors; partitions as its
  /// first parent's unless it set them.
  void adopt(core::Node& node, const Making& making, std::vector<core::Dependency> dependencies);
  /// When the last one that has it is gone, and the context is not, `end` is called: on any thread,
  /// so it must not wait. Source: Spark ContextCleaner.
  std::shared_ptr<const void> at_end(std::function<void(core::Runtime&)> end) const;
  /// A shuffle of `parent` that the runtime forgets when the last Rdd that reads it is gone.
  std::shared_ptr<core::ShuffleDependency> new_shuffle(core::NodePtr parent);
  /// Runs `action` over `partitions` of `root` and waits.
  /// Errors: JobFailed; std::invalid_argument for a partition that is not there; std::logic_error
  /// inside a task.
  struct Action {
    const core::Descriptor* code;
    Bytes captured;
    core::References held;  // by those
    const char* operation;
    Site site;
  };
  void run_job(core::NodePtr root, std::vector<int32_t> partitions, Action action,
               const core::Runtime::OnResult& on_result);
  static std::vector<core::ShufflePtr> shuffles_of(const core::NodePtr& node);
  core::Runtime& runtime() { return runtime_; }
  BroadcastId new_broadcast_id() { return {next_broadcast_++}; }
  int64_t new_async_number() { return next_async_++; }
  AccumulatorId new_accumulator_id() { return {next_accumulator_++}; }
  void persist(const core::NodePtr& node, const core::StorageLevel& level);
  void unpersist(const core::NodePtr& node);
  /// Errors: std::invalid_argument for a profile that this cluster cannot have.
  void set_profile(const core::NodePtr& node, const core::ResourceProfile& profile);
  void set_label(const core::NodePtr& node, const std::string& label);
  /// With what executors hold of each persisted Rdd, as the status tracker heard.
  std::string debug_string(const core::Node& node) const;
  /// Marks `node` to be written by `write` after the next job that uses it.
  void mark_checkpoint(const core::NodePtr& node, core::CheckpointMarks::Write write);
  void mark_local_checkpoint(const core::NodePtr& node, core::CheckpointMarks::Write write);

 private:
  std::vector<std::string> files_at(const std::string& path);
  std::vector<Bytes> sequence_splits(const std::string& path, int32_t min_partitions);
  Rdd<std::pair<std::string, std::string>> whole_files(const std::string& path,
                                                       int32_t min_partitions, bool as_they_are,
                                                       const Making& making);
  core::JobRequest new_job(const char* operation, const Site& site) const;
  std::string call_site(const char* operation, const Site& site) const;
  struct State;
  void write_checkpoints(const core::Node& root);

  core::Runtime& runtime_;
  std::shared_ptr<State> state_;
  std::atomic<int32_t> next_rdd_{0};
  std::atomic<int32_t> next_shuffle_{0};
  std::atomic<int64_t> next_broadcast_{0};
  std::atomic<int64_t> next_accumulator_{0};
  std::atomic<int64_t> next_async_{0};
};

/// Path of a shipped file (--files, --archives, add_file) as the running task finds it. Source:
/// Spark SparkFiles.get.
std::string shipped_file(const std::string& name);

/// A partition count that a user gave: throws std::invalid_argument unless it is positive.
void require_positive(int32_t n, const char* message);

}  // namespace tinderbox
