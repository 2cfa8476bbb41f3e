// Executors that a controller keeps at a number: a StatefulSet or a Deployment of each profile.
#pragma once

#include <string>

#include "core/deploy/kubernetes/objects/executor_pod.hpp"

namespace tinderbox::core::kubernetes {

/// Values of spark.kubernetes.allocation.pods.allocator.
enum class PodAllocator : uint8_t { Direct, StatefulSet, Deployment };

/// The name of the profile's set. Source: Spark 4.3 StatefulSetPodsAllocator,
/// DeploymentPodsAllocator.
std::string executor_set_name(PodAllocator kind, const AppNames& names, int32_t profile);

/// Not for Direct. Its pods have no numbers yet and are begun again when they end.
/// Errors: conf::Error as executor_objects(), and for OnDemand claims in a Deployment, whose pods
/// would all share one.
Json executor_set(PodAllocator kind, const ExecutorInput& input, const ProfileSpec& profile,
                  int32_t replicas);

}  // namespace tinderbox::core::kubernetes
