// What task bodies of this process reach.
#include "core/executor/task_services.hpp"

#include <algorithm>
#include <utility>

#include "conf/keys.hpp"
#include "core/machine.hpp"
#include "core/shuffle/blocks/map_status.hpp"
#include "core/storage/block_id.hpp"
#include "net/log.hpp"

namespace tinderbox::core {
namespace {

/// Hands a map task's partitions to the store and tells their sizes as a status does.
class StoredMapOutput : public MapOutputWriter {
 public:
  StoredMapOutput(std::unique_ptr<PendingMapOutput> output, BlockManagerId self, int64_t map_id)
      : output_(std::move(output)), self_(std::move(self)), map_id_(map_id) {}

  Result<bool> append(int32_t r, std::string_view bytes) override {
    return output_->append(r, bytes);
  }
  Result<MapStatus> commit() override {
    const Result<std::vector<int64_t>> lengths = output_->commit();
    if (!lengths) return lengths.error();
    MapStatus status;
    status.location = self_;
    status.map_id = map_id_;
    status.sizes = encode_sizes(*lengths);
    status.in_memory = output_->in_memory();
    return status;
  }

 private:
  std::unique_ptr<PendingMapOutput> output_;
  const BlockManagerId self_;
  const int64_t map_id_;
};

/// The driver would end the connection. nullopt: it takes the message.
std::optional<Error> why_not_sent(const BarrierSync& sync, int64_t max_message_size) {
  constexpr int64_t kBesideTheText = 1024;
  const auto size = static_cast<int64_t>(sync.message.size());
  if (max_message_size == 0 || size + kBesideTheText <= max_message_size) return std::nullopt;
  return Error{"the message of all_gather() has " + std::to_string(size) + " bytes, too many for " +
               std::string(conf::kRpcMessageMaxSize.spec.name) + " (" +
               std::to_string(max_message_size) + " bytes)"};
}

}  // namespace

ExecutorServicesOptions executor_services_options(const conf::Conf& conf) {
  ExecutorServicesOptions options;
  options.broadcast_piece_size = conf.get(conf::kBroadcastBlockSize);
  options.ask_timeout = conf.get(conf::kRpcAskTimeout);
  options.max_message_size = conf.get(conf::kRpcMessageMaxSize);
  return options;
}

ExecutorServices::ExecutorServices(ExecutorServicesOptions options, BlockManager& blocks,
                                   BlockTransfer& transfer, DriverLink& driver)
    : options_(std::move(options)),
      blocks_(blocks),
      transfer_(transfer),
      driver_(driver),
      random_(options_.seed) {
  net::Lock lock(alarm_->mutex);
  alarm_->services = this;
}

ExecutorServices::~ExecutorServices() {
  net::Lock lock(alarm_->mutex);
  alarm_->services = nullptr;
}

// ---- questions to the driver ----------------------------------------------------------

ExecutorServices::AskPtr ExecutorServices::begin_long_ask() {
  auto ask = std::make_shared<Ask>();
  ask->id = next_ask_++;
  asks_[ask->id] = ask;
  return ask;
}

ExecutorServices::AskPtr ExecutorServices::begin_ask() {
  AskPtr ask = begin_long_ask();
  ask->may_time_out = options_.ask_timeout > Duration::zero();
  if (ask->may_time_out && !std::exchange(ticking_, true)) tick_later();
  return ask;
}

/// Of a time-out.
constexpr size_t kTicks = 8;

/// One timer for all questions: there may be thousands a second, and timers are never cancelled.
void ExecutorServices::tick_later() {
  transfer_.after(options_.ask_timeout / kTicks, [alarm = alarm_] {
    net::Lock lock(alarm->mutex);
    if (alarm->services) alarm->services->tick();
  });
}

/// Those that are older than kTicks ticks have waited for the time-out, and less than one tick
/// more.
void ExecutorServices::tick() {
  net::Lock lock(mutex_);
  ticks_.push_back(next_ask_);
  uint64_t overdue = 0;
  if (ticks_.size() > kTicks) {
    overdue = ticks_.front();
    ticks_.pop_front();
  }
  bool left = false;
  std::erase_if(asks_, [&](const auto& entry) {
    const AskPtr ask = entry.second.lock();
    if (!ask) return true;
    if (!ask->may_time_out) return false;
    ask->timed_out = ask->id < overdue;
    left = left || !ask->timed_out;
    return ask->timed_out;
  });
  changed_.notify_all();
  ticking_ = left;
  if (left) return tick_later();
  ticks_.clear();
}

void ExecutorServices::end_ask(Ask& ask) {
  ask.answered = true;
  asks_.erase(ask.id);
  changed_.notify_all();
}

const std::atomic<bool>& ExecutorServices::kill_mark() {
  static const std::atomic<bool> kNever{false};
  const TaskContext* context = TaskContext::current();
  return context ? context->kill_mark() : kNever;
}

std::optional<Error> ExecutorServices::why_not_wait() const {
  if (!stopped_.empty()) return Error{stopped_};
  if (kill_mark()) return Error{"the task was killed"};
  return std::nullopt;
}

Result<bool> ExecutorServices::wait(net::Lock& lock, const Ask& ask) {
  while (!ask.answered) {
    if (std::optional<Error> why = why_not_wait()) return *why;
    if (ask.timed_out)
      return Error{"the driver did not answer within " +
                   std::to_string(options_.ask_timeout / std::chrono::seconds(1)) + " s"};
    changed_.wait(lock);
  }
  return true;
}

void ExecutorServices::interrupt() {
  {
    net::Lock lock(mutex_);
    changed_.notify_all();
  }
  transfer_.interrupt();
  blocks_.memory().interrupt();
  block_locks().interrupt();
}

void ExecutorServices::stop(const std::string& reason) {
  {
    net::Lock lock(mutex_);
    if (stopped_.empty()) stopped_ = reason;
    changed_.notify_all();
  }
  transfer_.interrupt();
}

bool ExecutorServices::on_driver_message(const ToExecutor& message) {
  const auto answer = [this](uint64_t request, const auto& fill) {
    net::Lock lock(mutex_);
    const auto it = asks_.find(request);
    if (it == asks_.end()) return;  // nobody waits any more
    const AskPtr ask = it->second.lock();
    if (!ask) return;
    fill(*ask);
    end_ask(*ask);
  };
  bool mine = true;
  std::visit(overloaded{
                 [&](const MapOutputs& m) { on_map_outputs(m); },
                 [&](const BlockLocations& m) {
                   answer(m.request, [&](Ask& ask) { ask.locations = m.locations; });
                 },
                 [&](const CommitAnswer& m) {
                   answer(m.request, [&](Ask& ask) { ask.allowed = m.allowed; });
                 },
                 [&](const BarrierReached& m) {
                   answer(m.request, [&](Ask& ask) {
                     ask.error = m.error;
                     ask.messages = m.messages;
                   });
                 },
                 [&](const RemoveRdd& m) { blocks_.remove_rdd(m.rdd); },
                 [&](const RemoveShuffle& m) {
                   blocks_.remove_shuffle(m.shuffle);
                   transfer_.forget_shuffle(m.shuffle);
                   net::Lock lock(mutex_);
                   expected_.erase(m.shuffle);
                   const auto it = outputs_.find(m.shuffle);
                   if (it != outputs_.end() && it->second.value) outputs_.erase(it);
                 },
                 [&](const RemoveBroadcast& m) { remove_broadcast(m.broadcast); },
                 [&](const RemoveBlocks& m) {
                   for (const std::string& block : m.blocks) blocks_.remove(block);
                 },
                 [&](const auto&) { mine = false; },
             },
             message);
  return mine;
}

// ---- map outputs ----------------------------------------------------------------------

/// Whoever waits for a dropped answer asks again.
void ExecutorServices::clear_outputs(int64_t epoch) {
  epoch_ = epoch;
  for (auto& [shuffle, outputs] : outputs_)
    if (outputs.ask) end_ask(*outputs.ask);
  outputs_.clear();
}

Result<MapOutputsPtr> ExecutorServices::map_outputs(ShuffleId shuffle, int64_t epoch) {
  net::Lock lock(mutex_);
  if (epoch > epoch_) clear_outputs(epoch);
  while (true) {
    Outputs& outputs = outputs_[shuffle];
    if (outputs.value) return outputs.value;
    if (!outputs.ask) {
      outputs.ask = begin_ask();
      lock.unlock();
      driver_.send(MapOutputsRequest{shuffle});
      lock.lock();
      continue;
    }
    const AskPtr ask = outputs.ask;
    if (Result<bool> answered = wait(lock, *ask); !answered) {
      const auto it = outputs_.find(shuffle);
      if (ask->timed_out && it != outputs_.end() && it->second.ask == ask) outputs_.erase(it);
      return Error{"cannot learn where the outputs of shuffle " + std::to_string(shuffle.value) +
                   " are: " + answered.error().message};
    }
  }
}

void ExecutorServices::on_map_outputs(const MapOutputs& message) {
  for (const auto& [executor, directories] : message.local_dirs)
    transfer_.set_local_dirs(ExecutorId{executor}, directories);
  net::Lock lock(mutex_);
  AskPtr ask;
  if (const auto it = outputs_.find(message.shuffle); it != outputs_.end()) ask = it->second.ask;
  if (message.epoch > epoch_) clear_outputs(message.epoch);
  if (ask) end_ask(*ask);
  if (message.epoch == epoch_) {
    outputs_[message.shuffle].value = std::make_shared<const MapOutputs>(message);
    const auto expected = expected_.extract(message.shuffle);
    lock.unlock();
    if (expected) fetch_ahead(message, expected.mapped());
  } else if (const auto it = outputs_.find(message.shuffle);
             it != outputs_.end() && !it->second.value) {
    outputs_.erase(it);  // from before an output was lost: whoever waits asks again
  }
}

std::unique_ptr<MapOutputWriter> ExecutorServices::map_output(ShuffleId shuffle, int64_t map_id,
                                                              int32_t, int32_t num_reduces) {
  return std::make_unique<StoredMapOutput>(blocks_.map_outputs().open(shuffle, map_id, num_reduces),
                                           options_.self, map_id);
}

// ---- blocks ---------------------------------------------------------------------------

std::unique_ptr<BlockStream> ExecutorServices::fetch(std::vector<BlockWant> wants,
                                                     const std::atomic<bool>& killed) {
  return transfer_.fetch(std::move(wants), killed);
}

Result<Payload> ExecutorServices::fetch_one(const BlockManagerId& from, const std::string& block) {
  const std::unique_ptr<BlockStream> stream =
      transfer_.fetch({{.from = from, .block = block}}, kill_mark());
  std::optional<FetchedBlock> fetched = stream->next();
  return std::move(fetched->bytes);
}

Result<ExecutorServices::Locations> ExecutorServices::ask_locations(
    std::vector<std::string> blocks) {
  const size_t count = blocks.size();
  net::Lock lock(mutex_);
  const AskPtr ask = begin_ask();
  lock.unlock();
  driver_.send(BlockLocationsRequest{ask->id, std::move(blocks)});
  lock.lock();
  const Result<bool> answered = wait(lock, *ask);
  asks_.erase(ask->id);
  if (!answered) return answered.error();
  ask->locations.resize(count);
  return std::move(ask->locations);
}

/// Same host first, otherwise in random order; never this process itself.
std::vector<BlockManagerId> ExecutorServices::in_trying_order(std::vector<BlockManagerId> from,
                                                              bool driver_too) {
  std::erase_if(from, [&](const BlockManagerId& id) {
    return id.executor == options_.self.executor || id.executor == options_.driver.executor;
  });
  if (driver_too) from.push_back(options_.driver);
  {
    net::Lock lock(mutex_);
    std::shuffle(from.begin(), from.end(), random_);
  }
  std::stable_partition(from.begin(), from.end(),
                        [&](const BlockManagerId& id) { return id.host == options_.self.host; });
  return from;
}

std::optional<Payload> ExecutorServices::get_block(const std::string& block) {
  if (std::optional<Payload> own = blocks_.get(block)) return own;
  const ExecutorId& driver = options_.driver.executor;
  if (driver.value.empty() || driver == options_.self.executor) return std::nullopt;
  Result<Locations> locations = ask_locations({block});
  if (!locations) return std::nullopt;
  for (const BlockManagerId& from : in_trying_order(std::move((*locations)[0]), false)) {
    Result<Payload> bytes = fetch_one(from, block);
    if (bytes) return std::move(*bytes);
    net::log(net::Level::Warn, "BlockManager",
             block + " of executor " + from.executor.value + ": " + bytes.error().message);
  }
  return std::nullopt;
}

bool ExecutorServices::put_block(const std::string& block, const StorageLevel& level,
                                 Payload bytes) {
  const std::optional<BlockId> id = parse_block_id(block);
  const bool tell_driver = id && id->kind == BlockId::Kind::Rdd;
  return blocks_.put(block, level, std::move(bytes), tell_driver);
}

// ---- the rest -------------------------------------------------------------------------

bool ExecutorServices::may_commit(AskPermissionToCommit question) {
  net::Lock lock(mutex_);
  const AskPtr ask = begin_ask();
  question.request = ask->id;
  lock.unlock();
  driver_.send(question);
  lock.lock();
  const Result<bool> answered = wait(lock, *ask);
  asks_.erase(ask->id);
  return answered && ask->allowed;
}

Result<std::vector<std::string>> ExecutorServices::barrier_sync(BarrierSync sync) {
  if (std::optional<Error> why = why_not_sent(sync, options_.max_message_size)) return *why;
  net::Lock lock(mutex_);
  const AskPtr ask = begin_long_ask();
  sync.request = ask->id;
  lock.unlock();
  driver_.send(std::move(sync));
  lock.lock();
  const Result<bool> answered = wait(lock, *ask);
  asks_.erase(ask->id);
  if (!answered) return answered.error();
  if (!ask->error.empty()) return Error{ask->error};
  return std::move(ask->messages);
}

Result<std::string> ExecutorServices::temp_directory() {
  const std::vector<std::string>& directories = blocks_.local_dirs();
  std::string chosen;
  {
    net::Lock lock(mutex_);
    chosen = directories[next_directory_++ % directories.size()] + "/temp";
  }
  if (Result<bool> made = blocks_.files().make_directories(chosen); !made) return made.error();
  return chosen;
}

std::optional<std::string> ExecutorServices::property(const std::string& key) const {
  const auto it = options_.properties.find(key);
  if (it == options_.properties.end()) return std::nullopt;
  return it->second;
}

}  // namespace tinderbox::core
