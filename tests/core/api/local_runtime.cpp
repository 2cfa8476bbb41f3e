#include "tests/core/api/local_runtime.hpp"

#include <stdlib.h>

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

#include "conf/keys.hpp"
#include "core/plan/bytes.hpp"
#include "core/shuffle/blocks/map_status.hpp"
#include "core/storage/block_id.hpp"

namespace tinderbox::tests {
namespace {

const BlockManagerId kHere{{"0"}, "localhost", "localhost:1"};

class LocalOutput final : public core::MapOutputWriter {
 public:
  LocalOutput(LocalServices& services, ShuffleId shuffle, int64_t map, int32_t reduces)
      : services_(services), shuffle_(shuffle), map_(map), sizes_(static_cast<size_t>(reduces)) {}
  Result<bool> append(int32_t r, std::string_view bytes) override {
    if (r < last_) return Error{"partitions must ascend"};
    last_ = r;
    Payload& part = parts_[core::shuffle_block(shuffle_, map_, r)];
    part = Payload(Bytes(part.view()) + Bytes(bytes));
    sizes_[static_cast<size_t>(r)] += static_cast<int64_t>(bytes.size());
    return true;
  }
  Result<MapStatus> commit() override {
    net::Lock lock(services_.mutex);
    for (auto& [name, bytes] : parts_) services_.blocks[name] = std::move(bytes);
    return MapStatus{kHere, map_, core::encode_sizes(sizes_), 0};
  }

 private:
  LocalServices& services_;
  ShuffleId shuffle_;
  int64_t map_;
  int32_t last_ = -1;
  std::map<std::string, Payload> parts_;
  std::vector<int64_t> sizes_;
};

class LocalStream final : public core::BlockStream {
 public:
  LocalStream(LocalServices& services, std::vector<core::BlockWant> wants)
      : services_(services), wants_(std::move(wants)) {}
  // Backwards, because the order of arrival is nobody's to rely on.
  std::optional<core::FetchedBlock> next() override {
    if (done_ == wants_.size()) return std::nullopt;
    const size_t index = wants_.size() - 1 - done_++;
    const std::string& name = wants_[index].block;
    net::Lock lock(services_.mutex);
    services_.fetched.insert(name);
    std::optional<Payload> found = find(name);
    if (!found || services_.faults.missing_blocks.contains(name)) {
      return core::FetchedBlock{index, Error{"no block " + name}};
    }
    if (!services_.faults.torn_blocks.contains(name))
      return core::FetchedBlock{index, std::move(*found)};
    Bytes torn(found->view());
    torn.back() ^= 1;
    return core::FetchedBlock{index, Payload(std::move(torn))};
  }

