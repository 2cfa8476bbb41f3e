// The PodManager's pods: how many, made with their claims, deleted.
#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/pods/pod_manager.hpp"
#include "core/status/exit_codes.hpp"

namespace tinderbox::core::kubernetes {

void PodManager::on(const WantPods& e, Effects& out) {
  allocator_.want(e.totals);
  for (const ProfileSpec& p : e.profiles)
    if (!take_profile(p, out)) return;
  hosts_ = e.hosts;
  allocate(out);
}

/// False: no executor can be made of it, and the application ends.
bool PodManager::take_profile(const ProfileSpec& profile, Effects& out) {
  const auto known = profiles_.find(profile.profile);
  if (known != profiles_.end() && known->second == profile) return true;
  try {
    check_executors(options_, profile);
  } catch (const conf::Error& e) {
    give_up(kExitFailure,
            "no executor of resource profile " + std::to_string(profile.profile) +
                " can be made: " + e.what(),
            out);
    return false;
  }
  profiles_[profile.profile] = profile;
  return true;
}

void PodManager::on(const ExecutorRegistered& e, Effects& out) {
  const int64_t number = number_of(e.executor);
  registered_[number] = now_;
  allocator_.registered(number);
  births_.erase(number);  // it is there, shown or not
  failures_.served();
  served_.insert(number);
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
  if (options_.kind != PodAllocator::Direct) return scale_sets(out);
  if (now_ < next_batch_) {
    if (batch_timer_ == 0) batch_timer_ = timer(PodTimer::Kind::Batch, next_batch_ - now_, out);
    return;
  }
  const Allocator::Step step = allocator_.step(table_, now_);
  const size_t created = create_pods(step.create, out);
  for (const std::vector<int64_t>* removed : {&step.remove, &step.give_up}) {
    for (const int64_t executor : *removed) births_.erase(executor);
    delete_pods(*removed, out);
  }
  for (const int64_t executor : step.give_up)
    out.push_back(Log{Level::Warn, "The pod of executor " + std::to_string(executor) +
                                       " was requested, but the API server never showed it"});
  if (step.exhausted)
    held("no more than " + std::to_string(allocator_.created()) +
             " executor pods may be created (spark.kubernetes.allocation.maximum)",
         out);
  if (!step.create.empty()) {
    next_batch_ = now_ + options_.allocator.batch_delay;
    if (created > 0)
      out.push_back(Log{Level::Info, "Going to request " + std::to_string(created) +
                                         " executors from Kubernetes, up to number " +
                                         std::to_string(allocator_.created())});
  }
  // What ages without any event: pods that are idle or never shown.
  if (batch_timer_ == 0 && (!step.create.empty() || step.too_young || allocator_.outstanding() > 0))
    batch_timer_ = timer(PodTimer::Kind::Batch, options_.allocator.batch_delay, out);
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

/// How many were asked for. The others wait for a claim, and their numbers for them.
size_t PodManager::create_pods(const std::vector<Allocator::Create>& wanted, Effects& out) {
  std::vector<int64_t> waiting;
  for (const Allocator::Create& what : wanted)
    if (!create_pod(what, out)) waiting.push_back(what.executor);
  for (auto number = waiting.rbegin(); number != waiting.rend(); ++number)
    allocator_.not_asked(*number);
  return wanted.size() - waiting.size();
}

/// False: it waits for a claim.
bool PodManager::create_pod(const Allocator::Create& what, Effects& out) {
  ProfileSpec profile = profiles_[what.profile];
  profile.profile = what.profile;
  std::vector<Json> objects =
      executor_objects(options_.executors, std::to_string(what.executor), profile, node_weights());
  if (!settle_claims(what.executor, objects)) {
    held("all " + std::to_string(claims_.count()) +
             " claims are in use (spark.kubernetes.driver.waitToReusePersistentVolumeClaim)",
         out);
    return false;
  }
  container_ = spark_container(objects[0]["spec"]);
  Birth& birth = births_[what.executor];
  birth.pod = objects[0].dump();
  for (size_t i = 1; i < objects.size(); ++i) birth.claims.push_back(objects[i].dump());
  const bool claims_first = driver_owns_claims() && !birth.claims.empty();
  if (claims_first)
    ask_for_claims(what.executor, options_.executors.driver_uid, out);
  else
    ask_for_pod(what.executor, out);
  return true;
}

/// What is left in `objects` must be made. False: there are enough claims, and all are in use.
bool PodManager::settle_claims(int64_t executor, std::vector<Json>& objects) {
  if (!driver_owns_claims() || !options_.reuse_claims) return true;
  const size_t wanted = objects.size() - 1;
  if (wanted > claims_.free() && claims_.count() - claims_.free() + wanted > options_.max_claims)
    return false;
  for (size_t i = objects.size(); i-- > 1;) {
    if (const auto other = claims_.reuse(objects[i], executor)) {
      mount_other_claim(objects[0], objects[i]["metadata"]["name"], *other);
      objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      claims_.add(objects[i], executor);
    }
  }
  return true;
}

void PodManager::ask_for_pod(int64_t executor, Effects& out) {
  const Json pod = Json::parse(std::exchange(births_[executor].pod, {}));
  ask({Asked::What::CreatePod, executor, 0,
       create_object(options_.executors.names.name_space, pod)},
      out);
}

void PodManager::ask_for_claims(int64_t executor, const std::string& owner_uid, Effects& out) {
  Birth& birth = births_[executor];
  const ExecutorInput& x = options_.executors;
  const std::string owner =
      driver_owns_claims() ? x.driver_pod : executor_pod_name(x, std::to_string(executor));
  for (const Bytes& bytes : std::exchange(birth.claims, {})) {
    Json claim = Json::parse(bytes);
    if (!owner_uid.empty()) set_owner(claim, owner, owner_uid);
    ++birth.waiting;
    ask({Asked::What::CreateClaim, executor, 0, create_object(x.names.name_space, claim)}, out);
  }
}

void PodManager::claim_answered(const Asked& asked, const ApiAnswered& e, Effects& out) {
  // One that is there before it was ever asked for is another application's.
  const bool made = e.ok() || (e.status == kConflict && asked.tries > 1);
  // Whatever became of the executor: nobody may be given one that is not there.
  const std::string name = Json::parse(asked.request.body)["metadata"]["name"];
  made ? claims_.made(name) : claims_.drop(name);
  const auto found = births_.find(asked.executor);
  if (found == births_.end()) return;
  Birth& birth = found->second;
  if (!made) {
    const bool pod_there = birth.pod.empty();
    births_.erase(found);
    claims_.release(asked.executor);
    if (pod_there) delete_pods({asked.executor}, out);
    return creation_refused(asked, e, out);
  }
  if (--birth.waiting > 0) return;
  if (!birth.pod.empty()) return ask_for_pod(asked.executor, out);
  births_.erase(found);
}

/// Its answer says so, or the API server shows it before that.
void PodManager::born(int64_t executor, const std::string& uid, Effects& out) {
  const auto found = births_.find(executor);
  if (found == births_.end() || found->second.there || !found->second.pod.empty()) return;
  if (found->second.claims.empty()) {
    births_.erase(found);
    return;
  }
  found->second.there = true;
  ask_for_claims(executor, uid, out);
}

/// A pod that was shown is not made again: by now it may be gone, and its number is used.
bool PodManager::still_wanted(const Asked& asked) const {
  if (asked.what != Asked::What::CreatePod) return true;
  const auto found = births_.find(asked.executor);
  return found != births_.end() && !found->second.there;
}

void PodManager::pod_answered(const Asked& asked, const ApiAnswered& e, Effects& out) {
  made_pods_ |= e.ok();
  if (e.ok() && !table_.contains(asked.executor)) uids_[asked.executor] = uid_of(e.body);
  if (!still_wanted(asked)) return;
  if (e.status == kConflict)
    return ask({Asked::What::FindPod, asked.executor, 0,
                get_object(api_path(options_.executors.names.name_space, "pods",
                                    name_of_pod(asked.executor)))},
               out);
  if (e.ok()) return born(asked.executor, uid_of(e.body), out);
  births_.erase(asked.executor);
  // An earlier try may have made it, though its answer was lost: then it has its claims until it is
  // gone.
  if (asked.tries > 1)
    delete_pods({asked.executor}, out);
  else
    claims_.release(asked.executor);
  creation_refused(asked, e, out);
}

/// A pod of its name is there: ours, if an answer got lost.
void PodManager::pod_found(const Asked& asked, const ApiAnswered& e, Effects& out) {
  const auto birth = births_.find(asked.executor);
  if (birth == births_.end() || birth->second.there) return;
  const PodView pod = read_pod(Json::parse(e.body, nullptr, false));
  const AppNames& names = options_.executors.names;
  if (e.ok() && pod.label(kAppLabel) == names.app_id) {
    uids_[asked.executor] = pod.uid;
    return born(asked.executor, pod.uid, out);
  }
  births_.erase(birth);
  claims_.release(asked.executor);
  if (!e.ok()) return creation_refused(asked, e, out);
  not_created(asked.executor,
              "a pod named " + name_of_pod(asked.executor) + " is in namespace " +
                  names.name_space +
                  " already and is not of this application: choose another "
                  "spark.kubernetes.executor.podNamePrefix",
              false, out);
}

void PodManager::creation_refused(const Asked& asked, const ApiAnswered& e, Effects& out) {
  const std::string why = failure(e);
  // A quota, a server that began again and has not read yet who may do what, or a rule that is new:
  // those that are there go on.
  const bool forbidden =
      e.status == kForbidden && (made_pods_ || why.find("exceeded quota") != std::string::npos);
  // One that was in its way may be gone when it is looked for.
  const bool went = asked.what == Asked::What::FindPod && e.status == kNotFound;
  const bool passes = forbidden || went || e.status == 0 || e.status >= 500 ||
                      e.status == kTooMany || e.status == kUnauthorized;
  not_created(asked.executor, why, passes, out);
}

/// `passes`: it may be created later, under another number.
void PodManager::not_created(int64_t executor, const std::string& reason, bool passes,
                             Effects& out) {
  const std::string why =
      "cannot create the pod of executor " + std::to_string(executor) + ": " + reason;
  allocator_.not_created(executor);
  failures_.refused();
  next_batch_ = std::max(next_batch_, now_ + failures_.pause());
  held(why, out);
  // What is invalid, or was forbidden from the beginning, stays so.
  if (!passes) return give_up(kExitExecutorFailures, "Kubernetes: " + why, out);
  allocate(out);
}

std::string PodManager::name_of_pod(int64_t executor) const {
  const auto entry = table_.find(executor);
  return entry != table_.end() ? entry->second.name
                               : executor_pod_name(options_.executors, std::to_string(executor));
}

/// One whose uid is not known is found by its labels: of its name there may be another
/// application's.
ApiRequest PodManager::deletion_of(int64_t executor) const {
  const AppNames& names = options_.executors.names;
  const auto entry = table_.find(executor);
  const auto made = uids_.find(executor);
  const std::string uid = entry != table_.end() ? entry->second.uid
                          : made != uids_.end() ? made->second
                                                : "";
  if (!uid.empty())
    return delete_object(api_path(names.name_space, "pods", name_of_pod(executor)), uid);
  return delete_all(api_path(names.name_space, "pods") + "?labelSelector=" +
                    selector({{kAppLabel, names.app_id},
                              {kRoleLabel, "executor"},
                              {kExecutorLabel, std::to_string(executor)}}));
}

void PodManager::delete_pods(const std::vector<int64_t>& executors, Effects& out) {
  for (const int64_t executor : executors)
    ask({Asked::What::Delete, executor, 0, deletion_of(executor)}, out);
}

/// Of a pod that was never shown: what it was to mount is free if there is none, and if there is,
/// when it is gone, which may go unseen until the next list.
void PodManager::deletion_answered(int64_t executor, const ApiAnswered& e) {
  if (table_.contains(executor)) return;
  const Json found = Json::parse(e.body, nullptr, false);
  const bool none =
      e.ok() && found.is_object() && found.contains("items") && found["items"].empty();
  if (e.status == kNotFound || none) claims_.release(executor);
  if (!e.ok() || none) return;
  table_[executor].state = PodState::Deleted;
  table_[executor].name = executor_pod_name(options_.executors, std::to_string(executor));
}

/// Source: Spark 4.3 KubernetesClusterSchedulerBackend.labelDecommissioningExecs.
void PodManager::on(const MarkPod& e, Effects& out) {
  const auto pod = table_.find(number_of(e.executor));
  if (pod == table_.end() || !options_.leaving_label) return;
  const auto& [label, value] = *options_.leaving_label;
  change_pod(pod->second.name, {{"labels", {{label, value}}}}, out);
}

/// It has a while to end by itself.
void PodManager::on(const EndPod& e, Effects& out) {
  const int64_t number = number_of(e.executor);
  told_.insert(number);  // the driver knows why
  const auto pod = table_.find(number);
  if (pod == table_.end()) return;
  cheapen(pod->second.name, out);
  ending_[timer(PodTimer::Kind::EndPod, options_.delete_grace, out)] = number;
}

}  // namespace tinderbox::core::kubernetes
