// The driver's table of map outputs.
#include "core/scheduler/dag/map_output_tracker.hpp"

#include "core/shuffle/blocks/map_status.hpp"

namespace tinderbox::core {

namespace {
/// An answer of at most so many bytes goes ahead of tasks; a map output has a byte for each reducer
/// and about so many for its place.
constexpr int64_t kMostAhead = 256 << 10, kPlaceBytes = 64;
}  // namespace

bool MapOutputTracker::register_shuffle(ShuffleId shuffle, int32_t maps, int32_t reduces) {
  auto [it, fresh] = shuffles_.try_emplace(shuffle);
  if (!fresh) return false;
  it->second.reduces = reduces;
  it->second.statuses.resize(static_cast<size_t>(maps));
  return true;
}

void MapOutputTracker::unregister_shuffle(ShuffleId shuffle) { shuffles_.erase(shuffle); }

void MapOutputTracker::register_output(ShuffleId shuffle, int32_t map, MapStatus status) {
  const auto it = shuffles_.find(shuffle);
  if (it == shuffles_.end() || static_cast<size_t>(map) >= it->second.statuses.size()) return;
  put(it->second, map, std::move(status));
}

/// Every change of an output is made here. None: it is gone.
void MapOutputTracker::put(Shuffle& shuffle, int32_t map, std::optional<MapStatus> status) {
  std::optional<MapStatus>& slot = shuffle.statuses[static_cast<size_t>(map)];
  if (slot) {
    const auto at = shuffle.held.find(slot->location.executor);
    at->second.erase(map);
    if (at->second.empty()) shuffle.held.erase(at);
    --shuffle.available;
  }
  slot = std::move(status);
  if (slot) {
    shuffle.ever_had = true;
    std::set<int32_t>& maps = shuffle.held[slot->location.executor];
    maps.insert(maps.end(), map);
    ++shuffle.available;
  }
  shuffle.answer.reset();
  shuffle.place_of.clear();
}

void MapOutputTracker::unregister_output(ShuffleId shuffle, int32_t map, const BlockManagerId& at) {
  const auto it = shuffles_.find(shuffle);
  if (it == shuffles_.end() || map < 0) return;
  const size_t i = static_cast<size_t>(map);
  if (i < it->second.statuses.size() && it->second.statuses[i] &&
      it->second.statuses[i]->location == at)
    put(it->second, map, std::nullopt);
  ++epoch_;
}

void MapOutputTracker::unregister_all_outputs(ShuffleId shuffle) {
  const auto it = shuffles_.find(shuffle);
  if (it == shuffles_.end()) return;
  for (size_t i = 0; i < it->second.statuses.size(); ++i)
    if (it->second.statuses[i]) put(it->second, static_cast<int32_t>(i), std::nullopt);
  ++epoch_;
}

void MapOutputTracker::drop_outputs_on(const ExecutorId& executor) {
  for (const Held& h : outputs_on(executor)) put(shuffles_.at(h.shuffle), h.map, std::nullopt);
}

void MapOutputTracker::remove_outputs_on_executor(const ExecutorId& executor) {
  drop_outputs_on(executor);
  ++epoch_;
}

/// An executor has one host: any of its outputs tells which.
void MapOutputTracker::remove_outputs_on_host(const std::string& host) {
  std::set<ExecutorId> there;
  for (const auto& [id, shuffle] : shuffles_)
    for (const auto& [executor, maps] : shuffle.held)
      if (shuffle.statuses[static_cast<size_t>(*maps.begin())]->location.host == host)
        there.insert(executor);
  for (const ExecutorId& executor : there) drop_outputs_on(executor);
  ++epoch_;
}

std::vector<MapOutputTracker::Held> MapOutputTracker::outputs_on(const ExecutorId& executor) const {
  std::vector<Held> held;
  for (const auto& [id, shuffle] : shuffles_) {
    const auto at = shuffle.held.find(executor);
    if (at == shuffle.held.end()) continue;
    for (const int32_t map : at->second)
      held.push_back({id, map, shuffle.statuses[static_cast<size_t>(map)]->map_id});
  }
  return held;
}

const MapStatus* MapOutputTracker::output(ShuffleId shuffle, int32_t map) const {
  const auto it = shuffles_.find(shuffle);
  if (it == shuffles_.end() || static_cast<size_t>(map) >= it->second.statuses.size())
    return nullptr;
  const std::optional<MapStatus>& status = it->second.statuses[static_cast<size_t>(map)];
  return status ? &*status : nullptr;
}

void MapOutputTracker::move_output(ShuffleId shuffle, int32_t map, const BlockManagerId& to) {
  Shuffle& from = shuffles_.at(shuffle);
  MapStatus moved = *from.statuses[static_cast<size_t>(map)];
  moved.location = to;
  put(from, map, std::move(moved));
  moved_ = true;
}

int64_t MapOutputTracker::begin_readers() {
  epoch_ = epoch();
  moved_ = false;
  return epoch_;
}

bool MapOutputTracker::ever_had(ShuffleId shuffle) const {
  const auto it = shuffles_.find(shuffle);
  return it != shuffles_.end() && it->second.ever_had;
}

int32_t MapOutputTracker::available(ShuffleId shuffle) const {
  const auto it = shuffles_.find(shuffle);
  return it == shuffles_.end() ? 0 : it->second.available;
}

std::vector<int32_t> MapOutputTracker::missing(ShuffleId shuffle) const {
  std::vector<int32_t> maps;
  const auto it = shuffles_.find(shuffle);
  if (it == shuffles_.end()) return maps;
  for (size_t i = 0; i < it->second.statuses.size(); ++i)
    if (!it->second.statuses[i]) maps.push_back(static_cast<int32_t>(i));
  return maps;
}

std::vector<int64_t> MapOutputTracker::statistics(ShuffleId shuffle) const {
  std::vector<int64_t> bytes;
  const auto it = shuffles_.find(shuffle);
  if (it == shuffles_.end()) return bytes;
  bytes.resize(static_cast<size_t>(it->second.reduces));
  for (const auto& status : it->second.statuses)
    for (size_t r = 0; status && r < bytes.size(); ++r)
      bytes[r] += size_for(status->sizes, static_cast<int32_t>(r));
  return bytes;
}

void MapOutputTracker::find_places(const Shuffle& shuffle) {
  std::map<BlockManagerId, int32_t> numbers;
  shuffle.places.clear();
  for (const auto& status : shuffle.statuses) {
    int32_t place = -1;
    if (status) {
      const auto [it, fresh] =
          numbers.try_emplace(status->location, static_cast<int32_t>(shuffle.places.size()));
      if (fresh) shuffle.places.push_back(status->location);
      place = it->second;
    }
    shuffle.place_of.push_back(place);
  }
}

std::vector<std::string> MapOutputTracker::preferred_hosts(ShuffleId id, int32_t reduce,
                                                           double fraction) const {
  const auto found = shuffles_.find(id);
  if (found == shuffles_.end()) return {};
  const Shuffle& shuffle = found->second;
  if (shuffle.place_of.empty()) find_places(shuffle);
  std::vector<int64_t> bytes(shuffle.places.size());
  int64_t total = 0;
  for (size_t i = 0; i < shuffle.statuses.size(); ++i) {
    if (!shuffle.statuses[i]) continue;
    const int64_t size = size_for(shuffle.statuses[i]->sizes, reduce);
    bytes[static_cast<size_t>(shuffle.place_of[i])] += size;
    total += size;
  }
  std::set<std::string> hosts;
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] > 0 && static_cast<double>(bytes[i]) >= static_cast<double>(total) * fraction)
      hosts.insert(shuffle.places[i].host);
  return {hosts.begin(), hosts.end()};
}

