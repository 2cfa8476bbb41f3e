// What one empty task costs in the Driver machine alone. Hidden: run with [.bench].
#include "tests/core/scheduler/bench/bench_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

TEST_CASE("nanoseconds a task in the Driver machine", "[.bench]") {
  const int32_t ahead = GENERATE(32, 64, 256);
  Bench bench(ahead);
  bench.add_executor(1);
  bench.add_executor(1);
  const int jobs = 50, tasks = 10000;
  for (int i = 0; i < 5; ++i) bench.run_job(tasks, 64);
  bench.spent = bench.freeing = {};
  bench.starts = bench.ends = bench.results = 0;
  for (int i = 0; i < jobs; ++i) bench.run_job(tasks, 64);
  CHECK(bench.starts == int64_t{jobs} * tasks);
  CHECK(bench.ends == int64_t{jobs} * tasks);
  CHECK(bench.results == int64_t{jobs} * tasks);
  CHECK(bench.driver.idle_state_is_clean());
  const double n = double(jobs) * tasks;
  std::printf(
      "launch_ahead %d: machine %.0f ns a task, freeing its effects %.0f ns a task; "
      "sizeof event %zu effect %zu update %zu attempt %zu\n",
      ahead, bench.spent.count() / n, bench.freeing.count() / n, sizeof(ListenerEvent),
      sizeof(DriverEffect), sizeof(TaskUpdate), sizeof(Attempt));
}

TEST_CASE("nanoseconds of a one-task job in the Driver machine", "[.bench]") {
  for (const int executors : {2, 1000}) {
    Bench bench(32);
    for (int i = 0; i < executors; ++i) bench.add_executor(1);
    for (int i = 0; i < 100; ++i) bench.run_job(1, 64);
    bench.spent = bench.freeing = {};
    for (int i = 0; i < 10000; ++i) bench.run_job(1, 64);
    std::printf("%d executors: %.0f ns a one-task job\n", executors, bench.spent.count() / 10000.0);
  }
}

TEST_CASE("nanoseconds a task with many jobs at once, FIFO and by pools", "[.bench]") {
  struct Case {
    int jobs, pools;
    size_t batch;
  };
  for (const Case c : {Case{2, 0, 64},
                       {2, 1, 64},
                       {2, 2, 64},
                       {2, 2, 1},
                       {100, 0, 1},
                       {100, 10, 1},
                       {100, 10, 64},
                       {1000, 0, 1},
                       {1000, 100, 1}}) {
    DriverOptions options = test_options(32);
    if (c.pools > 0) options.scheduling_mode = conf::SchedulingMode::kFair;
    Bench bench(std::move(options));
    for (int i = 0; i < 8; ++i) bench.add_executor(8);
    const int tasks = 200000 / c.jobs;
    for (int i = 0; i < c.jobs; ++i)
      bench.submit(tasks, std::to_string(c.pools > 0 ? i % c.pools : 0));
    bench.spent = {};
    bench.run_all(c.batch);
    std::printf("%d jobs, %s %d, %zu ends a message: machine %.0f ns a task\n", c.jobs,
                c.pools > 0 ? "pools" : "FIFO", c.pools, c.batch,
                bench.spent.count() / (double(c.jobs) * tasks));
    CHECK(bench.driver.idle_state_is_clean());
  }
}