 private:
  std::optional<Payload> find(const std::string& name) REQUIRES(services_.mutex) {
    const auto whole = services_.blocks.find(name);
    if (whole != services_.blocks.end()) return whole->second;
    const std::optional<core::BlockId> id = core::parse_block_id(name);
    if (!id || id->kind != core::BlockId::Kind::ShuffleRange) return std::nullopt;
    Bytes joined;
    for (int32_t r = id->part; r < id->part_end; ++r) {
      const auto part = services_.blocks.find(core::shuffle_block({id->owner}, id->number, r));
      if (part != services_.blocks.end()) joined += part->second.view();
    }
    return Payload(std::move(joined));
  }
  LocalServices& services_;
  std::vector<core::BlockWant> wants_;
  size_t done_ = 0;
};

void add(TaskMetrics& sum, const TaskMetrics& more) {
  sum.input_bytes += more.input_bytes;
  sum.input_records += more.input_records;
  sum.output_records += more.output_records;
  sum.shuffle_read_records += more.shuffle_read_records;
  sum.shuffle_read_local_bytes += more.shuffle_read_local_bytes;
  sum.shuffle_read_remote_bytes += more.shuffle_read_remote_bytes;
  sum.shuffle_write_records += more.shuffle_write_records;
  sum.shuffle_write_bytes += more.shuffle_write_bytes;
  sum.memory_spilled += more.memory_spilled;
  sum.disk_spilled += more.disk_spilled;
  sum.peak_memory = std::max(sum.peak_memory, more.peak_memory);
}

}  // namespace

LocalServices::LocalServices(conf::Conf conf)
    : conf_(std::move(conf)),
      memory_(static_cast<int64_t>(static_cast<double>(conf_.get(conf::kExecutorMemory)) *
                                   conf_.get(conf::kMemoryFraction)),
              0) {
  char name[] = "/tmp/tinderbox-test-XXXXXX";
  directory = mkdtemp(name);
}

LocalServices::~LocalServices() { (void)TaskServices::files().remove_tree(directory); }

Result<core::MapOutputsPtr> LocalServices::map_outputs(ShuffleId shuffle, int64_t) {
  net::Lock lock(mutex);
  const auto found = outputs.find(shuffle);
  if (found == outputs.end()) return Error{"unknown shuffle"};
  return core::MapOutputsPtr(std::make_shared<MapOutputs>(found->second));
}

std::unique_ptr<core::BlockStream> LocalServices::fetch(std::vector<core::BlockWant> wants,
                                                        const std::atomic<bool>&) {
  return std::make_unique<LocalStream>(*this, std::move(wants));
}

std::unique_ptr<core::MapOutputWriter> LocalServices::map_output(ShuffleId shuffle, int64_t map_id,
                                                                 int32_t, int32_t num_reduces) {
  return std::make_unique<LocalOutput>(*this, shuffle, map_id, num_reduces);
}

std::optional<Payload> LocalServices::get_block(const std::string& block) {
  net::Lock lock(mutex);
  const auto found = blocks.find(block);
  return found == blocks.end() ? std::nullopt : std::optional(found->second);
}

bool LocalServices::put_block(const std::string& block, const core::StorageLevel&, Payload bytes) {
  net::Lock lock(mutex);
  blocks[block] = std::move(bytes);
  return true;
}

Result<Payload> LocalServices::broadcast(BroadcastId id) {
  net::Lock lock(mutex);
  ++broadcast_fetches;
  const auto found = broadcasts.find(id);
  if (found == broadcasts.end())
    return Error{"Failed to get broadcast_" + std::to_string(id.value) + ": no one has it"};
  return found->second;
}

bool LocalServices::may_commit(AskPermissionToCommit) { return !faults.deny_commits; }
Result<std::string> LocalServices::temp_directory() { return directory; }
std::optional<std::string> LocalServices::property(const std::string& key) const {
  return conf_.find(key);
}

struct LocalRuntime::Stage {
  const core::Node& root;
  std::vector<int32_t> partitions;
  const core::Descriptor* terminal;
  std::string_view captured;
  std::function<void(size_t position, core::TaskOutput)> on_output;  // on the user's thread
};

LocalRuntime::LocalRuntime(int32_t threads, conf::Conf conf)
    : services(conf), threads_(threads), conf_(std::move(conf)), files_(net::make_real_files()) {}
LocalRuntime::~LocalRuntime() = default;

int32_t LocalRuntime::default_parallelism() const {
  return conf_.get(conf::kDefaultParallelism).value_or(threads_);
}

void LocalRuntime::run_job(core::JobRequest job, const OnResult& on_result) {
  ++jobs;
  last_properties = job.properties;
  if (job.map_stage) {
    run_shuffle(*checkpoints_.rewire(job.map_stage));
    return on_result(0, statistics(*job.map_stage));
  }
  const core::NodePtr root = checkpoints_.rewire(job.root);
  last_determinism = root->determinism;
  make_parents(*root);
  run_stage({*root, job.partitions, job.action, job.action_captured,
             [&](size_t position, core::TaskOutput output) {
               on_result(static_cast<int32_t>(position), std::move(output.result));
             }});
}

Payload LocalRuntime::statistics(const core::ShuffleDependency& shuffle) const {
  Bytes bytes;
  Encoder out(bytes);
  for (int32_t r = 0; r < shuffle.num_reduces; ++r) {
    int64_t sum = 0;
    for (const auto& status : services.outputs.at(shuffle.id).statuses)
      sum += core::size_for(status->sizes, r);
    out.scalar(sum);
  }
  return Payload(std::move(bytes));
}

void LocalRuntime::make_parents(const core::Node& root) {
  std::set<const core::Node*> seen{&root};
  std::vector<const core::Node*> todo{&root};
  while (!todo.empty()) {
    const core::Node* node = todo.back();
    todo.pop_back();
    for (const auto& d : node->dependencies) {
      if (const auto* shuffle = std::get_if<core::ShufflePtr>(&d))
        run_shuffle(**shuffle);
      else if (const auto* parent = std::get<core::NarrowDependency>(d).parent.get();
               seen.insert(parent).second) {
        todo.push_back(parent);
      }
    }
  }
}

void LocalRuntime::run_shuffle(const core::ShuffleDependency& shuffle) {
  if (services.outputs.contains(shuffle.id)) return;
  make_parents(*shuffle.parent);
  MapOutputs outputs{shuffle.id, 1, {}, {}};
  outputs.statuses.resize(static_cast<size_t>(shuffle.parent->num_partitions));
  std::vector<int32_t> all;
  for (int32_t p = 0; p < shuffle.parent->num_partitions; ++p) all.push_back(p);
  run_stage({*shuffle.parent, all, shuffle.writer, shuffle.writer_captured,
             [&](size_t position, core::TaskOutput output) {
               outputs.statuses[position] = *output.map_status;
             }});
  services.outputs[shuffle.id] = std::move(outputs);
}

void LocalRuntime::run_stage(const Stage& stage) {
  ++stages;
  last_metrics = {};
  const StageId id{stages};
  const Bytes program = core::encode_program(stage.root, stage.terminal, stage.captured);
  std::atomic<size_t> next{0};
  std::vector<core::TaskOutput> outputs(stage.partitions.size());
  std::vector<std::unique_ptr<core::TaskContext>> contexts(stage.partitions.size());
  std::vector<std::exception_ptr> errors(stage.partitions.size());
  auto work = [&] {
    auto decoded = core::Program::decode(program);
    for (size_t i = next++; i < stage.partitions.size(); i = next++) {
      contexts[i] = std::make_unique<core::TaskContext>();
      core::TaskContext& context = *contexts[i];
      context.id = {next_task_ + static_cast<int64_t>(i)};
      context.stage = id;
      context.partition = stage.partitions[i];
      context.services = &services;
      try {
        if (!decoded) throw std::runtime_error(decoded.error().message);
        const Bytes inputs = core::encode_inputs(stage.root, stage.partitions[i]);
        outputs[i] = (*decoded)->run(stage.partitions[i], inputs, context);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  for (int32_t t = 1; t < threads_; ++t) others.emplace_back(work);
  work();
  for (auto& thread : others) thread.join();
  next_task_ += static_cast<int64_t>(stage.partitions.size());
  tasks += static_cast<int>(stage.partitions.size());
  for (const auto& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      throw JobFailed(std::string("Job aborted due to stage failure: ") + e.what());
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    add(last_metrics, contexts[i]->metrics);
    for (const auto& update : contexts[i]->accumulators) accumulators_.at(update.id)(update.value);
    stage.on_output(i, std::move(outputs[i]));
  }
}

void LocalRuntime::put_broadcast(BroadcastId id, Payload value) {
  services.broadcasts[id] = std::move(value);
}
void LocalRuntime::remove_broadcast(BroadcastId id, bool keep_on_driver) {
  services.shared_objects().erase(id);
  if (!keep_on_driver) services.broadcasts.erase(id);
}
void LocalRuntime::unpersist(RddId id) {
  std::erase_if(services.blocks, [&](const auto& block) {
    return block.first.starts_with("rdd_" + std::to_string(id.value) + "_");
  });
}
void LocalRuntime::forget_shuffle(ShuffleId id) {
  forgotten.push_back(id);
  services.outputs.erase(id);
}
void LocalRuntime::checkpointed(const core::NodePtr& rdd) {
  checkpoints_.done(rdd, JobId{});
  checkpoints_.cut_unread({});
}
void LocalRuntime::register_accumulator(AccumulatorId id, const std::string&,
                                        MergeAccumulator merge, ShowAccumulator) {
  accumulators_[id] = std::move(merge);
}

}  // namespace tinderbox::tests
