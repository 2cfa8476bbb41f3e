// Executor rolling: whose turn it is.
#include "core/scheduler/allocation/rolling.hpp"

#include <algorithm>
#include <cmath>

#include "conf/error.hpp"
#include "conf/keys.hpp"

namespace tinderbox::core {

namespace {

struct Named {
  std::string_view name;
  RollPolicy policy;
};
constexpr Named kPolicies[] = {
    {"ID", RollPolicy::Id},
    {"ADD_TIME", RollPolicy::AddTime},
    {"TOTAL_DURATION", RollPolicy::TotalDuration},
    {"AVERAGE_DURATION", RollPolicy::AverageDuration},
    {"FAILED_TASKS", RollPolicy::FailedTasks},
    {"TOTAL_SHUFFLE_WRITE", RollPolicy::TotalShuffleWrite},
    {"DISK_USED", RollPolicy::DiskUsed},
    {"IDLE_TIME", RollPolicy::IdleTime},
    {"OUTLIER", RollPolicy::Outlier},
    {"OUTLIER_NO_FALLBACK", RollPolicy::OutlierNoFallback},
};

RollPolicy policy_of(const std::string& name) {
  std::string known;
  for (const Named& p : kPolicies) {
    if (p.name == name) return p.policy;
    known += (known.empty() ? "" : ", ") + std::string(p.name);
  }
  throw conf::Error(std::string(conf::kRollPolicy.spec.name) + " is '" + name +
                    "', which is no policy here; give one of " + known);
}

void not_negative(const conf::KeySpec& key, int64_t value) {
  if (value < 0)
    throw conf::Error(std::string(key.name) + " is negative; give 0 or a positive value");
}

}  // namespace

std::optional<RollingOptions> rolling_options(const conf::Conf& conf, bool is_local) {
  RollingOptions o;
  o.interval = conf.get(conf::kRollInterval);
  o.policy = policy_of(conf.get(conf::kRollPolicy));
  o.min_tasks = conf.get(conf::kRollMinTasks);
  not_negative(conf::kRollInterval.spec, o.interval.count());
  not_negative(conf::kRollMinTasks.spec, o.min_tasks);
  if (is_local || o.interval == Duration{0}) return std::nullopt;
  if (!conf.get(conf::kDecommissionEnabled))
    throw conf::Error(
        std::string(conf::kRollInterval.spec.name) + " decommissions executors, but " +
        std::string(conf::kDecommissionEnabled.spec.name) + " is false; set it to true");
  return o;
}

// ---- what executors have done ------------------------------------------------------------------

void Rolling::observe(const std::vector<ListenerEvent>& events) {
  for (const ListenerEvent& event : events) std::visit([this](const auto& e) { on(e); }, event);
}

void Rolling::on(const ExecutorJoined& e) {
  executors_[e.executor] = {.id = e.executor, .added = e.time, .idle_since = e.time};
}

void Rolling::on(const TaskStarted& e) {
  const auto at = executors_.find(e.task.executor);
  if (at == executors_.end()) return;
  ++at->second.tasks;
  ++at->second.running;
}

/// A resubmitted task ended long ago: it is not this attempt that took so long.
void Rolling::on(const TaskEnded& e) {
  const auto at = executors_.find(e.task.executor);
  if (at == executors_.end() || e.kind() == TaskEndKind::Resubmitted) return;
  Summary& s = at->second;
  const TaskEndKind kind = e.kind();
  s.failed += kind != TaskEndKind::Success && kind != TaskEndKind::TaskKilled &&
              kind != TaskEndKind::TaskCommitDenied;
  if (--s.running == 0) s.idle_since = e.task.finished;
  s.duration += std::max(e.task.finished - e.task.launched, Duration{0});
  if (e.metrics) s.shuffle_write += e.metrics->shuffle_write_bytes;
}

// ---- whose turn it is --------------------------------------------------------------------------

namespace {

constexpr auto kDuration = [](const auto& s) { return static_cast<double>(s.duration.count()); };
constexpr auto kAverage = [](const auto& s) {
  return static_cast<double>(s.duration.count()) /
         static_cast<double>(std::max<int64_t>(s.tasks, 1));
};
constexpr auto kFailed = [](const auto& s) { return static_cast<double>(s.failed); };
constexpr auto kShuffleWrite = [](const auto& s) { return static_cast<double>(s.shuffle_write); };
constexpr auto kDiskUsed = [](const auto& s) { return static_cast<double>(s.disk_used); };
constexpr auto kAge = [](const auto& s) {
  return -static_cast<double>(s.added.time_since_epoch().count());
};
constexpr auto kIdle = [](const auto& s) {
  return -static_cast<double>(s.idle_since.time_since_epoch().count());
};

/// Ids are numbers, mostly.
bool smaller(const ExecutorId& a, const ExecutorId& b) {
  if (a.value.size() != b.value.size()) return a.value.size() < b.value.size();
  return a.value < b.value;
}

}  // namespace

std::optional<ExecutorId> Rolling::choose(const DiskUsed& disk_used) const {
  Summaries all;
  for (const auto& [id, summary] : executors_) {
    const std::optional<int64_t> disk = disk_used(id);
    if (!disk || summary.tasks < options_.min_tasks) continue;
    all.push_back(summary);
    all.back().disk_used = *disk;
  }
  std::sort(all.begin(), all.end(),
            [](const Summary& a, const Summary& b) { return smaller(a.id, b.id); });
  if (all.empty()) return std::nullopt;
  switch (options_.policy) {
    case RollPolicy::Id:
      return all.front().id;
    case RollPolicy::AddTime:
      return most(all, kAge);
    case RollPolicy::TotalDuration:
      return most(all, kDuration);
    case RollPolicy::AverageDuration:
      return most(all, kAverage);
    case RollPolicy::FailedTasks:
      return most(all, kFailed);
    case RollPolicy::TotalShuffleWrite:
      return most(all, kShuffleWrite);
    case RollPolicy::DiskUsed:
      return most(all, kDiskUsed);
    case RollPolicy::IdleTime:
      return longest_idle(std::move(all));
    case RollPolicy::Outlier: {
      const std::optional<ExecutorId> found = outlier(all);
      return found ? found : most(all, kDuration);
    }
    case RollPolicy::OutlierNoFallback:
      return outlier(all);
  }
  return std::nullopt;
}

std::optional<ExecutorId> Rolling::most(const Summaries& all, Measure measure) {
  return std::max_element(
             all.begin(), all.end(),
             [&](const Summary& a, const Summary& b) { return measure(a) < measure(b); })
      ->id;
}

std::optional<ExecutorId> Rolling::longest_idle(Summaries all) {
  std::erase_if(all, [](const Summary& s) { return s.running > 0; });
  return all.empty() ? std::nullopt : most(all, kIdle);
}

/// The first measure in which somebody is far from the others.
std::optional<ExecutorId> Rolling::outlier(const Summaries& all) {
  const Measure measures[] = {kAverage, kDuration, kFailed, kShuffleWrite, kDiskUsed};
  for (const Measure measure : measures)
    if (std::optional<ExecutorId> found = outlier(all, measure)) return found;
  return std::nullopt;
}

/// More than two standard deviations above the mean.
std::optional<ExecutorId> Rolling::outlier(const Summaries& all, Measure measure) {
  const auto n = static_cast<double>(all.size());
  double sum = 0, squares = 0;
  for (const Summary& s : all) sum += measure(s);
  const double mean = sum / n;
  for (const Summary& s : all) squares += (measure(s) - mean) * (measure(s) - mean);
  const std::optional<ExecutorId> largest = most(all, measure);
  for (const Summary& s : all)
    if (s.id == *largest && measure(s) > mean + 2 * std::sqrt(squares / n)) return largest;
  return std::nullopt;
}

}  // namespace tinderbox::core
