#include "tests/sim/roles/worker.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "conf/keys.hpp"
#include "tests/sim/roles/master.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {

constexpr int64_t kExecutorMemory = 1024;  // MiB, of AppDescription
constexpr int32_t kMostGpus = 3;           // of an executor

WorkerOptions worker_options(const Settings& settings, const std::string& host, int32_t executors) {
  WorkerOptions o;
  o.host = host;
  o.port = 7078;
  // An executor whose outputs are read stays, idle, when those of another profile are wanted.
  const int32_t room = executors * static_cast<int32_t>(1 + settings.profiles.size());
  // What there is no more of: cores on some hosts, memory on others.
  const bool short_of_memory = std::hash<std::string>{}(host) % 2 == 0;
  o.cores = settings.cores * (short_of_memory ? room + 1 : room);
  o.memory_mib = kExecutorMemory * (short_of_memory ? room : room + 1);
  const int32_t most = settings.profiles.empty() ? settings.gpus : kMostGpus;
  for (int32_t i = 0; i < most * room; ++i) o.resources[kGpu].push_back(std::to_string(i));
  o.masters = {kMasterUrl};
  o.work_dir = "/work";
  o.id_pattern = "worker-%s-%s-%d";
  o.heartbeat_interval = settings.executor_timeout / 4;
  o.initial_retries = 6;
  o.max_retries = 16;
  o.ask_timeout = settings.ask_timeout;
  o.state_sync_attempts = 5;
  o.driver_terminate_timeout = 10s;
  o.retained_executors = o.retained_drivers = 10;
  return o;
}

std::string argument(const Spawn& e, const std::string& name) {
  const auto at = std::ranges::find(e.arguments, name);
  return at == e.arguments.end() ? "" : *std::next(at);
}

/// What stands in the files that go with it.
ExecutorHas has(const Spawn& e) {
  ExecutorHas has{std::stoi(argument(e, "--resourceProfileId")), {}};
  for (const auto& [name, text] : e.files)
    for (const auto& allocation : nlohmann::json::parse(text))
      has.resources[allocation["id"]["resourceName"].get<std::string>()] =
          allocation["addresses"].get<std::vector<std::string>>();
  return has;
}

}  // namespace

SimWorker::SimWorker(Surroundings in, Fleet& fleet, const std::string& host, int32_t executors,
                     PeerId first_peer, OnExit on_exit)
    : in_(in),
      fleet_(fleet),
      on_exit_(std::move(on_exit)),
      process_(make_process(in.world, "worker " + host, host, in.settings.skewed)),
      loop_(in.world, process_),
      endpoint_(in.network, process_, host + ":7078", first_peer),
      board_(endpoint_),
      options_(worker_options(in.settings, host, executors)),
      machine_(options_, in.world.random().next()),
      shell_(loop_, board_, machine_, *this, "Worker") {
  shell_.listen<ToWorker>();
  shell_.listen_losses();
}

void SimWorker::die(bool silent) {
  if (!process_->alive) return;
  process_->alive = false;
  in_.world.trace(process_->name, "ends");
  in_.network.process_died(*process_, silent);
  on_exit_(process_->host);
}

void SimWorker::given_once(const Spawn& e) {
  // A master that loses a worker takes what ran there for gone, as Spark's does, until it is told.
  if (std::exchange(conversation_, endpoint_.next_peer()) != endpoint_.next_peer()) given_.clear();
  const AppId app{argument(e, "--app-id")};
  Given now{app, std::stoi(argument(e, "--cores")), has(e).resources};
  int32_t cores = now.cores;
  for (const auto& [ticket, other] : given_) {
    if (other.app != app) continue;
    cores += other.cores;
    for (const auto& [name, addresses] : other.resources)
      for (const std::string& address : addresses)
        if (std::ranges::count(now.resources[name], address))
          throw Broken("an address given twice", name + " " + address + " of " + process_->name);
  }
  if (cores > options_.cores)
    throw Broken("a core given twice",
                 process_->name + " runs executors with " + std::to_string(cores) + " cores");
  given_[e.ticket] = std::move(now);
}

void SimWorker::apply(const Spawn& e) {
  given_once(e);
  const Duration delay =
      std::min<Duration>(in_.world.random().long_tailed(in_.settings.start_delay), 20s);
  in_.world.after(process_, delay, [this, e] { spawned(e); });
}

void SimWorker::apply(const Signal& e) {
  const auto it = children_.find(e.ticket);
  given_.erase(e.ticket);
  if (it == children_.end()) return;
  SimExecutor& child = *it->second;
  const int number = e.number;
  in_.world.after(child.process(), in_.world.random().between(Duration{1ms}, Duration{500ms}),
                  [&child, number] { child.die(128 + number, false, "a signal"); });
}

void SimWorker::spawned(const Spawn& e) {
  children_[e.ticket] = &fleet_.start(
      AppId{argument(e, "--app-id")}, argument(e, "--executor-id"), process_->host, has(e),
      [this, ticket = e.ticket](int code, const std::string&) {
        in_.world.after(process_, in_.world.random().between(Duration{100us}, Duration{20ms}),
                        [this, ticket, code] {
                          given_.erase(ticket);
                          shell_.feed(ProcessExited{ticket, code});
                        });
      });
  shell_.feed(ProcessStarted{e.ticket, static_cast<int64_t>(1000 + e.ticket), ""});
}

}  // namespace tinderbox::sim
