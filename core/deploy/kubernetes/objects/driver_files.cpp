#include "core/deploy/kubernetes/objects/driver_files.hpp"

#include <absl/strings/escaping.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "conf/keys.hpp"
#include "conf/sources/properties.hpp"
#include "core/deploy/kubernetes/objects/config_map.hpp"

namespace tinderbox::core::kubernetes {
namespace {

using Texts = std::map<std::string, std::string>;

/// So long a driver waits for what submit creates after its pod.
constexpr Duration kConfPatience = std::chrono::seconds(60);
constexpr Duration kConfLook = std::chrono::milliseconds(100);
/// What comes before the configuration is there with it. If it may not be asked for, its kubelet
/// mounts it when it looks at the pod again, after a minute and a half at most.
constexpr Duration kMountPatience = std::chrono::seconds(180);
constexpr Duration kMountLook = std::chrono::seconds(1);

/// A file by the property that names it.
struct Mounted {
  std::string property, path;
  std::string kind, object;  // what it is mounted from
  std::string key;           // in it
};

class Waiting {
 public:
  Waiting(std::vector<std::string> args, const DriverFilesWorld& world) : world_(world) {
    files_.args = std::move(args);
  }

  DriverFiles run() {
    const auto option = std::find(files_.args.begin(), files_.args.end(), "--properties-file");
    const std::string map = variable(kConfMapVariable);
    if (option == files_.args.end() || option + 1 == files_.args.end() || map.empty())
      return std::move(files_);
    std::string& path = *(option + 1);
    wait_for_properties(path, map);
    for (const auto& [key, value] : conf::parse_properties(world_.read(path).text))
      if (const auto file = mounted(key, value)) wait_for(*file);
    files_.args.insert(files_.args.begin(), moved_.begin(), moved_.end());
    return std::move(files_);
  }

 private:
  std::string variable(const char* name) const {
    const auto found = world_.environment.find(name);
    return found == world_.environment.end() ? std::string() : found->second;
  }
  bool is_there(const std::string& path) const {
    return world_.read(path).kind == conf::FileText::Kind::kRegular;
  }

  /// None: it is not there, or may not be read.
  std::optional<Texts> fetch(const std::string& kind, const std::string& name) const {
    const Json object = world_.ask(kind, name);
    const Json data = object.is_object() ? object.value("data", Json()) : Json();
    if (!data.is_object()) return std::nullopt;
    Texts texts;
    for (const auto& [key, value] : data.items()) {
      if (!value.is_string()) continue;
      std::string& text = texts[key] = value.get<std::string>();
      if (const std::string coded = text; kind == "secrets") absl::Base64Unescape(coded, &text);
    }
    return texts;
  }

  void wait_for_properties(std::string& path, const std::string& map) {
    for (Duration waited{}; waited < kConfPatience; waited += kConfLook) {
      if (is_there(path)) return;
      if (const auto texts = fetch("configmaps", map)) {
        files_.conf_dir = world_.keep("spark-conf", *texts);
        path = files_.conf_dir + "/" + kPropertiesName;
        return;
      }
      world_.sleep(kConfLook);
    }
    throw conf::Error("The application's configuration (config map " + map +
                      ") did not come: its submitter was ended before it had created everything");
  }

  /// None: not one of submit's.
  std::optional<Mounted> mounted(const std::string& property, const std::string& path) const {
    const std::string name = path.substr(path.rfind('/') + 1);
    Mounted file;
    if (property == conf::kKubernetesExecutorTemplate.spec.name &&
        path == std::string(kTemplateDir) + "/" + kTemplateName)
      file = {property, path, "configmaps", variable(kTemplateMapVariable), kTemplateKey};
    if (property.starts_with(kMountedPrefix) && path == std::string(kCredentialsDir) + "/" + name)
      file = {property, path, "secrets", variable(kCredentialsVariable), name};
    return file.object.empty() ? std::nullopt : std::optional(file);
  }

  void wait_for(const Mounted& file) {
    for (Duration waited{}; waited < kMountPatience; waited += kMountLook) {
      if (is_there(file.path)) return;
      if (const auto texts = fetch(file.kind, file.object); texts && texts->contains(file.key)) {
        const std::string name = file.path.substr(file.path.rfind('/') + 1);
        const std::string folder = world_.keep("spark-mounts", {{name, texts->at(file.key)}});
        moved_.insert(moved_.end(), {"--conf", file.property + "=" + folder + "/" + name});
        return;
      }
      world_.sleep(kMountLook);
    }
    throw conf::Error(file.property + ": '" + file.path + "' did not come: " + file.object +
                      " is not mounted and cannot be read over the API server");
  }

  const DriverFilesWorld& world_;
  DriverFiles files_;
  std::vector<std::string> moved_;
};

}  // namespace

DriverFiles await_driver_files(std::vector<std::string> args, const DriverFilesWorld& world) {
  return Waiting(std::move(args), world).run();
}

}  // namespace tinderbox::core::kubernetes
