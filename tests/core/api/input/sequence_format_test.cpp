// Hadoop's sequence files as bytes: what real Spark writes, splits anywhere, damage.
#include "core/api/input/sequence_format.hpp"
#include "tests/core/api/values.hpp"
#include "tests/net/temp_dir.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using Catch::Matchers::Contains;
using Layout = SequenceHeader::Layout;
using Records = std::vector<std::pair<std::string, std::string>>;

namespace {

Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

/// A file of these bytes, and what its splits hold.
class File {
 public:
  explicit File(std::string_view bytes)
      : path_(directory_.file("x", bytes)), size_(static_cast<int64_t>(bytes.size())) {}
  Records read(int64_t from, int64_t to) const {
    Records records;
    read_into(records, from, to);
    return records;
  }
  Records read() const { return read(0, size_); }
  /// All splits of this length.
  Records read_by(int64_t length) const {
    Records records;
    for (int64_t at = 0; at < size_; at += length)
      read_into(records, at, std::min(at + length, size_));
    return records;
  }
  /// The records before what is wrong, and what that is; empty: nothing.
  std::pair<Records, std::string> read_damaged() const {
    Records records;
    try {
      read_into(records, 0, size_);
    } catch (const std::runtime_error& e) {
      return {records, e.what()};
    }
    return {records, ""};
  }
  SequenceHeader header() const { return SequenceReader(*files_, {path_, 0, size_}).header(); }

 private:
  void read_into(Records& records, int64_t from, int64_t to) const {
    SequenceReader reader(*files_, {path_, from, to - from});
    while (const auto record = reader.next()) records.emplace_back(record->key, record->value);
  }
  test::TempDir directory_;
  std::string path_;
  int64_t size_;
  std::unique_ptr<net::Files> files_ = net::make_real_files();
};

Records some_records(size_t n, size_t length) {
  Records records;
  for (size_t i = 0; i < n; ++i)
    records.emplace_back("key " + std::to_string(i),
                         std::string(i * 7 % length, char('a' + i % 26)));
  return records;
}

const SequenceHeader kHeader{"K", "V", Layout::Plain, net::Compression::None, "0123456789abcdef"};

SequenceHeader header_of(Layout layout, net::Compression codec) {
  SequenceHeader header = kHeader;
  header.layout = layout;
  header.codec = codec;
  return header;
}

/// `per_block` records a block; in Records, a marker before each so many.
Bytes file_of(const SequenceHeader& header, const Records& records, size_t per_block) {
  Bytes out;
  if (header.layout == Layout::Records) append_header(out, header);
  std::optional<SequenceWriter> writer;
  if (header.layout != Layout::Records) writer.emplace(out, header);
  for (size_t i = 0; i < records.size(); ++i) {
    const auto& [key, value] = records[i];
    if (writer) {
      writer->add(key, value);
      if ((i + 1) % per_block == 0) writer->finish();
      continue;
    }
    const Bytes packed = net::compressed(header.codec, value);
    if (i > 0 && i % per_block == 0) append_marker(out, header.marker);
    append_big_endian(out, static_cast<int32_t>(key.size() + packed.size()));
    append_big_endian(out, static_cast<int32_t>(key.size()));
    out += key + packed;
  }
  if (writer) writer->finish();
  return out;
}

bool is_prefix(const Records& records, const Records& of) {
  return records.size() <= of.size() && std::equal(records.begin(), records.end(), of.begin());
}

// Written by Spark 4.3.0: saveAsSequenceFile of (1, "one"), (-300, "zwölf").
constexpr std::string_view kSparkPlain =
    "53455106206f72672e6170616368652e6861646f6f702e696f2e496e745772697461626c65196f72672e6170616368"
    "652e6861646f6f702e696f2e54657874000000000000"
    "abb88020d17cfffb626667a42a291265"
    "0000000800000004"
    "00000001036f6e65"
    "0000000b00000004fffffed4067a77c3b66c66";
// The same and (2000000000, "x" 200 times), with classOf[DefaultCodec].
constexpr std::string_view kSparkDefault =
    "53455106206f72672e6170616368652e6861646f6f702e696f2e496e745772697461626c65196f72672e6170616368"
    "652e6861646f6f702e696f2e5465787401012a6f72672e6170616368652e6861646f6f702e696f2e636f6d70726573"
    "732e44656661756c74436f64656300000000af1c2c922d7f7f920f994e2a83780fb2ffffffffaf1c2c922d7f7f920f"
    "994e2a83780fb2030b789c6361610100001b000d14789c63606060fcffffdf9572d3290c001cc105120c789c6361ef"
    "3f05000211016518789c63cecf4b65ab2a3fbc2d27adff44c530010088c2639f";
// With classOf[GzipCodec].
constexpr std::string_view kSparkGzip =
    "53455106206f72672e6170616368652e6861646f6f702e696f2e496e745772697461626c65196f72672e6170616368"
    "652e6861646f6f702e696f2e546578740101276f72672e6170616368652e6861646f6f702e696f2e636f6d70726573"
    "732e477a6970436f64656300000000fc9893f9758ec5f07a3008011150fc80fffffffffc9893f9758ec5f07a300801"
    "1150fc8003171f8b08000000000000006361610100d370499b03000000201f8b080000000000000063606060fcffff"
    "df9572d3290c004acf5b4a0c000000181f8b08000000000000006361ef3f0500e4f1c36c04000000241f8b08000000"
    "0000000063cecf4b65ab2a3fbc2d27adff44c53001004f8d6b49d5000000";
// A value of Hadoop's RecordCompressWriter with DefaultCodec: Text "one".
constexpr std::string_view kHadoopPackedOne = "789c63cecf4b0500029e0146";

}  // namespace

