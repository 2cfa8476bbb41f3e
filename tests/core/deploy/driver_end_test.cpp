// A driver's end that is lost on its way: a worker and a master, and the connection between them.
#include <catch2/catch.hpp>

#include "conf/keys.hpp"
#include "core/deploy/master/recovery.hpp"
#include "tests/core/deploy/master/master_fixture.hpp"
#include "tests/core/deploy/worker/worker_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

/// A worker, a master with a log, and the latest connection between them.
struct Pair {
  static constexpr int64_t kAll = 1 << 20;
  static MasterOptions options() {
    return of_master::options(conf::Conf().with(conf::kDeployRecoveryMode, "FILESYSTEM"));
  }
  of_master::Run master{options()};
  of_worker::Run worker;
  PeerId peer = 0;
  int64_t heard = kAll;  // of what the worker still sends on this connection; the rest is lost
  uint64_t ticket = 0;   // of the latest process
  size_t launched = 0, told = 0;
  Bytes log{kLogMagic};

  void run(const Worker::Effects& out) {
    for (const Spawn& s : all<Spawn>(out)) ticket = s.ticket;
    told += to_master<DriverStateChanged>(out).size();
    for (const Connect& c : all<Connect>(out)) run(worker.feed(Connected{c.ticket, ++peer}));
    for (const auto& s : all<Send<ToMaster>>(out))
      if (s.to == peer && heard-- > 0) run(master.from(peer, s.message));
  }
  void run(const Master::Effects& out) {
    for (const Persist& p : all<Persist>(out)) log += p.record;
    launched += to_worker<LaunchDriver>(out).size();
    for (const auto& s : all<Send<ToWorker>>(out))
      if (s.to == peer) run(worker.from(peer, s.message));
  }
  void start(bool supervised) {
    run(worker.feed(StartWorker{}));
    run(master.from(200, RequestSubmitDriver{{}, of_worker::driver(supervised)}));
    REQUIRE(launched == 1);
    run(worker.feed(ProcessStarted{ticket, 7, ""}));
  }
  /// The worker sees the loss first.
  void replace_connection(int64_t heard_of_it = kAll) {
    const PeerId old = peer;
    heard = heard_of_it;
    run(worker.feed(PeerLost{old}));
    run(master.feed(PeerLost{old}));
  }
  void replace_master() { master = of_master::Run(options(), replay(log).state); }
  /// The new master finds the worker before that finds it.
  void be_found() {
    heard = kAll;
    worker.feed(PeerLost{peer});
    const Connect c = all<Connect>(master.first).at(0);
    const auto changed = to_worker<MasterChanged>(master.feed(Connected{c.ticket, 50}));
    run(worker.from(50, changed.at(0).message));
  }
};

struct Case {
  const char* name;
  void (*happens)(Pair&);
};
const Case kCases[] = {
    {"the connection is replaced", [](Pair& p) { p.replace_connection(); }},
    {"the one after that breaks too, with nothing but the registration heard",
     [](Pair& p) {
       p.replace_connection(1);
       p.replace_connection();
     }},
    {"the master recovers, and the worker comes to it",
     [](Pair& p) {
       p.replace_master();
       p.replace_connection();
     }},
    {"the master recovers, and comes to the worker",
     [](Pair& p) {
       p.replace_master();
       p.be_found();
     }},
};

}  // namespace

TEST_CASE("a driver's end that was lost on its way is told again: nothing runs twice",
          "[master][worker][recovery]") {
  for (const Case& c : kCases)
    for (const bool supervised : {true, false}) {
      INFO(c.name << (supervised ? ", supervised" : ""));
      Pair p;
      p.start(supervised);
      p.heard = 0;
      p.run(p.worker.feed(ProcessExited{p.ticket, 0}));
      c.happens(p);
      const ClusterStatus s = p.master.status();
      CHECK(s.state == RecoveryState::Alive);
      CHECK(s.active_drivers.empty());
      REQUIRE(s.completed_drivers.size() == 1);
      CHECK(s.completed_drivers[0].state == DriverState::Finished);
      CHECK(p.launched == 1);
      CHECK(replay(p.log).state.drivers.empty());
      p.told = 0;
      p.replace_connection();
      CHECK(p.told == 0);
    }
}
