#include "core/deploy/kubernetes/objects/executor_pod.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "conf/keys.hpp"
#include "conf/values/custom_resources.hpp"
#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/objects/volumes.hpp"

namespace tinderbox::core::kubernetes {
namespace {

constexpr int kHeaviest = 100;  // weight that a preference may have

/// Kubernetes takes preferences of nodes with weights from 1 to 100.
Json affinity(const NodeWeights& nodes) {
  int32_t most = 1;
  for (const auto& [node, tasks] : nodes) most = std::max(most, tasks);
  Json terms = Json::array();
  for (const auto& [node, tasks] : nodes) {
    if (tasks <= 0) continue;
    const Json match = {{"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", {node}}};
    terms.push_back({{"weight", std::max(1, static_cast<int>(int64_t{tasks} * kHeaviest / most))},
                     {"preference", {{"matchExpressions", {match}}}}});
  }
  return terms;
}

class ExecutorBuilder {
 public:
  ExecutorBuilder(const ExecutorInput& in, const std::string& id, const ProfileSpec& profile)
      : in_(in),
        id_(id),
        profile_(profile),
        pod_(in.pod_template.text, in.pod_template.source,
             in.conf.get(conf::kKubernetesExecutorTemplateContainer).value_or("")) {}

  std::vector<Json> build(const NodeWeights& nodes) {
    add_pod_itself();
    add_variables();
    add_resources_of_profile();
    add_lifecycle();
    add_secrets(pod_, in_.conf, Owner::Executor);
    std::vector<Json> all = add_volumes(pod_, in_.conf, Owner::Executor, in_.names, id_);
    if (!in_.config_map.empty())
      mount_config_map(pod_, "spark-conf-volume-exec", in_.config_map, {}, false);
    if (!excluded("LocalDirsFeatureStep")) add_local_dirs(pod_, in_.conf, in_.names.unique);
    add_fetching(pod_, in_.app_files, in_.conf);
    add_preferences(nodes);
    all.insert(all.begin(), pod_.finish());
    return all;
  }

 private:
  bool excluded(std::string_view step) const {
    return step_excluded(in_.conf, Owner::Executor, step);
  }

  void add_pod_itself() {
    const std::string name = executor_pod_name(in_, id_);
    Json& metadata = pod_.metadata();
    metadata["name"] = name;
    metadata["namespace"] = in_.names.name_space;
    add_pairs(metadata, "labels",
              pod_labels(in_.conf, Owner::Executor, in_.names,
                         {{std::string(kExecutorLabel), id_},
                          {std::string(kRoleLabel), "executor"},
                          {std::string(kProfileLabel), std::to_string(profile_.profile)}}));
    add_pairs(metadata, "annotations", pod_annotations(in_.conf, Owner::Executor, in_.names, id_));
    if (!in_.driver_uid.empty()) set_owner(pod_.pod(), in_.driver_pod, in_.driver_uid);
    Json& spec = pod_.spec();
    spec["hostname"] = executor_host_name(name);
    spec["restartPolicy"] = "Never";
    if (const auto account = in_.conf.get(conf::kKubernetesExecutorAccount);
        account && !excluded("ExecutorKubernetesCredentialsFeatureStep")) {
      spec["serviceAccountName"] = *account;
      spec["serviceAccount"] = *account;
    }
    if (!spec.contains("terminationGracePeriodSeconds"))
      spec["terminationGracePeriodSeconds"] = std::chrono::duration_cast<std::chrono::seconds>(
                                                  in_.conf.get(conf::kKubernetesExecutorGrace))
                                                  .count();
    add_basics(pod_, in_.conf, Owner::Executor);
    if (!pod_.container().contains("args")) pod_.container()["args"] = {"executor"};
    const int port = in_.conf.get(conf::kBlockManagerPort);
    add_port(pod_, "blockmanager", port == 0 ? kBlocksPort : port);
  }

  int32_t cores() const { return profile_.cores.value_or(executor_cores(in_.conf)); }
  int64_t memory_mib() const {
    return profile_.memory_mib.value_or(in_.conf.get(conf::kExecutorMemory) >> 20);
  }

