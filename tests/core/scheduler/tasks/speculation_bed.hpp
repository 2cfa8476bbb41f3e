// Slow tasks on one executor, another one for their copies.
#pragma once

#include "tests/core/scheduler/tasks/task_bed.hpp"

namespace tinderbox::core::scheduling {

using Ints = std::vector<int32_t>;
inline constexpr const char* kKilled = "another attempt succeeded";

/// Spark's defaults but for the efficiency rule, which tests ask for.
inline DriverOptions speculating(int32_t launch_ahead = 0) {
  DriverOptions o = test_options(launch_ahead);
  o.speculation.enabled = true;
  o.speculation.interval = 100ms;
  o.speculation.multiplier = 3;
  o.speculation.quantile = 0.9;
  o.speculation.min_runtime = 100ms;
  o.profile.executor.cores = 4;
  o.speculation.long_run_factor = 2;
  o.speculation.process_rate_multiplier = 0.75;
  return o;
}

/// Copies as soon as half of the tasks are done, whatever they took.
inline DriverOptions eager(int32_t launch_ahead = 0) {
  DriverOptions o = speculating(launch_ahead);
  o.speculation.quantile = 0.5;
  o.speculation.multiplier = 0;
  o.speculation.min_runtime = 0ms;
  return o;
}

/// Tasks run on A as they were submitted; B is for copies.
struct Race : Cluster {
  explicit Race(DriverOptions o, int32_t cores = 8) : Cluster(std::move(o)) {
    executor("A", cores);
  }
  Ints submitted() const {
    Ints v;
    for (const SpeculativeTaskSubmitted& e : seen<SpeculativeTaskSubmitted>()) v.push_back(e.index);
    std::sort(v.begin(), v.end());
    return v;
  }
  /// Copies that run.
  std::vector<Sent> copies() const {
    std::vector<Sent> v;
    for (const Sent& s : live())
      if (s.executor != "A") v.push_back(s);
    return v;
  }
  Sent on(const std::string& executor, int32_t partition) const {
    for (const Sent& s : live())
      if (s.executor == executor && s.partition == partition) return s;
    FAIL("no live task " << partition << " on " << executor);
    return {};
  }
  using Cluster::on;
  Ints indices(const std::vector<Sent>& tasks) const {
    Ints v;
    for (const Sent& s : tasks) v.push_back(s.index);
    std::sort(v.begin(), v.end());
    return v;
  }
  void killed(const Sent& s, const std::string& why = kKilled) { Cluster::killed(s, why); }
};

inline TaskUpdate with_accumulator(TaskUpdate u) {
  u.accumulators = {AccumulatorUpdate{AccumulatorId{7}, "1", false}};
  return u;
}

/// Seconds with one decimal, as ids of metrics need none.
inline TaskMetrics read(int64_t records, Duration run_time) {
  TaskMetrics m;
  m.shuffle_read_records = records;
  m.run_time = run_time.count();
  return m;
}

}  // namespace tinderbox::core::scheduling
