// The bench role: measures this build and prints `BENCH <name> <value> <unit>` lines.
#include <algorithm>
#include <cstdio>

#include "cmd/bench/make_data.hpp"
#include "cmd/bench/session.hpp"
#include "cmd/roles/roles.hpp"
#include "conf/keys.hpp"
#include "core/status/exit_codes.hpp"
#include "net/log.hpp"
#include "net/process/elf.hpp"
#include "net/process/environment.hpp"
#include "net/process/exec.hpp"
#include "net/process/piped_child.hpp"

namespace tinderbox::cmd {
namespace {

void run_empty_tasks(Context& context, int32_t tasks) { context.range(0, 0, 1, tasks).count(); }

/// Ten jobs of 10,000 empty tasks after one to warm up. The median of five such rounds counts;
/// all rounds are printed.
void null_tasks(const BenchOptions& o) {
  constexpr int32_t kTasks = 10'000, kJobs = 10, kRounds = 5;
  BenchSession s(o, kCluster);
  run_empty_tasks(*s.context, kTasks);
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    Time start = net::wall_clock();
    for (int job = 0; job < kJobs; ++job) run_empty_tasks(*s.context, kTasks);
    rates.push_back(kTasks * kJobs / seconds_between(start, net::wall_clock()));
    std::printf("# null_tasks_per_s round %d: %.0f\n", round + 1, rates.back());
  }
  s.runtime->stop();
  int64_t want = int64_t{kTasks} * (kJobs * kRounds + 1);
  std::printf("# listener: %ld TaskStart, %ld TaskEnd of %ld tasks\n",
              static_cast<long>(s.counter->started()), static_cast<long>(s.counter->ended()),
              static_cast<long>(want));
  if (s.counter->started() != want || s.counter->ended() != want)
    throw conf::Error("null_tasks_per_s does not count: the listener missed events");
  report("null_tasks_per_s", median(rates), "1/s");
}

void one_task_job(const BenchOptions& o) {
  constexpr int kJobs = 2000;
  BenchSession s(o, kCluster);
  std::vector<double> ms;
  for (int i = 0; i < kJobs; ++i) {
    Time start = net::wall_clock();
    run_empty_tasks(*s.context, 1);
    ms.push_back(seconds_between(start, net::wall_clock()) * 1e3);
  }
  std::sort(ms.begin(), ms.end());
  std::printf("# one_task_job_ms p99 %.3f\n", ms[ms.size() * 99 / 100]);
  report("one_task_job_ms", ms[ms.size() / 2], "ms");
}

void shuffle_200x200(const BenchOptions& o) {
  BenchSession s(o, kCluster);
  std::vector<double> seconds;
  for (int round = 0; round < 5; ++round) {
    Time start = net::wall_clock();
    auto pairs = s.context->range(0, 200 * 200, 1, 200).map([](int64_t x) {
      return std::pair<int64_t, int64_t>(x % 200, 1);
    });
    int64_t keys = pairs.reduce_by_key([](int64_t a, int64_t b) { return a + b; }, 200).count();
    seconds.push_back(seconds_between(start, net::wall_clock()));
    if (keys != 200) throw conf::Error("shuffle_200x200_s: wrong result");
  }
  report("shuffle_200x200_s", median(seconds), "s");
}

void wordcount(const BenchOptions& o) {
  if (o.data.empty())
    throw conf::Error("wordcount_s needs --data DIR; bench --make-data DIR makes it");
  BenchSession s(o, kThreads);
  std::vector<double> seconds;
  int64_t words = 0;
  for (int round = 0; round < 3; ++round) {
    Time start = net::wall_clock();
    words = s.context->text_file(o.data + "/text.txt")
                .flat_map<std::string_view>(
                    [](std::string_view l, auto& emit) { tinderbox::words(l, emit); })
                .map([](std::string_view w) { return std::pair<std::string_view, int64_t>(w, 1); })
                .reduce_by_key([](int64_t a, int64_t b) { return a + b; })
                .count();
    seconds.push_back(seconds_between(start, net::wall_clock()));
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf("# wordcount_s: %ld different words\n", static_cast<long>(words));
  report("wordcount_s", seconds[seconds.size() / 2], "s");
}

/// What `startup` starts: prints the time at which its first task was done.
void first_task(const BenchOptions& o) {
  BenchSession s(o, kCluster);
  run_empty_tasks(*s.context, 1);
  std::printf("%ld\n", static_cast<long>(net::wall_clock().time_since_epoch().count()));
  std::fflush(stdout);
}

/// The command of a process that runs first_task() with the same settings.
std::vector<std::string> first_task_command(const BenchOptions& o) {
  std::vector<std::string> argv = {"tinderbox", "bench", "--first-task", "--master",
                                   o.master.empty() ? kCluster : o.master};
  if (!o.conf.properties_file.empty())
    argv.insert(argv.end(), {"--properties-file", o.conf.properties_file});
  for (const std::string& setting : o.conf.settings) argv.insert(argv.end(), {"--conf", setting});
  return argv;
}

/// A fresh process each time, from before it is started to its first task's end.
void startup(const BenchOptions& o) {
  const std::vector<std::string> argv = first_task_command(o);
  std::vector<double> ms;
  for (int i = 0; i < 11; ++i) {
    Time start = net::wall_clock();
    Result<std::string> out = net::run_and_read(net::own_path(), argv);
    if (!out) throw conf::Error("startup_ms: " + out.error().message);
    Time done{Duration(std::atoll(out->c_str()))};
    ms.push_back(seconds_between(start, done) * 1e3);
  }
  report("startup_ms", median(ms), "ms");
}

void executor_idle_rss(const BenchOptions& o) {
  BenchOptions often = o;
  often.conf.settings.push_back("spark.executor.heartbeatInterval=200ms");
  BenchSession s(often, kCluster);
  run_empty_tasks(*s.context, 100);
  const int64_t largest = s.counter->idle_memory();
  if (largest == 0)
    throw conf::Error(
        "executor_idle_rss_mb: no executor told its resident memory within 10 s; it needs /proc");
  report("executor_idle_rss_mb", static_cast<double>(largest) / 1e6, "MB");
}

struct Measure {
  const char* name;
  void (*run)(const BenchOptions&);
};
constexpr Measure kMeasures[] = {
    {"null_tasks_per_s", null_tasks},
    {"one_task_job_ms", one_task_job},
    {"shuffle_200x200_s", shuffle_200x200},
    {"wordcount_s", wordcount},
    {"startup_ms", startup},
    {"executor_idle_rss_mb", executor_idle_rss},
};

void make_data(const BenchOptions& o) {
  Result<uint64_t> hash = make_text(o.make_data + "/text.txt", o.megabytes, o.seed);
  if (!hash) throw conf::Error(hash.error().message);
  std::printf("%s/text.txt: %ld MB, seed %lu, xxh3 %016lx\n", o.make_data.c_str(),
              static_cast<long>(o.megabytes), static_cast<unsigned long>(o.seed),
              static_cast<unsigned long>(*hash));
}

std::string known_names() {
  std::string names;
  for (const Measure& m : kMeasures) names += std::string(names.empty() ? "" : ", ") + m.name;
  return names;
}

void run(const BenchOptions& o) {
  warn_of_misspellings(process_conf(o.conf), o.conf);
  for (const std::string& name : o.names)
    if (std::none_of(std::begin(kMeasures), std::end(kMeasures),
                     [&](auto& m) { return m.name == name; }))
      throw conf::Error("'" + name + "' is not a benchmark; there are " + known_names());
  for (const Measure& m : kMeasures) {
    bool named = std::find(o.names.begin(), o.names.end(), m.name) != o.names.end();
    bool runnable = m.run != wordcount || !o.data.empty();
    if (named || (o.names.empty() && runnable)) m.run(o);
  }
}

}  // namespace

int bench(Args args) {
  CommandLine line("bench", "Measures this build\nNames: " + known_names());
  BenchOptions o;
  line.option("--master", &o.master,
              std::string("default: ") + kCluster + ", for wordcount_s " + kThreads);
  line.option("--data", &o.data, "folder with text.txt, for wordcount_s");
  line.option("--make-data", &o.make_data, "make text.txt in this folder instead of measuring");
  line.option("--mb", &o.megabytes, "size of what --make-data makes", CommandLine::Rule::Positive);
  line.option("--seed", &o.seed, "seed of what --make-data makes");
  line.option("--first-task", &o.first_task, "", CommandLine::Rule::Hidden);
  line.option("names", &o.names, "what to measure; nothing: all");
  declare_process_conf(line, o.conf);
  if (std::optional<int> code = line.parse(args)) return *code;
  [[maybe_unused]] auto quiet = net::set_log_level("WARN");
  if (!o.make_data.empty())
    make_data(o);
  else if (o.first_task)
    first_task(o);
  else
    run(o);
  return core::kExitOk;
}

}  // namespace tinderbox::cmd
