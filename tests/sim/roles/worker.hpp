// A simulated standalone worker: the real Worker in its real shell; its children are executors.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/deploy/worker/worker.hpp"
#include "core/shell.hpp"
#include "tests/sim/managers/fleet.hpp"

namespace tinderbox::sim {

/// One incarnation; its executors outlive it. Thread: the simulator's.
class SimWorker {
 public:
  using OnExit = std::function<void(const std::string& host)>;
  /// `executors`: so many it has room for.
  SimWorker(Surroundings in, Fleet& fleet, const std::string& host, int32_t executors,
            PeerId first_peer, OnExit on_exit);
  void start() { shell_.feed(core::StartWorker{}); }
  void decommission() { shell_.feed(core::DecommissionWorker{}); }
  void die(bool silent);
  const ProcessPtr& process() const { return process_; }

  // ---- effects ----
  void apply(const core::Spawn& e);
  void apply(const core::Signal& e);
  void apply(const core::MakeDirectories&) {}
  void apply(const core::RemoveDirectories&) {}
  void apply(const core::CleanWorkDirs&) {}
  void apply(const core::Exit&) { die(false); }

 private:
  /// What a child may use until the master hears that it ended.
  struct Given {
    AppId app;
    int32_t cores = 0;
    ResourceAddresses resources;
  };
  void given_once(const core::Spawn& e);
  void spawned(const core::Spawn& e);

  Surroundings in_;
  Fleet& fleet_;
  const OnExit on_exit_;
  const ProcessPtr process_;
  SimLoop loop_;
  SimEndpoint endpoint_;
  core::Switchboard board_;
  const core::WorkerOptions options_;
  core::Worker machine_;
  core::Shell<core::Worker, SimWorker> shell_;
  std::map<uint64_t, SimExecutor*> children_;
  std::map<uint64_t, Given> given_;  // to children that nobody told to end
  PeerId conversation_ = 0;          // with the master, in which that was
};

}  // namespace tinderbox::sim
