// What one executor's process uses at most, step by step: idle, counting words, with its storage
// pool full, sorting all lines. Run by bench/executor_memory.sh.
//   executor_memory TEXT
#include <cstdio>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <tinderbox.hpp>

namespace {

using tinderbox::Context;
using Line = std::string_view;
using Count = std::pair<Line, int64_t>;

constexpr int64_t kKiB = 1024;

/// `name` of /proc/self/status.
int64_t status_kib(const std::string& name) {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1));
  return 0;
}

/// The executor's peak since the last call.
int64_t peak_mib(Context& context) {
  return context.range(0, 1, 1, 1)
             .map([](int64_t) {
               const int64_t peak = status_kib("VmHWM");
               std::ofstream("/proc/self/clear_refs") << "5";  // begins anew
               return peak;
             })
             .first() /
         kKiB;
}

void report(Context& context, const char* step) {
  std::printf("BENCH executor_peak_%s %lld MiB\n", step, static_cast<long long>(peak_mib(context)));
  std::fflush(stdout);
}

int64_t words_of(const tinderbox::Rdd<Line>& lines) {
  return lines.flat_map<Line>([](Line line, auto& emit) { tinderbox::words(line, emit); })
      .map([](Line word) { return Count(word, 1); })
      .reduce_by_key([](int64_t a, int64_t b) { return a + b; })
      .count();
}

int run(Context& context, std::span<const std::string> arguments) {
  if (arguments.size() != 1) throw std::invalid_argument("executor_memory takes TEXT");
  report(context, "idle");
  const auto lines = context.text_file(arguments[0]);
  words_of(lines);
  report(context, "wordcount");
  const auto cached = lines.map([](Line line) { return std::string(line); }).cache();
  cached.count();
  report(context, "cached");
  cached.map([](const std::string& line) { return std::pair(line.size(), line); })
      .group_by_key()
      .count();
  report(context, "grouped");
  lines.map([](Line line) { return std::pair(line, int64_t{1}); }).sort_by_key().count();
  report(context, "sorted");
  return 0;
}

TINDERBOX_APPLICATION(executor_memory, "peaks of an executor's memory: TEXT", run);

}  // namespace
