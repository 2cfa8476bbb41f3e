// What submit creates: golden files for whole objects, then rules one by one.
#include "core/deploy/kubernetes/objects/driver_objects.hpp"
#include "conf/keys.hpp"

#include "core/deploy/kubernetes/names.hpp"
#include "tests/core/deploy/kubernetes/golden.hpp"

using namespace tinderbox;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using Catch::Matchers::Contains;
using conf::Conf;

namespace {

DriverInput driver_input(const conf::Pairs& more = {}) {
  DriverInput in;
  conf::Pairs pairs = {{"spark.master", "k8s://https://10.0.0.1:443"},
                       {"spark.kubernetes.container.image", "registry/app:1"}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  in.conf = Conf::of(pairs);
  in.names = {"spark-0123456789abcdef0123456789abcdef",
              "word count",
              "word-count-195a14a1fd553bde",
              "195a14a1fd553bde",
              "jobs",
              "ann"};
  in.main_class = "org.example.WordCount";
  in.resource = "local:///opt/app/app";
  in.arguments = {"in", "out with space"};
  return in;
}

Json pod_of(const DriverInput& in) { return driver_objects(in).front(); }
Json container_of(const DriverInput& in) { return pod_of(in)["spec"]["containers"].back(); }

const Json* named(const std::vector<Json>& objects, const std::string& kind) {
  for (const Json& object : objects)
    if (object["kind"] == kind) return &object;
  return nullptr;
}

std::map<std::string, std::string> variables(const Json& container) {
  std::map<std::string, std::string> all;
  for (const Json& variable : container["env"])
    all[variable["name"].get<std::string>()] = variable.contains("value")
                                                   ? variable["value"].get<std::string>()
                                                   : variable["valueFrom"].dump();
  return all;
}

}  // namespace

TEST_CASE("K24 K26 the objects of a plain submission", "[pod_objects]") {
  check_golden("driver-plain", driver_objects(driver_input()));
}

TEST_CASE("K26 K29 the objects of a submission that sets everything", "[pod_objects]") {
  DriverInput in = driver_input(
      {{"spark.kubernetes.driver.container.image", "registry/driver:2"},
       {"spark.kubernetes.container.image.pullPolicy", "Always"},
       {"spark.kubernetes.container.image.pullSecrets", "one, two"},
       {"spark.kubernetes.authenticate.driver.serviceAccountName", "spark"},
       {"spark.kubernetes.authenticate.driver.oauthToken", "topsecret"},
       {"spark.kubernetes.driver.pod.name", "my-driver"},
       {"spark.kubernetes.driver.request.cores", "100m"},
       {"spark.kubernetes.driver.limit.cores", "2"},
       {"spark.driver.memory", "256m"},
       {"spark.driver.memoryOverhead", "200m"},
       {"spark.driver.resource.gpu.amount", "2"},
       {"spark.driver.resource.gpu.vendor", "nvidia.com"},
       {"spark.kubernetes.driver.label.team", "data"},
       {"spark.kubernetes.driver.annotation.run", "id-{{APP_ID}}"},
       {"spark.kubernetes.driverEnv.MODE", "fast"},
       {"spark.kubernetes.driver.secrets.keys", "/keys"},
       {"spark.kubernetes.driver.secretKeyRef.PASSWORD", "db:password"},
       {"spark.kubernetes.node.selector.disk", "ssd"},
       {"spark.kubernetes.driver.node.selector.zone", "a"},
       {"spark.kubernetes.driver.scheduler.name", "volcano"},
       {"spark.kubernetes.driver.service.label.exposed", "no"},
       {"spark.kubernetes.driver.service.annotation.note", "x"},
       {"spark.kubernetes.driver.service.ipFamilyPolicy", "PreferDualStack"},
       {"spark.kubernetes.driver.service.ipFamilies", "IPv6,IPv4"},
       {"spark.driver.port", "7100"},
       {"spark.driver.blockManager.port", "7101"},
       {"spark.local.dir", "/fast,/slow"},
       {"spark.kubernetes.local.dirs.tmpfs", "true"},
       {"spark.kubernetes.driver.volumes.hostPath.host.mount.path", "/host"},
       {"spark.kubernetes.driver.volumes.hostPath.host.options.path", "/data"},
       {"spark.kubernetes.driver.volumes.nfs.share.mount.path", "/nfs"},
       {"spark.kubernetes.driver.volumes.nfs.share.mount.readOnly", "true"},
       {"spark.kubernetes.driver.volumes.nfs.share.options.path", "/exports"},
       {"spark.kubernetes.driver.volumes.nfs.share.options.server", "nas"},
       {"spark.kubernetes.driver.volumes.emptyDir.tmp.mount.path", "/scratch"},
       {"spark.kubernetes.driver.volumes.emptyDir.tmp.options.sizeLimit", "5Gi"},
       {"spark.kubernetes.driver.volumes.csi.vault.mount.path", "/vault"},
       {"spark.kubernetes.driver.volumes.csi.vault.options.driver", "csi.vault"},
       {"spark.kubernetes.driver.volumes.persistentVolumeClaim.own.mount.path", "/own"},
       {"spark.kubernetes.driver.volumes.persistentVolumeClaim.own.options.claimName", "OnDemand"},
       {"spark.kubernetes.driver.volumes.persistentVolumeClaim.own.options.storageClass", "gp"},
       {"spark.kubernetes.driver.volumes.persistentVolumeClaim.own.options.sizeLimit", "1Gi"}});
  in.proxy_user = "bob";
  in.executor_template = {"exec.yaml", "kind: Pod\nspec: {}\n"};
  in.conf_files = {{"fairscheduler.xml", "<allocations/>\n"},
                   {"spark-env.conf", "x"},
                   {"log.template", "x"},
                   {"binary", "\xff\xfe"}};
  in.app_files = {{"", "app", std::string(64, 'a')}, {"https://h/data.bin", "data.bin", ""}};
  in.credentials = {{"oauth-token", "topsecret"}, {"ca-cert", "PEM"}};
  check_golden("driver-everything", driver_objects(in));
  CHECK(driver_objects(in).back().dump().find("topsecret") == std::string::npos);
}

TEST_CASE("K26 a driver pod from a template: Spark's values win, the rest stays", "[pod_objects]") {
  DriverInput in = driver_input({{"spark.kubernetes.driver.podTemplateContainerName", "main"}});
  in.driver_template = {"driver.yaml", R"(
apiVersion: v1
kind: Pod
metadata:
  name: ignored
  labels: {team: data, spark-role: mine}
spec:
  priorityClassName: high
  restartPolicy: Always
  tolerations:
  - {key: dedicated, operator: Exists, effect: NoSchedule}
  containers:
  - {name: sidecar, image: proxy:1}
  - name: main
    image: ignored:1
    env: [{name: SPARK_USER, value: other}, {name: KEPT, value: "1"}]
    resources: {requests: {cpu: "8", "example.com/fpga": 1}}
    securityContext: {runAsUser: 1000}
)"};
  check_golden("driver-template", driver_objects(in));
}

TEST_CASE("containers are restricted, where neither the template nor a key says otherwise",
          "[pod_objects]") {
  const auto context = [](const conf::Pairs& pairs, const std::string& text) {
    DriverInput in = driver_input(pairs);
    if (!text.empty()) in.driver_template = {"t.yaml", text};
    return driver_objects(in)[0]["spec"]["containers"][0]["securityContext"];
  };
  CHECK(context({}, "") == Json::parse(R"({"allowPrivilegeEscalation": false,
      "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true, "runAsNonRoot": true,
      "seccompProfile": {"type": "RuntimeDefault"}})"));
  CHECK(context({{"tinderbox.kubernetes.securityContext.restricted", "false"}}, "") ==
        Json::parse(R"({"allowPrivilegeEscalation": false})"));
  CHECK(context({}, R"(spec: {securityContext: {runAsUser: 0}, containers: [{name: a,
      securityContext: {readOnlyRootFilesystem: false, capabilities: {add: [SYS_PTRACE]},
                        seccompProfile: {type: Unconfined}}}]})") ==
        Json::parse(R"({"allowPrivilegeEscalation": false, "capabilities": {"add": ["SYS_PTRACE"]},
      "readOnlyRootFilesystem": false, "seccompProfile": {"type": "Unconfined"}})"));
}

