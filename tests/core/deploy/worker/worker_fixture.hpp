// A Worker machine that belongs to a master, and what it told it.
#pragma once

#include <catch2/catch.hpp>

#include "core/deploy/worker/worker.hpp"
#include "tests/core/deploy/deploy_fixtures.hpp"

namespace tinderbox::core::test::of_worker {

using namespace std::chrono_literals;

inline const Time kStart{Duration(1795250807000000)};  // 2026-11-21 08:46:47 UTC
using Kind = WorkerTimer::Kind;

inline WorkerOptions options(const conf::Conf& conf = {}) {
  WorkerOptions o = worker_options(conf);
  o.host = "w";
  o.port = 4000;
  o.web_ui_url = "http://w:8081";
  o.cores = 8;
  o.memory_mib = 8192;
  o.masters = {"spark://m:7077"};
  o.work_dir = "/work";
  o.local_dirs = {"/tmp", "/data"};
  o.cleanup = false;
  return o;
}

/// `count` as an application that a driver runs.
inline DriverDescription driver(bool supervise) {
  DriverDescription d;
  d.command.elf = "http://repo/count";
  d.command.main_class = "wordcount";
  d.command.arguments = {"in", "{{WORKER_URL}}"};
  d.command.properties = {{"spark.master", "spark://m:7077"}};
  d.supervise = supervise;
  d.cores = 1;
  d.memory_mib = 512;
  return d;
}

struct Run {
  Worker worker;
  Time now = kStart;
  explicit Run(WorkerOptions o = options(), uint64_t seed = 1) : worker(std::move(o), seed) {}

  Worker::Effects feed(Worker::Event e) {
    Worker::Effects out;
    worker.on(e, now, out);
    return out;
  }
  Worker::Effects from(PeerId peer, ToWorker m) {
    return feed(Received<ToWorker>{peer, std::move(m)});
  }
  Worker::Effects timer(Kind kind, uint64_t id) { return feed(WorkerTimer{kind, id}); }
  /// Starts and registers with a master that is peer 1.
  Worker::Effects start() {
    feed(StartWorker{});
    feed(Connected{1, 1});
    return from(1, RegisteredWorker{"spark://m:7077", "http://m:8080", false});
  }
  /// Launches executor `id` of `app` and returns its ticket.
  uint64_t launch(const std::string& app, int32_t id, int32_t cores = 2) {
    auto spawned =
        all<Spawn>(from(1, LaunchExecutor{"spark://m:7077", {app}, id, 0, app_of(), cores, 1024}));
    REQUIRE(spawned.size() == 1);
    return spawned[0].ticket;
  }
  /// Executor `id` of app-1 has a process; its ticket.
  uint64_t running(int32_t id = 0) {
    const uint64_t ticket = launch("app-1", id);
    feed(ProcessStarted{ticket, 7, ""});
    return ticket;
  }
  /// Its master is lost, and answers on a new connection, as peer 2.
  Worker::Effects join_again(bool known = false) {
    const auto lost = feed(PeerLost{1});
    feed(Connected{all<Connect>(lost).at(0).ticket, 2});
    return from(2, RegisteredWorker{"spark://m:7077", "", known});
  }
};

/// The one After of this kind.
inline WorkerTimer timer_of(const Worker::Effects& out, Kind kind, Duration* delay = nullptr) {
  for (const auto& a : all<After<WorkerTimer>>(out)) {
    if (a.event.kind != kind) continue;
    if (delay) *delay = a.delay;
    return a.event;
  }
  FAIL("no such timer");
  return {};
}

struct State {
  int32_t executor;
  ExecutorState state;
  std::optional<int32_t> status;
  bool operator==(const State&) const = default;
};
inline std::vector<State> reports(const Worker::Effects& out) {
  std::vector<State> states;
  for (const auto& s : to_master<ExecutorStateChanged>(out))
    states.push_back({s.message.executor, s.message.state, s.message.exit_status});
  return states;
}

}  // namespace tinderbox::core::test::of_worker
