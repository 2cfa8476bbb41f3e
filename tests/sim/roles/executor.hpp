// A simulated executor: the real Executor, BlockServer and BlockClient machines in their real
// shells; only its threads, stores and task bodies are the simulator's.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/executor/executor.hpp"
#include "core/shell.hpp"
#include "core/storage/block_id.hpp"
#include "core/storage/transfer/block_client.hpp"
#include "core/storage/transfer/block_server.hpp"
#include "core/storage/transfer/block_taker.hpp"
#include "tests/sim/roles/surroundings.hpp"

namespace tinderbox::sim {

core::BlockClientOptions client_options(const Settings& settings, const AppId& app, uint64_t seed);
/// What the driver is told of a cached block.
inline BlockUpdate in_memory(const std::string& block, const Payload& bytes) {
  return {block, true, false, static_cast<int64_t>(bytes.size()), 0, true, false};
}

/// What whoever starts an executor gives it.
struct ExecutorHas {
  int32_t profile = 0;
  ResourceAddresses resources;
};

class SimExecutor {
 public:
  /// Called once, when the process is gone.
  using OnExit = std::function<void(int code, const std::string& reason)>;
  SimExecutor(Surroundings in, AppId app, std::string id, const std::string& host,
              PeerId first_peer, bool build_fails, ExecutorHas has, OnExit on_exit);
  void start() { shell_.feed(core::StartExecutor{}); }

  // ---- faults ----
  /// The process ends now. `silent`: its machine does.
  void die(int code, bool silent, const std::string& reason);
  /// False: there were none.
  bool lose_files(Random& random);
  bool lose_blocks();
  void lose_results(Duration length) { results_lost_until_ = in_.world.now() + length; }
  void fill_disk(Duration length) { disk_full_until_ = in_.world.now() + length; }
  void decommission() { shell_.feed(core::DecommissionSignalled{}); }
  void make_tasks_throw(Duration length) { throwing_until_ = in_.world.now() + length; }

  const std::string& id() const { return id_; }
  const AppId& app() const { return app_; }
  /// It was started for the application as it runs now.
  bool current() const { return run_ == in_.application.number; }
  const ProcessPtr& process() const { return process_; }
  bool alive() const { return process_->alive; }
  bool runs_anything() const { return !running_.empty() || !queue_.empty(); }
  std::vector<TaskId> running_tasks() const;
  /// Their numbers, for people.
  std::string programs() const {
    std::string text;
    for (const auto& [number, program] : programs_) text += " " + std::to_string(number);
    return text;
  }
  Stored stored() const { return {ExecutorId{id_}, store_, lost_}; }

  // ---- effects: the host of four shells ----
  void apply(const core::BuildServices& e);
  void apply(const core::KeepProgram& e);
  void apply(const core::DropProgram& e) { programs_.erase(e.program); }
  void apply(const core::StartTasks& e);
  void apply(const core::StopTask& e);
  void apply(const core::TakeBack& e);
  void apply(const core::ForServices& e);
  void apply(const core::MeasureAndBeat&);
  void apply(const core::Exit& e) { die(e.code, false, e.reason); }
  void apply(const core::ReadBlock& e);
  void apply(const core::DeliverBlock& e);
  void apply(const core::KeepChunk&) {}  // its blocks are not too large for memory
  void apply(const core::ReadBack&) {}
  void apply(const core::DropFile&) {}
  void apply(const core::FetchPart& e);
  void apply(const core::KeepBlock& e);
  void apply(const core::KeepPartitions& e);
  void apply(const BlockTaken& e);

 private:
  struct Program {
    core::NodePtr root;
    core::ShufflePtr shuffle;  // null: a result stage
    uint64_t ticket = 0;
    bool commits = false, large = false;
    int32_t poison = -1;
  };
  struct Task {
    TaskLaunch launch;
    StageId stage;
    int32_t stage_attempt = 0;
    int32_t run = 0;  // of the application, by which it was launched
    int64_t epoch = 0;
    int32_t cpus = 1;
    ResourceAddresses addresses;
    std::shared_ptr<const Program> program;
    bool reported = false, killed = false, finishing = false, may_commit = false;
    int32_t met = 0;     // barriers passed
    bool meets = false;  // waits at one
    std::string kill_reason;
    std::map<Place, uint64_t> values, reads;
    std::set<Place> asked, asked_cache, nowhere;  // blocks that nobody has
    HeapOptional<TaskEndReason> failure;
    Made made;  // of what, where that matters
  };
  /// Pieces of one reduce partition, or one cached block, on their way to a task.
  struct Read {
    TaskId task;
    Place place;
    ShuffleId shuffle;  // negative: a cached block
    std::map<int32_t, uint64_t> pieces;
    std::vector<core::WantedBlock> wants;
    std::vector<MapStatus> from;
    std::vector<BlockManagerId> holders;
    size_t missing = 0;
  };
  struct Outputs {
    std::shared_ptr<const MapOutputs> value;
    bool asked = false;
    uint64_t ask = 0;
    std::vector<std::pair<TaskId, Place>> waiting;
  };

