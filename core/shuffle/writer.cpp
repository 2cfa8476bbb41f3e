#include "core/shuffle/writer.hpp"

#include "conf/keys.hpp"
#include "core/plan/or_throw.hpp"
#include "core/shuffle/task_setting.hpp"

namespace tinderbox::core {

ShuffleWriter::ShuffleWriter(TaskContext& context, ShuffleId shuffle, int32_t num_reduces)
    : context_(context),
      shuffle_(shuffle),
      parts_(context, num_reduces, "temp_shuffle_" + std::to_string(shuffle.value),
             piece_format(*context.services, conf::kShuffleCompress)) {}

TaskOutput ShuffleWriter::commit() {
  parts_.finish();
  auto output =
      context_.services->map_output(shuffle_, context_.id.value, context_.partition, parts_.size());
  for (int32_t r = 0; r < parts_.size(); ++r) {
    parts_.take(r, [&](const Payload& pieces) {
      pieces.each_window(pieces.view(), [&](std::string_view window) {
        or_throw(output->append(r, window), "cannot write map output");
      });
      context_.metrics.shuffle_write_bytes += static_cast<int64_t>(pieces.size());
    });
  }
  context_.metrics.shuffle_write_records += parts_.records();
  MapStatus status = or_throw(output->commit(), "cannot commit map output");
  status.records = parts_.records();
  return {{}, std::move(status)};
}

}  // namespace tinderbox::core
