// The master's side of the applications and their executors.
#include <algorithm>
#include <cctype>

#include "core/deploy/master/master.hpp"

namespace tinderbox::core {
namespace {

constexpr Duration kShortRun = std::chrono::seconds(2);
constexpr int32_t kFreeShortRuns = 3;
constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(5);

template <class T>
void erase_value(std::vector<T>& from, const T& value) {
  from.erase(std::remove(from.begin(), from.end(), value), from.end());
}

/// Lower case, without white space. Source: Spark 4.3 spark.master.useAppNameAsAppId.enabled.
std::string id_from_name(const std::string& name) {
  std::string id;
  for (unsigned char c : name)
    if (!std::isspace(c)) id += static_cast<char>(std::tolower(c));
  return id;
}

std::optional<int32_t> executor_number(const std::string& text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); }))
    return std::nullopt;
  return std::stoi(text);
}

}  // namespace

MasterApp* Master::find_app(const AppId& id) {
  auto it = apps_.find(id);
  return it == apps_.end() ? nullptr : &it->second;
}

/// The application that `m` means when it has registered before: by its id, or by its driver's
/// address. One that was recovered has an id, which its driver knows: who comes from there without
/// it is another driver, begun again.
MasterApp* Master::returning_app(const RegisterApplication& m) {
  if (!m.who.app.value.empty()) return find_app(m.who.app);
  if (m.driver_address.empty()) return nullptr;
  for (auto& [id, a] : apps_)
    if (a.driver_address == m.driver_address && a.state != AppState::Unknown) return &a;
  return nullptr;
}

/// Of a driver that began again while there was no master, the application before.
void Master::end_predecessor(const Turn& t, const std::string& driver_address) {
  const auto before = [&](const auto& app) {
    return app.second.state == AppState::Unknown && app.second.driver_address == driver_address;
  };
  if (const auto it = std::find_if(apps_.begin(), apps_.end(), before); it != apps_.end())
    remove_app(t, it->second, AppState::Failed, "its driver has begun again");
}

void Master::handle(const Turn& t, PeerId from, const RegisterApplication& m) {
  if (state_ == RecoveryState::Standby) return;
  if (MasterApp* known = returning_app(m)) {
    app_is_back(t, from, *known, m.next_executor);
    send(t, *known, RegisteredApplication{known->id, options_.url, options_.web_ui_url});
    return;
  }
  end_predecessor(t, m.driver_address);
  // An application whose master knew it and then lost its memory keeps its id, and its executors
  // get numbers that it has not seen.
  MasterApp a;
  a.id = m.who.app.value.empty() ? new_app_id(t, m.description) : m.who.app;
  a.description = m.description;
  a.driver_address = m.driver_address;
  a.submitted = t.now;
  a.number_from(m.next_executor);
  // It may not have heard of all that it had here before it was taken for ended.
  for (const MasterApp& before : completed_apps_)
    if (before.id == a.id) a.number_from(before.next_executor);
  a.set_default_demand();
  log(t, Level::Info, "Registered app " + m.description.name + " with ID " + a.id.value);
  MasterApp& added = apps_.emplace(a.id, std::move(a)).first->second;
  app_order_.push_back(added.id);
  attach(t, from, added);
  persist(t, PersistedApplication{added.id, m.description, m.driver_address,
                                  t.now.time_since_epoch().count()});
  send(t, added, RegisteredApplication{added.id, options_.url, options_.web_ui_url});
  schedule(t);
}

AppId Master::new_app_id(const Turn& t, const ApplicationDescription& d) {
  AppId id;
  if (options_.name_as_app_id) id.value = id_from_name(d.name);
  auto taken = [&] {
    return id.value.empty() || apps_.contains(id) ||
           std::any_of(completed_apps_.begin(), completed_apps_.end(),
                       [&](const MasterApp& a) { return a.id == id; });
  };
  while (taken()) {
    std::variant<std::string, int64_t> values[] = {compact_date(t.now, options_.zone), next_app_};
    std::string before = std::exchange(id.value, fill_pattern(options_.app_id_pattern, values));
    if (id.value == before) id.value += "-" + std::to_string(next_app_);  // a pattern of no number
    ++next_app_;
    if (options_.app_number_modulo) next_app_ %= *options_.app_number_modulo;
  }
  return id;
}

