// Why a process or an executor ended, in words. Source: Spark ExecutorLossReason, ExecutorExitCode.
#pragma once

#include <string>

#include "core/machine.hpp"

namespace tinderbox::core {

/// Of an executor that the driver ended.
inline constexpr const char* kKilledByDriver = "Executor killed by driver.";
/// What a decommissioned executor says when all is done.
inline constexpr const char* kDecommissionFinished = "Finished decommissioning";
/// Before the reason why an executor was decommissioned.
inline constexpr const char* kDecommissionPrefix = "Executor decommission: ";

/// `Command exited with code N`, and what that tells.
std::string explain(const ProcessExited& end);

}  // namespace tinderbox::core
