// What a container's ENTRYPOINT does for Spark's pods: `driver` and `executor` from their
// environment. Source: Spark 4.3 resource-managers/kubernetes/docker entrypoint.sh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/roles/roles.hpp"

namespace tinderbox::cmd {

/// In a driver pod: submit in client mode with the arguments of the pod. None: this is none.
/// Waits for the application's configuration where the pod began before it. Errors: conf::Error.
std::optional<int> driver_of_pod(Args args);

/// In an executor pod without arguments: the arguments that its environment means. None: this is
/// none. Becomes the application's program when that is not this one. Errors: conf::Error.
std::optional<std::vector<std::string>> executor_of_pod(Args args);

}  // namespace tinderbox::cmd
