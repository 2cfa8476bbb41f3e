// An application that runs random jobs with known answers until a file says stop, while
// tests/chaos/chaos.sh breaks its cluster. Each job is a line of the report: `job 7 join right 312
// ms`. A wrong answer ends the application; so does a failure for a reason that the faults do not
// excuse.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/api/tinderbox.hpp"

namespace {

using namespace tinderbox;
using Pair = std::pair<int64_t, int64_t>;

/// The answer is not the known one.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void require(bool right, const std::string& what) {
  if (!right) throw Wrong(what);
}

int64_t add(int64_t a, int64_t b) { return a + b; }
struct Sum {
  int64_t operator()(int64_t a, int64_t b) const { return add(a, b); }
};
int64_t sum_below(int64_t n) { return n * (n - 1) / 2; }

/// What a job is made of: sizes, and tasks long enough to be hit.
struct Job {
  Context& context;
  std::mt19937_64 random;
  std::string directory;  // of its own, not there yet

  int64_t between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  }
  int32_t partitions() { return static_cast<int32_t>(between(2, 16)); }
  /// 0 … n-1, rounded up to whole partitions, each of which takes up to 80 ms.
  Rdd<int64_t> numbers(int64_t least) {
    const int32_t p = partitions();
    const int64_t each = (least + p - 1) / p, pause = between(0, 80);
    n = each * p;
    return context.range(0, n, 1, p)
        .map(capture(each, pause, [](int64_t each, int64_t pause, int64_t x) {
          if (x % each == 0) std::this_thread::sleep_for(std::chrono::milliseconds(pause));
          return x;
        }));
  }
  int64_t n = 0;  // of the last numbers()
};

void total(Job& j) {
  require(j.numbers(j.between(1, 5000)).reduce(Sum{}) == sum_below(j.n), "sum");
}

/// Sums of n numbers by their remainder.
void require_sums(const std::map<int64_t, int64_t>& sums, int64_t n, int64_t keys) {
  std::map<int64_t, int64_t> known;
  for (int64_t x = 0; x < n; ++x) known[x % keys] += x;
  require(sums == known, "sums by key");
}
void by_key(Job& j) {
  const int64_t keys = j.between(1, 300);
  auto sums = j.numbers(j.between(100, 20000))
                  .map(capture(keys, [](int64_t k, int64_t x) { return Pair(x % k, x); }))
                  .reduce_by_key(Sum{}, j.partitions())
                  .collect_as_map();
  require_sums({sums.begin(), sums.end()}, j.n, keys);
}

/// Three shuffles in a row, so that a lost output may need two stages again.
void chain(Job& j) {
  const int64_t keys = j.between(2, 50);
  auto sums =
      j.numbers(j.between(1000, 10000))
          .repartition(j.partitions())
          .map(capture(keys, [](int64_t k, int64_t x) { return Pair(x % (k * 7), x); }))
          .reduce_by_key(Sum{}, j.partitions())
          .map(capture(keys, [](int64_t k, const Pair& p) { return Pair(p.first % k, p.second); }))
          .reduce_by_key(Sum{}, j.partitions())
          .collect_as_map();
  require_sums({sums.begin(), sums.end()}, j.n, keys);
}

void join(Job& j) {
  auto left = j.numbers(j.between(100, 3000)).map([](int64_t x) { return Pair(x, x); });
  const int64_t lefts = j.n;
  auto right = j.numbers(j.between(100, 3000)).map([](int64_t x) { return Pair(x, -2 * x); });
  const int64_t both = std::min(lefts, j.n);
  auto sums = left.join(right, j.partitions())
                  .map([](const auto& p) { return p.second.first + p.second.second; })
                  .collect();
  require(int64_t(sums.size()) == both, "pairs of a join");
  int64_t sum = 0;
  for (const int64_t s : sums) sum += s;
  require(sum == -sum_below(both), "sum of a join");
}

void sort(Job& j) {
  auto sorted = j.numbers(j.between(100, 6000))
                    .map([](int64_t x) { return Pair((x * 48271) % 2147483647, x); })
                    .sort_by_key(true, j.partitions())
                    .collect();
  require(int64_t(sorted.size()) == j.n, "records of a sort");
  require(std::is_sorted(sorted.begin(), sorted.end()), "order of a sort");
}

