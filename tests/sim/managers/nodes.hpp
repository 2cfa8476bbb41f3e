// Simulated nodes: a scheduler that finds pods a place, kubelets that run them, and what goes wrong
// there. An executor's container is a SimExecutor.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/sim/checks/pods.hpp"
#include "tests/sim/managers/api_server.hpp"
#include "tests/sim/managers/manager.hpp"

namespace tinderbox::sim {

/// Thread: the simulator's.
class Nodes {
 public:
  Nodes(Surroundings in, Fleet& fleet, ApiServer& server, PodChecks& checks,
        const Scenario& scenario)
      : in_(in), fleet_(fleet), server_(server), checks_(checks), scenario_(scenario) {}

  // ---- what the API server tells ----
  void pod_made(const Json& pod);
  void pod_leaves(const Json& pod, int64_t grace);
  void pod_gone(const Json& pod);

  // ---- faults ----
  /// With all that runs there; nobody reports anything. It comes back, empty.
  void lose(const std::string& host);
  /// Its pods are told to go; no others come.
  bool drain(const std::string& host, Duration length);
  /// By somebody who is not the driver. False: there is no pod that runs or waits.
  bool delete_one(int32_t target);
  /// The kubelet ends it, as the node lacks memory or disk.
  bool evict_one(int32_t target);
  /// No pod finds a node for so long, none of those that come finds its image.
  void fill_up(Duration length);
  void lose_image(Duration length);

 private:
  struct Life {
    std::string name, uid, node;
    SimExecutor* executor = nullptr;
    bool ended = false, evicted = false;
    Time image_from{};  // when its image is there
  };
  /// Null: it is gone.
  const Json* object(const Life& life) const { return server_.pod(life.name, life.uid); }
  /// For each step of a pod's life: dropped when the pod is gone.
  void later(const std::string& uid, Duration delay, std::function<void(Life&)> step);
  void place(Life& life);
  std::string why_not() const;
  std::string choose_node() const;
  bool claims_there(const Json& pod) const;
  void refuse_place(Life& life, const std::string& why);
  void begin(Life& life);
  void wait_for_image(Life& life);
  void ended(Life& life, int code);
  void report_end(Life& life, int code);
  void end_soon(Life& life, int64_t grace);
  bool lost(const std::string& node) const;
  Life* pick(int32_t target, const std::function<bool(const Life&)>& fits);
  Duration reaction() { return in_.world.random().between(Duration{1ms}, kSlowest); }
  const PodSettings& settings() const { return in_.settings.pods; }

  static constexpr Duration kSlowest = 400ms;

  Surroundings in_;
  Fleet& fleet_;
  ApiServer& server_;
  PodChecks& checks_;
  const Scenario& scenario_;
  std::map<std::string, Life> lives_;            // by uid
  std::map<std::string, Time> down_, cordoned_;  // nodes, until when
  std::set<std::string> forsaken_;               // uids of pods whose node is lost
  Time full_until_{}, no_image_until_{};
};

}  // namespace tinderbox::sim
