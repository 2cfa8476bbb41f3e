// The master's and the worker's page at `/`: plain HTML.
#pragma once

#include <string>

#include "core/deploy/cluster_status.hpp"

namespace tinderbox::core {

std::string master_page(const ClusterStatus& status, const Zone& zone);
std::string worker_page(const WorkerStatus& status, const Zone& zone);

}  // namespace tinderbox::core