TEST_CASE("malformed templates are refused in one line that names them", "[pod_objects]") {
  struct Case {
    std::string text, want;
  };
  const Case cases[] = {{"kind: Deployment", "its kind is not Pod"},
                        {"- a\n- b", "it is no mapping"},
                        {"spec: [", "line 1"},
                        {"spec: text", "spec is no mapping"},
                        {"apiVersion: v2", "its apiVersion is not v1"},
                        {"spec: {containers: {name: x}}", "spec.containers is no list"},
                        {"spec: {containers: [x]}", "has an entry without fields"},
                        {"a: 1\na: 2", "the key 'a' stands twice in line 2"}};
  for (const Case& c : cases) {
    INFO(c.text);
    DriverInput in = driver_input();
    in.driver_template = {"t.yaml", c.text};
    CHECK_THROWS_WITH(driver_objects(in), Contains("pod template 't.yaml': ") && Contains(c.want));
    in.driver_template = {};
    in.executor_template = {"t.yaml", c.text};
    CHECK_THROWS_WITH(driver_objects(in), Contains("pod template 't.yaml': "));
  }
}

TEST_CASE("K26 memory of the driver pod, by the keys that are set", "[pod_objects]") {
  struct Case {
    conf::Pairs pairs;
    std::string want;
  };
  const std::string old = "spark.kubernetes.memoryOverheadFactor",
                    own = "spark.driver.memoryOverheadFactor",
                    ours = "tinderbox.kubernetes.memoryOverheadFactor",
                    memory = "spark.driver.memory";
  const Case cases[] = {
      {{}, "1408Mi"},
      {{{memory, "256m"}, {"spark.driver.memoryOverhead", "200m"}}, "456Mi"},
      {{{memory, "10g"}}, "10624Mi"},
      {{{memory, "10g"}, {ours, "0.3"}}, "13312Mi"},
      {{{memory, "10g"}, {old, "0.2"}, {ours, "0.3"}}, "12288Mi"},
      {{{memory, "10g"}, {old, "0.2"}, {own, "0.4"}}, "14336Mi"},
      {{{memory, "1g"}, {"spark.driver.minMemoryOverhead", "500m"}}, "1524Mi"},
  };
  for (const Case& c : cases) {
    const Json resources = container_of(driver_input(c.pairs))["resources"];
    CHECK(resources["requests"]["memory"] == c.want);
    CHECK(resources["limits"]["memory"] == c.want);
  }
}

