#include "core/deploy/kubernetes/objects/config_map.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "conf/keys.hpp"
#include "conf/sources/properties.hpp"
#include "core/deploy/kubernetes/names.hpp"

namespace tinderbox::core::kubernetes {
namespace {

bool is_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

struct DataSize {
  size_t bytes = 0;  // of all keys and values
  std::string largest;
};

DataSize size_of(const Json& data) {
  DataSize size;
  size_t longest = 0;
  for (const auto& [key, text] : data.items()) {
    const size_t bytes = text.get_ref<const std::string&>().size();
    size.bytes += key.size() + bytes;
    if (bytes >= longest) longest = bytes, size.largest = key;
  }
  return size;
}

bool travels(const std::string& name) {
  for (const char* ending : {".template", ".gz", ".zip", ".jar", ".tar"})
    if (name.ends_with(ending)) return false;
  const bool spark = name.starts_with("spark");
  return !(spark && (name.ends_with("conf") || name.ends_with("properties")));
}

}  // namespace

ConfFiles conf_folder(const std::string& folder, const conf::ListDirectory& list,
                      const conf::ReadText& read) {
  ConfFiles files;
  if (folder.empty()) return files;
  for (const std::string& name : list(folder)) {
    const conf::FileText file = read(folder + "/" + name);
    if (file.kind == conf::FileText::Kind::kRegular) files[name] = file.text;
  }
  return files;
}

ConfFiles travelling(const ConfFiles& files) {
  ConfFiles kept;
  for (const auto& [name, text] : files)
    if (travels(name) && is_utf8(text)) kept.emplace(name, text);
  return kept;
}

Json config_map(const std::string& name, const AppNames& names, const std::string& role,
                const conf::Conf& conf, const conf::Pairs& properties, const ConfFiles& files) {
  Json data = Json::object();
  for (const auto& [file, text] : files) data[file] = text;
  data[kPropertiesName] = "#Java properties built from Kubernetes config map with name: " + name +
                          "\n" + conf::to_properties(properties);
  data["spark.kubernetes.namespace"] = names.name_space;
  const auto most = static_cast<size_t>(conf.get(conf::kKubernetesConfigMapMaxSize));
  if (const DataSize size = size_of(data); size.bytes > most)
    throw conf::Error("The configuration takes " + std::to_string(size.bytes) +
                      " bytes as a config map, more than the " + std::to_string(most) + " of " +
                      std::string(conf::kKubernetesConfigMapMaxSize.spec.name) +
                      " (the API server takes 1 MiB); the largest of it is " + size.largest +
                      ": give large files with --files");
  if (!is_utf8(data[kPropertiesName].get<std::string>()))
    throw conf::Error("A property is not UTF-8, which a config map cannot hold");
  Json labels = {{std::string(kAppLabel), names.app_id}, {std::string(kRoleLabel), role}};
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", names.name_space}, {"labels", labels}}},
          {"immutable", true},
          {"data", data}};
}

void refuse_large(const Json& object) {
  constexpr size_t kMost = 1 << 20;
  const auto refuse = [&](size_t bytes, const std::string& advice) {
    if (bytes > kMost)
      throw conf::Error(object["kind"].get<std::string>() + " " +
                        object["metadata"]["name"].get<std::string>() + " would take " +
                        std::to_string(bytes) + " bytes, more than the " + std::to_string(kMost) +
                        " (1 MiB) that the API server takes; " + advice);
  };
  for (const char* part : {"data", "stringData"}) {
    const DataSize size = size_of(object.value(part, Json::object()));
    refuse(size.bytes, "the largest of it is " + size.largest);
  }
  if (object["kind"] == "Pod")
    refuse(object.dump(-1, ' ', false, Json::error_handler_t::replace).size(),
           "give what is large with --files");
}

void mount_config_map(PodUnderConstruction& pod, const std::string& volume, const std::string& map,
                      std::vector<std::string> keys, bool optional) {
  Json source = {{"name", map}};
  if (optional) source["optional"] = true;
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys)
    append(source, "items", {{"key", key}, {"path", key}, {"mode", 0644}});
  add_volume(pod, volume, {{"configMap", source}}, {{"mountPath", kConfDir}});
}

}  // namespace tinderbox::core::kubernetes