TEST_CASE("numbers of a variable length are Hadoop's", "[sequence]") {
  struct Case {
    int64_t value;
    std::string_view hex;
  };
  for (const auto& [value, hex] : {Case{0, "00"},
                                   {127, "7f"},
                                   {128, "8f80"},
                                   {-1, "ff"},
                                   {-112, "90"},
                                   {-113, "8770"},
                                   {300, "8e012c"},
                                   {-300, "86012b"},
                                   {INT32_MAX, "8c7fffffff"},
                                   {INT64_MAX, "887fffffffffffffff"},
                                   {INT64_MIN, "807fffffffffffffff"}}) {
    Bytes out;
    append_vint(out, value);
    CHECK(out == from_hex(hex));
    std::string_view left = out;
    CHECK(take_vint(left) == value);
    CHECK(left.empty());
    left = std::string_view(out).substr(0, out.size() - 1);
    CHECK_THROWS_AS(take_vint(left), DecodeError);
  }
}

TEST_CASE("what Spark wrote: the same header, the same records, the same bytes", "[sequence]") {
  const Bytes plain = from_hex(kSparkPlain);
  const SequenceHeader header{std::string(kIntWritable), std::string(kText), Layout::Plain,
                              net::Compression::None, from_hex("abb88020d17cfffb626667a42a291265")};
  CHECK(File(plain).header() == header);
  Records records{{from_hex("00000001"), "\3one"}, {from_hex("fffffed4"), "\6zwölf"}};
  CHECK(File(plain).read() == records);
  Bytes ours;
  SequenceWriter writer(ours, header);
  for (const auto& [key, value] : records) writer.add(key, value);
  writer.finish();
  CHECK(ours == plain);

  records.emplace_back(from_hex("77359400"), from_hex("8fc8") + std::string(200, 'x'));
  for (const auto& [hex, codec] : {std::pair(kSparkDefault, net::Compression::Deflate),
                                   std::pair(kSparkGzip, net::Compression::Gzip)}) {
    const File file(from_hex(hex));
    CHECK(file.read() == records);
    CHECK(file.header().layout == Layout::Blocks);
    CHECK(file.header().codec == codec);
    Bytes start;
    append_header(start, file.header());
    append_marker(start, file.header().marker);
    CHECK(from_hex(hex).starts_with(start));
  }
  CHECK(*net::uncompressed(net::Compression::Deflate, from_hex(kHadoopPackedOne), 4, "x") ==
        "\3one");
}

TEST_CASE("splits of any length lose no record and double none", "[sequence]") {
  const Records records = some_records(90, 60);
  for (const auto& header : {header_of(Layout::Blocks, net::Compression::Deflate),
                             header_of(Layout::Blocks, net::Compression::Zstd),
                             header_of(Layout::Records, net::Compression::Gzip)}) {
    const Bytes bytes = file_of(header, records, 4);
    const File file(bytes);
    for (const int64_t length : {1, 2, 3, 7, 19, 20, 21, 33, 64, 100, 255, 1000, 1 << 20}) {
      INFO(length << " of " << bytes.size());
      CHECK(file.read_by(length) == records);
    }
  }
}

TEST_CASE("splits at each side of a marker among plain records", "[sequence]") {
  const Records records = some_records(12000, 90);
  const Bytes bytes = file_of(kHeader, records, 1);
  const File file(bytes);
  CHECK(file.read_by(4096) == records);
  Bytes marker;
  append_marker(marker, kHeader.marker);
  int markers = 0;
  for (size_t at = 0; (at = bytes.find(marker, at)) != Bytes::npos; ++at, ++markers)
    for (const int64_t by : {-1, 0, 1, 19, 20, 21}) {
      const int64_t cut = static_cast<int64_t>(at) + by;
      Records parts = file.read(0, cut);
      if (by <= 0) CHECK(parts.size() < records.size());
      for (auto& record : file.read(cut, static_cast<int64_t>(bytes.size())))
        parts.push_back(std::move(record));
      CHECK(parts == records);
    }
  CHECK(markers == static_cast<int>(bytes.size() / (100 << 10)));
}

