#include "tests/sim/checks/pods.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/names.hpp"

namespace tinderbox::sim {

using namespace core::kubernetes;

namespace {

std::string name(int64_t executor) { return "executor " + std::to_string(executor); }

/// Of `PREFIX-exec-N`, and of a claim's `PREFIX-exec-N-pvc-M`. 0: it is another object's.
int64_t executor_in(const std::string& text) {
  const std::string before = "-exec-";
  const size_t at = text.rfind(before);
  return at == text.npos ? 0 : std::atoll(text.c_str() + at + before.size());
}

int64_t number_in(const Json& pod) { return std::atoll(label_of(pod, kExecutorLabel).c_str()); }

/// As a query for the pod of one executor says it. 0: it is none.
int64_t executor_chosen(const std::string& path) {
  const std::string label = std::string(kExecutorLabel) + "%3D";
  const size_t at = path.find(label);
  return at == path.npos ? 0 : std::atoll(path.c_str() + at + label.size());
}

bool on_pods(const ApiRequest& r) { return r.path.find("/pods") != r.path.npos; }
bool on_many(const ApiRequest& r) { return r.path.find('?') != r.path.npos; }
/// Whose pod or claim the object is. 0: it is neither.
int64_t executor_of(const Json& object) {
  return object.at("kind") == "ConfigMap" ? 0 : executor_in(object.at("metadata").at("name"));
}
bool lists(const ApiRequest& r) { return r.method == "GET" && on_many(r); }

}  // namespace

std::string label_of(const Json& object, std::string_view label) {
  const Json& metadata = object.at("metadata");
  const auto labels = metadata.find("labels");
  return labels == metadata.end() ? "" : labels->value(std::string(label), "");
}

std::vector<std::string> claims_of(const Json& pod) {
  std::vector<std::string> claims;
  for (const Json& volume : pod.at("spec").value("volumes", Json::array()))
    if (volume.contains("persistentVolumeClaim"))
      claims.push_back(volume["persistentVolumeClaim"]["claimName"]);
  return claims;
}

// ---- what there is -----------------------------------------------------------------------------

/// An answer may get lost, and the pod be gone when the next try comes, on its way since nobody
/// knew of any: then there is another one of that number, which is to go as soon as it is shown.
void PodChecks::made(const Json& pod, const std::vector<const Json*>& others) {
  const int64_t executor = number_in(pod);
  const bool earlier = there_.contains(executor);
  there_[executor] = {};
  there_[executor].earlier = earlier;
  for (const std::string& claim : claims_of(pod)) {
    if (executor_in(claim) != executor) checks_.reached(Path::ClaimReused);
    for (const Json* other : others)
      if (other != &pod && !earlier && !there_[number_in(*other)].earlier &&
          std::ranges::count(claims_of(*other), claim))
        broken("a claim given twice", claim + " of " + name(executor));
  }
}

void PodChecks::ended(int64_t executor, int32_t code) {
  There& there = there_[executor];
  if (!there.leaves && !there.gone) there.code = code;
}

// ---- what the machine is told ------------------------------------------------------------------

void PodChecks::wanted(const std::map<int32_t, int32_t>& totals) {
  totals_ = totals;
  for (const auto& [profile, total] : totals) most_[profile] = std::max(most_[profile], total);
}

void PodChecks::shown(const PodView& pod, bool deleted) {
  version_ = pod.resource_version;
  const auto at = known_.find(std::atoll(pod.label(kExecutorLabel).c_str()));
  if (at == known_.end()) return;
  Known& known = at->second;
  known.profile = std::atoi(pod.label(kProfileLabel).c_str());
  known.stuck = known.stuck || waits_in_vain(pod);
  const bool over = deleted || !pod.deletion_time.empty() || pod.phase == "Failed" ||
                    pod.phase == "Succeeded" || known.state == State::Over;
  if (pod.phase == "Failed" && pod.deletion_time.empty() && !deleted && pod.reason != "Evicted")
    known.failed = true;
  known.state = over ? State::Over : pod.phase == "Running" ? State::Running : State::Pending;
}

void PodChecks::listed(const ApiAnswered& answer) {
  const Json body = Json::parse(answer.body);
  std::set<int64_t> there;
  for (const Json& item : body["items"]) {
    const PodView pod = read_pod(item);
    there.insert(std::atoll(pod.label(kExecutorLabel).c_str()));
    shown(pod, false);
  }
  for (auto& [executor, known] : known_)
    if (known.state != State::Asked && !there.contains(executor)) known.state = State::Over;
  version_ = body["metadata"]["resourceVersion"];
}

void PodChecks::watch_ended(int status) {
  watching_ = false;
  if (status != 410) return;
  may_list_ = true;
  checks_.reached(Path::PodsListedAgain);
}

void PodChecks::answered(const ApiRequest& request, const ApiAnswered& answer) {
  if (lists(request)) {
    if (answer.ok()) return listed(answer);
    may_list_ = true;
    return;
  }
  const bool looks = request.method == "GET" && on_pods(request);
  if (answer.ok() || answer.status == 409 || (request.method != "POST" && !looks)) return;
  const int64_t executor =
      looks ? executor_in(request.path) : executor_of(Json::parse(request.body));
  const auto at = known_.find(executor);
  if (at == known_.end()) return;
  // One that is tried again counts all the while; it is no matter if it does not here.
  if (at->second.state == State::Asked) at->second.condemned = true;
}

// ---- what it does ------------------------------------------------------------------------------

void PodChecks::asks(const ApiRequest& r) {
  if (lists(r) && settings_.watch) {
    if (!may_list_) broken("pods were listed without need", r.path);
    may_list_ = false;
  }
  const int64_t chosen = executor_chosen(r.path);
  if (on_many(r) && chosen == 0) return;
  if (r.method == "DELETE" && on_pods(r)) {
    Known& known = known_[chosen > 0 ? chosen : executor_in(r.path)];
    if (known.state == State::Asked || known.state == State::Pending)
      checks_.reached(Path::IdlePodRemoved);
    known.condemned = true;
  }
  if (r.method != "POST") return;
  const Json object = Json::parse(r.body);
  const int64_t executor = executor_of(object);
  if (executor == 0) return;
  const bool pod = object["kind"] == "Pod";
  if (const auto at = known_.find(executor); pod && at != known_.end() && at->second.heard_of())
    broken("an executor's pod was asked for again", name(executor));
  mention(executor, pod ? std::stoi(label_of(object, kProfileLabel)) : kUnknown);
}

void PodChecks::mention(int64_t executor, int32_t profile) {
  const auto at = known_.find(executor);
  if (at != known_.end()) {
    if (profile != kUnknown) at->second.profile = profile;
    return;
  }
  if (!known_.empty() && known_.rbegin()->first > executor)
    broken("an executor's number was given again", name(executor));
  known_[executor].profile = profile;
  begun_now_.insert(executor);
}

/// Limits hold at the end of a turn: what is deleted in it leaves room for others.
void PodChecks::turn_ended(Time now) {
  const std::set<int64_t> begun = std::exchange(begun_now_, {});
  if (!begun.empty()) {
    if (last_batch_ && now - *last_batch_ < settings_.batch_delay)
      broken("a batch of pods came too early", name(*begun.begin()));
    last_batch_ = now;
    std::map<int32_t, Load> loads;
    Load all;
    for (const auto& [executor, known] : known_) {
      for (Load* load : {&loads[known.profile], &all}) {
        load->all += known.counts();
        load->waiting += known.waits();
        load->begun += begun.contains(executor);
        load->unseen += known.unseen() && !begun.contains(executor);
      }
    }
    if (all.waiting > settings_.max_pending)
      broken("too many pods are pending", std::to_string(all.waiting));
    if (all.waiting == settings_.max_pending) checks_.reached(Path::PendingLimited);
    for (const auto& [profile, load] : loads)
      if (profile != kUnknown && load.begun > 0) within_limits(profile, load);
  }
  most_ = totals_;
}

void PodChecks::within_limits(int32_t profile, const Load& load) const {
  const auto most = most_.find(profile);
  const int32_t wanted = most == most_.end() ? 0 : most->second;
  const std::string of = " of profile " + std::to_string(profile);
  if (load.all > wanted)
    broken("more executors than wanted",
           std::to_string(load.all) + of + ", " + std::to_string(wanted) + " are wanted");
  if (load.waiting > settings_.max_pending_per_profile)
    broken("too many pods are pending", std::to_string(load.waiting) + of);
  if (load.unseen > 0)
    broken("a batch of pods began before the last was seen", std::to_string(load.unseen) + of);
  if (load.begun > settings_.batch_size)
    broken("a batch of pods was too large", std::to_string(load.begun) + of);
}

void PodChecks::watches(const WatchApi& watch) {
  if (watching_) broken("pods are watched twice", watch.path);
  watching_ = true;
  if (!watch.path.ends_with("&resourceVersion=" + version_))
    broken("a watch went on elsewhere", watch.path + ", not from " + version_);
}

void PodChecks::tells(const PodGone& e) {
  const int64_t executor = number_of(e.executor);
  if (std::exchange(known_[executor].told, true))
    broken("an executor's end was told twice", name(executor));
  const auto at = there_.find(executor);
  if (at == there_.end()) broken("the end of an executor that never was", name(executor));
  const There& there = at->second;
  if (e.exit_code && there.code != e.exit_code)
    broken("an executor's end with a wrong reason",
           name(executor) + " with exit code " + std::to_string(*e.exit_code));
  if (!e.exit_code && !there.leaves && !there.gone && !there.earlier && !there.evicted)
    broken("an executor was told to be deleted that is not", name(executor));
  if (!e.exit_code) checks_.reached(Path::PodDeletedTold);
}

void PodChecks::tells(const PodLeaving& e) {
  const int64_t executor = number_of(e.executor);
  if (!settings_.decommission || !there_[executor].leaves)
    broken("an executor leaves that does not", name(executor));
  if (std::exchange(known_[executor].told_leaving, true))
    broken("an executor leaves twice", name(executor));
  checks_.reached(Path::PodLeavingTold);
}

/// Failures are what the machine was shown: an own end, or a pod that can't begin.
void PodChecks::tells(const PodsGiveUp& e) {
  const auto count = [&](auto what) {
    return static_cast<int32_t>(
        std::ranges::count_if(known_, [&](const auto& k) { return k.second.*what; }));
  };
  if (e.reason.starts_with("Max number of executor failures")) {
    if (count(&Known::failed) + count(&Known::stuck) <= settings_.max_failures)
      broken("given up too early", e.reason);
    return checks_.reached(Path::TooManyExecutorsFailed);
  }
  if (e.reason.find("cannot start") == e.reason.npos || served_ || count(&Known::stuck) == 0)
    broken("given up without a reason", e.reason);
}

}  // namespace tinderbox::sim