void Master::handle(const Turn& t, PeerId, const UnregisterApplication& m) {
  log(t, Level::Info, "Received unregister request from application " + m.app.value);
  if (MasterApp* a = find_app(m.app)) remove_app(t, *a, AppState::Finished);
}

void Master::remove_app(const Turn& t, MasterApp& gone, AppState state, const std::string& why) {
  MasterApp a = std::move(gone);
  apps_.erase(a.id);
  erase_value(app_order_, a.id);
  log(t, Level::Info, "Removing app " + a.id.value);
  forget_peers(a.id);
  drop_outgoing(t, a.id);
  for (const auto& [id, e] : a.executors) kill_executor(t, e);
  a.executors.clear();
  a.cores_granted = 0;
  a.state = state;
  a.ended = t.now;
  if (state != AppState::Finished)
    send(t, a, ApplicationRemoved{std::string(name_of(state)) + why});
  persist(t, ForgottenApplication{a.id});
  AppId id = a.id;
  a.peer = 0;
  auto kept = static_cast<size_t>(std::max(0, options_.retained_apps));
  if (completed_apps_.size() >= kept) {
    size_t drop = std::min(completed_apps_.size(), std::max<size_t>(kept / 10, 1));
    completed_apps_.erase(completed_apps_.begin(),
                          completed_apps_.begin() + static_cast<std::ptrdiff_t>(drop));
  }
  completed_apps_.push_back(std::move(a));
  schedule(t);
  for (const auto& [worker, w] : workers_) send(t, w, ApplicationFinished{id});
  complete_recovery_if_possible(t);
}

/// Gives the executor's cores back at once; its end on the worker is nobody's news any more.
void Master::kill_executor(const Turn& t, const MasterExecutor& e) {
  MasterWorker* w = live_worker(e.worker);
  if (!w) return;
  w->remove_executor({e.description.app, e.description.executor});
  send(t, *w, KillExecutor{w->master_url, e.description.app, e.description.executor});
}

void Master::handle(const Turn& t, PeerId from, const RequestExecutors& m) {
  MasterApp* a = find_app(m.app);
  t.out.push_back(Send<ToApp>{from, ExecutorRequestAnswer{m.request, a != nullptr}});
  if (!a) {
    log(t, Level::Warn,
        "Unknown application " + m.app.value + " requested " + std::to_string(m.total) +
            " total executors.");
    return;
  }
  log(t, Level::Info,
      "Application " + m.app.value + " requested " + std::to_string(m.total) + " total executors.");
  a->demands[0].limit = std::max(0, m.total);
  for (const ProfileRequest& profile : m.profiles)
    if (profile.profile > 0) a->want(profile);
  schedule(t);
}

void Master::handle(const Turn& t, PeerId from, const KillExecutors& m) {
  MasterApp* a = find_app(m.app);
  if (!a) {
    log(t, Level::Warn,
        "Unregistered application " + m.app.value + " requested to kill executors.");
    t.out.push_back(Send<ToApp>{from, ExecutorRequestAnswer{m.request, false}});
    return;
  }
  a->to_kill.insert(a->to_kill.end(), m.executors.begin(), m.executors.end());
  a->kill_requests.push_back(m.request);
  // While workers are still to say what they have, none is known to be missing.
  if (state_ == RecoveryState::Alive) kill_executors(t, *a);
  schedule(t);
}

void Master::kill_executors(const Turn& t, MasterApp& a) {
  for (const std::string& text : std::exchange(a.to_kill, {})) {
    std::optional<int32_t> id = executor_number(text);
    auto it = id ? a.executors.find(*id) : a.executors.end();
    if (it == a.executors.end()) {
      log(t, Level::Warn,
          "Application " + a.id.value + " asked to kill executor '" + text +
              "', which it does not have.");
      continue;
    }
    MasterExecutor e = it->second;
    a.remove_executor(*id);
    kill_executor(t, e);
  }
  // Not before: who is answered does not ask the next master again.
  for (const uint64_t request : std::exchange(a.kill_requests, {}))
    send(t, a, ExecutorRequestAnswer{request, true});
}

