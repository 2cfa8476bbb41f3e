// The PodManager's sets: where a controller of Kubernetes makes the pods, this one says how many,
// and tells executors apart.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/pods/pod_manager.hpp"
#include "core/status/exit_codes.hpp"

namespace tinderbox::core::kubernetes {
namespace {

constexpr const char* kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

}  // namespace

std::string PodManager::sets_path(int32_t profile) const {
  const AppNames& names = options_.executors.names;
  const bool deployment = options_.kind == PodAllocator::Deployment;
  return api_path(names.name_space, deployment ? "apps/v1/deployments" : "apps/v1/statefulsets",
                  profile < 0 ? "" : executor_set_name(options_.kind, names, profile));
}

/// Source: Spark 4.3 StatefulSetPodsAllocator.setTotalExpectedExecutors.
void PodManager::scale_sets(Effects& out) {
  const AppNames& names = options_.executors.names;
  for (const auto& [number, total] : allocator_.totals()) {
    const auto [at, first] = sets_.try_emplace(number);
    PodSet& set = at->second;
    if (set.asked || (!first && set.replicas == total)) continue;
    set = {total, true};
    if (!first) {
      ask({Asked::What::ScaleSet, number, 0,
           patch_object(sets_path(number) + "/scale", {{"spec", {{"replicas", total}}}})},
          out);
      continue;
    }
    ProfileSpec profile = profiles_[number];
    profile.profile = number;
    const Json made = executor_set(options_.kind, options_.executors, profile, total);
    container_ = spark_container(made["spec"]["template"]["spec"]);
    ask({Asked::What::CreateSet, number, 0, create_object(names.name_space, made)}, out);
  }
}

void PodManager::set_answered(const Asked& asked, const ApiAnswered& e, Effects& out) {
  const bool created = asked.what == Asked::What::CreateSet;
  if (!e.ok() && created && e.status != kConflict)
    return give_up(kExitExecutorFailures,
                   "Kubernetes: cannot create the set of executors: " + failure(e), out);
  if (!e.ok() && !created) held("cannot scale the set of executors: " + failure(e), out);
  sets_[static_cast<int32_t>(asked.executor)].asked = false;
  scale_sets(out);
}

void PodManager::change_pod(const std::string& pod, const Json& metadata, Effects& out) {
  ask({Asked::What::ChangePod, 0, 0,
       patch_object(api_path(options_.executors.names.name_space, "pods", pod),
                    {{"metadata", metadata}})},
      out);
}

/// The pod says from now on which executor it is. Source: Spark 4.3
/// KubernetesClusterSchedulerBackend, GenerateExecID.
void PodManager::on(const NamePod& e, Effects& out) {
  const int64_t number = number_of(e.executor);
  std::vector<int64_t> before;
  for (const auto& [other, pod] : table_)
    if (pod.name == e.pod && other != number) before.push_back(other);
  for (const int64_t other : before) {
    if (told_.insert(other).second)
      out.push_back(PodGone{id_of(other), -1,
                            "The container of executor " + std::to_string(other) +
                                " was begun again in pod " + e.pod});
    table_.erase(other);
  }
  change_pod(e.pod, {{"labels", {{std::string(kExecutorLabel), e.executor.value}}}}, out);
}

/// Those that the driver ended go first when the set shrinks. Source: Spark 4.3
/// spark.kubernetes.executor.podDeletionCost.
void PodManager::cheapen(const std::string& pod, Effects& out) {
  if (!options_.deletion_cost || options_.kind != PodAllocator::Deployment) return;
  change_pod(pod, {{"annotations", {{kDeletionCost, std::to_string(*options_.deletion_cost)}}}},
             out);
}

}  // namespace tinderbox::core::kubernetes
