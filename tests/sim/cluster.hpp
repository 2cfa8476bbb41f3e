// One run: a driver, executors from a seeded cluster manager, jobs, faults, checks.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/driver.hpp"
#include "tests/sim/scenario.hpp"

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
  void begin(const Fault& fault);
  void user_fault(const Fault& fault);
  void cancel(const Fault& fault);
  void start_executor(const std::string& host, bool build_fails);
  void exited(const std::string& id, const std::string& host, int code, const std::string& reason);
  void replace_later(const std::string& host);
  void kill(const ExecutorId& id);
  void lose_host(const std::string& host);
  SimExecutor* executor(int32_t number);
  std::string host(int32_t number) const {
    return "host-" + std::to_string(number % scenario_.hosts);
  }
  void settle();
  void check_executors() const;

  const Scenario& scenario_;
  World world_;
  Network network_;
  Lineage lineage_;
  Checks checks_;
  Surroundings in_;
  SimDriver driver_;
  std::vector<std::unique_ptr<SimExecutor>> executors_;
  int32_t next_executor_ = 0, starting_ = 0;
  bool build_fails_ = false;
  std::string losing_;  // this host's executors die with it
};

}  // namespace tinderbox::sim
