#include "conf/sources/kubeconfig.hpp"

#include <absl/strings/escaping.h>
#include <absl/strings/str_split.h>

#include <nlohmann/json.hpp>

#include "conf/sources/yaml.hpp"

namespace tinderbox::conf {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPodFolder = "/var/run/secrets/kubernetes.io/serviceaccount/";

std::string text_of(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json part_of(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() ? *found : Json();
}

std::string variable(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::string read_or_refuse(const ReadText& read, const std::string& path, const std::string& what) {
  const FileText file = read(path);
  if (file.kind == FileText::Kind::kRegular) return file.text;
  throw Error(what + ": cannot read '" + path + "'" +
              (file.error.empty() ? std::string(": no such file") : ": " + file.error));
}

/// One named entry of `clusters`, `users` or `contexts`, and the file it stands in.
struct Found {
  Json value;
  std::string file;

  std::string absolute(const std::string& path) const {
    if (path.empty() || path.starts_with('/')) return path;
    const size_t slash = file.rfind('/');
    return slash == std::string::npos ? path : file.substr(0, slash + 1) + path;
  }
};

class Kubeconfig {
 public:
  Kubeconfig(const ReadText& read, const std::vector<std::string>& paths) : read_(read) {
    for (const std::string& path : paths) {
      const FileText file = read(path);
      if (file.kind == FileText::Kind::kUnreadable)
        throw Error("kubeconfig '" + path + "': " + file.error);
      if (file.kind != FileText::Kind::kRegular) continue;
      try {
        files_.emplace_back(path, parse_yaml(file.text));
      } catch (const Error& e) {
        throw Error("kubeconfig '" + path + "': " + e.what());
      }
      if (!files_.back().second.is_object() && !files_.back().second.is_null())
        throw Error("kubeconfig '" + path + "': it is no mapping");
    }
  }
  bool empty() const { return files_.empty(); }

  KubernetesAccess access(std::string context) const {
    for (const auto& [path, json] : files_)
      if (context.empty()) context = text_of(json, "current-context");
    if (context.empty())
      throw Error("kubeconfig " + names() +
                  " has no current-context: choose one with spark.kubernetes.context");
    const Found chosen = named("contexts", "context", context);
    KubernetesAccess access;
    access.source = "context '" + context + "' of kubeconfig '" + chosen.file + "'";
    access.name_space = text_of(chosen.value, "namespace");
    take_cluster(access, named("clusters", "cluster", text_of(chosen.value, "cluster")));
    const std::string user = text_of(chosen.value, "user");
    if (!user.empty()) take_user(access, named("users", "user", user));
    return access;
  }

 private:
  std::string names() const {
    std::string all;
    for (const auto& [path, json] : files_) all += (all.empty() ? "'" : ", '") + path + "'";
    return all;
  }
  Found named(const char* list, const char* kind, const std::string& name) const {
    for (const auto& [path, json] : files_)
      for (const Json& entry : part_of(json, list))
        if (text_of(entry, "name") == name) return {part_of(entry, kind), path};
    throw Error("kubeconfig " + names() + " has no " + kind + " '" + name + "'");
  }
  /// `key`-data in base64, else the file that `key` names.
  std::string pem(const Found& in, const std::string& key, std::string* from = nullptr) const {
    const std::string data = text_of(in.value, (key + "-data").c_str());
    if (!data.empty()) {
      std::string decoded;
      if (!absl::Base64Unescape(data, &decoded))
        throw Error("kubeconfig '" + in.file + "': " + key + "-data is not base64");
      if (from) *from = key + "-data of '" + in.file + "'";
      return decoded;
    }
    const std::string path = in.absolute(text_of(in.value, key.c_str()));
    if (from) *from = "'" + path + "'";
    return path.empty() ? "" : read_or_refuse(read_, path, "kubeconfig '" + in.file + "', " + key);
  }
  void take_cluster(KubernetesAccess& access, const Found& cluster) const {
    access.server = text_of(cluster.value, "server");
    access.server_name = text_of(cluster.value, "tls-server-name");
    access.proxy = text_of(cluster.value, "proxy-url");
    if (part_of(cluster.value, "insecure-skip-tls-verify") == true)
      throw Error("kubeconfig '" + cluster.file +
                  "' asks for insecure-skip-tls-verify: certificates are always checked; give "
                  "certificate-authority instead");
    access.ca_pem = pem(cluster, "certificate-authority", &access.ca_name);
  }
  void take_user(KubernetesAccess& access, const Found& user) const {
    access.certificate_pem = pem(user, "client-certificate");
    access.key_pem = Secret(pem(user, "client-key"));
    access.token_file = user.absolute(text_of(user.value, "tokenFile"));
    if (access.token_file.empty()) access.token = Secret(text_of(user.value, "token"));
    access.user = text_of(user.value, "username");
    access.password = Secret(text_of(user.value, "password"));
    const Json exec = part_of(user.value, "exec");
    if (exec.is_object()) access.plugin = plugin_of(exec, user);
    if (part_of(user.value, "auth-provider").is_object())
      throw Error("kubeconfig '" + user.file +
                  "' names an auth-provider, which Kubernetes no longer has: use an exec plugin");
  }
  static ExecPlugin plugin_of(const Json& exec, const Found& user) {
    ExecPlugin plugin;
    plugin.command = text_of(exec, "command");
    if (plugin.command.empty())
      throw Error("kubeconfig '" + user.file + "': an exec plugin without command");
    // Without a slash it is looked for in PATH.
    if (plugin.command.find('/') != std::string::npos)
      plugin.command = user.absolute(plugin.command);
    for (const Json& argument : part_of(exec, "args"))
      if (argument.is_string()) plugin.arguments.push_back(argument.get<std::string>());
    for (const Json& variable : part_of(exec, "env"))
      plugin.environment[text_of(variable, "name")] = text_of(variable, "value");
    plugin.api_version = text_of(exec, "apiVersion");
    plugin.install_hint = text_of(exec, "installHint");
    plugin.gives_cluster = part_of(exec, "provideClusterInfo") == true;
    return plugin;
  }

  const ReadText& read_;
  std::vector<std::pair<std::string, Json>> files_;
};

std::vector<std::string> kubeconfig_paths(const Environment& environment) {
  const std::string list = variable(environment, "KUBECONFIG");
  if (!list.empty()) return absl::StrSplit(list, ':', absl::SkipEmpty());
  const std::string home = variable(environment, "HOME");
  return home.empty() ? std::vector<std::string>() : std::vector{home + "/.kube/config"};
}

}  // namespace

std::optional<KubernetesAccess> kubeconfig_access(const Environment& environment,
                                                  const ReadText& read,
                                                  const std::string& context) {
  const Kubeconfig config(read, kubeconfig_paths(environment));
  if (!config.empty()) return config.access(context);
  if (!context.empty())
    throw Error("spark.kubernetes.context is '" + context + "', but there is no kubeconfig");
  return std::nullopt;
}

std::optional<KubernetesAccess> pod_access(const Environment& environment, const ReadText& read) {
  const std::string host = variable(environment, "KUBERNETES_SERVICE_HOST");
  const std::string folder(kPodFolder);
  if (host.empty() || read(folder + "token").kind != FileText::Kind::kRegular) return std::nullopt;
  const std::string port = variable(environment, "KUBERNETES_SERVICE_PORT");
  KubernetesAccess access;
  const bool v6 = host.find(':') != std::string::npos && !host.starts_with('[');
  access.server = "https://" + (v6 ? "[" + host + "]" : host) + ":" + (port.empty() ? "443" : port);
  access.token_file = folder + "token";
  access.ca_name = "'" + folder + "ca.crt'";
  access.ca_pem = read_or_refuse(read, folder + "ca.crt", "service account");
  access.name_space = read(folder + "namespace").text;
  access.source = "the pod's service account";
  return access;
}

KubernetesAccess with_authentication(KubernetesAccess access, const Conf& conf,
                                     const std::string& prefix, const ReadText& read) {
  const auto setting = [&](const char* name) { return conf.find(prefix + name).value_or(""); };
  const auto file = [&](const char* name) {
    return read_or_refuse(read, setting(name), prefix + name);
  };
  const std::string token = setting("oauthToken"), token_file = setting("oauthTokenFile");
  if (!token.empty() && !token_file.empty())
    throw Error("Cannot specify OAuth token through both a file " + prefix +
                "oauthTokenFile and a value " + prefix + "oauthToken.");
  if (!token.empty() || !token_file.empty()) {
    access.token = Secret(token);
    access.token_file = token_file;
    access.plugin.reset();
    if (!token_file.empty()) file("oauthTokenFile");
  }
  if (!setting("caCertFile").empty()) {
    access.ca_pem = file("caCertFile");
    access.ca_name = "'" + setting("caCertFile") + "' (" + prefix + "caCertFile)";
  }
  if (setting("clientKeyFile").empty() != setting("clientCertFile").empty())
    throw Error(prefix + "clientKeyFile and " + prefix + "clientCertFile belong together: " +
                (setting("clientKeyFile").empty() ? "the key" : "the certificate") + " is missing");
  if (!setting("clientKeyFile").empty()) {
    access.key_pem = Secret(file("clientKeyFile"));
    access.certificate_pem = file("clientCertFile");
  }
  return access;
}

}  // namespace tinderbox::conf
