// Config maps with the application's properties and the files of a configuration folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conf/sources/kubeconfig.hpp"
#include "conf/values/resources.hpp"
#include "core/deploy/kubernetes/objects/pod_parts.hpp"

namespace tinderbox::core::kubernetes {

inline constexpr const char* kConfDir = "/opt/spark/conf";
inline constexpr const char* kPropertiesName = "spark.properties";

/// Name → text.
using ConfFiles = std::map<std::string, std::string>;

/// The files of `folder`; none if its name is empty. `list`: the names in a folder.
ConfFiles conf_folder(const std::string& folder, const conf::ListDirectory& list,
                      const conf::ReadText& read);

/// Those of a configuration folder that travel: no templates, archives, properties and default
/// files of Spark, and nothing that is no UTF-8. Source: Spark 4.3
/// KubernetesClientUtils.loadSparkConfDirFiles.
ConfFiles travelling(const ConfFiles& files);

/// `properties`: become spark.properties. Errors: conf::Error when all together exceed
/// spark.kubernetes.configMap.maxSize; Spark leaves files out instead.
Json config_map(const std::string& name, const AppNames& names, const std::string& role,
                const conf::Conf& conf, const conf::Pairs& properties, const ConfFiles& files);

/// Errors: conf::Error for a config map, secret or pod that is larger than the API server takes.
void refuse_large(const Json& object);

/// Mounts such a map at kConfDir. `keys`: only these, none: all. `optional`: the pod may start
/// before the map is there.
void mount_config_map(PodUnderConstruction& pod, const std::string& volume, const std::string& map,
                      std::vector<std::string> keys, bool optional);

}  // namespace tinderbox::core::kubernetes
