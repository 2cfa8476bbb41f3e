// Executors with addresses, jobs with resource profiles.
#pragma once

#include "tests/core/scheduler/scheduler_fixture.hpp"

namespace tinderbox::core::scheduling {

inline ResourceProfile make(const ExecutorResourceRequests& e, const TaskResourceRequests& t) {
  return ResourceProfileBuilder().require(e).require(t).build();
}
inline ResourceProfile gpu_tasks(int32_t cpus, double gpus) {
  return make({}, TaskResourceRequests().cpus(cpus).resource("gpu", gpus));
}

/// Executors of `gpus` each, tasks that want `share`.
inline DriverOptions gpus(int32_t amount, double share, int32_t ahead = 0) {
  DriverOptions o = test_options(ahead);
  o.profile = make(ExecutorResourceRequests().resource("gpu", amount),
                   TaskResourceRequests().cpus(1).resource("gpu", share));
  return o;
}
inline DriverOptions dynamic(DriverOptions o) {
  AllocationOptions& a = o.allocation.emplace();
  a.max_executors = 100;
  a.backlog_timeout = a.sustained_timeout = 1s;
  a.idle_timeout = a.cached_idle_timeout = kNever;
  a.tasks_per_executor = 1;
  a.shuffle_tracking = true;
  o.executor_timeout = 24h;
  return o;
}

struct Gpus : Cluster {
  using Cluster::Cluster;
  std::vector<std::unique_ptr<ResourceProfile>> profiles;

  void join(const std::string& id, int32_t cores, std::vector<std::string> addresses = {},
            int32_t profile = 0) {
    peers[id] = ++next_peer;
    hosts[id] = "h" + id;
    from(id, ExecutorHello{{"", AppId{"app-1"}, 0, ""}, ExecutorId{id}, "b1", "c1", profile});
    RegisterExecutor m;
    m.id = ExecutorId{id};
    m.host = hosts[id];
    m.block_address = hosts[id] + ":7079";
    m.cores = cores;
    m.profile = profile;
    if (!addresses.empty()) m.resources["gpu"] = std::move(addresses);
    from(id, m);
    from(id, ExecutorReady{ExecutorId{id}});
  }
  std::shared_ptr<Node> with(const ResourceProfile& p, std::shared_ptr<Node> node) {
    profiles.push_back(std::make_unique<ResourceProfile>(p));
    node->profile = profiles.back().get();
    return node;
  }
  uint64_t submit(NodePtr root) {
    JobRequest r;
    r.ticket = ++next_ticket;
    r.root = std::move(root);
    for (int32_t p = 0; p < r.root->num_partitions; ++p) r.partitions.push_back(p);
    r.profiles = true;
    on(SubmitJob{std::move(r)});
    return next_ticket;
  }
  /// Addresses of each task that the last event launched, joined.
  std::vector<std::string> addresses() const {
    std::vector<std::string> v;
    for (const LaunchTasks& m : messages<LaunchTasks>())
      for (size_t i = 0; i < m.tasks.size(); ++i) {
        std::string& all = v.emplace_back();
        if (i >= m.resources.size() || !m.resources[i].contains("gpu")) continue;
        for (const std::string& a : m.resources[i].at("gpu")) all += (all.empty() ? "" : ",") + a;
      }
    return v;
  }
  size_t on_executor(const std::string& id, int32_t stage = -1) const {
    size_t n = 0;
    for (const Sent& s : live(stage)) n += s.executor == id;
    return n;
  }
  void end_all() {
    while (!live().empty()) succeed(live().front(), "x");
  }
};

using Strings = std::vector<std::string>;

}  // namespace tinderbox::core::scheduling
