// How the end of a task attempt is said in words.
#pragma once

#include <string>

#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// Source: Spark TaskEndReason.toErrorString.
std::string error_text(const TaskEndReason& reason);

/// Whether it counts towards spark.task.maxFailures. Source: Spark
/// TaskFailedReason.countTowardsTaskFailures.
bool counts_as_failure(const TaskEndReason& reason);

/// A reason with nothing but its kind.
TaskEndReason task_end(TaskEndKind kind);
TaskEndReason task_killed(std::string why);

}  // namespace tinderbox::core
