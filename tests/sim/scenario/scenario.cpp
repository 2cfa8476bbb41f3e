#include "tests/sim/scenario/scenario.hpp"

#include <algorithm>
#include <numeric>

#include "tests/sim/world/world.hpp"

namespace tinderbox::sim {

namespace {

using Kind = Fault::Kind;

constexpr const char* kFaultNames[kFaultKinds] = {"crash",
                                                  "silent crash",
                                                  "host loss",
                                                  "cut connection",
                                                  "cut blocks",
                                                  "partition driver",
                                                  "partition executors",
                                                  "slow peer",
                                                  "pause",
                                                  "pause driver",
                                                  "lost files",
                                                  "lost blocks",
                                                  "lost results",
                                                  "disk full",
                                                  "tasks throw",
                                                  "kill task",
                                                  "services fail",
                                                  "decommission executor",
                                                  "decommission host",
                                                  "crash driver",
                                                  "cancel job",
                                                  "cancel group",
                                                  "cancel tag",
                                                  "cancel stage",
                                                  "cancel all",
                                                  "unpersist",
                                                  "crash master",
                                                  "torn recovery log",
                                                  "crash worker",
                                                  "cut master",
                                                  "partition master"};

core::AllocationOptions random_allocation(Random& r, const Settings& s) {
  core::AllocationOptions o;
  o.min_executors = static_cast<int32_t>(r.between(0, 2));
  o.max_executors = static_cast<int32_t>(r.between(std::max(1, o.min_executors), 6));
  o.initial_executors = static_cast<int32_t>(r.between(o.min_executors, o.max_executors));
  o.backlog_timeout = r.between(Duration{100ms}, Duration{2s});
  o.sustained_timeout = r.between(Duration{100ms}, Duration{2s});
  o.idle_timeout = r.between(Duration{200ms}, Duration{10s});
  o.cached_idle_timeout = r.chance(500) ? core::kNever : r.between(Duration{1s}, Duration{20s});
  o.shuffle_timeout = r.chance(500) ? core::kNever : r.between(Duration{500ms}, Duration{20s});
  o.ratio = r.chance(700) ? 1 : 0.5;
  o.tasks_per_executor = s.cores / s.task_cpus;
  o.shuffle_tracking = true;
  o.decommission = r.chance(500);
  return o;
}

core::ExclusionOptions random_exclusion(Random& r, const Settings& s) {
  core::ExclusionOptions o;
  o.application = r.chance(850);
  o.task_and_stage = !o.application || r.chance(700);
  const auto few = [&] { return static_cast<int32_t>(r.between(1, 2)); };
  o.task_attempts_per_executor = few();
  o.task_attempts_per_host = std::min(s.max_failures - 1, few());
  o.stage_tasks_per_executor = few();
  o.stage_executors_per_host = few();
  o.application_tasks_per_executor = few();
  o.application_executors_per_host = few();
  o.timeout = r.between(Duration{200ms}, Duration{8s});
  o.kill = r.chance(300);
  o.decommission = r.chance(500);
  o.fetch_failure = r.chance(300);
  o.dynamic_allocation = s.allocation.has_value();
  o.unschedulable_timeout = r.between(Duration{1s}, Duration{60s});
  return o;
}

Settings random_settings(Random& r) {
  Settings s;
  s.launch_ahead = r.chance(500) ? 0 : static_cast<int32_t>(r.between(1, 8));
  s.task_cpus = r.chance(100) ? 2 : 1;
  s.cores = static_cast<int32_t>(r.between(s.task_cpus, 4));
  s.max_failures = r.chance(700) ? 4 : static_cast<int32_t>(r.between(1, 3));
  s.max_attempts = r.chance(700) ? 4 : 2;
  s.reduce_locality = r.chance(500);
  s.legacy_locality = r.chance(200);
  s.skewed = r.chance(500);
  s.locality_wait = r.chance(500) ? Duration{0} : r.between(Duration{100ms}, Duration{3s});
  s.heartbeat = r.between(Duration{1s}, Duration{5s});
  s.executor_timeout = r.between(Duration{10s}, Duration{30s});
  s.check_interval = r.between(Duration{2s}, Duration{10s});
  s.remove_delay = r.between(Duration{500ms}, Duration{5s});
  s.ask_timeout = r.between(Duration{5s}, Duration{20s});
  s.retry_wait = r.between(Duration{500ms}, Duration{5s});
  s.silence = r.between(Duration{5s}, Duration{20s});
  s.max_retries = static_cast<int32_t>(r.between(0, 3));
  s.task_time = r.chance(300) ? Duration{2ms} : r.between(Duration{20ms}, Duration{800ms});
  s.usual_delay = r.between(Duration{50us}, Duration{1ms});
  s.tail = r.chance(300) ? r.between(1, 50) : 0;
  s.tail_delay = r.between(Duration{10ms}, Duration{1s});
  s.untold = r.chance(700) ? 50 : 500;
  s.manager_delay = r.between(Duration{10ms}, Duration{3s});
  s.start_delay = r.between(Duration{100ms}, Duration{4s});
  s.speculation = r.chance(400);
  s.fair = r.chance(300);
  s.min_share = static_cast<int32_t>(r.between(0, 4));
  if (r.chance(300)) s.allocation = random_allocation(r, s);
  if (r.chance(400) && s.max_failures > 1) s.exclusion = random_exclusion(r, s);
  if (r.chance(300)) s.force_kill = r.between(Duration{100ms}, Duration{5s});
  s.retained_decommissioned = static_cast<int32_t>(r.between(0, 8));
  s.forgive_decommissioned = r.chance(700);
  s.unregister_on_host = r.chance(300);
  return s;
}

JobPlan random_job(const std::vector<NodePlan>& nodes, Random& r) {
  JobPlan job;
  const int64_t last = static_cast<int64_t>(nodes.size()) - 1;
  job.node = static_cast<int32_t>(r.chance(600) ? last : r.between(0, last));
  const int32_t n = nodes[static_cast<size_t>(job.node)].partitions;
  const bool all = r.chance(800);
  for (int32_t p = 0; p < n; ++p)
    if (all || r.chance(600)) job.partitions.push_back(p);
  job.at = r.chance(600) ? r.between(Duration{0}, Duration{300ms})
                         : r.between(Duration{0}, Duration{20s});
  job.group = "group-" + std::to_string(r.between(0, 1));
  job.tag = "tag-" + std::to_string(r.between(0, 1));
  job.commits = r.chance(400);
  job.large_results = r.chance(600);
  if (r.chance(30)) job.poison = static_cast<int32_t>(r.between(0, n - 1));
  return job;
}

/// Failures of the cluster are likelier than orders of a user.
Kind random_kind(Random& r, bool standalone) {
  constexpr auto kOrders = static_cast<int64_t>(Kind::CrashDriver) + 1;
  constexpr auto kManager = static_cast<int64_t>(kFirstOfManager);
  if (standalone && r.chance(300))
    return static_cast<Kind>(r.between(kManager, int64_t{kFaultKinds} - 1));
  return static_cast<Kind>(r.chance(900) ? r.between(0, kOrders - 1)
                                         : r.between(kOrders, kManager - 1));
}

Fault random_fault(Random& r, Duration window, bool standalone) {
  Fault f;
  f.kind = random_kind(r, standalone);
  f.at = r.between(Duration{0}, window);
  f.length = r.chance(700) ? r.between(Duration{10ms}, Duration{3s})
                           : r.between(Duration{3s}, Duration{45s});
  f.target = static_cast<int32_t>(r.between(0, 11));
  f.other = static_cast<int32_t>(r.between(0, 11));
  return f;
}

/// A share of one address, or whole ones up to `most`.
double random_share(Random& r, int32_t most) {
  if (r.chance(400)) return r.chance(500) ? 0.5 : 0.25;
  return static_cast<double>(r.between(1, most));
}

/// Where addresses leave room for fewer tasks at once, tasks are shorter in the same measure: the
/// work of a scenario takes no longer for them.
void keep_length(Settings& o) {
  if (o.task_gpus <= 0) return;
  const int32_t by_cores = o.cores / o.task_cpus;
  const int32_t by_gpus = static_cast<int32_t>(o.gpus / o.task_gpus);
  if (by_gpus < by_cores) o.task_time = o.task_time * by_gpus / by_cores;
}

/// Nodes name profiles of tasks alone, or with dynamic allocation such as have executors of their
/// own. A stage of several takes the most of each.
void add_custom_resources(Scenario& s, Random& r) {
  Settings& o = s.settings;
  if (!r.chance(400)) return;
  o.gpus = static_cast<int32_t>(r.between(1, 3));
  if (r.chance(600)) o.task_gpus = random_share(r, o.gpus);
  keep_length(o);
  const int64_t profiles = r.between(0, 2);
  for (int64_t i = 0; i < profiles; ++i) {
    core::ResourceProfile& p = o.profiles.emplace_back();
    int32_t gpus = o.gpus;
    if (o.allocation)
      p.executor.resources[kGpu].amount = gpus = static_cast<int32_t>(r.between(1, 3));
    p.task.cpus = static_cast<int32_t>(r.between(1, o.cores));
    if (r.chance(800)) p.task.resources[kGpu] = random_share(r, gpus);
  }
  if (profiles == 0) return;
  for (NodePlan& node : s.nodes)
    if (r.chance(400)) node.profile = static_cast<int32_t>(r.between(0, profiles - 1));
}

/// Of the default resource profile.
int32_t all_slots(const Scenario& s) {
  const Settings& o = s.settings;
  int32_t slots = o.cores / o.task_cpus;
  if (o.task_gpus > 0) slots = std::min(slots, static_cast<int32_t>(o.gpus / o.task_gpus));
  return slots *
         (s.standalone ? std::min(s.executors, s.hosts * executors_a_host(s)) : s.executors);
}

/// Where one task runs at a time the work of a scenario is to end within its time too. Dynamic
/// allocation may leave one executor.
void bound_length(Scenario& s) {
  const int32_t executors = s.settings.allocation ? 1 : s.executors;
  int32_t slots = all_slots(s) / (s.settings.allocation ? s.executors : 1);
  for (const core::ResourceProfile& p : s.settings.profiles)
    slots = std::min(slots, executors * (s.settings.cores / p.task.cpus.value_or(1)));
  slots = std::max(1, slots);
  s.settings.task_time = std::min(s.settings.task_time, slots * Duration{800ms});
}

/// A stage whose tasks meet, and one that reads it. Mostly it begins where a stage may; other
/// chains are refused. There are slots for all its tasks when all executors are there: as in Spark
/// it waits for ever if they go for good once the job runs.
void add_barrier(Scenario& s, Random& r) {
  s.settings.barrier = {r.between(Duration{5s}, Duration{40s}),
                        r.between(Duration{1s}, Duration{5s}), 20};
  if (s.settings.allocation || !r.chance(300)) return;
  const auto begins_stage = [](const NodePlan& n) {
    return n.kind == NodePlan::Kind::Source || n.kind == NodePlan::Kind::Shuffle ||
           n.kind == NodePlan::Kind::Cogroup;
  };
  const int32_t slots = all_slots(s);
  const bool any = s.settings.profiles.empty() && r.chance(100);
  std::vector<int32_t> bases;
  for (size_t i = 0; i < s.nodes.size(); ++i)
    if ((any || begins_stage(s.nodes[i])) && s.nodes[i].profile < 0 &&
        s.nodes[i].partitions <= slots)
      bases.push_back(static_cast<int32_t>(i));
  if (bases.empty()) return;
  const int32_t base =
      bases[static_cast<size_t>(r.between(0, static_cast<int64_t>(bases.size()) - 1))];
  const auto add = [&](NodePlan::Kind kind, int32_t parent, int32_t partitions) {
    s.nodes.push_back({kind, {parent}, partitions});
    return static_cast<int32_t>(s.nodes.size()) - 1;
  };
  const int32_t barrier =
      add(NodePlan::Kind::Map, base, s.nodes[static_cast<size_t>(base)].partitions);
  s.nodes.back().barrier = true;
  const int32_t reader =
      add(NodePlan::Kind::Shuffle, barrier, static_cast<int32_t>(r.between(1, 6)));
  for (JobPlan& job : s.jobs) {
    if (!r.chance(500)) continue;
    job.node = r.chance(500) ? barrier : reader;
    job.poison = -1;
    job.partitions.resize(static_cast<size_t>(s.nodes[static_cast<size_t>(job.node)].partitions));
    std::iota(job.partitions.begin(), job.partitions.end(), 0);
  }
}

/// Again and again, while tasks run long and few at a time: some results are out by then.
void lose_outputs(Scenario& s, Random& r) {
  s.settings.task_time = r.between(Duration{300ms}, Duration{2s});
  s.settings.max_attempts = 4;
  s.executors = std::min(s.executors, 2);
  for (int i = 0; i < 20; ++i) {
    s.faults.push_back(random_fault(r, 40s, s.standalone));
    s.faults.back().kind = r.chance(900) ? Kind::LoseFiles : Kind::Crash;
  }
}

/// Nodes that give something else each time, and readers of such a one, which read each other.
void add_unsteady(Scenario& s, Random& r) {
  if (!r.chance(400)) return;
  for (NodePlan& node : s.nodes) node.unsteady = r.chance(100);
  const auto add = [&](NodePlan::Kind kind, std::vector<int32_t> parents, int32_t partitions) {
    s.nodes.push_back({kind, std::move(parents), partitions});
    return static_cast<int32_t>(s.nodes.size()) - 1;
  };
  const auto many = [&] { return static_cast<int32_t>(r.between(10, 20)); };
  const auto base = static_cast<int32_t>(r.between(0, static_cast<int64_t>(s.nodes.size()) - 1));
  const int32_t unsteady =
      add(NodePlan::Kind::Map, {base}, s.nodes[static_cast<size_t>(base)].partitions);
  s.nodes.back().unsteady = true;
  const int32_t first = add(NodePlan::Kind::Shuffle, {unsteady}, many());
  const int32_t width = s.nodes.back().partitions;
  const int32_t last = r.chance(500) ? add(NodePlan::Kind::HalfCogroup, {first, first}, width)
                                     : add(NodePlan::Kind::Cogroup,
                                           {first, r.chance(500) ? unsteady : base}, many());
  for (JobPlan& job : s.jobs) {
    if (!r.chance(800)) continue;
    job.node = r.chance(500) ? first : last;
    job.poison = -1;
    job.partitions.resize(static_cast<size_t>(s.nodes[static_cast<size_t>(job.node)].partitions));
    std::iota(job.partitions.begin(), job.partitions.end(), 0);
  }
  if (r.chance(900)) lose_outputs(s, r);
}

/// Blocks of decommissioned executors move. More of them are, there are others who could take what
/// they hold, and disks of those are full for a while.
void add_migration(Scenario& s, Random& r) {
  if (!r.chance(500)) return;
  core::MigrationOptions& o = s.settings.migration;
  o.shuffles = r.chance(850);
  o.rdds = !o.shuffles || r.chance(700);
  o.max_failures = static_cast<int32_t>(r.between(1, 4));
  o.reattempt_interval = r.between(Duration{100ms}, Duration{3s});
  o.max_threads = static_cast<int32_t>(r.between(1, 4));
  if (r.chance(600)) s.executors = std::max(s.executors, 3);
  for (NodePlan& node : s.nodes) node.cached = node.cached || (o.rdds && r.chance(300));
  const int64_t more = r.between(1, 5);
  for (int64_t i = 0; i < more; ++i) {
    s.faults.push_back(random_fault(r, 10s, s.standalone));
    s.faults.back().kind = r.chance(650)   ? Kind::DecommissionExecutor
                           : r.chance(400) ? Kind::DecommissionHost
                                           : Kind::DiskFull;
  }
}

/// One kind of fault, again and again, while tasks run long; outputs are lost of hosts that go.
void storm(Scenario& s, Random& r) {
  const int64_t which = r.between(0, 99);
  Kind kind = which < 24   ? Kind::LoseFiles
              : which < 72 ? Kind::DecommissionHost
              : which < 80 ? Kind::LoseResults
                           : random_kind(r, s.standalone);
  if (kind == Kind::CrashDriver) kind = Kind::TasksThrow;
  s.settings.task_time = r.between(Duration{300ms}, Duration{2s});
  for (JobPlan& job : s.jobs) job.commits = job.commits || r.chance(900);
  for (int i = 0; i < 15; ++i) {
    s.faults.push_back(random_fault(r, 20s, s.standalone));
    s.faults.back().kind = kind == Kind::DecommissionHost && i % 3 != 0 ? Kind::LoseFiles : kind;
  }
}

}  // namespace

const char* name_of(Fault::Kind kind) { return kFaultNames[static_cast<size_t>(kind)]; }

Scenario make_scenario(uint64_t seed) {
  Random r(mix(seed, 42));
  Scenario s;
  s.seed = seed;
  s.settings = random_settings(r);
  s.standalone = r.chance(400);
  s.executors = static_cast<int32_t>(r.between(1, 5));
  s.hosts = static_cast<int32_t>(r.between(1, 3));
  s.nodes = random_graph(r);
  const int64_t jobs = r.between(1, 6), faults = r.chance(100) ? 0 : r.between(1, 12);
  for (int64_t i = 0; i < jobs; ++i) s.jobs.push_back(random_job(s.nodes, r));
  // Most jobs are over in seconds: faults that come later would meet nobody.
  const Duration window = r.chance(700) ? Duration{6s} : Duration{30s};
  for (int64_t i = 0; i < faults; ++i) s.faults.push_back(random_fault(r, window, s.standalone));
  if (r.chance(500)) storm(s, r);
  Random resources(mix(seed, 43));
  add_custom_resources(s, resources);
  Random unsteady(mix(seed, 45));
  add_unsteady(s, unsteady);
  Random barriers(mix(seed, 44));
  add_barrier(s, barriers);
  Random migration(mix(seed, 46));
  add_migration(s, migration);
  bound_length(s);
  return s;
}

Duration end_of_faults(const Scenario& scenario) {
  Duration end{};
  for (const Fault& f : scenario.faults) end = std::max(end, f.at + f.length);
  for (const JobPlan& j : scenario.jobs) end = std::max(end, j.at);
  return end;
}

namespace {
std::string describe(const core::ResourceProfile& p) {
  const auto executor = p.executor.resources.find(kGpu);
  const auto task = p.task.resources.find(kGpu);
  return (executor == p.executor.resources.end()
              ? "of tasks alone"
              : "executors of " + std::to_string(executor->second.amount) + " gpus") +
         ", task cpus " + std::to_string(p.task.cpus.value_or(1)) + ", task gpus " +
         std::to_string(task == p.task.resources.end() ? 0 : task->second);
}
std::string describe(const core::MigrationOptions& o) {
  if (!o.on()) return "";
  return std::string(", moves ") + (o.shuffles ? "outputs" : "") +
         (o.shuffles && o.rdds ? " and " : "") + (o.rdds ? "cached blocks" : "") + ", " +
         std::to_string(o.max_threads) + " at once, " + std::to_string(o.max_failures) +
         " failures, again after " + std::to_string(o.reattempt_interval / 1ms) + "ms";
}
}  // namespace

std::string describe(const Scenario& s) {
  const auto ms = [](Duration d) { return std::to_string(d / 1ms) + "ms"; };
  const Settings& o = s.settings;
  std::string text =
      "seed " + std::to_string(s.seed) + ": " + std::to_string(s.executors) + " executors of " +
      std::to_string(o.cores) + " cores on " + std::to_string(s.hosts) + " hosts, launch-ahead " +
      std::to_string(o.launch_ahead) + ", task cpus " + std::to_string(o.task_cpus) +
      ", max failures " + std::to_string(o.max_failures) + ", max attempts " +
      std::to_string(o.max_attempts) + ", task time " + ms(o.task_time) + ", executor timeout " +
      ms(o.executor_timeout) + ", remove delay " + ms(o.remove_delay) +
      (o.speculation ? ", speculation" : "") + (o.fair ? ", fair pools" : "") +
      (o.exclusion.application ? ", exclusion for the application" : "") +
      (o.exclusion.task_and_stage ? ", exclusion for tasks" : "") +
      (o.allocation ? ", dynamic allocation" : "") + describe(o.migration) +
      (s.standalone ? ", standalone" : "") +
      (o.gpus > 0 ? ", " + std::to_string(o.gpus) + " gpus each, " + std::to_string(o.task_gpus) +
                        " of a task"
                  : "") +
      "\n";
  for (size_t i = 0; i < o.profiles.size(); ++i)
    text += "  profile " + std::to_string(i) + ": " + describe(o.profiles[i]) + "\n";
  for (size_t i = 0; i < s.nodes.size(); ++i)
    text += "  rdd " + std::to_string(i) + ": " + describe(s.nodes[i]) + "\n";
  for (size_t i = 0; i < s.jobs.size(); ++i) {
    const JobPlan& j = s.jobs[i];
    text += "  job " + std::to_string(i) + " at " + ms(j.at) + ": rdd " + std::to_string(j.node) +
            ", " + std::to_string(j.partitions.size()) + " partitions, " + j.group + ", " + j.tag +
            (j.commits ? ", commits" : "") + (j.large_results ? ", large results" : "") +
            (j.poison >= 0 ? ", poison " + std::to_string(j.poison) : "") + "\n";
  }
  for (const Fault& f : s.faults)
    text += "  " + std::string(name_of(f.kind)) + " at " + ms(f.at) + " for " + ms(f.length) +
            ", target " + std::to_string(f.target) + ", other " + std::to_string(f.other) + "\n";
  return text;
}

}  // namespace tinderbox::sim
