#include "tests/sim/roles/master.hpp"

#include "core/resources/resource_profile.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {

MasterOptions master_options(const Settings& settings) {
  MasterOptions o;
  o.url = kMasterUrl;
  o.persist = true;
  o.worker_timeout = settings.executor_timeout;
  o.recovery_timeout = settings.executor_timeout;
  o.dead_worker_persistence = 15;
  o.max_executor_retries = -1;
  o.default_cores = 1 << 20;
  o.retained_apps = o.retained_drivers = 10;
  o.app_id_pattern = "app-%s-%04d";
  o.driver_id_pattern = "driver-%s-%04d";
  return o;
}

}  // namespace

SimMaster::SimMaster(Surroundings in, PeerId first_peer, Bytes& disk)
    : in_(in),
      disk_(disk),
      process_(make_process(in.world, "master", "master", in.settings.skewed)),
      loop_(in.world, process_),
      endpoint_(in.network, process_, kMasterAddress, first_peer),
      board_(endpoint_),
      machine_(master_options(in.settings), in.world.random().next()),
      shell_(loop_, board_, machine_, *this, "Master") {
  shell_.listen<ToMaster>();
  shell_.listen_losses();
}

void SimMaster::start() {
  Replay replayed = replay(disk_);
  in_.world.trace("master", "starts with " + std::to_string(replayed.records) + " records");
  recovers_ = !replayed.state.apps.empty();
  disk_ = compacted(replayed.state);
  shell_.feed(ElectedLeader{std::move(replayed.state)});
}

void SimMaster::die(bool silent) {
  process_->alive = false;
  in_.network.process_died(*process_, silent);
}

void SimMaster::apply(const Persist& e) {
  if (!process_->alive) return;
  if (torn_) {
    disk_ += e.record.substr(0, e.record.size() / 2);
    in_.checks.reached(Fault::Kind::TearLog);
    return die(false);
  }
  disk_ += e.record;
}

void SimMaster::end_of_turn() {
  const ClusterStatus now = status();
  if (recovers_ && now.state == RecoveryState::Alive) {
    recovers_ = false;
    if (!now.active_apps.empty()) in_.checks.reached(Path::MasterRecovered);
  }
  for (const WorkerRow& w : now.workers) {
    const auto total = amounts_of(w.resources), used = amounts_of(used_of(w));
    for (const auto& [name, free] : amounts_of(w.resources_free))
      if (free + (used.contains(name) ? used.at(name) : 0) != total.at(name))
        throw Broken("an address given twice", w.id.value + " has " + std::to_string(free) +
                                                   " free of " + std::to_string(total.at(name)));
    if (w.cores_used < 0 || w.cores_used > w.cores || w.memory_used_mib > w.memory_mib)
      throw Broken("a core given twice", w.id.value + " uses " + std::to_string(w.cores_used) +
                                             " of " + std::to_string(w.cores) + " cores");
  }
}

}  // namespace tinderbox::sim
