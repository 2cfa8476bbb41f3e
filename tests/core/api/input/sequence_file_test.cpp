// Pairs of types in Hadoop's sequence files.
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using Catch::Matchers::Contains;
using tests::LocalRuntime;
using Raw = std::vector<uint8_t>;

namespace {

class Saved {
 public:
  template <class K, class V>
  std::string save(const std::vector<std::pair<K, V>>& pairs, Compression how, int32_t parts = 3) {
    const std::string path = runtime.services.directory + "/saved-" + std::to_string(saves_++);
    context.parallelize(pairs, parts).save_as_sequence_file(path, how);
    return path;
  }
  /// Written and read back, by several splits a file.
  template <class K, class V>
  void check_back(const std::vector<std::pair<K, V>>& pairs) {
    for (const auto how : {Compression::None, Compression::Deflate, Compression::Gzip}) {
      const std::string path = save(pairs, how);
      CHECK(context.sequence_file<K, V>(path).collect() == pairs);
      CHECK(context.sequence_file<K, V>(path, 17).collect() == pairs);
    }
  }
  void put(const std::string& path, std::string_view bytes) {
    auto file = runtime.files().create(path);
    REQUIRE(file);
    REQUIRE((*file)->append(bytes));
    REQUIRE((*file)->commit());
  }
  LocalRuntime runtime;
  Context context{runtime};

 private:
  int saves_ = 0;
};

template <class K, class V, class F>
std::vector<std::pair<K, V>> pairs_of(int n, F f) {
  std::vector<std::pair<K, V>> pairs;
  for (int i = 0; i < n; ++i) pairs.push_back(f(i));
  return pairs;
}

}  // namespace

TEST_CASE_METHOD(Saved, "sequence files of each type, compressed or not", "[sequence]") {
  check_back(pairs_of<int32_t, std::string>(3000, [](int i) {
    return std::pair(i * -70001, std::string(static_cast<size_t>(i % 300), 'x') + "é\n\0");
  }));
  check_back(pairs_of<int64_t, Raw>(3000, [](int i) {
    return std::pair(int64_t{i} << 33, Raw(static_cast<size_t>(i % 5), static_cast<uint8_t>(i)));
  }));
  check_back(pairs_of<double, float>(100, [](int i) { return std::pair(i / 3.0, -1.5f * i); }));
  check_back(pairs_of<bool, std::monostate>(
      100, [](int i) { return std::pair(i % 3 == 0, std::monostate{}); }));
  check_back(pairs_of<std::monostate, std::vector<std::byte>>(
      10, [](int) { return std::pair(std::monostate{}, std::vector{std::byte{255}}); }));
  check_back(std::vector<std::pair<std::string, double>>{});
}

TEST_CASE_METHOD(Saved, "a sequence file of several blocks and markers, in many splits",
                 "[sequence]") {
  const auto pairs = pairs_of<int64_t, std::string>(
      40000, [](int i) { return std::pair(int64_t{i}, std::string(90, char('a' + i % 26))); });
  for (const auto how : {Compression::None, Compression::Deflate}) {
    const std::string path = save(pairs, how, 1);
    const auto entries = *runtime.files().list(path);
    REQUIRE(entries.size() == 2);
    CHECK(entries[0].name == "_SUCCESS");
    CHECK(entries[1].name == "part-00000");
    auto read = context.sequence_file<int64_t, std::string_view>(path, 40);
    CHECK(read.num_partitions() == 40);
    CHECK(read.collect() == pairs);
    CHECK(runtime.last_metrics.input_records == 40000);
    CHECK(runtime.last_metrics.input_bytes >= entries[1].stat.size);
    CHECK(read.values().map([](std::string_view v) { return int64_t(v.size()); }).sum() == 3600000);
    CHECK(read.take(1) == std::vector{pairs[0]});
    // Records are spread over splits, not all in one.
    const auto sizes = read.glom().map([](const auto& part) { return part.size(); }).collect();
    CHECK(*std::max_element(sizes.begin(), sizes.end()) < 20000);
  }
}

TEST_CASE_METHOD(Saved, "text is read from BytesWritable too", "[sequence]") {
  const Raw bytes{'a', 0, 255};
  const std::string path = save<Raw, Raw>({{bytes, {}}}, Compression::None);
  CHECK(context.sequence_file<std::string, std::string_view>(path).collect() ==
        std::vector<std::pair<std::string, std::string>>{{std::string("a\0\xff", 3), ""}});
}

TEST_CASE_METHOD(Saved, "a sequence file of other classes says which types to ask for",
                 "[sequence]") {
  const std::string path = save<int32_t, std::string>({{1, "one"}}, Compression::None, 1);
  CHECK_THROWS_WITH(
      (context.sequence_file<int64_t, std::string>(path).count()),
      Contains("'" + path +
               "/part-00000' holds org.apache.hadoop.io.IntWritable and org.apache.hadoop.io.Text, "
               "not org.apache.hadoop.io.LongWritable and org.apache.hadoop.io.Text as was asked "
               "for: read it by sequence_file<int32_t, std::string>()"));
  CHECK_THROWS_WITH((context.sequence_file<int32_t, Raw>(path).count()),
                    Contains("sequence_file<int32_t, std::string>()"));
  Bytes other;
  core::append_header(
      other, {std::string(core::kText), "org.apache.hadoop.io.MapWritable",
              core::SequenceHeader::Layout::Plain, Compression::None, core::random_marker()});
  put(path + "/part-00000", other);
  CHECK_THROWS_WITH((context.sequence_file<std::string, std::string>(path).count()),
                    Contains("no type is read from org.apache.hadoop.io.MapWritable"));
}

TEST_CASE_METHOD(Saved, "a sequence file whose keys are not what its classes say is damaged",
                 "[sequence]") {
  const std::string path = runtime.services.directory + "/x";
  Bytes bytes;
  core::SequenceWriter writer(
      bytes, {std::string(core::kIntWritable), std::string(core::kText),
              core::SequenceHeader::Layout::Plain, Compression::None, core::random_marker()});
  writer.add("four", "\5hello");
  const auto check = [&](const char* key, const char* value, const char* why) {
    Bytes worse = bytes;
    core::append_big_endian(worse, static_cast<int32_t>(std::strlen(key) + std::strlen(value)));
    core::append_big_endian(worse, static_cast<int32_t>(std::strlen(key)));
    put(path, worse + key + value);
    CHECK_THROWS_WITH((context.sequence_file<int32_t, std::string>(path).count()),
                      Contains("'" + path + "' is damaged: " + why));
  };
  check("six", "\5hello", "the bytes end too early");
  check("seven", "\5hello", "bytes are left over");
  check("four", "\7hello", "a text is not as long as it says");
  check("four", "\x87hello", "a length makes no sense");
}

TEST_CASE_METHOD(Saved, "sequence files are refused where they cannot be", "[sequence]") {
  const std::vector<std::pair<int32_t, std::string>> pairs{{1, "one"}};
  CHECK_THROWS_WITH(save(pairs, Compression::Zstd), Contains("choose Compression::Deflate, Gzip"));
  const std::string path = save(pairs, Compression::None);
  CHECK_THROWS_WITH(context.parallelize(pairs, 1).save_as_sequence_file(path),
                    Contains("already exists"));
}