  // fetching.cpp: map outputs and blocks
  void on_map_outputs(const MapOutputs& message);
  void on_locations(const BlockLocations& message);
  void on_commit_answer(const CommitAnswer& message);
  void clear_outputs(int64_t epoch);
  void ask_outputs(ShuffleId shuffle);
  void want_outputs(Task& task, Place place);
  void outputs_failed(ShuffleId shuffle, const std::string& why);
  void read_shuffle(Task& task, Place place, const MapOutputs& outputs);
  void read_cached(Task& task, Place place);
  void fetch(Read read);
  void next_holder(uint64_t request, Read& read);
  static uint64_t seed_of(const Task& task, Place place);
  void store(const std::string& block, Bytes bytes, bool tell_driver);
  // taking.cpp: blocks that are taken over
  void take(const TakeBlock& what);
  bool part_came(const core::DeliverBlock& e);
  Result<bool> keep(const core::KeepPartitions& e);
  void remove_blocks(const std::vector<std::string>& blocks);
  void store_output(ShuffleId shuffle, int64_t map_id, std::vector<Bytes> pieces);
  Result<Payload> read(const std::string& block) const;
  Result<Payload> read_range(const core::BlockId& id) const;
  /// To be asked by whoever has something to write.
  bool disk_full() const {
    const bool full = in_.world.now() < disk_full_until_;
    if (full) in_.checks.reached(Fault::Kind::DiskFull);
    return full;
  }
  void after(Duration delay, std::function<void()> task) {
    in_.world.after(process_, delay, std::move(task));
  }

  // tasks.cpp: task bodies
  void fill_slots();
  void begin(Task task);
  void advance(TaskId id);
  std::optional<uint64_t> value(Task& task, const core::Node& node, int32_t partition);
  std::optional<uint64_t> cached(Task& task, const core::Node& node, Place place);
  uint64_t take_cached(Task& task, Place place, const Payload& bytes);
  void keep(const core::Node& node, Place place, uint64_t value);
  void finish(TaskId id);
  void meet(TaskId id, Task& task);
  void on_barrier(const BarrierReached& message);
  TaskUpdate outcome(Task& task);
  void tell_made(Task& task, uint64_t value);
  void write_output(Task& task, uint64_t value, TaskUpdate& update);
  void fail(Task& task, std::string class_name, std::string what);
  void end(TaskId id, TaskUpdate update);
  TaskUpdate failed(const Task& task) const;
  TaskUpdate killed(const Task& task) const;
  void ring(TaskUpdate update);
  void flush();
  void report_running_later();
  size_t slots() const;
  void check_load() const;

  Surroundings in_;
  const AppId app_;
  const int32_t run_;
  const std::string id_, host_, block_address_;
  const ProcessPtr process_;
  const bool build_fails_;
  const ExecutorHas has_;
  const OnExit on_exit_;
  SimLoop loop_;
  SimEndpoint control_, blocks_;
  core::Switchboard control_board_, block_board_;
  core::ExecutorMachine machine_;
  core::BlockServer server_;
  core::BlockClient client_;
  core::BlockTaker taker_;
  core::Shell<core::ExecutorMachine, SimExecutor> shell_;
  core::Shell<core::BlockServer, SimExecutor> serving_;
  core::Shell<core::BlockClient, SimExecutor> fetching_;
  core::Shell<core::BlockTaker, SimExecutor> taking_;

  int32_t slots_ = 1;
  Time disk_full_until_{}, throwing_until_{}, results_lost_until_{};
  std::map<std::string, Payload> store_;
  std::set<std::string> lost_;  // files
  std::map<int64_t, std::shared_ptr<const Program>> programs_;
  std::deque<Task> queue_;
  std::map<TaskId, Task> running_;
  std::map<TaskId, std::string> marks_;  // kills of tasks that have not come
  std::vector<TaskUpdate> updates_;
  bool rung_ = false, reporting_ = false;
  int64_t epoch_ = 0;
  std::map<ShuffleId, Outputs> outputs_;
  std::map<uint64_t, Read> reads_;
  std::map<uint64_t, std::pair<TaskId, Place>> locating_;
  std::map<uint64_t, TaskId> committing_, meeting_;
  std::map<uint64_t, TakeBlock> takes_;
  std::map<uint64_t, uint64_t> parts_;                // fetches for one of them
  std::map<uint64_t, std::vector<Bytes>> half_kept_;  // outputs that came in part
  uint64_t next_request_ = 1;
};

}  // namespace tinderbox::sim
