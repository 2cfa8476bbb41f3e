// The master's and the worker's page at `/`: plain HTML.
#pragma once

#include <string>

#include "core/deploy/cluster_status.hpp"

namespace tinderbox::core {

std::string master_page(const ClusterStatus& status, const Zone& zone);
std::string worker_page(const WorkerStatus& status);

/// The path of what an executor or a driver wrote, on its worker's pages; the type comes behind it.
std::string log_path(const AppId& app, int32_t executor);
std::string log_path(const DriverId& driver);

/// A part of one log. `earlier`, `later`: paths of the parts beside it, empty: there is none.
struct LogView {
  std::string title, range, text, earlier, later;
};
std::string log_view_page(const LogView& view);

}  // namespace tinderbox::core
