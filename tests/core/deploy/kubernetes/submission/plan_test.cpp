// From a submission to objects: where the application and its files come from.
#include "core/deploy/kubernetes/submission/plan.hpp"

#include <nlohmann/json.hpp>

#include "conf/keys.hpp"
#include "conf/sources/yaml.hpp"
#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/objects/driver_objects.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core::kubernetes;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

using Files = std::map<std::string, std::string>;

PlanWorld world(Files files = {}) {
  PlanWorld w;
  w.read = [files](const std::string& path) -> conf::FileText {
    const auto found = files.find(path);
    if (found == files.end()) return {};
    return {conf::FileText::Kind::kRegular, found->second, {}};
  };
  w.list = [files](const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& [path, text] : files)
      if (path.starts_with(folder + "/")) names.push_back(path.substr(folder.size() + 1));
    return names;
  };
  w.sha256 = [files](const std::string& path) -> Result<std::string> {
    if (!files.contains(path)) return Error{"cannot open '" + path + "'"};
    return std::string(64, path.back());
  };
  w.is_own_program = [](const std::string& path) { return path == "/usr/bin/tinderbox"; };
  w.check_application = [](const std::string& path) {
    if (path.ends_with(".txt")) throw conf::Error(path + " is not an application");
  };
  w.user = "ann";
  w.uuid = "abcdef0123456789abcdef0123456789";
  w.now_ms = 1795474996176;
  return w;
}

conf::SubmitRequest request(const std::string& resource, const conf::Pairs& more = {}) {
  conf::SubmitRequest r;
  conf::Pairs pairs = {{"spark.master", "k8s://https://h"},
                       {"spark.app.name", "Word Count"},
                       {"spark.kubernetes.container.image", "app:1"}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  r.conf = conf::Conf::of(pairs);
  r.master = "k8s://https://h";
  r.manager = conf::Manager::kKubernetes;
  r.deploy_mode = conf::DeployMode::kCluster;
  r.primary_resource = resource;
  r.main_class = "count";
  r.app_args = {"in"};
  return r;
}

Json pod_of(const SubmissionOptions& plan) { return Json::parse(plan.objects.front()); }
Json arguments(const SubmissionOptions& plan) {
  return pod_of(plan)["spec"]["containers"].back()["args"];
}
std::string properties(const SubmissionOptions& plan) {
  return Json::parse(plan.objects.back())["data"]["spark.properties"];
}

}  // namespace

TEST_CASE("names of a submission: Spark's forms", "[submission]") {
  const SubmissionOptions plan = plan_submission(request("local:///app"), world());
  CHECK(plan.app_id == "spark-abcdef0123456789abcdef0123456789");
  CHECK(plan.pod_name == "word-count-abcdefa20aa63bd0-driver");
  CHECK(plan.name_space == "default");
  CHECK(plan.wait);
}

TEST_CASE("K30 any application name gives names that fit", "[submission]") {
  for (const std::string& name :
       {std::string(200, 'x'), std::string("???"), std::string("123"), std::string("-"),
        std::string(300, '-') + "a", std::string("Ünï")}) {
    INFO(name);
    const SubmissionOptions plan =
        plan_submission(request("local:///app", {{"spark.app.name", name}}), world());
    CHECK(plan.pod_name.size() <= kLongestName);
    CHECK(dns_name(plan.pod_name) == plan.pod_name);
    for (const Bytes& object : plan.objects)
      CHECK(Json::parse(object)["metadata"]["name"].get<std::string>().size() <= kLongestName);
  }
}

