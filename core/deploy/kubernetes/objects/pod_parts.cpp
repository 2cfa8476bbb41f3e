#include "core/deploy/kubernetes/objects/pod_parts.hpp"

#include <absl/strings/ascii.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "conf/keys.hpp"
#include "conf/known_keys.hpp"
#include "core/deploy/kubernetes/names.hpp"

namespace tinderbox::core::kubernetes {
namespace {

bool is_driver(Owner owner) { return owner == Owner::Driver; }

bool is_reserved(std::string_view label) {
  return label == kAppLabel || label == kRoleLabel || label == kExecutorLabel ||
         label == kProfileLabel || label == kVersionLabel || label == kAppNameLabel;
}

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) {
    return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

std::string image_of(const conf::Conf& conf, Owner owner) {
  const auto image = is_driver(owner) ? conf.get(conf::kKubernetesDriverImage)
                                      : conf.get(conf::kKubernetesExecutorImage);
  if (!image)
    throw conf::Error(is_driver(owner) ? "Must specify the driver container image"
                                       : "Must specify the executor container image");
  return *image;
}

/// Steps of Spark's that our pods always have: leaving them out would do something else than it
/// says. Names of what we have not are nothing to leave out, as in Spark.
void refuse_needed_steps(const conf::Conf& conf, Owner owner) {
  const std::vector<std::string_view> needed =
      is_driver(owner)
          ? std::vector<std::string_view>{"BasicDriverFeatureStep",
                                          "DriverKubernetesCredentialsFeatureStep",
                                          "DriverCommandFeatureStep", "PodTemplateConfigMapStep",
                                          "LocalDirsFeatureStep"}
          : std::vector<std::string_view>{"BasicExecutorFeatureStep"};
  for (const std::string_view step : needed)
    if (step_excluded(conf, owner, step))
      throw conf::Error(owner_key(owner, "pod.excludedFeatureSteps") + ": no pod can go without " +
                        std::string(step));
}

/// What the template says of the container or, in `of_pod`, of all of them stays.
/// Source: Kubernetes' pod security standard "restricted", and a root file system that stays as it
/// is.
void restrict_container(Json& container, const Json& of_pod) {
  const auto said = [&](const char* name) {
    return container.contains(name) || of_pod.contains(name);
  };
  if (!said("runAsUser") && !said("runAsNonRoot")) container["runAsNonRoot"] = true;
  if (!said("seccompProfile")) container["seccompProfile"] = {{"type", "RuntimeDefault"}};
  if (!said("capabilities")) container["capabilities"] = {{"drop", {"ALL"}}};
  if (!said("readOnlyRootFilesystem")) container["readOnlyRootFilesystem"] = true;
}

}  // namespace

std::string owner_key(Owner owner, std::string_view rest) {
  return "spark.kubernetes." + std::string(is_driver(owner) ? "driver." : "executor.") +
         std::string(rest);
}

conf::Pairs pod_labels(const conf::Conf& conf, Owner owner, const AppNames& names,
                       const conf::Pairs& own) {
  const conf::Pairs custom = conf.with_prefix(owner_key(owner, "label."));
  for (const auto& [key, value] : custom)
    if (is_reserved(key))
      throw conf::Error("Label with key " + key +
                        " is not allowed as it is reserved for Spark bookkeeping operations.");
  conf::Pairs labels = custom;
  labels.insert(labels.end(), {{std::string(kVersionLabel), std::string(conf::kSparkVersion)},
                               {std::string(kAppLabel), names.app_id},
                               {std::string(kAppNameLabel), label_value(names.app_name)}});
  labels.insert(labels.end(), own.begin(), own.end());
  return labels;
}

conf::Pairs pod_annotations(const conf::Conf& conf, Owner owner, const AppNames& names,
                            const std::string& executor) {
  conf::Pairs annotations = conf.with_prefix(owner_key(owner, "annotation."));
  for (auto& [key, value] : annotations) {
    value = absl::StrReplaceAll(value, {{"{{APP_ID}}", names.app_id}});
    if (!is_driver(owner)) value = absl::StrReplaceAll(value, {{"{{EXECUTOR_ID}}", executor}});
  }
  // A label that could not hold the whole name.
  if (label_value(names.app_name) != names.app_name)
    annotations.emplace_back(kAppNameAnnotation, names.app_name);
  return annotations;
}

void add_basics(PodUnderConstruction& pod, const conf::Conf& conf, Owner owner) {
  refuse_needed_steps(conf, owner);
  Json& container = pod.container();
  const char* name = is_driver(owner) ? "spark-kubernetes-driver" : "spark-kubernetes-executor";
  if (!container.contains("name")) container["name"] = name;
  container["image"] = image_of(conf, owner);
  container["imagePullPolicy"] = conf.get(conf::kKubernetesPullPolicy);
  for (const std::string& secret : conf.get(conf::kKubernetesPullSecrets))
    append(pod.spec(), "imagePullSecrets", {{"name", secret}});
  add_pairs(pod.spec(), "nodeSelector", conf.with_prefix("spark.kubernetes.node.selector."));
  add_pairs(pod.spec(), "nodeSelector", conf.with_prefix(owner_key(owner, "node.selector.")));
  const auto scheduler = is_driver(owner) ? conf.get(conf::kKubernetesDriverScheduler)
                                          : conf.get(conf::kKubernetesExecutorScheduler);
  if (scheduler) pod.spec()["schedulerName"] = *scheduler;
  const bool escalation = is_driver(owner) ? conf.get(conf::kKubernetesDriverEscalation)
                                           : conf.get(conf::kKubernetesExecutorEscalation);
  Json& security = container["securityContext"];
  if (!security.is_object()) security = Json::object();
  security["allowPrivilegeEscalation"] = escalation;
  if (conf.get(conf::kKubernetesRestricted))
    restrict_container(security, pod.spec().value("securityContext", Json::object()));
}

void add_secrets(PodUnderConstruction& pod, const conf::Conf& conf, Owner owner) {
  if (!step_excluded(conf, owner, "MountSecretsFeatureStep"))
    for (const auto& [name, path] : conf.with_prefix(owner_key(owner, "secrets.")))
      add_volume(pod, volume_name(name), {{"secret", {{"secretName", name}}}},
                 {{"mountPath", path}});
  if (step_excluded(conf, owner, "EnvSecretsFeatureStep")) return;
  for (const auto& [variable, reference] : conf.with_prefix(owner_key(owner, "secretKeyRef."))) {
    const size_t colon = reference.find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == reference.size())
      throw conf::Error("SecretKeyRef must be in the form name:key. Instead got: " + reference);
    const Json key = {{"name", reference.substr(0, colon)}, {"key", reference.substr(colon + 1)}};
    append(pod.container(), "env", {{"name", variable}, {"valueFrom", {{"secretKeyRef", key}}}});
  }
}

