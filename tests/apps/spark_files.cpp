// Sequence files of Apache Spark and ours, the same pairs in both. Run by
// tests/processes/spark_files/run.sh.
//   write DIRECTORY    a folder of each kind of pair and each way to compress
//   read DIRECTORY     the folders that spark_files.scala made, by splits of several lengths
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>

#include "core/api/tinderbox.hpp"

namespace {

using namespace tinderbox;
using Raw = std::vector<uint8_t>;

constexpr int64_t kPairs = 60000;

// As spark_files.scala makes them of a number.
std::string text(int64_t i) {
  return "row " + std::to_string(i) + " é" + std::string(static_cast<size_t>(i % 50), 'x');
}
Raw raw(int64_t i) {
  Raw bytes;
  for (int64_t k = 0; k < i % 40; ++k) bytes.push_back(static_cast<uint8_t>(i + k));
  return bytes;
}
const auto kIntText = [](int64_t i) {
  return std::pair(static_cast<int32_t>(i * 70001 - 2000000000), text(i));
};
const auto kLongDouble = [](int64_t i) { return std::pair(i * (int64_t{1} << 40), double(i) / 8); };
const auto kTextBytes = [](int64_t i) { return std::pair(text(i), raw(i)); };
const auto kBoolFloat = [](int64_t i) { return std::pair(i % 3 == 0, static_cast<float>(i) / 4); };
const auto kNullText = [](int64_t i) { return std::pair(std::monostate{}, text(i)); };

/// f(name, make) for each kind of pair.
template <class F>
void each_kind(F&& f) {
  f("int_text", kIntText);
  f("long_double", kLongDouble);
  f("text_bytes", kTextBytes);
  f("bool_float", kBoolFloat);
  f("null_text", kNullText);
}

int write(Context& c, const std::string& directory) {
  each_kind([&](const std::string& name, auto make) {
    const auto pairs = c.range(0, kPairs, 1, 3).map(make);
    pairs.save_as_sequence_file(directory + "/" + name + "-none");
    pairs.save_as_sequence_file(directory + "/" + name + "-default", Compression::Deflate);
    pairs.save_as_sequence_file(directory + "/" + name + "-gzip", Compression::Gzip);
  });
  return 0;
}

/// `part-…` of a folder hold all pairs in order, whatever the splits.
template <class Make>
void read_back(Context& c, const std::string& folder, Make make) {
  using Pair = std::invoke_result_t<Make, int64_t>;
  std::vector<Pair> wanted;
  for (int64_t i = 0; i < kPairs; ++i) wanted.push_back(make(i));
  for (const int32_t splits : {1, 7, 100}) {
    const auto rdd =
        c.sequence_file<typename Pair::first_type, typename Pair::second_type>(folder, splits);
    if (rdd.collect() != wanted)
      throw std::runtime_error(folder + " holds other pairs when read by " +
                               std::to_string(rdd.num_partitions()) + " splits");
  }
  std::printf("ok   tinderbox reads %s\n", folder.c_str());
}

int read(Context& c, const std::string& directory) {
  each_kind([&](const std::string& name, auto make) {
    for (const char* how : {"-none", "-default", "-gzip", "-record"})
      read_back(c, directory + "/" + name + how, make);
  });
  try {
    c.sequence_file<int32_t, std::string>(directory + "/int_text-bzip2").count();
  } catch (const std::exception& e) {
    if (std::string(e.what()).find("BZip2Codec, which is not read here") == std::string::npos)
      throw;
    std::printf("ok   tinderbox refuses BZip2Codec\n");
    return 0;
  }
  throw std::runtime_error("BZip2Codec was read");
}

int run(Context& c, std::span<const std::string> args) {
  return args[0] == "write" ? write(c, args[1]) : read(c, args[1]);
}

TINDERBOX_APPLICATION(spark_files, "sequence files beside Spark's: write|read DIRECTORY", run);

}  // namespace
