// Kubeconfigs, service accounts and keys: where the API server is, and as whom we come.
#include "conf/sources/kubeconfig.hpp"

#include "tests/pch.hpp"

using namespace tinderbox::conf;
using Catch::Matchers::Contains;

namespace {

using Files = std::map<std::string, std::string>;

ReadText reading(const Files& files) {
  return [files](const std::string& path) -> FileText {
    const auto found = files.find(path);
    if (found == files.end()) return {};
    return {FileText::Kind::kRegular, found->second, {}};
  };
}

const std::string kConfig = R"(
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c1
  cluster: {server: "https://h1:6443", certificate-authority: ca.crt, tls-server-name: inner}
- name: c2
  cluster: {server: "https://[fd00::1]:443", certificate-authority-data: Q0EgREFUQQ==, proxy-url: "http://p:8080"}
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: jobs}}
- {name: two, context: {cluster: c2, user: u2}}
- {name: three, context: {cluster: c2, user: u3}}
- {name: lost, context: {cluster: nowhere, user: u1}}
users:
- name: u1
  user: {client-certificate: /abs/me.crt, client-key-data: S0VZ}
- name: u2
  user: {tokenFile: sub/token, token: ignored}
- name: u3
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./login
      args: [get, --json]
      env: [{name: REGION, value: eu}]
      provideClusterInfo: true
      installHint: get it from ops
)";

const Files kOnDisk = {{"/home/a/.kube/config", kConfig},
                       {"/home/a/.kube/ca.crt", "CA FILE"},
                       {"/abs/me.crt", "CERT"},
                       {"/home/a/.kube/sub/token", "t0k"}};
const Environment kHome = {{"HOME", "/home/a"}};

KubernetesAccess access(const std::string& context = {}) {
  return kubeconfig_access(kHome, reading(kOnDisk), context).value();
}

}  // namespace

TEST_CASE("the current context: server, authority, certificate; paths are relative to the file") {
  const KubernetesAccess a = access();
  CHECK(a.server == "https://h1:6443");
  CHECK(a.ca_pem == "CA FILE");
  CHECK(a.ca_name == "'/home/a/.kube/ca.crt'");
  CHECK(a.server_name == "inner");
  CHECK(a.certificate_pem == "CERT");
  CHECK(a.key_pem.reveal() == "KEY");
  CHECK(a.name_space == "jobs");
  CHECK(a.source == "context 'one' of kubeconfig '/home/a/.kube/config'");
}

TEST_CASE("another context by name: tokens from files, proxies, plugins") {
  const KubernetesAccess two = access("two");
  CHECK(two.server == "https://[fd00::1]:443");
  CHECK(two.ca_pem == "CA DATA");
  CHECK(two.proxy == "http://p:8080");
  CHECK(two.token_file == "/home/a/.kube/sub/token");
  CHECK(two.token.empty());
  const KubernetesAccess three = access("three");
  REQUIRE(three.plugin);
  CHECK(*three.plugin == ExecPlugin{"/home/a/.kube/./login",
                                    {"get", "--json"},
                                    {{"REGION", "eu"}},
                                    "client.authentication.k8s.io/v1",
                                    "get it from ops",
                                    true});
}

TEST_CASE("KUBECONFIG is a list: what is named first wins, missing files are left out") {
  Files files = kOnDisk;
  files["/x"] = "current-context: two\nusers: [{name: u2, user: {token: first}}]";
  const Environment environment = {{"KUBECONFIG", "/missing:/x:/home/a/.kube/config"}};
  const auto a = kubeconfig_access(environment, reading(files));
  REQUIRE(a);
  CHECK(a->server == "https://[fd00::1]:443");
  CHECK(a->token.reveal() == "first");
  CHECK_FALSE(kubeconfig_access({{"HOME", "/nobody"}}, reading(files)));
  CHECK_FALSE(kubeconfig_access({}, reading(files)));
}

