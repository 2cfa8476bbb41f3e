#include "tests/sim/cluster.hpp"

#include <algorithm>

namespace tinderbox::sim {

using namespace core;
using Kind = Fault::Kind;

namespace {
NetworkSettings network_settings(const Settings& s) {
  NetworkSettings n;
  n.usual = s.usual_delay;
  n.tail = s.tail;
  n.tail_delay = s.tail_delay;
  return n;
}
}  // namespace

Cluster::Cluster(const Scenario& scenario, bool traced)
    : scenario_(scenario),
      world_(mix(scenario.seed, 7), traced),
      network_(world_, network_settings(scenario.settings)),
      lineage_(scenario.nodes, scenario.settings.profiles),
      checks_(world_, lineage_, scenario),
      in_{world_, network_, lineage_, scenario_.settings, checks_, application_},
      driver_(in_, {[this](const ExecutorId& id) { manager_->kill(id); },
                    [this](const RequestTotalExecutors& wanted) { manager_->want(wanted); }}),
      fleet_(in_),
      manager_(scenario.standalone ? make_standalone_manager(in_, fleet_, driver_, scenario_)
                                   : make_seeded_manager(in_, fleet_, driver_, scenario_)) {
  if (scenario.settings.skewed) checks_.reached(Path::ClocksSkewed);
  driver_.begin();
  manager_->start();
  manager_->driver_started();
  submit_jobs(Duration::max());
  for (const Fault& fault : scenario.faults)
    world_.after(nullptr, fault.at, [this, &fault] { begin(fault); });
}

/// For the application as it runs now.
void Cluster::submit_jobs(Duration latest) {
  for (size_t i = 0; i < scenario_.jobs.size(); ++i)
    world_.after(driver_.process(), std::min(scenario_.jobs[i].at, latest),
                 [this, i] { driver_.submit(i + 1, scenario_.jobs[i]); });
}

/// A supervisor starts it again; it knows nothing of what was.
void Cluster::restart_driver() {
  checks_.reached(Path::ApplicationRestarted);
  driver_.begin();
  manager_->driver_started();
  submit_jobs(2s);
}

// ---- faults ------------------------------------------------------------------------------------

void Cluster::begin(const Fault& f) {
  if (checks_.all_ended()) return;
  SimExecutor* const e = fleet_.pick(f.target);
  world_.trace("fault", std::string(name_of(f.kind)) + (e ? " " + e->process()->name : ""));
  if (f.kind >= kFirstOfManager) {
    if (manager_->begin(f)) checks_.reached(f.kind);
    return;
  }
  if (!e || !driver_.opened()) return;
  checks_.reached(f.kind);
  if (f.kind == Kind::CrashDriver || f.kind == Kind::PauseDriver) return driver_fault(f);
  if (f.kind > Kind::CrashDriver || f.kind == Kind::KillTask) return user_fault(f);
  executor_fault(f, *e, *fleet_.pick(f.other));
}

void Cluster::driver_fault(const Fault& f) {
  if (f.kind == Kind::PauseDriver) {
    Time& until = driver_.process()->paused_until;
    until = std::max(until, world_.now() + f.length);
    return;
  }
  driver_.crash(f.other % 4 == 0);
  checks_.application_ended();
  world_.after(nullptr, world_.random().between(Duration{200ms}, Duration{5s}),
               [this] { restart_driver(); });
}

void Cluster::executor_fault(const Fault& f, SimExecutor& e, const SimExecutor& other) {
  Process& p = *e.process();
  switch (f.kind) {
    case Kind::Crash:
      return e.die(f.other % 2 == 0 ? 137 : 1, false, "crashed");
    case Kind::SilentCrash:
      return e.die(1, true, "crashed with its machine");
    case Kind::HostLoss:
      return manager_->lose_host(p.host);
    case Kind::Cut:
      return void(network_.cut(p, *driver_.process()));
    case Kind::CutBlocks:
      return void(network_.cut(p, *other.process()));
    case Kind::PartitionDriver:
      return network_.partition(p.host, "driver", f.length);
    case Kind::PartitionExecutors:
      if (p.host != other.process()->host)
        network_.partition(p.host, other.process()->host, f.length);
      return;
    case Kind::SlowPeer:
      p.slow_until = world_.now() + f.length;
      p.slowness = 500ms;
      return;
    case Kind::Pause:
      p.paused_until = std::max(p.paused_until, world_.now() + f.length);
      return;
    case Kind::LoseFiles:
      return e.lose_files(world_.random());
    case Kind::LoseBlocks:
      return e.lose_blocks();
    case Kind::LoseResults:
      return e.lose_results(f.length + 2s);
    case Kind::DiskFull:
      return e.fill_disk(f.length);
    case Kind::TasksThrow:
      return e.make_tasks_throw(f.length);
    case Kind::BuildFails:
      fleet_.fail_next();
      return e.die(1, false, "crashed");
    default:
      return decommission(f, e);
  }
}

/// Told by the executor itself or by the cluster manager. The disk may go first; some are taken
/// away before they drained.
void Cluster::decommission(const Fault& f, SimExecutor& e) {
  if (!scenario_.settings.migration.on() || world_.random().chance(300))
    e.lose_files(world_.random());
  if (f.kind == Kind::DecommissionHost)
    return manager_->decommission_host(e.process()->host, f.length);
  if (f.other % 2 == 0)
    e.decommission();
  else if (e.current())
    driver_.post(BackendExecutorDecommissioned{ExecutorId{e.id()}, "needed elsewhere", {}});
  if (f.other % 3 == 0)
    world_.after(e.process(), f.length, [&e] { e.die(137, false, "taken away"); });
}

void Cluster::user_fault(const Fault& f) {
  if (f.kind == Kind::KillTask) {
    const std::vector<TaskId> tasks = fleet_.pick(f.target)->running_tasks();
    if (!tasks.empty())
      driver_.post(KillTaskAttempt{tasks[static_cast<size_t>(f.other) % tasks.size()], true,
                                   "killed by the user"});
  } else if (f.kind == Kind::Unpersist) {
    driver_.post(UnpersistRdd{RddId{f.target % lineage_.size()}});
  } else {
    cancel(f);
  }
}

void Cluster::cancel(const Fault& f) {
  const size_t which = static_cast<size_t>(f.target) % scenario_.jobs.size();
  const JobPlan& plan = scenario_.jobs[which];
  const auto stages = driver_.machine().dag().stages();
  const auto mark = [&](auto&& chosen) {
    for (const uint64_t ticket : checks_.open())
      if (chosen(scenario_.jobs[ticket - 1], ticket)) checks_.may_be_cancelled(ticket);
  };
  switch (f.kind) {
    case Kind::CancelJob:
      mark([&](const JobPlan&, uint64_t ticket) { return ticket == which + 1; });
      return driver_.post(CancelJob{which + 1, "by the user"});
    case Kind::CancelGroup:
      mark([&](const JobPlan& p, uint64_t) { return p.group == plan.group; });
      return driver_.post(CancelJobGroup{plan.group});
    case Kind::CancelTag:
      mark([&](const JobPlan& p, uint64_t) { return p.tag == plan.tag; });
      return driver_.post(CancelJobsWithTag{plan.tag});
    case Kind::CancelStage:
      if (stages.empty()) return;
      mark([](const JobPlan&, uint64_t) { return true; });
      return driver_.post(CancelStage{
          std::next(stages.begin(),
                    static_cast<std::ptrdiff_t>(static_cast<size_t>(f.other) % stages.size()))
              ->first,
          ""});
    default:
      mark([](const JobPlan&, uint64_t) { return true; });
      return driver_.post(CancelAllJobs{});
  }
}

// ---- a run -------------------------------------------------------------------------------------

void Cluster::run() {
  const Time limit = world_.now() + end_of_faults(scenario_) + kPatience;
  while (!checks_.all_ended())
    if (!world_.step(limit))
      throw Broken("a job hangs", std::to_string(checks_.open().size()) + " jobs");
  settle();
}

namespace {
/// No job, and no executor on its way out.
bool at_rest(const Driver& driver) {
  if (!driver.idle_state_is_clean() || !driver.drained()) return false;
  const Executors& known = driver.executors();
  for (int32_t slot = 0; slot < known.count(); ++slot)
    if (known.at(slot).state == Executor::State::Draining ||
        known.at(slot).state == Executor::State::LossPending)
      return false;
  return true;
}
}  // namespace

/// Attempts of ended jobs still run for a while, and executors drain; then nothing may be left.
void Cluster::settle() {
  const Time limit = world_.now() + end_of_faults(scenario_) + kPatience;
  while (!at_rest(driver_.machine()) && world_.step(limit)) {
  }
  checks_.at_end(driver_.machine());
  if (checks_.given_up()) return;
  while ((outlives_removal() || outlives_application() || !manager_->left_over().empty()) &&
         world_.step(limit)) {
  }
  if (const SimExecutor* e = outlives_removal())
    throw Broken("an executor outlives its removal", e->process()->name);
  if (const SimExecutor* e = outlives_application())
    throw Broken("an executor outlives its application", e->process()->name);
  if (const std::string what = manager_->left_over(); !what.empty())
    throw Broken("an ended application holds something", what);
  const Time quiet = world_.now() + 5s;
  while (world_.step(quiet)) {
  }
  check_executors();
}

namespace {
/// How the driver knows it; null: not at all.
const Executor* known_as(const Driver& driver, const SimExecutor& e, const AppId& app) {
  const Executors& known = driver.executors();
  for (int32_t slot = 0; slot < known.count() && e.app() == app; ++slot)
    if (known.at(slot).id.value == e.id()) return &known.at(slot);
  return nullptr;
}
}  // namespace

/// Null: none does. Whoever the driver has given up is to end.
const SimExecutor* Cluster::outlives_removal() const {
  for (const auto& e : fleet_.all()) {
    if (!e->alive() || !e->current()) continue;
    const Executor* k = known_as(driver_.machine(), *e, application_.id);
    if (k && k->state == Executor::State::Removed) return e.get();
  }
  return nullptr;
}

/// Null: none does. One that began under the driver before may have come to the present one.
const SimExecutor* Cluster::outlives_application() const {
  for (const auto& e : fleet_.all()) {
    if (!e->alive() || e->current()) continue;
    const Executor* k = known_as(driver_.machine(), *e, application_.id);
    if (!k || k->state == Executor::State::Named || k->state == Executor::State::Removed)
      return e.get();
  }
  return nullptr;
}

/// An executor that serves the driver has forgotten the programs of stages that are over.
void Cluster::check_executors() {
  if (driver_.process()->paused_until > world_.now() - 5s) return;
  for (const auto& e : fleet_.all()) {
    const Process& p = *e->process();
    if (!p.alive || p.paused_until > world_.now() - 5s || p.slow_until > world_.now() - 5s)
      continue;
    const Executor* k = known_as(driver_.machine(), *e, application_.id);
    if (!k || k->state != Executor::State::Active || network_.partitioned(p.host, "driver"))
      continue;
    if (e->runs_anything())
      throw Broken("a task runs that the driver has forgotten", e->process()->name);
    if (e->programs() > 0) throw Broken("programs of ended stages are left", e->process()->name);
    if (e->current()) checks_.at_end(driver_.machine(), e->stored());
  }
}

void Cluster::fill(Outcome& outcome) const {
  outcome.paths = checks_.paths();
  outcome.faults = checks_.faults();
  outcome.digest = world_.digest();
  outcome.steps = world_.steps();
}

Outcome run(const Scenario& scenario, bool traced) {
  Outcome outcome;
  Cluster cluster(scenario, traced);
  try {
    cluster.run();
  } catch (const Broken& broken) {
    outcome.check = broken.check;
    outcome.detail = broken.what();
  } catch (const std::exception& error) {
    outcome.check = "exception";
    outcome.detail = error.what();
  }
  cluster.fill(outcome);
  return outcome;
}

}  // namespace tinderbox::sim
