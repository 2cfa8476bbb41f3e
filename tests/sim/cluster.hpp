// One run: a driver, a cluster manager and its executors, jobs, faults, checks.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/managers/fleet.hpp"
#include "tests/sim/managers/manager.hpp"
#include "tests/sim/roles/driver.hpp"
#include "tests/sim/scenario/scenario.hpp"

namespace tinderbox::sim {

/// Virtual time within which every job ends once faults have stopped.
inline constexpr Duration kPatience = std::chrono::minutes(20);

struct Outcome {
  std::string check;  // empty: everything held
  std::string detail;
  std::array<bool, kPaths> paths{};
  std::array<bool, kFaultKinds> faults{};
  uint64_t digest = 0, steps = 0;
};
Outcome run(const Scenario& scenario, bool traced);

class Cluster {
 public:
  Cluster(const Scenario& scenario, bool traced);
  /// Errors: Broken.
  void run();
  void fill(Outcome& outcome) const;

 private:
  void submit_jobs(Duration latest);
  void restart_driver();
  // What may meet nothing returns whether it met something, or says so when it does.
  void begin(const Fault& fault);
  void struck(const Fault& fault, bool something);
  std::function<void()> strikes(const Fault& fault);
  bool strike_any(const Fault& fault, const std::function<bool(SimExecutor&)>& strike);
  void pause(const Fault& fault, Process& process);
  void executor_fault(const Fault& fault, SimExecutor& e);
  void await(const Fault& fault, Time until);
  bool seldom_fault(const Fault& fault);
  bool cut_blocks(const Fault& fault);
  void partition_executors(const Fault& fault, const SimExecutor& e);
  void driver_fault(const Fault& fault);
  bool decommission(const Fault& fault, SimExecutor& e);
  void user_fault(const Fault& fault);
  bool unpersist(const Fault& fault);
  void forget_one();
  void forget_unneeded();
  void forget(ShuffleId shuffle);
  std::set<ShuffleId> needed() const;
  bool kill_task(const Fault& fault, const SimExecutor& e);
  void cancel(const Fault& fault);
  bool cancel_forever(const JobPlan& plan);
  bool cancel_of(const Fault& fault, uint64_t ticket);
  using Chosen = std::function<bool(const JobPlan&, uint64_t ticket)>;
  bool order(const core::DriverEvent& event, const Chosen& chosen);
  std::set<RddId> cached_rdds() const;
  bool active(const SimExecutor& e) const;
  void settle();
  void end_application();
  const core::Executor* known_as(const SimExecutor& e) const;
  const SimExecutor* outlives_removal() const;
  const SimExecutor* outlives_application() const;
  void check_executors();

  const Scenario& scenario_;
  World world_;
  Network network_;
  Lineage lineage_;
  Checks checks_;
  ApplicationRun application_;
  Surroundings in_;
  SimDriver driver_;
  Fleet fleet_;
  std::unique_ptr<Manager> manager_;
};

}  // namespace tinderbox::sim
