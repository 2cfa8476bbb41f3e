// Executors on a worker: launch, end, reports to the master; and ending processes of any kind.
#include <array>
#include <cinttypes>
#include <cstdio>

#include "conf/values/custom_resources.hpp"
#include "core/deploy/pages.hpp"
#include "core/deploy/worker/worker.hpp"
#include "core/resources/discovery.hpp"
#include "core/status/exit_reasons.hpp"

namespace tinderbox::core {
namespace {

/// To end by itself after SIGTERM, and again to vanish after SIGKILL. Source: Spark 4.3
/// ExecutorRunner.
constexpr Duration kTerminatePatience = std::chrono::seconds(10);
constexpr int kSigTerm = 15, kSigKill = 9;
constexpr const char* kExecutorResources = "resource-spark.executor.json";

/// An argument is replaced only when it is the placeholder and nothing else.
std::string filled(const std::string& argument, const std::map<std::string, std::string>& values) {
  auto it = values.find(argument);
  return it == values.end() ? argument : it->second;
}

}  // namespace

bool is_directory_name(const std::string& id) {
  return !id.empty() && id != "." && id != ".." && id.find('/') == std::string::npos &&
         id.find('\0') == std::string::npos;
}

std::string Worker::worker_url() const {
  return "spark://Worker@" + options_.host + ":" + std::to_string(options_.port);
}

void Worker::handle(const Turn& t, PeerId from, const LaunchExecutor& m) {
  ExecutorKey key{m.app, m.executor};
  std::string name = m.app.value + "/" + std::to_string(m.executor);
  if (stopping_) return;  // whoever asks has not heard of it yet
  if (from != master_) {
    log(t, Level::Warn, "Invalid master (" + m.master_address + ") attempted to launch executor.");
    return;
  }
  if (decommissioned_) {
    log(t, Level::Warn, "Not launching an executor while decommissioning.");
    return;
  }
  if (executors_.contains(key)) return;
  if (!is_directory_name(m.app.value)) {
    report(t, {0, m.app, m.executor, ExecutorState::Failed,
               "'" + m.app.value + "' cannot name a directory", std::nullopt});
    return;
  }
  log(t, Level::Info, "Asked to launch executor " + name + " for " + m.description.name);
  Executor& e = executors_[key];
  e.launch = m;
  e.ticket = next_ticket_++;
  processes_.emplace(e.ticket, key);
  cores_used_ += m.cores;
  memory_used_mib_ += m.memory_mib;
  finished_apps_.erase(m.app);
  std::vector<std::string> dirs = app_dirs(t, m.app);
  Spawn spawn = spawn_of(e);
  std::string joined;
  for (const std::string& dir : dirs) joined += (joined.empty() ? "" : ":") + dir;
  spawn.environment["SPARK_EXECUTOR_DIRS"] = joined;
  t.out.push_back(std::move(spawn));
}

Spawn Worker::spawn_of(const Executor& e) {
  const Command& c = e.launch.description.command;
  std::string id = std::to_string(e.launch.executor);
  std::map<std::string, std::string> values = {
      {"{{WORKER_URL}}", worker_url()},
      {"{{EXECUTOR_ID}}", id},
      {"{{HOSTNAME}}", options_.host},
      {"{{CORES}}", std::to_string(e.launch.cores)},
      {"{{APP_ID}}", e.launch.app.value},
      {"{{RESOURCE_PROFILE_ID}}", std::to_string(e.launch.profile)}};
  Spawn s;
  s.ticket = e.ticket;
  s.file = c.elf;
  s.build_id = c.build_id;
  for (const std::string& a : c.arguments) s.arguments.push_back(filled(a, values));
  s.environment = c.environment;
  s.environment["SPARK_LAUNCH_WITH_SCALA"] = "0";
  if (!options_.web_ui_url.empty()) {
    const std::string log_url = options_.web_ui_url + log_path(e.launch.app, e.launch.executor);
    s.environment["SPARK_LOG_URL_STDERR"] = log_url + "stderr";
    s.environment["SPARK_LOG_URL_STDOUT"] = log_url + "stdout";
  }
  s.properties = c.properties;
  s.directory = options_.work_dir + "/" + e.launch.app.value + "/" + id;
  if (!e.launch.resources.empty()) {
    s.files[kExecutorResources] =
        resources_file(conf::component_of(conf::ResourceOwner::kExecutor), e.launch.resources);
    s.arguments.insert(s.arguments.end(),
                       {"--resourcesFile", s.directory + "/" + kExecutorResources});
  }
  return s;
}

/// Local directories of one application, made when its first executor comes.
const std::vector<std::string>& Worker::app_dirs(const Turn& t, const AppId& app) {
  std::vector<std::string>& dirs = app_dirs_[app];
  if (!dirs.empty()) return dirs;
  for (const std::string& root : options_.local_dirs) {
    std::array<char, 40> name;
    uint64_t a = random_(), b = random_();
    std::snprintf(name.data(), name.size(), "%08x-%04x-4%03x-%04x-%012" PRIx64,
                  static_cast<unsigned>(a >> 32), static_cast<unsigned>(a >> 16) & 0xffff,
                  static_cast<unsigned>(a) & 0xfff,
                  (static_cast<unsigned>(b >> 48) & 0x3fff) | 0x8000, b & 0xffffffffffff);
    dirs.push_back(root + "/executor-" + name.data());
  }
  if (!dirs.empty()) t.out.push_back(MakeDirectories{dirs});
  return dirs;
}

void Worker::handle(const Turn& t, PeerId from, const KillExecutor& m) {
  auto it = executors_.find({m.app, m.executor});
  std::string name = m.app.value + "/" + std::to_string(m.executor);
  if (from != master_) {
    log(t, Level::Warn,
        "Invalid master (" + m.master_address + ") attempted to kill executor " + name);
  } else if (it == executors_.end()) {
    log(t, Level::Info, "Asked to kill unknown executor " + name);
  } else {
    log(t, Level::Info, "Asked to kill executor " + name);
    kill_executor(t, it->second);
  }
}

void Worker::kill_executor(const Turn& t, Executor& e) {
  if (e.killed) return;
  e.killed = true;
  terminate(t, e.ticket, kTerminatePatience);
}

void Worker::executor_started(const Turn& t, const ExecutorKey& key, const ProcessStarted& e) {
  Executor& x = executors_.at(key);
  if (!e.pid) {
    ExecutorState state = x.killed ? ExecutorState::Killed : ExecutorState::Failed;
    return executor_ended(t, key, state, e.error, std::nullopt);
  }
  x.state = ExecutorState::Running;
  report(t, {0, key.first, key.second, ExecutorState::Running, "", std::nullopt});
  // Signals sent before there was a process may have reached nobody.
  if (x.killed) t.out.push_back(Signal{x.ticket, kSigTerm});
}

void Worker::executor_ended(const Turn& t, const ExecutorKey& key, ExecutorState state,
                            std::string message, std::optional<int32_t> status) {
  auto it = executors_.find(key);
  Executor e = std::move(it->second);
  executors_.erase(it);
  processes_.erase(e.ticket);
  e.state = state;
  cores_used_ -= e.launch.cores;
  memory_used_mib_ -= e.launch.memory_mib;
  log(t, Level::Info,
      "Executor " + key.first.value + "/" + std::to_string(key.second) + " finished with state " +
          std::string(name_of(state)) + (message.empty() ? "" : " message " + message));
  finished_executors_.push_back(row_of(e));
  trim(finished_executors_, options_.retained_executors);
  report(t, {0, key.first, key.second, state, std::move(message), status});
  forget_app_if_done(t, key.first);
  exit_if_drained(t);
}

WorkerExecutorRow Worker::row_of(const Executor& e) {
  const ApplicationDescription& d = e.launch.description;
  return {e.launch.executor,
          e.launch.app,
          e.launch.cores,
          e.launch.memory_mib,
          e.state,
          d.name,
          d.user,
          d.max_cores,
          d.memory_per_executor_mib,
          d.command,
          e.launch.resources,
          d.resources_per_executor};
}

std::vector<ExecutorDescription> Worker::running_executors() const {
  std::vector<ExecutorDescription> running;
  for (const auto& [key, e] : executors_)
    // The master that had one killed has given its cores to others.
    if (!e.killed)
      running.push_back({key.first, key.second, e.launch.profile, e.launch.cores,
                         e.launch.memory_mib, e.state, e.launch.resources});
  return running;
}

void Worker::handle(const Turn& t, PeerId from, const ApplicationFinished& m) {
  if (from != master_) return;
  if (!app_dirs_.contains(m.app)) return;
  finished_apps_.insert(m.app);
  forget_app_if_done(t, m.app);
}

void Worker::forget_app_if_done(const Turn& t, const AppId& app) {
  auto first = executors_.lower_bound({app, INT32_MIN});
  bool runs = first != executors_.end() && first->first.first == app;
  if (runs || !finished_apps_.contains(app)) return;
  finished_apps_.erase(app);
  auto dirs = app_dirs_.find(app);
  if (dirs == app_dirs_.end()) return;
  log(t, Level::Info, "Cleaning up local directories for application " + app.value);
  t.out.push_back(RemoveDirectories{std::move(dirs->second)});
  app_dirs_.erase(dirs);
}

// ---- reports: each is sent until the master accepts it -----------------------------------------

void Worker::report(const Turn& t, ExecutorStateChanged change) {
  change.request = next_request_++;
  uint64_t request = change.request;
  reports_.emplace(request, Report{std::move(change), 1});
  send_report(t, request);
}

void Worker::send_report(const Turn& t, uint64_t request) {
  if (master_) t.out.push_back(Send<ToMaster>{master_, reports_.at(request).change});
  t.out.push_back(After<WorkerTimer>{options_.ask_timeout, {WorkerTimer::Kind::Report, request}});
}

void Worker::report_due(const Turn& t, uint64_t request) {
  auto it = reports_.find(request);
  if (it == reports_.end() || stopping_) return;
  if (++it->second.tries <= options_.state_sync_attempts) return send_report(t, request);
  log(t, Level::Error,
      "Failed to send the state of an executor " + std::to_string(options_.state_sync_attempts) +
          " times, giving up");
  drain(t, 1, "the master did not accept the state of an executor");
}

void Worker::handle(const Turn&, PeerId, const ExecutorStateAccepted& m) {
  reports_.erase(m.request);
}

// ---- processes ---------------------------------------------------------------------------------

void Worker::handle(const Turn& t, const ProcessStarted& e) {
  auto it = processes_.find(e.ticket);
  if (it == processes_.end()) return;
  ProcessOwner owner = it->second;
  if (auto* key = std::get_if<ExecutorKey>(&owner)) return executor_started(t, *key, e);
  driver_started(t, drivers_.at(std::get<DriverId>(owner)), e);
}

void Worker::handle(const Turn& t, const ProcessExited& e) {
  auto it = processes_.find(e.ticket);
  if (it == processes_.end()) return;
  ProcessOwner owner = it->second;
  if (auto* key = std::get_if<ExecutorKey>(&owner)) {
    bool killed = executors_.at(*key).killed;
    executor_ended(t, *key, killed ? ExecutorState::Killed : ExecutorState::Exited,
                   killed ? "Executor killed on request" : explain(e), e.status);
  } else {
    driver_exited(t, drivers_.at(std::get<DriverId>(owner)), e.status);
  }
}

void Worker::terminate(const Turn& t, uint64_t ticket, Duration patience) {
  t.out.push_back(Signal{ticket, kSigTerm});
  t.out.push_back(After<WorkerTimer>{patience, {WorkerTimer::Kind::KillHard, ticket}});
}

void Worker::kill_hard(const Turn& t, uint64_t ticket) {
  if (!processes_.contains(ticket)) return;
  t.out.push_back(Signal{ticket, kSigKill});
  t.out.push_back(After<WorkerTimer>{kTerminatePatience, {WorkerTimer::Kind::GiveUp, ticket}});
}

void Worker::give_up(const Turn& t, uint64_t ticket) {
  auto it = processes_.find(ticket);
  if (it == processes_.end()) return;
  log(t, Level::Warn, "Failed to terminate a process. This process will likely be orphaned.");
  ProcessOwner owner = it->second;
  if (auto* key = std::get_if<ExecutorKey>(&owner))
    executor_ended(t, *key, ExecutorState::Killed, "Executor did not end when killed",
                   std::nullopt);
  else
    driver_exited(t, drivers_.at(std::get<DriverId>(owner)), std::nullopt);
}

}  // namespace tinderbox::core
