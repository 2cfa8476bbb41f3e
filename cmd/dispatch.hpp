// Which role a process is: by the link it was called through, by its first argument, or, as a
// container's entrypoint, by SPARK_K8S_CMD.
#pragma once

#include <span>

#include "cmd/roles/roles.hpp"

namespace tinderbox::cmd {

/// `argv` as main got it. Exit codes: the role's; 2 for an unknown role, 1 for an unknown
/// SPARK_K8S_CMD. Source: Spark bin/spark-submit, bin/spark-class, kubernetes entrypoint.sh.
int dispatch(std::span<const Role> roles, Args argv);

}  // namespace tinderbox::cmd
