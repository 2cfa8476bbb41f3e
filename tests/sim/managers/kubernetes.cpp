// Executors in pods: the real PodManager in its shell, a simulated API server, simulated nodes.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/pods/pod_manager.hpp"
#include "core/shell.hpp"
#include "tests/sim/checks/pods.hpp"
#include "tests/sim/managers/api_link.hpp"
#include "tests/sim/managers/manager.hpp"
#include "tests/sim/managers/nodes.hpp"

namespace tinderbox::sim {

using namespace core;
namespace k8s = core::kubernetes;

namespace {

constexpr const char* kDriverPod = "driver-pod";

conf::Pairs pairs_of(const Settings& s) {
  const PodSettings& p = s.pods;
  const auto number = [](auto n) { return std::to_string(n); };
  const auto ms = [](Duration d) { return std::to_string(d / 1ms) + "ms"; };
  const auto flag = [](bool b) { return b ? "true" : "false"; };
  const std::string k = "spark.kubernetes.";
  conf::Pairs pairs = {
      {k + "container.image", "app:1"},
      {k + "allocation.batch.size", number(p.batch_size)},
      {k + "allocation.batch.delay", ms(p.batch_delay)},
      {k + "allocation.maxPendingPods", number(p.max_pending)},
      {k + "allocation.maxPendingPodsPerRp", number(p.max_pending_per_profile)},
      {k + "allocation.executor.timeout", ms(p.creation_timeout)},
      {k + "dynamicAllocation.deleteGracePeriod", ms(p.delete_grace)},
      {k + "executor.missingPodDetectDelta", ms(p.missing_delta)},
      {k + "executor.deleteOnTermination", flag(p.delete_pods)},
      {k + "executor.enableApiWatcher", flag(p.watch)},
      {k + "executor.apiPollingInterval", "5s"},
      {k + "driver.ownPersistentVolumeClaim", flag(p.own_claims)},
      {k + "driver.reusePersistentVolumeClaim", flag(p.reuse_claims)},
      {"spark.executor.cores", number(s.cores)},
      {"spark.executor.maxNumFailures", number(p.max_failures)},
  };
  for (int32_t i = 0; i < p.claims; ++i) {
    const std::string volume = k + "executor.volumes.persistentVolumeClaim.data-" + number(i) + ".";
    pairs.emplace_back(volume + "mount.path", "/data/" + number(i));
    pairs.emplace_back(volume + "options.claimName", "OnDemand");
    pairs.emplace_back(volume + "options.sizeLimit", number(i + 1) + "Gi");
  }
  if (s.gpus > 0) {
    const std::string gpu = "spark.executor.resource.gpu.";
    pairs.emplace_back(gpu + "vendor", "tinderbox");
    pairs.emplace_back(gpu + "amount", number(s.gpus));
  }
  if (s.allocation)
    pairs.emplace_back("spark.dynamicAllocation.executorIdleTimeout",
                       ms(s.allocation->idle_timeout));
  return pairs;
}

class KubernetesManager final : public Manager {
 public:
  KubernetesManager(Surroundings in, Fleet& fleet, SimDriver& driver, const Scenario& scenario)
      : in_(in),
        driver_(driver),
        scenario_(scenario),
        settings_(in.settings.pods),
        checks_(in.checks, settings_),
        server_(in.world),
        nodes_(in, fleet, server_, checks_, scenario) {}

  void start() override {
    server_.tell({[this](const Json& pod) { made(pod); },
                  [this](const Json& pod, int64_t grace) {
                    checks_.leaves(number_of(pod));
                    nodes_.pod_leaves(pod, grace);
                  },
                  [this](const Json& pod) {
                    checks_.gone(number_of(pod));
                    nodes_.pod_gone(pod);
                  },
                  [this] { link_->pump(); },
                  [this] { in_.checks.reached(Fault::Kind::QuotaFull); }});
    server_.add(Json::parse(R"({"kind": "Pod", "metadata": {"name": "driver-pod"},
                                "spec": {}, "status": {"phase": "Running"}})"),
                collection("pods"));
  }

  /// Once: a driver's pod is not begun again.
  void driver_started() override {
    link_ = std::make_unique<ApiLink>(
        in_, server_, driver_.process(),
        [this](const ApiLink::Event& e, const k8s::ApiRequest* to) { deliver(e, to); });
    machine_ = std::make_unique<k8s::PodManager>(options());
    shell_ =
        std::make_unique<PodShell>(driver_.loop(), driver_.board(), *machine_, *this, "Kubernetes");
    in_.world.after(driver_.process(), 1ms, [this] {
      if (!in_.settings.allocation) want(all_of({{0, scenario_.executors}}));
      shell_->feed(k8s::StartPods{});
    });
  }

