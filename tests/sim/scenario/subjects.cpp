#include "tests/sim/scenario/subjects.hpp"

#include <algorithm>
#include <numeric>

namespace tinderbox::sim {
namespace {

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

/// Of the default resource profile.
int32_t all_slots(const Scenario& s) {
  const Settings& o = s.settings;
  int32_t slots = o.cores / o.task_cpus;
  if (o.task_gpus > 0) slots = std::min(slots, static_cast<int32_t>(o.gpus / o.task_gpus));
  return slots * (s.manager == ManagerKind::Standalone
                      ? std::min(s.executors, s.hosts * executors_a_host(s))
                      : s.executors);
}

/// All partitions of that node, none of which always fails.
void run_whole(JobPlan& job, int32_t node, const Scenario& s) {
  job.node = node;
  job.poison = -1;
  job.partitions.resize(static_cast<size_t>(s.nodes[static_cast<size_t>(node)].partitions));
  std::iota(job.partitions.begin(), job.partitions.end(), 0);
}

/// Again and again, while tasks run long and few at a time: some results are out by then.
void lose_outputs(Scenario& s, Random& r) {
  s.settings.task_time = r.between(Duration{300ms}, Duration{2s});
  s.settings.max_attempts = 4;
  s.executors = std::min(s.executors, 2);
  for (int i = 0; i < 20; ++i) {
    s.faults.push_back(random_fault(r, 40s, s.manager));
    s.faults.back().kind = r.chance(900) ? Fault::Kind::LoseFiles : Fault::Kind::Crash;
  }
}

/// A shuffle that one job alone reads, which comes first, and the end of its use.
void add_passing_shuffle(Scenario& s, Random& r) {
  const auto any = [&r](size_t count) {
    return static_cast<int32_t>(r.between(0, static_cast<int64_t>(count) - 1));
  };
  s.nodes.push_back(
      {NodePlan::Kind::Shuffle, {any(s.nodes.size())}, static_cast<int32_t>(r.between(1, 4))});
  JobPlan job = s.jobs.front();
  run_whole(job, static_cast<int32_t>(s.nodes.size()) - 1, s);
  job.at = Duration{0};
  s.jobs.push_back(std::move(job));
  if (s.settings.min_share == 0) s.jobs.front().at = r.between(Duration{1s}, Duration{8s});
  Fault forget = random_fault(r, 3s, s.manager);
  forget.kind = Fault::Kind::ForgetShuffle;
  forget.length += 20s;
  s.faults.push_back(forget);
}

/// Limits that are met by few executors.
void limit_pods(PodSettings& o, Random& r) {
  o.batch_size = static_cast<int32_t>(r.between(1, 5));
  o.batch_delay = r.between(Duration{150ms}, Duration{2s}) / 1ms * 1ms;
  if (r.chance(400)) o.max_pending = static_cast<int32_t>(r.between(1, 4));
  if (r.chance(300)) o.max_pending_per_profile = static_cast<int32_t>(r.between(1, 3));
  if (r.chance(450)) o.max_failures = static_cast<int32_t>(r.between(0, 2));
  if (r.chance(300)) o.creation_timeout = r.between(Duration{1s}, Duration{20s}) / 1ms * 1ms;
}

}  // namespace

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

void add_rivals(Scenario& s, Random& r) {
  if (!s.settings.fair || !r.chance(700)) return;
  s.settings.min_share = static_cast<int32_t>(r.between(1, 4));
  s.executors = std::min(s.executors, 2);
  int32_t widest = 0;
  for (size_t i = 0; i < s.nodes.size(); ++i)
    if (s.nodes[i].partitions > s.nodes[static_cast<size_t>(widest)].partitions)
      widest = static_cast<int32_t>(i);
  if (s.jobs.size() == 1) s.jobs.push_back(s.jobs.front());
  for (size_t i = 0; i < 2; ++i) {
    run_whole(s.jobs[i], widest, s);
    s.jobs[i].group = i == 0 ? "group-1" : "group-0";  // whose share is the minimum comes later
    s.jobs[i].at = i == 0 ? Duration{0} : r.between(Duration{1ms}, Duration{500ms});
  }
  if (r.chance(500)) return;
  s.settings.locality_wait = Duration{0};
  s.settings.launch_ahead = 0;
  s.settings.exclusion = {};
}

void add_shares(Scenario& s, Random& r) {
  if (!s.settings.fair) return;
  if (r.chance(800)) s.settings.other_share = static_cast<int32_t>(r.between(1, 4));
  if (!r.chance(500)) return;
  // What is above its share has its turn by weight.
  s.settings.min_share = std::min(s.settings.min_share, 1);
  s.settings.other_share = std::min(s.settings.other_share, 1);
  s.settings.weight = static_cast<int32_t>(r.between(1, 2));
  s.settings.other_weight = s.settings.weight == 1 ? 3 : 1;
}

void bound_length(Scenario& s) {
  const int32_t executors = s.settings.allocation ? 1 : s.executors;
  int32_t slots = all_slots(s) / (s.settings.allocation ? s.executors : 1);
  for (const core::ResourceProfile& p : s.settings.profiles)
    slots = std::min(slots, executors * (s.settings.cores / p.task.cpus.value_or(1)));
  slots = std::max(1, slots);
  s.settings.task_time = std::min(s.settings.task_time, slots * Duration{600ms});
}

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
    run_whole(job, r.chance(500) ? barrier : reader, s);
  }
}

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
    run_whole(job, r.chance(500) ? first : last, s);
  }
  if (r.chance(900)) lose_outputs(s, r);
}

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
    s.faults.push_back(random_fault(r, 10s, s.manager));
    s.faults.back().kind = r.chance(650)   ? Fault::Kind::DecommissionExecutor
                           : r.chance(400) ? Fault::Kind::DecommissionHost
                                           : Fault::Kind::DiskFull;
  }
}

