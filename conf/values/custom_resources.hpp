// Custom resources (GPUs and the like) as settings ask for them: spark.OWNER.resource.NAME.*
#pragma once
#include <map>
#include <string>

#include "conf/conf.hpp"

namespace tinderbox::conf {

enum class ResourceOwner : uint8_t { kWorker, kExecutor, kDriver };

/// `spark.worker`, `spark.executor`, `spark.driver`: how settings and resources files name it.
std::string_view component_of(ResourceOwner owner);

/// What is wanted of one resource. `amount` is above 0.
struct ResourceSetting {
  int amount = 0;
  std::string discovery_script;  // empty: none
  bool operator==(const ResourceSetting&) const = default;
};

/// By the resource's name; those of amount 0 are left out.
/// Errors: conf::Error for a key without `.amount`, a resource without an amount, a negative one.
/// Source: Spark 4.3 ResourceUtils.parseAllResourceRequests.
std::map<std::string, ResourceSetting> resource_settings(const Conf& conf, ResourceOwner owner);

/// What one task takes of each resource, 0 left out: a share of an address up to 0.5, else whole
/// addresses. Errors: as above; whether an amount can be had is for the resource profile to say.
std::map<std::string, double> task_resource_settings(const Conf& conf);

}  // namespace tinderbox::conf
