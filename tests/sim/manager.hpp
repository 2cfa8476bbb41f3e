// Where a run's executors come from: a seeded cluster manager without machinery of its own, or a
// standalone master and its workers.
#pragma once

#include <memory>
#include <string>

#include "tests/sim/driver.hpp"
#include "tests/sim/fleet.hpp"
#include "tests/sim/scenario.hpp"

namespace tinderbox::sim {

/// Thread: the simulator's.
class Manager {
 public:
  virtual ~Manager() = default;
  virtual void start() = 0;
  /// The driver wants it gone.
  virtual void kill(const ExecutorId& executor) = 0;
  virtual void lose_host(const std::string& host) = 0;
  /// False: it knows no such fault.
  virtual bool begin(const Fault& fault) = 0;
};

std::unique_ptr<Manager> make_seeded_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                             const Scenario& scenario);
std::unique_ptr<Manager> make_standalone_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                                 const Scenario& scenario);

inline std::string host_name(const Scenario& scenario, int32_t number) {
  return "host-" + std::to_string(number % scenario.hosts);
}

}  // namespace tinderbox::sim
