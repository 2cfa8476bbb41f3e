// What runs on an executor: registered code, one task attempt's context, and the port through which
// task bodies reach their executor.
#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/lineage/lineage.hpp"
#include "core/plan/lineage/reads.hpp"
#include "core/plan/tasks/block_locks.hpp"
#include "net/files/files.hpp"
#include "net/types.hpp"
#include "net/wire/heap_optional.hpp"
#include "net/wire/resources.hpp"
#include "net/wire/task_values.hpp"

namespace tinderbox {
struct AskPermissionToCommit;
struct BarrierSync;
struct MapOutputs;
}  // namespace tinderbox

namespace tinderbox::core {

/// A map task's output: its id, and its map's index in the stage.
struct MapOutputOf {
  int64_t map_id = -1;
  int32_t map_index = -1;
};
/// A block that a task wants, and where it lies. `size`: estimate, for bounding bytes in flight.
struct BlockWant {
  BlockManagerId from;
  std::string block;
  int64_t size = 0;
  MapOutputOf output = {};
  bool in_memory = false;  // of its holder, who is asked; else its files are looked for first
  std::vector<MapOutputOf> group = {};  // whose parts it has, in order, when it has several
};

/// One fetched block: `index` is its position in what was asked for. An error names `want[index]`.
struct FetchedBlock {
  size_t index = 0;
  Result<Payload> bytes;
  bool local = false;  // of this process, or read from a file of this host
};

/// Blocks in order of arrival. Thread: one task's.
class BlockStream {
 public:
  virtual ~BlockStream() = default;
  /// Waits for the next block; nullopt after the last one. A killed task gets an error.
  virtual std::optional<FetchedBlock> next() = 0;
};

/// A map task's output on its way to the store: partitions in ascending order.
/// Thread: one task's.
class MapOutputWriter {
 public:
  virtual ~MapOutputWriter() = default;
  /// More bytes of reduce partition r; empty partitions may be left out.
  virtual Result<bool> append(int32_t r, std::string_view bytes) = 0;
  /// Makes the output visible as a whole, or not at all. Adopts an earlier valid commit of the same
  /// map id.
  virtual Result<MapStatus> commit() = 0;
};

/// All statuses of a shuffle as the driver told them. Shape: statuses[i] is map i's; null: missing.
using MapOutputsPtr = std::shared_ptr<const MapOutputs>;

/// Decoded objects that the tasks of one executor share (values of broadcast variables).
/// Thread: any. While one task makes an object, others that want it wait for it.
class SharedObjects {
 public:
  using Object = std::shared_ptr<const void>;
  template <class Make>
  Object get_or_make(BroadcastId id, Make&& make) {
    std::shared_ptr<Entry> entry;
    {
      std::lock_guard lock(mutex_);
      auto& slot = entries_[id];
      if (!slot) slot = std::make_shared<Entry>();
      entry = slot;
    }
    std::lock_guard lock(entry->mutex);
    if (!entry->object) entry->object = make();
    return entry->object;
  }
  /// The executor calls this when the driver removes the broadcast variable.
  void erase(BroadcastId id) {
    std::lock_guard lock(mutex_);
    entries_.erase(id);
  }