void Master::handle(const Turn& t, PeerId from, const ExecutorStateChanged& m) {
  t.out.push_back(Send<ToWorker>{from, ExecutorStateAccepted{m.request}});
  const auto peer = peers_.find(from);
  const WorkerId* by = peer == peers_.end() ? nullptr : std::get_if<WorkerId>(&peer->second);
  executor_changed(t, m, by);
}

void Master::executor_changed(const Turn& t, const ExecutorStateChanged& m, const WorkerId* by) {
  MasterApp* a = find_app(m.app);
  auto it = a ? a->executors.find(m.executor) : std::map<int32_t, MasterExecutor>::iterator();
  const bool known = a && it != a->executors.end();
  // One of the same number, which this master does not know, may end elsewhere.
  if (!known || (by && *by != it->second.worker)) {
    log(t, Level::Info,
        "Got status update for unknown executor " + m.app.value + "/" + std::to_string(m.executor));
    if (a) a->has_been(m.executor);
    // A decommissioned worker's executors belong to no application any more, and end later.
    if (is_finished(m.state) && !known)
      for (auto& [id, w] : workers_) w.remove_executor({m.app, m.executor});
    return;
  }
  ExecutorState& state = it->second.description.state;
  if (m.state == state) return;  // said twice
  if (m.state != ExecutorState::Running && !is_finished(m.state)) return;
  if (m.state == ExecutorState::Running) {
    if (state != ExecutorState::Launching) return;  // overtaken by a later state
    a->failures = 0;
    it->second.running_since = t.now;
  }
  state = m.state;
  if (MasterWorker* w = live_worker(it->second.worker))
    if (auto e = w->executors.find({m.app, m.executor}); e != w->executors.end())
      e->second.state = m.state;
  send(t, *a, ExecutorUpdated{m.executor, m.state, m.message, m.exit_status, ""});
  if (is_finished(m.state)) executor_ended(t, *a, m);
}

/// Executors that start and end at once would otherwise be replaced without end as fast as a
/// process can start: running is no failure by the ten-failures rule.
void Master::slow_down(const Turn& t, MasterApp& a, const MasterExecutor& ended) {
  if (ended.running_since == Time{}) return;
  if (t.now - ended.running_since >= kShortRun) {
    a.short_runs = 0;
    return;
  }
  if (++a.short_runs <= kFreeShortRuns) return;
  int32_t doublings = std::min(a.short_runs - kFreeShortRuns - 1, 10);
  Duration pause = std::min(kFirstPause * (1 << doublings), kLongestPause);
  a.not_before = t.now + pause;
  t.out.push_back(After<MasterTimer>{pause, {MasterTimer::Kind::Schedule, 0}});
}

void Master::executor_ended(const Turn& t, MasterApp& a, const ExecutorStateChanged& how) {
  const int32_t executor = how.executor;
  log(t, Level::Info, "Removing executor " + a.id.value + "/" + std::to_string(executor));
  if (MasterWorker* w = live_worker(a.executors.at(executor).worker))
    w->remove_executor({a.id, executor});
  slow_down(t, a, a.executors.at(executor));
  a.remove_executor(executor);
  auto runs = [](const auto& e) { return e.second.description.state == ExecutorState::Running; };
  bool tired = how.exit_status != 0 && ++a.failures >= options_.max_executor_retries &&
               options_.max_executor_retries >= 0 &&
               std::none_of(a.executors.begin(), a.executors.end(), runs);
  if (tired) {
    log(t, Level::Error,
        "Application " + a.description.name + " with ID " + a.id.value + " failed " +
            std::to_string(a.failures) + " times; removing it");
    return remove_app(t, a, AppState::Failed,
                      how.message.empty() ? "" : ": the last executor said: " + how.message);
  }
  schedule(t);
}

}  // namespace tinderbox::core
