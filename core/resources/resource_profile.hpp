// Resource profiles: what executors and tasks of a stage need.
//
// Profile 0 is the application's default, made of its settings. What another profile leaves out
// (cores, memory, cpus of a task) is as in the default profile; custom resources are its own alone.
// Source: Spark 4.3 ResourceProfile, ExecutorResourceRequests, TaskResourceRequests,
// ResourceProfileBuilder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/types.hpp"
#include "net/wire/resources.hpp"

namespace tinderbox::conf {
class Conf;
}

namespace tinderbox::core {

inline constexpr int32_t kDefaultProfile = 0;

struct ResourceProfile {
  struct Executor {
    std::optional<int32_t> cores;
    std::optional<int64_t> memory_mib;
    std::map<std::string, ExecutorResource> resources;
    auto operator<=>(const Executor&) const = default;
  };
  struct Task {
    std::optional<int32_t> cpus;
    std::map<std::string, double> resources;  // whole addresses, or up to 0.5 of one
    auto operator<=>(const Task&) const = default;
  };
  Executor executor;
  Task task;
  /// Nothing is asked of executors: those of the default profile will do. Source: Spark
  /// TaskResourceProfile.
  bool task_only() const { return executor == Executor{}; }
  auto operator<=>(const ResourceProfile&) const = default;
};

/// Errors of all these: std::invalid_argument for what can never be had, conf::Error for a size
/// that is none.
class ExecutorResourceRequests {
 public:
  ExecutorResourceRequests& cores(int32_t n);
  /// `4g`; without a suffix in MiB.
  ExecutorResourceRequests& memory(std::string_view size);
  /// `discovery_script`: for executors whose addresses no worker assigns.
  ExecutorResourceRequests& resource(const std::string& name, int32_t amount,
                                     const std::string& discovery_script = {});
  const ResourceProfile::Executor& requests() const { return requests_; }

 private:
  ResourceProfile::Executor requests_;
};

class TaskResourceRequests {
 public:
  TaskResourceRequests& cpus(int32_t n);
  /// A whole number of addresses, or up to 0.5: the share of one address.
  TaskResourceRequests& resource(const std::string& name, double amount);
  const ResourceProfile::Task& requests() const { return requests_; }

 private:
  ResourceProfile::Task requests_;
};

/// What is required later replaces what was required before.
class ResourceProfileBuilder {
 public:
  ResourceProfileBuilder& require(const ExecutorResourceRequests& requests);
  ResourceProfileBuilder& require(const TaskResourceRequests& requests);
  ResourceProfile build() const { return profile_; }

 private:
  ResourceProfile profile_;
};

/// spark.executor.{cores,memory,resource.*}, spark.task.{cpus,resource.*}.
/// Errors: conf::Error.
ResourceProfile default_profile(const conf::Conf& conf);

/// How a task uses a custom resource. `parts` above 1: so many tasks share one address.
struct ResourceShare {
  int32_t addresses = 1;
  int32_t parts = 1;
  bool operator==(const ResourceShare&) const = default;
};
/// Errors: the amount is neither whole nor up to 0.5.
Result<ResourceShare> share_of(const std::string& name, double amount);

/// What one task of a profile takes of its executor.
struct TaskNeeds {
  int32_t cpus = 1;
  std::vector<std::pair<std::string, ResourceShare>> resources;
};
/// Of a profile that check_profile accepts.
TaskNeeds needs_of(const ResourceProfile& profile, const ResourceProfile& defaults);
/// Tasks that an executor can run at once. `cores` none: they don't matter.
int32_t slots_of(const TaskNeeds& needs, std::optional<int32_t> cores,
                 const ResourceAmounts& resources);
ResourceAmounts amounts_of(const ResourceProfile& profile);
ResourceAmounts amounts_of(const ResourceAddresses& addresses);

/// Whether executors of the profile can run its tasks. The result: warnings of what stays unused,
/// a line each. Errors: they cannot; in Spark's words. Source: Spark 4.3
/// ResourceProfile.calculateTasksAndLimitingResource, ResourceUtils.warnOnWastedResources.
Result<std::vector<std::string>> check_profile(const ResourceProfile& profile,
                                               const ResourceProfile& defaults);

/// The most of each. Source: Spark 4.3 DAGScheduler.mergeResourceProfiles.
ResourceProfile merged(const ResourceProfile& a, const ResourceProfile& b);

}  // namespace tinderbox::core
