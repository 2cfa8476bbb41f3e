// A cluster of four executors for jobs of several stages.
//
// Hosts: executor "A" lives on host "hA". A map task runs where `at` says, and dies where the test
// says.
#pragma once

#include "tests/core/scheduler/scheduler_fixture.hpp"

namespace tinderbox::core::scheduling {

using Strings = std::vector<std::string>;
using Ints = std::vector<int32_t>;
using Values = std::map<int32_t, std::string>;

/// Each partition wants to run on one executor.
inline Locations at(const Strings& executors) {
  Locations l;
  for (const std::string& e : executors) l.push_back({at("h" + e, e)});
  return l;
}

/// A partition that wants to run on each of these executors.
inline std::shared_ptr<Node> rdd_on(const Strings& executors, std::vector<Dependency> deps = {}) {
  return rdd(static_cast<int32_t>(executors.size()), std::move(deps), at(executors));
}

/// The same, kept once computed.
inline NodePtr cached_on(const Strings& executors, std::vector<Dependency> deps) {
  const auto node = rdd_on(executors, std::move(deps));
  node->storage_bits = 1;
  return node;
}

/// As soon as one of two tasks has succeeded the other one is slow, and gets a copy on another
/// host.
inline DriverOptions copying(int32_t launch_ahead = GENERATE(0, 8)) {
  DriverOptions o = test_options(launch_ahead);
  o.speculation.enabled = true;
  o.speculation.interval = 100ms;
  o.speculation.quantile = 0.5;
  return o;
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
  /// Completions of stages, failed or not, in order.
  Ints completions() const {
    Ints v;
    for (const StageCompleted& e : seen<StageCompleted>()) v.push_back(e.stage.stage.value);
    return v;
  }
  /// The copy that was made of this task.
  Sent copy_of(const Sent& original) const {
    for (const Sent& s : live(original.stage.value, original.stage_attempt))
      if (s.partition == original.partition && s.number != original.number) return s;
    FAIL("no copy of partition " << original.partition);
    return {};
  }
  /// The executor says that it caches this partition.
  void holds(const std::string& executor, const Node& node, int32_t partition) {
    BlockUpdate u;
    u.block = "rdd_" + std::to_string(node.id.value) + "_" + std::to_string(partition);
    u.in_memory = true;
    u.memory_bytes = 1;
    from(executor, BlockUpdates{ExecutorId{executor}, {u}});
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
    for (int guard = 0; !live().empty() && guard < 1000; ++guard) killed(live().front());
    advance(1s);
    CHECK(driver.idle_state_is_clean());
  }
  void check_succeeded(uint64_t ticket) {
    CHECK(error(ticket).empty());
    check_clean();
  }
};

/// A job of two stages.
struct TwoStages : Dag {
  TwoStages(ShufflePtr maps, NodePtr reader, DriverOptions options = test_options(GENERATE(0, 8)))
      : Dag(std::move(options)), s(std::move(maps)), ticket(job(std::move(reader))) {}
  explicit TwoStages(ShufflePtr maps, DriverOptions options = test_options(GENERATE(0, 8)))
      : TwoStages(maps, rdd(maps->num_reduces, {maps}), std::move(options)) {}
  /// A map on each of these executors.
  explicit TwoStages(const Strings& places, int32_t reduces = 2)
      : TwoStages(shuffle(rdd_on(places), reduces)) {}
  /// Its maps and the first of its two reduces are done; the other one could not get what A held.
  void half_done() {
    maps_ok(0);
    succeed(task(1, 0, 0), "42");
    fetch_failed(task(1, 0, 1), s->id, 0, "A");
  }
  /// Its maps are done; the first reduce could not get what A held, the second one, given back,
  /// runs.
  Sent first_lost() {
    maps_ok(0);
    const Sent second = task(1, 0, 1);
    fetch_failed(task(1, 0, 0), s->id, 0, "A");
    return second;
  }
  ShufflePtr s;
  uint64_t ticket;
};

/// A job of three stages: maps, those that read them, and the results.
struct ThreeStages : Dag {
  /// A map on each of these executors.
  ThreeStages(const Strings& first, const Strings& second, int32_t results = 1)
      : s0(shuffle(rdd_on(first), static_cast<int32_t>(second.size()))),
        s1(shuffle(rdd_on(second, {s0}), results)),
        ticket(job(rdd(results, {s1}))) {}
  ShufflePtr s0, s1;
  uint64_t ticket;
};

}  // namespace tinderbox::core::scheduling
