#include "core/deploy/kubernetes/objects/volumes.hpp"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "conf/keys.hpp"
#include "conf/values/units.hpp"
#include "core/deploy/kubernetes/names.hpp"

namespace tinderbox::core::kubernetes {
namespace {

constexpr std::string_view kTypes[] = {"hostPath", "persistentVolumeClaim", "emptyDir", "nfs",
                                       "csi"};

using Rests = std::map<std::string, std::string>;  // what follows TYPE.NAME. → value

[[noreturn]] void refuse(Owner owner, const VolumeSpec& v, const std::string& what) {
  throw conf::Error(owner_key(owner, "volumes.") + v.type + "." + v.name + what);
}

void need(Owner owner, const VolumeSpec& v, const char* option) {
  if (v.option(option).empty()) refuse(owner, v, ".options." + std::string(option) + " is missing");
}

VolumeSpec spec_of(Owner owner, const std::string& type, const std::string& name,
                   const Rests& rests) {
  VolumeSpec v;
  v.type = type;
  v.name = name;
  for (const auto& [rest, value] : rests) {
    if (rest == "mount.path") {
      v.mount_path = value;
    } else if (rest == "mount.subPath") {
      v.sub_path = value;
    } else if (rest == "mount.subPathExpr") {
      v.sub_path_expression = value;
    } else if (rest == "mount.readOnly") {
      const auto flag = conf::parse_bool(value);
      if (!flag) refuse(owner, v, ".mount.readOnly should be boolean, but was " + value);
      v.read_only = *flag;
    } else if (rest.starts_with("options.")) {
      v.options.emplace_back(rest.substr(8), value);
    } else if (rest.starts_with("label.")) {
      v.labels.emplace_back(rest.substr(6), value);
    } else if (rest.starts_with("annotation.")) {
      v.annotations.emplace_back(rest.substr(11), value);
    } else if (rest == "mount") {
      continue;
    } else {
      refuse(owner, v,
             "." + rest + " is unknown: there are mount.*, options.*, label.*, annotation.*");
    }
  }
  if (v.mount_path.empty()) refuse(owner, v, ".mount.path is missing");
  if (!v.sub_path.empty() && !v.sub_path_expression.empty())
    refuse(owner, v, ".mount.subPath and .mount.subPathExpr exclude each other");
  if (type == "hostPath") need(owner, v, "path");
  if (type == "persistentVolumeClaim") need(owner, v, "claimName");
  if (type == "nfs") need(owner, v, "path"), need(owner, v, "server");
  if (type == "csi") need(owner, v, "driver");
  return v;
}

void check_quantity(Owner owner, const VolumeSpec& v) {
  const std::string size = v.option("sizeLimit");
  const bool negative = size.starts_with('-');
  if (negative) refuse(owner, v, ".options.sizeLimit must be a quantity, not " + size);
}

Json claim_spec(const conf::Conf& conf, const VolumeSpec& v) {
  const char* mode =
      conf.get(conf::kKubernetesReadWriteOnce) ? "ReadWriteOnce" : "ReadWriteOncePod";
  Json spec = {{"accessModes", {mode}}};
  if (!v.option("storageClass").empty()) spec["storageClassName"] = v.option("storageClass");
  if (!v.option("sizeLimit").empty())
    spec["resources"] = {{"requests", {{"storage", v.option("sizeLimit")}}}};
  return spec;
}

Json metadata_of(const VolumeSpec& v, const AppNames& names) {
  Json metadata = {{"labels", {{std::string(kAppLabel), names.app_id}}}};
  add_pairs(metadata, "labels", v.labels);
  add_pairs(metadata, "annotations", v.annotations);
  return metadata;
}

Json plain_source(const VolumeSpec& v, const std::string& claim) {
  if (v.type == "hostPath") {
    Json source = {{"path", v.option("path")}, {"type", v.option("type")}};
    return {{"hostPath", source}};
  }
  if (v.type == "emptyDir") {
    Json source = Json::object();
    if (!v.option("medium").empty()) source["medium"] = v.option("medium");
    if (!v.option("sizeLimit").empty()) source["sizeLimit"] = v.option("sizeLimit");
    return {{"emptyDir", source}};
  }
  if (v.type == "nfs")
    return {{"nfs", {{"path", v.option("path")}, {"server", v.option("server")}}}};
  if (v.type == "csi") {
    Json source = {{"driver", v.option("driver")}, {"readOnly", v.read_only}};
    if (!v.option("fsType").empty()) source["fsType"] = v.option("fsType");
    for (const auto& [key, value] : v.options)
      if (key.starts_with("volumeAttributes.")) source["volumeAttributes"][key.substr(17)] = value;
    return {{"csi", source}};
  }
  return {{"persistentVolumeClaim", {{"claimName", claim}, {"readOnly", v.read_only}}}};
}

Json mount_of(const VolumeSpec& v) {
  Json mount = {{"mountPath", v.mount_path}, {"readOnly", v.read_only}};
  if (!v.sub_path.empty()) mount["subPath"] = v.sub_path;
  if (!v.sub_path_expression.empty()) mount["subPathExpr"] = v.sub_path_expression;
  return mount;
}

}  // namespace

std::string VolumeSpec::option(std::string_view wanted) const {
  for (const auto& [key, value] : options)
    if (key == wanted) return value;
  return {};
}

bool VolumeSpec::on_demand() const {
  return type == "persistentVolumeClaim" && option("claimName") == "OnDemand";
}

std::vector<VolumeSpec> volume_specs(const conf::Conf& conf, Owner owner) {
  std::map<std::pair<std::string, std::string>, Rests> grouped;
  for (const auto& [key, value] : conf.with_prefix(owner_key(owner, "volumes."))) {
    const size_t first = key.find('.'), second = key.find('.', first + 1);
    const std::string type = key.substr(0, first);
    if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes))
      throw conf::Error(owner_key(owner, "volumes.") + key + ": volume type " + type +
                        " is not supported; there are hostPath, persistentVolumeClaim, emptyDir, "
                        "nfs, csi");
    if (first == std::string::npos || second == std::string::npos)
      throw conf::Error(owner_key(owner, "volumes.") + key + " says nothing of a volume");
    grouped[{type, key.substr(first + 1, second - first - 1)}][key.substr(second + 1)] = value;
  }
  std::vector<VolumeSpec> all;
  for (const auto& [id, rests] : grouped) {
    all.push_back(spec_of(owner, id.first, id.second, rests));
    check_quantity(owner, all.back());
  }
  return all;
}

