// What the pages of a master and a worker show: snapshots that the machines fill, and their JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deploy/calendar.hpp"
#include "core/deploy/states.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

struct WorkerRow {
  WorkerId id;
  std::string host;
  int32_t port = 0;
  std::string web_ui_url;
  int32_t cores = 0, cores_used = 0;
  int64_t memory_mib = 0, memory_used_mib = 0;
  WorkerState state = WorkerState::Alive;
  Time last_heartbeat{};
  ResourceAddresses resources, resources_free;
};
/// Those of its addresses that are not free.
ResourceAddresses used_of(const WorkerRow& worker);

struct AppExecutorRow {
  int32_t id = 0;
  WorkerId worker;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  ExecutorState state = ExecutorState::Launching;
};
struct AppRow {
  AppId id;
  std::string name, user, ui_url;
  int32_t cores_granted = 0;
  std::optional<int32_t> max_cores;
  int64_t memory_per_executor_mib = 0;
  ResourceAmounts resources_per_executor;
  Time submitted{};
  Duration duration{};
  AppState state = AppState::Waiting;
  std::vector<AppExecutorRow> executors;
};
struct DriverRow {
  DriverId id;
  Time submitted{};
  DriverState state = DriverState::Submitted;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  ResourceAmounts resources;
  WorkerId worker;
  std::string main_class;
  std::string exception;
};
/// Shape: workers holds the dead too; totals count the living only.
struct ClusterStatus {
  std::string url;
  RecoveryState state = RecoveryState::Standby;
  std::vector<WorkerRow> workers;
  std::vector<AppRow> active_apps, completed_apps;
  std::vector<DriverRow> active_drivers, completed_drivers;
  int32_t waiting_drivers = 0;
};

struct WorkerExecutorRow {
  int32_t id = 0;
  AppId app;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  ExecutorState state = ExecutorState::Launching;
  std::string app_name, user;
  std::optional<int32_t> app_max_cores;
  int64_t memory_per_executor_mib = 0;
  Command command;
  ResourceAddresses resources;
  ResourceAmounts resources_per_executor;
};
struct WorkerStatus {
  WorkerId id;
  std::string host;
  int32_t port = 0;
  std::string master_url, master_web_ui_url;
  int32_t cores = 0, cores_used = 0;
  int64_t memory_mib = 0, memory_used_mib = 0;
  ResourceAddresses resources, resources_used;
  std::vector<WorkerExecutorRow> executors, finished_executors;
  std::vector<DriverRow> drivers, finished_drivers;
};

/// The body of `/json/` and, with a field's name, of `/json/FIELD`; a field that there is not is
/// "". Source: Spark 4.3 JsonProtocol, MasterPage.
std::string master_json(const ClusterStatus& status, const Zone& zone, std::string_view field);
std::string worker_json(const WorkerStatus& status);

}  // namespace tinderbox::core
