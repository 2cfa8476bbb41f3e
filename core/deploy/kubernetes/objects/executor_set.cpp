#include "core/deploy/kubernetes/objects/executor_set.hpp"

#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/names.hpp"
#include "net/wire/task_messages.hpp"

namespace tinderbox::core::kubernetes {
namespace {

/// `claim` as a template: of the same name as the pod's volume, which the set's controller adds.
Json claim_template(Json claim, Json& pod_spec) {
  Json& volumes = pod_spec["volumes"];
  for (auto at = volumes.begin(); at != volumes.end(); ++at) {
    const Json source = at->value("persistentVolumeClaim", Json::object());
    if (source.value("claimName", "") != claim["metadata"]["name"].get<std::string>()) continue;
    claim["metadata"]["name"] = (*at)["name"];
    volumes.erase(at);
    break;
  }
  claim["metadata"].erase("namespace");
  return claim;
}

/// What a pod of a set does not say of itself.
Json pod_template(const Json& pod) {
  Json spec = pod["spec"];
  spec["restartPolicy"] = "Always";
  spec.erase("hostname");
  Json metadata = {{"labels", pod["metadata"]["labels"]}};
  if (pod["metadata"].contains("annotations"))
    metadata["annotations"] = pod["metadata"]["annotations"];
  return {{"metadata", metadata}, {"spec", spec}};
}

}  // namespace

std::string executor_set_name(PodAllocator kind, const AppNames& names, int32_t profile) {
  return (kind == PodAllocator::Deployment ? "spark-d-" : "spark-s-") + names.app_id + "-" +
         std::to_string(profile);
}

Json executor_set(PodAllocator kind, const ExecutorInput& input, const ProfileSpec& profile,
                  int32_t replicas) {
  const bool stateful = kind == PodAllocator::StatefulSet;
  const std::vector<Json> objects = executor_objects(input, kUnnamedExecutor, profile);
  if (!stateful && objects.size() > 1)
    throw conf::Error(
        "spark.kubernetes.allocation.pods.allocator=deployment: its pods cannot have OnDemand "
        "claims; use statefulset or direct");
  const std::string number = std::to_string(profile.profile);
  const Json labels = {{std::string(kAppLabel), input.names.app_id},
                       {std::string(kRoleLabel), "executor"},
                       {std::string(kProfileLabel), number}};
  Json spec = {{"replicas", replicas},
               {"selector", {{"matchLabels", labels}}},
               {"template", pod_template(objects[0])}};
  if (stateful) {
    spec["podManagementPolicy"] = "Parallel";
    for (size_t i = 1; i < objects.size(); ++i)
      spec["volumeClaimTemplates"].push_back(claim_template(objects[i], spec["template"]["spec"]));
    if (objects.size() > 1)
      spec["persistentVolumeClaimRetentionPolicy"] = {{"whenDeleted", "Delete"},
                                                      {"whenScaled", "Delete"}};
  }
  Json set = {{"apiVersion", "apps/v1"},
              {"kind", stateful ? "StatefulSet" : "Deployment"},
              {"metadata",
               {{"name", executor_set_name(kind, input.names, profile.profile)},
                {"namespace", input.names.name_space},
                {"labels", labels}}},
              {"spec", spec}};
  if (!input.driver_uid.empty()) set_owner(set, input.driver_pod, input.driver_uid);
  return set;
}

}  // namespace tinderbox::core::kubernetes
