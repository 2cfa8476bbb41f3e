// The simulated executor's process and services.
#include "tests/sim/roles/executor.hpp"

#include <algorithm>
#include <charconv>

#include "core/status/exit_codes.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {

/// A map output is taken over in several parts. Unit: bytes.
constexpr int64_t kMaxPart = 60;

/// As the driver's ProgramCodec writes them: "node shuffle", shuffle −1 for a result stage.
std::pair<int32_t, int32_t> parse_program(std::string_view code) {
  const size_t cut = code.find(' ');
  std::pair<int32_t, int32_t> parsed{-1, -1};
  std::from_chars(code.data(), code.data() + cut, parsed.first);
  std::from_chars(code.data() + cut + 1, code.data() + code.size(), parsed.second);
  return parsed;
}

ExecutorOptions executor_options(const std::string& id, const std::string& host, int32_t profile,
                                 const Settings& settings, const AppId& app, uint64_t seed) {
  ExecutorOptions o;
  o.driver_address = kDriverAddress;
  o.id = ExecutorId{id};
  o.host = host;
  o.cores = settings.cores;
  o.profile = profile;
  o.who = Identity{"", app, 0, ""};
  o.build_id = "b1";
  o.code_hash = "c1";
  o.seed = seed;
  return o;
}

}  // namespace

BlockClientOptions client_options(const Settings& settings, const AppId& app, uint64_t seed) {
  BlockClientOptions o;
  o.who = Identity{"", app, 0, ""};
  o.max_in_flight = 300;
  o.max_requests = 8;
  o.max_per_address = 4;
  o.max_retries = settings.max_retries;
  o.retry_wait = settings.retry_wait;
  o.silence = settings.silence;
  o.seed = seed;
  return o;
}

SimExecutor::SimExecutor(Surroundings in, AppId app, std::string id, const std::string& host,
                         PeerId first_peer, bool build_fails, ExecutorHas has, OnExit on_exit)
    : in_(in),
      app_(std::move(app)),
      run_(in.application.number),
      id_(std::move(id)),
      host_(host),
      block_address_(host + ":" + std::to_string(8000 + first_peer / 1000)),
      process_(make_process(in.world, "executor " + id_, host, in.settings.skewed)),
      build_fails_(build_fails),
      has_(std::move(has)),
      on_exit_(std::move(on_exit)),
      loop_(in.world, process_),
      control_(in.network, process_, {}, first_peer),
      blocks_(in.network, process_, block_address_, first_peer + 500),
      control_board_(control_),
      block_board_(blocks_),
      machine_(
          executor_options(id_, host, has_.profile, in.settings, app_, in.world.random().next())),
      server_({.app = app_}),
      client_(client_options(in.settings, app_, in.world.random().next())),
      taker_(kMaxPart),
      shell_(loop_, control_board_, machine_, *this, "Executor"),
      serving_(loop_, block_board_, server_, *this, "BlockServer"),
      fetching_(loop_, block_board_, client_, *this, "BlockClient"),
      taking_(loop_, block_board_, taker_, *this, "BlockTaker") {
  shell_.listen<ToExecutor>();
  shell_.listen_losses();
  serving_.listen<ToBlocks>();
  serving_.listen_losses();
  fetching_.listen<FromBlocks>();
  fetching_.listen_losses();
}

// ---- the process -------------------------------------------------------------------------------

void SimExecutor::apply(const BuildServices& e) {
  slots_ = std::max(1, in_.settings.cores / std::max(1, e.config.task_cpus));
  after(in_.world.random().between(Duration{1ms}, Duration{200ms}), [this] {
    ServicesBuilt built;
    built.ok = !build_fails_;
    built.exit_code = kExitDiskStoreFailure;
    built.error = build_fails_ ? "no directory can be made" : "";
    built.block_address = block_address_;
    built.resources = has_.resources;
    built.heartbeat_interval = in_.settings.heartbeat;
    built.heartbeat_max_failures = 6;
    if (build_fails_) {
      in_.checks.reached(Path::ServicesFailed);
      in_.checks.reached(Fault::Kind::BuildFails);
    }
    shell_.feed(std::move(built));
  });
}

