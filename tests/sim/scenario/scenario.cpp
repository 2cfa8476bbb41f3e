#include "tests/sim/scenario/scenario.hpp"

#include "tests/sim/scenario/subjects.hpp"

namespace tinderbox::sim {
namespace {

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

std::string describe(const core::ResourceProfile& p) {
  const auto executor = p.executor.resources.find(kGpu);
  const auto task = p.task.resources.find(kGpu);
  return (executor == p.executor.resources.end()
              ? "of tasks alone"
              : "executors of " + std::to_string(executor->second.amount) + " gpus") +
         ", task cpus " + std::to_string(p.task.cpus.value_or(1)) + ", task gpus " +
         std::to_string(task == p.task.resources.end() ? 0 : task->second);
}

std::string describe_pools(const Settings& o) {
  if (!o.fair) return "";
  return ", fair pools of shares " + std::to_string(o.min_share) + " and " +
         std::to_string(o.other_share) + ", weights " + std::to_string(o.weight) + " and " +
         std::to_string(o.other_weight);
}

std::string describe(const core::MigrationOptions& o) {
  if (!o.on()) return "";
  return std::string(", moves ") + (o.shuffles ? "outputs" : "") +
         (o.shuffles && o.rdds ? " and " : "") + (o.rdds ? "cached blocks" : "") + ", " +
         std::to_string(o.max_threads) + " at once, " + std::to_string(o.max_failures) +
         " failures, again after " + std::to_string(o.reattempt_interval / 1ms) + "ms";
}

std::string describe(const PodSettings& o) {
  const auto limit = [](int32_t n) { return n == INT32_MAX ? "any" : std::to_string(n); };
  return "pods in batches of " + std::to_string(o.batch_size) + " each " +
         std::to_string(o.batch_delay / 1ms) + "ms, " + limit(o.max_pending) + " pending, " +
         limit(o.max_pending_per_profile) + " of a profile, " + std::to_string(o.claims) +
         " claims each" + (o.own_claims ? " of the driver" : "") +
         (o.reuse_claims ? ", used again" : "") + (o.delete_pods ? "" : ", pods are kept") +
         (o.decommission ? ", decommissioned" : "") + (o.watch ? "" : ", polled") + ", " +
         std::to_string(o.max_failures) + " failures";
}

}  // namespace

Scenario make_scenario(uint64_t seed) {
  Random r(mix(seed, 42));
  Scenario s;
  s.seed = seed;
  s.settings = random_settings(r);
  if (r.chance(400)) s.manager = ManagerKind::Standalone;
  // Of its own, so that other seeds mean what they meant without it.
  Random pods(mix(seed, 51));
  if (pods.chance(230)) s.manager = ManagerKind::Kubernetes;
  s.executors = static_cast<int32_t>(r.between(1, 5));
  s.hosts = static_cast<int32_t>(r.between(1, 3));
  s.nodes = random_graph(r);
  const int64_t jobs = r.between(1, 6), faults = r.chance(100) ? 0 : r.between(1, 12);
  for (int64_t i = 0; i < jobs; ++i) s.jobs.push_back(random_job(s.nodes, r));
  // Most jobs are over in seconds: faults that come later would meet nobody.
  const Duration window = r.chance(700) ? Duration{6s} : Duration{30s};
  for (int64_t i = 0; i < faults; ++i) s.faults.push_back(random_fault(r, window, s.manager));
  if (r.chance(500)) storm(s, r);
  Random rivals(mix(seed, 47));
  add_rivals(s, rivals);
  Random resources(mix(seed, 43));
  add_custom_resources(s, resources);
  Random unsteady(mix(seed, 45));
  add_unsteady(s, unsteady);
  Random barriers(mix(seed, 44));
  add_barrier(s, barriers);
  Random migration(mix(seed, 46));
  add_migration(s, migration);
  Random map_stages(mix(seed, 48));
  add_map_stages(s, map_stages);
  Random orders(mix(seed, 49));
  add_orders(s, orders);
  Random shares(mix(seed, 50));
  add_shares(s, shares);
  if (s.manager == ManagerKind::Kubernetes) add_pods(s, pods);
  Random distance(mix(seed, 52));
  add_distance(s, distance);
  bound_length(s);
  return s;
}

Duration end_of_faults(const Scenario& scenario) {
  Duration end{};
  for (const Fault& f : scenario.faults) end = std::max(end, f.at + f.length);
  for (const JobPlan& j : scenario.jobs) end = std::max(end, j.at);
  return end;
}

std::string describe(const Scenario& s) {
  const auto ms = [](Duration d) { return std::to_string(d / 1ms) + "ms"; };
  const Settings& o = s.settings;
  std::string text =
      "seed " + std::to_string(s.seed) + ": " + std::to_string(s.executors) + " executors of " +
      std::to_string(o.cores) + " cores on " + std::to_string(s.hosts) + " hosts, launch-ahead " +
      std::to_string(o.launch_ahead) + ", task cpus " + std::to_string(o.task_cpus) +
      ", max failures " + std::to_string(o.max_failures) + ", max attempts " +
      std::to_string(o.max_attempts) + ", task time " + ms(o.task_time) + ", executor timeout " +
      ms(o.executor_timeout) + ", remove delay " + ms(o.remove_delay) + ", messages take " +
      std::to_string(o.usual_delay / 1us) + "us" + (o.speculation ? ", speculation" : "") +
      describe_pools(o) + (o.exclusion.application ? ", exclusion for the application" : "") +
      (o.exclusion.task_and_stage ? ", exclusion for tasks" : "") +
      (o.allocation ? ", dynamic allocation" : "") + describe(o.migration) +
      (s.manager == ManagerKind::Standalone ? ", standalone" : "") +
      (s.manager == ManagerKind::Kubernetes ? ", " + describe(o.pods) : "") +
      (s.forgets ? ", forgets its shuffles" : "") +
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
            ", " + std::to_string(j.partitions.size()) + " partitions, " +
            (j.group.empty() ? "no group" : j.group) + ", " + j.tag +
            (j.commits ? ", commits" : "") + (j.large_results ? ", large results" : "") +
            (j.poison >= 0 ? ", poison " + std::to_string(j.poison) : "") +
            (j.map_stage ? ", map stage" : "") + "\n";
  }
  for (const Fault& f : s.faults)
    text += "  " + std::string(name_of(f.kind)) + " at " + ms(f.at) + " for " + ms(f.length) +
            ", target " + std::to_string(f.target) + ", other " + std::to_string(f.other) + "\n";
  return text;
}

}  // namespace tinderbox::sim
