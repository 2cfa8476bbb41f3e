// The master's side of the workers: registration, heartbeats, loss, decommissioning.
#include <algorithm>
#include <set>
#include <utility>

#include "core/deploy/master/master.hpp"
#include "core/resources/discovery.hpp"

namespace tinderbox::core {
namespace {
/// Of one worker. Cores are handed out one by one, so a boast would hold up everybody.
constexpr int32_t kMostCores = 1 << 14;

std::string address_of(const std::string& host, int32_t port) {
  return host + ":" + std::to_string(port);
}
/// Empty: the worker is welcome. `known`: the living one of the same id, of another process.
std::string why_refused(const RegisterWorker& m, const MasterWorker* known) {
  if (m.id.value.empty() || m.cores < 0 || m.cores > kMostCores || m.memory_mib < 0)
    return "worker '" + m.id.value + "' offers " + std::to_string(m.cores) + " cores and " +
           std::to_string(m.memory_mib) + " MiB; it needs an id, 0 to " +
           std::to_string(kMostCores) + " cores and no negative memory";
  if (known && (known->host != m.host || known->port != m.port))
    return "Duplicate worker ID: " + m.id.value + " is at " + address_of(known->host, known->port) +
           ", and comes from " + address_of(m.host, m.port) +
           " too; spark.worker.idPattern must tell them apart";
  for (const auto& [name, addresses] : m.resources)
    if (std::set<std::string>(addresses.begin(), addresses.end()).size() != addresses.size())
      return "worker " + m.id.value + " names an address of " + name + " twice";
  return {};
}
int64_t seconds(Duration d) { return std::chrono::duration_cast<std::chrono::seconds>(d).count(); }
}  // namespace

MasterWorker* Master::live_worker(const WorkerId& id) {
  auto it = workers_.find(id);
  return it == workers_.end() || it->second.state == WorkerState::Dead ? nullptr : &it->second;
}

/// They went another way than what comes from now on; on one connection nothing is lost.
void Master::doubt_orders(MasterWorker& w) {
  for (const auto& [key, e] : w.executors) w.unheard_executors.insert(key);
  for (const auto& [id, d] : w.drivers) w.unheard_drivers.insert(id);
}

void Master::handle(const Turn& t, PeerId from, const RegisterWorker& m) {
  if (state_ == RecoveryState::Standby) {
    t.out.push_back(Send<ToWorker>{from, MasterInStandby{}});
    return;
  }
  MasterWorker* known = live_worker(m.id);
  if (known && known->epoch == m.who.epoch) {
    known->master_url = m.master_address_used;
    if (known->peer != from) doubt_orders(*known);
    attach(t, from, *known);
    send(t, *known, RegisteredWorker{m.master_address_used, options_.web_ui_url, true});
    return;
  }
  if (std::string why = why_refused(m, known); !why.empty()) {
    log(t, Level::Warn, why);
    t.out.push_back(Send<ToWorker>{from, RegisterWorkerFailed{std::move(why)}});
    return;
  }
  if (known) remove_worker(t, *known, "Worker replaced by a new worker with same id");
  if (!make_room_at(t, from, m)) return;
  MasterWorker w;
  w.id = m.id, w.host = m.host, w.port = m.port;
  w.cores = m.cores, w.memory_mib = m.memory_mib;
  w.web_ui_url = m.web_ui_url, w.master_url = m.master_address_used;
  w.resources = w.resources_free = m.resources;
  w.epoch = m.who.epoch;
  if (m.decommissioned) w.state = WorkerState::Decommissioned;
  MasterWorker& added = workers_.insert_or_assign(m.id, std::move(w)).first->second;
  attach(t, from, added);
  if (!m.decommissioned)
    persist(t, PersistedWorker{m.id, m.host, m.port, m.cores, m.memory_mib, m.web_ui_url,
                               m.resources, m.who.epoch});
  log(t, Level::Info,
      "Registering worker " + address_of(m.host, m.port) + " with " + std::to_string(m.cores) +
          " cores, " + std::to_string(m.memory_mib) + " MiB RAM" +
          (m.resources.empty() ? "" : ", " + show_resources(m.resources)));
  send(t, added, RegisteredWorker{m.master_address_used, options_.web_ui_url, false});
}

/// Clears the table for a new worker at its address; false: it was refused.
bool Master::make_room_at(const Turn& t, PeerId from, const RegisterWorker& m) {
  auto same_place = [&](const MasterWorker& w) { return w.host == m.host && w.port == m.port; };
  std::erase_if(workers_, [&](const auto& w) {
    return w.second.state == WorkerState::Dead && same_place(w.second);
  });
  auto old = std::find_if(workers_.begin(), workers_.end(),
                          [&](const auto& w) { return same_place(w.second); });
  if (old == workers_.end()) return true;
  if (old->second.state == WorkerState::Unknown) {
    remove_worker(t, old->second, "Worker replaced by a new worker with same address");
    workers_.erase(old);
    return true;
  }
  std::string address = address_of(m.host, m.port);
  log(t, Level::Warn, "Attempted to re-register worker at same address: " + address);
  t.out.push_back(Send<ToWorker>{
      from, RegisterWorkerFailed{"Attempted to re-register worker at same address: " + address}});
  return false;
}

void Master::handle(const Turn& t, PeerId from, const WorkerHeartbeat& m) {
  if (MasterWorker* w = live_worker(m.id)) {
    w->last_heartbeat = t.now;
    return;
  }
  bool listed = workers_.contains(m.id);
  log(t, Level::Warn,
      "Got heartbeat from unregistered worker " + m.id.value +
          (listed ? ". Asking it to re-register."
                  : ". This worker was never registered, so ignoring the heartbeat."));
  if (listed) t.out.push_back(Send<ToWorker>{from, ReconnectWorker{options_.url}});
}

void Master::handle(const Turn& t, PeerId from, const WorkerLatestState& m) {
  MasterWorker* w = live_worker(m.id);
  if (!w) {
    log(t, Level::Warn, "Worker state from unknown worker: " + m.id.value);
  } else if (w->state == WorkerState::Unknown) {
    worker_is_back(t, from, *w, m.executors, m.drivers, m.driver_resources);
  } else if (w->peer == from) {
    end_unknown(t, *w, m.executors, m.drivers);
    end_unheard(t, *w, m);
    w->heard = true;
    schedule(t);
  }
}

/// What ended by itself the worker has reported before its state, so what is missing there never
/// began. Of drivers, only one that wants that is run again.
void Master::end_unheard(const Turn& t, MasterWorker& w, const WorkerLatestState& m) {
  std::set<ExecutorKey> executors = std::exchange(w.unheard_executors, {});
  std::set<DriverId> drivers = std::exchange(w.unheard_drivers, {});
  for (const ExecutorDescription& e : m.executors) executors.erase({e.app, e.executor});
  for (const DriverId& id : m.drivers) drivers.erase(id);
  std::erase_if(executors, [&](const ExecutorKey& key) { return !w.executors.contains(key); });
  std::erase_if(drivers, [&](const DriverId& id) { return !w.drivers.contains(id); });
  const std::string why = "the order to start it was lost with the worker's connection";
  for (const auto& [app, executor] : executors)
    executor_changed(t, {0, app, executor, ExecutorState::Lost, why, {}}, &w.id);
  for (const DriverId& id : drivers) end_driver(t, id, w.drivers.at(id).supervise, why);
}

void Master::handle(const Turn& t, PeerId, const WorkerDecommissioning& m) {
  MasterWorker* w = live_worker(m.id);
  if (!w || w->state == WorkerState::Decommissioned) return;
  log(t, Level::Info, "Decommissioning worker " + w->id.value);
  w->state = WorkerState::Decommissioned;
  release_executors(t, *w, ExecutorState::Decommissioned, "worker decommissioned");
  persist(t, ForgottenWorker{w->id});
  schedule(t);
}

/// Tells the applications of `w`'s executors that these are in `state` now, and takes them away.
void Master::release_executors(const Turn& t, MasterWorker& w, ExecutorState state,
                               const std::string& why) {
  for (const auto& [key, e] : w.executors) {
    MasterApp* a = find_app(key.first);
    if (!a) continue;
    send(t, *a, ExecutorUpdated{key.second, state, why, std::nullopt, w.host});
    a->remove_executor(key.second);
  }
}

void Master::remove_worker(const Turn& t, MasterWorker& w, const std::string& why) {
  log(t, Level::Info,
      "Removing worker " + w.id.value + " on " + address_of(w.host, w.port) + ": " + why);
  w.state = WorkerState::Dead;
  w.peer = 0;
  forget_peers(w.id);
  drop_outgoing(t, w.id);
  release_executors(t, w, ExecutorState::Lost, "worker lost: " + why);
  const std::map<DriverId, DriverDescription> drivers = std::move(w.drivers);
  w.clear();
  for (auto& [id, a] : apps_) send(t, a, WorkerRemoved{w.id, w.host, why});
  persist(t, ForgottenWorker{w.id});
  for (const auto& [id, d] : drivers) end_driver(t, id, d.supervise, "worker lost: " + why);
  schedule(t);
}

void Master::check_workers(const Turn& t) {
  std::vector<WorkerId> silent;
  for (const auto& [id, w] : workers_)
    if (w.last_heartbeat < t.now - options_.worker_timeout) silent.push_back(id);
  for (const WorkerId& id : silent) {
    MasterWorker& w = workers_.at(id);
    if (w.state == WorkerState::Dead) {
      const Duration kept =
          (int64_t{options_.dead_worker_persistence} + 1) * options_.worker_timeout;
      if (w.last_heartbeat < t.now - kept) workers_.erase(id);
    } else if (w.state != WorkerState::Unknown) {
      std::string limit = std::to_string(seconds(options_.worker_timeout));
      remove_worker(t, w, "Not receiving heartbeat for " + limit + " seconds");
    }
  }
  t.out.push_back(
      After<MasterTimer>{options_.worker_timeout, {MasterTimer::Kind::CheckWorkers, 0}});
}

}  // namespace tinderbox::core
