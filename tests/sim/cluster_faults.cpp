// What the faults of a scenario do to a run, and when they count as met. What users order:
// cluster_orders.cpp.
#include <algorithm>

#include "tests/sim/cluster.hpp"

namespace tinderbox::sim {

using namespace core;
using Kind = Fault::Kind;

void Cluster::begin(const Fault& f) {
  if (checks_.all_ended()) return;
  SimExecutor* const e = fleet_.pick(f.target);
  world_.trace("fault", std::string(name_of(f.kind)) + (e ? " " + e->process()->name : ""));
  if (f.kind >= kFirstOfManager) return struck(f, manager_->begin(f));
  if (!e || !driver_.opened()) return;
  if (f.kind == Kind::CrashDriver || f.kind == Kind::PauseDriver) return driver_fault(f);
  if (f.kind == Kind::Unpersist || f.kind == Kind::CutBlocks || f.kind == Kind::LoseBlocks ||
      f.kind == Kind::ForgetShuffle)
    return await(f, world_.now() + f.length);
  if (f.kind > Kind::CrashDriver || f.kind == Kind::KillTask) return user_fault(f);
  if (f.kind == Kind::PartitionExecutors) return partition_executors(f, *e);
  if (f.kind >= Kind::DecommissionExecutor) return struck(f, decommission(f, *e));
  executor_fault(f, *e);
}

/// It counts when it met something, not when it was planned.
void Cluster::struck(const Fault& f, bool something) {
  if (something) checks_.reached(f.kind);
}

std::function<void()> Cluster::strikes(const Fault& f) {
  return [this, kind = f.kind] { checks_.reached(kind); };
}

/// At the first executor, from the fault's target on, at which `strike` meets something.
bool Cluster::strike_any(const Fault& f, const std::function<bool(SimExecutor&)>& strike) {
  const auto count = static_cast<int32_t>(fleet_.all().size());
  for (int32_t i = 0; i < count; ++i)
    if (SimExecutor* const e = fleet_.pick(f.target + i); e && strike(*e)) return true;
  return false;
}

/// What there is only now and then is struck when it is there, within the fault's length.
void Cluster::await(const Fault& f, Time until) {
  if (seldom_fault(f)) return struck(f, true);
  if (world_.now() < until && !checks_.all_ended())
    world_.after(nullptr, 50ms, [this, &f, until] { await(f, until); });
}

bool Cluster::seldom_fault(const Fault& f) {
  if (!driver_.opened()) return false;
  if (f.kind == Kind::CutBlocks) return cut_blocks(f);
  if (f.kind == Kind::Unpersist) return unpersist(f);
  if (f.kind == Kind::ForgetShuffle) {
    driver_.soon([this] { forget_one(); });
    return false;
  }
  return strike_any(f, [](SimExecutor& any) { return any.lose_blocks(); });
}

void Cluster::pause(const Fault& f, Process& p) {
  p.paused_until = std::max(p.paused_until, world_.now() + f.length);
  p.held_up = strikes(f);
}

void Cluster::driver_fault(const Fault& f) {
  if (f.kind == Kind::PauseDriver) return pause(f, *driver_.process());
  struck(f, true);
  driver_.crash(f.other % 4 == 0);
  checks_.application_ended();
  world_.after(nullptr, world_.random().between(Duration{200ms}, Duration{5s}),
               [this] { restart_driver(); });
}

void Cluster::executor_fault(const Fault& f, SimExecutor& e) {
  Process& p = *e.process();
  switch (f.kind) {
    case Kind::Crash:
      struck(f, true);
      return e.die(f.other % 2 == 0 ? 137 : 1, false, "crashed");
    case Kind::SilentCrash:
      struck(f, true);
      return e.die(1, true, "crashed with its machine");
    case Kind::HostLoss:
      struck(f, true);
      return manager_->lose_host(p.host);
    case Kind::Cut:
      return struck(f, strike_any(f, [this](const SimExecutor& any) {
                      return network_.cut(*any.process(), *driver_.process());
                    }));
    case Kind::PartitionDriver:
      return network_.partition(p.host, "driver", f.length, strikes(f));
    case Kind::SlowPeer:
      p.slow_until = world_.now() + f.length;
      p.slowness = 500ms;
      p.slowed = strikes(f);
      return;
    case Kind::Repeat:
      return network_.repeat(f.length, strikes(f));
    case Kind::Pause:
      return pause(f, p);
    case Kind::LoseFiles:
      return struck(
          f, strike_any(f, [this](SimExecutor& any) { return any.lose_files(world_.random()); }));
    case Kind::LoseResults:
      return e.lose_results(f.length + 2s);
    case Kind::DiskFull:
      return e.fill_disk(f.length);
    case Kind::TasksThrow:
      return e.make_tasks_throw(f.length + 2s);
    default:  // BuildFails
      fleet_.fail_next();
      return e.die(1, false, "crashed");
  }
}

/// The first executors that are connected to each other. False: none are.
bool Cluster::cut_blocks(const Fault& f) {
  const auto count = static_cast<int32_t>(fleet_.all().size());
  for (int32_t i = 0; i < count; ++i)
    for (int32_t j = 0; j < count; ++j) {
      const SimExecutor* const a = fleet_.pick(f.target + i);
      const SimExecutor* const b = fleet_.pick(f.other + j);
      if (a && a != b && network_.cut(*a->process(), *b->process())) return true;
    }
  return false;
}

/// A host from all others on which executors are.
void Cluster::partition_executors(const Fault& f, const SimExecutor& e) {
  const std::string& host = e.process()->host;
  std::set<std::string> others;
  for (const auto& other : fleet_.all()) others.insert(other->process()->host);
  others.erase(host);
  for (const std::string& other : others) network_.partition(host, other, f.length, strikes(f));
}

/// Told by the executor itself or by the cluster manager. The disk may go first; some are taken
/// away before they drained. False: nobody is there who could be told.
bool Cluster::decommission(const Fault& f, SimExecutor& e) {
  if (!scenario_.settings.migration.on() || world_.random().chance(300))
    e.lose_files(world_.random());
  const bool serves = active(e);
  if (f.kind == Kind::DecommissionHost)
    return manager_->decommission_host(e.process()->host, f.length) && serves;
  if (f.other % 2 == 0)
    e.decommission();
  else if (e.current())
    driver_.post(BackendExecutorDecommissioned{ExecutorId{e.id()}, "needed elsewhere", {}});
  if (f.other % 3 == 0)
    world_.after(e.process(), f.length, [&e] { e.die(137, false, "taken away"); });
  return serves;
}

}  // namespace tinderbox::sim
