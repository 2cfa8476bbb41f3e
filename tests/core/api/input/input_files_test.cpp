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

TEST_CASE("a directory that is there is saved to only where the settings say so", "[rdd]") {
  LocalRuntime runtime(2, conf::Conf::of({{"spark.hadoop.validateOutputSpecs", "false"}}));
  Context context(runtime);
  const std::string out = runtime.services.directory + "/out";
  context.parallelize(upto(10), 3).save_as_text_file(out);
  context.parallelize(std::vector<int>{7, 8}, 1).save_as_text_file(out);
  CHECK(context.text_file(out + "/part-00000").collect() == std::vector<std::string>{"7", "8"});
  CHECK(context.text_file(out + "/part-00002").count() == 4);
  CHECK_FALSE(*runtime.files().stat(out + "/_temporary"));
  write(runtime, out + "-file", "");
  CHECK_THROWS_WITH(context.parallelize(upto(1), 1).save_as_text_file(out + "-file"),
                    Contains("Cannot save to file:" + out + "-file"));
}

TEST_CASE("an attempt that outlives its save makes nothing", "[rdd]") {
  LocalRuntime runtime;
  const std::string out = runtime.services.directory + "/over";
  REQUIRE(runtime.files().make_directories(out));
  core::TaskContext task;
  task.services = &runtime.services;
  CHECK_THROWS_WITH(core::PartFile(out, task), Contains("the save is over"));
  CHECK_FALSE(*runtime.files().stat(out + "/_temporary"));
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
  write(runtime, path + ".gz", bytes);
  CHECK_THROWS_WITH(context.binary_records(path + ".gz", 7),
                    Contains("Input path is compressed: file:" + path + ".gz"));
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

TEST_CASE("a byte order mark at the front of a file is no part of its first line", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string path = runtime.services.directory + "/marked";
  const std::string mark = "\xef\xbb\xbf";
  write(runtime, path, mark + "one\n" + mark + "two\nthree\n" + mark + "four");
  const std::vector<std::string> lines{"one", mark + "two", "three", mark + "four"};
  for (const int splits : {1, 2, 3, 7, 20}) {
    INFO(splits);
    CHECK(context.text_file(path, splits).collect() == lines);
  }
  write(runtime, path, mark);
  CHECK(context.text_file(path, 1).collect() == std::vector<std::string>{""});
}

TEST_CASE("empty files make no partitions, unless they are asked for", "[rdd]") {
  const conf::Conf asked = conf::Conf::of({{"spark.hadoopRDD.ignoreEmptySplits", "false"}});
  for (const bool ignored : {true, false}) {
    LocalRuntime runtime(2, ignored ? conf::Conf{} : asked);
    Context context(runtime);
    const std::string dir = runtime.services.directory + "/some";
    REQUIRE(runtime.files().make_directories(dir));
    write(runtime, dir + "/a", "");
    write(runtime, dir + "/b.gz", "");
    auto none = context.text_file(dir, 2);
    CHECK(none.num_partitions() == (ignored ? 0 : 2));
    CHECK(none.count() == 0);
    CHECK(context.sequence_file<int, int>(dir, 2).num_partitions() == none.num_partitions());
    write(runtime, dir + "/c", "1\n");
    CHECK(context.text_file(dir, 1).num_partitions() == (ignored ? 1 : 3));
    CHECK(context.text_file(dir, 1).collect() == std::vector<std::string>{"1"});
    CHECK(context.whole_text_files(dir).count() == 3);
  }
}

TEST_CASE("directories in a directory are read where the settings say so", "[rdd]") {
  const std::string key = "spark.hadoop.mapreduce.input.fileinputformat.input.dir.recursive";
  for (const bool recursive : {false, true}) {
    LocalRuntime runtime(2, conf::Conf::of({{key, recursive ? "true" : "false"}}));
    Context context(runtime);
    const std::string dir = runtime.services.directory + "/deep";
    REQUIRE(runtime.files().make_directories(dir + "/b/c"));
    REQUIRE(runtime.files().make_directories(dir + "/b/_hidden"));
    write(runtime, dir + "/a", "1\n");
    write(runtime, dir + "/b/c/d", "2\n");
    write(runtime, dir + "/b/_hidden/e", "3\n");
    write(runtime, dir + "/f", "4\n");
    if (recursive) {
      CHECK(context.text_file(dir).collect() == std::vector<std::string>{"1", "2", "4"});
      CHECK(context.whole_text_files(dir).count() == 3);
    } else {
      CHECK_THROWS_WITH(context.text_file(dir), Contains(dir + "/b") && Contains(key + "=true"));
    }
  }
}

namespace {

constexpr const char* kMissing = "spark.files.ignoreMissingFiles";
constexpr const char* kCorrupt = "spark.files.ignoreCorruptFiles";
constexpr int kLength = 40;

/// Three files of each kind, and Rdds of them; then something happens to the files.
struct Spoilt {
  LocalRuntime runtime;
  Context context{runtime};
  const std::string dir = runtime.services.directory + "/spoilt";
  const std::string objects = dir + "-objects", pairs = dir + "-pairs", records = dir + "-records";
  std::optional<Rdd<std::string_view>> lines;
  std::optional<Rdd<std::pair<std::string, std::string>>> whole;
  std::optional<Rdd<int>> numbers;
  std::optional<Rdd<std::pair<int, std::string>>> sequence;
  std::optional<Rdd<std::string_view>> fixed;

  Spoilt(const char* missing, const char* corrupt)
      : runtime(2, conf::Conf::of({{kMissing, missing}, {kCorrupt, corrupt}})) {
    REQUIRE(runtime.files().make_directories(dir));
    for (const char* name : {"/a.gz", "/b.gz", "/c.gz"})
      write(runtime, dir + name, net::compressed(Compression::Gzip, numbers_text(100000)));
    const auto all = context.parallelize(upto(300000), 3);
    all.save_as_object_file(objects);
    all.map([](int x) { return std::pair(x, std::to_string(x)); }).save_as_sequence_file(pairs);
    REQUIRE(runtime.files().make_directories(records));
    for (const char* name : {"/a", "/b", "/c"})
      write(runtime, records + name, Bytes(size_t{kLength} * 100000, *name));
    lines = context.text_file(dir);
    whole = context.whole_text_files(dir, 1);
    numbers = context.object_file<int>(objects);
    sequence = context.sequence_file<int, std::string>(pairs, 1);
    fixed = context.binary_records(records, kLength);
  }
  /// Of what is read while it goes on after an error, some is missing and all the rest is there.
  template <class T>
  static void check_rest(const Rdd<T>& rdd) {
    CHECK(rdd.count() >= 200000);
    CHECK(rdd.count() < 300000);
  }
  void cut(const std::string& path) {
    const auto file = runtime.files().open(path);
    Bytes half(static_cast<size_t>((*file)->size() / 2), 0);
    REQUIRE(*(*file)->read_at(0, half.data(), half.size()) == half.size());
    write(runtime, path, half);
  }
};

}  // namespace

TEST_CASE("files that vanish or are damaged are skipped only where the settings say so", "[rdd]") {
  for (const bool missing : {false, true}) {
    for (const bool corrupt : {false, true}) {
      INFO(missing << corrupt);
      Spoilt s(missing ? "true" : "false", corrupt ? "true" : "false");
      s.cut(s.dir + "/b.gz");
      for (const std::string& saved : {s.objects, s.pairs}) s.cut(saved + "/part-00001");
      s.cut(s.records + "/b");
      if (corrupt) {
        Spoilt::check_rest(*s.lines);
        CHECK(s.lines->filter([](std::string_view l) { return l.empty(); }).count() == 0);
        CHECK(s.whole->count() == 2);
        Spoilt::check_rest(*s.numbers);
        CHECK_THROWS_WITH(s.context.object_file<int64_t>(s.objects).count(),
                          Contains("holds objects of the type"));
        Spoilt::check_rest(*s.sequence);
        CHECK_THROWS_WITH((s.context.sequence_file<int64_t, std::string>(s.pairs).count()),
                          Contains("read it by sequence_file<int32_t, std::string>()"));
        Spoilt::check_rest(*s.fixed);
        const auto ruined =
            s.lines->map([](std::string_view) -> int { throw std::runtime_error("mine"); });
        CHECK_THROWS_WITH(ruined.count(), Contains("mine"));
      } else {
        CHECK_THROWS_WITH(s.lines->count(), Contains("cut short"));
        CHECK_THROWS_WITH(s.whole->count(), Contains("cut short"));
        CHECK_THROWS_WITH(s.numbers->count(), Contains("cut short"));
        CHECK_THROWS_WITH(s.sequence->count(), Contains("cut short"));
        CHECK_THROWS_WITH(s.fixed->count(), Contains("became shorter"));
      }
      write(s.runtime, s.dir + "/b.gz", net::compressed(Compression::Gzip, ""));
      REQUIRE(s.runtime.files().remove(s.dir + "/c.gz"));
      for (const std::string& saved : {s.objects, s.pairs})
        REQUIRE(s.runtime.files().remove(saved + "/part-00001"));
      REQUIRE(s.runtime.files().remove(s.records + "/b"));
      if (missing) {
        CHECK(s.lines->count() == 100000);
        CHECK(s.whole->count() == 2);
        CHECK(s.numbers->count() == 200000);
        CHECK(s.sequence->count() == 200000);
        CHECK(s.fixed->count() == 200000);
      } else {
        CHECK_THROWS_WITH(s.lines->count(), Contains("c.gz"));
        CHECK_THROWS_WITH(s.whole->count(), Contains("c.gz"));
        CHECK_THROWS_WITH(s.numbers->count(), Contains("part-00001"));
        CHECK_THROWS_WITH(s.sequence->count(), Contains("part-00001"));
        CHECK_THROWS_WITH(s.fixed->count(), Contains(s.records + "/b"));
      }
    }
  }
}
