// Where a run's executors come from: a seeded cluster manager without machinery of its own, a
// standalone master and its workers, or pods of Kubernetes.
#pragma once

#include <memory>
#include <string>

#include "tests/sim/managers/fleet.hpp"
#include "tests/sim/roles/driver.hpp"
#include "tests/sim/scenario/scenario.hpp"

namespace tinderbox::sim {

/// Thread: the simulator's.
class Manager {
 public:
  virtual ~Manager() = default;
  /// Once, before all else.
  virtual void start() = 0;
  /// The driver runs, for the first time or again: register the application and give it executors.
  virtual void driver_started() = 0;
  /// Of dynamic allocation: so many executors of each resource profile in all.
  virtual void want(const core::RequestTotalExecutors& wanted) = 0;
  /// The driver wants it gone.
  virtual void kill(const ExecutorId& executor) = 0;
  virtual void decommissioned(const ExecutorId&) {}
  /// What listeners are told: a real driver tells its backend who joined and left.
  virtual void heard(const core::ListenerEvent&) {}
  virtual void lose_host(const std::string& host) = 0;
  /// The host goes after `length`, which is told now. False: nobody there could be told.
  virtual bool decommission_host(const std::string& host, Duration length) = 0;
  /// What applications that have ended still hold; empty: nothing.
  virtual std::string left_over() const = 0;
  /// What the application wants and has not; empty: nothing.
  virtual std::string lacks() const { return {}; }
  /// The application that runs is over; from now on it is one of left_over().
  virtual void end() {}
  /// False: it knows no such fault, or there is nothing that it could strike. What strikes later,
  /// if ever, says so itself.
  virtual bool begin(const Fault& fault) = 0;
};

std::unique_ptr<Manager> make_seeded_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                             const Scenario& scenario);
std::unique_ptr<Manager> make_standalone_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                                 const Scenario& scenario);
std::unique_ptr<Manager> make_kubernetes_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                                 const Scenario& scenario);
std::unique_ptr<Manager> make_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                      const Scenario& scenario);

inline std::string host_name(const Scenario& scenario, int32_t number) {
  return "host-" + std::to_string(number % scenario.hosts);
}

}  // namespace tinderbox::sim
