// Cores and memory of workers → executors and drivers, as pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// What one live worker has to give.
struct WorkerOffer {
  int32_t cores_free = 0;
  int64_t memory_free_mib = 0;
  bool idle = false;  // runs nothing
  ResourceAmounts resources_free;
};

/// What one application still wants of one resource profile.
struct ExecutorNeed {
  std::optional<int32_t>
      cores;                  // of an executor; none: one executor takes all that its worker gives
  int64_t memory_mib = 0;     // of an executor
  int32_t cores_left = 0;     // that the application may still be given
  int64_t running = 0;        // executors that it has
  int64_t limit = 0;          // of executors, those it has included
  ResourceAmounts resources;  // of an executor
};

/// Source: Spark 4.3 spark.deploy.workerSelectionPolicy.
enum class WorkerOrder : uint8_t {
  kCoresFreeDesc,
  kCoresFreeAsc,
  kMemoryFreeDesc,
  kMemoryFreeAsc,
  kWorkerId
};

/// Whether so much is free.
bool has_resources(const WorkerOffer& offer, const ResourceAmounts& wanted);

/// Positions of the workers that could take one executor, in the order of preference.
/// Shape: `offers` is in the order of worker ids, which also decides between equals.
std::vector<size_t> usable_workers(const ExecutorNeed& need, std::span<const WorkerOffer> offers,
                                   WorkerOrder order);

/// Cores to take from each worker, handed out one executor's worth (or one core) at a time.
/// Shape: offers[i] and the result[i] are the same worker's; `offers` is in the order of
/// preference. Errors: none; when supply is short the sum is below what is wanted. Source:
/// Spark 4.3 Master.scheduleExecutorsOnWorkers.
std::vector<int32_t> assign_cores(const ExecutorNeed& need, std::span<const WorkerOffer> offers,
                                  bool spread_out);

struct DriverNeed {
  int32_t cores = 0;
  int64_t memory_mib = 0;
  ResourceAmounts resources;
};
struct DriverPlace {
  std::optional<size_t> worker;
  bool hopeless = false;  // not even an idle worker could take it
};
/// Where each waiting driver goes, in queue order. `spread_out`: each search starts after the last
/// placement; else at the first worker.
/// Shape: result[i] is drivers[i]'s. Source: Spark 4.3 Master.schedule.
std::vector<DriverPlace> place_drivers(std::span<const DriverNeed> drivers,
                                       std::vector<WorkerOffer> workers, bool spread_out);

/// 0 … n-1 in an order that depends on the generator alone (std::shuffle's differs by platform).
std::vector<size_t> shuffled(size_t n, std::mt19937_64& random);

}  // namespace tinderbox::core
