#include "core/deploy/kubernetes/access.hpp"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/time/clock.h>
#include <absl/time/time.h>

#include <nlohmann/json.hpp>

#include "conf/keys.hpp"
#include "core/deploy/kubernetes/objects/driver_files.hpp"
#include "net/mutex.hpp"
#include "net/process/piped_child.hpp"

namespace tinderbox::core::kubernetes {
namespace {

using Json = nlohmann::json;

/// A service account's token file is replaced when it is old; Kubernetes' own clients look once a
/// minute.
constexpr absl::Duration kTokenFileAge = absl::Minutes(1);
/// A plugin's credential is not used up to its very end.
constexpr absl::Duration kPluginMargin = absl::Seconds(10);

void check_trust(const conf::Conf& conf) {
  if (conf.get(conf::kKubernetesTrustCertificates))
    throw conf::Error(
        "spark.kubernetes.trust.certificates=true: the API server's certificate is always checked; "
        "name its issuer with spark.kubernetes.authenticate.submission.caCertFile or in the "
        "kubeconfig");
}

struct Credential {
  std::string authorization, certificate_pem, key_pem;
  absl::Time until = absl::InfiniteFuture();
};

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// What a plugin is told by KUBERNETES_EXEC_INFO.
std::string plugin_input(const conf::KubernetesAccess& access) {
  Json spec = {{"interactive", false}};
  if (access.plugin->gives_cluster)
    spec["cluster"] = {{"server", access.server},
                       {"tls-server-name", access.server_name},
                       {"proxy-url", access.proxy},
                       {"certificate-authority-data", absl::Base64Escape(access.ca_pem)}};
  return Json{
      {"kind", "ExecCredential"}, {"apiVersion", access.plugin->api_version}, {"spec", spec}}
      .dump();
}

/// Source: client-go plugin/pkg/client/auth/exec.
Result<Credential> run_plugin(const conf::KubernetesAccess& access) {
  const conf::ExecPlugin& plugin = *access.plugin;
  std::vector<std::string> argv = {plugin.command};
  argv.insert(argv.end(), plugin.arguments.begin(), plugin.arguments.end());
  auto variables = plugin.environment;
  variables["KUBERNETES_EXEC_INFO"] = plugin_input(access);
  const std::string who = "the exec plugin '" + plugin.command + "' of " + access.source;
  const Result<std::string> printed = net::run_and_read(plugin.command, argv, variables);
  if (!printed)
    return Error{who + ": " + printed.error().message +
                 (plugin.install_hint.empty() ? "" : "; " + plugin.install_hint)};
  const Json answer = Json::parse(*printed, nullptr, false);
  if (!answer.is_object() || text(answer, "kind") != "ExecCredential" ||
      !answer.value("status", Json()).is_object())
    return Error{who + " did not print an ExecCredential with a status"};
  const Json& status = answer["status"];
  Credential made;
  if (const std::string token = text(status, "token"); !token.empty())
    made.authorization = "Bearer " + token;
  made.certificate_pem = text(status, "clientCertificateData");
  made.key_pem = text(status, "clientKeyData");
  std::string problem;
  if (const std::string until = text(status, "expirationTimestamp"); !until.empty())
    if (!absl::ParseTime(absl::RFC3339_full, until, &made.until, &problem))
      return Error{who + " gave an expirationTimestamp that is none: " + until};
  if (made.authorization.empty() && made.certificate_pem.empty())
    return Error{who + " gave neither a token nor a certificate"};
  return made;
}

}  // namespace

conf::KubernetesAccess client_access(const conf::Conf& conf, const std::string& master_url,
                                     const std::string& prefix,
                                     const conf::Environment& environment,
                                     const conf::ReadText& read) {
  check_trust(conf);
  auto access =
      conf::kubeconfig_access(environment, read, conf.get(conf::kKubernetesContext).value_or(""));
  if (!access) access = conf::pod_access(environment, read);
  if (!access) access.emplace();
  access->server = master_url;
  return conf::with_authentication(std::move(*access), conf, prefix, read);
}

conf::KubernetesAccess driver_access(const conf::Conf& conf, const conf::Environment& environment,
                                     const conf::ReadText& read) {
  check_trust(conf);
  auto access = conf::pod_access(environment, read);
  const std::string master = conf.get(conf::kKubernetesDriverMaster);
  if (!access) access.emplace();
  const bool usual = master == *conf::kKubernetesDriverMaster.spec.default_text;
  if (!usual || access->server.empty()) access->server = master;
  return conf::with_authentication(std::move(*access), conf, kMountedPrefix, read);
}

class ApiCredentials::Impl {
 public:
  Impl(conf::KubernetesAccess access, Duration connect, Duration answer)
      : access_(std::move(access)), connect_(connect), answer_(answer) {}

