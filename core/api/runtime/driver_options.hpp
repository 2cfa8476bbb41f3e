// Settings → what the Driver machine is told.
#pragma once

#include "conf/conf.hpp"
#include "core/backend/backend.hpp"
#include "core/scheduler/options.hpp"

namespace tinderbox::core {

/// `local_threads`: of an executor in the driver's own process; none on a cluster.
/// Errors: conf::Error for values that cannot work together, in Spark's words.
void check_driver_settings(const conf::Conf& conf, std::optional<int32_t> local_threads);
/// Warnings about custom resources of the default profile, a line each.
/// Errors: conf::Error for executors that cannot run its tasks.
std::vector<std::string> check_default_profile(const conf::Conf& conf);
/// Errors: conf::Error for a value that is none.
DriverOptions driver_options(const conf::Conf& conf, const Backend& backend, const AppId& app);

}  // namespace tinderbox::core
