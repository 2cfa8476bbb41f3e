#include "core/shuffle/reader.hpp"

#include <stdexcept>

#include "core/shuffle/blocks/wants.hpp"
#include "core/storage/block_id.hpp"

namespace tinderbox::core {
namespace {

[[noreturn]] void throw_fetch_failure(TaskContext& context, const ShuffleRead& read,
                                      const BlockManagerId& from, MapOutputOf output,
                                      std::string why) {
  TaskEndReason reason;
  reason.kind = TaskEndKind::FetchFailed;
  reason.description = std::move(why);
  reason.address = from;
  reason.shuffle = read.shuffle;
  reason.map_id = output.map_id;
  reason.map_index = output.map_index;
  reason.reduce = read.reduce;
  context.fetch_failure = reason;
  throw FetchFailedException{std::move(reason)};
}

}  // namespace

ShuffleReader::ShuffleReader(TaskContext& context, const ShuffleRead& read)
    : context_(context), read_(read) {
  auto outputs = context.services->map_outputs(read.shuffle, context.epoch);
  if (context.kill_mark()) throw TaskKilledException{};
  if (!outputs) throw_fetch_failure(context, read, {}, {}, outputs.error().message);
  ShuffleWants wants = shuffle_wants(**outputs, read, *context.services);
  if (!wants.complete)
    throw_fetch_failure(context, read, {}, {},
                        "Missing an output location for shuffle " +
                            std::to_string(read.shuffle.value) + " partition " +
                            std::to_string(read.reduce));
  wants_ = std::move(wants.blocks);
  for (const BlockWant& want : wants_) bytes_ += want.size;
  if (!wants_.empty()) stream_ = context.services->fetch(wants_, context.kill_mark());
}

std::optional<std::string_view> ShuffleReader::next() {
  while (!pieces_ || pieces_->done()) {
    if (!next_block()) return std::nullopt;
  }
  forget_read();
  const auto records = pieces_->next();
  // The wire is not to blame: what came over it was checked when it came.
  if (!records)
    fail("block " + name() +
         (wants_[current_].in_memory ? " is damaged: " : " is corrupted due to DISK_ISSUE: ") +
         records.error().message);
  return *records;
}

/// A block of its own may be a large file that is mapped.
void ShuffleReader::forget_read() {
  if (group_) return;
  block_.forget_before(block_.size() - pieces_->left(), forgotten_);
}

bool ShuffleReader::next_block() {
  pieces_.reset();
  if (group_ && !group_->done()) {
    ++member_;
    next_of_group();
    return true;
  }
  group_.reset();
  if (!stream_) return false;
  auto fetched = stream_->next();
  if (context_.kill_mark()) throw TaskKilledException{};
  if (!fetched) {
    stream_.reset();
    return false;
  }
  current_ = fetched->index;
  member_ = 0;
  const BlockWant& want = wants_.at(current_);
  if (!fetched->bytes) not_fetched(fetched->bytes.error());
  block_ = std::move(*fetched->bytes);
  local_ = fetched->local;
  forgotten_ = 0;
  read_bytes_ += want.size;
  if (want.group.empty()) {
    begin(block_.view());
  } else {
    group_.emplace(block_.view());
    next_of_group();
  }
  return true;
}

void ShuffleReader::next_of_group() {
  const size_t members = wants_[current_].group.size();
  const Result<std::string_view> block = group_->next();
  if (!block) fail(block.error().message);
  if (group_->done() != (member_ + 1 == members))
    fail("block " + name() + " came in a group that has not " + std::to_string(members) +
         " blocks");
  begin(*block);
}

void ShuffleReader::begin(std::string_view block) {
  if (block.empty()) fail("block " + name() + " came without bytes");
  auto& counter = local_ ? context_.metrics.shuffle_read_local_bytes
                         : context_.metrics.shuffle_read_remote_bytes;
  counter += static_cast<int64_t>(block.size());
  pieces_.emplace(block);
}

/// Of the block that is read now.
std::string ShuffleReader::name() const {
  const BlockWant& want = wants_[current_];
  if (want.group.empty()) return want.block;
  return shuffle_range_block(read_.shuffle, want.group.at(member_).map_id, read_.reduce,
                             read_.reduce + read_.count);
}

/// A holder's good output must not be dropped because this process has no room for it.
void ShuffleReader::not_fetched(const Error& error) {
  if (!error.own_disk) fail(error.message);
  throw std::runtime_error("cannot fetch " + shown_block(wants_[current_].block) + ": " +
                           error.message);
}

void ShuffleReader::fail(const std::string& why) {
  const BlockWant& want = wants_[current_];
  throw_fetch_failure(context_, read_, want.from,
                      want.group.empty() ? want.output : want.group.at(member_), why);
}

}  // namespace tinderbox::core