 private:
  struct Entry {
    std::mutex mutex;
    Object object;
  };
  std::mutex mutex_;
  std::map<BroadcastId, std::shared_ptr<Entry>> entries_;
};

class MemoryPool;

/// The port between a task body and its executor. Implemented by core/executor over threads and
/// sockets, by fakes in tests and the simulator. Thread: any task thread; calls may block, a kill
/// ends them.
class TaskServices {
 public:
  virtual ~TaskServices() = default;
  virtual Result<MapOutputsPtr> map_outputs(ShuffleId shuffle, int64_t epoch) = 0;
  virtual std::unique_ptr<BlockStream> fetch(std::vector<BlockWant> wants,
                                             const std::atomic<bool>& killed) = 0;
  virtual std::unique_ptr<MapOutputWriter> map_output(ShuffleId shuffle, int64_t map_id,
                                                      int32_t map_index, int32_t num_reduces) = 0;
  /// A cached block of this executor or, failing that, of a peer.
  virtual std::optional<Payload> get_block(const std::string& block) = 0;
  /// False: it did not fit anywhere that `level` allows.
  virtual bool put_block(const std::string& block, const StorageLevel& level, Payload bytes) = 0;
  /// The whole encoded value of a broadcast variable. Errors: no one has it.
  virtual Result<Payload> broadcast(BroadcastId id) = 0;
  /// Tasks of `program` that begin soon read these, in this order: what is worth it is fetched
  /// ahead. What can't be had is no error until a task asks for it.
  virtual void expect(int64_t program, const std::vector<ShuffleRead>& reads);
  /// Source: Spark OutputCommitCoordinator.canCommit.
  virtual bool may_commit(AskPermissionToCommit ask) = 0;
  /// Waits until all tasks of the barrier stage have asked; what each of them said, by partition.
  /// Errors: they did not meet, or this process runs no barrier stages.
  virtual Result<std::vector<std::string>> barrier_sync(BarrierSync sync);
  /// What all tasks of this process and its cached blocks share.
  virtual MemoryPool& memory() = 0;
  /// A directory of this executor for temporary files, chosen in turn.
  virtual Result<std::string> temp_directory() = 0;
  /// A setting of the application (spark.* or tinderbox.*) as the driver resolved it.
  virtual std::optional<std::string> property(const std::string& key) const = 0;
  /// Whose services these are: tells local reads from remote ones in the metrics.
  virtual ExecutorId executor_id() const { return {}; }
  /// Files that tasks read and write beside the stores; this machine's unless a simulator says
  /// otherwise.
  virtual net::Files& files();
  SharedObjects& shared_objects() { return shared_objects_; }
  BlockLocks& block_locks() { return block_locks_; }

