// A master that comes back: everything it read from the log is UNKNOWN until it answers, or until
// time is up. Nothing is scheduled meanwhile, and what runs goes on running.
#include <algorithm>

#include "core/deploy/master/master.hpp"

namespace tinderbox::core {

void Master::begin_recovery(const Turn& t, const RecoveredState& s) {
  auto moment = [](int64_t us) { return Time(Duration(us)); };
  for (const auto& [id, p] : s.apps) {
    MasterApp a;
    a.id = id, a.description = p.description, a.driver_address = p.driver_address;
    a.submitted = moment(p.submitted);
    a.state = AppState::Unknown;
    a.set_default_demand();
    apps_[id] = std::move(a);
    app_order_.push_back(id);
    reach(t, id, p.driver_address);
  }
  std::stable_sort(app_order_.begin(), app_order_.end(), [&](const AppId& x, const AppId& y) {
    return apps_.at(x).submitted < apps_.at(y).submitted;
  });
  for (const auto& [id, p] : s.drivers)
    drivers_[id] = {id, p.description, moment(p.submitted), DriverState::Unknown, {}, {}};
  for (const auto& [id, p] : s.workers) {
    MasterWorker w;
    w.id = id, w.host = p.host, w.port = p.port, w.cores = p.cores;
    w.memory_mib = p.memory_mib, w.web_ui_url = p.web_ui_url, w.master_url = options_.url;
    w.resources = w.resources_free = p.resources;
    w.epoch = p.epoch;
    w.state = WorkerState::Unknown;
    w.last_heartbeat = t.now;
    workers_[id] = std::move(w);
    reach(t, id, p.host + ":" + std::to_string(p.port));
  }
  log(t, Level::Info,
      "Recovering " + std::to_string(apps_.size()) + " applications, " +
          std::to_string(drivers_.size()) + " drivers and " + std::to_string(workers_.size()) +
          " workers");
  t.out.push_back(After<MasterTimer>{options_.recovery_timeout,
                                     {MasterTimer::Kind::CompleteRecovery, ++recovery_epoch_}});
  complete_recovery_if_possible(t);
}

void Master::reach(const Turn& t, PeerOwner owner, const std::string& address) {
  uint64_t ticket = next_ticket_++;
  tickets_.emplace(ticket, std::move(owner));
  t.out.push_back(Connect{ticket, address});
}

void Master::handle(const Turn& t, PeerId from, const MasterChangeAcknowledged& m) {
  MasterApp* a = find_app(m.app);
  if (a) return app_is_back(t, from, *a, m.next_executor);
  log(t, Level::Warn, "Master change ack from unknown app: " + m.app.value);
  t.out.push_back(Send<ToApp>{from, ApplicationRemoved{"this master does not know it"}});
}

void Master::app_is_back(const Turn& t, PeerId from, MasterApp& a, int32_t next_executor) {
  a.number_from(next_executor);
  bool silent = !a.peer;
  attach(t, from, a);
  if (silent && !a.reason.empty()) send(t, a, SchedulingStatus{a.reason});
  if (a.state != AppState::Unknown) return;
  log(t, Level::Info, "Application has been re-registered: " + a.id.value);
  a.state = AppState::Waiting;
  complete_recovery_if_possible(t);
}

void Master::handle(const Turn& t, PeerId from, const WorkerSchedulerState& m) {
  MasterWorker* w = live_worker(m.id);
  if (!w) {
    log(t, Level::Warn, "Scheduler state from unknown worker: " + m.id.value);
    // MasterChanged went to the address of one that was there before it: it never registered here,
    // but believes that it has.
    t.out.push_back(Send<ToWorker>{from, ReconnectWorker{options_.url}});
    return;
  }
  worker_is_back(t, from, *w, m.executors, m.drivers, m.driver_resources);
}

void Master::worker_is_back(const Turn& t, PeerId from, MasterWorker& w,
                            const std::vector<ExecutorDescription>& executors,
                            const std::vector<DriverId>& drivers,
                            const std::vector<DriverResources>& driver_resources) {
  attach(t, from, w);
  if (w.state == WorkerState::Unknown) {
    log(t, Level::Info, "Worker has been re-registered: " + w.id.value);
    w.state = WorkerState::Alive;
    for (const ExecutorDescription& e : executors) {
      MasterApp* a = find_app(e.app);
      bool sane = e.executor >= 0 && e.executor < kMaxExecutorNumber && e.cores >= 0 &&
                  e.cores <= w.cores_free() && e.memory_mib >= 0 &&
                  e.memory_mib <= w.memory_free_mib() && w.all_free(e.resources);
      if (!a || a->executors.contains(e.executor) || !sane) continue;
      a->add(w.id, e);
      w.add(e);
    }
    for (const DriverId& id : drivers) {
      auto d = drivers_.find(id);
      if (d == drivers_.end() || !d->second.worker.value.empty()) continue;
      d->second.worker = w.id;
      d->second.state = DriverState::Running;
      const auto has = std::find_if(driver_resources.begin(), driver_resources.end(),
                                    [&](const DriverResources& r) { return r.id == id; });
      const bool sane = has != driver_resources.end() && w.all_free(has->resources);
      w.add(id, d->second.description, sane ? has->resources : ResourceAddresses{});
    }
  }
  end_unknown(t, w, executors, drivers);
  w.heard = true;
  complete_recovery_if_possible(t);
}

void Master::end_unknown(const Turn& t, MasterWorker& w,
                         const std::vector<ExecutorDescription>& executors,
                         const std::vector<DriverId>& drivers) {
  for (const ExecutorDescription& e : executors) {
    if (w.executors.contains({e.app, e.executor})) continue;
    send(t, w, KillExecutor{w.master_url, e.app, e.executor});
    if (MasterApp* a = find_app(e.app)) a->has_been(e.executor);
  }
  for (const DriverId& id : drivers)
    if (!w.drivers.contains(id)) send(t, w, KillDriver{id});
}

void Master::complete_recovery_if_possible(const Turn& t) {
  auto worker_missing = [](const auto& w) { return w.second.state == WorkerState::Unknown; };
  auto app_missing = [](const auto& a) { return a.second.state == AppState::Unknown; };
  if (state_ != RecoveryState::Recovering ||
      std::any_of(workers_.begin(), workers_.end(), worker_missing) ||
      std::any_of(apps_.begin(), apps_.end(), app_missing))
    return;
  complete_recovery(t);
}

void Master::complete_recovery(const Turn& t) {
  if (state_ != RecoveryState::Recovering) return;
  state_ = RecoveryState::CompletingRecovery;
  std::vector<WorkerId> workers;
  for (const auto& [id, w] : workers_)
    if (w.state == WorkerState::Unknown) workers.push_back(id);
  for (const WorkerId& id : workers)
    remove_worker(t, workers_.at(id), "Not responding for recovery");
  for (const AppId& id : std::vector<AppId>(app_order_))
    if (MasterApp* a = find_app(id); a && a->state == AppState::Unknown)
      remove_app(t, *a, AppState::Finished);
  for (auto& [id, a] : apps_)
    if (a.state == AppState::Waiting) a.state = AppState::Running;
  std::vector<DriverId> homeless;
  for (const auto& [id, d] : drivers_)
    if (d.state == DriverState::Unknown && d.worker.value.empty()) homeless.push_back(id);
  for (const DriverId& id : homeless) {
    log(t, Level::Warn, "Driver " + id.value + " was not found after master recovery");
    end_driver(t, id, drivers_.at(id).description.supervise,
               "no worker had it after the master's recovery");
  }
  state_ = RecoveryState::Alive;
  log(t, Level::Info, "Recovery complete - resuming operations!");
  for (auto& [id, a] : apps_) kill_executors(t, a);
  schedule(t);
}

}  // namespace tinderbox::core
