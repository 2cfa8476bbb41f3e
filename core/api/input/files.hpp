// Whole files, records of a fixed length, and files of records that other jobs saved.
#pragma once

#include <typeinfo>

#include "core/api/context.hpp"
#include "core/api/runtime/input_paths.hpp"
#include "core/api/steps/node.hpp"
#include "core/api/steps/output.hpp"
#include "core/shuffle/block.hpp"

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

/// What a file of objects says of its records: written first, compared when it is read.
template <class T>
std::string object_type() {
  return typeid(owned_t<T>).name();
}

/// One attempt's part of a file of objects: a piece with the type, then pieces of records.
class ObjectPart {
 public:
  ObjectPart(const std::string& directory, const std::string& type, TaskContext& context);
  Bytes& records() { return records_; }
  void added();
  void commit();

 private:
  void seal();
  PartFile file_;
  const PieceFormat format_;
  Bytes records_;
};

struct SaveObjects {
  Datum<std::string> directory;
  auto parts() const { return std::tie(directory); }
  template <class T>
  void operator()(Cursor<T>& in, TaskContext& context) const {
    ObjectPart part(directory.value, object_type<T>(), context);
    Encoder out(part.records());
    drive<T>(in, context, [&](T&& record) {
      core::encode<T>(out, record);
      return part.added(), true;
    });
    part.commit();
  }
};

/// The pieces of one file of objects. Errors: std::runtime_error when it is none, damaged, or of
/// another type.
class ObjectFile {
 public:
  ObjectFile(const std::string& path, const std::string& type, TaskContext& context);
  /// Records of the next piece, good until the next call; nullopt after the last one.
  std::optional<std::string_view> next();

 private:
  std::string path_;
  Payload bytes_;
  PieceReader pieces_;
};

/// Source: Spark SparkContext.objectFile, sequenceFile.
template <class T>
class ObjectFileNode final : public OperatorNode<ObjectFileNode<T>, T> {
 public:
  ObjectFileNode() = default;
  explicit ObjectFileNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<T>> open(int32_t partition, TaskContext& context) const override {
    const auto path = from_bytes<std::string>(context.inputs->find(this->id, partition));
    return std::make_unique<PieceCursor>(path, context);
  }

 private:
  class PieceCursor final : public Cursor<T> {
   public:
    PieceCursor(const std::string& path, TaskContext& context)
        : context_(context), file_(path, object_type<T>(), context) {}
    bool next(Sink<T> out) override {
      const auto piece = file_.next();
      if (!piece) return false;
      for (Decoder in(*piece); !in.done();) {
        ++context_.metrics.input_records;
        if (!out(decode<T>(in))) return false;
      }
      return true;
    }

   private:
    TaskContext& context_;
    ObjectFile file_;
  };
};

}  // namespace tinderbox::core
