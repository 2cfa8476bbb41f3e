// A simulated driver: the real Driver and BlockClient machines in their real shells. The user's
// threads, the listeners and the backend are the simulator's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/scheduler/driver.hpp"
#include "core/shell.hpp"
#include "core/storage/block_client.hpp"
#include "tests/sim/executor.hpp"

namespace tinderbox::sim {

class SimDriver {
 public:
  using Kill = std::function<void(const ExecutorId&, bool replace)>;
  SimDriver(Surroundings in, Kill kill);

  /// The application is registered: the machine exists from now on.
  void open(const AppId& app);
  bool opened() const { return machine_ != nullptr; }
  /// As RealDriverRuntime::post: on the driver's loop, later.
  void post(core::DriverEvent event);
  void submit(uint64_t ticket, const JobPlan& plan);

  /// Only once opened().
  const core::Driver& machine() const { return *machine_; }
  SimLoop& loop() { return loop_; }
  core::Switchboard& board() { return control_board_; }
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
  void apply(const core::RequestTotalExecutors&) {
    throw Broken("executors were asked for", "dynamic allocation is off");
  }
  void end_of_turn() {
    if (machine_) in_.checks.turn_ended(*machine_);
  }

 private:
  Surroundings in_;
  const Kill kill_;
  const ProcessPtr process_;
  SimLoop loop_;
  SimEndpoint control_, blocks_;
  core::Switchboard control_board_, block_board_;
  std::unique_ptr<core::Driver> machine_;
  std::unique_ptr<core::BlockClient> client_;
  std::unique_ptr<core::Shell<core::Driver, SimDriver>> shell_;
  std::unique_ptr<core::Shell<core::BlockClient, SimDriver>> fetching_;
  std::vector<core::DriverEvent> early_;
  std::map<uint64_t, TaskId> fetches_;
  uint64_t next_fetch_ = 1;
};

}  // namespace tinderbox::sim
