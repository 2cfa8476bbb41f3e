#include "core/deploy/kubernetes/objects/application.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "conf/keys.hpp"

namespace tinderbox::core::kubernetes {
namespace {

constexpr const char* kVolume = "tinderbox-application";

Json arguments_of(const std::vector<AppFile>& files, const conf::Conf& conf) {
  Json args = {"init", "--directory", kAppDir};
  for (const conf::KeySpec* key : {&conf::kFilesFetchTimeout.spec, &conf::kFilesOverwrite.spec})
    if (const auto value = conf.find(key->name)) {
      args.push_back("--conf");
      args.push_back(literal(std::string(key->name) + "=" + *value));
    }
  const bool receives =
      std::any_of(files.begin(), files.end(), [](const AppFile& f) { return f.url.empty(); });
  if (receives) {
    args.push_back("--receive");
    args.push_back(std::to_string(kReceivePort));
  }
  for (const AppFile& f : files)
    if (f.url.empty()) {
      args.push_back("--expect");
      args.push_back(literal(f.name + "#sha256=" + f.sha256));
    }
  for (const AppFile& f : files)
    if (!f.url.empty())
      args.push_back(
          literal(f.url + "#" + (f.sha256.empty() ? "" : "sha256=" + f.sha256 + "&") + f.name));
  return args;
}

}  // namespace

void add_fetching(PodUnderConstruction& pod, const std::vector<AppFile>& files,
                  const conf::Conf& conf) {
  if (files.empty()) return;
  const Json mount = {{"mountPath", kAppDir}};
  add_volume(pod, kVolume, {{"emptyDir", Json::object()}}, mount);
  Json init = {{"name", kInitName}, {"args", arguments_of(files, conf)}};
  for (const char* same : {"image", "imagePullPolicy", "resources", "securityContext"})
    if (pod.container().contains(same)) init[same] = pod.container()[same];
  // Proxies and trusted certificates are for fetching too; secrets are not.
  for (const Json& variable : pod.container().value("env", Json::array()))
    if (variable.contains("value")) append(init, "env", variable);
  append(init, "volumeMounts", pod.container()["volumeMounts"].back());
  append(pod.spec(), "initContainers", std::move(init));
}

}  // namespace tinderbox::core::kubernetes
