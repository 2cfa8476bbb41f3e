#include "core/api/input/sources.hpp"

#include <cstring>
#include <stdexcept>

#include "core/api/input/skipping.hpp"
#include "core/api/rdd.hpp"
#include "core/api/runtime/input_paths.hpp"
#include "core/plan/or_throw.hpp"
#include "net/files/byte_source.hpp"

namespace tinderbox {
namespace core {
namespace {

constexpr size_t kTextBatch = 256 << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of UTF-8

class RangeCursor final : public Cursor<int64_t> {
 public:
  RangeCursor(int64_t start, int64_t step, uint64_t from, uint64_t to)
      : start_(start), step_(step), at_(from), to_(to) {}
  bool next(Sink<int64_t> out) override {
    for (const uint64_t end = std::min(at_ + 1024, to_); at_ < end; ++at_) {
      // Unsigned, because the last value may be reached only by wrapping.
      const auto value = static_cast<uint64_t>(start_) + at_ * static_cast<uint64_t>(step_);
      if (!out(static_cast<int64_t>(value))) return false;
    }
    return at_ < to_;
  }

 private:
  int64_t start_, step_;
  uint64_t at_, to_;
};

/// Lines that start inside the split. A split that does not begin the file looks at the byte before
/// it: the line that this byte belongs to is the previous split's, whether it ends there or goes
/// on.
class LineCursor final : public Cursor<std::string_view> {
 public:
  LineCursor(TaskContext& context, std::unique_ptr<net::ByteSource> bytes, const InputSplit& split)
      : context_(context),
        bytes_(std::move(bytes)),
        path_(split.path),
        to_the_end_(split.length == kToTheEnd),
        end_(split.offset + split.length),
        read_at_(before(split)),
        skip_first_(split.offset > 0),
        done_(split.length == 0) {
    buffer_.resize(
        static_cast<size_t>(std::min<int64_t>(kTextBatch, std::max<int64_t>(split.length, 4096))));
  }

  /// Where the bytes of a split begin.
  static int64_t before(const InputSplit& split) { return split.offset > 0 ? split.offset - 1 : 0; }
  /// Where they end at the latest, if no line is longer than a batch.
  static int64_t behind(const InputSplit& split) {
    return split.length == kToTheEnd
               ? kToTheEnd
               : split.offset + split.length + static_cast<int64_t>(kTextBatch);
  }

  bool next(Sink<std::string_view> out) override {
    if (done_) return false;
    refill();
    const bool going = push_lines(out);
    // What is left is a line whose end is lost.
    if (going && eof_ && !done_) fail_shorter(path_);
    return going && !done_;
  }

 private:
  /// Moves the unfinished line to the front and reads behind it.
  void refill() {
    const size_t rest = have_ - pos_;
    std::memmove(buffer_.data(), buffer_.data() + pos_, rest);
    pos_ = 0;
    have_ = rest;
    if (rest > buffer_.size() / 2) buffer_.resize(buffer_.size() * 2);
    const size_t got = or_throw(bytes_->read(buffer_.data() + rest, buffer_.size() - rest));
    eof_ = got < buffer_.size() - rest;
    read_at_ += static_cast<int64_t>(got);
    have_ += got;
    context_.metrics.input_bytes += static_cast<int64_t>(got);
  }
  int64_t offset_of(size_t pos) const { return read_at_ - static_cast<int64_t>(have_ - pos); }
  /// All that the split should have is read, and no line goes on behind it.
  bool ended() const { return eof_ && (to_the_end_ || read_at_ >= end_); }

  /// Passes the previous split's line. It may be longer than memory, so nothing of it is kept.
  void skip_first() {
    const auto* newline =
        static_cast<const char*>(std::memchr(buffer_.data() + pos_, '\n', have_ - pos_));
    pos_ = newline ? static_cast<size_t>(newline - buffer_.data()) + 1 : have_;
    skip_first_ = !newline;
  }

