// Runs jobs in this process, stage after stage, every task through the wire form of its program.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conf/conf.hpp"
#include "core/api/runtime/runtime.hpp"
#include "core/plan/program.hpp"
#include "core/scheduler/dag/checkpoints.hpp"
#include "core/status/status_listener.hpp"
#include "core/storage/stores/memory_pool.hpp"
#include "net/files/files.hpp"
#include "net/mutex.hpp"
#include "net/wire/task_messages.hpp"

namespace tinderbox::tests {

/// What one run of LocalRuntime does differently, to make things fail.
struct Faults {
  std::set<std::string> missing_blocks;  // fetches of these fail
  std::set<std::string> torn_blocks;     // one byte of these is wrong
  bool deny_commits = false;
};

/// The services of one executor: blocks, shuffle outputs and broadcast values in memory.
class LocalServices final : public core::TaskServices {
 public:
  explicit LocalServices(conf::Conf conf);
  ~LocalServices() override;
  Result<core::MapOutputsPtr> map_outputs(ShuffleId shuffle, int64_t epoch) override;
  std::unique_ptr<core::BlockStream> fetch(std::vector<core::BlockWant> wants,
                                           const std::atomic<bool>& killed) override;
  std::unique_ptr<core::MapOutputWriter> map_output(ShuffleId shuffle, int64_t map_id,
                                                    int32_t map_index,
                                                    int32_t num_reduces) override;
  std::optional<Payload> get_block(const std::string& block) override;
  bool put_block(const std::string& block, const core::StorageLevel& level, Payload bytes) override;
  Result<Payload> broadcast(BroadcastId id) override;
  bool may_commit(AskPermissionToCommit) override;
  core::MemoryPool& memory() override { return memory_; }
  Result<std::string> temp_directory() override;
  std::optional<std::string> property(const std::string& key) const override;
  net::Files& files() override { return disk ? *disk : TaskServices::files(); }

  Faults faults;
  net::Files* disk = nullptr;  // what tasks write beside the blocks; null: this machine's
  std::map<std::string, Payload> blocks;  // shuffle_S_M_R and rdd_R_P
  std::multiset<std::string> fetched;     // names that readers asked for
  std::map<BroadcastId, Payload> broadcasts;
  std::map<ShuffleId, MapOutputs> outputs;
  int broadcast_fetches = 0;
  std::string directory;
  net::Mutex mutex;  // of everything above, while tasks run

 private:
  conf::Conf conf_;
  core::MemoryPool memory_;
};

class LocalRuntime final : public core::Runtime {
 public:
  explicit LocalRuntime(int32_t threads = 2, conf::Conf conf = {});
  ~LocalRuntime() override;
  void run_job(core::JobRequest job, const OnResult& on_result) override;
  int32_t default_parallelism() const override;
  const conf::Conf& conf() const override { return conf_; }
  net::Files& files() override { return *files_; }
  void put_broadcast(BroadcastId id, Payload value) override;
  void remove_broadcast(BroadcastId id, bool keep_on_driver) override;
  void unpersist(RddId id) override;
  void forget_shuffle(ShuffleId id) override;
  void checkpointed(const core::NodePtr& rdd) override;
  void forget_accumulator(AccumulatorId id, const std::string&) override {
    forgotten_accumulators.push_back(id);
  }
  void register_accumulator(AccumulatorId id, const std::string& name, MergeAccumulator merge,
                            ShowAccumulator show) override;
  void cancel_job_group(const std::string&, bool) override {}
  void cancel_jobs_with_tag(const std::string&) override {}
  void cancel_job(JobId, const std::string&) override {}
  void cancel_stage(StageId, const std::string&) override {}
  void kill_task_attempt(TaskId, bool, const std::string&) override {}
  void cancel_all_jobs() override {}
  bool request_executors(int32_t, bool) override { return false; }
  bool kill_executors(const std::vector<ExecutorId>&) override { return false; }
  void add_file(const std::string&, bool) override {}
  void add_listener(std::shared_ptr<core::Listener>) override {}
  const core::StatusTracker& status() const override { return status_; }
  void hear(std::vector<core::ListenerEvent> events) { status_.on_events(events); }
  const AppId& app_id() const override { return app_id_; }
  const ResourceAddresses& resources() const override { return resources_; }

  LocalServices services;
  int jobs = 0;    // that had partitions to run
  int stages = 0;  // run so far; a shuffle that is there already is not run again
  int tasks = 0;
  std::vector<ShuffleId> forgotten;
  std::vector<AccumulatorId> forgotten_accumulators;
  std::map<std::string, std::string> last_properties;
  core::Determinism last_determinism{};  // of what the last job computed
  TaskMetrics last_metrics;              // sum over the last stage; memory: the most

 private:
  struct Stage;
  void make_parents(const core::Node& root);
  void run_shuffle(const core::ShuffleDependency& shuffle);
  Payload statistics(const core::ShuffleDependency& shuffle) const;
  void run_stage(const Stage& stage);

  int32_t threads_;
  conf::Conf conf_;
  std::unique_ptr<net::Files> files_;
  core::Checkpoints checkpoints_;
  std::map<AccumulatorId, MergeAccumulator> accumulators_;
  int64_t next_task_ = 0;
  AppId app_id_{"local-1"};
  core::StatusListener status_{0, 0};
  ResourceAddresses resources_;
};

}  // namespace tinderbox::tests
