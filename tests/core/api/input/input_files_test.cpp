// Compressed text, whole files, records of a fixed length, objects: written and read back.
#include "net/files/byte_source.hpp"
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using Catch::Matchers::Contains;
using tests::LocalRuntime;
using tests::sorted;
using tests::upto;

namespace {

void write(LocalRuntime& runtime, const std::string& path, std::string_view bytes) {
  auto created = runtime.files().create(path);
  auto& file = *created;
  REQUIRE(file->append(bytes));
  REQUIRE(file->commit());
}

std::string numbers_text(int n) {
  std::string text;
  for (const int x : upto(n)) text += std::to_string(x) + "\n";
  return text;
}

struct Point {
  int x = 0;
  std::string name;
  bool operator==(const Point&) const = default;
};

}  // namespace

TEST_CASE("compressed text by its suffix, members behind each other, no split", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string path = runtime.services.directory + "/in";
  const std::string text = numbers_text(100000);
  for (const auto how : {Compression::Gzip, Compression::Zstd, Compression::Deflate}) {
    const std::string file = path + std::string(net::suffix_of(how));
    const auto half = static_cast<ptrdiff_t>(text.size() / 2);
    write(runtime, file,
          net::compressed(how, text.substr(0, text.size() / 2)) +
              net::compressed(how, std::string(text.begin() + half, text.end())));
    auto lines = context.text_file(file, 7);
    CHECK(lines.num_partitions() == 1);
    CHECK(lines.map([](std::string_view l) { return std::stoi(std::string(l)); }).collect() ==
          upto(100000));
    CHECK(lines.take(2) == std::vector<std::string>{"1", "2"});
    write(runtime, file, net::compressed(how, ""));
    CHECK(lines.count() == 0);
    write(runtime, file, "");
    CHECK(lines.count() == 0);
  }
}

TEST_CASE("compressed text that is cut short or damaged fails its task with its name", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string text = numbers_text(1000);
  for (const auto how : {Compression::Gzip, Compression::Zstd, Compression::Deflate}) {
    const std::string file = runtime.services.directory + "/x" + std::string(net::suffix_of(how));
    const Bytes whole = net::compressed(how, text);
    for (const size_t n : {size_t{1}, whole.size() / 2, whole.size() - 1}) {
      INFO(n << " of " << whole.size());
      write(runtime, file, whole.substr(0, n));
      CHECK_THROWS_WITH(context.text_file(file).count(), Contains(file) && Contains("cut short"));
    }
    write(runtime, file, "no such data at all");
    CHECK_THROWS_WITH(context.text_file(file).count(), Contains(file) && Contains("is damaged"));
  }
}

TEST_CASE("save_as_text_file compressed is read back", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const auto how : {Compression::Gzip, Compression::Zstd, Compression::Deflate}) {
    const std::string out = runtime.services.directory + "/out" + std::string(net::suffix_of(how));
    context.parallelize(upto(200000), 3).save_as_text_file(out, how);
    CHECK((*runtime.files().stat(out + "/part-00002" + std::string(net::suffix_of(how)))));
    CHECK(context.text_file(out).count() == 200000);
  }
}

TEST_CASE("whole_text_files: a record a file, several a partition", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string dir = runtime.services.directory + "/whole";
  REQUIRE(runtime.files().make_directories(dir));
  for (int i = 0; i < 10; ++i) write(runtime, dir + "/" + std::to_string(i), std::string(100, 'a'));
  write(runtime, dir + "/z.gz", net::compressed(Compression::Gzip, "two\nlines"));
  auto files = context.whole_text_files(dir, 3);
  CHECK(files.num_partitions() <= 5);
  CHECK(files.num_partitions() >= 3);
  const auto all = files.collect_as_map();
  CHECK(all.size() == 11);
  CHECK(all.at("file:" + dir + "/3") == std::string(100, 'a'));
  CHECK(all.at("file:" + dir + "/z.gz") == "two\nlines");
}

