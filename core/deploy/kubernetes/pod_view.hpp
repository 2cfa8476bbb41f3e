// What is read of a pod that the API server shows.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tinderbox::core::kubernetes {

struct ContainerView {
  enum class State : uint8_t { None, Waiting, Running, Terminated };
  std::string name, image;
  State state = State::None;
  std::string reason, message;  // of waiting and terminated
  int32_t exit_code = 0;
  int32_t signal = 0;
  int32_t restarts = 0;   // how often it was begun again
  int32_t last_exit = 0;  // its exit code before that
  std::string started_at, finished_at;
  bool operator==(const ContainerView&) const = default;
};

struct PodView {
  std::string name, name_space, uid, resource_version;
  std::map<std::string, std::string> labels;
  std::string creation_time, deletion_time;  // empty: it is not being deleted
  std::string service_account, node, start_time, pod_ip, restart_policy;
  std::string phase, reason, message;
  bool ready = false;
  std::string unscheduled;  // the scheduler's words while it finds no node; else empty
  std::string disruption;   // the words of a DisruptionTarget condition
  std::vector<std::string> volumes;
  std::vector<ContainerView> init_containers, containers;
  bool operator==(const PodView&) const = default;

  /// Empty: it has no such label.
  std::string label(std::string_view name) const;
};

/// Whatever is missing or of another type is left empty: it is a server's word.
PodView read_pod(const nlohmann::json& pod);

/// Why a pod that waits cannot start, when that is known: `ImagePullBackOff: …`,
/// `Unschedulable: …`; empty: it just takes its time.
std::string waiting_reason(const PodView& pod);
/// Whether what it waits for will not come by itself: a wrong image name, a bad configuration.
bool waits_in_vain(const PodView& pod);

/// The lines of Spark's status report, each after a tab. Source: Spark 4.3
/// KubernetesUtils.formatPodState.
std::string describe_pod(const PodView& pod);
/// The lines of its containers alone, `indent` before each.
std::string describe_containers(const PodView& pod, const std::string& indent);

}  // namespace tinderbox::core::kubernetes
