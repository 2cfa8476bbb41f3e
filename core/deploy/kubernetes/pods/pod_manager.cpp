#include "core/deploy/kubernetes/pods/pod_manager.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "conf/keys.hpp"
#include "core/deploy/kubernetes/names.hpp"
#include "core/status/exit_codes.hpp"

namespace tinderbox::core::kubernetes {
namespace {

using Kind = PodTimer::Kind;

constexpr int kTries = 8;
constexpr Duration kFirstPause = std::chrono::milliseconds(200);
constexpr Duration kLongestPause = std::chrono::seconds(30);
constexpr Duration kLook = std::chrono::milliseconds(100);  // between looks at the driver's own pod
constexpr Duration kStopPatience = std::chrono::seconds(5);
constexpr const char* kFromCache = "&resourceVersion=0";
constexpr uint64_t kWatchTickets = uint64_t{1} << 63;

/// 0: it is no decimal number, and cannot be compared.
uint64_t version_number(const std::string& version) {
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(version.data(), version.data() + version.size(), number);
  return error == std::errc() && end == version.data() + version.size() ? number : 0;
}

/// None: they have none.
std::optional<Json> executors_config_map(const PodManagerOptions& options) {
  const ExecutorInput& x = options.executors;
  if (x.conf.get(conf::kKubernetesNoExecutorConfigMap)) return std::nullopt;
  return config_map("spark-exec-" + x.names.unique + "-conf-map", x.names, "executor", x.conf,
                    {{"spark.kubernetes.namespace", x.names.name_space}}, options.conf_files);
}

PodAllocator pod_allocator(const std::string& name) {
  if (name == "direct") return PodAllocator::Direct;
  if (name == "statefulset") return PodAllocator::StatefulSet;
  if (name == "deployment") return PodAllocator::Deployment;
  throw conf::Error("spark.kubernetes.allocation.pods.allocator=" + name +
                    ": it must be direct, statefulset or deployment");
}

}  // namespace

PodManagerOptions pod_manager_options(const conf::Conf& conf) {
  PodManagerOptions o;
  o.kind = pod_allocator(conf.get(conf::kKubernetesAllocator));
  o.deletion_cost = conf.get(conf::kKubernetesDeletionCost);
  o.allocator = allocator_options(conf);
  o.failures = failure_options(conf);
  o.watch = conf.get(conf::kKubernetesWatcher);
  o.poll = conf.get(conf::kKubernetesPolling);
  o.polling_interval = conf.get(conf::kKubernetesPollingInterval);
  o.list_from_cache = conf.get(conf::kKubernetesListFromCache);
  o.missing_delta = conf.get(conf::kKubernetesMissingDelta);
  o.check_all_containers = conf.get(conf::kKubernetesCheckContainers);
  o.delete_pods = conf.get(conf::kKubernetesDeletePods);
  o.collected = conf.get(conf::kKubernetesSubmitInDriver);
  o.delete_grace = conf.get(conf::kKubernetesDeleteGrace);
  o.patience = conf.get(conf::kKubernetesPatience);
  if (!conf.get(conf::kKubernetesDriverPodIp))
    o.readiness_timeout = conf.get(conf::kKubernetesReadinessTimeout);
  o.own_claims = conf.get(conf::kKubernetesOwnClaims);
  o.reuse_claims = conf.get(conf::kKubernetesReuseClaims);
  if (conf.get(conf::kKubernetesWaitClaims))
    o.max_claims = static_cast<size_t>(conf.get(conf::kDynamicAllocationEnabled)
                                           ? conf.get(conf::kAllocationMaxExecutors)
                                           : executor_instances(conf));
  if (const auto label = conf.get(conf::kKubernetesDecommissionLabel))
    o.leaving_label = {*label, conf.get(conf::kKubernetesDecommissionLabelValue)};
  o.delete_service = conf.get(conf::kKubernetesServiceDelete);
  return o;
}

void check_executors(const PodManagerOptions& options, const ProfileSpec& profile) {
  for (const Json& object : executor_objects(options.executors, "1", profile)) refuse_large(object);
  if (options.kind != PodAllocator::Direct)
    executor_set(options.kind, options.executors, profile, 1);
  executors_config_map(options);
}

PodManager::PodManager(PodManagerOptions options)
    : options_(std::move(options)),
      allocator_(options_.allocator),
      failures_(options_.failures),
      random_(options_.seed | 1) {}
PodManager::~PodManager() = default;

void PodManager::on(const Event& event, Time now, Effects& out) {
  now_ = now;
  if (phase_ != Phase::Stopped) std::visit([&](const auto& e) { this->on(e, out); }, event);
}

// ---- the beginning

void PodManager::on(const StartPods&, Effects& out) {
  started_ = now_;
  if (options_.executors.driver_pod.empty()) return make_config_map(out);
  look_at_driver_pod(out);
}

void PodManager::look_at_driver_pod(Effects& out) {
  ask({Asked::What::DriverPod, 0, 0,
       get_object(
           api_path(options_.executors.names.name_space, "pods", options_.executors.driver_pod))},
      out);
}

void PodManager::driver_pod_answered(const ApiAnswered& e, Effects& out) {
  const std::string& name = options_.executors.driver_pod;
  if (e.status == kNotFound)
    return give_up(kExitFailure,
                   "No pod was found named " + name + " in the cluster in the namespace " +
                       options_.executors.names.name_space +
                       " (this was supposed to be the driver pod.).",
                   out);
  if (!e.ok())
    return give_up(kExitFailure, "Cannot read the driver's pod " + name + ": " + failure(e), out);
  const PodView pod = read_pod(Json::parse(e.body, nullptr, false));
  options_.executors.driver_uid = pod.uid;
  // Its service names it only when it is ready.
  if (!pod.ready && now_ - started_ < options_.readiness_timeout) {
    timer(Kind::Readiness, kLook, out);
    return;
  }
  make_config_map(out);
}

void PodManager::make_config_map(Effects& out) {
  const ExecutorInput& x = options_.executors;
  std::optional<Json> map = executors_config_map(options_);
  if (!map) return list(options_.list_from_cache, out);
  if (!x.driver_uid.empty()) set_owner(*map, x.driver_pod, x.driver_uid);
  options_.executors.config_map = (*map)["metadata"]["name"];
  ask({Asked::What::ConfigMap, 0, 0, create_object(x.names.name_space, *map)}, out);
}

std::string PodManager::pods_path() const {
  return api_path(options_.executors.names.name_space, "pods") + of_application(true);
}

/// The query that chooses its objects. Claims say nothing of executors.
std::string PodManager::of_application(bool executors_only) const {
  const std::string& app = options_.executors.names.app_id;
  return "?labelSelector=" + (executors_only
                                  ? selector({{kAppLabel, app}, {kRoleLabel, "executor"}})
                                  : selector({{kAppLabel, app}}));
}

void PodManager::list(bool from_cache, Effects& out) {
  ask({Asked::What::List, 0, 0, get_object(pods_path() + (from_cache ? kFromCache : ""))}, out);
}

/// A cache may be older than what was seen already: pods that are missing there would be taken for
/// deleted. What is not from a cache counts, even when the server's versions went back.
bool PodManager::is_stale(const Asked& asked, const std::string& version) const {
  const uint64_t number = version_number(version);
  return asked.request.path.ends_with(kFromCache) && number > 0 && number < newest_;
}

void PodManager::up_to(const std::string& version) {
  version_ = version;
  if (const uint64_t number = version_number(version)) newest_ = number;
}

void PodManager::listed(const Asked& asked, const ApiAnswered& e, Effects& out) {
  const Json body = Json::parse(e.body, nullptr, false);
  if (!e.ok() || !body.is_object()) {
    if (phase_ == Phase::Starting)
      return give_up(kExitFailure, "Cannot list the executors' pods: " + failure(e), out);
    return look_later(out);
  }
  const std::string version = body.value("metadata", Json::object()).value("resourceVersion", "");
  if (is_stale(asked, version)) return list(false, out);
  up_to(version);
  std::set<int64_t> there;
  for (const Json& item : body.value("items", Json::array())) {
    const PodView pod = read_pod(item);
    if (const auto number = executor_number(pod)) there.insert(*number);
    take(pod, false, out);
  }
  std::vector<PodView> gone;
  for (const auto& [number, entry] : table_) {
    if (there.contains(number)) continue;
    PodView pod;
    pod.name = entry.name;
    pod.uid = entry.uid;
    pod.labels[std::string(kExecutorLabel)] = std::to_string(number);
    pod.labels[std::string(kProfileLabel)] = std::to_string(entry.profile);
    gone.push_back(std::move(pod));
  }
  for (const PodView& pod : gone) take(pod, true, out);
  look_for_missing(out);
  if (options_.watch)
    watch(out);
  else if (options_.poll)
    timer(Kind::Poll, options_.polling_interval, out);
  if (phase_ == Phase::Starting) begin(out);
  allocate(out);
}

void PodManager::begin(Effects& out) {
  phase_ = Phase::Running;
  next_batch_ = now_;
  out.push_back(PodsBegun{});
}

void PodManager::watch(Effects& out) {
  watch_ = ++tickets_ | kWatchTickets;
  out.push_back(WatchApi{watch_, pods_path() + "&allowWatchBookmarks=true&watch=true" +
                                     (version_.empty() ? "" : "&resourceVersion=" + version_)});
}

/// As long as it fails: up to half a minute, and never all drivers at once.
void PodManager::look_later(Effects& out) {
  const Duration longest =
      std::min(kLongestPause, kFirstPause * (1 << std::min(watch_failures_++, 8)));
  timer(Kind::Watch, jittered(longest), out);
}

void PodManager::on(const WatchBookmark& e, Effects&) {
  if (e.ticket != watch_) return;
  watch_shows(e.resource_version);
}

void PodManager::watch_shows(const std::string& version) {
  up_to(version);
  watched_ = true;
  watch_failures_ = 0;
}

void PodManager::on(const WatchEnded& e, Effects& out) {
  if (e.ticket != watch_) return;
  watch_ = 0;
  if (phase_ == Phase::Stopping) return look_whether_over(out);
  if (phase_ != Phase::Running) return;
  // A server that began again refuses all until it has read who may do what.
  if (e.status == kForbidden && (!watched_ || watch_failures_ >= kTries))
    return give_up(kExitFailure, "Cannot watch the executors' pods: " + e.error, out);
  if (e.status == kGone) version_.clear();
  if (!e.error.empty())
    out.push_back(
        Log{Level::Info, "The watch of executors' pods ended, it begins again: " + e.error});
  look_later(out);
}

// ---- requests

void PodManager::ask(Asked asked, Effects& out) {
  ++asked.tries;
  const uint64_t ticket = ++tickets_;
  out.push_back(CallApi{ticket, asked.request});
  asked_[ticket] = std::move(asked);
}

/// Whether the same is asked again later: no answer came, the server had a bad moment, or a token
/// that was worth something at the beginning waits for the one that follows it. Who made pods may
/// delete them, when a server that began again has read so.
bool PodManager::ask_again(Asked& asked, const ApiAnswered& e, Effects& out) {
  const bool stale_token = e.status == kUnauthorized && phase_ == Phase::Running;
  const bool not_yet =
      e.status == kForbidden && asked.what == Asked::What::Delete && phase_ == Phase::Running;
  // A pod that is not made now is made under another number.
  const bool busy = e.status == kTooMany && asked.what != Asked::What::CreatePod;
  const bool passes = e.status == 0 || e.status >= 500 || stale_token || not_yet || busy;
  if (!passes || asked.tries >= kTries || phase_ == Phase::Stopping) return false;
  const Duration pause = jittered(std::min(kLongestPause, kFirstPause * (1 << asked.tries)));
  later_[timer(Kind::Create, pause, out)] = std::move(asked);
  return true;
}

void PodManager::on(const ApiAnswered& e, Effects& out) {
  const auto found = asked_.find(e.ticket);
  if (found == asked_.end()) return;
  Asked asked = std::move(found->second);
  asked_.erase(found);
  if (!e.ok() && ask_again(asked, e, out)) return;
  if (phase_ == Phase::Stopping && asked.what != Asked::What::Stop) return made_late(asked, e, out);
  switch (asked.what) {
    case Asked::What::DriverPod:
      return driver_pod_answered(e, out);
    case Asked::What::ConfigMap:
      // An answer that got lost before may have made it.
      if (!e.ok() && e.status != kConflict)
        return give_up(kExitFailure, "Cannot create the executors' config map: " + failure(e), out);
      return list(options_.list_from_cache, out);
    case Asked::What::List:
      return listed(asked, e, out);
    case Asked::What::CreatePod:
      return pod_answered(asked, e, out);
    case Asked::What::FindPod:
      return pod_found(asked, e, out);
    case Asked::What::CreateClaim:
      return claim_answered(asked, e, out);
    case Asked::What::CreateSet:
    case Asked::What::ScaleSet:
      return set_answered(asked, e, out);
    case Asked::What::ChangePod:
      if (!e.ok() && e.status != kNotFound)
        out.push_back(Log{Level::Warn, "Cannot change " + asked.request.path + ": " + failure(e)});
      return;
    case Asked::What::Delete:
      if (!e.ok() && e.status != kNotFound && e.status != kConflict)
        out.push_back(Log{Level::Warn, "Cannot delete a pod: " + failure(e)});
      deletion_answered(asked.executor, e);
      return;
    case Asked::What::Stop:
      if (!e.ok() && e.status != kNotFound && e.status != kConflict)
        out.push_back(Log{Level::Warn, "Cannot clean up: " + failure(e)});
      return stop_answered(out);
  }
}

// ---- time

uint64_t PodManager::timer(PodTimer::Kind kind, Duration delay, Effects& out) {
  out.push_back(After<PodTimer>{delay, {kind, ++timers_}});
  return timers_;
}

/// Between half of it and all.
Duration PodManager::jittered(Duration longest) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return longest / 2 + Duration(static_cast<int64_t>(random_ >> 1) % (longest.count() / 2 + 1));
}

