// What a task costs the Driver machine when the cluster or the job is large: time, and memory.
// Hidden: run with [.bench].
#include <malloc.h>

#include "tests/core/scheduler/bench/bench_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

constexpr int32_t kTasks = 1'000'000;

/// Each partition has copies on two of the hosts, here and there.
NodePtr with_copies(int32_t tasks, int32_t hosts) {
  Locations preferred(static_cast<size_t>(tasks));
  uint64_t x = 1;
  for (auto& two : preferred)
    for (int i = 0; i < 2; ++i) {
      x = x * 6364136223846793005 + 1442695040888963407;
      two.push_back("h" + std::to_string((x >> 33) % static_cast<uint64_t>(hosts)));
    }
  return rdd(tasks, {}, std::move(preferred));
}

/// Unit: bytes that are allocated and not freed.
int64_t allocated() {
  const struct mallinfo2 m = mallinfo2();
  return static_cast<int64_t>(m.uordblks + m.hblkhd);
}

}  // namespace

TEST_CASE("nanoseconds a task of 1,000,000 with locality, by executors of 4 cores", "[.bench]") {
  for (const int32_t ahead : {0, 32})
    for (const int32_t executors : {100, 1000, 10000}) {
      Bench bench(ahead);
      for (int32_t i = 0; i < executors; ++i) bench.add_executor(4, "h" + std::to_string(i));
      NodePtr root = with_copies(kTasks, executors);
      bench.spent = {};
      bench.submit(std::move(root));
      const double submitting = double(bench.spent.count()) / kTasks;
      bench.run_all(4);
      CHECK(bench.ends == kTasks);
      CHECK(bench.driver.idle_state_is_clean());
      std::printf(
          "launch_ahead %d, %d executors: %.0f ns a task, of which %.0f with the submission\n",
          ahead, executors, double(bench.spent.count()) / kTasks, submitting);
    }
}

TEST_CASE("bytes a pending task and a finished one", "[.bench]") {
  struct Case {
    const char* what;
    int32_t hosts;
  };
  for (const Case c : {Case{"without locality", 0}, {"with two places of 1,000", 1000}}) {
    Bench bench(0);
    for (int32_t i = 0; i < std::max(1, c.hosts); ++i)
      bench.add_executor(1, "h" + std::to_string(i));
    NodePtr root = c.hosts ? with_copies(kTasks, c.hosts) : rdd(kTasks);
    const int64_t before = allocated();
    bench.submit(std::move(root));
    const int64_t pending = allocated() - before;
    bench.run_all(1, kTasks - 1);
    const int64_t finished = allocated() - before;
    std::printf("%s: %.1f bytes a pending task, %.1f a finished one\n", c.what,
                double(pending) / kTasks, double(finished) / kTasks);
    bench.run_all(1);
    CHECK(bench.driver.idle_state_is_clean());
  }
}

TEST_CASE("microseconds an output that moves from one of many that leave at once", "[.bench]") {
  constexpr int32_t kOutputs = 300'000;
  for (const int32_t executors : {1000, 10'000}) {
    DriverOptions options = test_options(0);
    options.migration = {
        .shuffles = true, .max_failures = 3, .reattempt_interval = 30s, .max_threads = 8};
    options.executor_timeout = 24h;
    Bench bench(std::move(options));
    for (int32_t i = 0; i < executors; ++i) bench.add_executor(4, "h" + std::to_string(i));
    bench.submit_map_stage(shuffle(rdd(kOutputs), 1));
    bench.run_all(4);
    bench.spent = {};
    const int32_t leaving = executors / 5;
    for (int32_t i = 1; i <= leaving; ++i)
      bench.on(Received<ToDriver>{static_cast<PeerId>(i),
                                  ExecutorDecommissioning{ExecutorId{std::to_string(i)}}});
    int64_t moved = 0;
    for (; !bench.takes.empty(); ++moved) {
      const Bench::Take take = bench.takes.front();
      bench.takes.pop_front();
      bench.on(Received<ToDriver>{take.by, BlockTaken{take.request, true, {}}});
    }
    CHECK(bench.stopped == leaving);
    const double moving = double(bench.spent.count()) / 1e3;
    bench.spent = {};
    for (int32_t i = 1; i <= leaving; ++i)
      bench.on(BackendExecutorExited{ExecutorId{std::to_string(i)}, 0, "", ""});
    std::printf(
        "%d executors, %d leave: %.2f us each of %lld outputs; %.1f us to lose one of them\n",
        executors, leaving, moving / double(moved), static_cast<long long>(moved),
        double(bench.spent.count()) / 1e3 / leaving);
  }
}