void SimExecutor::apply(const MeasureAndBeat&) {
  shell_.feed(ServiceRequest{ExecutorHeartbeat{ExecutorId{id_}, 0}});
}

void SimExecutor::die(int code, bool silent, const std::string& reason) {
  if (!process_->alive) return;
  process_->alive = false;
  if (std::ranges::any_of(running_, [](const auto& r) { return !r.second.addresses.empty(); }))
    in_.checks.reached(Path::AddressesLost);
  in_.world.trace(process_->name, "ends with " + std::to_string(code) + ": " + reason);
  if (!current()) in_.checks.reached(Path::StaleExecutorEnded);
  if (reason.find("disassociated") != reason.npos) in_.checks.reached(Path::ExecutorSawLoss);
  in_.network.process_died(*process_, silent);
  on_exit_(code, reason);
}

bool SimExecutor::lose_files(Random& random) {
  return std::erase_if(store_, [&](const auto& kv) {
           const bool lost = kv.first.starts_with("shuffle_") && random.chance(500);
           if (lost) lost_.insert(kv.first);
           return lost;
         }) > 0;
}

bool SimExecutor::lose_blocks() {
  std::vector<BlockUpdate> gone;
  std::erase_if(store_, [&](const auto& kv) {
    if (!kv.first.starts_with("rdd_")) return false;
    gone.push_back({kv.first});
    return true;
  });
  if (gone.empty()) return false;
  shell_.feed(BlocksMoved{std::move(gone)});
  return true;
}

// ---- programs and the driver's answers ---------------------------------------------------------

void SimExecutor::apply(const KeepProgram& e) {
  const auto [node, shuffle] = parse_program(e.program.code.view());
  auto program = std::make_shared<Program>();
  program->root = in_.lineage.node(node);
  if (shuffle >= 0) program->shuffle = in_.lineage.shuffle(ShuffleId{shuffle});
  const auto& p = e.program.properties;
  program->ticket = std::stoull(p.at("sim.ticket"));
  program->commits = p.contains("sim.commits");
  program->large = p.contains("sim.large");
  if (p.contains("sim.poison")) program->poison = std::stoi(p.at("sim.poison"));
  programs_.try_emplace(e.program.program, std::move(program));
}

void SimExecutor::apply(const ForServices& e) {
  std::visit(
      overloaded{
          [&](const MapOutputs& m) { on_map_outputs(m); },
          [&](const BlockLocations& m) { on_locations(m); },
          [&](const CommitAnswer& m) { on_commit_answer(m); },
          [&](const BarrierReached& m) { on_barrier(m); },
          [&](const HeartbeatAnswer&) {
            in_.checks.reached(Path::Reregistered);
            std::vector<BlockUpdate> all;
            for (const auto& [block, bytes] : store_)
              if (block.starts_with("rdd_")) all.push_back(in_memory(block, bytes));
            shell_.feed(BlocksMoved{std::move(all)});
          },
          [&](const RemoveRdd& m) {
            const std::string prefix = "rdd_" + std::to_string(m.rdd.value) + "_";
            std::erase_if(store_, [&](const auto& kv) { return kv.first.starts_with(prefix); });
          },
          [&](const RemoveShuffle& m) {
            const std::string prefix = "shuffle_" + std::to_string(m.shuffle.value) + "_";
            std::erase_if(store_, [&](const auto& kv) { return kv.first.starts_with(prefix); });
            // Who waits for an answer gets it, as from ExecutorServices.
            const auto it = outputs_.find(m.shuffle);
            if (it != outputs_.end() && it->second.value) outputs_.erase(it);
          },
          [&](const RemoveBlocks& m) { remove_blocks(m.blocks); },
          [&](const TakeBlock& m) { take(m); },
          [&](const auto&) {},
      },
      e.message);
}

}  // namespace tinderbox::sim
