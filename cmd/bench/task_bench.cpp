// Task Bench: steps of tasks that depend on the step before, and how small a task may be.
//
// A step of the stencil is a stage: its map output i is the value of point i, sent to the three
// reducers that read it. `no_comm` has no dependencies, so all steps are one stage. A task is busy
// for a number of rounds of arithmetic; the time of a round is measured first, on one thread.
// METG(50 %): the smallest busy time at which the tasks still keep the cores half busy.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "cmd/bench/session.hpp"
#include "conf/error.hpp"
#include "net/process/exec.hpp"

namespace tinderbox::cmd {
namespace {

constexpr int32_t kWidth = 200;
constexpr double kCores = 2;

/// Arithmetic that waits for itself; the result is wanted by nobody, but the compiler must not
/// know.
void busy(int64_t rounds) {
  uint64_t x = 1;
  for (int64_t i = 0; i < rounds; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  asm volatile("" : : "r"(x));
}

/// Seconds that one round takes here when all cores are busy: the machine's peak, against which
/// Task Bench sets what is reached.
double seconds_of_a_round() {
  constexpr int64_t kRounds = 20'000'000;
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    const Time start = net::wall_clock();
    std::thread other([] { busy(kRounds); });
    busy(kRounds);
    other.join();
    seconds.push_back(seconds_between(start, net::wall_clock()));
  }
  return *std::min_element(seconds.begin(), seconds.end()) / kRounds;
}

/// `steps` steps; the seconds they took. Each point becomes the sum of three of the step before,
/// so after n steps the sum of all points is 3ⁿ times the first.
double run_stencil(Context& context, int32_t steps, int64_t rounds) {
  using Point = std::pair<int64_t, uint64_t>;
  auto points = context.range(0, kWidth, 1, kWidth).map([](int64_t i) { return Point(i, 1); });
  const Time start = net::wall_clock();
  for (int32_t s = 0; s < steps; ++s)
    points = points
                 .flat_map<Point>(capture(rounds,
                                          [](int64_t n, const Point& p, auto& emit) {
                                            busy(n);
                                            for (int64_t d : {kWidth - 1, 0, 1})
                                              emit(Point((p.first + d) % kWidth, p.second));
                                          }))
                 .reduce_by_key([](uint64_t a, uint64_t b) { return a + b; }, kWidth);
  const uint64_t sum = points.values().reduce([](uint64_t a, uint64_t b) { return a + b; });
  const double seconds = seconds_between(start, net::wall_clock());
  uint64_t want = kWidth;
  for (int32_t s = 0; s < steps; ++s) want *= 3;
  if (sum != want) throw conf::Error("the stencil's result is wrong");
  return seconds;
}

double run_no_comm(Context& context, int32_t tasks, int64_t rounds) {
  const Time start = net::wall_clock();
  const int64_t n = context.range(0, tasks, 1, tasks)
                        .map(capture(rounds,
                                     [](int64_t n, int64_t i) {
                                       busy(n);
                                       return i;
                                     }))
                        .count();
  if (n != tasks) throw conf::Error("a task was lost");
  return seconds_between(start, net::wall_clock());
}

/// Halves the task until less than half of the time is spent in tasks, then takes the point
/// between.
template <class Run>
void metg(const char* name, int32_t tasks, Run run) {
  const double round = seconds_of_a_round();
  double before_us = 0, before = 1;
  for (double us = 8192; us >= 0.5; us /= 2) {
    const int64_t rounds = std::max<int64_t>(1, static_cast<int64_t>(us * 1e-6 / round));
    std::vector<double> seconds;
    for (int i = 0; i < 3; ++i) seconds.push_back(run(rounds));
    const double efficiency =
        static_cast<double>(rounds) * round * tasks / (median(seconds) * kCores);
    std::printf("# %s: tasks of %.3g us, efficiency %.3f\n", name, us, efficiency);
    std::fflush(stdout);
    if (efficiency < 0.5) {
      const double share = before == efficiency ? 0 : (before - 0.5) / (before - efficiency);
      return report(name, before_us == 0 ? us : before_us + (us - before_us) * share, "us");
    }
    before_us = us;
    before = efficiency;
  }
  report(name, before_us, "us");
}

}  // namespace

void stencil_tasks_per_s(const BenchOptions& options) {
  constexpr int32_t kSteps = 50;
  BenchSession s(options, kCluster);
  std::vector<double> rates;
  for (int round = 0; round < 5; ++round)
    rates.push_back(kWidth * (kSteps + 1) / run_stencil(*s.context, kSteps, 1));
  report("stencil_tasks_per_s", median(rates), "1/s");
}

void metg_no_comm_us(const BenchOptions& options) {
  constexpr int32_t kTasks = 4000;
  BenchSession s(options, kCluster);
  run_no_comm(*s.context, kTasks, 1);
  metg("metg_no_comm_us", kTasks,
       [&](int64_t rounds) { return run_no_comm(*s.context, kTasks, rounds); });
}

void metg_stencil_us(const BenchOptions& options) {
  constexpr int32_t kSteps = 10;
  BenchSession s(options, kCluster);
  run_stencil(*s.context, kSteps, 1);
  metg("metg_stencil_us", kWidth * kSteps,
       [&](int64_t rounds) { return run_stencil(*s.context, kSteps, rounds); });
}

}  // namespace tinderbox::cmd