/// Values of some megabytes through a shuffle's files, and results that come as blocks.
void large(Job& j) {
  auto back =
      j.numbers(j.between(10, 40))
          .map([](int64_t x) {
            return std::pair<int64_t, std::string>(x, std::string(200'000, char('a' + x % 26)));
          })
          .partition_by(static_cast<int32_t>(j.between(1, 4)))
          .collect();
  require(int64_t(back.size()) == j.n, "large values");
  for (const auto& [x, text] : back)
    require(text == std::string(200'000, char('a' + x % 26)), "large value " + std::to_string(x));
}

void cached(Job& j) {
  const StorageLevel levels[] = {MEMORY_ONLY, MEMORY_AND_DISK, DISK_ONLY, MEMORY_ONLY_2};
  auto rdd = j.numbers(j.between(100, 5000)).map([](int64_t x) { return 3 * x; });
  rdd.persist(levels[j.between(0, 3)]);
  for (int i = 0; i < 3; ++i) {
    require(rdd.count() == j.n, "count of a cached rdd");
    require(rdd.reduce(Sum{}) == 3 * sum_below(j.n), "sum of a cached rdd");
  }
  rdd.unpersist();
}

void broadcast(Job& j) {
  std::vector<int64_t> values(static_cast<size_t>(j.between(1, 800'000)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * i % 1009);
  auto table = j.context.broadcast(values);
  auto sum = j.numbers(j.between(1, 2000))
                 .map(capture(table,
                              [](const auto& t, int64_t x) {
                                return t.value()[static_cast<size_t>(x) % t.value().size()];
                              }))
                 .reduce(Sum{});
  int64_t known = 0;
  for (int64_t x = 0; x < j.n; ++x) known += values[static_cast<size_t>(x) % values.size()];
  require(sum == known, "sum over a broadcast table");
  table.unpersist();
}

/// An action's accumulators count each partition once, however often it was tried.
void accumulate(Job& j) {
  auto sum = j.context.long_accumulator();
  j.numbers(j.between(1, 5000)).foreach (capture(sum, [](const auto& s, int64_t x) { s.add(x); }));
  require(sum.value() == sum_below(j.n), "accumulator: " + std::to_string(sum.value()));
}

/// Files are committed once a partition.
void output(Job& j) {
  j.numbers(j.between(100, 3000))
      .map([](int64_t x) { return std::to_string(x); })
      .save_as_text_file(j.directory);
  const int64_t n = j.n;
  auto back = j.context.text_file(j.directory).map([](std::string_view line) {
    return std::stoll(std::string(line));
  });
  require(back.count() == n, "lines of the files");
  require(back.reduce(Sum{}) == sum_below(n), "sum of the files");
  std::filesystem::remove_all(j.directory);
}

struct Kind {
  const char* name;
  void (*run)(Job&);
};
constexpr Kind kKinds[] = {{"total", total},   {"by_key", by_key},       {"chain", chain},
                           {"join", join},     {"sort", sort},           {"large", large},
                           {"cached", cached}, {"broadcast", broadcast}, {"accumulate", accumulate},
                           {"output", output}};

/// What a full disk excuses: task after task fails there until the job does. That a disk was full
/// is for chaos.sh to know.
bool excused(const std::string& failure) {
  return failure.find("No space left on device") != std::string::npos;
}

/// It was told to end: another driver runs in its place, for its worker was silent for too long.
bool ended_by_cluster(const std::string& failure) {
  for (const char* of : {"SparkContext was shut down", "SparkContext has been shutdown"})
    if (failure.find(std::string(of) + ": the driver received signal 15") != std::string::npos)
      return true;
  return false;
}

class Report {
 public:
  explicit Report(const std::string& path) : file_(path, std::ios::app) {}
  void line(const std::string& text) { file_ << text << std::endl; }

 private:
  std::ofstream file_;
};

/// Errors: Wrong; JobFailed for a reason that no fault excuses.
void run_job(const Kind& kind, Job job, int64_t number, Report& report) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string name = "job " + std::to_string(number) + " " + kind.name;
  const auto took = [&] {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begin);
    return " " + std::to_string(ms.count()) + " ms";
  };
  try {
    kind.run(job);
    report.line(name + " right" + took());
  } catch (const Wrong& e) {
    report.line(name + " WRONG: " + e.what());
    throw;
  } catch (const JobFailed& e) {
    const std::string what = e.what();
    const std::string verdict = ended_by_cluster(what) ? " cancelled: "
                                : excused(what)        ? " failed: "
                                                       : " FAILED: ";
    report.line(name + verdict + what.substr(0, what.find('\n')) + took());
    if (!excused(what)) throw;
  }
}

int run(Context& context, std::span<const std::string> args) {
  if (args.size() != 4) throw std::runtime_error("chaos: give SEED REPORT STOP-FILE DIRECTORY");
  std::mt19937_64 random(std::stoull(args[0]));
  Report report(args[1]);
  report.line("start " + context.application_id());
  for (int64_t number = 0; !std::filesystem::exists(args[2]); ++number) {
    const Kind& kind = kKinds[random() % std::size(kKinds)];
    Job job{context, std::mt19937_64(random()),
            args[3] + "/" + context.application_id() + "-" + std::to_string(number)};
    run_job(kind, std::move(job), number, report);
  }
  report.line("end");
  return 0;
}

TINDERBOX_APPLICATION(chaos, "random jobs with known answers: SEED REPORT STOP-FILE DIRECTORY",
                      run);

}  // namespace