std::shared_ptr<const ToExecutor> MapOutputTracker::answer(ShuffleId id, const LocalDirs& dirs) {
  const auto it = shuffles_.find(id);
  if (it == shuffles_.end())
    return std::make_shared<const ToExecutor>(
        tinderbox::MapOutputs{id, epoch_, {std::nullopt}, {}});
  Shuffle& shuffle = it->second;
  if (shuffle.answer && std::get<tinderbox::MapOutputs>(*shuffle.answer).epoch == epoch_)
    return shuffle.answer;
  tinderbox::MapOutputs message{id, epoch_, shuffle.statuses, {}};
  for (const auto& status : shuffle.statuses) {
    if (!status) continue;
    const auto [at, fresh] = message.local_dirs.try_emplace(status->location.executor.value);
    if (fresh) at->second = dirs(status->location.executor);
  }
  shuffle.answer = std::make_shared<const ToExecutor>(std::move(message));
  shuffle.given_ahead.clear();
  return shuffle.answer;
}

std::shared_ptr<const ToExecutor> MapOutputTracker::answer_ahead(ShuffleId id, int32_t slot,
                                                                 const LocalDirs& dirs) {
  const auto it = shuffles_.find(id);
  if (it == shuffles_.end()) return nullptr;
  Shuffle& shuffle = it->second;
  const auto maps = static_cast<int64_t>(shuffle.statuses.size());
  if (maps * (shuffle.reduces + kPlaceBytes) > kMostAhead) return nullptr;
  std::shared_ptr<const ToExecutor> made = answer(id, dirs);
  return shuffle.given_ahead.insert(slot).second ? made : nullptr;
}

}  // namespace tinderbox::core