 private:
  SharedObjects shared_objects_;
  BlockLocks block_locks_;
};

/// The bytes of the source partitions that one task reads; views into what came with its launch.
struct TaskInputs {
  struct Entry {
    RddId node;
    int32_t partition = 0;
    std::string_view bytes;
  };
  std::vector<Entry> entries;
  /// Empty: the partition has no bytes.
  std::string_view find(RddId node, int32_t partition) const;
};

/// What a task has added to one accumulator so far.
class PendingAccumulator {
 public:
  virtual ~PendingAccumulator() = default;
  virtual Bytes encode() const = 0;
};

/// The property that tells a task where shipped files lie.
inline constexpr const char* kFilesRoot = "tinderbox.files.root";

/// The property that tells a task of a barrier stage where all of them run: host:port of their
/// executors by partition, with commas between them. Source: Spark BarrierTaskContext.getTaskInfos.
inline constexpr const char* kBarrierAddresses = "addresses";

/// One attempt at one partition of a stage. Source: Spark TaskContext.
/// Thread: the task's, but for `killed`. A thread that it has run a part of it gets a context of
/// its own by beside(), which join() adds to this one when that thread has ended.
struct TaskContext {
  TaskId id;
  StageId stage;
  int32_t stage_attempt = 0;
  int32_t partition = 0;
  int32_t num_partitions = 0;
  int32_t index = 0;
  int32_t attempt = 0;
  int64_t epoch = 0;
  int32_t barrier_epoch = 0;                         // how often it has passed a barrier
  int32_t cpus = 1;                                  // cores that are its own
  std::atomic<int32_t> temp_files{0};                // that it has named so far
  TaskContext* whole = nullptr;                      // of beside(): the task's own
  const ResourceAddresses* own_resources = nullptr;  // null: none
  const std::map<std::string, std::string>* properties = nullptr;
  TaskServices* services = nullptr;
  std::atomic<bool> killed{false};
  // For heartbeats, which another thread sends: when it began (0: not yet), and records read as of
  // the last batch.
  std::atomic<int64_t> started{0};
  mutable std::atomic<int64_t> records_read{0};
  TaskMetrics metrics;
  std::vector<AccumulatorUpdate> accumulators;  // filled by Program::run when the task succeeds
  std::vector<std::pair<AccumulatorId, std::unique_ptr<PendingAccumulator>>> pending_accumulators;
  const TaskInputs* inputs = nullptr;  // set by Program::run
  std::optional<TaskEndReason>
      fetch_failure;           // remembered even if user code swallows the exception
  std::exception_ptr failure;  // likewise: the first that came to note_failure()
  /// Addresses of custom resources that this task has to itself, or shares with as many tasks as
  /// its share of one allows. Source: Spark TaskContext.resources.
  const ResourceAddresses& resources() const;
  /// The context of the task that runs on this thread; null outside tasks (so also on the driver).
  static TaskContext* current();
  static void set_current(TaskContext* context);
  /// Says that the task was killed; one for all its threads, as those that wait are woken to look.
  const std::atomic<bool>& kill_mark() const { return whole ? whole->kill_mark() : killed; }
  std::unique_ptr<TaskContext> beside();
  void join(TaskContext& part);
  /// Another one each time, for all threads of the task.
  int32_t next_temp_file() { return whole ? whole->next_temp_file() : temp_files++; }
  /// Null: nothing was added yet.
  PendingAccumulator* pending(AccumulatorId id) const;
};

/// Makes a context the one of this thread while it lives.
class CurrentContext {
 public:
  explicit CurrentContext(TaskContext* context) : outer_(TaskContext::current()) {
    TaskContext::set_current(context);
  }
  ~CurrentContext() { TaskContext::set_current(outer_); }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  TaskContext* outer_;
};

/// Whether the task that runs on this thread, if one does, was killed.
bool this_task_is_killed();
/// What is being handled crosses code of the user: the task that runs on this thread fails by it,
/// whatever that code does.
void note_failure();

/// Thrown inside a task when it was killed; not for user code to catch.
struct TaskKilledException {
  std::string reason;
};
/// Thrown by a shuffle reader; carries what the driver needs to recompute the output.
struct FetchFailedException {
  TaskEndReason reason;
};

/// Thrown when the driver does not let this attempt commit its output: another attempt may.
/// Source: Spark CommitDeniedException; the task ends as TaskCommitDenied and does not count as
/// failed.
struct CommitDeniedException {
  StageId stage;
  int32_t partition = 0;
  int32_t attempt = 0;
};

/// Thrown when trying the task again would not help: its job fails at the first attempt. Source:
/// Spark TaskOutputFileAlreadyExistException.
struct FileAlreadyExistsException : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// As above: a value that was to travel can't be encoded. What was being handled is its cause.
/// Source: java.io.NotSerializableException.
struct NotSerializableException : std::runtime_error, std::nested_exception {
  using std::runtime_error::runtime_error;
};

/// What a task attempt leaves behind when it succeeds.
struct TaskOutput {
  Payload result;                      // result task
  HeapOptional<MapStatus> map_status;  // shuffle map task
};

/// A stage's last step: consumes partition p of `root` and makes the task's output.
class Terminal {
 public:
  virtual ~Terminal() = default;
  virtual TaskOutput run(const Node& root, int32_t partition, TaskContext& context) const = 0;
};

/// Registered code that a wire offset may name: rebuilds a node from what it captured and its
/// parents, a terminal operation, or a user's partition function. Exactly one of them is set.
struct Descriptor {
  std::shared_ptr<Node> (*node)(RddId id, std::string_view captured,
                                std::vector<Dependency> parents) = nullptr;
  std::unique_ptr<Terminal> (*terminal)(std::string_view captured) = nullptr;
  int32_t (*partition)(std::string_view captured, const void* key) = nullptr;
};
/// Called by static initialisers, before main.
bool register_descriptor(const Descriptor* descriptor);
/// Offset from the image base; the same file has the same offsets in every process.
uint64_t descriptor_offset(const Descriptor* descriptor);
/// Null: no registered code has that offset.
const Descriptor* find_descriptor(uint64_t offset);

}  // namespace tinderbox::core
