#include "core/shuffle/reader.hpp"

#include "core/shuffle/wants.hpp"

namespace tinderbox::core {
namespace {

[[noreturn]] void throw_fetch_failure(TaskContext& context, const ShuffleRead& read,
                                      const BlockWant& want, std::string why) {
  TaskEndReason reason;
  reason.kind = TaskEndKind::FetchFailed;
  reason.description = std::move(why);
  reason.address = want.from;
  reason.shuffle = read.shuffle;
  reason.map_id = want.map_id;
  reason.map_index = want.map_index;
  reason.reduce = read.reduce;
  context.fetch_failure = reason;
  throw FetchFailedException{std::move(reason)};
}

}  // namespace

ShuffleReader::ShuffleReader(TaskContext& context, const ShuffleRead& read)
    : context_(context), read_(read) {
  auto outputs = context.services->map_outputs(read.shuffle, context.epoch);
  if (context.killed) throw TaskKilledException{};
  if (!outputs) throw_fetch_failure(context, read, {}, outputs.error().message);
  ShuffleWants wants = shuffle_wants(**outputs, read, *context.services);
  if (!wants.complete)
    throw_fetch_failure(context, read, {},
                        "Missing an output location for shuffle " +
                            std::to_string(read.shuffle.value) + " partition " +
                            std::to_string(read.reduce));
  wants_ = std::move(wants.blocks);
  for (const BlockWant& want : wants_) bytes_ += want.size;
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
  read_bytes_ += want.size;
  pieces_.emplace(block_.view());
  return true;
}

void ShuffleReader::fail(const BlockWant& want, const std::string& why) {
  throw_fetch_failure(context_, read_, want, why);
}

void ShuffleReader::count(const BlockWant& want, size_t bytes) {
  const bool local = want.from.executor == context_.services->executor_id();
  auto& counter = local ? context_.metrics.shuffle_read_local_bytes
                        : context_.metrics.shuffle_read_remote_bytes;
  counter += static_cast<int64_t>(bytes);
}

}  // namespace tinderbox::core
