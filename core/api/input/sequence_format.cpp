#include "core/api/input/sequence_format.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/api/input/skipping.hpp"
#include "core/plan/or_throw.hpp"
#include "net/process/environment.hpp"

namespace tinderbox::core {
namespace {

using Layout = SequenceHeader::Layout;

constexpr std::string_view kMagicOfSequences = "SEQ";
constexpr char kVersion = 6;
constexpr int32_t kEscape = -1;
constexpr size_t kMarkerBytes = 16;
constexpr size_t kEscapedMarker = sizeof kEscape + kMarkerBytes;
// Source: Hadoop SequenceFile.SYNC_INTERVAL, io.seqfile.compress.blocksize.
constexpr size_t kMarkerInterval = 100 << 10;
constexpr size_t kBlockBytes = 1'000'000;
constexpr size_t kWindow = 256 << 10;
constexpr size_t kVintBytes = 9;
constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();

struct Codec {
  net::Compression how;
  std::string_view name;
};
// The first one of a kind is written.
constexpr Codec kCodecs[] = {
    {net::Compression::Deflate, "org.apache.hadoop.io.compress.DefaultCodec"},
    {net::Compression::Deflate, "org.apache.hadoop.io.compress.DeflateCodec"},
    {net::Compression::Gzip, "org.apache.hadoop.io.compress.GzipCodec"},
    {net::Compression::Zstd, "org.apache.hadoop.io.compress.ZStandardCodec"},
};

std::string_view codec_name(net::Compression how) {
  return std::find_if(std::begin(kCodecs), std::end(kCodecs),
                      [&](const Codec& codec) { return codec.how == how; })
      ->name;
}

Bytes escaped(std::string_view marker) {
  Bytes bytes;
  append_marker(bytes, marker);
  return bytes;
}

}  // namespace

void append_header(Bytes& out, const SequenceHeader& header) {
  out += kMagicOfSequences;
  out += kVersion;
  append_text_writable(out, header.key_class);
  append_text_writable(out, header.value_class);
  append_writable(out, header.layout != Layout::Plain);
  append_writable(out, header.layout == Layout::Blocks);
  if (header.layout != Layout::Plain) append_text_writable(out, codec_name(header.codec));
  append_big_endian<int32_t>(out, 0);  // pairs of metadata
  out += header.marker;
}

void append_marker(Bytes& out, std::string_view marker) {
  append_big_endian(out, kEscape);
  out += marker;
}

Bytes random_marker() {
  Bytes marker;
  int high = -1;
  for (const char c : net::unique_name()) {
    if (c == '-') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high >= 0) marker += static_cast<char>(high << 4 | digit);
    high = high < 0 ? digit : -1;
  }
  return marker;
}

// ---- writing -----------------------------------------------------------------------------------

SequenceWriter::SequenceWriter(Bytes& out, SequenceHeader header)
    : out_(out), header_(std::move(header)) {
  append_header(out_, header_);
}

void SequenceWriter::add(std::string_view key, std::string_view value) {
  if (key.size() + value.size() > kMostBytes - kBlockBytes)
    throw std::length_error("a record of " + std::to_string(key.size() + value.size()) +
                            " bytes is longer than a sequence file can hold (2 GB)");
  if (header_.layout == Layout::Plain) return add_record(key, value);
  keys_.add(key);
  values_.add(value);
  ++in_block_;
  if (keys_.bytes.size() + values_.bytes.size() >= kBlockBytes) finish();
}

void SequenceWriter::add_record(std::string_view key, std::string_view value) {
  if (since_marker_ >= kMarkerInterval) {
    append_marker(out_, header_.marker);
    since_marker_ = 0;
  }
  append_big_endian(out_, static_cast<int32_t>(key.size() + value.size()));
  append_big_endian(out_, static_cast<int32_t>(key.size()));
  out_ += key;
  out_ += value;
  since_marker_ += 2 * sizeof(int32_t) + key.size() + value.size();
}

