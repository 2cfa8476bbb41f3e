// What runs where: drivers first, then executors for each application in the order of registration.
#include <algorithm>

#include "conf/keys.hpp"
#include "core/deploy/master/master.hpp"
#include "core/resources/discovery.hpp"
#include "core/resources/resource_profile.hpp"

namespace tinderbox::core {
namespace {

constexpr size_t kNamedWorkers = 4;  // in a reason
/// For workers that start together with an application: that there is none yet is no news.
constexpr Duration kWorkersStart = std::chrono::seconds(1);

/// What no worker has.
struct Lack {
  bool cores = false, memory = false;
  ResourceAmounts resources;
  bool nothing() const { return !cores && !memory && resources.empty(); }
};

std::string lack_text(const Lack& lack, int32_t c, int64_t mib, const ResourceAmounts& resources) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " and ") + part; };
  if (lack.cores) add(std::to_string(c) + (c == 1 ? " core" : " cores"));
  if (lack.memory) add(std::to_string(mib) + " MiB");
  for (const auto& [name, amount] : lack.resources) {
    const auto at = resources.find(name);
    add(show_amounts({{name, at == resources.end() ? 0 : at->second}}));
  }
  return text;
}

}  // namespace

void Master::schedule(const Turn& t) {
  if (state_ != RecoveryState::Alive) return;
  launch_drivers(t);
  launch_executors(t);
}

Master::Offers Master::offers() {
  Offers o;
  for (auto& [id, w] : workers_) {
    if (w.state != WorkerState::Alive || !w.heard) continue;
    o.workers.push_back(&w);
    o.offers.push_back({w.cores_free(), w.memory_free_mib(),
                        w.executors.empty() && w.drivers.empty(), amounts_of(w.resources_free)});
  }
  return o;
}

void Master::launch_drivers(const Turn& t) {
  if (waiting_drivers_.empty()) return;
  Offers all = offers(), in_turn;
  std::vector<size_t> order(all.workers.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (options_.spread_out_drivers) order = shuffled(order.size(), random_);
  for (size_t i : order) {
    in_turn.workers.push_back(all.workers[i]);
    in_turn.offers.push_back(all.offers[i]);
  }
  auto running = static_cast<int64_t>(drivers_.size() - waiting_drivers_.size());
  auto room = std::max<int64_t>(0, options_.max_drivers - running);
  std::vector<DriverId> queue = waiting_drivers_;
  queue.resize(static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(queue.size()), room)));
  std::vector<DriverNeed> needs;
  for (const DriverId& id : queue) {
    const DriverDescription& d = drivers_.at(id).description;
    needs.push_back({d.cores, d.memory_mib, d.resources});
  }
  std::vector<DriverPlace> places =
      place_drivers(needs, in_turn.offers, options_.spread_out_drivers);
  for (size_t i = 0; i < queue.size(); ++i) {
    if (places[i].worker) {
      launch_driver(t, *in_turn.workers[*places[i].worker], drivers_.at(queue[i]));
    } else if (places[i].hopeless) {
      log(t, Level::Warn,
          "Driver " + queue[i].value + " requires more resource than any of Workers could have.");
    }
  }
}

void Master::launch_driver(const Turn& t, MasterWorker& w, MasterDriver& d) {
  log(t, Level::Info, "Launching driver " + d.id.value + " on worker " + w.id.value);
  std::erase(waiting_drivers_, d.id);
  const ResourceAddresses resources = w.choose(d.description.resources);
  w.add(d.id, d.description, resources);
  d.worker = w.id;
  d.state = DriverState::Running;
  send(t, w, LaunchDriver{d.id, d.description, resources});
}

void Master::launch_executors(const Turn& t) {
  for (const AppId& id : app_order_) launch_executors(t, apps_.at(id));
}

ExecutorNeed Master::need_of(const MasterApp& a, const ProfileDemand& demand) const {
  ExecutorNeed n;
  if (demand.cores) n.cores = std::max(1, *demand.cores);
  n.memory_mib = std::max<int64_t>(0, demand.memory_mib);
  n.cores_left = a.description.max_cores.value_or(options_.default_cores) - a.cores_granted;
  n.running = demand.running;
  n.limit = demand.limit;
  // What nobody could count with is as good as nothing.
  for (const auto& [name, amount] : demand.resources)
    if (amount > 0) n.resources[name] = amount;
  return n;
}

