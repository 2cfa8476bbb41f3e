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

namespace {
struct PoolLoad {
  int32_t running = 0, pending = 0;
  bool launched = false;  // in this turn
};
}  // namespace

/// Nothing is launched for a pool that has its minimum share while another one waits below its own.
/// Where tasks may wait for better places or for each other, or be kept from some places, a waiting
/// pool proves nothing.
void Checks::min_shares(const Driver& driver) {
  const Settings& settings = scenario_.settings;
  const bool free_choice = settings.locality_wait == Duration{0} && settings.launch_ahead == 0 &&
                           !settings.exclusion.on() && !settings.custom_resources();
  if (!settings.fair || !free_choice) return;
  std::map<int32_t, PoolLoad> loads;
  uint64_t latest = app_.last_launch;
  for (const auto& set : driver.tasks().task_sets()) latest = std::max(latest, set->launched_turn);
  for (const auto& set : driver.tasks().task_sets()) {
    PoolLoad& load = loads[set->place.pool];
    load.running += set->running() - set->ahead;
    if (!set->barrier()) load.pending += set->pending();
    load.launched |= set->launched_turn == latest && latest > app_.last_launch;
  }
  app_.last_launch = latest;
  const auto share = [&](int32_t pool) { return driver.tasks().pools().spec(pool).min_share; };
  // It decides where a pool is served up to its share while a rival that has its own waits.
  for (const auto& [served, load] : loads)
    for (const auto& [other, theirs] : loads)
      if (served != other && load.launched && load.running <= share(served) && theirs.pending > 0 &&
          theirs.running >= share(other))
        reached(Path::BelowMinShare);
  for (const auto& [needy, load] : loads) {
    if (load.pending == 0 || load.running >= share(needy)) continue;
    for (const auto& [other, theirs] : loads) {
      if (other == needy || theirs.running == 0) continue;
      if (theirs.launched && theirs.running > share(other))
        broken("a pool below its minimum share was passed over",
               driver.tasks().pools().spec(needy).name + " runs " + std::to_string(load.running) +
                   " of " + std::to_string(share(needy)));
    }
  }
}

}  // namespace tinderbox::sim
