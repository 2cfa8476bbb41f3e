// What a driver does when its pod started before the objects that its files are mounted from.
#include "core/deploy/kubernetes/objects/driver_files.hpp"

#include <nlohmann/json.hpp>

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core::kubernetes;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

using Words = std::vector<std::string>;

const std::string kProperties = "/opt/spark/conf/spark.properties";
const std::string kTemplate = "/opt/spark/pod-template/pod-spec-template.yml";
const std::string kToken = "/mnt/secrets/spark-kubernetes-credentials/oauth-token";
const std::string kTemplateProperty = "spark.kubernetes.executor.podTemplateFile";
const std::string kTokenProperty = "spark.kubernetes.authenticate.driver.mounted.oauthTokenFile";

/// A pod over virtual time: files are mounted and objects are there from a moment on.
struct Pod {
  struct File {
    Duration from;
    std::string text;
  };
  std::map<std::string, File> files;
  std::map<std::string, std::pair<Duration, Json>> objects;  // by kind and name
  Words asked;
  Duration now{};
  DriverFilesWorld world;

  Pod() {
    world.environment = {{"TINDERBOX_CONFIG_MAP", "conf"},
                         {"TINDERBOX_POD_TEMPLATE_MAP", "template"},
                         {"TINDERBOX_CREDENTIALS_SECRET", "secret"}};
    world.read = [this](const std::string& path) -> conf::FileText {
      const auto found = files.find(path);
      if (found == files.end() || now < found->second.from) return {};
      return {conf::FileText::Kind::kRegular, found->second.text, {}};
    };
    world.ask = [this](const std::string& kind, const std::string& name) {
      asked.push_back(kind + "/" + name);
      const auto found = objects.find(asked.back());
      return found == objects.end() || now < found->second.first ? Json() : found->second.second;
    };
    world.keep = [this](const std::string& folder, const auto& texts) {
      for (const auto& [name, text] : texts) files["/kept/" + folder + "/" + name] = {now, text};
      return "/kept/" + folder;
    };
    world.sleep = [this](Duration time) { now += time; };
  }
  DriverFiles start() {
    return await_driver_files({"--properties-file", kProperties, "local:///app"}, world);
  }
};

std::string properties() {
  return kTemplateProperty + "=" + kTemplate + "\n" + kTokenProperty + "=" + kToken + "\n";
}

}  // namespace

TEST_CASE("what is mounted before the driver starts is used as it is", "[pod_objects]") {
  Pod pod;
  pod.files = {{kProperties, {0s, properties()}}, {kTemplate, {0s, "t"}}, {kToken, {0s, "s"}}};
  const DriverFiles files = pod.start();
  CHECK(files.args == Words{"--properties-file", kProperties, "local:///app"});
  CHECK(files.conf_dir.empty());
  CHECK(pod.asked.empty());
}

TEST_CASE("what was mounted before it was there is fetched over the API server", "[pod_objects]") {
  Pod pod;
  pod.objects["configmaps/conf"] = {
      1s, {{"data", {{"spark.properties", properties()}, {"fair.xml", "<a/>"}}}}};
  pod.objects["configmaps/template"] = {1s, {{"data", {{"podspec-configmap-key", "kind: Pod"}}}}};
  pod.objects["secrets/secret"] = {1s, {{"data", {{"oauth-token", "czNjcmV0"}}}}};
  const DriverFiles files = pod.start();
  CHECK(files.args ==
        Words{"--conf", kTemplateProperty + "=/kept/spark-mounts/pod-spec-template.yml", "--conf",
              kTokenProperty + "=/kept/spark-mounts/oauth-token", "--properties-file",
              "/kept/spark-conf/spark.properties", "local:///app"});
  CHECK(files.conf_dir == "/kept/spark-conf");
  CHECK(pod.files["/kept/spark-conf/fair.xml"].text == "<a/>");
  CHECK(pod.files["/kept/spark-mounts/pod-spec-template.yml"].text == "kind: Pod");
  CHECK(pod.files["/kept/spark-mounts/oauth-token"].text == "s3cret");
}

TEST_CASE("what may not be asked for is waited for until its kubelet mounts it", "[pod_objects]") {
  Pod pod;
  pod.files = {{kProperties, {0s, properties()}}, {kTemplate, {90s, "t"}}, {kToken, {95s, "s"}}};
  CHECK(pod.start().args == Words{"--properties-file", kProperties, "local:///app"});
  CHECK(pod.now == 95s);
  pod.files.erase(kToken);
  CHECK_THROWS_WITH(pod.start(), Contains(kTokenProperty) && Contains("secret is not mounted"));
}

TEST_CASE("a configuration that does not come ends the driver with the reason", "[pod_objects]") {
  Pod pod;
  CHECK_THROWS_WITH(pod.start(), Contains("(config map conf) did not come"));
  CHECK(pod.now == 60s);
}

TEST_CASE("a driver of another submitter waits for nothing", "[pod_objects]") {
  Pod pod;
  pod.world.environment.clear();
  CHECK(pod.start().args == Words{"--properties-file", kProperties, "local:///app"});
  pod.world.environment = {{"TINDERBOX_CONFIG_MAP", "conf"}};
  pod.files = {{kProperties, {0s, properties()}}};
  CHECK(pod.start().args == Words{"--properties-file", kProperties, "local:///app"});
}