TEST_CASE("K27 a service whose name would be too long gets a short one", "[pod_objects]") {
  DriverInput in = driver_input();
  in.names.prefix = std::string(60, 'a');
  const auto objects = driver_objects(in);
  const Json* service = named(objects, "Service");
  REQUIRE(service);
  CHECK((*service)["metadata"]["name"] == "spark-195a14a1fd553bde-driver-svc");
  CHECK(objects.back()["data"]["spark.properties"].get<std::string>().find(
            "spark.driver.host=spark-195a14a1fd553bde-driver-svc.jobs.svc") != std::string::npos);
}

TEST_CASE("K27 addresses of the driver are not the user's to set", "[pod_objects]") {
  CHECK_THROWS_WITH(driver_objects(driver_input({{"spark.driver.host", "h"}})),
                    Contains("spark.driver.host is not supported in Kubernetes mode"));
  CHECK_THROWS_WITH(driver_objects(driver_input({{"spark.driver.bindAddress", "h"}})),
                    Contains("spark.driver.bindAddress is not supported in Kubernetes mode"));
}

TEST_CASE("K26 labels that are Spark's own are refused, references must be name:key",
          "[pod_objects]") {
  for (const char* key : {"spark-role", "spark-app-selector", "spark-exec-id", "spark-version"})
    CHECK_THROWS_WITH(
        driver_objects(driver_input({{"spark.kubernetes.driver.label." + std::string(key), "x"}})),
        "Label with key " + std::string(key) +
            " is not allowed as it is reserved for Spark bookkeeping operations.");
  for (const char* reference : {"name", ":key", "name:"})
    CHECK_THROWS_WITH(
        driver_objects(driver_input({{"spark.kubernetes.driver.secretKeyRef.X", reference}})),
        Contains("SecretKeyRef must be in the form name:key."));
  CHECK_THROWS_WITH(driver_objects(driver_input({{"spark.driver.resource.gpu.amount", "1"}})),
                    Contains("vendor was not specified"));
}