  void add_variables() {
    Json& container = pod_.container();
    set_variable(container, "SPARK_USER", in_.names.user);
    set_variable(container, "SPARK_DRIVER_URL",
                 "spark://CoarseGrainedScheduler@" + in_.driver_address);
    set_variable(container, "SPARK_EXECUTOR_CORES", std::to_string(cores()));
    set_variable(container, "SPARK_EXECUTOR_MEMORY", std::to_string(memory_mib()) + "m");
    set_variable(container, "SPARK_APPLICATION_ID", in_.names.app_id);
    set_variable(container, "SPARK_CONF_DIR", kConfDir);
    set_variable(container, "SPARK_EXECUTOR_ID", id_);
    set_variable(container, "SPARK_RESOURCE_PROFILE_ID", std::to_string(profile_.profile));
    if (!in_.application.empty()) set_variable(container, kApplicationVariable, in_.application);
    add_environment(pod_, in_.conf, Owner::Executor);
    set_variable_from_field(container, "SPARK_EXECUTOR_POD_IP", "status.podIP");
    set_variable_from_field(container, "SPARK_EXECUTOR_POD_NAME", "metadata.name");
  }

  void add_resources_of_profile() {
    std::string cpu = std::to_string(cores());
    const auto requested = in_.conf.get(conf::kKubernetesExecutorRequestCores);
    if (profile_.profile == 0 && requested) cpu = *requested;
    conf::Pairs custom;
    if (profile_.profile == 0) {
      custom = custom_limits(in_.conf, conf::ResourceOwner::kExecutor);
    } else {
      for (const auto& [name, amount] : profile_.resources)
        custom.emplace_back(vendor_of(in_.conf, conf::ResourceOwner::kExecutor, name) + "/" + name,
                            std::to_string(amount));
    }
    const int64_t memory = memory_mib();
    add_resources(
        pod_, cpu, in_.conf.get(conf::kKubernetesExecutorLimitCores).value_or(""),
        memory + memory_overhead_mib(in_.conf, Owner::Executor, memory) + off_heap_mib(in_.conf),
        custom);
    for (const char* what : {"cpu", "memory"})
      append(pod_.container(), "resizePolicy",
             {{"resourceName", what}, {"restartPolicy", "NotRequired"}});
  }

  /// The executor's own program tells process 1 of its container to decommission, and waits.
  void add_lifecycle() {
    if (!in_.decommission || pod_.container().contains("lifecycle")) return;
    const std::string script = in_.conf.get(conf::kKubernetesDecommissionScript);
    const std::string signal = in_.conf.get(conf::kDecommissionSignal);
    Json command = {"/proc/1/exe", "decommission"};
    if (signal != *conf::kDecommissionSignal.spec.default_text) {
      command.push_back("--signal");
      command.push_back(signal);
    }
    if (script != *conf::kKubernetesDecommissionScript.spec.default_text) command = {script};
    pod_.container()["lifecycle"] = {{"preStop", {{"exec", {{"command", command}}}}}};
  }

  void add_preferences(const NodeWeights& nodes) {
    const Json terms = affinity(nodes);
    if (terms.empty()) return;
    Json& node = pod_.spec()["affinity"]["nodeAffinity"];
    for (const Json& term : terms)
      append(node, "preferredDuringSchedulingIgnoredDuringExecution", term);
  }

  const ExecutorInput& in_;
  const std::string& id_;
  const ProfileSpec& profile_;
  PodUnderConstruction pod_;
};

}  // namespace

std::string executor_pod_name(const ExecutorInput& input, const std::string& id) {
  return input.pod_prefix + "-exec-" + id;
}

std::string executor_pod_prefix(const conf::Conf& conf, const AppNames& names) {
  const auto given = conf.get(conf::kKubernetesExecutorNamePrefix);
  if (!given) return bounded_name(names.prefix, "", kLongestPrefix);
  if (!is_pod_name_prefix(*given))
    throw conf::Error("'" + *given +
                      "' in spark.kubernetes.executor.podNamePrefix is invalid. must "
                      "conform https://kubernetes.io/docs/concepts/overview/working-with-objects/"
                      "names/#dns-subdomain-names and the value length <= " +
                      std::to_string(kLongestPrefix));
  return *given;
}

std::vector<Json> executor_objects(const ExecutorInput& input, const std::string& id,
                                   const ProfileSpec& profile, const NodeWeights& nodes) {
  return ExecutorBuilder(input, id, profile).build(nodes);
}

int32_t executor_instances(const conf::Conf& conf) {
  constexpr int32_t kUsual = 2;
  return conf.get(conf::kExecutorInstances).value_or(kUsual);
}

int32_t executor_cores(const conf::Conf& conf) {
  return conf.get(conf::kExecutorCores).value_or(1);
}

}  // namespace tinderbox::core::kubernetes
