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
#include "core/storage/transfer/block_client.hpp"
#include "tests/sim/roles/executor.hpp"

namespace tinderbox::sim {

/// An application's driver: one process after the other, each begins anew. Thread: the simulator's.
class SimDriver {
 public:
  /// What the cluster manager does for it.
  struct Backend {
    std::function<void(const ExecutorId&)> kill;
    std::function<void(const core::RequestTotalExecutors&)> want;
    std::function<void(const ExecutorId&)> decommissioned;
    std::function<void(const core::ListenerEvent&)> heard;
  };
  SimDriver(Surroundings in, Backend backend);

  /// A new process; nothing is registered yet.
  void begin();
  /// The application is registered: the machine exists from now on.
  void open(const AppId& app);
  /// `silent`: its machine goes too.
  void crash(bool silent);
  bool opened() const { return now().process->alive && now().machine; }
  /// As RealDriverRuntime::post: on the driver's loop, later.
  void post(core::DriverEvent event);
  void submit(uint64_t ticket, const JobPlan& plan);
  /// On the driver's loop, later: what it does sees the machine as an order finds it. Dropped when
  /// the process ends before.
  void soon(std::function<void()> order) {
    in_.world.after(process(), Duration{1}, std::move(order));
  }
  /// Now: when this returns, the machine has done what follows. Only once opened(), and by soon().
  void feed(core::DriverEvent event) { now().shell->feed(std::move(event)); }

  /// Only once opened().
  const core::Driver& machine() const { return *now().machine; }
  SimLoop& loop() { return now().loop; }
  core::Switchboard& board() { return now().control_board; }
  const ProcessPtr& process() const { return now().process; }

  // ---- effects ----
  void apply(const core::DeliverResult& e) { in_.checks.delivered(e); }
  void apply(const core::DeliverJobEnd& e);
  void apply(const core::ApplyAccumulators& e) { in_.checks.counted(e); }
  void apply(const core::Publish& e);
  void apply(const core::FetchResult& e);
  void apply(const core::SendShared& e);
  void apply(const core::KillBackendExecutor& e);
  void apply(const core::DecommissionBackendExecutor& e) { backend_.decommissioned(e.executor); }
  void apply(const core::NameBackendExecutor&) {}  // its executors come with ids
  void apply(const core::DeliverBlock& e);
  void apply(const core::KeepChunk&) {}  // its blocks are not too large for memory
  void apply(const core::ReadBack&) {}
  void apply(const core::DropFile&) {}
  void apply(const core::RequestTotalExecutors& e);
  void end_of_turn() {
    if (!opened()) return;
    in_.checks.slots_are(machine());
    in_.checks.turn_ended(machine());
  }

 private:
  /// One process.
  struct Incarnation {
    explicit Incarnation(const Surroundings& in);
    const ProcessPtr process;
    SimLoop loop;
    SimEndpoint control, blocks;
    core::Switchboard control_board, block_board;
    std::unique_ptr<core::Driver> machine;
    std::unique_ptr<core::BlockClient> client;
    std::unique_ptr<core::Shell<core::Driver, SimDriver>> shell;
    std::unique_ptr<core::Shell<core::BlockClient, SimDriver>> fetching;
    std::vector<core::DriverEvent> early;
    std::map<uint64_t, TaskId> fetches;
  };
  Incarnation& now() { return *incarnations_.back(); }
  const Incarnation& now() const { return *incarnations_.back(); }

  Surroundings in_;
  const Backend backend_;
  std::vector<std::unique_ptr<Incarnation>> incarnations_;  // the dead ones are still referred to
  uint64_t next_fetch_ = 1;
};

}  // namespace tinderbox::sim
