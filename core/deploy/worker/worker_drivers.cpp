// Drivers on a worker (cluster mode): run, run again when supervised, end.
#include <algorithm>

#include "conf/keys.hpp"
#include "conf/values/custom_resources.hpp"
#include "core/deploy/pages.hpp"
#include "core/deploy/worker/worker.hpp"
#include "core/resources/discovery.hpp"

namespace tinderbox::core {
namespace {

/// A run this long counts as a good one: the next wait is a short one again. Source: Spark
/// DriverRunner.
constexpr Duration kGoodRun = std::chrono::seconds(5);
constexpr int64_t kLongestWait = int64_t{1} << 30;  // seconds
constexpr const char* kDriverResources = "resource-spark.driver.json";

}  // namespace

void Worker::handle(const Turn& t, PeerId from, const LaunchDriver& m) {
  if (from != master_ || stopping_ || drivers_.contains(m.id)) return;
  log(t, Level::Info, "Asked to launch driver " + m.id.value);
  Driver& d = drivers_[m.id];
  d.id = m.id;
  d.description = m.description;
  d.resources = m.resources;
  d.submitted = t.now;
  cores_used_ += m.description.cores;
  memory_used_mib_ += m.description.memory_mib;
  if (!is_directory_name(m.id.value))
    return end_driver(t, m.id, DriverState::Error, "'" + m.id.value + "' cannot name a directory");
  run_driver(t, d);
}

void Worker::run_driver(const Turn& t, Driver& d) {
  const Command& c = d.description.command;
  d.ticket = next_ticket_++;
  d.started = t.now;
  d.waiting = false;
  processes_.emplace(d.ticket, d.id);
  Spawn s;
  s.ticket = d.ticket;
  s.file = c.elf;
  s.build_id = c.build_id;
  s.arguments = {"driver"};
  if (!c.main_class.empty()) {
    s.arguments.push_back("--class");
    s.arguments.push_back(c.main_class);
  }
  s.arguments.push_back("--");
  for (const std::string& a : c.arguments)
    s.arguments.push_back(a == "{{WORKER_URL}}" ? worker_url() : a == "{{USER_JAR}}" ? c.elf : a);
  s.environment = c.environment;
  if (!options_.web_ui_url.empty()) {
    const std::string log_url = options_.web_ui_url + log_path(d.id);
    s.environment["SPARK_DRIVER_LOG_URL_STDOUT"] = log_url + "stdout";
    s.environment["SPARK_DRIVER_LOG_URL_STDERR"] = log_url + "stderr";
  }
  s.properties = c.properties;
  s.directory = options_.work_dir + "/" + d.id.value;
  if (!d.resources.empty()) {
    s.files[kDriverResources] =
        resources_file(conf::component_of(conf::ResourceOwner::kDriver), d.resources);
    s.properties[std::string(conf::kDriverResourcesFile.spec.name)] =
        s.directory + "/" + kDriverResources;
  }
  t.out.push_back(std::move(s));
}

void Worker::driver_started(const Turn& t, Driver& d, const ProcessStarted& e) {
  if (!e.pid) {
    processes_.erase(d.ticket);
    return end_driver(t, d.id, d.killed ? DriverState::Killed : DriverState::Error, e.error);
  }
  if (d.killed) t.out.push_back(Signal{d.ticket, 15});
}

void Worker::driver_exited(const Turn& t, Driver& d, std::optional<int32_t> status) {
  processes_.erase(d.ticket);
  if (d.killed) return end_driver(t, d.id, DriverState::Killed, "");
  if (status == 0) return end_driver(t, d.id, DriverState::Finished, "");
  if (!d.description.supervise)
    return end_driver(t, d.id, DriverState::Failed,
                      status ? "Command exited with code " + std::to_string(*status) : "");
  if (t.now - d.started > kGoodRun) d.wait_seconds = 1;
  log(t, Level::Info,
      "Command exited with status " + std::to_string(status.value_or(-1)) +
          ", re-launching after " + std::to_string(d.wait_seconds) + " s.");
  d.waiting = true;
  t.out.push_back(After<WorkerTimer>{std::chrono::seconds(d.wait_seconds),
                                     {WorkerTimer::Kind::Relaunch, d.ticket}});
  d.wait_seconds = std::min(d.wait_seconds * 2, kLongestWait);
}

void Worker::relaunch(const Turn& t, uint64_t ticket) {
  for (auto& [id, d] : drivers_)
    if (d.ticket == ticket && d.waiting && !stopping_) return run_driver(t, d);
}

void Worker::handle(const Turn& t, PeerId from, const KillDriver& m) {
  auto it = drivers_.find(m.id);
  if (from != master_) return;
  if (it == drivers_.end()) {
    log(t, Level::Error, "Asked to kill unknown driver " + m.id.value);
    return;
  }
  log(t, Level::Info, "Asked to kill driver " + m.id.value);
  kill_driver(t, it->second);
}

void Worker::kill_driver(const Turn& t, Driver& d) {
  if (d.killed) return;
  d.killed = true;
  if (d.waiting) return end_driver(t, d.id, DriverState::Killed, "");
  terminate(t, d.ticket, options_.driver_terminate_timeout);
}

void Worker::end_driver(const Turn& t, const DriverId& ended, DriverState state,
                        std::string exception) {
  auto it = drivers_.find(ended);
  Driver d = std::move(it->second);
  drivers_.erase(it);
  d.state = state;
  d.exception = exception;
  cores_used_ -= d.description.cores;
  memory_used_mib_ -= d.description.memory_mib;
  log(t, Level::Info,
      "Driver " + d.id.value + " ended: " + std::string(name_of(state)) +
          (exception.empty() ? "" : " (" + exception + ")"));
  finished_drivers_.push_back(row_of(d));
  trim(finished_drivers_, options_.retained_drivers);
  if (!d.moves_on) tell_end(t, {d.id, state, std::move(exception), next_request_++});
  exit_if_drained(t);
}

void Worker::tell_end(const Turn& t, DriverStateChanged change) {
  if (master_) t.out.push_back(Send<ToMaster>{master_, change});
  const uint64_t request = change.request;
  driver_ends_.emplace(request, std::move(change));
}

void Worker::handle(const Turn&, PeerId, const DriverStateAccepted& m) {
  driver_ends_.erase(m.request);
}

DriverRow Worker::row_of(const Driver& d) const {
  return {d.id,
          d.submitted,
          d.state,
          d.description.cores,
          d.description.memory_mib,
          d.description.resources,
          id_,
          d.description.command.main_class,
          d.exception};
}

std::vector<DriverId> Worker::running_drivers() const {
  std::vector<DriverId> running;
  for (const auto& [id, d] : drivers_) running.push_back(id);
  return running;
}

std::vector<DriverResources> Worker::driver_resources() const {
  std::vector<DriverResources> held;
  for (const auto& [id, d] : drivers_)
    if (!d.resources.empty()) held.push_back({id, d.resources});
  return held;
}

}  // namespace tinderbox::core
