// The driver's tables.
#include <algorithm>

#include "tests/sim/checks/checks.hpp"

namespace tinderbox::sim {

using namespace core;

/// A stage that begins finds every output that it reads; what lies behind a cached rdd may be gone.
void Checks::parents_complete(const Driver& driver) {
  for (const StageId id : std::exchange(app_.submitted_now, {})) {
    const auto it = driver.dag().stages().find(id);
    if (it == driver.dag().stages().end() || !driver.dag().running().contains(id)) continue;
    walk_stage(
        it->second.root, [](const Node& node) { return node.storage_bits.load() == 0; },
        [&](const ShufflePtr& shuffle) {
          if (!driver.map_outputs().missing(shuffle->id).empty())
            broken("stage began with a missing output",
                   text(id) + ", shuffle " + std::to_string(shuffle->id.value));
        });
  }
}

/// Outputs made before the loss of what their executor held count for nothing.
void Checks::bogus_completions(const Driver& driver) {
  for (const auto& [stage, partition] : std::exchange(app_.doubtful, {})) {
    const auto it = driver.dag().stages().find(stage);
    if (it == driver.dag().stages().end() || !it->second.is_map()) continue;
    const std::vector<int32_t> missing = driver.map_outputs().missing(it->second.shuffle->id);
    if (std::ranges::count(missing, partition)) reached(Path::BogusCompletion);
  }
}

/// A map stage is over when each of its outputs is there; it goes on otherwise.
void Checks::stages_complete(const Driver& driver) {
  const DagScheduler& dag = driver.dag();
  for (const StageId id : std::exchange(app_.completed_now, {})) {
    const auto it = dag.stages().find(id);
    if (it == dag.stages().end() || !it->second.is_map()) continue;
    if (driver.map_outputs().missing(it->second.shuffle->id).empty()) continue;
    if (!dag.running().contains(id) && !dag.waiting().contains(id) && !dag.failed().contains(id))
      broken("stage completed with a missing output", text(id));
  }
}

/// A map-stage job is over when each of the outputs is there that it was to make.
void Checks::map_stages_made(const Driver& driver) {
  const bool changed = std::exchange(app_.outputs_changed_now, false);
  for (const ShuffleId id : std::exchange(app_.made_now, {}))
    if (!changed &&
        (!driver.map_outputs().contains(id) || !driver.map_outputs().missing(id).empty()))
      broken("map-stage job ended with a missing output", "shuffle " + std::to_string(id.value));
}

/// What comes of it late counts for nothing.
void Checks::forgotten_gone(const Driver& driver) const {
  for (const ShuffleId id : app_.forgotten)
    if (driver.map_outputs().contains(id))
      broken("a shuffle is known that was forgotten", "shuffle " + std::to_string(id.value));
}

/// The tasks of a barrier stage start in one turn, or none does.
void Checks::started_together(const Driver& driver) {
  for (const auto& [set, started] : std::exchange(app_.started_now, {})) {
    const auto it = driver.dag().stages().find(set.first);
    if (it == driver.dag().stages().end() || !it->second.root->barrier) continue;
    if (started != it->second.root->num_partitions)
      broken("a barrier stage began in part",
             text(set.first) + ": " + std::to_string(started) + " of " +
                 std::to_string(it->second.root->num_partitions) + " tasks");
  }
}

void Checks::one_active_set(const Driver& driver) const {
  std::set<StageId> active;
  for (const auto& set : driver.tasks().task_sets())
    if (!set->zombie() && !active.insert(set->spec().stage).second)
      broken("two active task sets of one stage", text(set->spec().stage));
}

void Checks::slots(const Driver& driver) const {
  for (int32_t i = 0; i < driver.executors().count(); ++i) {
    const Executor& e = driver.executors().at(i);
    if (e.running < 0 || e.ahead < 0 || e.revoking < 0 || e.ahead > e.running ||
        e.revoking > e.running)
      broken("slots of an executor", e.id.value + ": " + std::to_string(e.running) + " running, " +
                                         std::to_string(e.ahead) + " ahead, " +
                                         std::to_string(e.revoking) + " revoking");
  }
}

/// Each stage is there for a job that goes on.
void Checks::of_open_jobs(const Driver& driver) const {
  if (app_.open.empty() && !driver.dag().idle())
    broken("stages of ended jobs are left",
           std::to_string(driver.dag().stages().size()) + " stages");
  for (const auto& [id, stage] : driver.dag().stages()) {
    const bool open = !stage.jobs.empty() && std::ranges::all_of(stage.jobs, [&](JobId job) {
      const auto told = app_.jobs.find(job);
      return told != app_.jobs.end() && !told->second;
    });
    if (!open) broken("stages of ended jobs are left", text(id));
  }
}

void Checks::turn_ended(const Driver& driver) {
  bogus_completions(driver);
  parents_complete(driver);
  stages_complete(driver);
  map_stages_made(driver);
  forgotten_gone(driver);
  started_together(driver);
  if (driver.map_outputs().epoch() < app_.epoch)
    broken("epoch went back", std::to_string(app_.epoch));
  app_.epoch = driver.map_outputs().epoch();
  one_active_set(driver);
  slots(driver);
  lost_addresses(driver);
  min_shares(driver);
  for (const ExecutorId& id : std::exchange(app_.unreached_now, {}))
    if (driver.tasks().decommission_of(id)) reached(Path::ForgivenFetchFailure);
  of_open_jobs(driver);
  moved_there(driver);
}

/// An executor that is lost holds nothing, and one that drains ends.
void Checks::gone_whole(const Driver& driver, const Executor& e) const {
  if (e.state == Executor::State::Draining || e.state == Executor::State::LossPending)
    broken("an executor drains for ever", e.id.value);
  if (e.state != Executor::State::Removed) return;
  if (!driver.map_outputs().outputs_on(e.id).empty())
    broken("outputs of a lost executor are left", e.id.value);
  if (driver.blocks().knows(e.id)) broken("blocks of a lost executor are left", e.id.value);
}

void Checks::at_end(const Driver& driver) const {
  if (!app_.open.empty()) broken("a job hangs", std::to_string(app_.open.size()) + " jobs");
  if (!driver.idle_state_is_clean())
    broken("state of ended jobs is left",
           std::to_string(driver.tasks().task_sets().size()) + " task sets");
  for (const auto& [id, attempt] : app_.attempts)
    if (!attempt.ended) broken("task without an end", text(id));
  if (!app_.running_stages.empty())
    broken("stage without an end", text(*app_.running_stages.begin()));
  if (!driver.drained()) broken("an executor drains for ever", "or something of its end is left");
  if (driver.tasks().unschedulable() > 0)
    broken("a task set that is over still waits to be given up",
           std::to_string(driver.tasks().unschedulable()) + " of them");
  for (int32_t i = 0; i < driver.executors().count(); ++i) {
    const Executor& e = driver.executors().at(i);
    gone_whole(driver, e);
    if (e.running != 0 || e.ahead != 0 || e.revoking != 0)
      broken("slots of an executor", e.id.value + " runs something though no job does");
  }
}

}  // namespace tinderbox::sim