/// One resource profile after the other. What is told is why the first of those that have no
/// executor gets none.
void Master::launch_executors(const Turn& t, MasterApp& a) {
  if (t.now < a.not_before && std::any_of(a.demands.begin(), a.demands.end(), [](const auto& d) {
        return d.second.running < d.second.limit;
      }))
    return;
  std::string reason;
  for (const auto& [profile, demand] : a.demands) {
    std::string why = launch_executors(t, a, profile);
    if (reason.empty()) reason = std::move(why);
  }
  if (!reason.empty() && t.now < a.submitted + kWorkersStart && offers().workers.empty()) {
    if (!std::exchange(a.waits_for_workers, true))
      t.out.push_back(After<MasterTimer>{kWorkersStart, {MasterTimer::Kind::Schedule, 0}});
    return;
  }
  tell_reason(t, a, std::move(reason));
}

/// Why there is no executor of the profile, though one is wanted; else empty.
std::string Master::launch_executors(const Turn& t, MasterApp& a, int32_t profile) {
  const ProfileDemand& demand = a.demands.at(profile);
  const ExecutorNeed need = need_of(a, demand);
  if (need.running >= need.limit) return {};
  const int32_t step = need.cores.value_or(1);
  if (need.cores_left < step) {
    const bool never = a.executors.empty();
    const auto& limit =
        a.description.max_cores ? conf::kCoresMax.spec : conf::kDeployDefaultCores.spec;
    return never ? std::string(limit.name) + " " + std::to_string(need.cores_left) +
                       " is less than the " + std::to_string(step) + " cores of one executor"
                 : "";
  }
  Offers all = offers();
  Offers usable;
  for (size_t i : usable_workers(need, all.offers, options_.worker_order)) {
    usable.workers.push_back(all.workers[i]);
    usable.offers.push_back(all.offers[i]);
  }
  std::vector<int32_t> cores = assign_cores(need, usable.offers, options_.spread_out_apps);
  for (size_t i = 0; i < cores.size(); ++i) {
    if (cores[i] == 0) continue;
    int32_t each = need.cores.value_or(cores[i]);
    for (int32_t n = cores[i] / each; n > 0; --n)
      launch_executor(t, a, *usable.workers[i], profile, each);
  }
  return demand.running == 0 ? lack_of(need, all) : "";
}

void Master::launch_executor(const Turn& t, MasterApp& a, MasterWorker& w, int32_t profile,
                             int32_t cores) {
  const ExecutorNeed need = need_of(a, a.demands.at(profile));
  ExecutorDescription e{a.id,
                        a.next_executor,
                        profile,
                        cores,
                        need.memory_mib,
                        ExecutorState::Launching,
                        w.choose(need.resources)};
  log(t, Level::Info,
      "Launching executor " + a.id.value + "/" + std::to_string(e.executor) + " on worker " +
          w.id.value);
  w.add(e);
  a.add(w.id, e);
  a.state = AppState::Running;
  send(t, w,
       LaunchExecutor{w.master_url, a.id, e.executor, e.profile, a.description, e.cores,
                      e.memory_mib, e.resources});
  send(t, a,
       ExecutorAdded{e.executor, w.id, w.host + ":" + std::to_string(w.port), e.cores,
                     e.memory_mib});
}

/// Why no worker can take one executor of `need`, in words.
std::string Master::lack_of(const ExecutorNeed& need, const Offers& all) const {
  if (all.workers.empty()) return "no worker is registered with " + options_.url;
  const int32_t c = need.cores.value_or(1);
  const auto none = [&](auto has) {
    return std::none_of(all.offers.begin(), all.offers.end(), has);
  };
  Lack lack;
  lack.cores = none([&](const WorkerOffer& o) { return o.cores_free >= c; });
  lack.memory = none([&](const WorkerOffer& o) { return o.memory_free_mib >= need.memory_mib; });
  for (const auto& resource : need.resources)
    if (none([&](const WorkerOffer& o) { return has_resources(o, {resource}); }))
      lack.resources.insert(resource);
  // Each is somewhere, but nowhere all of them.
  if (lack.nothing()) lack = {true, true, need.resources};
  std::string text =
      "no worker has " + lack_text(lack, c, need.memory_mib, need.resources) + " free: ";
  for (size_t i = 0; i < all.workers.size() && i < kNamedWorkers; ++i) {
    const WorkerOffer& o = all.offers[i];
    text += (i ? ", " : "") + all.workers[i]->id.value + " has " +
            lack_text(lack, o.cores_free, o.memory_free_mib, o.resources_free);
  }
  if (all.workers.size() > kNamedWorkers)
    text += " and " + std::to_string(all.workers.size() - kNamedWorkers) + " more workers";
  return text;
}

void Master::tell_reason(const Turn& t, MasterApp& a, std::string reason) {
  if (a.reason == reason) return;
  a.reason = std::move(reason);
  if (!a.reason.empty())
    log(t, Level::Warn, "App " + a.id.value + " gets no executor: " + a.reason);
  send(t, a, SchedulingStatus{a.reason});
}

}  // namespace tinderbox::core