void PodManager::on(const PodTimer& e, Effects& out) {
  if (phase_ == Phase::Stopping && e.kind != Kind::Stop) return;
  switch (e.kind) {
    case Kind::Batch:
      if (e.id != batch_timer_) return;
      batch_timer_ = 0;
      return allocate(out);
    case Kind::Watch:
      return version_.empty() || !options_.watch ? list(options_.list_from_cache, out) : watch(out);
    case Kind::Poll:
      return list(options_.list_from_cache, out);
    case Kind::Readiness:
      return look_at_driver_pod(out);
    case Kind::Create: {
      const auto found = later_.find(e.id);
      Asked asked = std::move(found->second);
      later_.erase(found);
      if (still_wanted(asked)) ask(std::move(asked), out);
      return;
    }
    case Kind::Patience:
      for (const auto& [executor, id] : in_vain_)
        if (id == e.id) {
          const std::string why = pod_of(executor) + " cannot start: " + reasons_[executor];
          if (served_.empty()) return give_up(kExitExecutorFailures, "Kubernetes: " + why, out);
          const int64_t number = executor;
          count_failure(number, why, out);
          in_vain_.erase(number);
          return delete_pods({number}, out);
        }
      return;
    case Kind::EndPod: {
      const int64_t executor = ending_[e.id];
      ending_.erase(e.id);
      const auto pod = table_.find(executor);
      if (pod != table_.end() && !has_ended(pod->second.state)) delete_pods({executor}, out);
      return;
    }
    case Kind::Stop:
      return over(out);
  }
}

