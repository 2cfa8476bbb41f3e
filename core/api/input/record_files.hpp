// Files of records that jobs leave for jobs: saved objects, and checkpoints.
//
// Pieces as in a shuffle block, each with its checksum, so that readers and writers hold one of
// them in memory, not the file. The last one is empty: without it the file was cut short.
#pragma once

#include <typeinfo>

#include "core/api/input/skipping.hpp"
#include "core/api/steps/node.hpp"
#include "core/api/steps/output.hpp"
#include "core/shuffle/blocks/block.hpp"
#include "net/files/byte_source.hpp"

namespace tinderbox::core {

/// Gathers records and seals them, piece by piece, into `sealed`. Thread: one task's.
class RecordPieces {
 public:
  RecordPieces(PieceFormat how, Bytes& sealed) : how_(how), sealed_(sealed) {}
  /// Where the next record is appended; call added() after it.
  Bytes& records() { return records_; }
  void added() {
    if (records_.size() >= kPieceBytes) seal();
  }
  /// The last call.
  void finish();

 private:
  void seal();
  const PieceFormat how_;
  Bytes& sealed_;
  Bytes records_;
};

/// Reads a file of records front to back. Thread: one task's.
class RecordFile {
 public:
  /// `path` is for errors.
  RecordFile(std::string path, std::unique_ptr<net::ReadFile> file);
  /// Records of the next piece, good until the next call; nullopt after the last one.
  /// Errors: throws std::runtime_error: damaged, cut short, or not to be read.
  std::optional<std::string_view> next();
  /// Of the file, so far.
  int64_t bytes_read() const { return bytes_read_; }

 private:
  [[noreturn]] void fail(const std::string& why) const;
  /// Reads so many bytes behind the first `have` of piece_.
  void fill(size_t have, size_t more);
  const std::string path_;
  const std::unique_ptr<net::ByteSource> bytes_;
  int64_t bytes_read_ = 0;
  bool ended_ = false;
  Bytes piece_;
  PieceReader reader_{{}};
};

/// The records of the pieces that `File`, made of what the constructor is given, has.
template <class T, class File>
class PieceCursor final : public Cursor<T> {
 public:
  template <class... Args>
  explicit PieceCursor(Args&&... args) : file_(std::forward<Args>(args)...) {}
  bool next(Sink<T> out) override {
    const auto piece = file_.next();
    if (!piece) return false;
    for (Decoder in(*piece); !in.done();) {
      file_.count_record();
      if (!out(decode<T>(in))) return false;
    }
    return true;
  }

 private:
  File file_;
};

/// All records of `in` into `part`, which is committed.
template <class T, class Part>
void write_all(Cursor<T>& in, Part& part, const TaskContext& context) {
  Encoder out(part.records());
  drive<T>(in, context, [&](T&& record) {
    core::encode<T>(out, record);
    return part.added(), true;
  });
  part.commit();
}

// ---- objects -----------------------------------------------------------------------------------

/// What a file of objects says of its records: written first, compared when it is read.
template <class T>
std::string object_type() {
  return typeid(owned_t<T>).name();
}

/// One attempt's part of a save: a piece with the type, then those of records.
class ObjectPart {
 public:
  ObjectPart(const std::string& directory, const std::string& type, TaskContext& context);
  Bytes& records() { return pieces_.records(); }
  void added() {
    pieces_.added();
    file_.line_added();
  }
  void commit();

 private:
  PartFile file_;
  RecordPieces pieces_;
};

struct SaveObjects {
  Datum<std::string> directory;
  auto parts() const { return std::tie(directory); }
  template <class T>
  void operator()(Cursor<T>& in, TaskContext& context) const {
    ObjectPart part(directory.value, object_type<T>(), context);
    write_all<T>(in, part, context);
  }
};

/// One file of objects. Errors: throws std::runtime_error when it is none, or damaged,
/// std::invalid_argument when they are of another type.
class ObjectFile {
 public:
  ObjectFile(const std::string& path, const std::string& type, TaskContext& context);
  std::optional<std::string_view> next();
  void count_record() { ++context_.metrics.input_records; }

 private:
  TaskContext& context_;
  RecordFile file_;
};

/// Source: Spark SparkContext.objectFile.
template <class T>
class ObjectFileNode final : public OperatorNode<ObjectFileNode<T>, T> {
 public:
  ObjectFileNode() = default;
  explicit ObjectFileNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<T>> open(int32_t partition, TaskContext& context) const override {
    const auto path = from_bytes<std::string>(context.inputs->find(this->id, partition));
    return open_input<T>(path, context, [&] {
      return std::make_unique<PieceCursor<T, ObjectFile>>(path, object_type<T>(), context);
    });
  }
};

// ---- checkpoints -------------------------------------------------------------------------------

/// One attempt's part-NNNNN of a checkpoint.
class CheckpointPart {
 public:
  CheckpointPart(const std::string& directory, TaskContext& context);
  Bytes& records() { return pieces_.records(); }
  void added() {
    pieces_.added();
    if (!sealed_.empty()) flush();
  }
  /// Another attempt may have been first, with the same records; its part stays.
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(const std::string& why) const;
  TaskContext& context_;
  const std::string path_;
  std::unique_ptr<net::WriteFile> file_;
  Bytes sealed_;
  RecordPieces pieces_{{}, sealed_};
};

/// Writes a partition's records to `directory`. Errors: throws std::runtime_error with Spark's
/// words.
struct WriteCheckpointPart {
  Datum<std::string> directory;
  auto parts() const { return std::tie(directory); }
  template <class T>
  void operator()(Cursor<T>& in, TaskContext& context) const {
    CheckpointPart part(directory.value, context);
    write_all<T>(in, part, context);
  }
};

/// Errors: throws std::runtime_error with Spark's words when it is not there.
class CheckpointFile {
 public:
  CheckpointFile(const std::string& directory, int32_t partition, TaskContext& context);
  std::optional<std::string_view> next() { return file_.next(); }
  void count_record() {}

 private:
  RecordFile file_;
};

/// Files of a checkpoint directory, part-NNNNN each. Source: Spark ReliableCheckpointRDD.
template <class T>
class CheckpointNode final : public OperatorNode<CheckpointNode<T>, T> {
 public:
  explicit CheckpointNode(std::string directory) : directory_(std::move(directory)) {}
  explicit CheckpointNode(Decoder& in) : directory_(in.text()) {}
  void encode(Encoder& out) const { out.text(directory_); }
  std::unique_ptr<Cursor<T>> open(int32_t partition, TaskContext& context) const override {
    return std::make_unique<PieceCursor<T, CheckpointFile>>(directory_, partition, context);
  }

 private:
  std::string directory_;
};

}  // namespace tinderbox::core