void SequenceWriter::finish() {
  if (in_block_ == 0) return;
  append_marker(out_, header_.marker);
  append_vint(out_, in_block_);
  write_column(keys_);
  write_column(values_);
  in_block_ = 0;
}

void SequenceWriter::Column::add(std::string_view record) {
  append_vint(lengths, static_cast<int64_t>(record.size()));
  bytes += record;
}

void SequenceWriter::write_column(Column& column) {
  for (Bytes* part : {&column.lengths, &column.bytes}) {
    append_text_writable(out_, net::compressed(header_.codec, *part));
    part->clear();
  }
}

// ---- reading -----------------------------------------------------------------------------------

SequenceReader::Window::Window(net::Files& files, const std::string& path, int64_t at)
    : bytes_(net::bytes_of(or_throw(files.open(path)), at)), at_(at) {}

std::string_view SequenceReader::Window::peek(size_t n) {
  while (have_ - pos_ < n) {
    buffer_.erase(0, pos_);
    have_ -= pos_;
    pos_ = 0;
    // As much again as is there: what a damaged length claims is not set aside.
    const size_t more = std::max(kWindow, have_);
    buffer_.resize(have_ + more);
    const size_t got = or_throw(bytes_->read(buffer_.data() + have_, more));
    have_ += got;
    bytes_read_ += static_cast<int64_t>(got);
    if (got < more) break;
  }
  return std::string_view(buffer_).substr(pos_, std::min(n, have_ - pos_));
}

void SequenceReader::Window::skip(size_t n) {
  pos_ += n;
  at_ += static_cast<int64_t>(n);
}

std::string_view SequenceReader::Window::take(size_t n) {
  const std::string_view bytes = peek(n);
  if (bytes.size() < n) malformed("the file is cut short");
  skip(n);
  return bytes;
}

size_t SequenceReader::Window::take_length() {
  const std::string_view bytes = peek(kVintBytes);
  std::string_view left = bytes;
  const size_t length = core::take_length(left);
  skip(bytes.size() - left.size());
  return length;
}

SequenceReader::SequenceReader(net::Files& files, const InputSplit& split)
    : path_(split.path), end_(split.offset + split.length), file_(files, split.path, 0) {
  if (split.length == 0) {
    done_ = true;  // of an empty file
    return;
  }
  try {
    read_header();
    if (file_.position() >= split.offset) {
      done_ = file_.position() >= end_;
      return;
    }
    earlier_bytes_ = file_.bytes_read();
    file_ = Window(files, path_, split.offset);
    find_marker();
  } catch (const DecodeError& e) {
    fail(e.what());
  }
}

void SequenceReader::fail(std::string_view why) const {
  throw std::runtime_error("'" + path_ + "' is damaged: " + std::string(why));
}

void SequenceReader::read_header() {
  const std::string_view magic = file_.peek(kMagicOfSequences.size() + 1);
  if (!magic.starts_with(kMagicOfSequences))
    throw std::runtime_error("'" + path_ + "' is no sequence file of Hadoop's");
  const char version = file_.take(kMagicOfSequences.size() + 1).back();
  if (version != kVersion)
    throw std::runtime_error("'" + path_ + "' is a sequence file of version " +
                             std::to_string(static_cast<int>(version)) +
                             ": only version 6 is read, which Hadoop writes");
  header_.key_class = file_.take(file_.take_length());
  header_.value_class = file_.take(file_.take_length());
  const bool compressed = file_.take(1)[0] != 0;
  const bool blocks = file_.take(1)[0] != 0;
  if (compressed) {
    header_.layout = blocks ? Layout::Blocks : Layout::Records;
    read_codec(file_.take(file_.take_length()));
  }
  std::string_view count = file_.take(sizeof(int32_t));
  const auto pairs = take_big_endian<int32_t>(count);
  if (pairs < 0) malformed("the number of its metadata makes no sense");
  for (int64_t n = 2 * int64_t{pairs}; n > 0; --n) file_.take(file_.take_length());
  header_.marker = file_.take(kMarkerBytes);
}

