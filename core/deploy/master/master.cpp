#include "core/deploy/master/master.hpp"

#include <algorithm>
#include <utility>

#include "conf/keys.hpp"

namespace tinderbox::core {
namespace {

WorkerOrder worker_order(const std::string& name) {
  static const std::map<std::string, WorkerOrder> kOrders = {
      {"CORES_FREE_DESC", WorkerOrder::kCoresFreeDesc},
      {"CORES_FREE_ASC", WorkerOrder::kCoresFreeAsc},
      {"MEMORY_FREE_DESC", WorkerOrder::kMemoryFreeDesc},
      {"MEMORY_FREE_ASC", WorkerOrder::kMemoryFreeAsc},
      {"WORKER_ID", WorkerOrder::kWorkerId}};
  auto it = kOrders.find(name);
  if (it != kOrders.end()) return it->second;
  throw conf::Error(std::string(conf::kDeployWorkerSelectionPolicy.spec.name) + " is '" + name +
                    "'; use CORES_FREE_DESC, CORES_FREE_ASC, MEMORY_FREE_DESC, MEMORY_FREE_ASC or "
                    "WORKER_ID");
}

AppRow row_of(const MasterApp& a, Time now) {
  AppRow row{a.id,
             a.description.name,
             a.description.user,
             a.description.ui_url,
             a.cores_granted,
             a.description.max_cores,
             a.description.memory_per_executor_mib,
             a.description.resources_per_executor,
             a.submitted,
             (a.ended == Time{} ? now : a.ended) - a.submitted,
             a.state,
             {}};
  for (const auto& [id, e] : a.executors)
    row.executors.push_back(
        {id, e.worker, e.description.cores, e.description.memory_mib, e.description.state});
  return row;
}

DriverRow row_of(const MasterDriver& d) {
  return {d.id,
          d.submitted,
          d.state,
          d.description.cores,
          d.description.memory_mib,
          d.description.resources,
          d.worker,
          d.description.command.main_class,
          d.exception};
}

}  // namespace

MasterOptions master_options(const conf::Conf& c) {
  MasterOptions o;
  o.persist = c.get(conf::kDeployRecoveryMode) == "FILESYSTEM";
  o.worker_timeout = c.get(conf::kWorkerTimeout);
  o.recovery_timeout = c.get(conf::kDeployRecoveryTimeout).value_or(o.worker_timeout);
  o.dead_worker_persistence = c.get(conf::kDeadWorkerPersistence);
  o.max_executor_retries = c.get(conf::kDeployMaxExecutorRetries);
  o.default_cores = c.get(conf::kDeployDefaultCores);
  o.max_drivers = c.get(conf::kDeployMaxDrivers);
  o.retained_apps = c.get(conf::kDeployRetainedApplications);
  o.retained_drivers = c.get(conf::kDeployRetainedDrivers);
  o.spread_out_apps = c.get(conf::kDeploySpreadOutApps);
  o.spread_out_drivers = c.get(conf::kDeploySpreadOutDrivers);
  o.worker_order = worker_order(c.get(conf::kDeployWorkerSelectionPolicy));
  o.app_id_pattern = c.get(conf::kDeployAppIdPattern);
  o.driver_id_pattern = c.get(conf::kDeployDriverIdPattern);
  o.app_number_modulo = c.get(conf::kDeployAppNumberModulo);
  o.name_as_app_id = c.get(conf::kMasterUseAppNameAsAppId);
  return o;
}

Master::Master(MasterOptions options, uint64_t seed)
    : options_(std::move(options)), random_(seed) {}

void Master::on(const Event& event, Time now, Effects& out) {
  Turn turn{now, out};
  std::visit([&](const auto& e) { handle(turn, e); }, event);
}

void Master::handle(const Turn& t, const Received<ToMaster>& e) {
  std::visit([&](const auto& m) { handle(t, e.from, m); }, e.message);
}

void Master::handle(const Turn& t, const PeerLost& e) {
  outgoing_.erase(e.peer);
  auto it = peers_.find(e.peer);
  if (it == peers_.end()) return;
  PeerOwner owner = it->second;
  peers_.erase(it);
  PeerId other = latest_peer(owner);
  if (auto* id = std::get_if<WorkerId>(&owner)) {
    MasterWorker* w = live_worker(*id);
    if (!w || w->peer != e.peer) return;
    w->peer = other;
    if (!other)
      remove_worker(t, *w, w->host + ":" + std::to_string(w->port) + " got disassociated");
  } else if (MasterApp* a = find_app(std::get<AppId>(owner)); a && a->peer == e.peer) {
    a->peer = other;
    if (!other) remove_app(t, *a, AppState::Finished);
  }
  complete_recovery_if_possible(t);
}

void Master::handle(const Turn& t, const Connected& e) {
  auto it = tickets_.find(e.ticket);
  if (it == tickets_.end()) return;
  PeerOwner owner = it->second;
  tickets_.erase(it);
  if (!e.peer) return;
  outgoing_.emplace(e.peer, owner);
  MasterChanged changed{options_.url, options_.web_ui_url};
  if (std::holds_alternative<WorkerId>(owner))
    t.out.push_back(Send<ToWorker>{e.peer, changed});
  else
    t.out.push_back(Send<ToApp>{e.peer, changed});
}

void Master::handle(const Turn& t, const MasterTimer& e) {
  if (e.kind == MasterTimer::Kind::CheckWorkers) {
    check_workers(t);
  } else if (e.kind == MasterTimer::Kind::Schedule) {
    schedule(t);
  } else if (e.epoch == recovery_epoch_) {
    complete_recovery(t);
  }
}

void Master::handle(const Turn& t, const ElectedLeader& e) {
  if (state_ != RecoveryState::Standby) return;
  state_ = e.recovered.empty() ? RecoveryState::Alive : RecoveryState::Recovering;
  log(t, Level::Info, "I have been elected leader! New state: " + std::string(name_of(state_)));
  t.out.push_back(
      After<MasterTimer>{options_.worker_timeout, {MasterTimer::Kind::CheckWorkers, 0}});
  if (state_ == RecoveryState::Recovering) begin_recovery(t, e.recovered);
}

void Master::handle(const Turn& t, const RevokedLeadership&) {
  log(t, Level::Error, "Leadership has been revoked -- master shutting down.");
  t.out.push_back(Exit{0, "leadership revoked"});
}

void Master::handle(const Turn& t, const RemoveApplication& e) {
  if (MasterApp* a = find_app(e.app)) remove_app(t, *a, AppState::Killed);
}

void Master::attach(const Turn& t, PeerId from, MasterWorker& w) {
  peers_[from] = w.id;
  w.heard = w.heard && w.peer == from;
  w.peer = from;
  w.last_heartbeat = t.now;
  drop_outgoing(t, w.id);
}

void Master::attach(const Turn& t, PeerId from, MasterApp& a) {
  peers_[from] = a.id;
  a.peer = from;
  drop_outgoing(t, a.id);
}

void Master::drop_outgoing(const Turn& t, const PeerOwner& owner) {
  std::erase_if(tickets_, [&](const auto& ticket) { return ticket.second == owner; });
  std::erase_if(outgoing_, [&](const auto& peer) {
    if (peer.second != owner) return false;
    t.out.push_back(Disconnect{peer.first});
    return true;
  });
}

PeerId Master::latest_peer(const PeerOwner& owner) const {
  PeerId latest = 0;
  for (const auto& [peer, of] : peers_)
    if (of == owner) latest = std::max(latest, peer);
  return latest;
}

void Master::forget_peers(const PeerOwner& owner) {
  std::erase_if(peers_, [&](const auto& peer) { return peer.second == owner; });
}

void Master::send(const Turn& t, const MasterWorker& w, ToWorker m) const {
  if (w.peer) t.out.push_back(Send<ToWorker>{w.peer, std::move(m)});
}

void Master::send(const Turn& t, const MasterApp& a, ToApp m) const {
  if (a.peer) t.out.push_back(Send<ToApp>{a.peer, std::move(m)});
}

void Master::log(const Turn& t, Level level, std::string line) const {
  t.out.push_back(Log{level, std::move(line)});
}

void Master::persist(const Turn& t, const PersistedRecord& r) const {
  if (options_.persist) t.out.push_back(Persist{log_record(r)});
}

ClusterStatus Master::status(Time now) const {
  ClusterStatus s;
  s.url = options_.url;
  s.state = state_;
  for (const auto& [id, w] : workers_)
    s.workers.push_back({id, w.host, w.port, w.web_ui_url, w.cores, w.cores_used, w.memory_mib,
                         w.memory_used_mib, w.state, w.last_heartbeat, w.resources,
                         w.resources_free});
  for (const AppId& id : app_order_) s.active_apps.push_back(row_of(apps_.at(id), now));
  for (const MasterApp& a : completed_apps_) s.completed_apps.push_back(row_of(a, now));
  for (const auto& [id, d] : drivers_) s.active_drivers.push_back(row_of(d));
  for (const MasterDriver& d : completed_drivers_) s.completed_drivers.push_back(row_of(d));
  s.waiting_drivers = static_cast<int32_t>(waiting_drivers_.size());
  return s;
}

}  // namespace tinderbox::core
