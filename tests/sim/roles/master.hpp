// A simulated standalone master: the real Master in its real shell.
#pragma once

#include "core/deploy/master/master.hpp"
#include "core/shell.hpp"
#include "tests/sim/roles/surroundings.hpp"

namespace tinderbox::sim {

inline constexpr const char* kMasterAddress = "master:7077";
inline constexpr const char* kMasterUrl = "spark://master:7077";

/// One incarnation. `disk` is its recovery log, which outlives it. Thread: the simulator's.
class SimMaster {
 public:
  SimMaster(Surroundings in, PeerId first_peer, Bytes& disk);
  void start();
  void die(bool silent);
  /// The next record reaches the disk in part, and is the last.
  void tear_next() { torn_ = true; }
  const ProcessPtr& process() const { return process_; }
  core::ClusterStatus status() const { return machine_.status(loop_.now()); }

  // ---- effects ----
  void apply(const core::Persist& e);
  void apply(const core::Exit& e) { throw Broken("the master gave up", e.reason); }
  void end_of_turn();

 private:
  Surroundings in_;
  Bytes& disk_;
  const ProcessPtr process_;
  SimLoop loop_;
  SimEndpoint endpoint_;
  core::Switchboard board_;
  core::Master machine_;
  core::Shell<core::Master, SimMaster> shell_;
  bool torn_ = false;
  bool recovers_ = false;  // an application of the master before
};

}  // namespace tinderbox::sim
