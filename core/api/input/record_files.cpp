#include "core/api/input/record_files.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/plan/or_throw.hpp"
#include "core/shuffle/task_setting.hpp"

namespace tinderbox::core {
namespace {

constexpr const char* kMagic = "tinderbox objects 2 ";
/// Read at once: a damaged header may announce any number of bytes.
constexpr size_t kMostAtOnce = 1 << 20;

std::string part_path(const std::string& directory, int32_t partition) {
  return directory + "/" + part_name(partition);
}

RecordFile open_part(const std::string& path, TaskContext& context) {
  return {path, or_throw(context.services->files().open(path), "Invalid checkpoint file: " + path)};
}

}  // namespace

void RecordPieces::seal() {
  if (!records_.empty()) seal_piece(records_, how_, sealed_);
  records_.clear();
}

void RecordPieces::finish() {
  seal();
  seal_piece({}, how_, sealed_);
}

RecordFile::RecordFile(std::string path, std::unique_ptr<net::ReadFile> file)
    : path_(std::move(path)), bytes_(net::bytes_of(std::move(file))) {}

void RecordFile::fail(const std::string& why) const {
  throw std::runtime_error("'" + path_ + "' is damaged: " + why);
}

void RecordFile::fill(size_t have, size_t more) {
  while (more > 0) {
    const size_t some = std::min(more, kMostAtOnce);
    if (piece_.size() < have + some) piece_.resize(have + some);
    const size_t got = or_throw(bytes_->read(piece_.data() + have, some));
    bytes_read_ += static_cast<int64_t>(got);
    if (got < some) fail("it is cut short");
    have += some;
    more -= some;
  }
}

std::optional<std::string_view> RecordFile::next() {
  if (ended_) return {};
  fill(0, kPieceHeader);
  const Result<size_t> size = piece_size(std::string_view(piece_).substr(0, kPieceHeader));
  if (!size && bytes_read_ == kPieceHeader)
    throw std::runtime_error("'" + path_ + "' is no file of records that tinderbox wrote");
  if (!size) fail(size.error().message);
  fill(kPieceHeader, *size - kPieceHeader);
  reader_.go_on_with(std::string_view(piece_).substr(0, *size));
  const Result<std::string_view> records = reader_.next();
  if (!records) fail(records.error().message);
  ended_ = records->empty();
  if (ended_) return {};
  return *records;
}

ObjectPart::ObjectPart(const std::string& directory, const std::string& type, TaskContext& context)
    : file_(directory, context), pieces_(piece_format(*context.services), file_.buffer()) {
  seal_piece(kMagic + type, {}, file_.buffer());
}

void ObjectPart::commit() {
  pieces_.finish();
  file_.commit();
}

ObjectFile::ObjectFile(const std::string& path, const std::string& type, TaskContext& context)
    : context_(context), file_(path, or_throw(context.services->files().open(path))) {
  const auto first = next();
  if (!first || !first->starts_with(kMagic))
    throw std::runtime_error("'" + path + "' is no file of objects");
  if (const auto is = first->substr(std::string_view(kMagic).size()); is != type)
    throw std::invalid_argument("'" + path + "' holds objects of the type " + std::string(is) +
                                ", not of " + type + " (as the compiler names them)");
}

std::optional<std::string_view> ObjectFile::next() {
  const int64_t before = file_.bytes_read();
  const auto records = file_.next();
  context_.metrics.input_bytes += file_.bytes_read() - before;
  return records;
}

CheckpointPart::CheckpointPart(const std::string& directory, TaskContext& context)
    : context_(context), path_(part_path(directory, context.partition)) {
  auto file = context.services->files().create(path_);
  if (!file) fail(file.error().message);
  file_ = std::move(*file);
}

void CheckpointPart::fail(const std::string& why) const {
  throw std::runtime_error("Checkpoint failed: failed to save output of task " +
                           std::to_string(context_.id.value) + " to " + path_ + ": " + why);
}

void CheckpointPart::flush() {
  if (const auto appended = file_->append(sealed_); !appended) fail(appended.error().message);
  sealed_.clear();
}

void CheckpointPart::commit() {
  pieces_.finish();
  flush();
  const auto there = context_.services->files().stat(path_);
  if (there && *there) return;
  if (const auto committed = file_->commit(); !committed) fail(committed.error().message);
}

CheckpointFile::CheckpointFile(const std::string& directory, int32_t partition,
                               TaskContext& context)
    : file_(open_part(part_path(directory, partition), context)) {}

}  // namespace tinderbox::core