std::vector<Json> add_volumes(PodUnderConstruction& pod, const conf::Conf& conf, Owner owner,
                              const AppNames& names, const std::string& executor) {
  std::vector<Json> claims;
  if (step_excluded(conf, owner, "MountVolumesFeatureStep")) return claims;
  std::set<std::string> paths;
  const auto personal = [&](const std::string& text) {
    return absl::StrReplaceAll(
        text, {{"SPARK_EXECUTOR_ID", executor}, {"SPARK_APPLICATION_ID", names.app_id}});
  };
  for (VolumeSpec& v : volume_specs(conf, owner)) {
    if (!paths.insert(v.mount_path).second)
      throw conf::Error("Found duplicated mountPath: `" + v.mount_path + "`");
    for (auto& [key, value] : v.options) value = personal(value);
    if (owner == Owner::Driver && v.on_demand()) {
      Json claim = metadata_of(v, names);
      add_volume(
          pod, v.name,
          {{"ephemeral",
            {{"volumeClaimTemplate", {{"metadata", claim}, {"spec", claim_spec(conf, v)}}}}}},
          mount_of(v));
      continue;
    }
    std::string name = v.option("claimName");
    if (v.on_demand()) {
      name = bounded_name(pod.metadata()["name"].get<std::string>(),
                          "-pvc-" + std::to_string(claims.size()), kLongestName);
      Json metadata = metadata_of(v, names);
      metadata["name"] = name;
      claims.push_back({{"apiVersion", "v1"},
                        {"kind", "PersistentVolumeClaim"},
                        {"metadata", metadata},
                        {"spec", claim_spec(conf, v)}});
    }
    add_volume(pod, v.name, plain_source(v, name), mount_of(v));
  }
  return claims;
}

}  // namespace tinderbox::core::kubernetes
