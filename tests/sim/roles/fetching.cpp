// What a simulated executor's tasks read: map outputs as ExecutorServices keeps them, and blocks.
#include <algorithm>

#include "core/shuffle/blocks/map_status.hpp"
#include "tests/sim/roles/executor.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {
std::string cached_block(std::pair<int32_t, int32_t> place) {
  return "rdd_" + std::to_string(place.first) + "_" + std::to_string(place.second);
}

}  // namespace

// ---- map outputs: as ExecutorServices keeps them -----------------------------------------------

void SimExecutor::want_outputs(Task& task, Place place) {
  if (task.epoch > epoch_) clear_outputs(task.epoch);
  Outputs& outputs = outputs_[ShuffleId{place.first}];
  if (outputs.value) return read_shuffle(task, place, *outputs.value);
  outputs.waiting.emplace_back(task.launch.id, place);
  ask_outputs(ShuffleId{place.first});
}

void SimExecutor::ask_outputs(ShuffleId shuffle) {
  Outputs& outputs = outputs_[shuffle];
  if (std::exchange(outputs.asked, true)) return;
  const uint64_t ask = outputs.ask = next_request_++;
  after(in_.settings.ask_timeout, [this, shuffle, ask] {
    const auto it = outputs_.find(shuffle);
    if (it != outputs_.end() && it->second.asked && it->second.ask == ask)
      outputs_failed(shuffle, "the driver did not answer");
  });
  shell_.feed(ServiceRequest{MapOutputsRequest{shuffle}});
}

/// Whoever waits for a dropped answer asks again.
void SimExecutor::clear_outputs(int64_t epoch) {
  epoch_ = epoch;
  std::map<ShuffleId, Outputs> dropped = std::exchange(outputs_, {});
  for (auto& [shuffle, outputs] : dropped) {
    if (outputs.waiting.empty()) continue;
    in_.checks.reached(Path::Refetched);
    outputs_[shuffle].waiting = std::move(outputs.waiting);
    ask_outputs(shuffle);
  }
}

void SimExecutor::on_map_outputs(const MapOutputs& m) {
  if (current()) in_.checks.told_epoch(id_, m.epoch);
  auto waiting = std::exchange(outputs_[m.shuffle].waiting, {});
  outputs_[m.shuffle].asked = false;
  if (m.epoch > epoch_) clear_outputs(m.epoch);
  Outputs& outputs = outputs_[m.shuffle];
  if (m.epoch < epoch_) {  // from before an output was lost
    outputs.waiting.insert(outputs.waiting.end(), waiting.begin(), waiting.end());
    if (!outputs.waiting.empty()) ask_outputs(m.shuffle);
    return;
  }
  const auto value = outputs.value = std::make_shared<const MapOutputs>(m);
  for (const auto& [id, place] : waiting)
    if (const auto task = running_.find(id); task != running_.end())
      read_shuffle(task->second, place, *value);
}

void SimExecutor::outputs_failed(ShuffleId shuffle, const std::string& why) {
  const auto waiting = std::move(outputs_.at(shuffle).waiting);
  outputs_.erase(shuffle);
  for (const auto& [id, place] : waiting) {
    const auto it = running_.find(id);
    if (it == running_.end()) continue;
    TaskEndReason reason;
    reason.kind = TaskEndKind::FetchFailed;
    reason.shuffle = shuffle;
    reason.reduce = place.second;
    reason.description = why;
    it->second.failure = std::move(reason);
    advance(id);
  }
}

// ---- blocks ------------------------------------------------------------------------------------

void SimExecutor::read_shuffle(Task& task, Place place, const MapOutputs& outputs) {
  Read read;
  read.task = task.launch.id;
  read.place = place;
  read.shuffle = outputs.shuffle;
  for (size_t map = 0; map < outputs.statuses.size(); ++map) {
    const auto& status = outputs.statuses[map];
    TaskEndReason reason;
    reason.kind = TaskEndKind::FetchFailed;
    reason.shuffle = outputs.shuffle;
    reason.reduce = place.second;
    if (!status) {
      reason.description = "Missing an output location";
      task.failure = reason;
      return after(1us, [this, id = read.task] { advance(id); });
    }
    if (size_for(status->sizes, place.second) == 0) continue;
    const std::string block = "shuffle_" + std::to_string(outputs.shuffle.value) + "_" +
                              std::to_string(status->map_id) + "_" + std::to_string(place.second);
    read.wants.push_back(
        {map, status->location.address, block, size_for(status->sizes, place.second)});
    read.from.push_back(*status);
    if (current()) in_.checks.reads(outputs.shuffle, status->map_id);
  }
  if (indeterminate(*in_.lineage.shuffle(outputs.shuffle)->parent))
    for (const auto& status : outputs.statuses) task.made.reads[place].push_back(status->map_id);
  fetch(std::move(read));
}

void SimExecutor::read_cached(Task& task, Place place) {
  const uint64_t request = next_request_++;
  locating_[request] = {task.launch.id, place};
  after(in_.settings.ask_timeout, [this, request] {
    if (locating_.contains(request)) on_locations({request, {{}}});
  });
  shell_.feed(ServiceRequest{BlockLocationsRequest{request, {cached_block(place)}}});
}