TEST_CASE("binary_files: the bytes as they are, compressed or not", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string dir = runtime.services.directory + "/binary";
  REQUIRE(runtime.files().make_directories(dir));
  const Bytes gz = net::compressed(Compression::Gzip, "two\nlines"), raw("\0\xff\n", 3);
  write(runtime, dir + "/a.gz", gz);
  write(runtime, dir + "/b.bz2", raw);
  write(runtime, dir + "/empty", "");
  auto files = context.binary_files(dir, 3);
  CHECK(files.num_partitions() > 1);
  CHECK(files.collect_as_map() ==
        std::map<std::string, std::string>{{"file:" + dir + "/a.gz", gz},
                                           {"file:" + dir + "/b.bz2", raw},
                                           {"file:" + dir + "/empty", ""}});
  CHECK_THROWS_WITH(context.whole_text_files(dir), Contains("b.bz2") && Contains("compressed"));
}

TEST_CASE("binary_records: as many as there are, whatever the splits", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string path = runtime.services.directory + "/bin";
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += std::string(7, static_cast<char>('a' + i % 26));
  write(runtime, path, bytes);
  auto records = context.binary_records(path, 7);
  CHECK(records.num_partitions() > 1);
  const auto all = records.collect();
  REQUIRE(all.size() == 1000);
  for (size_t i = 0; i < all.size(); ++i) CHECK(all[i] == bytes.substr(i * 7, 7));
  CHECK_THROWS_WITH(context.binary_records(path, 9),
                    Contains("Partial record(length = 7) found at the end of file:" + path));
  CHECK_THROWS_AS(context.binary_records(path, 0), std::invalid_argument);
}

TEST_CASE("objects: written, read back, of one type only", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string out = runtime.services.directory + "/objects";
  std::vector<Point> points;
  for (const int x : upto(50000)) points.push_back({x, "point " + std::to_string(x)});
  context.parallelize(points, 4).save_as_object_file(out);
  auto back = context.object_file<Point>(out);
  CHECK(back.num_partitions() == 4);
  CHECK(back.collect() == points);
  CHECK(back.take(1) == std::vector<Point>{{1, "point 1"}});
  CHECK_THROWS_WITH(context.object_file<int>(out).count(), Contains("holds objects of the type"));
  CHECK_THROWS_WITH(context.parallelize(points, 1).save_as_object_file(out),
                    Contains("already exists"));
  write(runtime, out + "/part-00001", "nothing of the kind");
  CHECK_THROWS_WITH(back.count(), Contains("part-00001"));
}

TEST_CASE("make_rdd: a partition a value, with the hosts it would rather run on", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd = context.make_rdd<int>({{1, {"a", "b"}}, {2, {}}});
  CHECK(rdd.glom().collect() == std::vector<std::vector<int>>{{1}, {2}});
  CHECK(rdd.node()->preferred == std::vector<std::vector<std::string>>{{"a", "b"}, {}});
}

TEST_CASE("what paths name: of this machine, of object stores, of web servers", "[rdd]") {
  struct Case {
    std::string named, path, shown;
  };
  const Case cases[] = {
      {"/a//b/../c/", "/a/c", "file:/a/c"},
      {"file:///a", "/a", "file:/a"},
      {"s3a://b//k/./l/", "s3a://b/k/l", "s3a://b/k/l"},
      {"s3://b", "s3://b", "s3://b"},
      {"s3a://b/", "s3a://b", "s3a://b"},
      {"https://u:p@h/a//b?q=1", "https://u:p@h/a//b?q=1", "https://h/a//b"},
  };
  for (const Case& c : cases) {
    INFO(c.named);
    CHECK(*core::file_path(c.named) == c.path);
    CHECK(core::shown_path(c.path) == c.shown);
  }
  CHECK_THAT(core::file_path("s3a:///k").error().message, Contains("names no bucket"));
  CHECK_THAT(core::file_path("hdfs://h/k").error().message, Contains("No FileSystem for scheme"));
}

TEST_CASE("a file of unknown size is one split, beside those that are cut", "[rdd]") {
  const auto splits = core::split_inputs({{"http://h/x", -1}, {"/y", 100}}, 2);
  CHECK(splits == std::vector<core::InputSplit>{
                      {"http://h/x", 0, core::kToTheEnd}, {"/y", 0, 50}, {"/y", 50, 50}});
  CHECK(core::split_records({{"http://h/x", -1}}, 7, 2) ==
        std::vector<core::InputSplit>{{"http://h/x", 0, core::kToTheEnd}});
}