TEST_CASE("what is wrong with a kubeconfig is told in one line with its file") {
  const auto refused = [](const std::string& text, const std::string& context = "x") {
    try {
      kubeconfig_access({{"KUBECONFIG", "/k"}}, reading({{"/k", text}}), context);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string contexts =
      "contexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n";
  CHECK_THAT(refused("a: ["), Contains("kubeconfig '/k': ") && Contains("line 1"));
  CHECK_THAT(refused("- a"), Contains("it is no mapping"));
  CHECK_THAT(refused("a: 1", ""), Contains("has no current-context"));
  CHECK_THAT(refused("a: 1"), Contains("kubeconfig '/k' has no context 'x'"));
  CHECK_THAT(refused(contexts), Contains("has no cluster 'c'"));
  CHECK_THAT(refused(contexts + "clusters: [{name: c, cluster: {insecure-skip-tls-verify: true}}]"),
             Contains("certificates are always checked"));
  CHECK_THAT(refused(contexts + "clusters: [{name: c, cluster: {certificate-authority: /no}}]"),
             Contains("certificate-authority: cannot read '/no': no such file"));
  CHECK_THAT(
      refused(contexts + "clusters: [{name: c, cluster: {certificate-authority-data: '?'}}]"),
      Contains("certificate-authority-data is not base64"));
  CHECK_THROWS_WITH(kubeconfig_access({}, reading({}), "prod"), Contains("there is no kubeconfig"));
  CHECK_THROWS_WITH(access("lost"), Contains("has no cluster 'nowhere'"));
}

TEST_CASE("a pod's service account: address of the environment, token and authority of its files") {
  const std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount/";
  const Files files = {
      {folder + "token", "t"}, {folder + "ca.crt", "CA"}, {folder + "namespace", "ns"}};
  const auto a = pod_access({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}}, reading(files));
  REQUIRE(a);
  CHECK(a->server == "https://10.96.0.1:443");
  CHECK(a->token_file == folder + "token");
  CHECK(a->ca_pem == "CA");
  CHECK(a->name_space == "ns");
  const auto v6 =
      pod_access({{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "6443"}},
                 reading(files));
  CHECK(v6->server == "https://[fd00::1]:6443");
  CHECK_FALSE(pod_access({}, reading(files)));
  CHECK_FALSE(pod_access({{"KUBERNETES_SERVICE_HOST", "h"}}, reading({})));
}

TEST_CASE("spark.kubernetes.authenticate.*: keys win over the kubeconfig") {
  const std::string prefix = "spark.kubernetes.authenticate.submission.";
  const Files files = {{"/t", "T"}, {"/ca", "CA2"}, {"/k", "K"}, {"/c", "C"}};
  const auto with = [&](const Pairs& pairs) {
    return with_authentication(access("three"), Conf::of(pairs), prefix, reading(files));
  };
  const KubernetesAccess a = with({{prefix + "oauthToken", "tok"}, {prefix + "caCertFile", "/ca"}});
  CHECK(a.token.reveal() == "tok");
  CHECK_FALSE(a.plugin);
  CHECK(a.ca_pem == "CA2");
  CHECK(with({{prefix + "oauthTokenFile", "/t"}}).token_file == "/t");
  const KubernetesAccess b =
      with({{prefix + "clientKeyFile", "/k"}, {prefix + "clientCertFile", "/c"}});
  CHECK(b.key_pem.reveal() == "K");
  CHECK(b.certificate_pem == "C");
  CHECK_THROWS_WITH(with({{prefix + "oauthToken", "a"}, {prefix + "oauthTokenFile", "/t"}}),
                    Contains("Cannot specify OAuth token through both a file"));
  CHECK_THROWS_WITH(with({{prefix + "clientKeyFile", "/k"}}),
                    Contains("the certificate is missing"));
  CHECK_THROWS_WITH(with({{prefix + "caCertFile", "/no"}}),
                    Contains(prefix + "caCertFile: cannot read '/no'"));
  CHECK_THROWS_WITH(with({{prefix + "oauthTokenFile", "/no"}}), Contains("cannot read '/no'"));
}
