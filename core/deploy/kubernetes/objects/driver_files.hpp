// Files that a driver's pod mounts from objects that submit creates after it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "conf/sources/environment.hpp"
#include "conf/sources/kubeconfig.hpp"
#include "core/deploy/kubernetes/api.hpp"

namespace tinderbox::core::kubernetes {

inline constexpr const char* kTemplateDir = "/opt/spark/pod-template";
inline constexpr const char* kTemplateName = "pod-spec-template.yml";
inline constexpr const char* kTemplateKey = "podspec-configmap-key";
inline constexpr const char* kCredentialsDir = "/mnt/secrets/spark-kubernetes-credentials";
inline constexpr const char* kMountedPrefix = "spark.kubernetes.authenticate.driver.mounted.";
/// Tell a driver which objects it must wait for when its pod started before them.
inline constexpr const char* kConfMapVariable = "TINDERBOX_CONFIG_MAP";
inline constexpr const char* kTemplateMapVariable = "TINDERBOX_POD_TEMPLATE_MAP";
inline constexpr const char* kCredentialsVariable = "TINDERBOX_CREDENTIALS_SECRET";

struct DriverFilesWorld {
  conf::Environment environment;
  conf::ReadText read;
  /// An object of the pod's namespace, over the API server. Null: it is not there, or may not be
  /// read.
  std::function<Json(const std::string& kind, const std::string& name)> ask;
  /// Writes files, name → text, that stay as long as the container does; returns their folder.
  std::function<std::string(const std::string& folder,
                            const std::map<std::string, std::string>& files)>
      keep;
  std::function<void(Duration)> sleep;
};

struct DriverFiles {
  std::vector<std::string> args;  // of the driver, with the paths that the files have
  std::string conf_dir;           // where its configuration is; empty: where it was to be
};

/// Waits for all that the properties file of `args`, and this file itself, are mounted from. An
/// object that its kubelet mounted before it was there, and mounts again a minute later, is fetched
/// over the API server. Errors: conf::Error for one that does not come.
DriverFiles await_driver_files(std::vector<std::string> args, const DriverFilesWorld& world);

}  // namespace tinderbox::core::kubernetes