  bool push_lines(Sink<std::string_view> out) {
    if (skip_first_) skip_first();
    const char* data = buffer_.data();
    // Positions from here on belong to the next split.
    const int64_t limit = end_ - offset_of(0);
    int64_t records = 0;
    bool going = true;
    while (going) {
      if (static_cast<int64_t>(pos_) >= limit) {
        done_ = true;
        break;
      }
      const auto* newline = static_cast<const char*>(std::memchr(data + pos_, '\n', have_ - pos_));
      if (!newline && !ended()) break;
      size_t line_end = newline ? static_cast<size_t>(newline - data) : have_;
      const size_t line_start = pos_;
      pos_ = newline ? line_end + 1 : have_;
      if (!newline) done_ = true;
      if (!newline && line_start == have_) break;
      if (newline && line_end > line_start && data[line_end - 1] == '\r') --line_end;
      ++records;
      std::string_view line(data + line_start, line_end - line_start);
      if (at_front_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
      at_front_ = false;
      going = out(std::string_view(line));
      if (done_) break;
    }
    context_.metrics.input_records += records;
    return going;
  }

  TaskContext& context_;
  std::unique_ptr<net::ByteSource> bytes_;
  const std::string path_;
  const bool to_the_end_;
  const int64_t end_;
  int64_t read_at_;  // where the next read begins
  bool skip_first_;
  bool at_front_ = !skip_first_;  // of the file
  bool done_;
  bool eof_ = false;
  Bytes buffer_;
  size_t pos_ = 0, have_ = 0;
};

}  // namespace

std::string_view source_bytes(const Node& node, int32_t partition, const TaskContext& context) {
  return context.inputs ? context.inputs->find(node.id, partition) : std::string_view{};
}

uint64_t range_count(int64_t start, int64_t end, int64_t step) {
  if (step == 0) throw std::invalid_argument("step cannot be 0");
  if (step > 0 ? start >= end : start <= end) return 0;
  const auto distance = step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(start)
                                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(end);
  const auto stride = step > 0 ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
  return (distance - 1) / stride + 1;
}

uint64_t slice_start(uint64_t count, int32_t i, int32_t n) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(count) * static_cast<uint32_t>(i) /
                               static_cast<uint32_t>(n));
}

RangeNode::RangeNode(int64_t start, int64_t step, uint64_t count, int32_t slices)
    : start_(start), step_(step), count_(count), slices_(slices) {}
RangeNode::RangeNode(Decoder& in)
    : start_(in.scalar<int64_t>()),
      step_(in.scalar<int64_t>()),
      count_(in.scalar<uint64_t>()),
      slices_(in.scalar<int32_t>()) {}
void RangeNode::encode(Encoder& out) const {
  out.scalar(start_);
  out.scalar(step_);
  out.scalar(count_);
  out.scalar(slices_);
}
std::unique_ptr<Cursor<int64_t>> RangeNode::open(int32_t partition, TaskContext&) const {
  return std::make_unique<RangeCursor>(start_, step_, slice_start(count_, partition, slices_),
                                       slice_start(count_, partition + 1, slices_));
}

std::unique_ptr<Cursor<std::string_view>> TextNode::open(int32_t partition,
                                                         TaskContext& context) const {
  const auto split = from_bytes<InputSplit>(source_bytes(*this, partition, context));
  return open_input<std::string_view>(split.path, context, [&] {
    auto file = or_throw(context.services->files().open(split.path));
    auto bytes = net::decompressed(
        net::compression_of(split.path),
        net::bytes_of(std::move(file), LineCursor::before(split), LineCursor::behind(split)),
        split.path);
    return std::make_unique<LineCursor>(context, std::move(bytes), split);
  });
}

void cut_off(Node& cut, const Node& original) {
  cut.id = original.id;
  cut.name = "LocalCheckpointRDD";
  cut.call_site = original.call_site;
  cut.num_partitions = original.num_partitions;
  cut.partitioner = original.partitioner;
  cut.storage_bits = original.storage_bits.load();
  derive(cut);
}

void fail_local_checkpoint(const Node& node, int32_t partition) {
  throw std::runtime_error(
      "Checkpoint block " + block_name(node.id, partition) +
      " not found! Either the executor that originally checkpointed this partition is no longer "
      "alive, or the original RDD is unpersisted. If this problem persists, you may consider using "
      "`rdd.checkpoint()` instead, which is slower than local checkpointing but more "
      "fault-tolerant.");
}

}  // namespace core

Rdd<int64_t> Context::range(int64_t start, int64_t end, int64_t step, int32_t slices, Site site) {
  if (slices == 0) slices = default_parallelism();
  require_positive(slices, "Positive number of partitions required");
  const uint64_t count = core::range_count(start, end, step);
  auto node = std::make_unique<core::RangeNode>(start, step, count, slices);
  node->num_partitions = slices;
  adopt(*node, {"MapPartitionsRDD", "range", site}, {});
  return {*this, std::move(node)};
}

Rdd<std::string_view> Context::text_file(const std::string& path, int32_t min_partitions,
                                         Site site) {
  if (min_partitions == 0) min_partitions = default_min_partitions();
  auto node = std::make_unique<core::TextNode>();
  for (const auto& split : core::splits_of(runtime_, path, min_partitions)) {
    node->source_data.push_back(core::to_bytes(split));
  }
  node->num_partitions = static_cast<int32_t>(node->source_data.size());
  adopt(*node, {"HadoopRDD", "textFile", site}, {});
  return {*this, std::move(node)};
}

}  // namespace tinderbox
