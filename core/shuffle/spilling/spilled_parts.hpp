// Records by part, in memory while there is some, else in a temporary file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/shuffle/blocks/block.hpp"
#include "core/shuffle/spilling/task_memory.hpp"

namespace tinderbox::core {

/// Records of a part are appended to its buffer; a full buffer is sealed into a piece. When there
/// is no memory for the pieces, those of all parts go to the file as one run, ascending by part.
/// First all is added, then it is read. Thread: one task's.
/// Errors: every function throws std::runtime_error when a disk fails.
class SpilledParts {
 public:
  /// `name`: of its file, in a directory for temporary ones.
  SpilledParts(TaskContext& context, int32_t parts, std::string name, PieceFormat format);
  ~SpilledParts();
  SpilledParts(const SpilledParts&) = delete;
  SpilledParts& operator=(const SpilledParts&) = delete;

  int32_t size() const { return static_cast<int32_t>(parts_.size()); }
  /// Parts that are there stay as they are; all buffers keep the size for the first number of
  /// parts.
  void resize(int32_t parts) { parts_.resize(static_cast<size_t>(parts)); }
  /// Append one encoded record to this, then call added(part).
  Bytes& buffer(int32_t part) {
    Bytes& open = parts_[static_cast<size_t>(part)].open;
    if (open.capacity() < full_) [[unlikely]]
      make_buffer(open);
    return open;
  }
  void added(int32_t part) {
    ++records_;
    if (parts_[static_cast<size_t>(part)].open.size() >= full_) full(part);
  }
  /// Moves what is in memory to the file.
  void spill();
  /// Nothing will be added.
  void finish();
  /// After finish(): calls f(Payload) with each run of pieces of a part, in the order in which its
  /// records were added; at most once, what was in memory is moved out.
  template <class F>
  void take(int32_t part, F&& f) {
    for (const Run& run : runs_)
      if (const Payload pieces = view(run, part); !pieces.empty()) f(pieces);
    if (Bytes& last = parts_[static_cast<size_t>(part)].sealed; !last.empty())
      f(Payload(std::move(last)));
  }
  int64_t records() const { return records_; }
  /// Of records, as they were before they were compressed. Unit: bytes.
  int64_t largest_piece() const { return largest_piece_; }

 private:
  friend class SpilledReader;
  struct Part {
    Bytes open;    // records
    Bytes sealed;  // pieces
  };
  /// Where a run stands in the file. Shape: part p lies at [offsets[p], offsets[p+1]); parts that
  /// came later have nothing in it.
  using Run = std::vector<int64_t>;
  Payload view(const Run& run, int32_t part);
  void make_buffer(Bytes& open);
  void drop_buffer(Bytes& open);
  void seal(int32_t part);
  void full(int32_t part);
  void hold();

  TaskContext& context_;
  const std::string name_;
  const PieceFormat format_;
  TaskMemory memory_;
  const size_t buffer_;  // capacity of one
  const size_t full_;    // a record begins below that, so one of usual length never makes it grow
  std::vector<Part> parts_;
  std::vector<Run> runs_;
  std::string path_;
  std::unique_ptr<net::WriteFile> writing_;
  std::unique_ptr<net::ReadFile> reading_;
  int64_t sealed_bytes_ = 0;
  int64_t held_ = 0;    // capacity of buffers and pieces
  int64_t ask_at_ = 0;  // less is held unasked
  int64_t records_ = 0;
  int64_t largest_piece_ = 0;
};

/// The pieces of one part, checked, with one of them in memory. `parts` must outlive it.
/// Errors: as above, also when the bytes are damaged.
class SpilledReader {
 public:
  SpilledReader(SpilledParts& parts, int32_t part);
  /// Records of the next piece, good until the next call; nullopt after the last one.
  std::optional<std::string_view> next();

 private:
  struct Range {
    int64_t at, end;  // in the file
  };
  bool next_piece();

  SpilledParts& parts_;
  std::vector<Range> ranges_;
  size_t range_ = 0;
  Payload last_;  // pieces that never were in the file
  Payload piece_;
  std::optional<PieceReader> pieces_;
};

}  // namespace tinderbox::core
