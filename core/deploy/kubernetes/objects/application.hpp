// Where a pod has the application from: its image, or an init container that fetches it.
#pragma once

#include <string>
#include <vector>

#include "core/deploy/kubernetes/objects/pod_parts.hpp"

namespace tinderbox::core::kubernetes {

/// Where the init container puts what it fetches.
inline constexpr const char* kAppDir = "/opt/spark/app";
/// The port at which it takes what submit sends.
inline constexpr int kReceivePort = 7080;
/// The init container.
inline constexpr const char* kInitName = "tinderbox-init";
/// Names the application's file to the executor role.
inline constexpr const char* kApplicationVariable = "TINDERBOX_APPLICATION";

/// One file for kAppDir.
struct AppFile {
  std::string url;   // empty: submit sends it
  std::string name;  // in kAppDir
  std::string sha256;
  bool operator==(const AppFile&) const = default;
};

/// Adds the shared volume and, where there is something to fetch, the init container: after image
/// and resources of the pod's own container are set. `conf` says how to fetch.
void add_fetching(PodUnderConstruction& pod, const std::vector<AppFile>& files,
                  const conf::Conf& conf);

}  // namespace tinderbox::core::kubernetes
