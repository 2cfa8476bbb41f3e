// What users order of a run.
#include "core/plan/lineage/lineage.hpp"
#include "core/storage/block_id.hpp"
#include "tests/sim/cluster.hpp"

namespace tinderbox::sim {

using namespace core;
using Kind = Fault::Kind;

namespace {
/// One that was given no group is of none, not even of the one without a name.
auto of_group(const std::string& group) {
  return [&group](const JobPlan& plan, uint64_t) {
    return !plan.group.empty() && plan.group == group;
  };
}
}  // namespace

void Cluster::user_fault(const Fault& f) {
  if (f.kind != Kind::KillTask) return driver_.soon([this, &f] { cancel(f); });
  struck(f, strike_any(f, [&](const SimExecutor& e) { return kill_task(f, e); }));
}

/// False: none is cached.
bool Cluster::unpersist(const Fault& f) {
  const std::set<RddId> cached = cached_rdds();
  if (cached.empty()) return false;
  driver_.post(UnpersistRdd{*std::next(
      cached.begin(), static_cast<std::ptrdiff_t>(static_cast<size_t>(f.target) % cached.size()))});
  return true;
}

bool Cluster::kill_task(const Fault& f, const SimExecutor& e) {
  const std::vector<TaskId> tasks = e.running_tasks();
  if (tasks.empty() || !e.current()) return false;
  driver_.post(KillTaskAttempt{tasks[static_cast<size_t>(f.other) % tasks.size()], true,
                               "killed by the user"});
  return true;
}

/// Of which some executor of the application holds a block.
std::set<RddId> Cluster::cached_rdds() const {
  std::set<RddId> rdds;
  for (const auto& e : fleet_.all()) {
    if (!e->alive() || !e->current()) continue;
    for (const auto& [name, bytes] : e->stored().blocks)
      if (const auto id = parse_block_id(name); id && id->kind == BlockId::Kind::Rdd)
        rdds.insert(RddId{id->owner});
  }
  return rdds;
}

// ---- cancelling --------------------------------------------------------------------------------

void Cluster::cancel(const Fault& f) {
  if (f.kind == Kind::CancelGroupForever)
    return struck(
        f, cancel_forever(scenario_.jobs[static_cast<size_t>(f.target) % scenario_.jobs.size()]));
  const std::set<uint64_t>& open = checks_.open();
  if (open.empty()) return;
  const auto which = static_cast<std::ptrdiff_t>(static_cast<size_t>(f.target) % open.size());
  struck(f, cancel_of(f, *std::next(open.begin(), which)));
}

/// All of its that run, and all that are still to come. False: there are none.
bool Cluster::cancel_forever(const JobPlan& plan) {
  checks_.group_cancelled(plan.group);
  return order(CancelJobGroup{plan.group, true}, of_group(plan.group));
}

/// The job of that ticket, or what it has in common with others. False: the order met nothing.
bool Cluster::cancel_of(const Fault& f, uint64_t ticket) {
  const JobPlan& plan = scenario_.jobs[ticket - 1];
  const auto own = [ticket](const JobPlan&, uint64_t other) { return other == ticket; };
  const auto& stages = driver_.machine().dag().stages();
  switch (f.kind) {
    case Kind::CancelJob:
      return order(CancelJob{ticket, "by the user"}, own);
    case Kind::CancelJobById: {
      const std::optional<JobId> id = checks_.started_as(ticket);
      return id && order(CancelJobById{*id, "by its number"}, own);
    }
    case Kind::CancelGroup:
      return order(CancelJobGroup{plan.group}, of_group(plan.group));
    case Kind::CancelTag:
      return order(CancelJobsWithTag{plan.tag},
                   [&](const JobPlan& p, uint64_t) { return p.tag == plan.tag; });
    case Kind::CancelStage: {
      if (stages.empty()) return false;
      const auto& [id, stage] =
          *std::next(stages.begin(),
                     static_cast<std::ptrdiff_t>(static_cast<size_t>(f.other) % stages.size()));
      return order(CancelStage{id, ""}, [&, jobs = stage.jobs](const JobPlan&, uint64_t other) {
        const std::optional<JobId> job = checks_.started_as(other);
        return job && jobs.contains(*job);
      });
    }
    default:
      return order(CancelAllJobs{}, [](const JobPlan&, uint64_t) { return true; });
  }
}

/// Who was chosen has ended when the order is carried out, and nobody else has. False: nobody was.
bool Cluster::order(const DriverEvent& event, const Chosen& chosen) {
  std::set<uint64_t> ending;
  for (const uint64_t ticket : checks_.open())
    if (chosen(scenario_.jobs[ticket - 1], ticket)) ending.insert(ticket);
  for (const uint64_t ticket : ending) checks_.may_be_cancelled(ticket);
  std::set<uint64_t> left = checks_.open();
  for (const uint64_t ticket : ending) left.erase(ticket);
  driver_.feed(event);
  if (checks_.open() != left)
    throw Broken("an order ended the wrong jobs", std::to_string(checks_.open().size()) +
                                                      " go on, not " + std::to_string(left.size()));
  return !ending.empty();
}

// ---- shuffles ----------------------------------------------------------------------------------

/// Those that jobs read or make that have not ended yet.
std::set<ShuffleId> Cluster::needed() const {
  std::set<ShuffleId> shuffles;
  std::set<RddId> seen;
  std::vector<const Node*> left;
  for (size_t i = 0; i < scenario_.jobs.size(); ++i)
    if (!checks_.has_ended(i + 1)) left.push_back(lineage_.node(scenario_.jobs[i].node).get());
  while (!left.empty()) {
    const Node& node = *left.back();
    left.pop_back();
    if (!seen.insert(node.id).second) continue;
    for (const Dependency& d : node.dependencies) {
      if (const auto* shuffle = std::get_if<ShufflePtr>(&d)) shuffles.insert((*shuffle)->id);
      left.push_back(parent_of(d).get());
    }
  }
  return shuffles;
}

/// As the user's last Rdd that could reach it goes, one each time.
void Cluster::forget_one() {
  const std::set<ShuffleId> used = needed();
  for (const auto& [id, shuffle] : lineage_.shuffles())
    if (driver_.machine().map_outputs().available(id) > 0 && !used.contains(id)) return forget(id);
}

/// It counts where other jobs go on.
void Cluster::forget(ShuffleId shuffle) {
  checks_.forgotten(shuffle);
  driver_.feed(ForgetShuffle{shuffle});
  if (!checks_.open().empty()) checks_.reached(Kind::ForgetShuffle);
}

/// Whatever no job needs any more. What is forgotten is not told again: that would hide what the
/// first time left.
void Cluster::forget_unneeded() {
  if (!scenario_.forgets) return;
  driver_.soon([this] {
    if (!driver_.opened()) return;
    const std::set<ShuffleId> used = needed();
    for (const auto& [id, shuffle] : lineage_.shuffles())
      if (driver_.machine().map_outputs().contains(id) && !used.contains(id)) forget(id);
  });
}

}  // namespace tinderbox::sim
