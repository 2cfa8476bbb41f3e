// Keys of Spark that docs/keys-of-spark.md calls honoured, each with what it changes.
#include "conf/keys.hpp"

#include "core/deploy/kubernetes/access.hpp"
#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/objects/driver_objects.hpp"
#include "core/deploy/kubernetes/submission/plan.hpp"
#include "tests/core/deploy/kubernetes/pods/pod_bench.hpp"

using namespace tinderbox;
using namespace tinderbox::core::kubernetes;
using namespace tinderbox::core::kubernetes::test;
using conf::Conf;

namespace {

const std::string kMaps = "/api/v1/namespaces/jobs/configmaps";
const std::string kServices = "/api/v1/namespaces/jobs/services";

std::string seconds(Duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(d).count()) + " s";
}
std::string flag(bool b) { return b ? "yes" : "no"; }

ExecutorInput executor(const Conf& conf) {
  PodManagerOptions o = pod_options(conf.pairs());
  return o.executors;
}

Json service(const Conf& conf) {
  DriverInput in;
  in.conf = conf;
  in.names = {"spark-1", "count", "count-1", "1", "jobs", "ann"};
  in.main_class = "count";
  in.resource = "local:///opt/app/app";
  for (const Json& object : driver_objects(in))
    if (object["kind"] == "Service") return object["spec"];
  return {};
}

SubmissionOptions submission(const Conf& conf) {
  conf::SubmitRequest r;
  r.conf = conf.with("spark.app.name", "count").with("spark.master", "k8s://https://h");
  r.master = "k8s://https://h";
  r.manager = conf::Manager::kKubernetes;
  r.deploy_mode = conf::DeployMode::kCluster;
  r.primary_resource = "local:///opt/app/app";
  PlanWorld world;
  world.read = [](const std::string&) { return conf::FileText{}; };
  world.list = [](const std::string&) { return std::vector<std::string>{}; };
  world.is_own_program = [](const std::string&) { return false; };
  world.check_application = [](const std::string&) {};
  world.uuid = "abcdef0123456789abcdef0123456789";
  return plan_submission(r, world);
}

/// What was told by a driver whose pods' containers end as they do here.
size_t ends_told(const Conf& conf) {
  PodBench b(pod_options(conf.pairs()));
  b.begin({{0, 1}});
  PodView p = b.pod(1, "Running");
  ContainerView own;
  own.name = "spark-kubernetes-executor";
  own.state = ContainerView::State::Running;
  p.containers = {own, ended_with(1, "Error")};
  p.containers[1].name = "log";
  b.show(p);
  return b.gone.size();
}

/// What a driver asks the API server for, from its beginning to its end.
std::string calls_of(const Conf& conf) {
  PodBench b(pod_options(conf.pairs()));
  b.begin({{0, 3}});
  b.pass(std::chrono::seconds(31));
  b.feed(StopPods{});
  b.run();
  std::string all;
  for (const std::string& call : b.seen) all += call + "\n";
  return all;
}
std::string count_in(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
  return std::to_string(n);
}

std::string trust(const Conf& conf) {
  try {
    (void)client_access(conf, "https://h", "spark.kubernetes.authenticate.", {},
                        [](const std::string&) { return conf::FileText{}; });
  } catch (const conf::Error& e) {
    return std::string(e.what()).substr(0, 40);
  }
  return "checked";
}

struct Case {
  std::string key, value;
  std::function<std::string(const Conf&)> observed;
  std::string otherwise, wanted;
};

}  // namespace

TEST_CASE("keys that change one thing each", "[pod_objects]") {
  const std::string claim = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data.";
  const auto claim_mode = [&](const Conf& c) {
    const auto with =
        c.with(claim + "mount.path", "/data").with(claim + "options.claimName", "OnDemand");
    return executor_objects(executor(with), "1", {})[1]["spec"]["accessModes"][0]
        .get<std::string>();
  };
  const auto number = [](const conf::Key<int>& key) {
    return [&key](const Conf& c) { return std::to_string(c.get(key)); };
  };
  const std::string k = "spark.kubernetes.";
  const Case cases[] = {
      {k + "allocation.driver.readinessTimeout", "7s",
       [&](const Conf& c) {
         const Conf by_service = c.with(k + "executor.useDriverPodIP", "false");
         return seconds(pod_manager_options(by_service).readiness_timeout);
       },
       "1 s", "7 s"},
      {k + "allocation.maximum", "2",
       [](const Conf& c) { return count_in(calls_of(c), "POST " + kPods + "\n"); }, "3", "2"},
      {k + "executor.disableConfigMap", "true",
       [](const Conf& c) { return count_in(calls_of(c), "POST " + kMaps + "\n"); }, "1", "0"},
      {k + "executor.enableApiPolling", "false",
       [&](const Conf& c) {
         return count_in(calls_of(c.with(k + "executor.enableApiWatcher", "false")),
                         "GET " + kPods + "\n");
       },
       "2", "1"},
      {k + "driver.service.deleteOnTermination", "false",
       [](const Conf& c) { return count_in(calls_of(c), "DELETE " + kServices + "\n"); }, "1", "0"},
      {k + "executor.checkAllContainers", "false",
       [](const Conf& c) { return std::to_string(ends_told(c)); }, "1", "0"},
      {k + "driver.service.publishNotReadyAddresses", "true",
       [](const Conf& c) { return flag(service(c).value("publishNotReadyAddresses", false)); },
       "no", "yes"},
      {k + "driver.resourceNamePrefix", "own",
       [](const Conf& c) {
         const std::string pod = submission(c).pod_name;
         return pod.substr(0, pod.find('-'));
       },
       "count", "own"},
      {k + "report.interval", "9s",
       [](const Conf& c) { return seconds(submission(c).report_interval); }, "1 s", "9 s"},
      {k + "legacy.useReadWriteOnceAccessMode", "true", claim_mode, "ReadWriteOncePod",
       "ReadWriteOnce"},
      {k + "executor.scheduler.name", "volcano",
       [](const Conf& c) {
         return executor_objects(executor(c), "1", {})[0]["spec"].value("schedulerName", "none");
       },
       "none", "volcano"},
      {k + "trust.certificates", "true", trust, "checked",
       "spark.kubernetes.trust.certificates=true"},
      {k + "appKillPodDeletionGracePeriod", "5s",
       [](const Conf& c) {
         const auto grace = c.get(conf::kKubernetesKillGrace);
         return grace ? seconds(*grace) : "the pod's own";
       },
       "the pod's own", "5 s"},
      {k + "submission.connectionTimeout", "7", number(conf::kKubernetesSubmitConnectTimeout),
       "10000", "7"},
      {k + "submission.requestTimeout", "7", number(conf::kKubernetesSubmitRequestTimeout), "10000",
       "7"},
      {k + "driver.connectionTimeout", "7", number(conf::kKubernetesDriverConnectTimeout), "10000",
       "7"},
      {k + "driver.requestTimeout", "7", number(conf::kKubernetesDriverRequestTimeout), "10000",
       "7"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.key);
    const Conf plain = Conf::of({{"spark.kubernetes.container.image", "app:1"}});
    CHECK(c.observed(plain) == c.otherwise);
    CHECK(c.observed(plain.with(c.key, c.value)) == c.wanted);
  }
}
