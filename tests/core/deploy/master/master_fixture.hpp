// A master under virtual time for tests: feed it messages, read its effects.
#pragma once

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

#include "core/deploy/master/master.hpp"
#include "tests/core/deploy/deploy_fixtures.hpp"

namespace tinderbox::core::test::of_master {

using namespace std::chrono_literals;

inline const Time kStart{Duration(1795250818364000)};  // 2026-11-21 08:46:58.364 UTC

inline MasterOptions options(const conf::Conf& conf = {}) {
  MasterOptions o = master_options(conf);
  o.url = "spark://m:7077";
  o.web_ui_url = "http://m:8080";
  return o;
}

/// A master under virtual time. Peers: workers 1…, applications 100…, clients 200….
struct Run {
  Master master;
  Time now = kStart;

  explicit Run(MasterOptions o = options(), RecoveredState recovered = {}, bool elected = true)
      : master(std::move(o), 1) {
    if (elected) first = feed(ElectedLeader{std::move(recovered)});
  }
  Master::Effects first;

  Master::Effects feed(Master::Event e) {
    Master::Effects out;
    master.on(e, now, out);
    return out;
  }
  Master::Effects from(PeerId peer, ToMaster m) {
    return feed(Received<ToMaster>{peer, std::move(m)});
  }
  /// One that is new says what it runs, which is nothing.
  Master::Effects from(PeerId peer, const RegisterWorker& m) {
    Master::Effects out = from(peer, ToMaster(m));
    const auto registered = to_worker<RegisteredWorker>(out);
    if (registered.empty() || registered[0].message.duplicate) return out;
    for (auto& e : from(peer, WorkerLatestState{m.id, {}, {}})) out.push_back(std::move(e));
    return out;
  }
  Master::Effects tick() { return feed(MasterTimer{MasterTimer::Kind::CheckWorkers, 0}); }
  Master::Effects beat(PeerId peer, const std::string& name) {
    return from(peer, WorkerHeartbeat{{"worker-" + name}});
  }
  AppId add_app(PeerId peer, ApplicationDescription d, const std::string& address = "") {
    auto registered =
        to_app<RegisteredApplication>(from(peer, RegisterApplication{{}, d, address, 0}));
    REQUIRE(registered.size() == 1);
    return registered[0].message.app;
  }
  ClusterStatus status() const { return master.status(now); }
  WorkerRow worker(const std::string& name) const {
    for (const WorkerRow& w : status().workers)
      if (w.id.value == "worker-" + name) return w;
    FAIL("no worker " + name);
    return {};
  }
};

inline ExecutorStateChanged change(const AppId& app, int32_t executor, ExecutorState state,
                                   std::optional<int32_t> status = {}) {
  return {7, app, executor, state, "", status};
}

inline DriverDescription driver(bool supervise = false, int32_t cores = 1, int64_t memory = 512) {
  DriverDescription d;
  d.command.main_class = "wordcount";
  d.cores = cores;
  d.memory_mib = memory;
  d.supervise = supervise;
  return d;
}

inline RecoveredState one_of_each() {
  RecoveredState s;
  s.apps[{"app-1"}] = {{"app-1"}, app_of(), "d:7078", 5};
  s.workers[{"worker-a"}] = {{"worker-a"}, "a", 4000, 16, 65536, "http://a:8081"};
  s.drivers[{"driver-1"}] = {{"driver-1"}, driver(), 6};
  return s;
}

inline ExecutorDescription running(const std::string& app, int32_t id, int32_t cores,
                                   int64_t memory = 1024) {
  return {{app}, id, 0, cores, memory, ExecutorState::Running};
}

}  // namespace tinderbox::core::test::of_master
