#include "tests/sim/checks/versions.hpp"

#include <algorithm>

namespace tinderbox::sim {

using namespace core;

// ---- what tasks made ---------------------------------------------------------------------------

bool Versions::add(const Made& made, Lineage& lineage) {
  if (value(made, *made.node, made.partition, lineage) != made.value) return false;
  if (made.shuffle.value >= 0)
    outputs_.insert_or_assign({made.shuffle, made.task.value}, made);
  else
    results_[{made.ticket, made.partition, made.value}].push_back(made);
  return true;
}

std::optional<uint64_t> Versions::value(const Made& made, const Node& node, int32_t partition,
                                        Lineage& lineage) const {
  if (!indeterminate(node)) return lineage.answer(node, partition);
  const Place place{node.id.value, partition};
  if (const auto taken = made.cached.find(place); taken != made.cached.end()) {
    return knows(place, taken->second) ? std::optional(taken->second) : std::nullopt;
  }
  const std::optional<uint64_t> computed = compute(
      node, partition,
      [&](const Node& parent, int32_t q) { return value(made, parent, q, lineage); },
      [&](const ShuffleDependency& s, int32_t r) { return read(made, s, r, lineage); });
  return computed ? std::optional(lineage.as_seen_by(made.task, node, *computed)) : std::nullopt;
}

std::optional<uint64_t> Versions::read(const Made& made, const ShuffleDependency& shuffle,
                                       int32_t reduce, Lineage& lineage) const {
  if (!indeterminate(*shuffle.parent)) return lineage.read(shuffle, reduce);
  const auto tasks = made.reads.find({shuffle.id.value, reduce});
  if (tasks == made.reads.end()) return std::nullopt;
  uint64_t value = read_seed(shuffle.id, reduce, tasks->second);
  for (size_t map = 0; map < tasks->second.size(); ++map) {
    const auto output = outputs_.find({shuffle.id, tasks->second[map]});
    if (output == outputs_.end() || output->second.partition != static_cast<int32_t>(map))
      return std::nullopt;
    const uint64_t piece = piece_of(shuffle.id, output->second.value, reduce);
    if (piece_size(piece) > 0) value = mix(value, piece);
  }
  return value;
}

const Made* Versions::result(uint64_t ticket, int32_t partition, uint64_t value) const {
  const auto it = results_.find({ticket, partition, value});
  if (it == results_.end()) return nullptr;
  return &*std::ranges::min_element(it->second, {},
                                    [](const Made& made) { return made.reads.size(); });
}

std::optional<uint64_t> Versions::output(ShuffleId shuffle, int64_t map_id) const {
  const auto it = outputs_.find({shuffle, map_id});
  return it == outputs_.end() ? std::nullopt : std::optional(it->second.value);
}

std::set<uint64_t> Versions::outputs(ShuffleId shuffle, int32_t map) const {
  std::set<uint64_t> values;
  for (auto it = outputs_.lower_bound({shuffle, 0});
       it != outputs_.end() && it->first.first == shuffle; ++it)
    if (it->second.partition == map) values.insert(it->second.value);
  return values;
}

std::set<std::string> Versions::makers(ShuffleId shuffle) const {
  std::set<std::string> executors;
  for (auto it = outputs_.lower_bound({shuffle, 0});
       it != outputs_.end() && it->first.first == shuffle; ++it)
    executors.insert(it->second.executor);
  return executors;
}

// ---- one version -------------------------------------------------------------------------------

/// It was there, or on its way, when the job began.
bool Versions::before(const Made& made, JobId job) const {
  return attempts_.at({made.stage, made.stage_attempt}) < jobs_.at(job);
}

void Versions::follow(const Made& made, JobId job, Seen& seen) const {
  const bool early = before(made, job);
  for (const auto& [place, tasks] : made.reads)
    for (size_t map = 0; map < tasks.size(); ++map) {
      Readers& readers = seen[{place.first, static_cast<int32_t>(map)}];
      const auto [it, fresh] = readers.try_emplace(tasks[map], early);
      it->second = it->second && early;
      if (fresh) follow(outputs_.at({ShuffleId{place.first}, tasks[map]}), job, seen);
    }
}

/// Tasks have rising numbers: the last version is the latest.
bool Versions::allowed(ShuffleId shuffle, const Readers& versions, JobId job) const {
  const auto last = std::prev(versions.end());
  return before(outputs_.at({shuffle, last->first}), job) &&
         std::all_of(versions.begin(), last, [](const auto& version) { return version.second; });
}

std::string Versions::mixed(JobId job, const std::vector<const Made*>& results) const {
  Seen seen;
  for (const Made* result : results) follow(*result, job, seen);
  for (const auto& [output, versions] : seen) {
    if (versions.size() < 2 || allowed(ShuffleId{output.first}, versions, job)) continue;
    std::string text = "map output " + std::to_string(output.second) + " of shuffle " +
                       std::to_string(output.first) + " by tasks";
    for (const auto& [task, early] : versions) text += " " + std::to_string(task);
    return text;
  }
  return {};
}

}  // namespace tinderbox::sim
