// Answers, and what may be made again when it comes out otherwise.
#include <algorithm>
#include <cstdio>
#include <limits>

#include "core/plan/bytes.hpp"
#include "core/shuffle/blocks/map_status.hpp"
#include "tests/sim/checks/checks.hpp"

namespace tinderbox::sim {

using namespace core;

void Checks::made(const Made& made) {
  if (!app_.latest.contains(made.stage)) return;  // of a driver that is gone
  if (made.shuffle.value < 0) app_.tickets[made.stage] = made.ticket;
  if (!app_.versions.add(made, lineage_))
    broken("a task read what nobody made", text(made.task) + " of " + text(made.stage) +
                                               ", partition " + std::to_string(made.partition));
}

void Checks::right_answer(uint64_t ticket, int32_t partition, const Payload& value) {
  const Node& node = *lineage_.node(job(ticket).node);
  const std::string got(value.view());
  bool right = false;
  if (!indeterminate(node)) {
    right = got == std::to_string(lineage_.answer(node, partition));
  } else if (const Made* made = app_.versions.result(ticket, partition, std::stoull(got))) {
    right = true;
    app_.made[ticket].push_back(made);
  }
  if (!right)
    broken("wrong answer", "ticket " + std::to_string(ticket) + ", partition " +
                               std::to_string(partition) + ": " + got);
}

namespace {
/// As its size comes back from one byte.
int64_t told_size(ShuffleId shuffle, uint64_t map_value, int32_t reduce) {
  return decode_size(encode_size(piece_size(piece_of(shuffle, map_value, reduce))));
}
}  // namespace

/// One size for each reducer, of all maps. Of what was made more than once either may be meant.
void Checks::right_statistics(const ShuffleDependency& shuffle, const Payload& value) {
  const std::string name = "shuffle " + std::to_string(shuffle.id.value);
  if (value.size() != sizeof(int64_t) * static_cast<size_t>(shuffle.num_reduces))
    broken("statistics of another length", name + ": " + std::to_string(value.size()) + " bytes");
  Decoder in(value.view());
  for (int32_t r = 0; r < shuffle.num_reduces; ++r) {
    int64_t least = 0, most = 0;
    for (int32_t m = 0; m < shuffle.parent->num_partitions; ++m) {
      int64_t low = std::numeric_limits<int64_t>::max(), high = -1;
      for (const uint64_t made : made_of(shuffle, m)) {
        low = std::min(low, told_size(shuffle.id, made, r));
        high = std::max(high, told_size(shuffle.id, made, r));
      }
      if (high < 0) broken("statistics of what nobody made", name);
      least += low;
      most += high;
    }
    const auto told = in.scalar<int64_t>();
    if (told < least || told > most)
      broken("wrong statistics",
             name + ", reducer " + std::to_string(r) + ": " + std::to_string(told) + " bytes");
  }
}

/// What tasks computed for one output of it.
std::set<uint64_t> Checks::made_of(const ShuffleDependency& shuffle, int32_t map) {
  if (indeterminate(*shuffle.parent)) return app_.versions.outputs(shuffle.id, map);
  return {lineage_.answer(*shuffle.parent, map)};
}

void Checks::one_version(const DeliverJobEnd& e) const {
  const auto made = app_.made.find(e.ticket);
  if (made == app_.made.end()) return;
  const std::string mixed = app_.versions.mixed(e.job, made->second);
  if (!mixed.empty())
    broken("an answer of two versions", "ticket " + std::to_string(e.ticket) + ": " + mixed);
}

/// What an indeterminate stage lacks is never made alone.
void Checks::made_whole(const StageInfo& stage) {
  app_.versions.began(stage.stage, stage.attempt);
  if (stage.shuffle.value < 0) return;
  const Node& node = *lineage_.shuffle(stage.shuffle)->parent;
  if (!indeterminate(node) || stage.num_tasks == 0) return;
  if (stage.num_tasks != node.num_partitions)
    broken("an indeterminate stage began in part", text(stage.stage) + ": " +
                                                       std::to_string(stage.num_tasks) + " of " +
                                                       std::to_string(node.num_partitions));
  if (app_.completed.contains(stage.stage)) reached(Path::MadeAgain);
  if (stage.attempt > 0) outputs_changed();  // its readers are rolled back in this turn
}

/// What it read was made again meanwhile, and its result went to nobody.
bool Checks::counts_for_nothing(const Attempt& success) const {
  const TaskInfo& task = success.info;
  const auto ticket = app_.tickets.find(task.stage);
  if (ticket == app_.tickets.end() || task.stage_attempt == app_.latest.at(task.stage).attempt)
    return false;
  const auto& partitions = job(ticket->second).partitions;
  const auto at = std::ranges::find(partitions, task.partition) - partitions.begin();
  const auto results = app_.results.find(ticket->second);
  return results == app_.results.end() || !results->second.contains(static_cast<int32_t>(at));
}

/// Some output of an indeterminate stage before `node` could not be had.
bool Checks::some_lost(const Node& node) const {
  return std::ranges::any_of(node.dependencies, [&](const Dependency& d) {
    const Node& parent = *parent_of(d);
    if (!indeterminate(parent)) return false;
    if (const auto* shuffle = std::get_if<ShufflePtr>(&d)) {
      if (app_.unfetched.contains((*shuffle)->id)) return true;
      for (const std::string& executor : app_.versions.makers((*shuffle)->id))
        if (app_.gone.contains({executor}) || app_.without_blocks.contains({executor})) return true;
    }
    return some_lost(parent);
  });
}

void Checks::host_lost() {
  app_.host_lost = true;
  reached(Path::WorkerRemoved);
}

/// A job that has a result can't take it back.
void Checks::cannot_roll_back(const JobPlan& plan, uint64_t ticket, const std::string& error) {
  if (app_.results[ticket].empty()) broken("given up though nothing is out", error);
  // A host's outputs are forgotten as one, those of executors that go on too.
  const bool host_forgotten =
      app_.host_lost || (scenario_.settings.unregister_on_host && !app_.unfetched.empty());
  if (!host_forgotten && !some_lost(*lineage_.node(plan.node)))
    broken("given up though nothing was lost", error);
  reached(Path::NotRolledBack);
}

}  // namespace tinderbox::sim