TEST_CASE("what no executor can be made of is refused before there is a driver", "[submission]") {
  const std::tuple<const char*, const char*, const char*> wrong[] = {
      {"spark.kubernetes.allocation.batch.size", "0", "It should be a positive integer"},
      {"spark.kubernetes.allocation.pods.allocator", "some", "it must be direct"},
      {"spark.kubernetes.executor.podNamePrefix", "Upper", "executor.podNamePrefix is invalid"},
      {"spark.kubernetes.executor.secretKeyRef.X", "y", "must be in the form name:key"},
      {"spark.kubernetes.executor.volumes.tape.v.mount.path", "/x", "type tape is not supported"},
  };
  for (const auto& [key, value, reason] : wrong) {
    INFO(key);
    CHECK_THROWS_WITH(plan_submission(request("local:///app", {{key, value}}), world()),
                      Contains(reason));
  }
}

TEST_CASE("an application in the image is named, not fetched", "[submission]") {
  const SubmissionOptions plan = plan_submission(request("local:///opt/app"), world());
  CHECK(arguments(plan) == Json({"driver", "--properties-file", "/opt/spark/conf/spark.properties",
                                 "--class", "count", "local:///opt/app", "in"}));
  CHECK_FALSE(pod_of(plan)["spec"].contains("initContainers"));
  CHECK(plan.uploads.empty());
  CHECK_THAT(properties(plan), Contains("tinderbox.kubernetes.application=/opt/app\n"));
}

TEST_CASE("this program's own applications are in every image that begins with it",
          "[submission]") {
  for (const char* resource : {"file:/usr/bin/tinderbox", "spark-internal"}) {
    const SubmissionOptions plan = plan_submission(request(resource), world());
    CHECK(arguments(plan)[5] == "spark-internal");
    CHECK_THAT(properties(plan), Contains("tinderbox.kubernetes.application=image\n"));
  }
}

TEST_CASE("a local application and local files are sent to the driver's pod, with checksums",
          "[submission]") {
  const SubmissionOptions plan = plan_submission(
      request("file:/home/a/app",
              {{"spark.jars", "file:/home/a/app"},
               {"spark.files", "file:/home/a/table.csv#t.csv,https://h/x,file:/home/a/table.csv"},
               {"spark.archives", "file:/home/a/lib.tar#lib"}}),
      world({{"/home/a/app", ""}, {"/home/a/table.csv", ""}, {"/home/a/lib.tar", ""}}));
  REQUIRE(plan.uploads.size() == 3);
  CHECK(plan.uploads[0].path == "/home/a/app");
  CHECK(plan.uploads[1].name == "table.csv");
  CHECK(arguments(plan)[5] == "local:///opt/spark/app/app");
  const Json init = pod_of(plan)["spec"]["initContainers"][0]["args"];
  CHECK(init == Json({"init", "--directory", "/opt/spark/app", "--receive", "7080", "--expect",
                      "app#sha256=" + std::string(64, 'p'), "--expect",
                      "table.csv#sha256=" + std::string(64, 'v'), "--expect",
                      "lib.tar#sha256=" + std::string(64, 'r')}));
  CHECK_THAT(properties(plan),
             Contains("spark.files=file:///opt/spark/app/table.csv#t.csv,https://h/x,file:///opt/"
                      "spark/app/table.csv\n") &&
                 Contains("spark.archives=file:///opt/spark/app/lib.tar#lib\n") &&
                 !Contains("spark.jars") && !Contains("tinderbox.kubernetes.application"));
}

TEST_CASE("arguments, variables and names of files reach the pod as they are", "[submission]") {
  conf::SubmitRequest asked =
      request("file:/a/$(app)", {{"spark.kubernetes.driverEnv.PRICE", "$(X) $$1"},
                                 {"spark.kubernetes.driver.podTemplateFile", "/t.yaml"}});
  asked.app_args = {"a$$b", "$(X)"};
  const SubmissionOptions plan = plan_submission(
      asked,
      world({{"/a/$(app)", ""},
             {"/t.yaml", "spec: {containers: [{name: a, env: [{name: OWN, value: $(X)}]}]}"}}));
  CHECK(arguments(plan)[5] == "local:///opt/spark/app/$$(app)");
  CHECK(arguments(plan)[6] == "a$$$$b");
  CHECK(arguments(plan)[7] == "$$(X)");
  const Json spec = pod_of(plan)["spec"];
  for (const Json& container : {spec["initContainers"][0], spec["containers"][0]}) {
    const std::string env = container["env"].dump();
    CHECK_THAT(env, Contains(R"json({"name":"PRICE","value":"$(X) $$1"})json"));
    CHECK_THAT(env, Contains(R"json({"name":"OWN","value":"$(X)"})json"));  // a template's own
  }
  CHECK(spec["initContainers"][0]["args"].back() == "$$(app)#sha256=" + std::string(64, ')'));
}

