// A Driver machine on the clock, with executors that end at once whatever they get.
#pragma once

#include <chrono>
#include <cstdio>

#include "tests/core/scheduler/scheduler_fixture.hpp"

namespace tinderbox::core::scheduling {

/// An executor that ends everything it has, at most `batch` tasks a message. Small: thousands of
/// them share the machine's caches with what is measured.
struct Instant {
  PeerId peer;
  BlockManagerId address;
  AheadQueue queue;
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
      if (auto* m = std::get_if<TakeBlock>(&s->message)) takes.push_back({s->to, m->request});
      stopped += std::holds_alternative<StopExecutor>(s->message);
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
  struct Take {
    PeerId by;
    uint64_t request;
  };
  std::deque<Take> takes;
  int64_t stopped = 0;

  void add_executor(int32_t cores, const std::string& host = "127.0.0.1") {
    const PeerId peer = executors.size() + 1;
    const ExecutorId id{std::to_string(peer)};
    executors.push_back({peer, {id, host, host + ":40001"}, {}});
    on(Received<ToDriver>{peer,
                          ExecutorHello{Identity{"", AppId{"app-1"}, 0, ""}, id, "b1", "c1"}});
    RegisterExecutor m;
    m.id = id;
    m.host = host;
    m.block_address = executors.back().address.address;
    m.cores = cores;
    on(Received<ToDriver>{peer, m});
    on(Received<ToDriver>{peer, ExecutorReady{id}});
  }

  uint64_t tickets = 0;
  bool map_stage = false;  // what the tasks are of
  void submit(int32_t tasks, const std::string& pool = "") { submit(rdd(tasks), pool); }
  void submit(NodePtr root, const std::string& pool = "") {
    JobRequest r;
    r.ticket = ++tickets;
    if (!pool.empty()) r.properties["spark.scheduler.pool"] = pool;
    for (int32_t p = 0; p < root->num_partitions; ++p) r.partitions.push_back(p);
    r.root = std::move(root);
    on(SubmitJob{std::move(r)});
  }
  void submit_map_stage(ShufflePtr shuffle) {
    JobRequest r;
    r.ticket = ++tickets;
    r.map_stage = std::move(shuffle);
    map_stage = true;
    on(SubmitJob{std::move(r)});
  }
  void run_job(int32_t tasks, size_t batch) {
    submit(tasks);
    run_all(batch);
  }
  /// `batch` ends a message. Until the jobs have ended, or so many tasks.
  void run_all(size_t batch, int64_t until = std::numeric_limits<int64_t>::max()) {
    while (jobs_ended < static_cast<int64_t>(tickets) && ends < until) {
      const int64_t before = ends;
      for (Instant& e : executors)
        if (!e.queue.empty() && ends < until) end_some(e, batch);
      for (const PeerId peer : std::exchange(revoked, {}))
        on(Received<ToDriver>{peer, TasksRevoked{}});
      if (ends == before) revive();
    }
  }
  void end_some(Instant& e, size_t batch) {
    StatusUpdates m;
    m.tasks.reserve(std::min(batch, e.queue.size()));
    while (!e.queue.empty() && m.tasks.size() < batch) {
      TaskUpdate& u = m.tasks.emplace_back();
      u.id = e.queue.front();
      u.state = TaskState::Finished;
      if (map_stage)
        u.map_status = MapStatus{e.address, u.id.value, encode_sizes(std::vector<int64_t>{1}), 1};
      else
        u.result = Payload(Bytes("0"));
      u.metrics = TaskMetrics{};
      e.queue.pop_front();
    }
    on(Received<ToDriver>{e.peer, std::move(m)});
  }
  /// What is left waits for a better place.
  void revive() {
    now += 1s;
    on(DriverTimer{DriverTimer::Kind::Revive, 0, {}});
  }
};

}  // namespace tinderbox::core::scheduling
