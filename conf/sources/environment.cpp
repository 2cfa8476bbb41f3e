// Environment variables as a layer of the configuration.
#include "conf/sources/environment.hpp"

#include <algorithm>

#include "conf/keys.hpp"

namespace tinderbox::conf {
namespace {

constexpr Variable kVariables[] = {
    {"MASTER", &kMaster.spec, Scope::kSubmit},
    {"DEPLOY_MODE", &kDeployMode.spec, Scope::kSubmit},
    {"SPARK_DRIVER_MEMORY", &kDriverMemory.spec, Scope::kSubmit},
    {"SPARK_EXECUTOR_MEMORY", &kExecutorMemory.spec, Scope::kSubmit},
    {"SPARK_EXECUTOR_CORES", &kExecutorCores.spec, Scope::kSubmit},
    {"SPARK_MASTER_HOST", &kMasterHost.spec, Scope::kMaster},
    {"SPARK_MASTER_PORT", &kMasterPort.spec, Scope::kMaster},
    {"SPARK_MASTER_WEBUI_PORT", &kMasterUiPort.spec, Scope::kMaster},
    {"SPARK_WORKER_HOST", &kWorkerHost.spec, Scope::kWorker},
    {"SPARK_WORKER_PORT", &kWorkerPort.spec, Scope::kWorker},
    {"SPARK_WORKER_CORES", &kWorkerCores.spec, Scope::kWorker},
    {"SPARK_WORKER_MEMORY", &kWorkerMemory.spec, Scope::kWorker},
    {"SPARK_WORKER_DIR", &kWorkerDir.spec, Scope::kWorker},
    {"SPARK_WORKER_WEBUI_PORT", &kWorkerUiPort.spec, Scope::kWorker},
    {"SPARK_LOCAL_IP", &kLocalIp.spec, Scope::kNode},
    {"SPARK_PUBLIC_DNS", &kPublicDns.spec, Scope::kNode},
    {"_SPARK_AUTH_SECRET", &kAuthenticateSecret.spec, Scope::kNode},
    {"SPARK_LOCAL_DIRS", &kLocalDir.spec, Scope::kNode, true},
    {"SPARK_EXECUTOR_DIRS", &kLocalDir.spec, Scope::kNode, true},
};

/// A worker names directories with colons between them; the key is a comma list.
std::string as_value(const Variable& variable, std::string value) {
  if (variable.name == "SPARK_EXECUTOR_DIRS") std::replace(value.begin(), value.end(), ':', ',');
  return value;
}

/// A Kubernetes service called spark-master makes SPARK_MASTER_PORT=tcp://10.0.0.1:7077 in every
/// pod of its namespace: an address of the cluster's, not a person's setting.
bool is_service_link(const Variable& variable, std::string_view value) {
  return variable.name.ends_with("_PORT") && value.starts_with("tcp://");
}

}  // namespace

Environment environment_of(const char* const* variables) {
  Environment out;
  for (; variables && *variables; ++variables) {
    const std::string_view text = *variables;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

std::span<const Variable> environment_variables() { return kVariables; }

void add_environment(Layers& layers, const Environment& environment, Scope scope) {
  for (const Variable& variable : kVariables) {
    const auto found = environment.find(variable.name);
    if (variable.scope != scope || found == environment.end() || found->second.empty()) continue;
    if (is_service_link(variable, found->second)) continue;
    const std::string value = as_value(variable, found->second);
    if (variable.beats_files)
      layers.add(Source::kSet, variable.key->name, value,
                 "environment " + std::string(variable.name));
    else
      layers.add(Source::kEnvironment, variable.key->name, value, variable.name);
  }
}

Conf without_node_values(const Conf& conf) {
  Entries kept = conf.all();
  for (const Variable& variable : kVariables) {
    const auto found = kept.find(variable.key->name);
    if (variable.scope != Scope::kNode || found == kept.end()) continue;
    const Entry& entry = found->second;
    const bool from_here = entry.source == Source::kEnvironment ||
                           entry.detail == "environment " + std::string(variable.name);
    if (from_here) kept.erase(found);
  }
  return Conf(std::move(kept));
}

std::string default_file_path(const Environment& environment, std::string_view name) {
  const auto value = [&](std::string_view variable) {
    const auto found = environment.find(variable);
    return found == environment.end() ? std::string() : found->second;
  };
  if (const std::string folder = value("SPARK_CONF_DIR"); !folder.empty())
    return folder + "/" + std::string(name);
  if (const std::string home = value("SPARK_HOME"); !home.empty())
    return home + "/conf/" + std::string(name);
  return {};
}

std::string default_properties_path(const Environment& environment) {
  return default_file_path(environment, "spark-defaults.conf");
}

}  // namespace tinderbox::conf