TEST_CASE("a file is sent by its name, also one that reads like a pattern", "[submission]") {
  const Files files = {{"/a/data[1].csv", ""}, {"/a/data1.csv", ""}};
  const SubmissionOptions plan = plan_submission(
      request("local:///x", {{"spark.files", "file:/a/data[1].csv"}}), world(files));
  REQUIRE(plan.uploads.size() == 1);
  CHECK(plan.uploads[0].path == "/a/data[1].csv");
  CHECK_THAT(properties(plan), Contains("spark.files=file:///opt/spark/app/data[1].csv\n"));
}

TEST_CASE("a pod template is named by its path or a file: URL", "[submission]") {
  const auto read = world({{"/t.yaml", "kind: Pod"}}).read;
  const auto text_at = [&](const std::string& where) {
    const auto named = conf::Conf::of({{"spark.kubernetes.executor.podTemplateFile", where}});
    return template_of(named, conf::kKubernetesExecutorTemplate, read).text;
  };
  for (const char* where : {"/t.yaml", "file:/t.yaml", "file:///t.yaml", "local:///t.yaml"})
    CHECK(text_at(where) == "kind: Pod");
  CHECK_THROWS_WITH(text_at("file:///no.yaml"),
                    "spark.kubernetes.executor.podTemplateFile: cannot read '/no.yaml': no such "
                    "file");
  CHECK(template_of(conf::Conf(), conf::kKubernetesExecutorTemplate, read).text.empty());
}

TEST_CASE("an application on a web server is fetched by the pod", "[submission]") {
  const std::string sum(64, 'a');
  const SubmissionOptions plan =
      plan_submission(request("https://h/dir/app#sha256=" + sum), world());
  CHECK(plan.uploads.empty());
  CHECK(
      pod_of(plan)["spec"]["initContainers"][0]["args"] ==
      Json({"init", "--directory", "/opt/spark/app", "https://h/dir/app#sha256=" + sum + "&app"}));
  CHECK(arguments(plan)[5] == "local:///opt/spark/app/app");
}

TEST_CASE("the pod fetches as the settings say", "[submission]") {
  const conf::Pairs settings = {{"spark.files.fetchTimeout", "5min"},
                                {"spark.files.overwrite", "true"}};
  const SubmissionOptions plan = plan_submission(request("https://h/app", settings), world());
  CHECK(pod_of(plan)["spec"]["initContainers"][0]["args"] ==
        Json({"init", "--directory", "/opt/spark/app", "--conf", "spark.files.fetchTimeout=5min",
              "--conf", "spark.files.overwrite=true", "https://h/app#app"}));
}

