#include "tests/sim/driver.hpp"

#include "tests/sim/trace.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {

ProcessPtr driver_process() {
  auto process = std::make_shared<Process>();
  process->name = process->host = "driver";
  return process;
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
  o.locality_wait_process = o.locality_wait_node = o.locality_wait_rack = s.locality_wait;
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
    o.pools = {{"group-0", conf::SchedulingMode::kFair, 2, 1}, {"group-1"}};
  }
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

SimDriver::SimDriver(Surroundings in, Kill kill)
    : in_(in),
      kill_(std::move(kill)),
      process_(driver_process()),
      loop_(in.world, process_),
      control_(in.network, process_, kDriverAddress, 1),
      blocks_(in.network, process_, kDriverBlocks, 1),
      control_board_(control_),
      block_board_(blocks_) {}

void SimDriver::open(const AppId& app) {
  in_.app = app;
  machine_ = std::make_unique<Driver>(driver_options(in_.settings, app), codec());
  client_ = std::make_unique<BlockClient>(client_options(in_.settings, app, 7));
  shell_ =
      std::make_unique<Shell<Driver, SimDriver>>(loop_, control_board_, *machine_, *this, "Driver");
  fetching_ = std::make_unique<Shell<BlockClient, SimDriver>>(loop_, block_board_, *client_, *this,
                                                              "BlockClient");
  shell_->listen<ToDriver>();
  shell_->listen_losses();
  fetching_->listen<FromBlocks>();
  fetching_->listen_losses();
  for (DriverEvent& event : std::exchange(early_, {})) shell_->feed(std::move(event));
}

void SimDriver::post(DriverEvent event) {
  in_.world.after(process_, Duration{1}, [this, event = std::move(event)] {
    if (shell_)
      shell_->feed(event);
    else
      early_.push_back(event);
  });
}

void SimDriver::submit(uint64_t ticket, const JobPlan& plan) {
  JobRequest request;
  request.ticket = ticket;
  request.root = in_.lineage.node(plan.node);
  request.partitions = plan.partitions;
  request.call_site = "job " + std::to_string(ticket);
  request.properties = {{"spark.jobGroup.id", plan.group},
                        {"spark.job.tags", plan.tag},
                        {"sim.ticket", std::to_string(ticket)}};
  request.properties["spark.scheduler.pool"] = plan.group;
  if (plan.commits) request.properties["sim.commits"] = "1";
  if (plan.large_results) request.properties["sim.large"] = "1";
  if (plan.poison >= 0) request.properties["sim.poison"] = std::to_string(plan.poison);
  in_.checks.submitted(ticket);
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
  }
}

void SimDriver::apply(const SendShared& e) { control_.send(e.to, net::encode(*e.message)); }

void SimDriver::apply(const FetchResult& e) {
  in_.checks.reached(Path::IndirectResult);
  const uint64_t fetch = next_fetch_++;
  fetches_[fetch] = e.task;
  in_.world.after(process_, Duration{1}, [this, fetch, e] {
    fetching_->feed(FetchBlocks{fetch, {{0, e.from.address, e.block, e.size}}});
  });
}

void SimDriver::apply(const DeliverBlock& e) {
  const auto node = fetches_.extract(e.request);
  if (node.empty()) return;
  fetching_->feed(EndRequest{e.request});
  post(ResultFetched{node.mapped(), e.bytes});
}

}  // namespace tinderbox::sim
