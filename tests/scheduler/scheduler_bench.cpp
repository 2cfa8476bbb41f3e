// What one empty task costs in the Driver machine alone. Hidden: run with [.bench].
#include <cstdio>

#include "tests/scheduler/scheduler_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

/// An executor that ends everything it has, at most `batch` tasks a message.
struct Instant {
  PeerId peer;
  std::deque<TaskId> queue;
};

struct Bench {
  Driver driver;
  std::vector<Instant> executors;
  Time now{};
  DriverEffects out;
  std::chrono::nanoseconds spent{}, freeing{};
  int64_t starts = 0, ends = 0, results = 0, jobs_ended = 0;

  explicit Bench(int32_t ahead) : Bench(test_options(ahead)) {}
  explicit Bench(DriverOptions options) : driver(std::move(options), test_codec()) {}

  void on(DriverEvent event) {
    now += 10us;
    const auto begin = std::chrono::steady_clock::now();
    driver.on(std::move(event), now, out);
    const auto machine = std::chrono::steady_clock::now();
    for (DriverEffect& e : out) read(e);
    const auto reading = std::chrono::steady_clock::now();
    out.clear();
    freeing += std::chrono::steady_clock::now() - reading;
    spent += machine - begin;
  }
  void read(DriverEffect& e) {
    if (auto* s = std::get_if<Send<ToExecutor>>(&e)) {
      if (auto* m = std::get_if<LaunchTasks>(&s->message))
        for (const TaskLaunch& t : m->tasks) executors[s->to - 1].queue.push_back(t.id);
      if (std::get_if<RevokeTasks>(&s->message)) revoked.push_back(s->to);
    } else if (auto* p = std::get_if<Publish>(&e)) {
      for (const ListenerEvent& event : p->events) {
        starts += std::holds_alternative<TaskStarted>(event);
        ends += std::holds_alternative<TaskEnded>(event);
      }
    } else if (std::holds_alternative<DeliverResult>(e)) {
      ++results;
    } else if (std::holds_alternative<DeliverJobEnd>(e)) {
      ++jobs_ended;
    }
  }
  std::vector<PeerId> revoked;

  void add_executor(int32_t cores) {
    const PeerId peer = executors.size() + 1;
    executors.push_back({peer, {}});
    const ExecutorId id{std::to_string(peer)};
    on(Received<ToDriver>{peer,
                          ExecutorHello{Identity{"", AppId{"app-1"}, 0, ""}, id, "b1", "c1"}});
    RegisterExecutor m;
    m.id = id;
    m.host = "127.0.0.1";
    m.block_address = "127.0.0.1:40001";
    m.cores = cores;
    on(Received<ToDriver>{peer, m});
    on(Received<ToDriver>{peer, ExecutorReady{id}});
  }

  uint64_t tickets = 0;
  void submit(int32_t tasks, const std::string& pool = "") {
    JobRequest r;
    r.ticket = ++tickets;
    r.root = rdd(tasks);
    if (!pool.empty()) r.properties["spark.scheduler.pool"] = pool;
    for (int32_t p = 0; p < tasks; ++p) r.partitions.push_back(p);
    on(SubmitJob{std::move(r)});
  }
  void run_job(int32_t tasks, size_t batch) {
    submit(tasks);
    run_all(batch);
  }
  void run_all(size_t batch) {
    while (jobs_ended < static_cast<int64_t>(tickets)) {
      for (Instant& e : executors) {
        if (e.queue.empty()) continue;
        StatusUpdates m;
        while (!e.queue.empty() && m.tasks.size() < batch) {
          TaskUpdate& u = m.tasks.emplace_back();
          u.id = e.queue.front();
          u.state = TaskState::Finished;
          u.result = Payload(Bytes("0"));
          u.metrics = TaskMetrics{};
          e.queue.pop_front();
        }
        on(Received<ToDriver>{e.peer, std::move(m)});
      }
      for (const PeerId peer : std::exchange(revoked, {}))
        on(Received<ToDriver>{peer, TasksRevoked{}});
    }
  }
};

}  // namespace

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
