#include "core/deploy/kubernetes/objects/driver_objects.hpp"

#include <nlohmann/json.hpp>

#include "conf/keys.hpp"
#include "conf/values/custom_resources.hpp"
#include "conf/values/resources.hpp"
#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/objects/driver_files.hpp"
#include "core/deploy/kubernetes/objects/volumes.hpp"

namespace tinderbox::core::kubernetes {
namespace {

struct Ports {
  int rpc, blocks, ui;
};

/// Fixed ones, so that services and network policies can name them.
Ports ports_of(const conf::Conf& conf) {
  const auto or_else = [](int port, int usual) { return port == 0 ? usual : port; };
  return {or_else(conf.get(conf::kDriverPort), kDriverRpcPort),
          or_else(conf.get(conf::kDriverBlockManagerPort), kBlocksPort), kUiPort};
}

/// All that make the driver's pod and what belongs to it, over one input.
class DriverBuilder {
 public:
  explicit DriverBuilder(const DriverInput& in)
      : in_(in),
        ports_(ports_of(in.conf)),
        pod_(in.driver_template.text, in.driver_template.source,
             in.conf.get(conf::kKubernetesDriverTemplateContainer).value_or("")) {}

  std::vector<Json> build() {
    refuse_addresses();
    add_pod_itself();
    add_credentials();
    if (!excluded("DriverServiceFeatureStep")) add_service();
    if (!excluded("NetworkPolicyFeatureStep")) add_policy();
    add_secrets(pod_, in_.conf, Owner::Driver);
    add_volumes(pod_, in_.conf, Owner::Driver, in_.names);
    add_command();
    add_executor_template();
    add_local_dirs(pod_, in_.conf, in_.names.unique);
    add_conf_map();
    add_fetching(pod_, in_.app_files, in_.conf);
    dependents_.insert(dependents_.begin(), pod_.finish());
    for (const Json& object : dependents_) refuse_large(object);
    return std::move(dependents_);
  }

 private:
  bool excluded(std::string_view step) const {
    return step_excluded(in_.conf, Owner::Driver, step);
  }
  conf::Pairs labels() const {
    return pod_labels(in_.conf, Owner::Driver, in_.names, {{std::string(kRoleLabel), "driver"}});
  }
  std::string named(const char* suffix) const {
    return bounded_name(in_.names.prefix, suffix, kLongestName);
  }
  Json metadata(const std::string& name) const {
    return {{"name", name},
            {"namespace", in_.names.name_space},
            {"labels", {{std::string(kAppLabel), in_.names.app_id}}}};
  }

  void refuse_addresses() const {
    for (const char* key : {"spark.driver.bindAddress", "spark.driver.host"})
      if (in_.conf.find(key))
        throw conf::Error(std::string(key) +
                          " is not supported in Kubernetes mode, as the driver's " +
                          (std::string(key).ends_with("host") ? "hostname will be managed via a "
                                                                "Kubernetes service."
                                                              : "bind address is managed and set "
                                                                "to the driver pod's IP address."));
  }

  void add_pod_itself() {
    const conf::Conf& conf = in_.conf;
    Json& metadata = pod_.metadata();
    metadata["name"] = driver_pod_name(conf, in_.names);
    metadata["namespace"] = in_.names.name_space;
    add_pairs(metadata, "labels", labels());
    add_pairs(metadata, "annotations", pod_annotations(conf, Owner::Driver, in_.names));
    pod_.spec()["restartPolicy"] = "Never";
    if (const auto account = conf.get(conf::kKubernetesDriverAccount)) {
      pod_.spec()["serviceAccountName"] = *account;
      pod_.spec()["serviceAccount"] = *account;
    }
    add_basics(pod_, conf, Owner::Driver);
    add_port(pod_, "driver-rpc-port", ports_.rpc);
    add_port(pod_, "blockmanager", ports_.blocks);
    add_port(pod_, "spark-ui", ports_.ui);
    set_variable(pod_.container(), "SPARK_USER", in_.names.user);
    set_variable(pod_.container(), "SPARK_APPLICATION_ID", in_.names.app_id);
    add_environment(pod_, conf, Owner::Driver);
    set_variable_from_field(pod_.container(), "SPARK_DRIVER_BIND_ADDRESS", "status.podIP");
    const int64_t memory = conf.get(conf::kDriverMemory) >> 20;
    const int64_t overhead = memory_overhead_mib(conf, Owner::Driver, memory);
    add_resources(pod_,
                  conf.get(conf::kKubernetesDriverRequestCores)
                      .value_or(std::to_string(conf.get(conf::kDriverCores))),
                  conf.get(conf::kKubernetesDriverLimitCores).value_or(""), memory + overhead,
                  custom_limits(conf, conf::ResourceOwner::kDriver));
    properties_.emplace_back(conf::kKubernetesOverheadFactor.spec.name, factor());
  }

