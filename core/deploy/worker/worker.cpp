#include "core/deploy/worker/worker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "conf/keys.hpp"
#include "core/resources/discovery.hpp"

namespace tinderbox::core {
namespace {

using std::chrono::seconds;

/// Between two tries: the first few close together, then less often. Each worker has its own pace,
/// so that the workers of a cluster don't come all at once. Source: Spark 4.3 Worker.
constexpr double kInitialSeconds = 10, kProlongedSeconds = 60;

/// What an endpoint connects to: a master's URL without its scheme.
std::string address_of(const std::string& url) {
  size_t at = url.find("://");
  return at == std::string::npos ? url : url.substr(at + 3);
}

}  // namespace

WorkerOptions worker_options(const conf::Conf& c) {
  WorkerOptions o;
  o.id_pattern = c.get(conf::kWorkerIdPattern);
  o.heartbeat_interval = c.get(conf::kWorkerTimeout) / 4;
  o.initial_retries = c.get(conf::kWorkerInitialRegistrationRetries);
  o.max_retries = c.get(conf::kWorkerMaxRegistrationRetries);
  o.prefer_configured_master = c.get(conf::kWorkerPreferConfiguredMasterAddress);
  o.ask_timeout = c.get(conf::kRpcAskTimeout);
  o.state_sync_attempts = c.get(conf::kWorkerExecutorStateSyncMaxAttempts);
  o.driver_terminate_timeout = c.get(conf::kWorkerDriverTerminateTimeout);
  o.retained_executors = c.get(conf::kWorkerUiRetainedExecutors);
  o.retained_drivers = c.get(conf::kWorkerUiRetainedDrivers);
  o.cleanup = c.get(conf::kWorkerCleanupEnabled);
  o.cleanup_interval = c.get(conf::kWorkerCleanupInterval);
  o.app_data_ttl = c.get(conf::kWorkerCleanupAppDataTtl);
  o.local_dirs = c.get(conf::kLocalDir);
  return o;
}

Worker::Worker(WorkerOptions options, uint64_t seed) : options_(std::move(options)), random_(seed) {
  fuzz_ = 0.5 + static_cast<double>(random_() >> 11) * 0x1p-53;
}

void Worker::on(const Event& event, Time now, Effects& out) {
  Turn turn{now, out};
  std::visit([&](const auto& e) { handle(turn, e); }, event);
}

void Worker::handle(const Turn& t, const Received<ToWorker>& e) {
  std::visit([&](const auto& m) { handle(t, e.from, m); }, e.message);
}

void Worker::handle(const Turn& t, const StartWorker&) {
  std::variant<std::string, int64_t> values[] = {compact_date(t.now, options_.zone), options_.host,
                                                 int64_t{options_.port}};
  id_.value = fill_pattern(options_.id_pattern, values);
  epoch_ = t.now.time_since_epoch().count();
  log(t, Level::Info,
      "Starting worker " + options_.host + ":" + std::to_string(options_.port) + " with " +
          std::to_string(options_.cores) + " cores, " + std::to_string(options_.memory_mib) +
          " MiB RAM" +
          (options_.resources.empty() ? "" : ", " + show_resources(options_.resources)));
  register_with_master(t);
}

// ---- registration ------------------------------------------------------------------------------

void Worker::register_with_master(const Turn& t) {
  if (registering_ || stopping_) return;
  registering_ = true;
  registered_ = false;
  attempts_ = 0;
  std::vector<std::string> urls = options_.masters;
  if (!master_url_.empty() && std::find(urls.begin(), urls.end(), master_url_) == urls.end())
    urls.push_back(master_url_);
  try_masters(t, urls);
  t.out.push_back(After<WorkerTimer>{seconds(std::llround(kInitialSeconds * fuzz_)),
                                     {WorkerTimer::Kind::Register, ++registration_epoch_}});
}

void Worker::register_again(const Turn& t, uint64_t epoch) {
  if (epoch != registration_epoch_ || !registering_ || stopping_) return;
  if (++attempts_ > options_.max_retries) {
    log(t, Level::Error, "All masters are unresponsive! Giving up.");
    return drain(t, 1, "All masters are unresponsive! Giving up.");
  }
  log(t, Level::Info,
      "Retrying connection to master (attempt # " + std::to_string(attempts_) + ")");
  try_masters(t, master_url_.empty() ? options_.masters : std::vector{master_url_});
  double pace = attempts_ < options_.initial_retries ? kInitialSeconds : kProlongedSeconds;
  t.out.push_back(After<WorkerTimer>{seconds(std::llround(pace * fuzz_)),
                                     {WorkerTimer::Kind::Register, registration_epoch_}});
}

void Worker::try_masters(const Turn& t, const std::vector<std::string>& urls) {
  drop_attempts(t, 0);
  for (const std::string& url : urls) {
    log(t, Level::Info, "Connecting to master " + url + "...");
    uint64_t ticket = next_ticket_++;
    tickets_[ticket] = {url, false};
    t.out.push_back(Connect{ticket, address_of(url)});
  }
}

void Worker::drop_attempts(const Turn& t, PeerId but) {
  tickets_.clear();
  for (const auto& [peer, url] : tried_)
    if (peer != but) t.out.push_back(Disconnect{peer});
  tried_.clear();
}

void Worker::handle(const Turn& t, const Connected& e) {
  auto it = tickets_.find(e.ticket);
  if (it == tickets_.end()) {
    if (e.peer) t.out.push_back(Disconnect{e.peer});
    return;
  }
  Ticket ticket = std::move(it->second);
  tickets_.erase(it);
  if (ticket.adopt) {
    if (e.peer)
      adopt(t, e.peer);
    else
      register_with_master(t);
    return;
  }
  if (!e.peer) return;
  tried_[e.peer] = ticket.url;
  t.out.push_back(Send<ToMaster>{e.peer, RegisterWorker{{"", {}, epoch_, ""},
                                                        id_,
                                                        options_.host,
                                                        options_.port,
                                                        options_.cores,
                                                        options_.memory_mib,
                                                        options_.web_ui_url,
                                                        ticket.url,
                                                        options_.resources,
                                                        decommissioned_}});
}

void Worker::handle(const Turn& t, PeerId from, const RegisteredWorker& m) {
  auto tried = tried_.find(from);
  if (stopping_ || (tried == tried_.end() && from != master_)) return;
  if (m.duplicate) log(t, Level::Warn, "Duplicate registration at master " + m.master_address);
  log(t, Level::Info, "Successfully registered with master " + m.master_address);
  bool configured = options_.prefer_configured_master && tried != tried_.end();
  std::string url = configured ? tried->second : m.master_address;
  master_web_ui_url_ = m.master_web_ui_url;
  connected_to(t, from, url);
  t.out.push_back(Send<ToMaster>{
      from, WorkerLatestState{id_, running_executors(), running_drivers(), driver_resources()}});
  if (decommissioned_) tell_decommission(t);
}

/// The master on this connection is the one from now on; it hears first what no master has
/// accepted yet, before what runs.
void Worker::connected_to(const Turn& t, PeerId master, const std::string& url) {
  if (master_ && master_ != master) t.out.push_back(Disconnect{master_});
  drop_attempts(t, master);
  master_ = master;
  master_url_ = url;
  registered_ = true;
  registering_ = false;
  ++registration_epoch_;
  for (const auto& [request, end] : driver_ends_) t.out.push_back(Send<ToMaster>{master_, end});
  for (const auto& [request, r] : reports_) t.out.push_back(Send<ToMaster>{master_, r.change});
  heartbeat(t, ++heartbeat_epoch_);
  if (options_.cleanup && !cleaning_) {
    cleaning_ = true;
    t.out.push_back(After<WorkerTimer>{options_.cleanup_interval, {WorkerTimer::Kind::Clean, 0}});
  }
}

void Worker::handle(const Turn& t, PeerId from, const RegisterWorkerFailed& m) {
  if (registered_ || !tried_.contains(from)) return;
  log(t, Level::Error, "Worker registration failed: " + m.message);
  drain(t, 1, "Worker registration failed: " + m.message);
}

void Worker::handle(const Turn&, PeerId, const MasterInStandby&) {}

void Worker::handle(const Turn& t, PeerId from, const ReconnectWorker& m) {
  if (from != master_) return;
  log(t, Level::Info,
      "Master with url " + m.master_address + " requested this worker to reconnect.");
  register_with_master(t);
}

void Worker::handle(const Turn& t, const PeerLost& e) {
  tried_.erase(e.peer);
  if (e.peer != master_) return;
  log(t, Level::Warn,
      "Connection to master " + master_url_ + " is lost! Waiting for master to reconnect...");
  master_ = 0;
  ++heartbeat_epoch_;
  register_with_master(t);
}

// ---- a master that recovered -------------------------------------------------------------------

void Worker::handle(const Turn& t, PeerId, const MasterChanged& m) {
  if (stopping_) return;
  log(t, Level::Info, "Master has changed, new master is at " + m.master_address);
  bool same = master_ && master_url_ == m.master_address;
  master_web_ui_url_ = m.master_web_ui_url;
  master_url_ = m.master_address;
  if (same) return adopt(t, master_);
  for (const auto& [peer, url] : tried_)
    if (url == m.master_address) return adopt(t, peer);
  uint64_t ticket = next_ticket_++;
  tickets_[ticket] = {m.master_address, true};
  t.out.push_back(Connect{ticket, address_of(m.master_address)});
}

void Worker::adopt(const Turn& t, PeerId master) {
  connected_to(t, master, master_url_);
  t.out.push_back(Send<ToMaster>{
      master,
      WorkerSchedulerState{id_, running_executors(), running_drivers(), driver_resources()}});
  if (decommissioned_) tell_decommission(t);
}

// ---- timers, end -------------------------------------------------------------------------------

void Worker::heartbeat(const Turn& t, uint64_t epoch) {
  if (epoch != heartbeat_epoch_ || !master_) return;
  t.out.push_back(Send<ToMaster>{master_, WorkerHeartbeat{id_}});
  t.out.push_back(
      After<WorkerTimer>{options_.heartbeat_interval, {WorkerTimer::Kind::Heartbeat, epoch}});
}

void Worker::clean(const Turn& t) {
  std::set<std::string> keep;
  for (const auto& [key, e] : executors_) keep.insert(key.first.value);
  for (const auto& [id, d] : drivers_) keep.insert(id.value);
  t.out.push_back(CleanWorkDirs{options_.work_dir, std::move(keep), options_.app_data_ttl});
  t.out.push_back(After<WorkerTimer>{options_.cleanup_interval, {WorkerTimer::Kind::Clean, 0}});
}

void Worker::handle(const Turn& t, const WorkDirsCleaned& e) {
  for (const std::string& path : e.removed) log(t, Level::Info, "Removed directory: " + path);
  if (!e.error.empty()) log(t, Level::Warn, "App dir cleanup failed: " + e.error);
}

void Worker::handle(const Turn& t, const WorkerTimer& e) {
  switch (e.kind) {
    case WorkerTimer::Kind::Register:
      return register_again(t, e.id);
    case WorkerTimer::Kind::Heartbeat:
      return heartbeat(t, e.id);
    case WorkerTimer::Kind::Clean:
      return clean(t);
    case WorkerTimer::Kind::KillHard:
      return kill_hard(t, e.id);
    case WorkerTimer::Kind::GiveUp:
      return give_up(t, e.id);
    case WorkerTimer::Kind::Report:
      return report_due(t, e.id);
    case WorkerTimer::Kind::Relaunch:
      return relaunch(t, e.id);
  }
}

/// Said again to every master that the worker comes back to.
void Worker::handle(const Turn& t, const DecommissionWorker&) {
  if (std::exchange(decommissioned_, true)) return;
  log(t, Level::Info, "Decommission self");
  tell_decommission(t);
}

void Worker::tell_decommission(const Turn& t) const {
  if (master_) t.out.push_back(Send<ToMaster>{master_, WorkerDecommissioning{id_}});
}

void Worker::handle(const Turn& t, const StopWorker&) { drain(t, 0, "stopped"); }

/// Ends all children, and the worker with the last of them. What comes first is the reason. The
/// master hears of it before: no executor is replaced here, and no task is blamed for their end. A
/// supervised driver's end is not told: it is lost with its worker, and so runs again elsewhere.
void Worker::drain(const Turn& t, int code, std::string reason) {
  if (stopping_) return;
  stopping_ = true;
  if (!std::exchange(decommissioned_, true)) tell_decommission(t);
  exit_code_ = code;
  exit_reason_ = std::move(reason);
  for (auto& [key, e] : executors_) kill_executor(t, e);
  std::vector<DriverId> drivers = running_drivers();
  for (const DriverId& id : drivers) {
    Driver& d = drivers_.at(id);
    d.moves_on = d.description.supervise && !d.killed;
    kill_driver(t, d);
  }
  exit_if_drained(t);
}

void Worker::exit_if_drained(const Turn& t) {
  if (!stopping_ || exited_ || !processes_.empty()) return;
  exited_ = true;
  for (auto& [app, dirs] : std::exchange(app_dirs_, {}))
    t.out.push_back(RemoveDirectories{std::move(dirs)});
  t.out.push_back(Exit{exit_code_, exit_reason_});
}

void Worker::log(const Turn& t, Level level, std::string line) const {
  t.out.push_back(Log{level, std::move(line)});
}

WorkerStatus Worker::status() const {
  WorkerStatus s;
  s.id = id_, s.host = options_.host, s.port = options_.port;
  s.master_url = master_url_, s.master_web_ui_url = master_web_ui_url_;
  s.cores = options_.cores, s.cores_used = cores_used_;
  s.memory_mib = options_.memory_mib, s.memory_used_mib = memory_used_mib_;
  s.resources = options_.resources;
  const auto use = [&](const ResourceAddresses& resources) {
    for (const auto& [name, addresses] : resources) {
      std::vector<std::string>& used = s.resources_used[name];
      used.insert(used.end(), addresses.begin(), addresses.end());
    }
  };
  for (const auto& [name, addresses] : s.resources) s.resources_used[name];
  for (const auto& [key, e] : executors_) use(e.launch.resources);
  for (const auto& [id, d] : drivers_) use(d.resources);
  for (const auto& [key, e] : executors_) s.executors.push_back(row_of(e));
  s.finished_executors.assign(finished_executors_.begin(), finished_executors_.end());
  for (const auto& [id, d] : drivers_) s.drivers.push_back(row_of(d));
  s.finished_drivers.assign(finished_drivers_.begin(), finished_drivers_.end());
  return s;
}

}  // namespace tinderbox::core
