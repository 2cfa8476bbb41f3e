#include "tests/sim/roles/driver.hpp"

#include "tests/sim/world/trace.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {

ResourceProfile default_profile(const Settings& s) {
  ResourceProfile p;
  p.executor.cores = s.cores;
  p.task.cpus = s.task_cpus;
  if (s.gpus > 0) p.executor.resources[kGpu].amount = s.gpus;
  if (s.task_gpus > 0) p.task.resources[kGpu] = s.task_gpus;
  return p;
}

DriverOptions driver_options(const Settings& s, const AppId& app) {
  DriverOptions o;
  o.app = app;
  o.build_id = "b1";
  o.code_hash = "c1";
  o.driver_block_address = kDriverBlocks;
  o.cluster_manager = true;
  o.task_cpus = s.task_cpus;
  o.max_task_failures = s.max_failures;
  o.launch_ahead = s.launch_ahead;
  o.max_consecutive_attempts = s.max_attempts;
  o.max_stage_attempts = 1 << 30;
  o.max_cancelled_groups = 1000;
  o.locality_wait_process = o.locality_wait_node = s.locality_wait;
  o.locality_legacy_reset = s.legacy_locality;
  o.reduce_locality = s.reduce_locality;
  o.revive_interval = 1s;
  o.starvation_timeout = 15s;
  o.remove_delay = s.remove_delay;
  o.executor_timeout = s.executor_timeout;
  o.executor_check_interval = s.check_interval;
  o.max_result_size = int64_t{1} << 30;
  o.max_message_size = int64_t{128} << 20;
  if (s.speculation) {
    o.speculation.enabled = true;
    o.speculation.interval = o.speculation.min_runtime = 100ms;
    o.speculation.multiplier = 1.5;
    o.speculation.quantile = 0.5;
  }
  if (s.fair) {
    o.scheduling_mode = conf::SchedulingMode::kFair;
    o.pools = {{"group-0", conf::SchedulingMode::kFair, s.min_share, s.weight},
               {"group-1", conf::SchedulingMode::kFifo, s.other_share, s.other_weight}};
  }
  o.exclusion = s.exclusion;
  o.profile = default_profile(s);
  o.merge_profiles = true;
  o.allocation = s.allocation;
  if (o.allocation)
    o.allocation->tasks_per_executor =
        slots_of(needs_of(o.profile, o.profile), s.cores, amounts_of(o.profile));
  o.force_kill_timeout = s.force_kill;
  o.max_retained_decommissioned = s.retained_decommissioned;
  o.ignore_decommission_fetch_failure = s.forgive_decommissioned;
  o.unregister_outputs_on_host = s.unregister_on_host;
  o.barrier = s.barrier;
  o.migration = s.migration;
  return o;
}

/// A stage is the number of its node and of the shuffle that it writes.
ProgramCodec codec() {
  return {[](const Node& root, const Descriptor*, std::string_view shuffle) {
            return std::to_string(root.id.value) + " " +
                   (shuffle.empty() ? "-1" : std::string(shuffle));
          },
          [](const Node&, int32_t) { return Bytes{}; }};
}

}  // namespace

SimDriver::Incarnation::Incarnation(const Surroundings& in)
    : process(make_process(in.world, "driver", "driver", in.settings.skewed)),
      loop(in.world, process),
      control(in.network, process, kDriverAddress, 1),
      blocks(in.network, process, kDriverBlocks, 1),
      control_board(control),
      block_board(blocks) {}

SimDriver::SimDriver(Surroundings in, Backend backend) : in_(in), backend_(std::move(backend)) {}

void SimDriver::begin() {
  ++in_.application.number;
  incarnations_.push_back(std::make_unique<Incarnation>(in_));
  in_.world.trace("driver", "starts, run " + std::to_string(in_.application.number));
}

