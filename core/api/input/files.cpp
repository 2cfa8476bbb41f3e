#include "core/api/input/files.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/api/input/skipping.hpp"
#include "core/api/input/sources.hpp"
#include "core/api/rdd.hpp"
#include "core/plan/or_throw.hpp"
#include "net/files/byte_source.hpp"

namespace tinderbox {
namespace core {
namespace {

constexpr size_t kRecordsBatch = 256 << 10;
constexpr size_t kWholeBatch = 1 << 20;

Bytes all_of(net::ByteSource& bytes) {
  Bytes all;
  for (size_t got = kWholeBatch; got == kWholeBatch;) {
    const size_t had = all.size();
    all.resize(had + kWholeBatch);
    got = or_throw(bytes.read(all.data() + had, kWholeBatch));
    all.resize(had + got);
  }
  return all;
}

std::string content_of(const std::string& path, bool as_it_is, TaskContext& context) {
  const auto how = as_it_is ? net::Compression::None : net::compression_of(path);
  auto bytes =
      net::decompressed(how, net::bytes_of(or_throw(context.services->files().open(path))), path);
  std::string content = all_of(*bytes);
  context.metrics.input_bytes += static_cast<int64_t>(content.size());
  ++context.metrics.input_records;
  return content;
}

/// `over`: bytes behind the last whole record.
void require_whole(const std::string& path, int64_t over) {
  if (over != 0)
    throw std::runtime_error("Partial record(length = " + std::to_string(over) +
                             ") found at the end of " + shown_path(path));
}

class WholeFilesCursor final : public Cursor<WholeFilesNode::Record> {
 public:
  WholeFilesCursor(std::vector<std::string> paths, bool as_they_are, TaskContext& context)
      : context_(context), paths_(std::move(paths)), as_they_are_(as_they_are) {}
  bool next(Sink<WholeFilesNode::Record> out) override {
    if (at_ == paths_.size()) return false;
    const std::string& path = paths_[at_++];
    auto content = content_at(path);
    return (!content || out({url_of(path), std::move(*content)})) && at_ < paths_.size();
  }

 private:
  /// nullopt: the file is skipped.
  std::optional<std::string> content_at(const std::string& path) const {
    try {
      return content_of(path, as_they_are_, context_);
    } catch (const std::runtime_error& why) {
      if (!SkippedFiles(context_).skips(path, why)) throw;
      return {};
    }
  }

  TaskContext& context_;
  const std::vector<std::string> paths_;
  const bool as_they_are_;
  size_t at_ = 0;
};

class FixedRecordsCursor final : public Cursor<std::string_view> {
 public:
  FixedRecordsCursor(const InputSplit& split, int64_t length, TaskContext& context)
      : context_(context),
        bytes_(net::bytes_of(or_throw(context.services->files().open(split.path)), split.offset,
                             split.offset + split.length)),
        path_(split.path),
        to_the_end_(split.length == kToTheEnd),
        length_(static_cast<size_t>(length)),
        left_(split.length) {
    buffer_.resize(std::max<size_t>(kRecordsBatch / length_, 1) * length_);
  }
  bool next(Sink<std::string_view> out) override {
    const auto wanted =
        static_cast<size_t>(std::min<int64_t>(left_, static_cast<int64_t>(buffer_.size())));
    const size_t got = or_throw(bytes_->read(buffer_.data(), wanted));
    if (got != wanted && !to_the_end_) fail_shorter(path_);
    require_whole(path_, static_cast<int64_t>(got % length_));
    left_ = got == wanted ? left_ - static_cast<int64_t>(got) : 0;
    context_.metrics.input_bytes += static_cast<int64_t>(got);
    for (size_t at = 0; at < got; at += length_) {
      ++context_.metrics.input_records;
      if (!out(std::string_view(buffer_).substr(at, length_))) return false;
    }
    return left_ > 0;
  }