  Result<Session> open(Duration answer) {
    net::Lock lock(mutex_);
    if (Result<bool> fresh = refresh(); !fresh) return fresh.error();
    net::HttpServerAddress a;
    a.url = access_.server;
    a.ca_pem = access_.ca_pem;
    a.ca_name = access_.ca_name;
    a.server_name = access_.server_name;
    a.proxy = access_.proxy;
    a.certificate_pem = access_.certificate_pem;
    a.key_pem = access_.key_pem.reveal();
    if (!current_.certificate_pem.empty()) {
      a.certificate_pem = current_.certificate_pem;
      a.key_pem = current_.key_pem;
    }
    a.connect_timeout = connect_;
    a.answer_timeout = answer == Duration{} ? answer_ : answer;
    Session session;
    session.http = std::make_unique<net::HttpSession>(std::move(a));
    session.version = version_;
    return session;
  }

  Result<std::string> authorization(uint64_t& version) {
    net::Lock lock(mutex_);
    if (Result<bool> fresh = refresh(); !fresh) return fresh.error();
    version = version_;
    return current_.authorization;
  }

  void refused() {
    net::Lock lock(mutex_);
    current_.until = absl::InfinitePast();
  }

 private:
  Result<bool> refresh() REQUIRES(mutex_) {
    const absl::Time now = absl::Now();
    if (known_ && now < current_.until) return true;
    Result<Credential> next = obtain(now);
    if (!next) return next.error();
    if (next->certificate_pem != current_.certificate_pem) ++version_;
    current_ = std::move(*next);
    known_ = true;
    return true;
  }

  Result<Credential> obtain(absl::Time now) const {
    Credential made;
    if (!access_.token_file.empty()) {
      const conf::FileText file = conf::read_file(access_.token_file);
      if (file.kind != conf::FileText::Kind::kRegular)
        return Error{"the token file '" + access_.token_file + "' cannot be read"};
      made.authorization = "Bearer " + std::string(absl::StripAsciiWhitespace(file.text));
      made.until = now + kTokenFileAge;
    } else if (!access_.token.empty()) {
      made.authorization = "Bearer " + access_.token.reveal();
    } else if (access_.plugin) {
      Result<Credential> printed = run_plugin(access_);
      if (!printed) return printed.error();
      made = std::move(*printed);
      made.until -= kPluginMargin;
    } else if (!access_.user.empty()) {
      made.authorization =
          "Basic " + absl::Base64Escape(access_.user + ":" + access_.password.reveal());
    }
    return made;
  }

  const conf::KubernetesAccess access_;
  const Duration connect_, answer_;
  net::Mutex mutex_;
  Credential current_ GUARDED_BY(mutex_);
  bool known_ GUARDED_BY(mutex_) = false;
  uint64_t version_ GUARDED_BY(mutex_) = 0;
};

ApiCredentials::ApiCredentials(conf::KubernetesAccess access, Duration connect_timeout,
                               Duration answer_timeout)
    : impl_(std::make_unique<Impl>(std::move(access), connect_timeout, answer_timeout)) {}
ApiCredentials::~ApiCredentials() = default;

Result<ApiCredentials::Session> ApiCredentials::open(Duration answer_timeout) {
  return impl_->open(answer_timeout);
}
Result<std::string> ApiCredentials::authorization(uint64_t& version) {
  return impl_->authorization(version);
}
void ApiCredentials::refused() { impl_->refused(); }

}  // namespace tinderbox::core::kubernetes
