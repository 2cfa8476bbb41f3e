// An executor's pod and the claims that are made for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/deploy/kubernetes/objects/application.hpp"
#include "core/deploy/kubernetes/objects/config_map.hpp"
#include "core/deploy/kubernetes/objects/driver_objects.hpp"

namespace tinderbox::core::kubernetes {

/// What a resource profile other than the default one asks for; none: as the keys say.
struct ProfileSpec {
  int32_t profile = 0;
  std::optional<int32_t> cores;
  std::optional<int64_t> memory_mib;
  std::map<std::string, int64_t> resources;
  bool operator==(const ProfileSpec&) const = default;
};

/// The same for all executors of an application.
struct ExecutorInput {
  conf::Conf conf;
  AppNames names;
  std::string pod_prefix;              // of the pods' names
  std::string driver_pod, driver_uid;  // empty: the driver is in no pod, or does not know its own
  std::string driver_address;          // host:port, as executors reach it
  NamedText pod_template;
  std::string config_map;  // empty: none
  std::vector<AppFile> app_files;
  std::string application;  // path in the container; empty: the image's entrypoint
  bool decommission = false;
};

/// Node name → local tasks there.
using NodeWeights = std::map<std::string, int32_t>;

/// The pod first, then its claims. `id` `EXECID`: of a set, whose members ask for their ids.
/// Errors: conf::Error. Source: Spark 4.3 KubernetesExecutorBuilder.
std::vector<Json> executor_objects(const ExecutorInput& input, const std::string& id,
                                   const ProfileSpec& profile, const NodeWeights& nodes = {});

/// How many executors, and how many cores each, where the keys say nothing.
int32_t executor_instances(const conf::Conf& conf);
int32_t executor_cores(const conf::Conf& conf);

std::string executor_pod_name(const ExecutorInput& input, const std::string& id);

/// The beginning of executor pods' names. Errors: conf::Error for a key that cannot be used.
std::string executor_pod_prefix(const conf::Conf& conf, const AppNames& names);

}  // namespace tinderbox::core::kubernetes
