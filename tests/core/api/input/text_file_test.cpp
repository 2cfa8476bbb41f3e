// Lines of files that change meanwhile, of lines longer than their splits, of odd directories.
#include <filesystem>
#include <fstream>

#include "core/api/input/sources.hpp"
#include "core/api/runtime/input_paths.hpp"
#include "net/files/byte_source.hpp"
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using Catch::Matchers::Contains;
using tests::LocalRuntime;

namespace fs = std::filesystem;

namespace {

void write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Of ten bytes each.
std::string lines_of_text(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += std::string(9, static_cast<char>('a' + i % 26)) + "\n";
  return text;
}

/// Memory of this process that is no file's.
int64_t anonymous_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssAnon:" && status >> word) return std::stoll(word);
  return 0;
}

/// One split of text, read without a job.
struct OneSplit {
  core::TextNode node;
  core::TaskInputs inputs;
  core::TaskContext task;
  Bytes bytes;
  std::unique_ptr<Cursor<std::string_view>> cursor;

  OneSplit(LocalRuntime& runtime, const core::InputSplit& split) : bytes(core::to_bytes(split)) {
    node.id = RddId{1};
    inputs.entries.push_back({node.id, 0, bytes});
    task.services = &runtime.services;
    task.inputs = &inputs;
    cursor = node.open(0, task);
  }
};

}  // namespace

TEST_CASE("text that became shorter since it was listed fails its task", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string path = runtime.services.directory + "/in";
  for (const int splits : {1, 2, 7, 40}) {
    for (const uintmax_t left : {0u, 1u, 4999u, 5000u, 5001u, 9990u, 9999u}) {
      INFO(left << " of 10000 bytes in splits: " << splits);
      write(path, lines_of_text(1000));
      const auto lines = context.text_file(path, splits);
      fs::resize_file(path, left);
      CHECK_THROWS_WITH(lines.count(),
                        Contains("'file:" + path + "' became shorter while it was read"));
    }
  }
}

TEST_CASE("text that became shorter gives its whole lines where the settings say so", "[rdd]") {
  LocalRuntime runtime(2, conf::Conf::of({{"spark.files.ignoreCorruptFiles", "true"}}));
  Context context(runtime);
  const std::string path = runtime.services.directory + "/in";
  for (const int splits : {1, 2, 7, 40}) {
    for (const int left : {0, 9, 4999, 5000, 5001, 9990}) {
      INFO(left << " of 10000 bytes in splits: " << splits);
      write(path, lines_of_text(1000));
      const auto lines = context.text_file(path, splits);
      fs::resize_file(path, static_cast<uintmax_t>(left));
      CHECK(lines.count() == left / 10);
    }
  }
}

TEST_CASE("text whose length no list tells ends where its bytes do", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string path = runtime.services.directory + "/in";
  write(path + ".gz", net::compressed(Compression::Gzip, lines_of_text(1000)));
  const auto zipped = context.text_file(path + ".gz", 3);
  write(path + ".gz", net::compressed(Compression::Gzip, lines_of_text(10)));
  CHECK(zipped.count() == 10);

  write(path, "one\ntwo");
  OneSplit split(runtime, {path, 0, core::kToTheEnd});
  std::vector<std::string> lines;
  core::drive<std::string_view>(*split.cursor, split.task, [&](std::string_view&& line) {
    lines.emplace_back(line);
    return true;
  });
  CHECK(lines == std::vector<std::string>{"one", "two"});
}

TEST_CASE("splits inside one long line read no more than themselves", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string path = runtime.services.directory + "/long";
  write(path, std::string(40 << 20, 'x') + "\ny\n");
  const auto lines = context.text_file(path, 40);
  CHECK(lines.num_partitions() == 40);
  CHECK(lines.map([](std::string_view line) { return line.size(); }).collect() ==
        std::vector<size_t>{40 << 20, 1});
  // The line once, and each split at most a quarter more than its length.
  CHECK(runtime.last_metrics.input_bytes < 100 << 20);
}

TEST_CASE("a split inside one long line keeps nothing of it", "[rdd]") {
  LocalRuntime runtime;
  const std::string path = runtime.services.directory + "/long";
  write(path, std::string(40 << 20, 'x'));
  OneSplit split(runtime, {path, 1, 39 << 20});
  int lines = 0;
  auto take = [&](std::string_view&&) { return ++lines > 0; };
  const int64_t before = anonymous_kib();
  int64_t most = before;
  bool more = true;
  while (more) {
    more = split.cursor->next(core::sink_to<std::string_view>(take));
    most = std::max(most, anonymous_kib());
  }
  CHECK(lines == 0);
  CHECK(most - before < 8 << 10);
  CHECK(split.task.metrics.input_bytes < 40 << 20);
}

TEST_CASE("what of a directory cannot be looked at is an error, by a pattern too", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string dir = runtime.services.directory;
  fs::create_directory(dir + "/d");
  write(dir + "/d/a", "1\n");
  write(dir + "/plain", "");
  CHECK(context.text_file(dir + "/*/a*").collect() == std::vector<std::string>{"1"});
  fs::create_symlink(std::string(300, 'x'), dir + "/d/long");
  for (const std::string& path : {dir + "/d", dir + "/d/*", dir + "/*/a*"}) {
    INFO(path);
    CHECK_THROWS_WITH(context.text_file(path), Contains("Input path cannot be read: cannot look") &&
                                                   Contains(dir + "/d/long"));
  }
}
