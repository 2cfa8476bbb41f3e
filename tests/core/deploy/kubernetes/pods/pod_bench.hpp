// A PodManager over virtual time, with an API server that says yes unless a test wants otherwise.
#pragma once

#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/pods/pod_manager.hpp"
#include "tests/pch.hpp"

namespace tinderbox::core::kubernetes::test {

inline PodManagerOptions pod_options(const conf::Pairs& more = {}) {
  conf::Pairs pairs = {{"spark.kubernetes.container.image", "app:1"}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  const conf::Conf conf = conf::Conf::of(pairs);
  PodManagerOptions o = pod_manager_options(conf);
  o.executors.conf = conf;
  o.executors.names = {"spark-1", "count", "count-1", "1", "jobs", "ann"};
  o.executors.pod_prefix = "count-1";
  o.executors.driver_pod = "count-driver";
  o.executors.driver_address = "10.0.0.1:7078";
  o.seed = 7;
  return o;
}

inline const std::string kPods = "/api/v1/namespaces/jobs/pods";

/// A PodManager, an API server that says yes, and what both did.
struct PodBench {
  explicit PodBench(PodManagerOptions o = pod_options()) : machine(std::move(o)) {}

  void feed(PodManager::Event event) {
    PodManager::Effects out;
    machine.on(event, now, out);
    for (auto& effect : out) std::visit([this](auto& e) { take(e); }, effect);
  }
  void take(CallApi& e) { calls.push_back(e); }
  void take(WatchApi& e) { watches.push_back(e); }
  void take(StopWatch&) { watch_stopped = true; }
  void take(After<PodTimer>& e) { timers.emplace(now + e.delay, e.event); }
  void take(Log& e) { log.push_back(e.line); }
  void take(PodsBegun&) { begun = true; }
  void take(PodGone& e) { gone.push_back(e); }
  void take(PodLeaving& e) { leaving.push_back(e); }
  void take(PodsHeld& e) { held.push_back(e.reason); }
  void take(PodsGiveUp& e) { gave_up = e; }
  void take(PodsStopped&) { stopped = true; }

  ApiAnswered answer(const CallApi& call) {
    const ApiRequest& r = call.request;
    const std::string path = r.path.substr(0, r.path.find('?'));
    seen.push_back(r.method + " " + path + of_one(r.path));
    if (const auto other = refuse(r)) return {call.ticket, other->first, other->second, ""};
    if (r.method == "GET" && path == kPods + "/count-driver")
      return {call.ticket, 200,
              R"({"metadata":{"name":"count-driver","uid":"uid-d"},"status":{"phase":"Running"}})",
              ""};
    if (r.method == "GET" && path.starts_with(kPods + "/"))
      return {call.ticket, 200, pod_of(owner).dump(), ""};
    if (r.method == "GET")
      return {call.ticket, 200,
              Json{{"metadata", {{"resourceVersion", "10"}}}, {"items", items}}.dump(), ""};
    if (r.method == "POST") {
      created.push_back(Json::parse(r.body));
      return {call.ticket, 201, R"({"metadata":{"uid":"uid-x"}})", ""};
    }
    if (r.method == "PATCH") patches.push_back(r);
    return {call.ticket, 200, "{}", ""};
  }
  /// ` of 3` where the query chooses the pod of executor 3.
  static std::string of_one(const std::string& path) {
    const std::string key = "spark-exec-id%3D";
    const size_t at = path.find(key);
    return at == std::string::npos ? "" : " of " + path.substr(at + key.size());
  }
  /// A pod that is there, of this application.
  static Json pod_of(const std::string& application) {
    return {
        {"metadata", {{"uid", "uid-found"}, {"labels", {{"spark-app-selector", application}}}}}};
  }
  /// Answers all that is asked, no time passes.
  void run() {
    while (!calls.empty()) {
      const CallApi next = calls.front();
      calls.erase(calls.begin());
      feed(answer(next));
    }
  }
  void pass(Duration time) {
    const Time until = now + time;
    while (!timers.empty() && timers.begin()->first <= until) {
      const auto [at, event] = *timers.begin();
      timers.erase(timers.begin());
      now = at;
      feed(event);
      run();
    }
    now = until;
  }
  void begin(std::map<int32_t, int32_t> totals) {
    feed(WantPods{std::move(totals), {}, {}});
    feed(StartPods{});
    run();
  }
  PodView pod(int64_t id, const std::string& phase, int32_t profile = 0) const {
    PodView p;
    p.name = "count-1-exec-" + std::to_string(id);
    p.uid = "uid-" + std::to_string(id);
    p.restart_policy = "Never";
    p.phase = phase;
    p.node = "node1";
    p.pod_ip = "10.88.0." + std::to_string(id);
    p.labels = {{"spark-exec-id", std::to_string(id)},
                {"spark-exec-resourceprofile-id", std::to_string(profile)}};
    p.resource_version = "11";
    return p;
  }
  void show(PodView p, bool deleted = false) {
    feed(PodChanged{watches.back().ticket, deleted, std::move(p)});
    run();
  }
  /// Names of what was created with this kind, since the last look.
  std::vector<std::string> names(const std::string& kind) {
    std::vector<std::string> all;
    for (const Json& object : created)
      if (object["kind"] == kind) all.push_back(object["metadata"]["name"]);
    created.clear();
    return all;
  }
  size_t count_seen(const std::string& what) const {
    return static_cast<size_t>(std::count(seen.begin(), seen.end(), what));
  }

  PodManager machine;
  Time now{Duration(7000)};  // 7 ms
  std::function<std::optional<std::pair<int, Bytes>>(const ApiRequest&)> refuse =
      [](const ApiRequest&) { return std::nullopt; };
  Json items = Json::array();
  std::string owner = "spark-1";  // of pods that are asked for by name
  std::vector<CallApi> calls;
  std::vector<WatchApi> watches;
  std::vector<Json> created;
  std::vector<ApiRequest> patches;
  std::vector<std::string> seen, log, held;
  std::multimap<Time, PodTimer> timers;
  std::vector<PodGone> gone;
  std::vector<PodLeaving> leaving;
  std::optional<PodsGiveUp> gave_up;
  bool begun = false, stopped = false, watch_stopped = false;
};

inline ContainerView ended_with(int32_t code, const std::string& reason) {
  ContainerView c;
  c.name = "spark-kubernetes-executor";
  c.image = "app:1";
  c.state = ContainerView::State::Terminated;
  c.exit_code = code;
  c.reason = reason;
  return c;
}

inline PodView failed(PodView p, int32_t code, const std::string& reason) {
  p.phase = "Failed";
  p.containers = {ended_with(code, reason)};
  return p;
}

inline PodView stuck(PodView p, const std::string& reason) {
  ContainerView c;
  c.state = ContainerView::State::Waiting;
  c.reason = reason;
  c.message = "not there";
  p.phase = "Pending";
  p.containers = {c};
  return p;
}

inline std::pair<int, Bytes> status(int code, const std::string& message) {
  return {code, Json{{"message", message}}.dump()};
}

}  // namespace tinderbox::core::kubernetes::test
