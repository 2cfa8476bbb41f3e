// Hadoop's SequenceFile, version 6: keys and values as bytes, whatever they mean.
//
// A file is a header, then records or blocks of records. The header ends with a marker of 16 random
// bytes. The marker comes again, behind the length -1, every 100 KB of records and before each
// block: a reader that begins anywhere looks for it, and what is read from one marker to the next
// belongs to the split in which the first one begins. So no record is lost, and none read twice,
// wherever files are cut into splits.
//
//     header  "SEQ" 6, key class, value class, compressed?, in blocks?, [codec], metadata, marker
//     record  int length, int length of key, key, value (compressed on its own, if it is)
//     block   int -1, marker, vint records, then four times vint length, compressed bytes:
//             lengths of keys, keys, lengths of values, values
// Source: Hadoop org.apache.hadoop.io.SequenceFile, SequenceFileRecordReader.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/api/input/writable.hpp"
#include "core/api/runtime/input_paths.hpp"
#include "net/files/byte_source.hpp"

namespace tinderbox::core {

struct SequenceHeader {
  enum class Layout : uint8_t { Plain, Records, Blocks };
  std::string key_class, value_class;
  Layout layout = Layout::Plain;
  net::Compression codec = net::Compression::None;  // None only when plain
  Bytes marker;                                     // Shape: 16 bytes
  bool operator==(const SequenceHeader&) const = default;
};
void append_header(Bytes& out, const SequenceHeader& header);
/// What comes before a block, and now and then before a record.
void append_marker(Bytes& out, std::string_view marker);
/// Sixteen bytes that no record holds but by chance.
Bytes random_marker();

/// Writes records behind a header: plain ones, or blocks of them.
class SequenceWriter {
 public:
  /// Appends to `out`, which may be emptied between calls. `header` is not of the layout Records.
  SequenceWriter(Bytes& out, SequenceHeader header);
  /// Errors: throws std::length_error when they are longer than the format can say.
  void add(std::string_view key, std::string_view value);
  /// Writes the block that is being filled, if there is one. The last call.
  void finish();

 private:
  /// Of the records of a block.
  struct Column {
    Bytes lengths, bytes;
    void add(std::string_view record);
  };
  void add_record(std::string_view key, std::string_view value);
  void write_column(Column& column);

  Bytes& out_;
  const SequenceHeader header_;
  size_t since_marker_ = 0;  // bytes
  int32_t in_block_ = 0;     // records
  Column keys_, values_;
};

/// Good until the next one is read.
struct SequenceRecord {
  std::string_view key, value;
};

/// Reads the records of one split. Nothing is believed: lengths only make it read on, never set
/// memory aside. Thread: one at a time.
/// Errors: throws std::runtime_error that names the file.
class SequenceReader {
 public:
  /// Errors: also when it is no sequence file, of another version, or of a codec that is not read
  /// here.
  SequenceReader(net::Files& files, const InputSplit& split);
  const SequenceHeader& header() const { return header_; }
  /// nullopt after the last one.
  std::optional<SequenceRecord> next();
  /// Of the file, so far.
  int64_t bytes_read() const { return earlier_bytes_ + file_.bytes_read(); }
  /// What is wrong with a record that next() gave.
  [[noreturn]] void fail(std::string_view why) const;

 private:
  /// The file from a position on, as much of it at once as is asked for.
  class Window {
   public:
    Window(net::Files& files, const std::string& path, int64_t at);
    int64_t position() const { return at_; }
    int64_t bytes_read() const { return bytes_read_; }
    /// The next `n` bytes, fewer only at the end; good until the next call.
    std::string_view peek(size_t n);
    void skip(size_t n);
    /// peek() and skip() of all `n`. Errors: throws DecodeError when there are fewer.
    std::string_view take(size_t n);
    size_t take_length();

   private:
    std::unique_ptr<net::ByteSource> bytes_;
    Bytes buffer_;
    size_t pos_ = 0, have_ = 0;
    int64_t at_, bytes_read_ = 0;
  };
  struct Column {
    Bytes lengths, bytes;
    std::string_view lengths_left, bytes_left;
    std::string_view next();
  };

  void read_header();
  void read_codec(std::string_view name);
  /// The file is over at `end`. Errors: throws when it was longer as it was listed.
  void require_whole(int64_t end) const;
  /// To the first marker of the split, or past its end.
  void find_marker();
  /// Passes markers. False: the next one belongs to another split, or the file is over.
  bool at_record();
  SequenceRecord read_record();
  SequenceRecord next_of_block();
  void read_block();
  void read_column(Column& column);
  Bytes unpacked(std::string_view bytes, size_t most) const;

  const std::string path_;
  const int64_t end_;
  Window file_;
  int64_t earlier_bytes_ = 0;  // read of the header by a split that is not the first
  SequenceHeader header_;
  bool done_ = false;
  Bytes value_;          // of the layout Records
  size_t in_block_ = 0;  // records
  Column keys_, values_;
};

}  // namespace tinderbox::core