TEST_CASE("K29 volumes: what is missing, doubled or unknown is told", "[pod_objects]") {
  const std::string base = "spark.kubernetes.driver.volumes.";
  struct Case {
    conf::Pairs pairs;
    std::string want;
  };
  const Case cases[] = {
      {{{base + "hostPath.a.mount.path", "/a"}}, "hostPath.a.options.path is missing"},
      {{{base + "hostPath.a.options.path", "/a"}}, "hostPath.a.mount.path is missing"},
      {{{base + "nfs.a.mount.path", "/a"}, {base + "nfs.a.options.path", "/b"}},
       "options.server is missing"},
      {{{base + "persistentVolumeClaim.a.mount.path", "/a"}}, "options.claimName is missing"},
      {{{base + "cinder.a.mount.path", "/a"}}, "volume type cinder is not supported"},
      {{{base + "emptyDir.a.mount.path", "/a"}, {base + "emptyDir.a.mount.readOnly", "maybe"}},
       "mount.readOnly should be boolean, but was maybe"},
      {{{base + "emptyDir.a.mount.path", "/a"}, {base + "emptyDir.a.options.sizeLimit", "-1"}},
       "must be a quantity"},
      {{{base + "emptyDir.a.mount.path", "/a"}, {base + "emptyDir.b.mount.path", "/a"}},
       "Found duplicated mountPath: `/a`"},
      {{{base + "emptyDir.a.mount.path", "/a"}, {base + "emptyDir.a.what", "x"}},
       ".what is unknown"},
  };
  for (const Case& c : cases)
    CHECK_THROWS_WITH(driver_objects(driver_input(c.pairs)), Contains(c.want));
}

TEST_CASE("K24 a configuration that is too large for a config map is refused, with the reason",
          "[pod_objects]") {
  DriverInput in = driver_input();
  in.conf_files = {{"table.csv", std::string(1100000, 'x')}};
  CHECK_THROWS_WITH(driver_objects(in), Contains("more than the 1048576") && Contains("table.csv"));
  in.conf = in.conf.with(conf::kKubernetesConfigMapMaxSize, "2m");
  CHECK_THROWS_WITH(driver_objects(in),
                    Contains("ConfigMap spark-drv-") && Contains("more than the 1048576 (1 MiB)"));
  in.conf_files = {{"table.csv", std::string(1000000, 'x')}};
  CHECK_NOTHROW(driver_objects(in));
}

TEST_CASE("other objects over 1 MiB are refused before anything is created", "[pod_objects]") {
  DriverInput in = driver_input();
  in.executor_template = {"t.yaml", "kind: Pod\n# " + std::string(1 << 20, 'x')};
  CHECK_THROWS_WITH(driver_objects(in), "pod template 't.yaml': larger than 1 MiB");
  in = driver_input();
  in.credentials = {{"ca-cert", std::string(1 << 20, 'x')}};
  CHECK_THROWS_WITH(driver_objects(in), Contains("Secret ") && Contains("is ca-cert"));
  in = driver_input();
  in.arguments = std::vector<std::string>(150, std::string(1 << 10, 'x'));
  CHECK_NOTHROW(driver_objects(in));
  in.arguments = std::vector<std::string>(1 << 10, std::string(1 << 10, 'x'));
  CHECK_THROWS_WITH(driver_objects(in),
                    Contains("Pod word-count-195a14a1fd553bde-driver would take ") &&
                        Contains("(1 MiB) that the API server takes; give what is large with"));
}

TEST_CASE("steps of Spark's that are excluded by name are left out", "[pod_objects]") {
  const auto objects =
      driver_objects(driver_input({{"spark.kubernetes.driver.pod.excludedFeatureSteps",
                                    "org.apache.spark.deploy.k8s.features.NetworkPolicyFeatureStep,"
                                    "DriverServiceFeatureStep"}}));
  CHECK_FALSE(named(objects, "NetworkPolicy"));
  CHECK_FALSE(named(objects, "Service"));
  CHECK(objects.back()["kind"] == "ConfigMap");
}

TEST_CASE("a name that no label can hold is kept whole in an annotation", "[pod_objects]") {
  DriverInput in = driver_input();
  in.names.app_name = std::string(200, 'N');
  const Json metadata = pod_of(in)["metadata"];
  CHECK(metadata["labels"]["spark-app-name"] == std::string(63, 'n'));
  CHECK(metadata["annotations"]["tinderbox/app-name"] == in.names.app_name);
}

TEST_CASE("variables of the driver: the person's, then those nobody may change", "[pod_objects]") {
  const auto env = variables(container_of(driver_input(
      {{"spark.kubernetes.driverEnv.A", "1"}, {"spark.kubernetes.driverEnv.2bad", "x"}})));
  CHECK(env.at("A") == "1");
  CHECK_FALSE(env.contains("2bad"));
  CHECK(env.at("SPARK_USER") == "ann");
  CHECK(env.at("SPARK_APPLICATION_ID") == "spark-0123456789abcdef0123456789abcdef");
  CHECK(env.at("SPARK_CONF_DIR") == "/opt/spark/conf");
}