void add_map_stages(Scenario& s, Random& r) {
  std::vector<int32_t> readers;
  for (size_t i = 0; i < s.nodes.size(); ++i)
    if (reads_shuffle(s.nodes[i].kind)) readers.push_back(static_cast<int32_t>(i));
  if (readers.empty() || !r.chance(150)) return;
  const int64_t more = r.between(1, 2);
  for (int64_t i = 0; i < more; ++i) {
    JobPlan job = s.jobs.front();
    run_whole(job,
              readers[static_cast<size_t>(r.between(0, static_cast<int64_t>(readers.size()) - 1))],
              s);
    job.map_stage = true;
    job.at = r.between(Duration{0}, Duration{5s});
    s.jobs.push_back(std::move(job));
  }
}

void add_orders(Scenario& s, Random& r) {
  s.forgets = r.chance(300);
  // Two rivals need theirs: it names their pools.
  if (s.settings.min_share == 0 && r.chance(300))
    for (JobPlan& job : s.jobs)
      if (r.chance(300)) job.group.clear();
  if (r.chance(150)) add_passing_shuffle(s, r);
  if (!r.chance(100)) return;
  const auto which = r.between(0, static_cast<int64_t>(s.jobs.size()) - 1);
  Fault cancel = random_fault(r, 3s, s.manager);
  cancel.kind = Fault::Kind::CancelGroupForever;
  cancel.target = static_cast<int32_t>(which);
  JobPlan late = s.jobs[static_cast<size_t>(which)];
  late.at = cancel.at + r.between(Duration{1ms}, Duration{5s});
  s.faults.push_back(cancel);
  s.jobs.push_back(std::move(late));
}

void add_pods(Scenario& s, Random& r) {
  PodSettings& o = s.settings.pods;
  limit_pods(o, r);
  o.delete_grace = r.between(Duration{100ms}, Duration{5s}) / 1ms * 1ms;
  o.missing_delta = r.between(Duration{1s}, Duration{30s}) / 1ms * 1ms;
  o.api_delay = r.between(Duration{1ms}, Duration{8ms});
  o.place_delay = r.between(Duration{5ms}, Duration{500ms});
  if (r.chance(500)) o.claims = static_cast<int32_t>(r.between(1, 2));
  o.own_claims = r.chance(750);
  o.reuse_claims = r.chance(800);
  o.wait_for_claims = r.chance(300);
  o.delete_pods = r.chance(850);
  o.decommission = s.settings.migration.on() || r.chance(400);
  o.watch = r.chance(900);
  // What went between two lists is given up after that: the jobs' time is not to pass meanwhile.
  if (!o.watch) o.creation_timeout = 20s;
  const int64_t more = r.between(1, 5);
  for (int64_t i = 0; i < more; ++i) {
    s.faults.push_back(random_fault(r, 10s, s.manager));
    s.faults.back().kind = random_kind_of(r, s.manager);
  }
  // Where few failures are too many there are some; deletions are none.
  for (int32_t i = 0; o.max_failures < 3 && i < o.max_failures + 3; ++i) {
    s.faults.push_back(random_fault(r, 10s, s.manager));
    s.faults.back().kind = r.chance(600) ? Fault::Kind::Crash : Fault::Kind::PodDeleted;
  }
}

void storm(Scenario& s, Random& r) {
  const int64_t which = r.between(0, 99);
  Fault::Kind kind = which < 24   ? Fault::Kind::LoseFiles
                     : which < 72 ? Fault::Kind::DecommissionHost
                     : which < 80 ? Fault::Kind::LoseResults
                                  : random_kind(r, s.manager);
  if (kind == Fault::Kind::CrashDriver) kind = Fault::Kind::TasksThrow;
  s.settings.task_time = r.between(Duration{300ms}, Duration{2s});
  for (JobPlan& job : s.jobs) job.commits = job.commits || r.chance(900);
  for (int i = 0; i < 15; ++i) {
    s.faults.push_back(random_fault(r, 20s, s.manager));
    s.faults.back().kind =
        kind == Fault::Kind::DecommissionHost && i % 3 != 0 ? Fault::Kind::LoseFiles : kind;
  }
}

void add_distance(Scenario& s, Random& r) {
  if (r.chance(300)) s.settings.usual_delay = r.between(Duration{2ms}, Duration{20ms});
}

}  // namespace tinderbox::sim