TEST_CASE("with an upload path local files go to an object store, where the pod fetches them",
          "[submission]") {
  const SubmissionOptions plan = plan_submission(
      request("file:/home/a/app", {{"spark.kubernetes.file.upload.path", "s3a://bucket/up"},
                                   {"spark.files", "file:/home/a/t.csv#x,file:/home/a/t.csv"},
                                   {"spark.hadoop.fs.s3a.endpoint", "http://store:9000"},
                                   {"spark.hadoop.fs.s3a.path.style.access", "true"},
                                   {"spark.hadoop.fs.s3a.access.key", "K"},
                                   {"spark.hadoop.fs.s3a.secret.key", "very secret"}}),
      world({{"/home/a/app", ""}, {"/home/a/t.csv", ""}}));
  CHECK(plan.uploads.empty());
  REQUIRE(plan.stored.size() == 2);
  const std::string folder = "up/spark-upload-abcdef01-2345-6789-abcd-ef0123456789/";
  CHECK(plan.stored[0].path == "/home/a/app");
  CHECK(plan.stored[0].place == "s3a://bucket/" + folder + "app");
  CHECK_THAT(plan.stored[0].put_url,
             StartsWith("http://store:9000/bucket/" + folder + "app?X-Amz"));
  CHECK(plan.stored[0].put_url != plan.stored[0].delete_url);
  const Json init = pod_of(plan)["spec"]["initContainers"][0]["args"];
  REQUIRE(init.size() == 5);
  CHECK_THAT(init[3].get<std::string>(),
             StartsWith("http://store:9000/bucket/" + folder + "app?X-Amz-Algorithm=") &&
                 Contains("&X-Amz-Expires=604800&") &&
                 EndsWith("#sha256=" + std::string(64, 'p') + "&app"));
  CHECK_THAT(init.dump(), !Contains("very secret"));
  CHECK(arguments(plan)[5] == "local:///opt/spark/app/app");
  CHECK_THAT(properties(plan), Contains("spark.files=file:///opt/spark/app/t.csv#x,file:///opt/"
                                        "spark/app/t.csv\n"));
}

TEST_CASE("what is in an object store already is fetched by the pod", "[submission]") {
  PlanWorld w = world();
  w.environment = {{"AWS_ACCESS_KEY_ID", "K"}, {"AWS_SECRET_ACCESS_KEY", "S"}};
  const SubmissionOptions plan =
      plan_submission(request("s3a://bucket/apps/count#sha256=" + std::string(64, 'a'),
                              {{"spark.files", "s3a://bucket/t.csv"}}),
                      w);
  CHECK(plan.stored.empty());
  CHECK(arguments(plan)[5] == "local:///opt/spark/app/count");
  const Json init = pod_of(plan)["spec"]["initContainers"][0]["args"];
  CHECK_THAT(init[3].get<std::string>(),
             StartsWith("https://bucket.s3.amazonaws.com/apps/count?X-Amz-") &&
                 EndsWith("#sha256=" + std::string(64, 'a') + "&count"));
  CHECK_THAT(properties(plan), Contains("spark.files=file:///opt/spark/app/t.csv\n"));
}

