#include "core/shuffle/task_setting.hpp"

#include "conf/keys.hpp"
#include "conf/values/codec.hpp"

namespace tinderbox::core {

PieceFormat piece_format(const TaskServices& services) {
  const auto codec = conf::parse_codec(task_setting(services, conf::kCompressionCodec));
  if (codec != conf::Codec::kZstd) return {PieceCodec::Lz4};
  return {PieceCodec::Zstd, task_setting(services, conf::kCompressionZstdLevel)};
}

PieceFormat piece_format(const TaskServices& services, const conf::Key<bool>& whether) {
  return task_setting(services, whether) ? piece_format(services) : PieceFormat{};
}

}  // namespace tinderbox::core
