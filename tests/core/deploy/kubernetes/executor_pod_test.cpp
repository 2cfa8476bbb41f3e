// Executor pods: a golden file, then rules one by one.
#include "core/deploy/kubernetes/objects/executor_pod.hpp"
#include "conf/keys.hpp"

#include "core/deploy/kubernetes/names.hpp"
#include "tests/core/deploy/kubernetes/golden.hpp"

using namespace tinderbox;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using Catch::Matchers::Contains;

namespace {

ExecutorInput executor_input(const conf::Pairs& more = {}) {
  ExecutorInput in;
  conf::Pairs pairs = {{"spark.kubernetes.container.image", "registry/app:1"}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  in.conf = conf::Conf::of(pairs);
  in.names = {"spark-0123456789abcdef0123456789abcdef",
              "word-count",
              "word-count-938351a1fd562d51",
              "938351a1fd562d51",
              "jobs",
              "ann"};
  in.pod_prefix = in.names.prefix;
  in.driver_pod = "word-count-938351a1fd562d51-driver";
  in.driver_uid = "uid-1";
  in.driver_address = "10.88.0.2:7078";
  in.config_map = "spark-exec-ed584ea1fd563174-conf-map";
  return in;
}

Json container_of(const ExecutorInput& in, const ProfileSpec& profile = {}) {
  return executor_objects(in, "1", profile).front()["spec"]["containers"].back();
}

}  // namespace

TEST_CASE("K28 the objects of a plain executor", "[pod_objects]") {
  check_golden("executor-plain", executor_objects(executor_input(), "1", {}));
}

TEST_CASE("K28 K29 the objects of an executor with everything", "[pod_objects]") {
  ExecutorInput in = executor_input(
      {{"spark.executor.cores", "4"},
       {"spark.executor.memory", "8g"},
       {"spark.kubernetes.executor.request.cores", "500m"},
       {"spark.kubernetes.executor.limit.cores", "4"},
       {"spark.executor.resource.gpu.amount", "1"},
       {"spark.executor.resource.gpu.vendor", "nvidia.com"},
       {"spark.executorEnv.MODE", "fast"},
       {"spark.kubernetes.executor.label.team", "data"},
       {"spark.kubernetes.executor.annotation.run", "{{APP_ID}}/{{EXECUTOR_ID}}"},
       {"spark.kubernetes.executor.secrets.keys", "/keys"},
       {"spark.kubernetes.executor.node.selector.zone", "a"},
       {"spark.kubernetes.authenticate.executor.serviceAccountName", "worker"},
       {"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.mount.path", "/data"},
       {"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.claimName",
        "OnDemand"},
       {"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.sizeLimit", "1Gi"},
       {"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.label.app", "x"},
       {"spark.kubernetes.executor.volumes.hostPath.spark-local-dir-1.mount.path", "/fast"},
       {"spark.kubernetes.executor.volumes.hostPath.spark-local-dir-1.options.path",
        "/mnt/SPARK_EXECUTOR_ID"}});
  in.decommission = true;
  in.app_files = {
      {"spark://10.88.0.2:7079/files/application", "application", std::string(64, 'b')}};
  in.application = "/opt/spark/app/application";
  check_golden("executor-everything", executor_objects(in, "7", {}, {{"node1", 8}, {"node2", 2}}));
}

TEST_CASE("K28 an executor from a template keeps what Spark does not set", "[pod_objects]") {
  ExecutorInput in = executor_input();
  in.pod_template = {
      "exec.yaml",
      "kind: Pod\nspec:\n  priorityClassName: low\n  tolerations: [{key: spot, "
      "operator: Exists}]\n  containers:\n  - {name: exec, image: other}\n  - {name: "
      "log, image: fluent}\n"};
  check_golden("executor-template", executor_objects(in, "1", {}));
}

TEST_CASE("an executor of another resource profile has what that asks for", "[pod_objects]") {
  const ExecutorInput in = executor_input({{"spark.kubernetes.executor.request.cores", "100m"},
                                           {"spark.executor.resource.fpga.vendor", "intel.com"}});
  const ProfileSpec profile{3, 8, 2048, {{"fpga", 2}}};
  const Json pod = executor_objects(in, "9", profile).front();
  const Json resources = pod["spec"]["containers"].back()["resources"];
  CHECK(resources["requests"]["cpu"] == "8");  // the key is for the default profile
  CHECK(resources["limits"]["memory"] == "2432Mi");
  CHECK(resources["limits"]["intel.com/fpga"] == "2");
  CHECK(pod["metadata"]["labels"]["spark-exec-resourceprofile-id"] == "3");
}

TEST_CASE("K31 preStop is this program, or a script by key; none without decommissioning",
          "[pod_objects]") {
  ExecutorInput in = executor_input();
  CHECK_FALSE(container_of(in).contains("lifecycle"));
  in.decommission = true;
  CHECK(container_of(in)["lifecycle"]["preStop"]["exec"]["command"] ==
        Json({"/proc/1/exe", "decommission"}));
  in.conf = in.conf.with(conf::kDecommissionSignal, "USR2");
  CHECK(container_of(in)["lifecycle"]["preStop"]["exec"]["command"] ==
        Json({"/proc/1/exe", "decommission", "--signal", "USR2"}));
  in.conf = in.conf.with(conf::kKubernetesDecommissionScript, "/my.sh");
  CHECK(container_of(in)["lifecycle"]["preStop"]["exec"]["command"] == Json::array({"/my.sh"}));
}

TEST_CASE("K28 a driver outside of pods owns nothing", "[pod_objects]") {
  ExecutorInput in = executor_input();
  in.driver_uid.clear();
  CHECK_FALSE(executor_objects(in, "1", {}).front()["metadata"].contains("ownerReferences"));
}

TEST_CASE("K28 the prefix of executors' names: from the application's, or checked",
          "[pod_objects]") {
  const ExecutorInput in = executor_input();
  CHECK(executor_pod_prefix(in.conf, in.names) == in.names.prefix);
  AppNames names = in.names;
  names.prefix = std::string(250, 'p');
  CHECK(executor_pod_prefix(in.conf, names).size() <= kLongestPrefix);
  CHECK_THROWS_WITH(
      executor_pod_prefix(in.conf.with(conf::kKubernetesExecutorNamePrefix, "A_b"), names),
      Contains("'A_b' in spark.kubernetes.executor.podNamePrefix is invalid"));
}

TEST_CASE("without an image there is no executor", "[pod_objects]") {
  ExecutorInput in = executor_input();
  in.conf = conf::Conf();
  CHECK_THROWS_WITH(executor_objects(in, "1", {}), "Must specify the executor container image");
}

TEST_CASE("steps of Spark's that are excluded by name are not in executor pods", "[pod_objects]") {
  const std::string volume = "spark.kubernetes.executor.volumes.emptyDir.data.mount.path";
  const ExecutorInput all =
      executor_input({{"spark.kubernetes.executor.secrets.keys", "/keys"},
                      {"spark.kubernetes.executor.secretKeyRef.PASSWORD", "keys:password"},
                      {"spark.kubernetes.authenticate.executor.serviceAccountName", "worker"},
                      {volume, "/data"}});
  const std::map<std::string, std::string> mark = {
      {"MountSecretsFeatureStep", "keys-volume"},
      {"EnvSecretsFeatureStep", "secretKeyRef"},
      {"MountVolumesFeatureStep", "/data\""},
      {"LocalDirsFeatureStep", "SPARK_LOCAL_DIRS"},
      {"ExecutorKubernetesCredentialsFeatureStep", "serviceAccountName"}};
  for (const auto& [excluded, unused] : mark) {
    ExecutorInput in = all;
    in.conf = in.conf.with("spark.kubernetes.executor.pod.excludedFeatureSteps",
                           "org.apache.spark.deploy.k8s.features." + excluded);
    const std::string pod = executor_objects(in, "1", {}).front().dump();
    for (const auto& [step, text] : mark) {
      CAPTURE(excluded, step);
      CHECK((pod.find(text) != std::string::npos) == (step != excluded));
    }
  }
}

TEST_CASE("a step that no pod can go without is refused; what there is not, is not there",
          "[pod_objects]") {
  const std::string key = "spark.kubernetes.executor.pod.excludedFeatureSteps";
  CHECK_THROWS_WITH(executor_objects(executor_input({{key, "BasicExecutorFeatureStep"}}), "1", {}),
                    key + ": no pod can go without BasicExecutorFeatureStep");
  CHECK(executor_objects(executor_input({{key, "com.example.OwnStep"}}), "1", {}) ==
        executor_objects(executor_input(), "1", {}));
}

TEST_CASE("names of volumes and claims keep to the limits of Kubernetes", "[pod_objects]") {
  const std::string secret = std::string(100, 's') + ".tls";
  ExecutorInput in = executor_input(
      {{"spark.kubernetes.executor.secrets." + secret, "/keys"},
       {"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.mount.path", "/data"},
       {"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.claimName",
        "OnDemand"}});
  in.pod_prefix = std::string(kLongestPrefix, 'p');
  const std::vector<Json> objects = executor_objects(in, "1000000000", {});
  for (const Json& volume : objects[0]["spec"]["volumes"])
    if (volume.contains("secret")) {
      CHECK(volume["secret"]["secretName"] == secret);
      CHECK(volume["name"] == volume_name(secret));
    }
  REQUIRE(objects.size() == 2);
  const std::string claim = objects[1]["metadata"]["name"];
  CHECK(claim.size() <= kLongestName);
  CHECK(claim.ends_with("-pvc-0"));
  CHECK(executor_objects(in, "1000000001", {})[1]["metadata"]["name"] != claim);
}

TEST_CASE("memory off the heap is the pod's too", "[pod_objects]") {
  const auto memory = [](const conf::Pairs& pairs, int32_t profile) {
    const ProfileSpec spec{profile, {}, profile ? std::optional<int64_t>(2048) : std::nullopt, {}};
    return container_of(executor_input(pairs), spec)["resources"]["requests"]["memory"];
  };
  const std::string enabled = "spark.memory.offHeap.enabled", size = "spark.memory.offHeap.size";
  CHECK(memory({{size, "1g"}}, 0) == "1408Mi");
  CHECK(memory({{enabled, "true"}, {size, "1g"}}, 0) == "2432Mi");
  CHECK(memory({{enabled, "true"}, {size, "1g"}}, 3) == "3456Mi");
  CHECK_THROWS_WITH(memory({{enabled, "true"}}, 0),
                    size + " must be > 0 when " + enabled + " == true");
}