TEST_CASE("what cannot be submitted is told before anything is created", "[submission]") {
  const Files files = {{"/a/app", ""}, {"/b/app", ""}, {"/a/x.txt", ""}};
  const auto refused = [&](const std::string& resource, const conf::Pairs& pairs) {
    try {
      plan_submission(request(resource, pairs), world(files));
    } catch (const conf::Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused("file:/no", {}) == "Cannot submit file:/no: cannot open '/no'");
  CHECK(refused("file:/a/x.txt", {}) == "/a/x.txt is not an application");
  CHECK_THAT(refused("ftp://h/app", {}), Contains("Cannot submit ftp://h/app: it must be"));
  CHECK(refused("file:/a/app", {{"spark.files", "file:/b/app"}}) ==
        "Two files are named app: file:/a/app and file:/b/app");
  CHECK_THAT(refused("file:/a/app", {{"spark.kubernetes.file.upload.path", "hdfs://n/up"}}),
             Contains("spark.kubernetes.file.upload.path=hdfs://n/up: it must be s3a://"));
  CHECK_THAT(refused("file:/a/app", {{"spark.kubernetes.file.upload.path", "s3a://b/up"}}),
             Contains("s3a://b: no credentials"));
  CHECK(refused("local:///x", {{"spark.kubernetes.file.upload.path", "hdfs://n/up"}}) == "");
  CHECK_THAT(refused("s3a://b", {}), Contains("Cannot submit s3a://b: "));
  CHECK_THAT(refused("local:///x", {{"spark.kubernetes.driver.podTemplateFile", "/no.yaml"}}),
             Contains("spark.kubernetes.driver.podTemplateFile: cannot read '/no.yaml'"));
  CHECK_THAT(refused("local:///x", {{"spark.kubernetes.authenticate.driver.caCertFile", "/no"}}),
             Contains("spark.kubernetes.authenticate.driver.caCertFile: cannot read '/no'"));
}

TEST_CASE("a driver's token travels in a secret alone, and --dry-run does not show it",
          "[submission]") {
  const conf::SubmitRequest asked =
      request("local:///x", {{"spark.kubernetes.authenticate.driver.oauthToken", "s3cret"},
                             {"spark.kubernetes.authenticate.submission.oauthToken", "s3cret"},
                             {"spark.kubernetes.authenticate.oauthToken", "s3cret"}});
  const SubmissionOptions plan = plan_submission(asked, world());
  CHECK(properties(plan).find("s3cret") == std::string::npos);
  CHECK_THAT(properties(plan), Contains("oauthTokenFile=/mnt/secrets/spark-kubernetes-credentials/"
                                        "oauth-token"));
  const std::string shown = show_objects(plan, asked.conf);
  CHECK(shown.find("s3cret") == std::string::npos);
  CHECK_THAT(shown, Contains("oauth-token: \"*********(redacted)\""));
}

TEST_CASE("--dry-run hides properties and variables by spark.redaction.regex", "[submission]") {
  const conf::SubmitRequest asked =
      request("local:///x", {{"spark.hadoop.fs.s3a.secret.key", "s3cret"},
                             {"spark.kubernetes.driverEnv.DB_PASSWORD", "s3cret"}});
  const SubmissionOptions plan = plan_submission(asked, world());
  CHECK_THAT(properties(plan), Contains("s3a.secret.key=s3cret\n"));
  const std::string shown = show_objects(plan, asked.conf);
  CHECK(shown.find("s3cret") == std::string::npos);
  CHECK_THAT(shown, Contains("s3a.secret.key=*********(redacted)"));
}

TEST_CASE("--dry-run shows all else as it is", "[submission]") {
  const conf::SubmitRequest asked =
      request("file:/app", {{"spark.kubernetes.driverEnv.MODE", "fast"},
                            {"spark.x", "tab\there = é"},
                            {"spark.kubernetes.driver.podTemplateFile", "/t.yaml"}});
  const SubmissionOptions plan = plan_submission(
      asked,
      world({{"/app", ""},
             {"/t.yaml", "spec: {containers: [{name: a}, {name: b, env: [x, {name: y}]}]}"}}));
  std::string all;
  for (const Bytes& object : plan.objects)
    all += (all.empty() ? "" : "---\n") + conf::to_yaml(Json::parse(object));
  CHECK(show_objects(plan, asked.conf) == all);
}

TEST_CASE("K30 a driver that runs all tasks itself has a local master", "[submission]") {
  const SubmissionOptions plan = plan_submission(
      request("local:///x", {{"spark.kubernetes.driver.master", "local[2]"}}), world());
  CHECK_THAT(properties(plan), Contains("spark.master=local[2]\n"));
}

TEST_CASE("files of SPARK_CONF_DIR travel, Spark's own ones do not", "[submission]") {
  PlanWorld w = world({{"/conf/fair.xml", "<a/>"}, {"/conf/spark-defaults.conf", "x y"}});
  w.environment["SPARK_CONF_DIR"] = "/conf";
  const Json data = Json::parse(plan_submission(request("local:///x"), w).objects.back())["data"];
  CHECK(data.contains("fair.xml"));
  CHECK_FALSE(data.contains("spark-defaults.conf"));
}