void SimDriver::open(const AppId& app) {
  in_.application.id = app;
  Incarnation& n = now();
  n.machine = std::make_unique<Driver>(driver_options(in_.settings, app), codec());
  n.client = std::make_unique<BlockClient>(client_options(in_.settings, app, 7));
  n.shell = std::make_unique<Shell<Driver, SimDriver>>(n.loop, n.control_board, *n.machine, *this,
                                                       "Driver");
  n.fetching = std::make_unique<Shell<BlockClient, SimDriver>>(n.loop, n.block_board, *n.client,
                                                               *this, "BlockClient");
  n.shell->listen<ToDriver>();
  n.shell->listen_losses();
  n.fetching->listen<FromBlocks>();
  n.fetching->listen_losses();
  n.shell->feed(StartDriver{});
  for (DriverEvent& event : std::exchange(n.early, {})) n.shell->feed(std::move(event));
}

void SimDriver::crash(bool silent) {
  Process& p = *process();
  p.alive = false;
  in_.world.trace(p.name, silent ? "is gone with its machine" : "crashed");
  in_.network.process_died(p, silent);
}

void SimDriver::post(DriverEvent event) {
  in_.world.after(process(), Duration{1}, [this, &n = now(), event = std::move(event)] {
    if (std::holds_alternative<BackendWorkerRemoved>(event)) in_.checks.host_lost();
    if (const auto* e = std::get_if<BackendExecutorExited>(&event); e && !e->worker_host.empty())
      in_.checks.host_lost();
    if (n.shell)
      n.shell->feed(event);
    else
      n.early.push_back(event);
  });
}

void SimDriver::apply(const KillBackendExecutor& e) {
  const Executors& known = machine().executors();
  for (int32_t slot = 0; slot < known.count(); ++slot)
    if (known.at(slot).id == e.executor && known.decommission_of(slot) &&
        known.at(slot).state == Executor::State::Draining)
      in_.checks.reached(Path::ForceKilled);
  backend_.kill(e.executor);
}

void SimDriver::apply(const RequestTotalExecutors& e) {
  if (!in_.settings.allocation)
    throw Broken("executors were asked for", "dynamic allocation is off");
  in_.checks.asked_for(e.totals);
  backend_.want(e);
}

void SimDriver::submit(uint64_t ticket, const JobPlan& plan) {
  JobRequest request;
  request.ticket = ticket;
  request.root = in_.lineage.node(plan.node);
  request.partitions = plan.partitions;
  request.call_site = "job " + std::to_string(ticket);
  request.properties = {{"spark.job.tags", plan.tag}, {"sim.ticket", std::to_string(ticket)}};
  if (!plan.group.empty())
    request.properties["spark.jobGroup.id"] = request.properties["spark.scheduler.pool"] =
        plan.group;
  if (plan.commits) request.properties["sim.commits"] = "1";
  if (plan.large_results) request.properties["sim.large"] = "1";
  if (plan.poison >= 0) request.properties["sim.poison"] = std::to_string(plan.poison);
  if (plan.map_stage) request.map_stage = in_.lineage.read_by(plan.node);
  request.profiles = !in_.settings.profiles.empty();
  soon([this, ticket] { in_.checks.submitted(ticket); });
  post(SubmitJob{std::move(request)});
}

void SimDriver::apply(const DeliverJobEnd& e) {
  in_.world.trace("driver", "job of ticket " + std::to_string(e.ticket) +
                                " ended: " + (e.error.empty() ? "succeeded" : e.error));
  in_.checks.ended(e);
}

void SimDriver::apply(const Publish& e) {
  for (const ListenerEvent& event : e.events) {
    if (in_.world.traced()) in_.world.trace("driver", describe(event));
    in_.checks.published(event);
    backend_.heard(event);
  }
}

void SimDriver::apply(const SendShared& e) { now().control.send(e.to, net::encode(*e.message)); }

void SimDriver::apply(const FetchResult& e) {
  in_.checks.reached(Path::IndirectResult);
  const uint64_t fetch = next_fetch_++;
  now().fetches[fetch] = e.task;
  in_.world.after(process(), Duration{1}, [&n = now(), fetch, e] {
    n.fetching->feed(FetchBlocks{fetch, {{0, e.from.address, e.block, e.size}}});
  });
}

void SimDriver::apply(const DeliverBlock& e) {
  const auto node = now().fetches.extract(e.request);
  if (node.empty()) return;
  now().fetching->feed(EndRequest{e.request});
  post(ResultFetched{node.mapped(), e.bytes});
}

}  // namespace tinderbox::sim
