#include "core/shuffle/wants.hpp"

#include "core/shuffle/map_status.hpp"

namespace tinderbox::core {

ShuffleWants shuffle_wants(const MapOutputs& outputs, int32_t reduce) {
  ShuffleWants wants;
  const std::string prefix = "shuffle_" + std::to_string(outputs.shuffle.value) + "_";
  const std::string suffix = "_" + std::to_string(reduce);
  for (size_t map = 0; map < outputs.statuses.size(); ++map) {
    const auto& status = outputs.statuses[map];
    wants.complete &= status.has_value();
    const int64_t size = status ? size_for(status->sizes, reduce) : 0;
    if (size == 0) continue;
    wants.blocks.push_back({.from = status->location,
                            .block = prefix + std::to_string(status->map_id) + suffix,
                            .size = size,
                            .map_id = status->map_id,
                            .map_index = static_cast<int32_t>(map),
                            .in_memory = status->in_memory});
  }
  return wants;
}

}  // namespace tinderbox::core
