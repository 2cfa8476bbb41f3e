// The bench role: measures this build and prints `BENCH <name> <value> <unit>` lines.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "cmd/bench/make_data.hpp"
#include "cmd/process_conf.hpp"
#include "cmd/roles.hpp"
#include "conf/keys.hpp"
#include "core/api/runtime/driver_runtime.hpp"
#include "core/api/tinderbox.hpp"
#include "core/exit_codes.hpp"
#include "net/log.hpp"
#include "net/process/elf.hpp"
#include "net/process/environment.hpp"
#include "net/process/exec.hpp"
#include "net/process/run.hpp"

namespace tinderbox::cmd {
namespace {

constexpr const char* kCluster = "local-cluster[2,1,1024]";
constexpr const char* kThreads = "local[2]";

struct Options {
  std::string master, data, make_data;
  int64_t megabytes = 500;
  uint64_t seed = 1;
  std::vector<std::string> names;
  bool first_task = false;
  ProcessConfOptions conf;
};

void report(const char* name, double value, const char* unit) {
  std::printf("BENCH %s %.6g %s\n", name, value, unit);
  std::fflush(stdout);
}

double seconds_between(Time a, Time b) { return std::chrono::duration<double>(b - a).count(); }

/// Counts what a task must have told to be counted as run.
class CountingListener final : public core::Listener {
 public:
  void on_events(std::span<const core::ListenerEvent> events) override {
    for (const core::ListenerEvent& e : events) {
      started_ += std::holds_alternative<core::TaskStarted>(e);
      ended_ += std::holds_alternative<core::TaskEnded>(e);
    }
  }
  int64_t started() const { return started_; }
  int64_t ended() const { return ended_; }

 private:
  std::atomic<int64_t> started_{0}, ended_{0};
};

/// A driver on `master` and what its listener counted.
struct Session {
  std::shared_ptr<CountingListener> counter = std::make_shared<CountingListener>();
  std::unique_ptr<core::DriverRuntime> runtime;
  std::unique_ptr<Context> context;

  Session(const Options& o, const char* master) {
    conf::Conf conf = process_conf(o.conf)
                          .with(conf::kMaster, o.master.empty() ? master : o.master)
                          .with(conf::kAppName, "bench")
                          .with(conf::kListenerQueueCapacity, "0");
    runtime = core::DriverRuntime::start(conf, {counter});
    context = std::make_unique<Context>(*runtime);
  }
  ~Session() {
    context.reset();
    runtime->stop();
  }
};

void run_empty_tasks(Context& context, int32_t tasks) { context.range(0, 0, 1, tasks).count(); }

/// Ten jobs of 10,000 empty tasks after one to warm up. The median of five such rounds counts;
/// all rounds are printed.
void null_tasks(const Options& o) {
  constexpr int32_t kTasks = 10'000, kJobs = 10, kRounds = 5;
  Session s(o, kCluster);
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
  std::sort(rates.begin(), rates.end());
  report("null_tasks_per_s", rates[rates.size() / 2], "1/s");
}

void one_task_job(const Options& o) {
  constexpr int kJobs = 2000;
  Session s(o, kCluster);
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

void shuffle_200x200(const Options& o) {
  Session s(o, kCluster);
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
  std::sort(seconds.begin(), seconds.end());
  report("shuffle_200x200_s", seconds[seconds.size() / 2], "s");
}

void wordcount(const Options& o) {
  if (o.data.empty())
    throw conf::Error("wordcount_s needs --data DIR; bench --make-data DIR makes it");
  Session s(o, kThreads);
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
void first_task(const Options& o) {
  Session s(o, kCluster);
  run_empty_tasks(*s.context, 1);
  std::printf("%ld\n", static_cast<long>(net::wall_clock().time_since_epoch().count()));
  std::fflush(stdout);
}

/// A fresh process each time, from before it is started to its first task's end.
void startup(const Options& o) {
  std::vector<double> ms;
  for (int i = 0; i < 11; ++i) {
    Time start = net::wall_clock();
    Result<std::string> out = net::run_and_read(
        net::own_path(),
        {"tinderbox", "bench", "--first-task", "--master", o.master.empty() ? kCluster : o.master});
    if (!out) throw conf::Error("startup_ms: " + out.error().message);
    Time done{Duration(std::atoll(out->c_str()))};
    ms.push_back(seconds_between(start, done) * 1e3);
  }
  std::sort(ms.begin(), ms.end());
  report("startup_ms", ms[ms.size() / 2], "ms");
}

void executor_idle_rss(const Options& o) {
  Session s(o, kCluster);
  run_empty_tasks(*s.context, 100);
  int64_t largest = 0;
  for (int64_t pid : net::child_processes()) largest = std::max(largest, net::resident_bytes(pid));
  if (largest == 0)
    throw conf::Error("executor_idle_rss_mb: no executor process of this process found");
  report("executor_idle_rss_mb", static_cast<double>(largest) / 1e6, "MB");
}

struct Measure {
  const char* name;
  void (*run)(const Options&);
};
constexpr Measure kMeasures[] = {
    {"null_tasks_per_s", null_tasks},
    {"one_task_job_ms", one_task_job},
    {"shuffle_200x200_s", shuffle_200x200},
    {"wordcount_s", wordcount},
    {"startup_ms", startup},
    {"executor_idle_rss_mb", executor_idle_rss},
};

void make_data(const Options& o) {
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

void run(const Options& o) {
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
  CLI::App cli("tinderbox bench: measures this build\nNames: " + known_names(), "bench");
  Options o;
  cli.add_option("--master", o.master,
                 std::string("default: ") + kCluster + ", for wordcount_s " + kThreads);
  cli.add_option("--data", o.data, "folder with text.txt, for wordcount_s");
  cli.add_option("--make-data", o.make_data, "make text.txt in this folder instead of measuring");
  cli.add_option("--mb", o.megabytes, "size of what --make-data makes")->check(CLI::PositiveNumber);
  cli.add_option("--seed", o.seed, "seed of what --make-data makes");
  cli.add_flag("--first-task", o.first_task)->group("");
  cli.add_option("names", o.names, "what to measure; nothing: all");
  declare_process_conf(cli, o.conf);
  if (std::optional<int> code = parse(cli, args)) return *code;
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
