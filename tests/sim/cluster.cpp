#include "tests/sim/cluster.hpp"

#include <algorithm>

namespace tinderbox::sim {

using namespace core;

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
                    [this](const RequestTotalExecutors& wanted) { manager_->want(wanted); },
                    [this](const ExecutorId& id) { manager_->decommissioned(id); },
                    [this](const ListenerEvent& event) { manager_->heard(event); }}),
      fleet_(in_),
      manager_(make_manager(in_, fleet_, driver_, scenario_)) {
  network_.tell({[this] { checks_.reached(Fault::Kind::Delay); },
                 [this] { checks_.reached(Fault::Kind::Reordering); },
                 [this] { checks_.reached(Fault::Kind::Loss); }});
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
  checks_.application_ended();  // executors of the run before were told things until now
  driver_.begin();
  manager_->driver_started();
  submit_jobs(2s);
}

// ---- a run -------------------------------------------------------------------------------------

void Cluster::run() {
  const Time limit = world_.now() + end_of_faults(scenario_) + kPatience;
  for (size_t open = 0; !checks_.all_ended();) {
    if (!world_.step(limit))
      throw Broken("a job hangs", std::to_string(checks_.open().size()) + " jobs");
    if (checks_.open().size() < open) forget_unneeded();
    open = checks_.open().size();
  }
  settle();
  end_application();
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

/// Whatever was wanted is there by now, and whatever was there goes.
void Cluster::end_application() {
  const Time limit = world_.now() + end_of_faults(scenario_) + kPatience;
  while (!checks_.given_up() && !manager_->lacks().empty() && world_.step(limit)) {
  }
  if (const std::string what = manager_->lacks(); !checks_.given_up() && !what.empty())
    throw Broken("executors that are wanted do not come", what);
  manager_->end();
  while (!manager_->left_over().empty() && world_.step(limit)) {
  }
  if (const std::string what = manager_->left_over(); !what.empty())
    throw Broken("an ended application holds something", what);
}

/// How the driver knows it; null: not at all. Of two of one number, given by masters that knew
/// nothing of each other, it is the one that began under the present driver.
const Executor* Cluster::known_as(const SimExecutor& e) const {
  if (e.app() != application_.id) return nullptr;
  if (!e.current() && std::ranges::any_of(fleet_.all(), [&](const auto& other) {
        return other->current() && other->id() == e.id() && other->app() == e.app();
      }))
    return nullptr;
  const Executors& known = driver_.machine().executors();
  for (int32_t slot = 0; slot < known.count(); ++slot)
    if (known.at(slot).id.value == e.id()) return &known.at(slot);
  return nullptr;
}

/// The driver offers it tasks.
bool Cluster::active(const SimExecutor& e) const {
  const Executor* const k = known_as(e);
  return e.alive() && e.current() && k && k->state == Executor::State::Active;
}

/// Null: none does. Whoever the driver has given up is to end.
const SimExecutor* Cluster::outlives_removal() const {
  for (const auto& e : fleet_.all()) {
    if (!e->alive() || !e->current()) continue;
    const Executor* k = known_as(*e);
    if (k && k->state == Executor::State::Removed) return e.get();
  }
  return nullptr;
}

/// Null: none does. One that began under the driver before may have come to the present one.
const SimExecutor* Cluster::outlives_application() const {
  for (const auto& e : fleet_.all()) {
    if (!e->alive() || e->current()) continue;
    const Executor* k = known_as(*e);
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
    const Executor* k = known_as(*e);
    if (!k || k->state != Executor::State::Active || network_.partitioned(p.host, "driver"))
      continue;
    if (e->runs_anything())
      throw Broken("a task runs that the driver has forgotten", e->process()->name);
    if (const std::string left = e->programs(); !left.empty())
      throw Broken("programs of ended stages are left", e->process()->name + " has" + left);
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