void SequenceReader::read_codec(std::string_view name) {
  for (const Codec& codec : kCodecs) {
    if (codec.name != name) continue;
    header_.codec = codec.how;
    return;
  }
  throw std::runtime_error("'" + path_ + "' is compressed by " + std::string(name) +
                           ", which is not read here: write it with DefaultCodec, GzipCodec, "
                           "ZStandardCodec or without compression");
}

void SequenceReader::require_whole(int64_t end) const {
  if (end_ != kToTheEnd && end < end_) fail_shorter(path_);
}

void SequenceReader::find_marker() {
  const Bytes wanted = escaped(header_.marker);
  while (file_.position() < end_) {
    const std::string_view bytes = file_.peek(kWindow);
    const size_t found = bytes.find(wanted);
    if (found != std::string_view::npos) return file_.skip(found);
    if (bytes.size() < kWindow) {
      require_whole(file_.position() + static_cast<int64_t>(bytes.size()));
      break;
    }
    // Its end may hold the beginning of a marker.
    file_.skip(bytes.size() - wanted.size() + 1);
  }
  done_ = true;
}

bool SequenceReader::at_record() {
  while (true) {
    std::string_view next = file_.peek(kEscapedMarker);
    if (next.empty()) {
      require_whole(file_.position());
      return false;
    }
    if (next.size() < sizeof kEscape) malformed("the file is cut short");
    if (take_big_endian<int32_t>(next) != kEscape) {
      if (header_.layout == Layout::Blocks) malformed("no marker where a block begins");
      return true;
    }
    if (file_.position() >= end_) return false;
    if (next.size() < kMarkerBytes) malformed("the file is cut short");
    if (next != header_.marker) malformed("a marker is another one than the file's");
    file_.skip(kEscapedMarker);
    if (header_.layout == Layout::Blocks) return true;
  }
}

std::optional<SequenceRecord> SequenceReader::next() {
  if (done_) return {};
  try {
    while (in_block_ == 0) {
      if (!at_record()) {
        done_ = true;
        return {};
      }
      if (header_.layout != Layout::Blocks) return read_record();
      read_block();
    }
    return next_of_block();
  } catch (const DecodeError& e) {
    fail(e.what());
  }
}

SequenceRecord SequenceReader::read_record() {
  std::string_view lengths = file_.take(2 * sizeof(int32_t));
  const auto length = take_big_endian<int32_t>(lengths);
  const auto key_length = take_big_endian<int32_t>(lengths);
  if (key_length < 0 || key_length > length) malformed("the length of a record makes no sense");
  const std::string_view record = file_.take(static_cast<size_t>(length));
  const std::string_view key = record.substr(0, static_cast<size_t>(key_length));
  const std::string_view value = record.substr(key.size());
  if (header_.layout == Layout::Plain) return {key, value};
  value_ = unpacked(value, kMostBytes);
  return {key, value_};
}

SequenceRecord SequenceReader::next_of_block() {
  --in_block_;
  const std::string_view key = keys_.next();
  return {key, values_.next()};
}

std::string_view SequenceReader::Column::next() {
  const size_t length = take_length(lengths_left);
  if (length > bytes_left.size()) malformed("a block is shorter than its records");
  const std::string_view record = bytes_left.substr(0, length);
  bytes_left.remove_prefix(length);
  return record;
}

void SequenceReader::read_block() {
  in_block_ = file_.take_length();
  read_column(keys_);
  read_column(values_);
}

void SequenceReader::read_column(Column& column) {
  column.lengths = unpacked(file_.take(file_.take_length()), in_block_ * kVintBytes);
  column.lengths_left = column.lengths;
  size_t total = 0;
  for (std::string_view left = column.lengths; !left.empty();) total += take_length(left);
  column.bytes = unpacked(file_.take(file_.take_length()), total);
  column.bytes_left = column.bytes;
}

Bytes SequenceReader::unpacked(std::string_view bytes, size_t most) const {
  return or_throw(net::uncompressed(header_.codec, bytes, most, path_));
}

}  // namespace tinderbox::core
