// Files of records, damaged and cut: saved objects, and checkpoints.
#include <filesystem>
#include <fstream>

#include "core/shuffle/blocks/block.hpp"
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using Catch::Matchers::Contains;
using tests::LocalRuntime;
using tests::upto;

namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void replace(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
}

/// Where each piece of `file` ends.
std::vector<size_t> ends_of_pieces(std::string_view file) {
  std::vector<size_t> ends;
  for (size_t at = 0; at < file.size(); ends.push_back(at))
    at += *core::piece_size(file.substr(at));
  return ends;
}

/// 20,000 of them fill some pieces.
std::vector<std::string> texts(int n) {
  std::vector<std::string> all;
  for (const int x : upto(n)) all.push_back(std::string(100, 'a') + std::to_string(x * 7919));
  return all;
}

struct Kind {
  std::string name, part;
  std::function<std::vector<std::string>()> read;
};
/// Both kinds of file, each of all `records`.
std::vector<Kind> both_kinds(LocalRuntime& runtime, Context& context,
                             const std::vector<std::string>& records) {
  const std::string objects = runtime.services.directory + "/objects";
  auto rdd = context.parallelize(records, 1);
  rdd.save_as_object_file(objects);
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  rdd.checkpoint();
  rdd.count();
  return {
      {"objects", objects + "/part-00000",
       [=, &context] { return context.object_file<std::string>(objects).collect(); }},
      {"checkpoint", rdd.checkpoint_file().value() + "/part-00000", [=] { return rdd.collect(); }}};
}

}  // namespace

TEST_CASE("a file of records that was cut is never read as whole", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto records = texts(20000);
  for (const auto& [name, part, read] : both_kinds(runtime, context, records)) {
    INFO(name);
    CHECK(read() == records);
    const std::string whole = content(part);
    std::vector<size_t> cuts{0, 1, core::kPieceHeader, whole.size() - 1};
    for (const size_t end : ends_of_pieces(whole))
      if (end < whole.size()) cuts.insert(cuts.end(), {end, end + 3, end + core::kPieceHeader});
    CHECK(cuts.size() > 10);
    for (const size_t cut : cuts) {
      if (cut == whole.size()) continue;
      INFO("the first " << cut << " of " << whole.size() << " bytes");
      replace(part, std::string_view(whole).substr(0, cut));
      CHECK_THROWS_WITH(read(), Contains("'" + part + "' is damaged: it is cut short"));
    }
    replace(part, whole);
    CHECK(read() == records);
  }
}

TEST_CASE("a wrong byte in a file of records is found wherever it is", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const auto& [name, part, read] : both_kinds(runtime, context, texts(5000))) {
    INFO(name);
    const std::string whole = content(part);
    for (size_t at = 0; at < whole.size(); at += 1 + at / 3) {
      INFO("byte " << at);
      std::string wrong = whole;
      wrong[at] = static_cast<char>(wrong[at] ^ 0x40);
      replace(part, wrong);
      CHECK_THROWS_WITH(read(), Contains(part));
    }
  }
}

TEST_CASE("what is no file of records says so", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const auto& [name, part, read] : both_kinds(runtime, context, texts(3))) {
    INFO(name);
    replace(part, "a text of some length, longer than a header is");
    CHECK_THROWS_WITH(read(),
                      Contains("'" + part + "' is no file of records that tinderbox wrote"));
    if (name != "checkpoint") continue;
    std::filesystem::remove(part);
    CHECK_THROWS_WITH(read(), Contains("Invalid checkpoint file: " + part));
  }
}

TEST_CASE("a record larger than a piece, and none at all, in files of records", "[rdd]") {
  for (const auto& records :
       {std::vector<std::string>{}, {""}, {"a", std::string(3 << 20, 'x'), "b"}}) {
    LocalRuntime runtime;
    Context context(runtime);
    for (const auto& [name, part, read] : both_kinds(runtime, context, records)) {
      INFO(name << " of " << records.size());
      CHECK(read() == records);
    }
  }
}

TEST_CASE("a checkpoint keeps nothing of attempts that did not end", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string directory = runtime.services.directory + "/cp";
  context.set_checkpoint_dir(directory);
  auto rdd = context.parallelize(upto(10), 2);
  rdd.checkpoint();
  const auto application = *std::filesystem::directory_iterator(directory);
  const auto left =
      application.path() / ("rdd-" + std::to_string(rdd.id().value)) / ".part-00001.1.0.tmp";
  std::filesystem::create_directories(left.parent_path());
  replace(left, "of a process that was killed");
  CHECK(rdd.count() == 10);
  REQUIRE(rdd.is_checkpointed());
  CHECK(left.parent_path() == *rdd.checkpoint_file());
  CHECK_FALSE(std::filesystem::exists(left));
  CHECK(rdd.collect() == upto(10));
}
