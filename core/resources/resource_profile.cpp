#include "core/resources/resource_profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "conf/keys.hpp"
#include "conf/values/custom_resources.hpp"
#include "conf/values/units.hpp"

namespace tinderbox::core {
namespace {

constexpr const char* kCpus = "cpus";
constexpr double kMostParts = 1 << 20;  // of an address

void must_be_positive(const char* what, int64_t n) {
  if (n <= 0)
    throw std::invalid_argument(std::string(what) + " of a resource profile are " +
                                std::to_string(n) + "; ask for 1 or more");
}

void check_name(const std::string& name) {
  if (name.empty() || name == "cores" || name == "memory" || name == kCpus)
    throw std::invalid_argument("'" + name + "' is no name of a custom resource, such as gpu");
}

/// 0.25, 2: without the zeros that nobody wrote.
std::string show(double amount) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", amount);
  return text;
}

/// Tasks that `amount` addresses are enough for.
int32_t tasks_of(const ResourceShare& share, int32_t amount) {
  const int64_t tasks = int64_t{amount} * share.parts / share.addresses;
  return static_cast<int32_t>(std::min<int64_t>(tasks, std::numeric_limits<int32_t>::max()));
}

/// How many tasks each resource allows; the least of them limits.
struct Limits {
  std::vector<std::pair<std::string, int32_t>> tasks;
  const std::pair<std::string, int32_t>* least() const {
    const auto at = std::min_element(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) {
      return a.second < b.second;
    });
    return at == tasks.end() ? nullptr : &*at;
  }
};

std::string wasted(const std::string& what, const std::string& executor, const std::string& task,
                   int32_t tasks, const std::pair<std::string, int32_t>& least) {
  return "The configuration of " + what + " (exec = " + executor + " task = " + task +
         ", runnable tasks = " + std::to_string(tasks) +
         ") will result in wasted resources due to resource " + least.first +
         " limiting the number of runnable tasks per executor to: " + std::to_string(least.second) +
         ". Please adjust your configuration.";
}

template <class Map>
std::string names_of(const Map& map) {
  std::string names;
  for (const auto& [name, value] : map) names += (names.empty() ? "" : ",") + name;
  return names;
}

}  // namespace

// ---- requests ----------------------------------------------------------------------------------

ExecutorResourceRequests& ExecutorResourceRequests::cores(int32_t n) {
  must_be_positive("cores", n);
  requests_.cores = n;
  return *this;
}

ExecutorResourceRequests& ExecutorResourceRequests::memory(std::string_view size) {
  const int64_t mib = conf::parse_size(size, conf::Unit::kMiB) >> 20;
  must_be_positive("MiB of memory", mib);
  requests_.memory_mib = mib;
  return *this;
}

ExecutorResourceRequests& ExecutorResourceRequests::resource(const std::string& name,
                                                             int32_t amount,
                                                             const std::string& discovery_script) {
  check_name(name);
  must_be_positive(name.c_str(), amount);
  requests_.resources[name] = {amount, discovery_script};
  return *this;
}

TaskResourceRequests& TaskResourceRequests::cpus(int32_t n) {
  must_be_positive(kCpus, n);
  requests_.cpus = n;
  return *this;
}

TaskResourceRequests& TaskResourceRequests::resource(const std::string& name, double amount) {
  check_name(name);
  if (Result<ResourceShare> share = share_of(name, amount); !share)
    throw std::invalid_argument(share.error().message);
  requests_.resources[name] = amount;
  return *this;
}

ResourceProfileBuilder& ResourceProfileBuilder::require(const ExecutorResourceRequests& requests) {
  const ResourceProfile::Executor& r = requests.requests();
  if (r.cores) profile_.executor.cores = r.cores;
  if (r.memory_mib) profile_.executor.memory_mib = r.memory_mib;
  for (const auto& [name, resource] : r.resources) profile_.executor.resources[name] = resource;
  return *this;
}

ResourceProfileBuilder& ResourceProfileBuilder::require(const TaskResourceRequests& requests) {
  const ResourceProfile::Task& r = requests.requests();
  if (r.cpus) profile_.task.cpus = r.cpus;
  for (const auto& [name, amount] : r.resources) profile_.task.resources[name] = amount;
  return *this;
}

ResourceProfile default_profile(const conf::Conf& conf) {
  ResourceProfile p;
  p.executor.cores = conf.get(conf::kExecutorCores);
  p.executor.memory_mib = conf.get(conf::kExecutorMemory) >> 20;
  for (const auto& [name, setting] : conf::resource_settings(conf, conf::ResourceOwner::kExecutor))
    p.executor.resources[name] = {setting.amount, setting.discovery_script};
  p.task.cpus = conf.get(conf::kTaskCpus);
  p.task.resources = conf::task_resource_settings(conf);
  return p;
}

// ---- what they come to -------------------------------------------------------------------------

