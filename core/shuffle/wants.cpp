#include "core/shuffle/wants.hpp"

#include <algorithm>
#include <utility>

#include "core/shuffle/map_status.hpp"
#include "core/shuffle/task_setting.hpp"

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

int64_t batch_limit(const ShuffleRead& read, const TaskServices& services) {
  if (read.count == 1) return 0;
  return std::max<int64_t>(task_setting(services, conf::kReducerMaxSizeInFlight) / 5, 1);
}

}  // namespace

ShuffleWants shuffle_wants(const MapOutputs& outputs, const ShuffleRead& read,
                           const TaskServices& services) {
  ShuffleWants wants;
  const std::string prefix = "shuffle_" + std::to_string(outputs.shuffle.value) + "_";
  const int64_t limit = batch_limit(read, services);
  wants.blocks.reserve(outputs.statuses.size());
  for (size_t map = 0; map < outputs.statuses.size(); ++map) {
    const auto& status = outputs.statuses[map];
    wants.complete &= status.has_value();
    if (!status) continue;
    each_batch(*status, read, limit, [&](const Batch& batch) {
      std::string block =
          prefix + std::to_string(status->map_id) + "_" + std::to_string(batch.first);
      if (batch.end > batch.first + 1) block += "_" + std::to_string(batch.end);
      wants.blocks.push_back({.from = status->location,
                              .block = std::move(block),
                              .size = batch.size,
                              .map_id = status->map_id,
                              .map_index = static_cast<int32_t>(map),
                              .in_memory = status->in_memory});
    });
  }
  return wants;
}

}  // namespace tinderbox::core