std::vector<std::string> add_environment(PodUnderConstruction& pod, const conf::Conf& conf,
                                         Owner owner) {
  std::vector<std::string> left_out;
  const char* prefix = is_driver(owner) ? "spark.kubernetes.driverEnv." : "spark.executorEnv.";
  for (const auto& [name, value] : conf.with_prefix(prefix)) {
    if (is_variable_name(name))
      set_variable(pod.container(), name, value);
    else
      left_out.push_back(name);
  }
  return left_out;
}

void add_resources(PodUnderConstruction& pod, const std::string& cpu, const std::string& cpu_limit,
                   int64_t memory_mib, const conf::Pairs& custom) {
  const std::string memory = std::to_string(memory_mib) + "Mi";
  Json& resources = pod.container()["resources"];
  if (!resources.is_object()) resources = Json::object();
  add_pairs(resources, "requests", {{"cpu", cpu}, {"memory", memory}});
  add_pairs(resources, "limits", {{"memory", memory}});
  if (!cpu_limit.empty()) add_pairs(resources, "limits", {{"cpu", cpu_limit}});
  add_pairs(resources, "limits", custom);
}

std::string vendor_of(const conf::Conf& conf, conf::ResourceOwner owner, const std::string& name) {
  const std::string key = std::string(conf::component_of(owner)) + ".resource." + name + ".vendor";
  if (const auto vendor = conf.find(key)) return *vendor;
  throw conf::Error("Resource: " + name + " was requested, but vendor was not specified (" + key +
                    ")");
}