// ---- the end

/// Source: Spark 4.3 KubernetesClusterSchedulerBackend.stop.
void PodManager::on(const StopPods&, Effects& out) {
  if (phase_ == Phase::Stopping) return;
  const bool begun = phase_ == Phase::Running;
  phase_ = Phase::Stopping;
  for (const auto& [ticket, asked] : asked_)
    if (goes_at_the_end(asked)) ++stopping_;
  const ExecutorInput& x = options_.executors;
  const auto collection = [&](const std::string& all, bool executors_only) {
    ++stopping_;
    ask({Asked::What::Stop, 0, 0, delete_all(all + of_application(executors_only))}, out);
  };
  const auto of_kind = [&](const char* kind) { return api_path(x.names.name_space, kind); };
  if (begun && options_.kind != PodAllocator::Direct) collection(sets_path(), true);
  if (options_.delete_service && !x.driver_uid.empty()) collection(of_kind("services"), false);
  if (options_.own_claims) collection(of_kind("persistentvolumeclaims"), false);
  if (begun && options_.delete_pods) collection(of_kind("pods"), true);
  if (begun && !options_.delete_pods) delete_waiting(out);
  if (!x.config_map.empty()) collection(of_kind("configmaps"), true);
  timer(Kind::Stop, kStopPatience, out);
  look_whether_over(out);
}