Result<ResourceShare> share_of(const std::string& name, double amount) {
  if (amount > 0 && amount <= 0.5)
    return ResourceShare{1, static_cast<int32_t>(std::min(1 / amount, kMostParts))};
  if (amount >= 1 && amount <= 1e9 && std::floor(amount) == amount)
    return ResourceShare{static_cast<int32_t>(amount), 1};
  return Error{"The resource amount " + show(amount) + " of " + name +
               " for a task must be either <= 0.5, or a whole number."};
}

TaskNeeds needs_of(const ResourceProfile& profile, const ResourceProfile& defaults) {
  TaskNeeds needs;
  needs.cpus = profile.task.cpus.value_or(defaults.task.cpus.value_or(1));
  for (const auto& [name, amount] : profile.task.resources)
    if (Result<ResourceShare> share = share_of(name, amount))
      needs.resources.emplace_back(name, *share);
  return needs;
}

int32_t slots_of(const TaskNeeds& needs, std::optional<int32_t> cores,
                 const ResourceAmounts& resources) {
  int32_t slots = cores ? *cores / needs.cpus : std::numeric_limits<int32_t>::max();
  for (const auto& [name, share] : needs.resources) {
    const auto at = resources.find(name);
    slots = std::min(slots, at == resources.end() ? 0 : tasks_of(share, at->second));
  }
  return slots;
}

ResourceAmounts amounts_of(const ResourceProfile& profile) {
  ResourceAmounts amounts;
  for (const auto& [name, resource] : profile.executor.resources) amounts[name] = resource.amount;
  return amounts;
}

ResourceAmounts amounts_of(const ResourceAddresses& addresses) {
  ResourceAmounts amounts;
  for (const auto& [name, list] : addresses) amounts[name] = static_cast<int32_t>(list.size());
  return amounts;
}

Result<std::vector<std::string>> check_profile(const ResourceProfile& profile,
                                               const ResourceProfile& defaults) {
  const ResourceProfile::Executor& executor =
      profile.task_only() ? defaults.executor : profile.executor;
  const std::optional<int32_t> cores = executor.cores ? executor.cores : defaults.executor.cores;
  const int32_t cpus = profile.task.cpus.value_or(defaults.task.cpus.value_or(1));
  Limits limits;
  if (cores && *cores < cpus)
    return Error{"The number of cores per executor (=" + std::to_string(*cores) +
                 ") has to be >= the number of cpus per task = " + std::to_string(cpus) + "."};
  if (cores) limits.tasks.emplace_back(kCpus, *cores / cpus);
  std::vector<std::string> warnings;
  std::map<std::string, double> unmatched = profile.task.resources;
  for (const auto& [name, resource] : executor.resources) {
    const auto task = unmatched.extract(name);
    if (task.empty()) {
      warnings.push_back("The executor resource config for resource: " + name +
                         " was specified but no corresponding task resource request was "
                         "specified.");
      continue;
    }
    const Result<ResourceShare> share = share_of(name, task.mapped());
    if (!share) return share.error();
    if (task.mapped() > resource.amount)
      return Error{"The executor resource: " + name +
                   ", amount: " + std::to_string(resource.amount) +
                   " needs to be >= the task resource request amount of " + show(task.mapped())};
    limits.tasks.emplace_back(name, tasks_of(*share, resource.amount));
  }
  if (!unmatched.empty())
    return Error{"No executor resource configs were specified for the following task configs: " +
                 names_of(unmatched)};
  const auto* least = limits.least();
  if (!least) return warnings;
  for (const auto& [name, tasks] : limits.tasks) {
    if (tasks <= least->second) continue;
    if (name == kCpus) {
      // Cores that no further task could use anyway are none of the limiting resource's fault.
      if (least->second * cpus < *cores)
        warnings.push_back(
            wasted("cores", std::to_string(*cores), std::to_string(cpus), tasks, *least));
      continue;
    }
    warnings.push_back(wasted("resource: " + name,
                              std::to_string(executor.resources.at(name).amount),
                              show(profile.task.resources.at(name)), tasks, *least));
  }
  return warnings;
}

ResourceProfile merged(const ResourceProfile& a, const ResourceProfile& b) {
  ResourceProfile m = a;
  m.executor.cores = std::max(a.executor.cores, b.executor.cores);
  m.executor.memory_mib = std::max(a.executor.memory_mib, b.executor.memory_mib);
  for (const auto& [name, resource] : b.executor.resources) {
    const auto [at, fresh] = m.executor.resources.emplace(name, resource);
    if (!fresh && resource.amount > at->second.amount) at->second = resource;
  }
  m.task.cpus = std::max(a.task.cpus, b.task.cpus);
  for (const auto& [name, amount] : b.task.resources) {
    double& most = m.task.resources[name];
    most = std::max(most, amount);
  }
  return m;
}

}  // namespace tinderbox::core
