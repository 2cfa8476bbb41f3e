// A submission, its API server and its object store, over virtual time.
#pragma once

#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/submission/submission.hpp"
#include "tests/pch.hpp"

namespace tinderbox::core::kubernetes::test {

using namespace std::chrono_literals;

inline Bytes object(const std::string& kind, const std::string& name) {
  return Json{{"apiVersion", "v1"}, {"kind", kind}, {"metadata", {{"name", name}}}}.dump();
}

inline SubmissionOptions submission_options() {
  SubmissionOptions o;
  o.app_name = "count";
  o.app_id = "spark-1";
  o.name_space = "jobs";
  o.pod_name = "count-driver";
  o.objects = {object("Pod", "count-driver"), object("Service", "count-svc"),
               object("ConfigMap", "count-conf")};
  return o;
}

/// An API server that holds objects, and loses answers as it is told.
struct Server {
  std::map<std::string, Json> objects;  // by path
  std::vector<std::string> seen;        // method and path
  std::function<int(const ApiRequest&)> refuse = [](const ApiRequest&) { return 0; };
  std::set<size_t> lost_before, lost_after;  // numbers of requests

  ApiAnswered answer(const CallApi& call) {
    const size_t number = seen.size();
    const ApiRequest& r = call.request;
    const std::string path = r.path.substr(0, r.path.find('?'));
    seen.push_back(r.method + " " + path);
    if (lost_before.contains(number)) return {call.ticket, 0, "", "no connection"};
    ApiAnswered a = carry_out(call.ticket, r, path);
    if (lost_after.contains(number)) return {call.ticket, 0, "", "cut short"};
    return a;
  }

 private:
  ApiAnswered carry_out(uint64_t ticket, const ApiRequest& r, const std::string& path) {
    if (const int status = refuse(r))
      return {ticket, status, Json{{"message", "refused for a test"}}.dump(), ""};
    if (r.method == "POST") {
      Json made = Json::parse(r.body);
      const std::string whole = path + "/" + made["metadata"]["name"].get<std::string>();
      if (objects.contains(whole)) return {ticket, 409, "{}", ""};
      made["metadata"]["uid"] = "uid-" + std::to_string(objects.size());
      made["metadata"]["resourceVersion"] = "5";
      made["metadata"]["labels"]["spark-app-selector"] = "spark-1";
      objects[whole] = made;
      return {ticket, 201, made.dump(), ""};
    }
    if (r.method == "PATCH") {
      objects[path] = Json::parse(r.body);
      return {ticket, 200, "{}", ""};
    }
    if (r.method == "GET" && path.ends_with("/pods")) {
      Json list = {{"metadata", {{"resourceVersion", "100"}}}, {"items", Json::array()}};
      for (const auto& [name, object] : objects)
        if (name.starts_with(path)) list["items"].push_back(object);
      return {ticket, 200, list.dump(), ""};
    }
    const auto found = objects.find(path);
    if (found == objects.end()) return {ticket, 404, Json{{"message", "not found"}}.dump(), ""};
    ApiAnswered a{ticket, 200, found->second.dump(), ""};
    if (r.method == "DELETE") {
      // What has an owner goes with it.
      const std::string uid = found->second["metadata"]["uid"];
      std::erase_if(objects, [&](const auto& o) {
        const Json m = o.second["metadata"];
        return m.value("uid", "") == uid ||
               (m.contains("ownerReferences") && m["ownerReferences"][0]["uid"] == uid);
      });
    }
    return a;
  }
};

/// An object store that is always right about what it has.
struct Store {
  std::set<std::string> holds;  // local files
  std::vector<std::string> seen;
  std::function<ApiAnswered(const AskStore&)> instead = [](const AskStore&) {
    return ApiAnswered{};
  };

  ApiAnswered answer(const AskStore& ask) {
    seen.push_back(ask.method + " " + ask.url);
    if (ApiAnswered other = instead(ask); other.status != 0 || !other.error.empty())
      return other.ticket = ask.ticket, other;
    if (ask.method == "PUT") return holds.insert(ask.file), ApiAnswered{ask.ticket, 200, {}, {}};
    holds.erase(ask.url.substr(ask.url.rfind(':') + 1));
    return {ask.ticket, 204, {}, {}};
  }
};

inline SubmissionOptions stored_options() {
  SubmissionOptions o = submission_options();
  o.stored = {{"/a/app", "s3a://b/app", "put:/a/app", "get:/a/app", "delete:/a/app"},
              {"/a/t", "s3a://b/t", "put:/a/t", "get:/a/t", "delete:/a/t"}};
  return o;
}

/// A submission and its server, over virtual time.
struct SubmissionBench {
  explicit SubmissionBench(SubmissionOptions o = submission_options()) : machine(std::move(o)) {}

  void feed(Submission::Event event) {
    Submission::Effects out;
    machine.on(event, now, out);
    for (Submission::Effect& effect : out) std::visit([this](auto& e) { take(e); }, effect);
  }
  void take(CallApi& e) { calls.push_back(e); }
  void take(WatchApi& e) { watches.push_back(e); }
  void take(SendFile& e) { files.push_back(e); }
  void take(AskStore& e) { asked.push_back(e); }
  void take(After<SubmissionTimer>& e) { timers.emplace(now + e.delay, e.event); }
  void take(Report& e) { told.push_back(e.text); }
  void take(Exit& e) { exit = e; }

  /// Answers and timers, until it ends or only waits for pods.
  void run(int steps = 200) {
    while (steps-- > 0 && !exit) {
      if (!calls.empty()) {
        const CallApi next = calls.front();
        calls.erase(calls.begin());
        if (killed_at && server.seen.size() == *killed_at) return;
        feed(server.answer(next));
      } else if (!asked.empty()) {
        const AskStore next = asked.front();
        asked.erase(asked.begin());
        feed(store.answer(next));
      } else if (!timers.empty() && timers.begin()->second.kind == SubmissionTimer::Kind::Retry) {
        const auto [at, event] = *timers.begin();
        timers.erase(timers.begin());
        now = at;
        feed(event);
      } else {
        return;
      }
    }
  }
  /// Time passes up to `until`, with all timers.
  void pass(Duration time) {
    const Time until = now + time;
    while (!timers.empty() && timers.begin()->first <= until && !exit) {
      const auto [at, event] = *timers.begin();
      timers.erase(timers.begin());
      now = at;
      feed(event);
      run();
    }
    now = until;
  }
  PodView pod(const std::string& phase) const {
    PodView p;
    p.name = "count-driver";
    p.uid = "uid-0";
    p.phase = phase;
    p.resource_version = "7";
    return p;
  }
  void show(PodView p, bool deleted = false) {
    feed(PodChanged{watches.back().ticket, deleted, std::move(p)});
  }
  bool was_told(const std::string& text) const {
    return std::any_of(told.begin(), told.end(),
                       [&](const std::string& t) { return t.find(text) != std::string::npos; });
  }

  Server server;
  Store store;
  Submission machine;
  Time now{1000s};
  std::vector<CallApi> calls;
  std::vector<WatchApi> watches;
  std::vector<SendFile> files;
  std::vector<AskStore> asked;
  std::multimap<Time, SubmissionTimer> timers;
  std::vector<std::string> told;
  std::optional<Exit> exit;
  std::optional<size_t> killed_at;
};

}  // namespace tinderbox::core::kubernetes::test
