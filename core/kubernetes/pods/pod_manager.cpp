#include "core/kubernetes/pods/pod_manager.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "conf/keys.hpp"
#include "core/kubernetes/names.hpp"
#include "core/status/exit_codes.hpp"

namespace tinderbox::core::kubernetes {
namespace {

using Kind = PodTimer::Kind;

constexpr int kForbidden = 403, kNotFound = 404, kConflict = 409, kGone = 410;
constexpr int kTries = 8;
constexpr Duration kFirstPause = std::chrono::milliseconds(200);
constexpr Duration kLongestPause = std::chrono::seconds(30);
constexpr Duration kLook = std::chrono::milliseconds(100);  // between looks at the driver's own pod
constexpr Duration kStopPatience = std::chrono::seconds(5);
constexpr uint64_t kWatchTickets = uint64_t{1} << 63;

/// 0: it is no number.
int64_t number_of(const ExecutorId& id) {
  int64_t number = 0;
  std::from_chars(id.value.data(), id.value.data() + id.value.size(), number);
  return number;
}

ExecutorId id_of(int64_t number) { return {std::to_string(number)}; }

std::string config_map_name(const AppNames& names) {
  return "spark-exec-" + names.unique + "-conf-map";
}

}  // namespace

PodManagerOptions pod_manager_options(const conf::Conf& conf) {
  PodManagerOptions o;
  o.allocator = allocator_options(conf);
  o.failures = failure_options(conf);
  o.watch = conf.get(conf::kKubernetesWatcher);
  o.poll = conf.get(conf::kKubernetesPolling);
  o.polling_interval = conf.get(conf::kKubernetesPollingInterval);
  o.list_from_cache = conf.get(conf::kKubernetesListFromCache);
  o.missing_delta = conf.get(conf::kKubernetesMissingDelta);
  o.check_all_containers = conf.get(conf::kKubernetesCheckContainers);
  o.delete_pods = conf.get(conf::kKubernetesDeletePods);
  o.delete_grace = conf.get(conf::kKubernetesDeleteGrace);
  o.patience = conf.get(conf::kKubernetesPatience);
  if (!conf.get(conf::kKubernetesDriverPodIp))
    o.readiness_timeout = conf.get(conf::kKubernetesReadinessTimeout);
  o.own_claims = conf.get(conf::kKubernetesOwnClaims);
  o.reuse_claims = conf.get(conf::kKubernetesReuseClaims);
  o.delete_service = conf.get(conf::kKubernetesServiceDelete);
  o.decommission_label = conf.get(conf::kKubernetesDecommissionLabel).value_or("");
  o.decommission_label_value = conf.get(conf::kKubernetesDecommissionLabelValue).value_or("");
  return o;
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
// -------------------------------------------------------------------------------

void PodManager::on(const StartPods&, Effects& out) {
  started_ = now_;
  if (options_.executors.driver_pod.empty()) return make_config_map(out);
  look_at_driver_pod(out);
}

void PodManager::look_at_driver_pod(Effects& out) {
  ask({Asked::What::DriverPod, 0, 0, 0,
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
  if (x.conf.get(conf::kKubernetesNoExecutorConfigMap)) return list(out);
  const std::string name = config_map_name(x.names);
  Json map = config_map(name, x.names, "executor", x.conf,
                        {{"spark.kubernetes.namespace", x.names.name_space}}, options_.conf_files);
  if (!x.driver_uid.empty()) set_owner(map, x.driver_pod, x.driver_uid);
  options_.executors.config_map = name;
  ask({Asked::What::ConfigMap, 0, 0, 0, create_object(x.names.name_space, map)}, out);
}

std::string PodManager::pods_path() const {
  const AppNames& names = options_.executors.names;
  return api_path(names.name_space, "pods") +
         "?labelSelector=" + selector({{kAppLabel, names.app_id}, {kRoleLabel, "executor"}});
}

void PodManager::list(Effects& out) {
  ask({Asked::What::List, 0, 0, 0,
       get_object(pods_path() + (options_.list_from_cache ? "&resourceVersion=0" : ""))},
      out);
}

void PodManager::listed(const ApiAnswered& e, Effects& out) {
  const Json body = Json::parse(e.body, nullptr, false);
  if (!e.ok() || !body.is_object()) {
    if (phase_ == Phase::Starting)
      return give_up(kExitFailure, "Cannot list the executors' pods: " + failure(e), out);
    return watch_later(out);
  }
  version_ = body.value("metadata", Json::object()).value("resourceVersion", "");
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
void PodManager::watch_later(Effects& out) {
  const Duration longest =
      std::min(kLongestPause, kFirstPause * (1 << std::min(watch_failures_++, 8)));
  timer(Kind::Watch, jittered(longest), out);
}

void PodManager::on(const WatchBookmark& e, Effects&) {
  if (e.ticket != watch_) return;
  version_ = e.resource_version;
  watch_failures_ = 0;
}

void PodManager::on(const WatchEnded& e, Effects& out) {
  if (e.ticket != watch_ || phase_ != Phase::Running) return;
  watch_ = 0;
  if (e.status == kForbidden)
    return give_up(kExitFailure, "Cannot watch the executors' pods: " + e.error, out);
  if (e.status == kGone) version_.clear();
  if (!e.error.empty())
    out.push_back(
        Log{Level::Info, "The watch of executors' pods ended, it begins again: " + e.error});
  watch_later(out);
}

// ---- requests
// ------------------------------------------------------------------------------------

void PodManager::ask(Asked asked, Effects& out) {
  ++asked.tries;
  const uint64_t ticket = ++tickets_;
  out.push_back(CallApi{ticket, asked.request});
  asked_[ticket] = std::move(asked);
}

/// Whether the same is asked again later: no answer came, or the server had a bad moment.
bool PodManager::ask_again(Asked& asked, const ApiAnswered& e, Effects& out) {
  if ((e.status != 0 && e.status < 500) || asked.tries >= kTries || phase_ == Phase::Stopping)
    return false;
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
  if (phase_ == Phase::Stopping && asked.what != Asked::What::Stop) return;
  switch (asked.what) {
    case Asked::What::DriverPod:
      return driver_pod_answered(e, out);
    case Asked::What::ConfigMap:
      // An answer that got lost before may have made it.
      if (!e.ok() && e.status != kConflict)
        return give_up(kExitFailure, "Cannot create the executors' config map: " + failure(e), out);
      return list(out);
    case Asked::What::List:
      return listed(e, out);
    case Asked::What::CreatePod:
      return pod_answered(asked, e, out);
    case Asked::What::CreateClaim:
      if (!e.ok() && e.status != kConflict) creation_refused(asked, e, out);
      return;
    case Asked::What::Delete:
      if (!e.ok() && e.status != kNotFound && e.status != kConflict)
        out.push_back(Log{Level::Warn, "Cannot delete a pod: " + failure(e)});
      return;
    case Asked::What::Stop:
      if (!e.ok() && e.status != kNotFound)
        out.push_back(Log{Level::Warn, "Cannot clean up: " + failure(e)});
      return stop_answered(out);
  }
}

// ---- how many
// ------------------------------------------------------------------------------------

void PodManager::on(const WantPods& e, Effects& out) {
  allocator_.want(e.totals);
  for (const ProfileSpec& p : e.profiles) profiles_[p.profile] = p;
  hosts_ = e.hosts;
  allocate(out);
}

void PodManager::on(const ExecutorRegistered& e, Effects& out) {
  const int64_t number = number_of(e.executor);
  registered_[number] = {now_};
  allocator_.registered(number);
  failures_.served();
  served_ = true;
  held("", out);
}

void PodManager::on(const ExecutorLeft& e, Effects&) {
  const int64_t number = number_of(e.executor);
  registered_.erase(number);
  allocator_.left(number);
}

/// Batches begin at least batch_delay apart.
void PodManager::allocate(Effects& out) {
  if (phase_ != Phase::Running) return;
  if (now_ < next_batch_) {
    if (batch_timer_ == 0) batch_timer_ = timer(Kind::Batch, next_batch_ - now_, out);
    return;
  }
  const Allocator::Step step = allocator_.step(table_, now_);
  for (const Allocator::Create& what : step.create) create_pod(what, out);
  delete_pods(step.remove, out);
  delete_pods(step.give_up, out);
  for (const int64_t executor : step.give_up)
    out.push_back(Log{Level::Warn, "The pod of executor " + std::to_string(executor) +
                                       " was requested, but the API server never showed it"});
  if (step.exhausted)
    held("no more than " + std::to_string(allocator_.created()) +
             " executor pods may be created (spark.kubernetes.allocation.maximum)",
         out);
  if (!step.create.empty()) {
    next_batch_ = now_ + options_.allocator.batch_delay;
    out.push_back(Log{Level::Info, "Going to request " + std::to_string(step.create.size()) +
                                       " executors from Kubernetes, up to number " +
                                       std::to_string(allocator_.created())});
  }
  // What ages without any event: pods that are idle or never shown.
  if (batch_timer_ == 0 && (!step.create.empty() || allocator_.outstanding() > 0))
    batch_timer_ = timer(Kind::Batch, options_.allocator.batch_delay, out);
}

NodeWeights PodManager::node_weights() const {
  NodeWeights nodes;
  for (const auto& [host, tasks] : hosts_) {
    std::string node = host;
    for (const auto& [number, pod] : table_)
      if (pod.ip == host && !pod.node.empty()) node = pod.node;
    nodes[node] += tasks;
  }
  return nodes;
}

void PodManager::create_pod(const Allocator::Create& what, Effects& out) {
  ProfileSpec profile = profiles_[what.profile];
  profile.profile = what.profile;
  std::vector<Json> objects =
      executor_objects(options_.executors, std::to_string(what.executor), profile, node_weights());
  const ExecutorInput& x = options_.executors;
  for (size_t i = 1; i < objects.size(); ++i) {
    if (options_.own_claims && !x.driver_uid.empty())
      set_owner(objects[i], x.driver_pod, x.driver_uid);
    ask({Asked::What::CreateClaim, what.executor, what.profile, 0,
         create_object(x.names.name_space, objects[i])},
        out);
  }
  ask({Asked::What::CreatePod, what.executor, what.profile, 0,
       create_object(x.names.name_space, objects[0])},
      out);
}

void PodManager::pod_answered(const Asked& asked, const ApiAnswered& e, Effects& out) {
  // It is there already if an answer got lost: names have a number that is never used twice.
  if (!e.ok() && e.status != kConflict) creation_refused(asked, e, out);
}

void PodManager::creation_refused(const Asked& asked, const ApiAnswered& e, Effects& out) {
  const std::string why =
      "cannot create the pod of executor " + std::to_string(asked.executor) + ": " + failure(e);
  allocator_.not_created(asked.executor);
  failures_.failed(false, now_);
  next_batch_ = std::max(next_batch_, now_ + failures_.pause());
  held(why, out);
  const bool quota = e.status == kForbidden && why.find("exceeded quota") != std::string::npos;
  const bool passes = quota || e.status == 0 || e.status >= 500 || e.status == 429;
  // What is forbidden or invalid stays so.
  if (!passes) return give_up(kExitExecutorFailures, "Kubernetes: " + why, out);
  allocate(out);
}

void PodManager::delete_pods(const std::vector<int64_t>& executors, Effects& out) {
  for (const int64_t executor : executors) {
    const auto entry = table_.find(executor);
    const std::string name = entry != table_.end()
                                 ? entry->second.name
                                 : executor_pod_name(options_.executors, std::to_string(executor));
    const std::string uid = entry != table_.end() ? entry->second.uid : "";
    ask({Asked::What::Delete, executor, 0, 0,
         delete_object(api_path(options_.executors.names.name_space, "pods", name), uid)},
        out);
  }
}

/// It has a while to end by itself.
void PodManager::on(const EndPod& e, Effects& out) {
  const int64_t number = number_of(e.executor);
  told_.insert(number);  // the driver knows why
  if (table_.contains(number)) ending_[timer(Kind::EndPod, options_.delete_grace, out)] = number;
}

// ---- what pods do
// --------------------------------------------------------------------------------

void PodManager::on(const PodChanged& e, Effects& out) {
  if (e.ticket != watch_) return;
  version_ = e.pod.resource_version;
  watch_failures_ = 0;
  take(e.pod, e.deleted, out);
  if (phase_ == Phase::Running) allocate(out);
}

void PodManager::take(const PodView& pod, bool deleted, Effects& out) {
  const auto number = executor_number(pod);
  if (!number || pod.label(kInactiveLabel) == "true") return;
  allocator_.seen(*number);
  const PodState state = deleted ? PodState::Deleted : state_of(pod, options_.check_all_containers);
  PodEntry& entry = table_[*number];
  const PodState before = entry.state;
  if (entry.created == Time{}) entry.created = now_;
  entry.state = has_ended(before) && !has_ended(state) ? before : state;
  entry.name = pod.name;
  entry.uid = pod.uid;
  if (!pod.node.empty()) entry.node = pod.node;
  if (!pod.pod_ip.empty()) entry.ip = pod.pod_ip;
  const std::string profile = pod.label(kProfileLabel);
  std::from_chars(profile.data(), profile.data() + profile.size(), entry.profile);
  if (entry.state == PodState::Pending)
    look_for_trouble(*number, pod, out);
  else
    in_vain_.erase(*number), reasons_.erase(*number);
  if (state == PodState::Terminating && before == PodState::Running)
    out.push_back(PodLeaving{
        id_of(*number),
        "Its pod is being deleted" + (pod.disruption.empty() ? "" : ": " + pod.disruption)});
  if (has_ended(entry.state)) ended(*number, pod, entry.state, out);
  if (deleted) {
    allocator_.gone(*number);
    table_.erase(*number);
  }
}

/// Told once. The pod goes afterwards, or is marked as done with.
void PodManager::ended(int64_t executor, const PodView& pod, PodState state, Effects& out) {
  const bool news = told_.insert(executor).second;
  if (state == PodState::Deleted) {
    if (news)
      out.push_back(PodGone{id_of(executor), std::nullopt,
                            "The executor with id " + std::to_string(executor) +
                                " was deleted by a user or the framework."});
    return;
  }
  const std::string message = end_message(pod, executor);
  if (news) out.push_back(PodGone{id_of(executor), exit_code_of(pod), message});
  if (news && state == PodState::Failed) count_failure(executor, message, out);
  if (!pod.deletion_time.empty()) return;
  if (options_.delete_pods) return delete_pods({executor}, out);
  const Json inactive = {{"metadata", {{"labels", {{std::string(kInactiveLabel), "true"}}}}}};
  ask({Asked::What::Delete, executor, 0, 0,
       patch_object(api_path(options_.executors.names.name_space, "pods", pod.name), inactive)},
      out);
}

void PodManager::count_failure(int64_t executor, const std::string& reason, Effects& out) {
  failures_.failed(registered_.contains(executor), now_);
  next_batch_ = std::max(next_batch_, now_ + failures_.pause());
  const std::string line = reason.substr(0, reason.find('\n'));
  if (!served_) held(line, out);
  if (failures_.too_many(now_))
    give_up(kExitExecutorFailures,
            "Max number of executor failures (" + std::to_string(options_.failures.max_failures) +
                ") reached; the last one: " + line,
            out);
}

void PodManager::look_for_trouble(int64_t executor, const PodView& pod, Effects& out) {
  const std::string reason = waiting_reason(pod);
  if (reason.empty()) {
    in_vain_.erase(executor);
    reasons_.erase(executor);
    return;
  }
  reasons_[executor] = reason;
  held("the pod of executor " + std::to_string(executor) + " cannot start: " + reason, out);
  if (!waits_in_vain(pod))
    in_vain_.erase(executor);
  else if (!in_vain_.contains(executor))
    in_vain_[executor] = timer(Kind::Patience, options_.patience, out);
}

/// Source: Spark 4.3 ExecutorPodsLifecycleManager.onNewSnapshots, its second half.
void PodManager::look_for_missing(Effects& out) {
  std::vector<int64_t> missing;
  for (const auto& [number, r] : registered_)
    if (!table_.contains(number) && !told_.contains(number) &&
        now_ - r.since > options_.missing_delta)
      missing.push_back(number);
  const auto ms = [](Time t) { return std::to_string(epoch_millis(t)) + " ms"; };
  for (const int64_t number : missing) {
    told_.insert(number);
    out.push_back(PodGone{
        id_of(number), std::nullopt,
        "The executor with ID " + std::to_string(number) + " (registered at " +
            ms(registered_[number].since) + ") was not found in the cluster at the polling time (" +
            ms(now_) + ") which is after the accepted detect delta time (" +
            std::to_string(options_.missing_delta.count() / 1000) +
            " ms) configured by `spark.kubernetes.executor.missingPodDetectDelta`. The executor "
            "may "
            "have been deleted but the driver missed the deletion event. Marking this executor as "
            "failed."});
  }
}

void PodManager::held(const std::string& reason, Effects& out) {
  if (reason == held_) return;
  held_ = reason;
  if (!reason.empty()) out.push_back(Log{Level::Warn, reason});
  out.push_back(PodsHeld{reason});
}

void PodManager::give_up(int32_t code, const std::string& reason, Effects& out) {
  if (phase_ == Phase::Stopping) return;
  out.push_back(PodsGiveUp{code, reason});
}

// ---- time
// ----------------------------------------------------------------------------------------

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
      return version_.empty() ? list(out) : watch(out);
    case Kind::Poll:
      return list(out);
    case Kind::Readiness:
      return look_at_driver_pod(out);
    case Kind::Create: {
      const auto found = later_.find(e.id);
      Asked asked = std::move(found->second);
      later_.erase(found);
      return ask(std::move(asked), out);
    }
    case Kind::Patience:
      for (const auto& [executor, id] : in_vain_)
        if (id == e.id) {
          const std::string why = "the pod of executor " + std::to_string(executor) +
                                  " cannot start: " + reasons_[executor];
          if (!served_) return give_up(kExitExecutorFailures, "Kubernetes: " + why, out);
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
      stopping_ = 0;
      phase_ = Phase::Stopped;
      out.push_back(PodsStopped{});
  }
}

// ---- the end
// -------------------------------------------------------------------------------------

/// Source: Spark 4.3 KubernetesClusterSchedulerBackend.stop.
void PodManager::on(const StopPods&, Effects& out) {
  if (phase_ == Phase::Stopping) return;
  const bool begun = phase_ == Phase::Running;
  phase_ = Phase::Stopping;
  if (watch_) out.push_back(StopWatch{watch_});
  const ExecutorInput& x = options_.executors;
  const auto collection = [&](const char* kind, bool executors_only) {
    const std::string app = "?labelSelector=";
    const std::string path =
        api_path(x.names.name_space, kind) + app +
        (executors_only ? selector({{kAppLabel, x.names.app_id}, {kRoleLabel, "executor"}})
                        : selector({{kAppLabel, x.names.app_id}}));
    ++stopping_;
    ask({Asked::What::Stop, 0, 0, 0, delete_all(path)}, out);
  };
  if (options_.delete_service && !x.driver_uid.empty()) collection("services", false);
  if (options_.own_claims) collection("persistentvolumeclaims", false);
  if (begun && options_.delete_pods) collection("pods", true);
  if (!x.config_map.empty()) collection("configmaps", true);
  timer(Kind::Stop, kStopPatience, out);
  if (stopping_ == 0) stop_answered(out);
}

void PodManager::stop_answered(Effects& out) {
  if (stopping_ > 0) --stopping_;
  if (stopping_ > 0) return;
  phase_ = Phase::Stopped;
  out.push_back(PodsStopped{});
}

}  // namespace tinderbox::core::kubernetes
