#include "core/api/steps/by_key/spilling.hpp"

#include "conf/keys.hpp"
#include "core/shuffle/task_setting.hpp"

namespace tinderbox::core {

std::unique_ptr<SpilledParts> make_parts(TaskContext& context, int32_t parts) {
  return std::make_unique<SpilledParts>(
      context, parts, "temp_local", piece_format(*context.services, conf::kShuffleSpillCompress));
}

}  // namespace tinderbox::core
