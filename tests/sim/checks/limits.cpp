// Exclusion on failure, and what pools are promised.
#include <algorithm>
#include <cstdio>

#include "core/scheduler/tasks/task_end.hpp"
#include "tests/sim/checks/checks.hpp"

namespace tinderbox::sim {

using namespace core;

// ---- exclusion ---------------------------------------------------------------------------------

void Checks::on(const ExecutorExcludedForStage& e) {
  reached(Path::ExcludedForStage);
  app_.excluded_for[{e.stage, e.stage_attempt}].insert(e.executor);
}
void Checks::on(const NodeExcludedForStage& e) {
  reached(Path::HostExcluded);
  app_.excluded_hosts_for[{e.stage, e.stage_attempt}].insert(e.host);
}
void Checks::on(const ExecutorExcluded& e) {
  reached(Path::Excluded);
  app_.excluded.insert(e.executor);
}
void Checks::on(const NodeExcluded& e) {
  reached(Path::HostExcluded);
  app_.excluded_hosts.insert(e.host);
}
void Checks::on(const ExecutorUnexcluded& e) {
  reached(Path::Readmitted);
  app_.excluded.erase(e.executor);
  app_.readmitted = world_.now();
}
void Checks::on(const NodeUnexcluded& e) {
  app_.excluded_hosts.erase(e.host);
  app_.readmitted = world_.now();
}

void Checks::count_failure(const TaskEnded& e) {
  if (!e.reason || !counts_as_failure(*e.reason)) return;
  const TaskKey key{e.task.stage, e.task.stage_attempt, e.task.index};
  ++app_.failures[key];
  ++app_.failed_at[{key, e.task.executor}];
}

/// Tasks ahead were sent before the exclusion; then nothing can be told from starts.
void Checks::not_excluded(const TaskInfo& t) {
  const ExclusionOptions& rules = scenario_.settings.exclusion;
  if (!rules.on() || scenario_.settings.launch_ahead > 0) return;
  const SetKey set{t.stage, t.stage_attempt};
  const auto has = [](const auto& by_set, const SetKey& key, const auto& what) {
    const auto it = by_set.find(key);
    return it != by_set.end() && it->second.contains(what);
  };
  const auto failed = app_.failed_at.find({{t.stage, t.stage_attempt, t.index}, t.executor});
  const bool failed_there = rules.task_and_stage && failed != app_.failed_at.end() &&
                            failed->second >= rules.task_attempts_per_executor;
  if (failed_there || app_.excluded.contains(t.executor) || app_.excluded_hosts.contains(t.host) ||
      has(app_.excluded_for, set, t.executor) || has(app_.excluded_hosts_for, set, t.host))
    broken("a task started where it is excluded",
           "task " + std::to_string(t.id.value) + " at executor " + t.executor.value);
}

/// Someone is, or was when the time began after which a task set is given up. Clocks run fast or
/// slow by 2 %.
bool Checks::excluded_lately() const {
  if (!app_.excluded.empty() || !app_.excluded_hosts.empty()) return true;
  const Duration timeout = scenario_.settings.exclusion.unschedulable_timeout;
  return app_.readmitted != Time{} && world_.now() - app_.readmitted <= timeout + timeout / 50;
}

bool Checks::may_run_nowhere(const std::string& error) const {
  if (excluded_lately()) return true;
  const std::string words = "Aborting TaskSet ";
  int32_t stage = 0, attempt = 0;
  const size_t at = error.find(words);
  if (at == error.npos ||
      std::sscanf(error.c_str() + at + words.size(), "%d.%d", &stage, &attempt) != 2)
    return false;
  return std::ranges::any_of(app_.failed_at, [&](const auto& entry) {
    const auto& [key, executor] = entry.first;
    return std::get<0>(key) == StageId{stage} && std::get<1>(key) == attempt;
  });
}

// ---- pools -------------------------------------------------------------------------------------

/// One pool, as far as its turn is concerned.
struct PoolLoad {
  std::string name;
  int32_t min_share = 0, weight = 1;
  int32_t running = 0, pending = 0;
  int32_t served = 0;     // tasks that began in this turn
  bool together = false;  // by one decision
  bool below() const { return running < min_share; }
};

namespace {
/// Whose turn it is. Source: Spark FairSchedulingAlgorithm.
bool goes_first(const PoolLoad& a, const PoolLoad& b) {
  if (a.below() != b.below()) return a.below();
  const auto whole = [](const PoolLoad& p) { return p.below() ? p.min_share : p.weight; };
  const int32_t mine = a.running * whole(b), theirs = b.running * whole(a);
  return mine != theirs ? mine < theirs : a.name < b.name;
}

/// As the scenario has it, whatever the driver made of it.
PoolLoad empty_pool(const std::string& name, const Settings& s) {
  if (name == "group-0") return {name, s.min_share, s.weight};
  if (name == "group-1") return {name, s.other_share, s.other_weight};
  return {name};
}

/// As it was when it was last served.
PoolLoad when_served(PoolLoad pool) {
  pool.running -= pool.together ? pool.served : 1;
  return pool;
}
}  // namespace

/// A pool that is served was first in turn among those that have tasks waiting. Where tasks may
/// wait for better places or for each other, or be kept from some places, a waiting pool proves
/// nothing.
void Checks::min_shares(const Driver& driver) {
  const Settings& settings = scenario_.settings;
  const auto served = std::exchange(app_.served_now, {});
  const bool free_choice = settings.locality_wait == Duration{0} && settings.launch_ahead == 0 &&
                           !settings.exclusion.on() && !settings.custom_resources();
  if (!settings.fair || !free_choice || served.empty()) return;
  std::map<int32_t, PoolLoad> loads;
  for (const auto& set : driver.tasks().task_sets()) {
    const int32_t pool = set->place.pool;
    PoolLoad& load =
        loads.try_emplace(pool, empty_pool(driver.tasks().pools().spec(pool).name, settings))
            .first->second;
    load.running += set->running() - set->ahead;
    if (!set->barrier()) load.pending += set->pending();
    const auto it = served.find({set->spec().stage, set->spec().attempt});
    if (it == served.end()) continue;
    load.served += it->second;
    load.together |= set->barrier();
  }
  for (const auto& [id, load] : loads)
    for (const auto& [other, waiting] : loads)
      if (id != other && load.served > 0 && waiting.pending > 0)
        in_turn(when_served(load), waiting);
}

/// `waiting` had no more tasks running when the other was served than it has by now: it was no
/// later in turn.
void Checks::in_turn(const PoolLoad& served, const PoolLoad& waiting) {
  const auto of = [](const PoolLoad& p) {
    return p.name + ", which runs " + std::to_string(p.running) + " (share " +
           std::to_string(p.min_share) + ", weight " + std::to_string(p.weight) + ")";
  };
  if (goes_first(waiting, served))
    broken(waiting.below() ? "a pool below its minimum share was passed over"
                           : "a pool was passed over",
           of(waiting) + ", for " + of(served));
  // It decides where a pool is served up to its share while a rival that has its own waits.
  if (served.below()) reached(waiting.below() ? Path::BothBelowShare : Path::BelowMinShare);
  // Without weights the rival would be first.
  if (!served.below() && !waiting.below() && served.running > waiting.running)
    reached(Path::WeightDecided);
}

}  // namespace tinderbox::sim
