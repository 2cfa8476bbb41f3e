// A cluster of four executors for jobs of several stages.
//
// Hosts: executor "A" lives on host "hA". A map task runs where `at` says, and dies where the test
// says.
#pragma once

#include "tests/scheduler/scheduler_fixture.hpp"

namespace tinderbox::core::scheduling {

using Strings = std::vector<std::string>;
using Ints = std::vector<int32_t>;
using Values = std::map<int32_t, std::string>;

/// Each partition wants to run on one executor.
inline Locations at(const Strings& executors) {
  Locations l;
  for (const std::string& e : executors) l.push_back({"executor_h" + e + "_" + e});
  return l;
}

/// Executors A to D, at both launch-ahead settings.
struct Dag : Cluster {
  explicit Dag(DriverOptions options = test_options(GENERATE(0, 8))) : Cluster(std::move(options)) {
    for (const char* e : {"A", "B", "C", "D"}) executor(e, 16);
  }
  std::vector<std::pair<int32_t, int32_t>> submitted() const {
    std::vector<std::pair<int32_t, int32_t>> v;
    for (const StageSubmitted& s : seen<StageSubmitted>())
      v.emplace_back(s.stage.stage.value, s.stage.attempt);
    return v;
  }
  int submissions(int32_t stage) const {
    int n = 0;
    for (const auto& [s, attempt] : submitted()) n += s == stage;
    return n;
  }
  /// The job failed with exactly this, and nothing is left.
  void check_failed(uint64_t ticket, const std::string& text) {
    REQUIRE(ended(ticket));
    CHECK(error(ticket) == text);
  }
  void end_all() {
    while (!live().empty()) fail(live().front(), "over");
  }
  void check_clean() {
    // Attempts of dead stages may still run; they end when their executors say so.
    for (int guard = 0; !live().empty() && guard < 1000; ++guard) {
      TaskEndReason r;
      r.kind = TaskEndKind::TaskKilled;
      fail(live().front(), r, TaskState::Killed);
    }
    advance(1s);
    CHECK(driver.idle_state_is_clean());
  }
};

}  // namespace tinderbox::core::scheduling
