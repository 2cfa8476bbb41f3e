// How the Kubernetes API server is reached, and as whom: from a kubeconfig, a pod, or keys.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conf/conf.hpp"
#include "conf/secret.hpp"
#include "conf/sources/environment.hpp"
#include "conf/sources/files.hpp"

namespace tinderbox::conf {

/// A program that prints an ExecCredential. Source: client-go client.authentication.k8s.io.
struct ExecPlugin {
  std::string command;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
  std::string api_version, install_hint;
  bool gives_cluster = false;  // it is told of the cluster
  bool operator==(const ExecPlugin&) const = default;
};

struct KubernetesAccess {
  std::string server;       // https://host:port[/path]
  std::string ca_pem;       // empty: whom this machine trusts
  std::string ca_name;      // where ca_pem is from
  std::string server_name;  // in the server's certificate; empty: the URL's host
  std::string proxy;
  std::string certificate_pem;
  Secret key_pem;
  Secret token;
  std::string token_file;  // read again and again: tokens are replaced
  std::string user;        // basic authentication
  Secret password;
  std::optional<ExecPlugin> plugin;
  std::string name_space;  // of the context; empty: it names none
  std::string source;      // for messages: which file and context this is
};

using ReadText = std::function<FileText(const std::string& path)>;

/// `$KUBECONFIG` (a list of paths), else `$HOME/.kube/config`. A file that is missing is left out,
/// one that was named first wins. None: no file is there.
/// `context`: empty: the current one. Errors: conf::Error naming file, context, cluster or user.
/// Source: client-go tools/clientcmd.
std::optional<KubernetesAccess> kubeconfig_access(const Environment& environment,
                                                  const ReadText& read,
                                                  const std::string& context = {});

/// A pod's service account: /var/run/secrets/kubernetes.io/serviceaccount and
/// KUBERNETES_SERVICE_HOST. None: this is no pod. Source: client-go rest.InClusterConfig.
std::optional<KubernetesAccess> pod_access(const Environment& environment, const ReadText& read);

/// `access` with what `prefix` + oauthToken, oauthTokenFile, caCertFile, clientKeyFile and
/// clientCertFile say. `prefix`: spark.kubernetes.authenticate.submission. or the like.
/// Errors: conf::Error for a file that cannot be read, or both a token and a token file.
KubernetesAccess with_authentication(KubernetesAccess access, const Conf& conf,
                                     const std::string& prefix, const ReadText& read);

}  // namespace tinderbox::conf
