// A simulated driver: the real Driver and BlockClient machines in their real shells. The user's
// threads, the listeners and the backend are the simulator's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/scheduler/driver.hpp"
#include "core/shell.hpp"
#include "core/storage/block_client.hpp"
#include "tests/sim/executor.hpp"

namespace tinderbox::sim {

class SimDriver {
 public:
  using Kill = std::function<void(const ExecutorId&, bool replace)>;
  SimDriver(Surroundings in, Kill kill);

  /// As RealDriverRuntime::post: on the driver's loop, later.
  void post(core::DriverEvent event);
  void submit(uint64_t ticket, const JobPlan& plan);

  const core::Driver& machine() const { return machine_; }
  const ProcessPtr& process() const { return process_; }

  // ---- effects ----
  void apply(const core::DeliverResult& e) { in_.checks.delivered(e); }
  void apply(const core::DeliverJobEnd& e);
  void apply(const core::ApplyAccumulators& e) { in_.checks.counted(e); }
  void apply(const core::Publish& e);
  void apply(const core::FetchResult& e);
  void apply(const core::SendShared& e);
  void apply(const core::KillBackendExecutor& e) { kill_(e.executor, e.replace); }
  void apply(const core::DeliverBlock& e);
  void end_of_turn() { in_.checks.turn_ended(machine_); }

 private:
  Surroundings in_;
  const Kill kill_;
  const ProcessPtr process_;
  SimLoop loop_;
  SimEndpoint control_, blocks_;
  core::Switchboard control_board_, block_board_;
  core::Driver machine_;
  core::BlockClient client_;
  core::Shell<core::Driver, SimDriver> shell_;
  core::Shell<core::BlockClient, SimDriver> fetching_;
  std::map<uint64_t, TaskId> fetches_;
  uint64_t next_fetch_ = 1;
};

}  // namespace tinderbox::sim