  /// As KubernetesBackend.
  void want(const RequestTotalExecutors& wanted) override {
    k8s::WantPods want;
    want.hosts = wanted.local_tasks;
    want.totals = wanted.totals;
    for (const ProfileRequest& p : wanted.profiles) {
      want.totals[p.profile] = p.total;
      k8s::ProfileSpec spec{p.profile, p.cores, p.memory_mib, {}};
      for (const auto& [name, amount] : p.resources) spec.resources[name] = amount;
      want.profiles.push_back(std::move(spec));
    }
    totals_ = want.totals;
    checks_.wanted(totals_);
    shell_->feed(std::move(want));
  }
  void kill(const ExecutorId& id) override { shell_->feed(k8s::EndPod{id}); }
  void decommissioned(const ExecutorId& id) override { shell_->feed(k8s::MarkPod{id}); }
  void heard(const ListenerEvent& event) override {
    if (const auto* joined = std::get_if<ExecutorJoined>(&event)) {
      checks_.registered(k8s::number_of(joined->executor));
      shell_->feed(k8s::ExecutorRegistered{joined->executor});
    }
    if (const auto* removed = std::get_if<ExecutorRemoved>(&event))
      shell_->feed(k8s::ExecutorLeft{removed->executor});
  }

  void lose_host(const std::string& host) override { nodes_.lose(host); }
  bool decommission_host(const std::string& host, Duration length) override {
    return nodes_.drain(host, length) && settings_.decommission;
  }

  std::string lacks() const override {
    std::map<int32_t, int32_t> running;
    for (const std::string& name : server_.executor_pods()) {
      const Json& pod = server_.pod(name);
      if (pod["status"]["phase"] == "Running" && !pod["metadata"].contains("deletionTimestamp"))
        ++running[std::stoi(label_of(pod, k8s::kProfileLabel))];
    }
    for (const auto& [profile, total] : totals_)
      if (running[profile] < total)
        return std::to_string(running[profile]) + " executors of profile " +
               std::to_string(profile) + " run, " + std::to_string(total) + " are wanted";
    return {};
  }

  /// In half the runs the driver is killed: then its pod takes with it whatever it owns, once
  /// somebody deletes it.
  void end() override {
    ended_ = true;
    killed_ = in_.world.random().chance(500);
    if (!killed_) return stop_when_calm();
    driver_.crash(false);
    in_.checks.reached(Path::ObjectsCollected);
    server_.remove_pod(kDriverPod);
  }
  std::string left_over() const override {
    if (!ended_) return {};
    if (!killed_ && !stopped_) return "the driver, which cannot stop";
    return server_.left(!killed_ && !settings_.delete_pods);
  }

  bool begin(const Fault& f) override {
    if (!driver_.opened()) return false;
    switch (f.kind) {
      case Fault::Kind::ApiAway:
        link_->part(f.length + 3s);
        return false;
      case Fault::Kind::ApiDisturbed:
        link_->disturb(f.length + 5s);
        return false;
      case Fault::Kind::HistoryForgotten:
        server_.forget_history();
        link_->cut_watch();
        return false;
      case Fault::Kind::WatchCut:
        return link_->cut_watch();
      case Fault::Kind::WatchSilent:
        link_->silence_watch();
        return false;
      case Fault::Kind::QuotaFull:
        server_.set_quota(in_.world.now() + f.length + 10s);
        return false;
      case Fault::Kind::NodesFull:
        nodes_.fill_up(f.length + 10s);
        return false;
      case Fault::Kind::ImageMissing:
        nodes_.lose_image(f.length + 10s);
        return false;
      case Fault::Kind::PodDeleted:
        return nodes_.delete_one(f.target);
      default:  // PodEvicted
        return nodes_.evict_one(f.target);
    }
  }

  // ---- effects ----
  void apply(const k8s::CallApi& e) {
    if (in_.world.traced())
      in_.world.trace("driver", "asks " + std::to_string(e.ticket) + ": " + e.request.method + " " +
                                    e.request.path + " " + name_in(e.request.body));
    checks_.asks(e.request);
    link_->call(e);
  }
  void apply(const k8s::WatchApi& e) {
    checks_.watches(e);
    link_->watch(e);
  }
  void apply(const k8s::StopWatch&) { link_->stop_watch(); }
  void apply(const k8s::PodsBegun&) { driver_.open(AppId{"app-1"}); }
  void apply(const k8s::PodGone& e) {
    in_.world.trace("driver", "is told of the end of " + e.executor.value + ", " +
                                  std::to_string(e.exit_code.value_or(-1)));
    checks_.tells(e);
    driver_.post(BackendExecutorExited{e.executor, e.exit_code, e.message, "", !e.exit_code});
  }
  void apply(const k8s::PodLeaving& e) {
    checks_.tells(e);
    driver_.post(BackendExecutorDecommissioned{e.executor, e.message, ""});
  }
  void apply(const k8s::PodsHeld& e) { driver_.post(BackendStatus{e.reason}); }
  void apply(const k8s::PodsGiveUp& e) {
    checks_.tells(e);
    if (in_.checks.given_up()) return;  // it may say so with each failure that follows
    in_.checks.given_up(e.reason);
    driver_.post(BackendDead{e.reason});
  }
  void apply(const k8s::PodsStopped&) {
    stopped_ = true;
    driver_.crash(false);
  }
  void end_of_turn() { checks_.turn_ended(driver_.loop().now()); }

