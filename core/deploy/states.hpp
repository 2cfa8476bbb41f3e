// States of workers, applications, drivers, executors and the master itself, by Spark's names.
#pragma once

#include <string_view>

#include "net/wire/messages.hpp"

namespace tinderbox::core {

enum class WorkerState : uint8_t { Alive, Dead, Decommissioned, Unknown };
enum class AppState : uint8_t { Waiting, Running, Finished, Failed, Killed, Unknown };
enum class RecoveryState : uint8_t { Standby, Alive, Recovering, CompletingRecovery };

std::string_view name_of(WorkerState s);
std::string_view name_of(AppState s);
std::string_view name_of(RecoveryState s);
std::string_view name_of(ExecutorState s);
std::string_view name_of(DriverState s);

/// Killed, failed, lost or exited. Source: Spark ExecutorState.isFinished.
bool is_finished(ExecutorState s);
/// Finished, killed, failed or in error: a driver that a worker has done with.
bool is_finished(DriverState s);

}  // namespace tinderbox::core