 private:
  TaskContext& context_;
  std::unique_ptr<net::ByteSource> bytes_;
  const std::string path_;
  const bool to_the_end_;
  const size_t length_;
  int64_t left_;
  Bytes buffer_;
};

}  // namespace

std::unique_ptr<Cursor<WholeFilesNode::Record>> WholeFilesNode::open(int32_t partition,
                                                                     TaskContext& context) const {
  return std::make_unique<WholeFilesCursor>(
      from_bytes<std::vector<std::string>>(source_bytes(*this, partition, context)), as_they_are_,
      context);
}

std::unique_ptr<Cursor<std::string_view>> FixedRecordsNode::open(int32_t partition,
                                                                 TaskContext& context) const {
  const auto split = from_bytes<InputSplit>(source_bytes(*this, partition, context));
  return open_input<std::string_view>(split.path, context, [&] {
    return std::make_unique<FixedRecordsCursor>(split, length_, context);
  });
}

std::vector<InputSplit> split_records(const std::vector<InputFile>& files, int64_t length,
                                      int32_t min_partitions) {
  if (length <= 0)
    throw std::invalid_argument("the length of records must be positive, but was " +
                                std::to_string(length));
  int64_t total = 0;
  for (const InputFile& file : files) {
    if (net::compression_of(file.path) != net::Compression::None)
      throw std::runtime_error("Input path is compressed: " + shown_path(file.path) +
                               "; uncompress it first, records of a fixed length are not read "
                               "from compressed files");
    total += std::max<int64_t>(file.size, 0);
    if (file.size > 0) require_whole(file.path, file.size % length);
  }
  const int64_t goal = total / std::max(min_partitions, 1);
  const int64_t size = std::max<int64_t>(std::min(goal, kMaxSplit) / length, 1) * length;
  std::vector<InputSplit> splits;
  for (const InputFile& file : files) {
    if (file.size < 0) splits.push_back({file.path, 0, kToTheEnd});
    for (int64_t at = 0; at < file.size; at += size)
      splits.push_back({file.path, at, std::min(size, file.size - at)});
  }
  return splits;
}

std::vector<std::vector<std::string>> group_files(const std::vector<InputFile>& files,
                                                  int32_t min_partitions) {
  int64_t total = 0, group = 0;
  for (const InputFile& file : files) total += std::max<int64_t>(file.size, 0);
  const int32_t parts = std::max(min_partitions, 1);
  const int64_t goal = (total + parts - 1) / parts;
  std::vector<std::vector<std::string>> groups;
  for (const InputFile& file : files) {
    if (groups.empty() || group + file.size > goal) {
      groups.emplace_back();
      group = 0;
    }
    groups.back().push_back(file.path);
    group += std::max<int64_t>(file.size, 0);
  }
  return groups;
}

}  // namespace core

Rdd<std::pair<std::string, std::string>> Context::whole_files(const std::string& path,
                                                              int32_t min_partitions,
                                                              bool as_they_are,
                                                              const Making& making) {
  if (min_partitions == 0) min_partitions = default_min_partitions();
  auto node = std::make_unique<core::WholeFilesNode>(as_they_are);
  for (const auto& group :
       core::group_files(core::inputs_of(runtime_, path, as_they_are), min_partitions))
    node->source_data.push_back(core::to_bytes(group));
  node->num_partitions = static_cast<int32_t>(node->source_data.size());
  adopt(*node, making, {});
  return {*this, std::move(node)};
}

Rdd<std::pair<std::string, std::string>> Context::whole_text_files(const std::string& path,
                                                                   int32_t min_partitions,
                                                                   Site site) {
  return whole_files(path, min_partitions, false, {"WholeTextFileRDD", "wholeTextFiles", site});
}

Rdd<std::pair<std::string, std::string>> Context::binary_files(const std::string& path,
                                                               int32_t min_partitions, Site site) {
  return whole_files(path, min_partitions, true, {"BinaryFileRDD", "binaryFiles", site});
}

Rdd<std::string_view> Context::binary_records(const std::string& path, int64_t length, Site site) {
  auto node = std::make_unique<core::FixedRecordsNode>(length);
  for (const auto& split :
       core::split_records(core::inputs_of(runtime_, path), length, default_min_partitions()))
    node->source_data.push_back(core::to_bytes(split));
  node->num_partitions = static_cast<int32_t>(node->source_data.size());
  adopt(*node, {"MapPartitionsRDD", "binaryRecords", site}, {});
  return {*this, std::move(node)};
}

std::vector<std::string> Context::files_at(const std::string& path) {
  std::vector<std::string> paths;
  for (const auto& file : core::inputs_of(runtime_, path)) paths.push_back(file.path);
  return paths;
}

}  // namespace tinderbox
