// Whole files, and records of a fixed length.
#pragma once

#include "core/api/context.hpp"
#include "core/api/runtime/input_paths.hpp"
#include "core/api/steps/node.hpp"

namespace tinderbox::core {

/// (URL, content) of each file of a partition; `as_they_are`: compressed ones too. Source: Spark
/// WholeTextFileRDD, BinaryFileRDD.
class WholeFilesNode final
    : public OperatorNode<WholeFilesNode, std::pair<std::string, std::string>> {
 public:
  using Record = std::pair<std::string, std::string>;
  explicit WholeFilesNode(bool as_they_are) : as_they_are_(as_they_are) {}
  explicit WholeFilesNode(Decoder& in) : as_they_are_(in.scalar<uint8_t>() != 0) {}
  void encode(Encoder& out) const { out.scalar(static_cast<uint8_t>(as_they_are_)); }
  std::unique_ptr<Cursor<Record>> open(int32_t partition, TaskContext& context) const override;

 private:
  bool as_they_are_;
};

/// Records of `length` bytes. Source: Spark SparkContext.binaryRecords, Hadoop
/// FixedLengthInputFormat.
class FixedRecordsNode final : public OperatorNode<FixedRecordsNode, std::string_view> {
 public:
  explicit FixedRecordsNode(int64_t length) : length_(length) {}
  explicit FixedRecordsNode(Decoder& in) : length_(in.scalar<int64_t>()) {}
  void encode(Encoder& out) const { out.scalar(length_); }
  std::unique_ptr<Cursor<std::string_view>> open(int32_t partition,
                                                 TaskContext& context) const override;

 private:
  int64_t length_;
};
/// Splits whose offsets and lengths are multiples of `length`. Errors: throws
/// std::invalid_argument unless it is positive, std::runtime_error for a file that does not hold
/// whole records.
std::vector<InputSplit> split_records(const std::vector<InputFile>& files, int64_t length,
                                      int32_t min_partitions);
/// Files in groups of about total/min_partitions bytes. Source: Hadoop CombineFileInputFormat.
std::vector<std::vector<std::string>> group_files(const std::vector<InputFile>& files,
                                                  int32_t min_partitions);

}  // namespace tinderbox::core
