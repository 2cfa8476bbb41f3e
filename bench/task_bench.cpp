// Task Bench (Slaughter and others, 2020): steps of tasks, each of which reads what tasks of the
// step before made; how many of them a second, and how small a task may be. Run by
// bench/task_bench.sh.
//   task_bench [NAME…] [width=200] [steps=N] [task_us=N]
// A name is a measure, or a pattern to run once with tasks of task_us. Without names: all measures.
//
// What a point reads, by Task Bench's names:
//   trivial              nothing; all steps are tasks of one stage
//   no_comm              its own value: each step of a quarter of the points is a job whose tasks
//                        get what the last one gave
//   stencil_1d           its own and both neighbours', by a shuffle a step; the ends have one
//   stencil_1d_periodic  the same, and the ends are neighbours: always three
// A task is busy for a number of rounds of arithmetic; what a round takes is measured first, while
// all cores do the same. METG(50 %): the smallest busy time with which the tasks keep the cores
// half busy, that is with which half of the machine's peak is reached.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tinderbox.hpp>
#include <vector>

namespace {

using tinderbox::Context;
using Clock = std::chrono::steady_clock;
using Point = std::pair<int64_t, uint64_t>;  // its number and its value

struct Grid {
  int32_t width = 200;
  int32_t steps = 0;
  int64_t tasks() const { return int64_t{width} * steps; }
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void report(const char* name, double value, const char* unit) {
  std::printf("BENCH %s %.6g %s\n", name, value, unit);
  std::fflush(stdout);
}

/// Arithmetic that waits for itself; the result is wanted by nobody, but the compiler must not
/// know.
void busy(int64_t rounds) {
  uint64_t x = 1;
  for (int64_t i = 0; i < rounds; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  asm volatile("" : : "r"(x));
}

/// Seconds that one round takes here when so many cores are busy: the machine's peak.
double seconds_of_a_round(int32_t cores) {
  constexpr int64_t kRounds = 20'000'000;
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    const Clock::time_point start = Clock::now();
    std::vector<std::thread> others;
    for (int32_t k = 1; k < cores; ++k) others.emplace_back([] { busy(kRounds); });
    busy(kRounds);
    for (std::thread& other : others) other.join();
    seconds.push_back(seconds_since(start));
  }
  return *std::min_element(seconds.begin(), seconds.end()) / kRounds;
}

void require(bool right, const char* pattern) {
  if (!right) throw std::runtime_error(std::string(pattern) + ": the result is wrong");
}

// ---- patterns: run all steps and give the seconds that they took -------------------------------

double run_trivial(Context& context, const Grid& grid, int64_t rounds) {
  const auto tasks = static_cast<int32_t>(grid.tasks());
  const Clock::time_point start = Clock::now();
  const int64_t n = context.range(0, tasks, 1, tasks)
                        .map(tinderbox::capture(rounds,
                                                [](int64_t n, int64_t i) {
                                                  busy(n);
                                                  return i;
                                                }))
                        .count();
  const double seconds = seconds_since(start);
  require(n == tasks, "trivial");
  return seconds;
}

/// Steps of some points only, one job after the other.
void run_columns(Context& context, int32_t steps, int64_t rounds, std::span<uint64_t> points) {
  std::vector<uint64_t> values(points.begin(), points.end());
  for (int32_t s = 0; s < steps; ++s)
    values = context.parallelize(values, static_cast<int32_t>(values.size()))
                 .map(tinderbox::capture(rounds,
                                         [](int64_t n, uint64_t value) {
                                           busy(n);
                                           return value + 1;
                                         }))
                 .collect();
  std::copy(values.begin(), values.end(), points.begin());
}

/// Points that don't depend on one another need not wait for each other: a quarter of them at a
/// time goes on by itself, as jobs of one application that run side by side.
double run_no_comm(Context& context, const Grid& grid, int64_t rounds) {
  constexpr size_t kGroups = 4;
  std::vector<uint64_t> values(static_cast<size_t>(grid.width), 0);
  std::vector<std::thread> groups;
  const Clock::time_point start = Clock::now();
  for (size_t g = 0; g < kGroups; ++g) {
    const size_t from = values.size() * g / kGroups, to = values.size() * (g + 1) / kGroups;
    if (from == to) continue;
    groups.emplace_back(
        [&context, &grid, rounds, part = std::span(values).subspan(from, to - from)] {
          run_columns(context, grid.steps, rounds, part);
        });
  }
  for (std::thread& group : groups) group.join();
  const double seconds = seconds_since(start);
  for (const uint64_t value : values) require(value == uint64_t(grid.steps), "no_comm");
  return seconds;
}

/// Calls f(reader) for each point that reads this one.
template <class F>
void each_reader(int64_t width, bool periodic, int64_t point, F&& f) {
  for (int64_t at = point - 1; at <= point + 1; ++at)
    if (periodic)
      f((at + width) % width);
    else if (at >= 0 && at < width)
      f(at);
}

/// What the points add up to, by plain loops.
uint64_t stencil_sum(const Grid& grid, bool periodic) {
  std::vector<uint64_t> values(static_cast<size_t>(grid.width), 1);
  for (int32_t s = 0; s < grid.steps; ++s) {
    std::vector<uint64_t> next(values.size(), 0);
    for (int64_t i = 0; i < grid.width; ++i)
      each_reader(grid.width, periodic, i,
                  [&](int64_t at) { next[size_t(at)] += values[size_t(i)]; });
    values = std::move(next);
  }
  uint64_t sum = 0;
  for (const uint64_t value : values) sum += value;
  return sum;
}

/// Each point becomes the sum of those that it reads. A step is a stage: its map output i is the
/// value of point i, sent to those that read it.
double run_stencil(Context& context, const Grid& grid, int64_t rounds, bool periodic) {
  auto points =
      context.range(0, grid.width, 1, grid.width).map([](int64_t i) { return Point(i, 1); });
  const auto send = [](int64_t n, int64_t width, bool periodic, const Point& p, auto& emit) {
    busy(n);
    each_reader(width, periodic, p.first, [&](int64_t at) { emit(Point(at, p.second)); });
  };
  const Clock::time_point start = Clock::now();
  for (int32_t s = 0; s < grid.steps; ++s)
    points =
        points
            .flat_map<Point>(tinderbox::capture(rounds, int64_t{grid.width}, bool{periodic}, send))
            .reduce_by_key([](uint64_t a, uint64_t b) { return a + b; }, grid.width);
  const uint64_t sum = points.values().reduce([](uint64_t a, uint64_t b) { return a + b; });
  const double seconds = seconds_since(start);
  require(sum == stencil_sum(grid, periodic), "stencil");
  return seconds;
}

double run_stencil_1d(Context& context, const Grid& grid, int64_t rounds) {
  return run_stencil(context, grid, rounds, false);
}
double run_stencil_1d_periodic(Context& context, const Grid& grid, int64_t rounds) {
  return run_stencil(context, grid, rounds, true);
}

struct Pattern {
  const char* name;
  double (*run)(Context&, const Grid&, int64_t rounds);
  int32_t steps;  // unless it is told otherwise
};
constexpr Pattern kTrivial{"trivial", run_trivial, 20}, kNoComm{"no_comm", run_no_comm, 20},
    kStencil{"stencil_1d", run_stencil_1d, 10},
    kPeriodic{"stencil_1d_periodic", run_stencil_1d_periodic, 50};
constexpr Pattern kPatterns[] = {kTrivial, kNoComm, kStencil, kPeriodic};

// ---- measures ----------------------------------------------------------------------------------

struct Options {
  int32_t width = Grid{}.width;
  int32_t steps = 0;    // 0: as many as the pattern has
  int32_t task_us = 0;  // of a pattern that is run once. Unit: microseconds
  std::vector<std::string> names;
  Grid grid(const Pattern& pattern) const { return {width, steps > 0 ? steps : pattern.steps}; }
};

int64_t rounds_of(double us, double round) {
  return std::max<int64_t>(1, static_cast<int64_t>(us * 1e-6 / round));
}

/// The share of the machine's peak that was reached.
double efficiency(const Grid& grid, int64_t rounds, double round, double seconds, int32_t cores) {
  return static_cast<double>(rounds * grid.tasks()) * round / (seconds * cores);
}

/// Tasks that do nothing, with those that take the last step's values.
void rate(Context& context, const char* name, const Pattern& pattern, const Options& options) {
  const Grid grid = options.grid(pattern);
  std::vector<double> rates;
  for (int i = 0; i < 5; ++i)
    rates.push_back(static_cast<double>(grid.tasks() + grid.width) / pattern.run(context, grid, 1));
  report(name, median(rates), "1/s");
}

/// Halves the task until less than half of the time is spent in tasks, then takes the point
/// between.
void metg(Context& context, const char* name, const Pattern& pattern, const Options& options) {
  const Grid grid = options.grid(pattern);
  pattern.run(context, grid, 1);
  const int32_t cores = context.default_parallelism();
  const double round = seconds_of_a_round(cores);
  double before_us = 0, before = 1;
  for (double us = 1024; us >= 0.5; us /= 2) {
    const int64_t rounds = rounds_of(us, round);
    std::vector<double> seconds;
    for (int i = 0; i < 3; ++i) seconds.push_back(pattern.run(context, grid, rounds));
    const double reached = efficiency(grid, rounds, round, median(seconds), cores);
    std::printf("# %s: tasks of %.3g us, efficiency %.3f\n", name, us, reached);
    std::fflush(stdout);
    if (reached < 0.5 && before_us == 0)
      throw std::runtime_error(std::string(name) + ": even tasks of " + std::to_string(us) +
                               " us keep the cores busy for " + std::to_string(reached) +
                               " of the time only, at least 0.5 is needed; is the machine busy?");
    if (reached < 0.5) {
      const double share = (before - 0.5) / (before - reached);
      return report(name, before_us + (us - before_us) * share, "us");
    }
    before_us = us;
    before = reached;
  }
  report(name, before_us, "us");
}

void once(Context& context, const Pattern& pattern, const Options& options) {
  const Grid grid = options.grid(pattern);
  pattern.run(context, grid, 1);
  const int32_t cores = context.default_parallelism();
  const double round = seconds_of_a_round(cores);
  const int64_t rounds = rounds_of(options.task_us, round);
  const double seconds = pattern.run(context, grid, rounds);
  std::printf("# %s: %d x %d tasks of %d us: %.4f s, %.0f tasks/s, efficiency %.3f\n", pattern.name,
              grid.width, grid.steps, options.task_us, seconds,
              static_cast<double>(grid.tasks()) / seconds,
              efficiency(grid, rounds, round, seconds, cores));
}

struct Measure {
  const char* name;
  void (*run)(Context&, const char* name, const Pattern&, const Options&);
  Pattern pattern;
};
constexpr Measure kMeasures[] = {
    {"stencil_tasks_per_s", rate, kPeriodic},
    {"metg_trivial_us", metg, kTrivial},
    {"metg_no_comm_us", metg, kNoComm},
    {"metg_stencil_us", metg, kStencil},
};

// ---- arguments ---------------------------------------------------------------------------------

std::string known_names() {
  std::string names;
  for (const Measure& m : kMeasures) names += std::string(m.name) + ", ";
  for (const Pattern& p : kPatterns) names += std::string(p.name) + ", ";
  return names + "width=N, steps=N and task_us=N";
}

bool known(const std::string& name) {
  const auto is = [&](const auto& one) { return one.name == name; };
  return std::any_of(std::begin(kMeasures), std::end(kMeasures), is) ||
         std::any_of(std::begin(kPatterns), std::end(kPatterns), is);
}

int32_t number(const std::string& argument, size_t from) {
  int32_t n = 0;
  const char* const end = argument.data() + argument.size();
  const auto [at, error] = std::from_chars(argument.data() + from, end, n);
  if (error != std::errc() || at != end || n < 1)
    throw std::invalid_argument("'" + argument + "' needs a positive number");
  return n;
}

Options parse(std::span<const std::string> arguments) {
  Options o;
  for (const std::string& argument : arguments) {
    const size_t cut = argument.find('=');
    const std::string key = argument.substr(0, cut);
    if (cut == argument.npos && known(argument))
      o.names.push_back(argument);
    else if (cut != argument.npos && key == "width")
      o.width = number(argument, cut + 1);
    else if (cut != argument.npos && key == "steps")
      o.steps = number(argument, cut + 1);
    else if (cut != argument.npos && key == "task_us")
      o.task_us = number(argument, cut + 1);
    else
      throw std::invalid_argument("'" + argument + "' is unknown; there are " + known_names());
  }
  if (o.names.empty())
    for (const Measure& m : kMeasures) o.names.push_back(m.name);
  return o;
}

int run(Context& context, std::span<const std::string> arguments) {
  const Options options = parse(arguments);
  for (const std::string& name : options.names) {
    for (const Measure& m : kMeasures)
      if (m.name == name) m.run(context, m.name, m.pattern, options);
    for (const Pattern& p : kPatterns)
      if (p.name == name) once(context, p, options);
  }
  return 0;
}

TINDERBOX_APPLICATION(task_bench, "Task Bench: [NAME...] [width=N] [steps=N] [task_us=N]", run);

}  // namespace
