#include "core/deploy/kubernetes/submission/plan.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "conf/keys.hpp"
#include "conf/sources/properties.hpp"
#include "conf/sources/yaml.hpp"
#include "conf/values/resources.hpp"
#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/objects/driver_objects.hpp"
#include "core/deploy/kubernetes/pods/pod_manager.hpp"
#include "core/deploy/kubernetes/submission/file_places.hpp"

namespace tinderbox::core::kubernetes {
namespace {

class Planner {
 public:
  Planner(const conf::SubmitRequest& request, const PlanWorld& world)
      : request_(request), world_(world), files_(request.conf, world) {
    input_.conf = conf::without_node_values(request.conf);
  }

  SubmissionOptions plan() {
    name_application();
    place_application();
    for (const conf::KeySpec* key : {&conf::kFiles.spec, &conf::kArchives.spec}) place_files(*key);
    input_.app_files = files_.in_pod();
    input_.main_class = request_.main_class;
    input_.arguments = request_.app_args;
    input_.proxy_user = request_.proxy_user;
    input_.driver_template = template_of(input_.conf, conf::kKubernetesDriverTemplate, world_.read);
    input_.executor_template =
        template_of(input_.conf, conf::kKubernetesExecutorTemplate, world_.read);
    read_conf_files();
    read_credentials();
    check_executor_keys();
    return options();
  }

 private:
  void name_application() {
    AppNames& names = input_.names;
    const std::string& uuid = world_.uuid;
    uint64_t random = 0;
    std::from_chars(uuid.data(), uuid.data() + std::min<size_t>(uuid.size(), 6), random, 16);
    names.app_id = "spark-" + uuid;
    names.app_name = input_.conf.get(conf::kAppName).value_or("spark");
    names.unique = unique_id(random, world_.now_ms);
    names.prefix = input_.conf.get(conf::kKubernetesDriverNamePrefix)
                       .value_or(resource_prefix(names.app_name, names.unique));
    names.name_space = input_.conf.get(conf::kKubernetesNamespace);
    names.user = world_.user;
  }

  void place_application() {
    const std::string& resource = request_.primary_resource;
    const std::string in_image = application_in_image(resource, world_.is_own_program);
    input_.conf = input_.conf.without(conf::kJars.spec.name);
    if (!in_image.empty()) {
      input_.conf = input_.conf.with(conf::kKubernetesApplication, in_image);
      input_.resource =
          in_image == "image" ? std::string(conf::kInternalResource) : "local://" + in_image;
      return;
    }
    input_.resource = "local://" + files_.place(resource, true);
  }

  void place_files(const conf::KeySpec& key) {
    if (const auto list = input_.conf.find(key.name))
      input_.conf = input_.conf.with(key.name, files_.place_list(*list));
  }

  void read_conf_files() {
    const auto folder = world_.environment.find("SPARK_CONF_DIR");
    if (folder == world_.environment.end()) return;
    input_.conf_files = conf_folder(folder->second, world_.list, world_.read);
  }

  void read_credentials() {
    const std::string prefix = "spark.kubernetes.authenticate.driver.";
    if (const auto token = input_.conf.find(prefix + "oauthToken"))
      input_.credentials.emplace_back("oauth-token", *token);
    const std::pair<const char*, const char*> files[] = {{"caCertFile", "ca-cert"},
                                                         {"clientKeyFile", "client-key"},
                                                         {"clientCertFile", "client-cert"}};
    for (const auto& [name, in_secret] : files)
      if (const auto path = input_.conf.find(prefix + name))
        input_.credentials.emplace_back(in_secret, file_text(*path, prefix + name, world_.read));
  }

  /// What is wrong with them the driver would find out, once its pod runs.
  void check_executor_keys() const {
    PodManagerOptions manager = pod_manager_options(input_.conf);
    ExecutorInput& x = manager.executors;
    x.conf = input_.conf;
    x.names = input_.names;
    x.pod_prefix = executor_pod_prefix(x.conf, x.names);
    x.pod_template = input_.executor_template;
    check_executors(manager);
  }

  SubmissionOptions options() {
    SubmissionOptions o;
    o.app_name = input_.names.app_name;
    o.app_id = input_.names.app_id;
    o.name_space = input_.names.name_space;
    o.pod_name = driver_pod_name(input_.conf, input_.names);
    for (const Json& object : driver_objects(input_)) o.objects.push_back(object.dump());
    o.stored = files_.stored();
    o.uploads = files_.uploads();
    o.wait = input_.conf.get(conf::kKubernetesWaitAppCompletion);
    o.report_interval = input_.conf.get(conf::kKubernetesReportInterval);
    o.patience = input_.conf.get(conf::kKubernetesPatience);
    return o;
  }

  const conf::SubmitRequest& request_;
  const PlanWorld& world_;
  DriverInput input_;
  FilePlaces files_;
};

/// The comments above them stay.
std::string hidden_properties(const std::string& text, const conf::Conf& conf) {
  conf::Pairs pairs = conf::parse_properties(text);
  for (auto& [key, value] : pairs) value = conf::redact(conf, key, value);
  const std::string comment = text.starts_with('#') ? text.substr(0, text.find('\n') + 1) : "";
  return comment + conf::to_properties(pairs);
}

/// Templates have whatever they have.
void hide_variables(Json& container, const conf::Conf& conf) {
  if (!container.contains("env") || !container["env"].is_array()) return;
  for (Json& variable : container["env"]) {
    if (!variable.is_object()) continue;
    const Json name = variable.value("name", Json()), value = variable.value("value", Json());
    if (name.is_string() && value.is_string())
      variable["value"] = conf::redact(conf, name.get<std::string>(), value.get<std::string>());
  }
}

void hide_secrets(Json& object, const conf::Conf& conf) {
  const std::string kind = object["kind"];
  if (kind == "Secret")
    for (auto& [key, value] : object["stringData"].items()) value = std::string(conf::kRedacted);
  if (kind == "ConfigMap" && object["data"].contains(kPropertiesName))
    object["data"][kPropertiesName] =
        hidden_properties(object["data"][kPropertiesName].get<std::string>(), conf);
  if (kind != "Pod") return;
  for (const char* list : {"initContainers", "containers"})
    if (object["spec"].contains(list))
      for (Json& container : object["spec"][list]) hide_variables(container, conf);
}

}  // namespace

SubmissionOptions plan_submission(const conf::SubmitRequest& request, const PlanWorld& world) {
  return Planner(request, world).plan();
}

std::string show_objects(const SubmissionOptions& plan, const conf::Conf& conf) {
  std::string text;
  for (const Bytes& bytes : plan.objects) {
    Json object = Json::parse(bytes);
    hide_secrets(object, conf);
    text += (text.empty() ? "" : "---\n") + conf::to_yaml(object);
  }
  return text;
}

std::string application_in_image(const std::string& resource,
                                 const std::function<bool(const std::string&)>& is_own_program) {
  if (resource == conf::kInternalResource) return "image";
  const auto path = conf::local_path(resource);
  if (!path) return {};
  if (conf::scheme_of(resource) == "local") return *path;
  return is_own_program(*path) ? "image" : "";
}

}  // namespace tinderbox::core::kubernetes
