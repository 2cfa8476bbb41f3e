// Jobs with a barrier stage that fail for their shape, or for want of places.
// Source: Spark 4.3 DAGScheduler.checkBarrierStageWith…, TaskSchedulerImpl.resourceOffers.
#include <algorithm>
#include <cstdio>

#include "tests/sim/checks/checks.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {
using Kind = NodePlan::Kind;

bool by_shuffle(const NodePlan& node, size_t parent) {
  return node.kind == Kind::Shuffle || node.kind == Kind::Cogroup ||
         (node.kind == Kind::HalfCogroup && parent == 1);
}

/// The barrier stages of a job, told from its plan.
class BarrierStages {
 public:
  BarrierStages(const std::vector<NodePlan>& nodes, const JobPlan& job) : nodes_(nodes) {
    // submitMapStage wants the last shuffle that the node reads.
    if (job.map_stage)
      map_stage(at(job.node).parents.back());
    else
      stage(job.node, job.partitions.size());
  }
  /// Slots that the widest needs; 0: there is none.
  int32_t widest() const { return widest_; }
  bool allowed() const { return allowed_; }

 private:
  const NodePlan& at(int32_t node) const { return nodes_.at(static_cast<size_t>(node)); }

  bool barrier(int32_t node) const {
    const NodePlan& plan = at(node);
    if (plan.barrier) return true;
    for (size_t i = 0; i < plan.parents.size(); ++i)
      if (!by_shuffle(plan, i) && barrier(plan.parents[i])) return true;
    return false;
  }

  void map_stage(int32_t root) {
    if (map_stages_.insert(root).second) stage(root, static_cast<size_t>(at(root).partitions));
  }

  void stage(int32_t root, size_t tasks) {
    const bool barriers = barrier(root);
    if (barriers) widest_ = std::max(widest_, at(root).partitions);
    std::set<int32_t> members{root};
    for (std::vector<int32_t> left{root}; !left.empty();) {
      const int32_t node = left.back();
      left.pop_back();
      const NodePlan& plan = at(node);
      if (barriers) allowed_ = allowed_ && fits(plan, tasks);
      for (size_t i = 0; i < plan.parents.size(); ++i) {
        if (by_shuffle(plan, i))
          map_stage(plan.parents[i]);
        else if (members.insert(plan.parents[i]).second)
          left.push_back(plan.parents[i]);
      }
    }
  }

  bool fits(const NodePlan& node, size_t tasks) const {
    return static_cast<size_t>(node.partitions) == tasks &&
           std::ranges::count_if(node.parents, [&](int32_t p) { return barrier(p); }) <= 1;
  }

  const std::vector<NodePlan>& nodes_;
  std::set<int32_t> map_stages_;
  int32_t widest_ = 0;
  bool allowed_ = true;
};

/// A clock that runs fast or slow is off by 2 %, and what is due happens a little later.
Duration slack(Duration time) { return time / 50 + 1ms; }
}  // namespace

bool Checks::may_have_shape(const JobPlan& plan) const {
  return BarrierStages(scenario_.nodes, plan).allowed();
}

void Checks::refused_shape(const JobPlan& plan, const DeliverJobEnd& e) const {
  if (may_have_shape(plan)) broken("a barrier stage was refused for its shape", e.error);
}

/// Each time that the driver looks there are too few, as often as the settings say.
void Checks::too_few_slots(const JobPlan& plan, const DeliverJobEnd& e) {
  const BarrierOptions& rules = scenario_.settings.barrier;
  const int32_t needed = BarrierStages(scenario_.nodes, plan).widest();
  const Time from = app_.submitted.at(e.ticket);
  const Duration wait = rules.slots_interval * rules.slots_max_failures;
  const std::string name = "ticket " + std::to_string(e.ticket);
  if (needed == 0) broken("a job without a barrier stage lacked slots", name);
  if (world_.now() - from < wait - slack(wait))
    broken("a barrier job did not wait for slots", name);
  // A driver that stands still does not look.
  const bool looks = std::ranges::none_of(
      scenario_.faults, [](const Fault& f) { return f.kind == Fault::Kind::PauseDriver; });
  if (looks && longest_with(needed, from) > rules.slots_interval + slack(rules.slots_interval))
    broken("a barrier job was refused though it had slots", name);
  app_.too_few_now = std::max(app_.too_few_now.value_or(0), needed);
}

/// The longest time since `from` in which there were so many slots at all times.
Duration Checks::longest_with(int32_t slots, Time from) const {
  Duration longest{};
  std::optional<Time> since;
  for (size_t i = 0; i < app_.slots.size(); ++i) {
    const Time until = i + 1 < app_.slots.size() ? app_.slots[i + 1].first : world_.now();
    if (until <= from || app_.slots[i].second < slots) {
      since.reset();
      continue;
    }
    if (!since) since = std::max(from, app_.slots[i].first);
    longest = std::max(longest, until - *since);
  }
  return longest;
}

/// With the legacy delay clock, places that are taken in part are no reason to wait; and only a
/// wait for better places, or an exclusion, leaves some of enough.
void Checks::placed_in_part(const DeliverJobEnd& e, const char* words) {
  const Settings& settings = scenario_.settings;
  int32_t stage = -1, placed = 0, tasks = 0;
  const auto known = std::sscanf(words,
                                 "Fail resource offers for barrier stage %d because only %d out of "
                                 "a total number of %d",
                                 &stage, &placed, &tasks) == 3
                         ? app_.latest.find(StageId{stage})
                         : app_.latest.end();
  if (!settings.legacy_locality || known == app_.latest.end() || known->second.num_tasks != tasks ||
      placed < 1 || placed >= tasks)
    broken("a barrier stage failed for its places", e.error);
  if (settings.locality_wait == Duration{0} && !settings.exclusion.on())
    broken("a barrier stage left places that it could have", e.error);
  app_.enough_now = std::max(app_.enough_now.value_or(0), tasks);
}

void Checks::slots_are(const Driver& driver) {
  int32_t slots = 0;
  for (const int32_t e : driver.executors().active())
    if (driver.executors().at(e).profile == 0) slots += driver.executors().at(e).slots;
  if (app_.slots.empty() || app_.slots.back().second != slots)
    app_.slots.emplace_back(world_.now(), slots);
  const auto told = [&](int32_t tasks) {
    return std::to_string(tasks) + " tasks, " + std::to_string(slots) + " slots";
  };
  if (const auto needed = std::exchange(app_.too_few_now, {}); needed && slots >= *needed)
    broken("a barrier job was refused though it has slots", told(*needed));
  if (const auto tasks = std::exchange(app_.enough_now, {}); tasks && slots < *tasks)
    broken("a barrier stage that lacks slots failed for its places", told(*tasks));
}

}  // namespace tinderbox::sim