/// Pods are kept for what they did: these did nothing, and without their claims never will.
void PodManager::delete_waiting(Effects& out) {
  std::vector<int64_t> waiting = allocator_.unseen();
  for (const auto& [number, pod] : table_)
    if (pod.state == PodState::Pending && !served_.contains(number)) waiting.push_back(number);
  for (const int64_t number : waiting) {
    ++stopping_;
    ask({Asked::What::Stop, number, 0, deletion_of(number)}, out);
  }
}

bool PodManager::goes_at_the_end(const Asked& asked) const {
  return asked.what == Asked::What::CreateSet || asked.what == Asked::What::CreatePod ||
         asked.what == Asked::What::ConfigMap ||
         (asked.what == Asked::What::CreateClaim && options_.own_claims);
}

/// Requests overtake each other: what was being made may come to the server after all of its kind
/// was deleted there.
void PodManager::made_late(const Asked& asked, const ApiAnswered& e, Effects& out) {
  if (!goes_at_the_end(asked)) return;
  const bool may_be_there = e.ok() || e.status == 0 || e.status >= 500;
  if (!may_be_there) return stop_answered(out);
  ask({Asked::What::Stop, 0, 0, removal_of(asked, e)}, out);
}

/// Of pods that one alone, as the others may be kept. Of other kinds all of this application's go.
ApiRequest PodManager::removal_of(const Asked& asked, const ApiAnswered& e) {
  if (asked.what == Asked::What::CreatePod) {
    if (e.ok()) uids_[asked.executor] = uid_of(e.body);
    return deletion_of(asked.executor);
  }
  return delete_all(asked.request.path + of_application(asked.what != Asked::What::CreateClaim));
}

void PodManager::stop_answered(Effects& out) {
  if (stopping_ > 0) --stopping_;
  look_whether_over(out);
}

void PodManager::goes(const PodChanged& e, Effects& out) {
  if (const auto number = executor_number(e.pod); number && e.deleted) table_.erase(*number);
  look_whether_over(out);
}

/// A person who sees the application's end takes it for the end of its pods. Those of a driver that
/// submit made go with the driver's own pod.
bool PodManager::waits_for_pods() const {
  return watch_ != 0 && options_.delete_pods && !options_.collected && !table_.empty();
}

void PodManager::look_whether_over(Effects& out) {
  if (stopping_ == 0 && !waits_for_pods()) over(out);
}

void PodManager::over(Effects& out) {
  phase_ = Phase::Stopped;
  if (watch_) out.push_back(StopWatch{watch_});
  out.push_back(PodsStopped{});
}

}  // namespace tinderbox::core::kubernetes
