// Custom resources of workers, and what applications want.
#include "core/deploy/master/master_state.hpp"

#include <algorithm>

namespace tinderbox::core {

ResourceAddresses MasterWorker::choose(const ResourceAmounts& wanted) const {
  ResourceAddresses chosen;
  for (const auto& [name, amount] : wanted) {
    if (amount <= 0) continue;
    const std::vector<std::string>& free = resources_free.at(name);
    chosen[name].assign(free.begin(), free.begin() + amount);
  }
  return chosen;
}

bool MasterWorker::all_free(const ResourceAddresses& addresses) const {
  return std::all_of(addresses.begin(), addresses.end(), [&](const auto& resource) {
    const auto free = resources_free.find(resource.first);
    std::vector<std::string> asked = resource.second;
    std::sort(asked.begin(), asked.end());
    const bool different = std::adjacent_find(asked.begin(), asked.end()) == asked.end();
    return different && std::all_of(asked.begin(), asked.end(), [&](const std::string& address) {
             return free != resources_free.end() &&
                    std::find(free->second.begin(), free->second.end(), address) !=
                        free->second.end();
           });
  });
}

void MasterWorker::take(const ResourceAddresses& addresses) {
  for (const auto& [name, list] : addresses) {
    std::vector<std::string>& free = resources_free[name];
    for (const std::string& address : list)
      if (const auto at = std::find(free.begin(), free.end(), address); at != free.end())
        free.erase(at);
  }
}

/// In the order in which the worker named them.
void MasterWorker::give_back(const ResourceAddresses& addresses) {
  for (const auto& [name, list] : addresses) {
    std::vector<std::string>& free = resources_free[name];
    std::vector<std::string> now;
    for (const std::string& address : resources[name]) {
      const auto has = [&](const std::vector<std::string>& in) {
        return std::find(in.begin(), in.end(), address) != in.end();
      };
      if (has(free) || has(list)) now.push_back(address);
    }
    free = std::move(now);
  }
}

void MasterApp::set_default_demand() {
  ProfileDemand& d = demands[0];
  d.cores = description.cores_per_executor;
  d.memory_mib = description.memory_per_executor_mib;
  d.resources = description.resources_per_executor;
  d.limit = description.initial_executor_limit.value_or(std::numeric_limits<int32_t>::max());
}

void MasterApp::want(const ProfileRequest& request) {
  ProfileDemand& d = demands[request.profile];
  d.cores = request.cores ? request.cores : description.cores_per_executor;
  d.memory_mib = request.memory_mib.value_or(description.memory_per_executor_mib);
  d.resources = request.resources;
  d.limit = std::max(0, request.total);
}

}  // namespace tinderbox::core