conf::Pairs custom_limits(const conf::Conf& conf, conf::ResourceOwner owner) {
  conf::Pairs limits;
  for (const auto& [name, setting] : conf::resource_settings(conf, owner))
    limits.emplace_back(vendor_of(conf, owner, name) + "/" + name, std::to_string(setting.amount));
  return limits;
}

void add_local_dirs(PodUnderConstruction& pod, const conf::Conf& conf, const std::string& unique) {
  constexpr std::string_view kPrefix = "spark-local-dir-";
  std::vector<std::string> paths;
  if (pod.container().contains("volumeMounts"))
    for (const Json& mount : pod.container()["volumeMounts"])
      if (mount.is_object() && mount.value("name", "").starts_with(kPrefix))
        paths.push_back(mount.value("mountPath", ""));
  if (paths.empty()) {
    paths = conf.has(conf::kLocalDir) ? conf.get(conf::kLocalDir)
                                      : std::vector<std::string>{"/var/data/spark-" + unique};
    const Json medium =
        conf.get(conf::kKubernetesTmpfs) ? Json{{"medium", "Memory"}} : Json::object();
    for (size_t i = 0; i < paths.size(); ++i)
      add_volume(pod, std::string(kPrefix) + std::to_string(i + 1), {{"emptyDir", medium}},
                 {{"mountPath", paths[i]}});
  }
  std::string all;
  for (const std::string& path : paths) all += (all.empty() ? "" : ",") + path;
  set_variable(pod.container(), "SPARK_LOCAL_DIRS", all);
}

void add_port(PodUnderConstruction& pod, const std::string& name, int port) {
  if (port == 0) return;
  append(pod.container(), "ports", {{"name", name}, {"containerPort", port}, {"protocol", "TCP"}});
}

bool step_excluded(const conf::Conf& conf, Owner owner, std::string_view name) {
  const auto excluded = is_driver(owner) ? conf.get(conf::kKubernetesDriverExcludedSteps)
                                         : conf.get(conf::kKubernetesExecutorExcludedSteps);
  return std::any_of(excluded.begin(), excluded.end(), [&](const std::string& one) {
    return one == name || one.ends_with("." + std::string(name));
  });
}

int64_t memory_overhead_mib(const conf::Conf& conf, Owner owner, int64_t memory_mib) {
  const bool driver = is_driver(owner);
  if (const auto fixed =
          conf.get(driver ? conf::kDriverMemoryOverhead : conf::kExecutorMemoryOverhead))
    return *fixed >> 20;
  double factor = conf.get(conf::kTinderboxOverheadFactor);
  if (conf.has(conf::kKubernetesOverheadFactor)) factor = conf.get(conf::kKubernetesOverheadFactor);
  if (const auto own = conf.get(driver ? conf::kDriverMemoryOverheadFactor
                                       : conf::kExecutorMemoryOverheadFactor))
    factor = *own;
  const int64_t least =
      conf.get(driver ? conf::kDriverMinMemoryOverhead : conf::kExecutorMinMemoryOverhead) >> 20;
  return std::max(static_cast<int64_t>(factor * static_cast<double>(memory_mib)), least);
}

int64_t off_heap_mib(const conf::Conf& conf) {
  if (!conf.get(conf::kOffHeapEnabled)) return 0;
  const int64_t bytes = conf.get(conf::kOffHeapSize);
  if (bytes <= 0)
    throw conf::Error(std::string(conf::kOffHeapSize.spec.name) + " must be > 0 when " +
                      std::string(conf::kOffHeapEnabled.spec.name) + " == true");
  return bytes >> 20;
}

}  // namespace tinderbox::core::kubernetes
