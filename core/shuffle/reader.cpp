#include "core/shuffle/reader.hpp"

#include "core/shuffle/wants.hpp"

namespace tinderbox::core {
namespace {

[[noreturn]] void throw_fetch_failure(TaskContext& context, ShuffleId shuffle, int32_t reduce,
                                      const BlockWant& want, std::string why) {
  TaskEndReason reason;
  reason.kind = TaskEndKind::FetchFailed;
  reason.description = std::move(why);
  reason.address = want.from;
  reason.shuffle = shuffle;
  reason.map_id = want.map_id;
  reason.map_index = want.map_index;
  reason.reduce = reduce;
  context.fetch_failure = reason;
  throw FetchFailedException{std::move(reason)};
}

}  // namespace

ShuffleReader::ShuffleReader(TaskContext& context, ShuffleId shuffle, int32_t reduce)
    : context_(context), shuffle_(shuffle), reduce_(reduce) {
  auto outputs = context.services->map_outputs(shuffle, context.epoch);
  if (context.killed) throw TaskKilledException{};
  if (!outputs) throw_fetch_failure(context, shuffle, reduce, {}, outputs.error().message);
  ShuffleWants wants = shuffle_wants(**outputs, reduce);
  if (!wants.complete)
    throw_fetch_failure(context, shuffle, reduce, {},
                        "Missing an output location for shuffle " + std::to_string(shuffle.value) +
                            " partition " + std::to_string(reduce));
  wants_ = std::move(wants.blocks);
  if (!wants_.empty()) stream_ = context.services->fetch(wants_, context.killed);
}

std::optional<std::string_view> ShuffleReader::next() {
  while (!pieces_ || pieces_->done()) {
    if (!next_block()) return std::nullopt;
  }
  const auto records = pieces_->next();
  if (!records)
    fail(wants_[current_],
         "block " + wants_[current_].block + " is damaged: " + records.error().message);
  return *records;
}

bool ShuffleReader::next_block() {
  pieces_.reset();
  if (!stream_) return false;
  auto fetched = stream_->next();
  if (context_.killed) throw TaskKilledException{};
  if (!fetched) {
    stream_.reset();
    return false;
  }
  current_ = fetched->index;
  const BlockWant& want = wants_.at(current_);
  if (!fetched->bytes) fail(want, fetched->bytes.error().message);
  block_ = std::move(*fetched->bytes);
  if (block_.empty()) fail(want, "block " + want.block + " came without bytes");
  count(want, block_.size());
  pieces_.emplace(block_.view());
  return true;
}

void ShuffleReader::fail(const BlockWant& want, const std::string& why) {
  throw_fetch_failure(context_, shuffle_, reduce_, want, why);
}

void ShuffleReader::count(const BlockWant& want, size_t bytes) {
  const bool local = want.from.executor == context_.services->executor_id();
  auto& counter = local ? context_.metrics.shuffle_read_local_bytes
                        : context_.metrics.shuffle_read_remote_bytes;
  counter += static_cast<int64_t>(bytes);
}

}  // namespace tinderbox::core