TEST_CASE("a file cut anywhere gives the records before the cut", "[sequence]") {
  const Records records = some_records(12, 30);
  for (const auto& header : {kHeader, header_of(Layout::Blocks, net::Compression::Gzip),
                             header_of(Layout::Records, net::Compression::Deflate)}) {
    const Bytes bytes = file_of(header, records, 3);
    size_t whole = 0;
    for (size_t n = 1; n < bytes.size(); ++n) {
      const auto [read, error] = File(bytes.substr(0, n)).read_damaged();
      INFO(n << " of " << bytes.size() << ": " << error);
      CHECK(is_prefix(read, records));
      CHECK(read.size() < records.size());
      if (error.empty()) ++whole;
    }
    // Behind the header, a marker, a record or a block nothing is missed.
    CHECK(whole >= 1);
    CHECK(whole <= 2 * records.size());
  }
}

TEST_CASE("a file that became shorter than its splits is refused", "[sequence]") {
  const Records records = some_records(12, 30), first(records.begin(), records.begin() + 6);
  for (const auto& header : {kHeader, header_of(Layout::Blocks, net::Compression::Gzip),
                             header_of(Layout::Records, net::Compression::Deflate)}) {
    const auto listed = static_cast<int64_t>(file_of(header, records, 3).size());
    const Bytes left = file_of(header, first, 3);
    const auto size = static_cast<int64_t>(left.size());
    const File file(left);
    CHECK(file.read(0, size) == first);
    for (const int64_t from : {int64_t{0}, size - 1, size, listed - 1})
      CHECK_THROWS_WITH(file.read(from, listed), Contains("became shorter while it was read"));
    CHECK(file.read(0, kToTheEnd) == first);
  }
}

TEST_CASE("a file with any byte changed is read or refused", "[sequence]") {
  const Records records = some_records(8, 30);
  for (const auto& header : {kHeader, header_of(Layout::Blocks, net::Compression::Deflate),
                             header_of(Layout::Blocks, net::Compression::Zstd),
                             header_of(Layout::Records, net::Compression::Gzip)}) {
    const Bytes bytes = file_of(header, records, 3);
    int refused = 0;
    for (size_t i = 0; i < bytes.size(); ++i)
      for (const int change : {0x01, 0x80, 0xff}) {
        Bytes damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ change);
        const auto [read, error] = File(damaged).read_damaged();
        INFO(i << " changed by " << change << ": " << error);
        CHECK(read.size() <= bytes.size());
        CHECK(error.find('\n') == std::string::npos);
        if (!error.empty()) ++refused;
      }
    CHECK(refused > 0);
  }
}

TEST_CASE("lengths that claim too much are refused", "[sequence]") {
  Bytes start;
  append_header(start, kHeader);
  const auto error_of = [&](std::string_view rest) {
    return File(start + from_hex(rest)).read_damaged().second;
  };
  CHECK_THAT(error_of("7fffffff00000001aa"), Contains("is damaged: the file is cut short"));
  CHECK_THAT(error_of("0000000200000003aaaa"), Contains("length of a record makes no sense"));
  CHECK_THAT(error_of("fffffffe00000000"), Contains("length of a record makes no sense"));
  CHECK_THAT(error_of("ffffffff"
                      "00112233445566778899aabbccddeeff"),
             Contains("a marker is another"));
  // A block whose lengths announce 3 bytes of keys, and whose keys are a megabyte.
  start.clear();
  const auto how = net::Compression::Deflate;
  append_header(start, header_of(Layout::Blocks, how));
  append_marker(start, kHeader.marker);
  append_vint(start, 1);
  append_text_writable(start, net::compressed(how, "\3"));
  append_text_writable(start, net::compressed(how, Bytes(1 << 20, 'x')));
  CHECK_THAT(error_of(""), Contains("holds more than it announces"));
}

TEST_CASE("what is no sequence file, or of a codec that is not read, is told", "[sequence]") {
  const auto error_of = [](std::string_view bytes) { return File(bytes).read_damaged().second; };
  CHECK_THAT(error_of("SE"), Contains("is no sequence file of Hadoop's"));
  CHECK_THAT(error_of("lines\nof text"), Contains("is no sequence file of Hadoop's"));
  CHECK_THAT(error_of("SEQ\5xxxxxxxxxxx"), Contains("of version 5: only version 6 is read"));
  Bytes bytes = from_hex(kSparkDefault);
  const std::string name = "*org.apache.hadoop.io.compress.DefaultCodec";
  bytes.replace(bytes.find(name), name.size(), "(org.apache.hadoop.io.compress.BZip2Codec");
  CHECK_THAT(error_of(bytes),
             Contains("is compressed by org.apache.hadoop.io.compress.BZip2Codec, which is not "
                      "read here: write it with DefaultCodec"));
  CHECK(File("").read().empty());
}
