#include "core/shuffle/blocks/wants.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "conf/keys.hpp"
#include "core/shuffle/blocks/map_status.hpp"
#include "core/shuffle/task_setting.hpp"
#include "core/storage/block_id.hpp"
#include "core/storage/map_outputs/map_output_group.hpp"

namespace tinderbox::core {
namespace {

/// Partitions `first` … `end` − 1 of one output, neither of them empty. Unit of size: bytes.
struct Batch {
  int32_t first = 0, end = 0;
  int64_t size = 0;
};

/// Calls f(batch) for what there is of `read` in an output.
template <class F>
void each_batch(const MapStatus& status, const ShuffleRead& read, int64_t limit, F&& f) {
  Batch batch;
  for (int32_t r = read.reduce; r < read.reduce + read.count; ++r) {
    const int64_t size = size_for(status.sizes, r);
    if (size == 0) continue;
    if (batch.size > 0 && batch.size + size > limit) f(std::exchange(batch, {}));
    if (batch.size == 0) batch.first = r;
    batch.end = r + 1;
    batch.size += size;
  }
  if (batch.size > 0) f(batch);
}

int64_t size_of(const MapStatus& status, const ShuffleRead& read) {
  int64_t size = 0;
  for (int32_t r = read.reduce; r < read.reduce + read.count; ++r)
    size += size_for(status.sizes, r);
  return size;
}

int64_t batch_limit(const ShuffleRead& read, const TaskServices& services) {
  if (read.count == 1) return 0;
  return std::max<int64_t>(task_setting(services, conf::kReducerMaxSizeInFlight) / 5, 1);
}

/// What blocks of one executor's memory come together. Unit: bytes; 0: none do.
int64_t group_limit(const TaskServices& services) {
  const conf::Key<int>& bound = conf::kReducerMaxBlocksPerAddress;
  if (task_setting(services, bound) < std::numeric_limits<int>::max()) return 0;
  return std::min(kGroupBytes, task_setting(services, conf::kReducerMaxSizeInFlight) / 5);
}

/// Puts small blocks of other executors' memory together.
class Groups {
 public:
  Groups(std::vector<BlockWant>& wants, const ShuffleRead& read, const TaskServices& services)
      : wants_(wants), read_(read), services_(services), self_(services.executor_id()) {}

  /// False: what is read of it is not for a group.
  bool add(const MapStatus& status, MapOutputOf output) {
    if (!status.in_memory || status.location.executor == self_) return false;
    if (limit_ < 0) limit_ = group_limit(services_);
    const int64_t size = size_of(status, read_);
    if (size == 0 || size > std::min(limit_, kGroupedBlockBytes)) return false;
    BlockWant& want = group_of(status, output, size);
    want.size += size;
    want.group.push_back(output);
    return true;
  }

  /// Once all are there: a block that found no others is one of its own.
  void name() {
    const int32_t end = read_.reduce + read_.count;
    std::vector<int64_t> maps;
    for (BlockWant& want : wants_) {
      if (want.group.empty()) continue;
      if (want.group.size() == 1) {
        want.group.clear();
        want.block = shuffle_range_block(read_.shuffle, want.output.map_id, read_.reduce, end);
        continue;
      }
      maps.clear();
      for (const MapOutputOf& output : want.group) maps.push_back(output.map_id);
      want.block = shuffle_group_block(read_.shuffle, maps, read_.reduce, end);
    }
  }

 private:
  /// Most outputs are of the same executor as the one before.
  BlockWant& group_of(const MapStatus& status, MapOutputOf output, int64_t size) {
    const std::string& executor = status.location.executor.value;
    if (!last_ || last_->first != executor) last_ = &*open_.try_emplace(executor, kNone).first;
    size_t& place = last_->second;
    if (place == kNone || is_full(wants_[place], size)) {
      place = wants_.size();
      wants_.push_back({.from = status.location, .output = output, .in_memory = true});
    }
    return wants_[place];
  }
  bool is_full(const BlockWant& want, int64_t more) const {
    return want.group.size() == kGroupBlocks || want.size + more > limit_;
  }

  static constexpr size_t kNone = SIZE_MAX;

  std::vector<BlockWant>& wants_;
  const ShuffleRead& read_;
  const TaskServices& services_;
  const ExecutorId self_;
  int64_t limit_ = -1;                                 // not known yet
  std::unordered_map<std::string_view, size_t> open_;  // by executor: place in wants_, or kNone
  std::pair<const std::string_view, size_t>* last_ = nullptr;
};

ShuffleWants wants_of(const MapOutputs& outputs, const ShuffleRead& read,
                      const TaskServices& services, const ExecutorId* but_of) {
  ShuffleWants wants;
  const int64_t limit = batch_limit(read, services);
  Groups groups(wants.blocks, read, services);
  wants.blocks.reserve(outputs.statuses.size());
  for (size_t map = 0; map < outputs.statuses.size(); ++map) {
    const auto& status = outputs.statuses[map];
    wants.complete &= status.has_value();
    if (!status || (but_of && status->location.executor == *but_of)) continue;
    const MapOutputOf output{status->map_id, static_cast<int32_t>(map)};
    if (groups.add(*status, output)) continue;
    each_batch(*status, read, limit, [&](const Batch& batch) {
      wants.blocks.push_back(
          {.from = status->location,
           .block = shuffle_range_block(read.shuffle, output.map_id, batch.first, batch.end),
           .size = batch.size,
           .output = output,
           .in_memory = status->in_memory});
    });
  }
  groups.name();
  return wants;
}

}  // namespace

ShuffleWants shuffle_wants(const MapOutputs& outputs, const ShuffleRead& read,
                           const TaskServices& services) {
  return wants_of(outputs, read, services, nullptr);
}

std::vector<BlockWant> wants_of_others(const MapOutputs& outputs, const ShuffleRead& read,
                                       const TaskServices& services) {
  const ExecutorId self = services.executor_id();
  return wants_of(outputs, read, services, &self).blocks;
}

}  // namespace tinderbox::core
