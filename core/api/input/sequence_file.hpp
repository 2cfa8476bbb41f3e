// Pairs in Hadoop's sequence files: what Spark's saveAsSequenceFile writes and sequenceFile reads.
#pragma once

#include "core/api/input/sequence_format.hpp"
#include "core/api/input/skipping.hpp"
#include "core/api/input/sources.hpp"
#include "core/api/steps/output.hpp"

namespace tinderbox::core {

/// One attempt's part of a save.
class SequencePart {
 public:
  SequencePart(const std::string& directory, std::string_view key_class,
               std::string_view value_class, net::Compression how, TaskContext& context);
  void add(std::string_view key, std::string_view value) {
    writer_.add(key, value);
    file_.line_added();
  }
  void commit();

 private:
  PartFile file_;
  SequenceWriter writer_;
};
/// Errors: throws std::invalid_argument for one that only some of those who read such files know.
void require_sequence_codec(net::Compression how);

struct SaveSequence {
  Datum<std::string> directory;
  Datum<net::Compression> how;
  auto parts() const { return std::tie(directory, how); }
  template <class K, class V>
  void operator()(Cursor<std::pair<K, V>>& in, TaskContext& context) const {
    SequencePart part(directory.value, writable_class<K>(), writable_class<V>(), how.value,
                      context);
    Bytes key, value;
    drive<std::pair<K, V>>(in, context, [&](std::pair<K, V>&& record) {
      key.clear();
      value.clear();
      append_writable<K>(key, record.first);
      append_writable<V>(value, record.second);
      return part.add(key, value), true;
    });
    part.commit();
  }
};

/// What a split of a sequence file holds, and its share of the task's metrics.
class SequenceSplit {
 public:
  SequenceSplit(const InputSplit& split, TaskContext& context);
  std::optional<SequenceRecord> next();
  /// Of the file, so far.
  int64_t bytes_read() const { return reader_.bytes_read(); }
  /// Tells the task's metrics what was read since the last call.
  void count();
  /// Empty when the split is.
  const SequenceHeader& header() const { return reader_.header(); }
  /// Errors: throws std::invalid_argument: it holds others than these classes.
  [[noreturn]] void fail_classes(std::string_view key_class, std::string_view value_class) const;
  [[noreturn]] void fail(std::string_view why) const { reader_.fail(why); }

 private:
  TaskContext& context_;
  const std::string path_;
  SequenceReader reader_;
  int64_t counted_bytes_ = 0, uncounted_records_ = 0;
};

/// Source: Spark SparkContext.sequenceFile.
template <class K, class V>
class SequenceFileNode final : public OperatorNode<SequenceFileNode<K, V>, std::pair<K, V>> {
 public:
  using Record = std::pair<K, V>;
  SequenceFileNode() = default;
  explicit SequenceFileNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<Record>> open(int32_t partition, TaskContext& context) const override {
    const auto split = from_bytes<InputSplit>(source_bytes(*this, partition, context));
    return open_input<Record>(split.path, context,
                              [&] { return std::make_unique<RecordCursor>(split, context); });
  }

 private:
  class RecordCursor final : public Cursor<Record> {
   public:
    RecordCursor(const InputSplit& split, TaskContext& context) : split_(split, context) {
      const auto& [key, value] = std::tie(split_.header().key_class, split_.header().value_class);
      if (split.length > 0 && !(reads_class<K>(key) && reads_class<V>(value)))
        split_.fail_classes(writable_class<K>(), writable_class<V>());
      raw_key_ = key == kBytesWritable;
      raw_value_ = value == kBytesWritable;
    }
    bool next(Sink<Record> out) override {
      const int64_t batch_end = split_.bytes_read() + kBatch;
      bool going = true;
      while (going && split_.bytes_read() < batch_end) {
        const auto record = split_.next();
        going = record && out(read(*record));
      }
      split_.count();
      return going;
    }

   private:
    static constexpr int64_t kBatch = 256 << 10;
    Record read(const SequenceRecord& record) const {
      try {
        return Record(read_writable<K>(record.key, raw_key_),
                      read_writable<V>(record.value, raw_value_));
      } catch (const DecodeError& e) {
        split_.fail(e.what());
      }
    }
    SequenceSplit split_;
    bool raw_key_ = false, raw_value_ = false;
  };
};

}  // namespace tinderbox::core