 private:
  using PodShell = Shell<k8s::PodManager, KubernetesManager>;

  static RequestTotalExecutors all_of(std::map<int32_t, int32_t> totals) {
    RequestTotalExecutors all;
    all.totals = std::move(totals);
    return all;
  }
  static int64_t number_of(const Json& pod) {
    return std::atoll(label_of(pod, k8s::kExecutorLabel).c_str());
  }

  k8s::PodManagerOptions options() const {
    const conf::Conf conf = conf::Conf::of(pairs_of(in_.settings));
    k8s::PodManagerOptions o = k8s::pod_manager_options(conf);
    o.executors.conf = conf;
    o.executors.names = {"app-1", "app", "app", "1", kNamespace, "ann"};
    o.executors.pod_prefix = "app";
    o.executors.driver_pod = kDriverPod;
    o.executors.driver_address = kDriverAddress;
    o.executors.decommission = settings_.decommission;
    if (settings_.wait_for_claims) o.max_claims = most_claims();
    o.seed = in_.world.random().next();
    return o;
  }
  /// So many that nobody waits for ever.
  size_t most_claims() const {
    const int32_t executors =
        in_.settings.allocation ? 4 * in_.settings.allocation->max_executors : scenario_.executors;
    return static_cast<size_t>(executors) * static_cast<size_t>(settings_.claims);
  }

  /// What has ended mounts nothing.
  void made(const Json& pod) {
    std::vector<const Json*> others;
    for (const std::string& name : server_.executor_pods())
      if (const Json& other = server_.pod(name);
          other["status"]["phase"] != "Failed" && other["status"]["phase"] != "Succeeded")
        others.push_back(&other);
    checks_.made(pod, others);
    nodes_.pod_made(pod);
  }

  static std::string name_in(const Bytes& body) {
    const Json object = Json::parse(body, nullptr, false);
    return object.is_object() ? object.value("metadata", Json::object()).value("name", "") : "";
  }
  void trace(const ApiLink::Event& event) const {
    const auto say = [this](const std::string& line) { in_.world.trace("API", line); };
    if (const auto* e = std::get_if<k8s::ApiAnswered>(&event))
      say("answers " + std::to_string(e->ticket) + ": " + std::to_string(e->status) + " " +
          e->error);
    if (const auto* e = std::get_if<k8s::PodChanged>(&event))
      say("shows " + e->pod.name + " " + (e->deleted ? "gone" : e->pod.phase) +
          (e->pod.deletion_time.empty() ? "" : ", to be deleted") + ", version " +
          e->pod.resource_version);
    if (const auto* e = std::get_if<k8s::WatchEnded>(&event))
      say("ends the watch: " + std::to_string(e->status) + " " + e->error);
  }

  /// The machine's checks know what it knows, and before it acts upon it.
  void deliver(const ApiLink::Event& event, const k8s::ApiRequest* to) {
    if (stopped_) return;
    if (in_.world.traced()) trace(event);
    if (const auto* e = std::get_if<k8s::ApiAnswered>(&event)) checks_.answered(*to, *e);
    if (const auto* e = std::get_if<k8s::PodChanged>(&event)) checks_.shown(e->pod, e->deleted);
    if (const auto* e = std::get_if<k8s::WatchBookmark>(&event)) checks_.up_to(e->resource_version);
    if (const auto* e = std::get_if<k8s::WatchEnded>(&event)) checks_.watch_ended(e->status);
    std::visit([this](const auto& e) { shell_->feed(e); }, event);
  }

  /// What it asks to be deleted while nobody answers goes with its own pod.
  void stop_when_calm() {
    if (!link_->calm()) return in_.world.after(nullptr, 1s, [this] { stop_when_calm(); });
    in_.world.after(driver_.process(), 1ms, [this] { shell_->feed(k8s::StopPods{}); });
  }

  Surroundings in_;
  SimDriver& driver_;
  const Scenario& scenario_;
  const PodSettings& settings_;
  PodChecks checks_;
  ApiServer server_;
  Nodes nodes_;
  std::unique_ptr<ApiLink> link_;
  std::unique_ptr<k8s::PodManager> machine_;
  std::unique_ptr<PodShell> shell_;
  std::map<int32_t, int32_t> totals_;
  bool ended_ = false, killed_ = false, stopped_ = false;
};

}  // namespace

std::unique_ptr<Manager> make_kubernetes_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                                 const Scenario& scenario) {
  return std::make_unique<KubernetesManager>(in, fleet, driver, scenario);
}

}  // namespace tinderbox::sim
