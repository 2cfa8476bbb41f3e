// The driver's registry of executors.
#include "core/scheduler/executors/executors.hpp"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "conf/keys.hpp"

namespace tinderbox::core {

/// What is looked up for each message and each location preference: flat, for thousands of
/// executors are more than a cache holds in nodes.
struct Executors::Index {
  absl::flat_hash_map<std::string, int32_t> hosts;
  absl::flat_hash_map<PeerId, int32_t> peers;  // of executors that registered, while connected
};

Executors::Executors(const DriverOptions& options)
    : options_(options), profiles_(options), index_(std::make_unique<Index>()) {}
Executors::~Executors() = default;

int32_t Executors::slot(const ExecutorId& id) {
  auto [it, fresh] = slots_by_id_.try_emplace(id.value, count());
  if (fresh) {
    if (static_cast<size_t>(count_) == chunks_.size() * kChunk)
      chunks_.push_back(std::make_unique<Executor[]>(kChunk));
    ++count_;
    Executor& e = at(it->second);
    e.id = id;
    e.slot = it->second;
  }
  return it->second;
}

int32_t Executors::host(std::string_view name) {
  const absl::string_view key(name.data(), name.size());
  if (const auto it = index_->hosts.find(key); it != index_->hosts.end()) return it->second;
  const int32_t host = static_cast<int32_t>(hosts_.size());
  hosts_.push_back({std::string(name), 0});
  index_->hosts.emplace(key, host);
  return host;
}

int32_t Executors::of_peer(PeerId peer) const {
  const auto it = index_->peers.find(peer);
  return it == index_->peers.end() ? -1 : it->second;
}

std::vector<int32_t> Executors::connected() const {
  std::vector<int32_t> slots;
  for (const auto& [peer, slot] : index_->peers)
    if (connected(slot)) slots.push_back(slot);
  std::sort(slots.begin(), slots.end());
  return slots;
}

bool Executors::others_on_host(int32_t slot) const {
  const auto other = [&](const auto& entry) {
    return entry.second != slot && at(entry.second).host == at(slot).host &&
           connected(entry.second);
  };
  return std::any_of(index_->peers.begin(), index_->peers.end(), other);
}

namespace {
std::string unknown_profile(const ExecutorId& executor, int32_t profile) {
  return "executor " + executor.value + " is of resource profile " + std::to_string(profile) +
         ", which this application does not have";
}
}  // namespace

std::string Executors::refusal(const ExecutorHello& hello) const {
  const std::string who = "executor " + hello.id.value;
  if (hello.id.value.empty())
    return "an executor without an id was refused; start it with --executor-id";
  if (hello.who.app != options_.app)
    return who + " belongs to application '" + hello.who.app.value + "' but this driver runs '" +
           options_.app.value + "'; start it with this driver's --app-id";
  const auto differ = [&](const char* what, const std::string& theirs, const std::string& ours) {
    return who + " has " + what + " '" + theirs + "' but the driver has '" + ours +
           "'; run both from the same file";
  };
  if (hello.build_id.empty() || hello.build_id != options_.build_id)
    return differ("build id", hello.build_id, options_.build_id);
  if (hello.code_hash.empty() || hello.code_hash != options_.code_hash)
    return differ("code hash", hello.code_hash, options_.code_hash);
  if (!profiles_.knows(hello.profile)) return unknown_profile(hello.id, hello.profile);
  return {};
}

void Executors::hello(PeerId from, const ExecutorHello& hello, Turn& turn) {
  if (std::string reason = refusal(hello); !reason.empty()) {
    turn.log(Level::Warn, reason);
    turn.send(from, ExecutorRefused{std::move(reason)});
    return;
  }
  ExecutorId given;
  if (hello.id.value == kUnnamedExecutor) {
    given = {std::to_string(++named_)};
    turn.out.push_back(NameBackendExecutor{given, hello.pod});
  }
  greeted_[from] = given.value.empty() ? hello.id : given;
  ApplicationConfig config{options_.properties, options_.driver_block_address,
                           profiles_.resources(hello.profile), profiles_.needs(hello.profile).cpus,
                           given};
  if (const std::optional<int64_t> mib = profiles_.memory_mib(hello.profile))
    config.properties[std::string(conf::kExecutorMemory.spec.name)] = std::to_string(*mib) + "m";
  turn.send(from, std::move(config));
}

int32_t Executors::register_executor(PeerId from, const RegisterExecutor& executor, Turn& turn) {
  const auto refuse = [&](std::string reason) {
    turn.log(Level::Warn, reason);
    turn.send(from, ExecutorRefused{std::move(reason)});
    return -1;
  };
  auto greeting = greeted_.find(from);
  if (greeting == greeted_.end() || greeting->second != executor.id)
    return refuse("executor " + executor.id.value + " registered without a matching hello");
  if (!profiles_.knows(executor.profile))
    return refuse(unknown_profile(executor.id, executor.profile));
  const int32_t slot = this->slot(executor.id);
  Executor& e = at(slot);
  if (e.state != Executor::State::Named)
    return refuse("Duplicate executor ID: " + executor.id.value);
  e.state = Executor::State::Registered;
  e.peer = from;
  e.host = host(executor.host);
  e.cores = executor.cores;
  e.profile = executor.profile;
  e.resources = executor.resources;
  e.slots = profiles_.slots(e.profile, e.cores, e.resources);
  e.address = {executor.id, executor.host, executor.block_address};
  e.local_dirs = executor.local_dirs;
  e.last_seen = turn.now;
  index_->peers[from] = slot;
  if (e.slots == 0) warn_if_useless(e, turn);
  turn.send(from, ExecutorRegistered{});
  return slot;
}

void Executors::warn_if_useless(const Executor& e, Turn& turn) const {
  const TaskNeeds& needs = profiles_.needs(e.profile);
  if (e.cores < needs.cpus)
    return turn.log(Level::Warn, "executor " + e.id.value + " has " + std::to_string(e.cores) +
                                     " cores but a task needs " + std::to_string(needs.cpus) +
                                     ": it will get none; raise its cores or lower "
                                     "spark.task.cpus");
  turn.log(Level::Warn, "executor " + e.id.value +
                            " has too few custom resources for a task of resource profile " +
                            std::to_string(e.profile) + ": it will get none of them");
}

void Executors::activate(int32_t slot) {
  Executor& e = at(slot);
  e.state = Executor::State::Active;
  active_.push_back(slot);
  active_slots_ += e.slots;
  ++hosts_[static_cast<size_t>(e.host)].active;
}

void Executors::deactivate(int32_t slot, Executor::State next) {
  Executor& e = at(slot);
  if (e.state == Executor::State::Active) {
    active_.erase(std::find(active_.begin(), active_.end(), slot));
    active_slots_ -= e.slots;
    --hosts_[static_cast<size_t>(e.host)].active;
  }
  e.state = next;
  if (next != Executor::State::Removed) return;
  e.local_dirs.clear();
  forget_decommission(slot);
}

void Executors::decommission(int32_t slot, Decommission why) {
  deactivate(slot, Executor::State::Draining);
  if (!why.worker_host.empty()) ++hosts_[static_cast<size_t>(at(slot).host)].condemned;
  decommissions_.insert_or_assign(slot, std::move(why));
}

const Decommission* Executors::decommission_of(int32_t slot) const {
  const auto found = decommissions_.find(slot);
  return found == decommissions_.end() ? nullptr : &found->second;
}

/// The last few stay known: what readers of their blocks run into is told by it.
void Executors::forget_decommission(int32_t slot) {
  const Decommission* why = decommission_of(slot);
  if (!why) return;
  if (!why->worker_host.empty()) --hosts_[static_cast<size_t>(at(slot).host)].condemned;
  gone_.push_back(slot);
  while (static_cast<int64_t>(gone_.size()) > options_.max_retained_decommissioned) {
    decommissions_.erase(gone_.front());
    gone_.pop_front();
  }
}

void Executors::peer_lost(PeerId peer) {
  greeted_.erase(peer);
  index_->peers.erase(peer);
}

}  // namespace tinderbox::core