void SimExecutor::on_locations(const BlockLocations& m) {
  const auto it = locating_.find(m.request);
  if (it == locating_.end()) return;
  Read read;
  read.task = it->second.first;
  read.place = it->second.second;
  locating_.erase(it);
  for (const BlockManagerId& holder : m.locations.at(0))
    if (holder.executor.value != id_) read.holders.push_back(holder);
  const uint64_t request = next_request_++;
  next_holder(request, reads_[request] = std::move(read));
}

void SimExecutor::next_holder(uint64_t request, Read& read) {
  if (read.holders.empty()) {
    const TaskId id = read.task;
    if (const auto task = running_.find(id); task != running_.end()) {
      task->second.nowhere.insert(read.place);
      in_.checks.recomputed(read.place);
    }
    reads_.erase(request);
    return advance(id);
  }
  const BlockManagerId from = read.holders.back();
  read.holders.pop_back();
  fetching_.feed(FetchBlocks{request, {{0, from.address, cached_block(read.place), 8}}});
}

/// Own blocks are read at once; the others come in any order.
void SimExecutor::fetch(Read read) {
  const uint64_t request = next_request_++;
  std::vector<WantedBlock> remote;
  std::vector<DeliverBlock> own;
  for (const WantedBlock& want : read.wants) {
    if (want.address != block_address_) {
      remote.push_back(want);
      continue;
    }
    const auto it = store_.find(want.block);
    own.push_back({request, want.index,
                   it == store_.end() ? Result<Payload>(Error{"no such file"}) : it->second});
  }
  read.missing = read.wants.size();
  const TaskId task = read.task;
  const Place place = read.place;
  if (read.missing == 0) {
    Task& reader = running_.at(task);
    reader.reads[place] = seed_of(reader, place);
    return after(1us, [this, task] { advance(task); });
  }
  reads_[request] = std::move(read);
  for (DeliverBlock& block : own) after(10us, [this, block = std::move(block)] { apply(block); });
  if (!remote.empty()) fetching_.feed(FetchBlocks{request, std::move(remote)});
}

void SimExecutor::apply(const ReadBlock& e) {
  after(in_.world.random().between(Duration{1us}, Duration{2ms}), [this, e] {
    serving_.feed(BlockReady{e.ticket, read(e.block)});
  });
}

void SimExecutor::apply(const DeliverBlock& e) {
  if (part_came(e)) return;
  const auto it = reads_.find(e.request);
  if (it == reads_.end()) return;
  Read& read = it->second;
  const auto task = running_.find(read.task);
  const TaskId id = read.task;
  if (task == running_.end()) {
    reads_.erase(it);
    return fetching_.feed(EndRequest{e.request});
  }
  if (read.shuffle.value < 0) {
    if (!e.bytes) return next_holder(e.request, read);
    in_.checks.reached(Path::CacheHitRemote);
    take_cached(task->second, read.place, *e.bytes);
    fetching_.feed(EndRequest{e.request});
    reads_.erase(it);
    return advance(id);
  }
  if (!e.bytes) {
    const auto which = std::ranges::find(read.wants, e.index, &WantedBlock::index);
    const MapStatus& status = read.from[static_cast<size_t>(which - read.wants.begin())];
    TaskEndReason reason;
    reason.kind = TaskEndKind::FetchFailed;
    reason.shuffle = read.shuffle;
    reason.reduce = read.place.second;
    reason.address = status.location;
    reason.map_id = status.map_id;
    reason.map_index = static_cast<int32_t>(e.index);
    reason.description = e.bytes.error().message;
    task->second.failure = std::move(reason);
    reads_.erase(it);
    fetching_.feed(EndRequest{e.request});
    return advance(id);
  }
  const std::string piece(e.bytes->view());
  read.pieces[static_cast<int32_t>(e.index)] = std::stoull(piece);
  const auto want = std::ranges::find(read.wants, e.index, &WantedBlock::index);
  if (want->address != block_address_) fetching_.feed(BlocksTaken{e.request, want->size});
  if (--read.missing > 0) return;
  uint64_t value = seed_of(task->second, read.place);
  for (const auto& [map, number] : read.pieces) value = mix(value, number);
  task->second.reads[read.place] = value;
  reads_.erase(e.request);
  fetching_.feed(EndRequest{e.request});
  advance(id);
}

uint64_t SimExecutor::seed_of(const Task& task, Place place) {
  const auto versions = task.made.reads.find(place);
  return read_seed(ShuffleId{place.first}, place.second,
                   versions == task.made.reads.end() ? std::vector<int64_t>{} : versions->second);
}

void SimExecutor::store(const std::string& block, Bytes bytes, bool tell_driver) {
  if (current()) in_.checks.keeps(id_, block);
  const Payload& kept = store_[block] = Payload(std::move(bytes));
  lost_.erase(block);
  if (tell_driver) shell_.feed(BlocksMoved{{in_memory(block, kept)}});
}

}  // namespace tinderbox::sim
