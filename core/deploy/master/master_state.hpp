// What a master knows: workers, applications, drivers, and the keys it was configured with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conf/conf.hpp"
#include "core/deploy/calendar.hpp"
#include "core/deploy/master/placement.hpp"
#include "core/deploy/states.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

struct MasterOptions {
  std::string url;  // spark://host:port, as others reach this master
  std::string web_ui_url;
  Zone zone;             // of the dates in ids
  bool persist = false;  // emit Persist effects
  Duration worker_timeout{};
  Duration recovery_timeout{};
  int32_t dead_worker_persistence = 0;
  int32_t max_executor_retries = 0;
  int32_t default_cores = 0;
  int32_t max_drivers = 0;
  int32_t retained_apps = 0, retained_drivers = 0;
  bool spread_out_apps = true, spread_out_drivers = true;
  WorkerOrder worker_order = WorkerOrder::kCoresFreeDesc;
  std::string app_id_pattern, driver_id_pattern;
  std::optional<int32_t> app_number_modulo;
  bool name_as_app_id = false;
};
/// All but the addresses and the zone, from the configuration.
/// Errors: conf::Error for a value that cannot be used.
MasterOptions master_options(const conf::Conf& conf);

/// Executors are numbered below this, so that counting on never overflows.
inline constexpr int32_t kMaxExecutorNumber = 1'000'000'000;

/// An executor by application and number.
using ExecutorKey = std::pair<AppId, int32_t>;

struct MasterWorker {
  WorkerId id;
  std::string host;
  int32_t port = 0;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  std::string web_ui_url;
  std::string master_url;  // by which the worker reaches this master
  int64_t epoch = 0;       // of its process: another one may come with the same id
  PeerId peer = 0;
  bool heard = false;  // what it runs, on this connection: until then it gets nothing
  WorkerState state = WorkerState::Alive;
  Time last_heartbeat{};
  std::map<ExecutorKey, ExecutorDescription> executors;
  std::map<DriverId, DriverDescription> drivers;
  /// Placed before its connection was replaced: the orders to start them may be lost with it.
  std::set<ExecutorKey> unheard_executors;
  std::set<DriverId> unheard_drivers;
  int32_t cores_used = 0;
  int64_t memory_used_mib = 0;
  ResourceAddresses resources, resources_free;
  std::map<DriverId, ResourceAddresses> driver_resources;  // of those that have any

  int32_t cores_free() const { return cores - cores_used; }
  int64_t memory_free_mib() const { return memory_mib - memory_used_mib; }
  /// The first free addresses, as many as wanted; they stay free until somebody who has them is
  /// added.
  ResourceAddresses choose(const ResourceAmounts& wanted) const;
  bool all_free(const ResourceAddresses& addresses) const;
  void add(const ExecutorDescription& e) {
    if (!executors.emplace(ExecutorKey{e.app, e.executor}, e).second) return;
    cores_used += e.cores;
    memory_used_mib += e.memory_mib;
    take(e.resources);
  }
  void remove_executor(const ExecutorKey& key) {
    auto it = executors.find(key);
    if (it == executors.end()) return;
    cores_used -= it->second.cores;
    memory_used_mib -= it->second.memory_mib;
    give_back(it->second.resources);
    executors.erase(it);
  }
  void add(const DriverId& driver, const DriverDescription& d, const ResourceAddresses& r) {
    if (!drivers.emplace(driver, d).second) return;
    cores_used += d.cores;
    memory_used_mib += d.memory_mib;
    take(r);
    if (!r.empty()) driver_resources[driver] = r;
  }
  void remove_driver(const DriverId& driver) {
    auto it = drivers.find(driver);
    if (it == drivers.end()) return;
    cores_used -= it->second.cores;
    memory_used_mib -= it->second.memory_mib;
    if (const auto had = driver_resources.extract(driver)) give_back(had.mapped());
    drivers.erase(it);
  }
  /// Nothing runs on it any more.
  void clear() {
    executors.clear();
    drivers.clear();
    driver_resources.clear();
    cores_used = 0;
    memory_used_mib = 0;
    resources_free = resources;
  }

 private:
  void take(const ResourceAddresses& addresses);
  void give_back(const ResourceAddresses& addresses);
};

struct MasterExecutor {
  ExecutorDescription description;
  WorkerId worker;
  Time running_since{};
};

/// What an application wants of one resource profile.
struct ProfileDemand {
  std::optional<int32_t> cores;
  int64_t memory_mib = 0;
  ResourceAmounts resources;
  int64_t limit = 0;  // of executors
  int64_t running = 0;
};

struct MasterApp {
  AppId id;
  ApplicationDescription description;
  std::string driver_address;
  Time submitted{};
  Time ended{};
  bool waits_for_workers = false;  // a timer is set for when they have had time to start
  PeerId peer = 0;
  AppState state = AppState::Waiting;
  std::map<int32_t, MasterExecutor> executors;
  int32_t next_executor = 0;
  std::vector<std::string> to_kill;     // executors, as asked; a master that recovers does so later
  std::vector<uint64_t> kill_requests;  // to be answered when that is done
  int32_t failures = 0;                 // of executors, since the last that ran
  int32_t short_runs = 0;               // of executors, one after the other
  Time not_before{};                    // of its next executor
  std::map<int32_t, ProfileDemand> demands;  // by resource profile
  int32_t cores_granted = 0;
  std::string reason;  // why it gets no executor, as it was told

  /// Of the default profile, as the description says; to be called when that is known.
  void set_default_demand();
  /// Source: Spark 4.3 ApplicationInfo.requestExecutors.
  void want(const ProfileRequest& request);
  void add(const WorkerId& worker, const ExecutorDescription& e) {
    if (!executors.emplace(e.executor, MasterExecutor{e, worker, {}}).second) return;
    cores_granted += e.cores;
    ++demands[e.profile].running;
    if (e.executor >= next_executor) next_executor = e.executor + 1;
  }
  /// The application has seen all numbers below.
  void number_from(int32_t unseen) {
    next_executor = std::max(next_executor, std::clamp(unseen, 0, kMaxExecutorNumber));
  }
  /// Not known here, but somebody says so: its number is no other's.
  void has_been(int32_t executor) {
    if (executor < kMaxExecutorNumber) number_from(executor + 1);
  }
  void remove_executor(int32_t executor) {
    auto it = executors.find(executor);
    if (it == executors.end()) return;
    cores_granted -= it->second.description.cores;
    --demands[it->second.description.profile].running;
    executors.erase(it);
  }
};

struct MasterDriver {
  DriverId id;
  DriverDescription description;
  Time submitted{};
  DriverState state = DriverState::Submitted;
  WorkerId worker;
  std::string exception;
};

}  // namespace tinderbox::core