  std::string factor() const {
    return in_.conf.find(conf::kKubernetesOverheadFactor.spec.name)
        .value_or(in_.conf.find(conf::kTinderboxOverheadFactor.spec.name)
                      .value_or(std::string(*conf::kTinderboxOverheadFactor.spec.default_text)));
  }

  void add_credentials() {
    if (in_.credentials.empty()) return;
    const std::string name = named("-kubernetes-credentials");
    Json secret = {{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", metadata(name)}};
    for (const auto& [key, bytes] : in_.credentials) secret["stringData"][key] = bytes;
    dependents_.push_back(std::move(secret));
    add_volume(pod_, "kubernetes-credentials",
               {{"secret", {{"secretName", name}, {"optional", true}}}},
               {{"mountPath", kCredentialsDir}, {"readOnly", true}});
    set_variable(pod_.container(), kCredentialsVariable, name);
    for (const auto& [key, bytes] : in_.credentials) {
      const bool token = key == "oauth-token";
      const std::string property = token                 ? "oauthTokenFile"
                                   : key == "ca-cert"    ? "caCertFile"
                                   : key == "client-key" ? "clientKeyFile"
                                                         : "clientCertFile";
      properties_.emplace_back(kMountedPrefix + property, std::string(kCredentialsDir) + "/" + key);
    }
  }

  std::string service_name() const {
    const std::string usual = in_.names.prefix + "-driver-svc";
    if (usual.size() <= kLongestLabel) return usual;
    return "spark-" + in_.names.unique + "-driver-svc";
  }

  void add_service() {
    const conf::Conf& conf = in_.conf;
    const std::string name = service_name();
    Json object = {{"apiVersion", "v1"}, {"kind", "Service"}, {"metadata", metadata(name)}};
    add_pairs(object["metadata"], "labels",
              conf.with_prefix("spark.kubernetes.driver.service.label."));
    add_pairs(object["metadata"], "annotations",
              conf.with_prefix("spark.kubernetes.driver.service.annotation."));
    Json& spec = object["spec"];
    spec["clusterIP"] = "None";
    spec["ipFamilyPolicy"] = conf.get(conf::kKubernetesServiceFamilyPolicy);
    spec["ipFamilies"] = conf.get(conf::kKubernetesServiceFamilies);
    if (conf.get(conf::kKubernetesServiceNotReady)) spec["publishNotReadyAddresses"] = true;
    add_pairs(spec, "selector", labels());
    const std::pair<const char*, int> ports[] = {
        {"driver-rpc-port", ports_.rpc}, {"blockmanager", ports_.blocks}, {"spark-ui", ports_.ui}};
    for (const auto& [port_name, port] : ports)
      append(spec, "ports",
             {{"name", port_name}, {"port", port}, {"targetPort", port}, {"protocol", "TCP"}});
    dependents_.push_back(std::move(object));
    properties_.emplace_back(conf::kDriverHost.spec.name,
                             name + "." + in_.names.name_space + ".svc");
    properties_.emplace_back(conf::kDriverPort.spec.name, std::to_string(ports_.rpc));
    properties_.emplace_back(conf::kDriverBlockManagerPort.spec.name,
                             std::to_string(ports_.blocks));
  }

  void add_policy() {
    const Json app = {{std::string(kAppLabel), in_.names.app_id}};
    Json executors = app;
    executors[std::string(kRoleLabel)] = "executor";
    const Json from = {{{"podSelector", {{"matchLabels", app}}}}};
    dependents_.push_back({{"apiVersion", "networking.k8s.io/v1"},
                           {"kind", "NetworkPolicy"},
                           {"metadata", metadata(named("-policy"))},
                           {"spec",
                            {{"podSelector", {{"matchLabels", executors}}},
                             {"policyTypes", {"Ingress"}},
                             {"ingress", {{{"from", from}}}}}}});
  }

  void add_command() {
    Json args = {"driver"};
    const auto add = [&args](const std::string& word) { args.push_back(literal(word)); };
    if (!in_.proxy_user.empty()) add("--proxy-user"), add(in_.proxy_user);
    add("--properties-file");
    add(std::string(kConfDir) + "/" + kPropertiesName);
    if (!in_.main_class.empty()) add("--class"), add(in_.main_class);
    add(in_.resource);
    for (const std::string& argument : in_.arguments) add(argument);
    pod_.container()["args"] = args;
    properties_.emplace_back(conf::kKubernetesResourceType.spec.name, "java");
  }

  void add_executor_template() {
    if (in_.executor_template.text.empty()) return;
    // It is parsed here too, so that what is wrong with it is told before anything is created.
    [[maybe_unused]] const PodUnderConstruction parsed(in_.executor_template.text,
                                                       in_.executor_template.source, "");
    const std::string name = named("-driver-podspec-conf-map");
    dependents_.push_back({{"apiVersion", "v1"},
                           {"kind", "ConfigMap"},
                           {"metadata", metadata(name)},
                           {"immutable", true},
                           {"data", {{kTemplateKey, in_.executor_template.text}}}});
    const Json item = {{"key", kTemplateKey}, {"path", kTemplateName}};
    add_volume(pod_, "pod-template-volume",
               {{"configMap", {{"name", name}, {"optional", true}, {"items", {item}}}}},
               {{"mountPath", kTemplateDir}});
    set_variable(pod_.container(), kTemplateMapVariable, name);
    properties_.emplace_back(conf::kKubernetesExecutorTemplate.spec.name,
                             std::string(kTemplateDir) + "/" + kTemplateName);
  }

  void add_conf_map() {
    const std::string name = "spark-drv-" + in_.names.unique + "-conf-map";
    properties_.emplace_back(conf::kAppId.spec.name, in_.names.app_id);
    properties_.emplace_back(conf::kAppName.spec.name, in_.names.app_name);
    properties_.emplace_back(conf::kKubernetesDriverPodName.spec.name,
                             driver_pod_name(in_.conf, in_.names));
    properties_.emplace_back(conf::kKubernetesSubmitInDriver.spec.name, "true");
    if (!in_.conf.get(conf::kKubernetesExecutorNamePrefix))
      properties_.emplace_back(conf::kKubernetesExecutorNamePrefix.spec.name, in_.names.prefix);
    conf::Conf all = in_.conf;
    // A driver that runs all tasks itself asks nobody for executors.
    if (const std::string own = in_.conf.get(conf::kKubernetesDriverMaster);
        own.starts_with("local"))
      all = all.with(conf::kMaster, own);
    for (const char* whose : {"driver.", "submission.", ""})
      all = all.without("spark.kubernetes.authenticate." + std::string(whose) + "oauthToken");
    for (const auto& [key, value] : properties_) all = all.with(key, value);
    const ConfFiles files = travelling(in_.conf_files);
    std::vector<std::string> keys = {kPropertiesName};
    for (const auto& [file, text] : files) keys.push_back(file);
    mount_config_map(pod_, "spark-conf-volume-driver", name, keys, true);
    set_variable(pod_.container(), "SPARK_CONF_DIR", kConfDir);
    set_variable(pod_.container(), kConfMapVariable, name);
    dependents_.push_back(config_map(name, in_.names, "driver", in_.conf, all.pairs(), files));
  }

  const DriverInput& in_;
  const Ports ports_;
  PodUnderConstruction pod_;
  std::vector<Json> dependents_;
  conf::Pairs properties_;
};

}  // namespace

std::string file_text(const std::string& path, std::string_view key, const conf::ReadText& read) {
  const conf::FileText file = read(path);
  if (file.kind == conf::FileText::Kind::kRegular) return file.text;
  throw conf::Error(std::string(key) + ": cannot read '" + path + "'" +
                    (file.error.empty() ? ": no such file" : ": " + file.error));
}

NamedText template_of(const conf::Conf& conf, const conf::Key<std::optional<std::string>>& key,
                      const conf::ReadText& read) {
  const auto where = conf.get(key);
  if (!where) return {};
  return {*where, file_text(conf::local_path(*where).value_or(*where), key.spec.name, read)};
}

std::string driver_pod_name(const conf::Conf& conf, const AppNames& names) {
  return conf.get(conf::kKubernetesDriverPodName)
      .value_or(bounded_name(names.prefix, "-driver", kLongestName));
}

std::vector<Json> driver_objects(const DriverInput& input) { return DriverBuilder(input).build(); }

void set_owner(Json& object, const std::string& pod, const std::string& uid) {
  object["metadata"]["ownerReferences"] = {
      {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod}, {"uid", uid}, {"controller", true}}};
}

}  // namespace tinderbox::core::kubernetes
