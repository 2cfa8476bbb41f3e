// Volumes of a pod by spark.kubernetes.(driver|executor).volumes.TYPE.NAME.*
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/deploy/kubernetes/objects/pod_parts.hpp"

namespace tinderbox::core::kubernetes {

struct VolumeSpec {
  std::string type, name;
  std::string mount_path, sub_path, sub_path_expression;
  bool read_only = false;
  conf::Pairs options, labels, annotations;  // `options`: hostPath's path and so on

  std::string option(std::string_view name) const;
  /// A claim that is made with the pod.
  bool on_demand() const;
};

/// In the order of type and name. Errors: conf::Error for an unknown type, a missing option, a
/// mount path that is given twice. Source: Spark 4.3 KubernetesVolumeUtils.
std::vector<VolumeSpec> volume_specs(const conf::Conf& conf, Owner owner);

/// Adds them to the pod and returns the claims to make, of which `owner` Driver has none: its
/// claims are templates inside the pod, so that they come and go with it.
/// Claims are named after the pod, which has its name. `executor`: its id, for SPARK_EXECUTOR_ID in
/// names.
/// Source: Spark 4.3 MountVolumesFeatureStep.
std::vector<Json> add_volumes(PodUnderConstruction& pod, const conf::Conf& conf, Owner owner,
                              const AppNames& names, const std::string& executor = {});

}  // namespace tinderbox::core::kubernetes
