#include "tests/sim/managers/nodes.hpp"

#include <algorithm>

#include "core/deploy/kubernetes/names.hpp"
#include "core/status/exit_codes.hpp"

namespace tinderbox::sim {

using namespace core::kubernetes;

namespace {

constexpr Duration kAgain = 500ms;  // between looks for a place or an image
constexpr int kKilled = 137, kTerminated = 143;

Json container(const Json& state) {
  return Json::array({{{"name", "spark-kubernetes-executor"}, {"state", state}}});
}

Json waiting(const std::string& reason) {
  return container({{"waiting", {{"reason", reason}, {"message", "not there"}}}});
}

ExecutorHas has(const Json& pod) {
  ExecutorHas has{std::stoi(label_of(pod, kProfileLabel)), {}};
  const Json limits = pod.at("spec")
                          .at("containers")[0]
                          .value("resources", Json::object())
                          .value("limits", Json::object());
  const std::string gpus = limits.value("tinderbox/gpu", "0");
  for (int i = 0; i < std::stoi(gpus); ++i) has.resources[kGpu].push_back(std::to_string(i));
  return has;
}

}  // namespace

void Nodes::later(const std::string& uid, Duration delay, std::function<void(Life&)> step) {
  in_.world.after(nullptr, delay, [this, uid, step = std::move(step)] {
    const auto life = lives_.find(uid);
    if (life != lives_.end()) step(life->second);
  });
}

bool Nodes::lost(const std::string& node) const {
  const auto until = down_.find(node);
  return until != down_.end() && until->second > in_.world.now();
}

// ---- a pod's way to a node ---------------------------------------------------------------------

void Nodes::pod_made(const Json& pod) {
  if (label_of(pod, kRoleLabel) != "executor") return;
  const std::string uid = text_of(pod, "uid");
  lives_[uid] = {text_of(pod, "name"), uid, "", nullptr, false, false, no_image_until_};
  later(uid, in_.world.random().long_tailed(settings().place_delay),
        [this](Life& life) { place(life); });
}

/// As the default scheduler does it: it tries again, and says so once.
void Nodes::place(Life& life) {
  const Json* const pod = object(life);
  if (pod->at("metadata").contains("deletionTimestamp")) return;
  const bool full = full_until_ > in_.world.now();
  if (full) in_.checks.reached(Fault::Kind::NodesFull);
  const std::string node = choose_node();
  if (full || node.empty())
    return refuse_place(life, "0/3 nodes are available: 3 Insufficient cpu.");
  if (!claims_there(*pod)) return refuse_place(life, "persistentvolumeclaim not found");
  life.node = node;
  server_.change(life.name, [&](Json& p) {
    p["spec"]["nodeName"] = node;
    p["status"]["conditions"] = Json::array({{{"type", "PodScheduled"}, {"status", "True"}}});
  });
  later(life.uid, in_.world.random().long_tailed(in_.settings.start_delay),
        [this](Life& l) { begin(l); });
}

/// Empty: there is none.
std::string Nodes::choose_node() const {
  std::vector<std::string> nodes;
  for (int32_t i = 0; i < scenario_.hosts; ++i) {
    const std::string node = host_name(scenario_, i);
    const auto cordon = cordoned_.find(node);
    const bool open = cordon == cordoned_.end() || cordon->second <= in_.world.now();
    if (open && !lost(node)) nodes.push_back(node);
  }
  if (nodes.empty()) return {};
  return nodes[static_cast<size_t>(
      in_.world.random().between(0, static_cast<int64_t>(nodes.size()) - 1))];
}

bool Nodes::claims_there(const Json& pod) const {
  for (const std::string& claim : claims_of(pod))
    if (!server_.has(collection("persistentvolumeclaims"), claim)) return false;
  return true;
}

void Nodes::refuse_place(Life& life, const std::string& why) {
  in_.checks.reached(Path::PodUnschedulable);
  const Json* const pod = object(life);
  if (!pod->at("status").contains("conditions"))
    server_.change(life.name, [&](Json& p) {
      p["status"]["conditions"] = Json::array({{{"type", "PodScheduled"},
                                                {"status", "False"},
                                                {"reason", "Unschedulable"},
                                                {"message", why}}});
    });
  later(life.uid, kAgain, [this](Life& l) { place(l); });
}

// ---- a kubelet's work --------------------------------------------------------------------------

void Nodes::begin(Life& life) {
  const Json* const pod = object(life);
  if (pod->at("metadata").contains("deletionTimestamp") || forsaken_.contains(life.uid)) return;
  if (life.image_from > in_.world.now()) return wait_for_image(life);
  const std::string id = label_of(*pod, kExecutorLabel), uid = life.uid;
  life.executor = &fleet_.start(in_.application.id, id, life.node, has(*pod),
                                [this, uid](int code, const std::string&) {
                                  const auto at = lives_.find(uid);
                                  if (at != lives_.end()) ended(at->second, code);
                                });
  server_.change(life.name, [&](Json& p) {
    p["status"]["phase"] = "Running";
    p["status"]["podIP"] = life.node;  // it uses its node's network
    p["status"]["containerStatuses"] = container({{"running", {{"startedAt", "now"}}}});
  });
}

/// ErrImagePull and ImagePullBackOff take turns.
void Nodes::wait_for_image(Life& life) {
  in_.checks.reached(Fault::Kind::ImageMissing);
  const Json* const pod = object(life);
  if (!pod->at("status").contains("containerStatuses"))
    server_.change(life.name,
                   [](Json& p) { p["status"]["containerStatuses"] = waiting("ErrImagePull"); });
  else
    server_.change(life.name, [back = in_.world.random().chance(500)](Json& p) {
      p["status"]["containerStatuses"] = waiting(back ? "ImagePullBackOff" : "ErrImagePull");
    });
  later(life.uid, kAgain * 10, [this](Life& l) { begin(l); });
}

void Nodes::ended(Life& life, int code) {
  life.ended = true;
  if (forsaken_.contains(life.uid)) return;
  later(life.uid, reaction(), [this, code](Life& l) { report_end(l, code); });
}

void Nodes::report_end(Life& life, int code) {
  if (forsaken_.contains(life.uid)) return;
  const int64_t executor = std::atoll(label_of(*object(life), kExecutorLabel).c_str());
  life.evicted ? checks_.evicted(executor) : checks_.ended(executor, code);
  const std::string why = code == 0 ? "Completed" : code == kKilled ? "OOMKilled" : "Error";
  server_.change(life.name, [&](Json& p) {
    Json& status = p["status"];
    status["phase"] = code == 0 ? "Succeeded" : "Failed";
    status["containerStatuses"] =
        container({{"terminated", {{"exitCode", code}, {"reason", why}}}});
    if (life.evicted) {
      status["reason"] = "Evicted";
      status["message"] = "The node was low on resource: memory.";
    }
  });
  if (object(life)->at("metadata").contains("deletionTimestamp"))
    later(life.uid, reaction(), [this](Life& l) { server_.remove_pod(l.name); });
}

void Nodes::pod_leaves(const Json& pod, int64_t grace) {
  const auto at = lives_.find(text_of(pod, "uid"));
  if (at == lives_.end() || forsaken_.contains(at->first)) return;
  later(at->first, reaction(), [this, grace](Life& life) { end_soon(life, grace); });
}

/// Whoever runs is told; what ended or never began is only taken away.
void Nodes::end_soon(Life& life, int64_t grace) {
  if (forsaken_.contains(life.uid)) return;
  if (!life.executor || !life.executor->alive()) {
    const std::string phase = object(life)->at("status").value("phase", "");
    if (life.executor && phase == "Running") return;  // its end is about to be reported
    return server_.remove_pod(life.name);
  }
  if (settings().decommission)
    life.executor->decommission();
  else
    in_.world.after(life.executor->process(), reaction(),
                    [e = life.executor] { e->die(kTerminated, false, "SIGTERM"); });
  in_.world.after(life.executor->process(), std::chrono::seconds(grace),
                  [e = life.executor] { e->die(kKilled, false, "its grace period is over"); });
}

void Nodes::pod_gone(const Json& pod) {
  const auto at = lives_.find(text_of(pod, "uid"));
  if (at == lives_.end()) return;
  forsaken_.erase(at->first);
  lives_.erase(at);
}

// ---- faults ------------------------------------------------------------------------------------

/// After a while the node counts as gone, and its pods with it.
void Nodes::lose(const std::string& host) {
  Random& random = in_.world.random();
  down_[host] = in_.world.now() + random.between(Duration{1s}, Duration{20s});
  std::vector<std::string> there;
  for (const auto& [uid, life] : lives_)
    if (life.node == host) there.push_back(uid);
  for (const std::string& uid : there) {
    Life& life = lives_.at(uid);
    forsaken_.insert(uid);
    if (life.executor && life.executor->alive()) {
      in_.checks.reached(Path::NodeLost);
      life.executor->die(1, true, "its node is gone");
    }
    const Duration noticed = random.between(Duration{2s}, Duration{40s});
    later(uid, noticed, [this](Life& l) { server_.delete_pod(l.name, "DeletionByTaintManager"); });
    later(uid, noticed + random.between(Duration{1s}, Duration{20s}),
          [this](Life& l) { server_.remove_pod(l.name); });
  }
}

bool Nodes::drain(const std::string& host, Duration length) {
  cordoned_[host] = in_.world.now() + length;
  bool any = false;
  std::vector<std::string> there;
  for (const auto& [uid, life] : lives_)
    if (life.node == host && !forsaken_.contains(uid)) there.push_back(uid);
  for (const std::string& uid : there) {
    const Life& life = lives_.at(uid);
    any = any || (life.executor && life.executor->alive());
    server_.delete_pod(life.name, "EvictionByEvictionAPI");
  }
  in_.world.after(nullptr, length, [this, host] { lose(host); });
  return any;
}

/// Null: none fits.
Nodes::Life* Nodes::pick(int32_t target, const std::function<bool(const Life&)>& fits) {
  std::vector<Life*> found;
  for (auto& [uid, life] : lives_)
    if (!forsaken_.contains(uid) && !life.ended && fits(life) &&
        !object(life)->at("metadata").contains("deletionTimestamp"))
      found.push_back(&life);
  return found.empty() ? nullptr : found[static_cast<size_t>(target) % found.size()];
}

bool Nodes::delete_one(int32_t target) {
  const Life* const life = pick(target, [](const Life&) { return true; });
  if (!life) return false;
  const bool evicted = in_.world.random().chance(500);
  server_.delete_pod(life->name, evicted ? "EvictionByEvictionAPI" : "");
  return true;
}

bool Nodes::evict_one(int32_t target) {
  Life* const life = pick(target, [](const Life& l) { return l.executor && l.executor->alive(); });
  if (!life) return false;
  life->evicted = true;
  life->executor->die(kKilled, false, "evicted");
  return true;
}

void Nodes::fill_up(Duration length) { full_until_ = in_.world.now() + length; }
void Nodes::lose_image(Duration length) { no_image_until_ = in_.world.now() + length; }

}  // namespace tinderbox::sim
