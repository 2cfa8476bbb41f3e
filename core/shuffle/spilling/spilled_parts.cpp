#include "core/shuffle/spilling/spilled_parts.hpp"

#include <algorithm>
#include <utility>

#include "core/plan/or_throw.hpp"

namespace tinderbox::core {
namespace {

// Buffers of all parts take at most so much, and so little of what the task may hold, if they need
// not become too small for it: pieces of less are headers more than records, and compress badly.
constexpr int64_t kAllBuffers = 16 << 20;
constexpr int64_t kAllBuffersLeast = 256 << 10;
constexpr int64_t kBuffersShare = 16;
constexpr int64_t kLeastBuffer = 768;
// What is left in a full buffer for the record that fills it, but a third of the buffer at most.
constexpr int64_t kLastRecord = 4 << 10;
// What is less is not worth a run: the table that fills these parts gives its memory back soon.
constexpr int64_t kLeastRun = 8 << 20;
// Who is refused may have waited for it, so it is not asked for each piece.
constexpr int64_t kAskAgain = 1 << 20;

size_t buffer_size(int32_t parts, int64_t share) {
  const int64_t all = std::clamp(share / kBuffersShare, kAllBuffersLeast, kAllBuffers);
  return static_cast<size_t>(std::clamp(all / std::max(parts, 1), kLeastBuffer,
                                        static_cast<int64_t>(kPieceBytes) + kLastRecord));
}
size_t full_at(size_t buffer) {
  return buffer - std::min(static_cast<size_t>(kLastRecord), buffer / 3);
}
int64_t capacity(const Bytes& bytes) { return static_cast<int64_t>(bytes.capacity()); }

}  // namespace

SpilledParts::SpilledParts(TaskContext& context, int32_t parts, std::string name,
                           PieceFormat format)
    : context_(context),
      name_(std::move(name)),
      format_(format),
      memory_(context),
      buffer_(buffer_size(parts, memory_.share())),
      full_(full_at(buffer_)),
      parts_(static_cast<size_t>(parts)) {}

SpilledParts::~SpilledParts() {
  if (!writing_ && !path_.empty()) (void)context_.services->files().remove(path_);
}

void SpilledParts::make_buffer(Bytes& open) {
  held_ += static_cast<int64_t>(buffer_);
  hold();
  open.reserve(buffer_);
}

void SpilledParts::drop_buffer(Bytes& open) {
  if (open.capacity() < full_) return;
  Bytes().swap(open);
  held_ -= static_cast<int64_t>(buffer_);
}

void SpilledParts::seal(int32_t part) {
  Part& p = parts_[static_cast<size_t>(part)];
  if (p.open.empty()) return;
  const size_t before = p.sealed.size();
  largest_piece_ = std::max(largest_piece_, static_cast<int64_t>(p.open.size()));
  held_ -= capacity(p.sealed);
  seal_piece(p.open, format_, p.sealed);
  held_ += capacity(p.sealed);
  sealed_bytes_ += static_cast<int64_t>(p.sealed.size() - before);
  p.open.clear();
  if (p.open.capacity() > buffer_) drop_buffer(p.open);  // a long record made it grow
}

void SpilledParts::full(int32_t part) {
  seal(part);
  hold();
}

/// What can't be had goes to the file, if it is worth a run.
void SpilledParts::hold() {
  if (held_ < ask_at_ || memory_.hold(held_)) return;
  ask_at_ = held_ + kAskAgain;
  if (sealed_bytes_ >= kLeastRun) spill();
}

void SpilledParts::spill() {
  if (!writing_)
    writing_ = or_throw(context_.services->files().create(path_ = temporary_path(context_, name_)),
                        "cannot spill");
  for (int32_t part = 0; part < size(); ++part) seal(part);
  const int64_t start = writing_->size();
  Run run{start};
  for (Part& part : parts_) {
    or_throw(writing_->append(part.sealed), "cannot spill");
    run.push_back(writing_->size());
    held_ -= capacity(part.sealed);
    Bytes().swap(part.sealed);
    held_ += capacity(part.sealed);
    drop_buffer(part.open);
  }
  runs_.push_back(std::move(run));
  context_.metrics.memory_spilled += sealed_bytes_;
  context_.metrics.disk_spilled += writing_->size() - start;
  sealed_bytes_ = ask_at_ = 0;
  memory_.release();
}

void SpilledParts::finish() {
  // What is open is at most one buffer a part: it stays in memory.
  for (int32_t part = 0; part < size(); ++part) {
    seal(part);
    drop_buffer(parts_[static_cast<size_t>(part)].open);
  }
  if (!writing_) return;
  or_throw(writing_->commit(), "cannot spill");
  writing_.reset();
  reading_ = or_throw(context_.services->files().open(path_), "cannot read what was spilled");
}

Payload SpilledParts::view(const Run& run, int32_t part) {
  const auto at = static_cast<size_t>(part);
  if (at + 1 >= run.size() || run[at] == run[at + 1]) return {};
  return or_throw(reading_->view(run[at], run[at + 1] - run[at]), "cannot read what was spilled");
}

SpilledReader::SpilledReader(SpilledParts& parts, int32_t part)
    : parts_(parts), last_(std::move(parts.parts_[static_cast<size_t>(part)].sealed)) {
  const auto at = static_cast<size_t>(part);
  for (const SpilledParts::Run& run : parts.runs_)
    if (at + 1 < run.size() && run[at] < run[at + 1]) ranges_.push_back({run[at], run[at + 1]});
}

bool SpilledReader::next_piece() {
  constexpr auto kHeader = static_cast<int64_t>(kPieceHeader);
  const char* failed = "cannot read what was spilled";
  if (range_ == ranges_.size()) {
    piece_ = std::exchange(last_, {});
    return !piece_.empty();
  }
  Range& range = ranges_[range_];
  const Payload header = or_throw(parts_.reading_->view(range.at, kHeader), failed);
  const auto size =
      static_cast<int64_t>(or_throw(piece_size(header.view()), "what was spilled is damaged"));
  piece_ = or_throw(parts_.reading_->view(range.at, size), failed);
  range.at += size;
  if (range.at >= range.end) ++range_;
  return true;
}

std::optional<std::string_view> SpilledReader::next() {
  while (!pieces_ || pieces_->done()) {
    if (!next_piece()) return std::nullopt;
    pieces_.emplace(piece_.view());
  }
  return or_throw(pieces_->next(), "what was spilled is damaged");
}

}  // namespace tinderbox::core
