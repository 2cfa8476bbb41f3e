// Blocks that move from decommissioned executors, and what executors hold in the end.
#include <algorithm>

#include "core/storage/block_id.hpp"
#include "tests/sim/checks/checks.hpp"

namespace tinderbox::sim {

using namespace core;

// ---- moves -------------------------------------------------------------------------------------

void Checks::told_to_take(const TakeBlock& what) {
  if (app_.not_taken.contains({what.from.executor, what.block})) reached(Path::MoveTriedAgain);
}

void Checks::answered(const TakeBlock& what, bool taken) {
  const std::pair move(what.from.executor, what.block);
  if (!taken && ++app_.not_taken[move] >= scenario_.settings.migration.max_failures)
    reached(Path::MoveGivenUp);
  if (taken && what.block.starts_with("rdd_")) app_.copied.insert(move);
}

void Checks::left(const ExecutorId& executor, const std::string& block) {
  if (app_.copied.contains({executor, block})) reached(Path::CachedMoved);
}

/// Listeners hear of a map output only when it has moved.
void Checks::on(const BlockUpdated& e) {
  const std::optional<BlockId> id = parse_block_id(e.block.block);
  if (!id || id->kind != BlockId::Kind::ShuffleData) return;
  reached(Path::OutputMoved);
  app_.moved_now.emplace_back(e.executor, e.block.block);
  app_.moved.emplace(ShuffleId{id->owner}, id->number);
}

/// The driver names the new place from now on.
void Checks::moved_there(const Driver& driver) {
  for (const auto& [executor, file] : std::exchange(app_.moved_now, {})) {
    const auto held = driver.map_outputs().outputs_on(executor);
    if (std::ranges::none_of(held, [&](const MapOutputTracker::Held& h) {
          return shuffle_data_file(h.shuffle, h.map_id) == file;
        }))
      broken("a moved output is not at its new place", file + " at " + executor.value);
  }
}

void Checks::reads(ShuffleId shuffle, int64_t map_id) {
  if (app_.moved.contains({shuffle, map_id})) reached(Path::MovedOutputRead);
}

// ---- what executors hold -----------------------------------------------------------------------

void Checks::at_end(const Driver& driver, const Stored& stored) {
  for (const MapOutputTracker::Held& output : driver.map_outputs().outputs_on(stored.executor))
    right_output(output, stored);
  for (const BlockUpdate& block : driver.blocks().rdd_blocks_on(stored.executor))
    right_block(block.block, stored);
  nothing_forgotten(stored);
}

void Checks::keeps(const std::string& executor, const std::string& block) {
  const std::optional<BlockId> id = parse_block_id(block);
  if (id && id->kind == BlockId::Kind::Rdd && app_.unpersisted.contains(RddId{id->owner}))
    app_.cached_late.emplace(executor, block);
}

void Checks::nothing_forgotten(const Stored& stored) const {
  for (const auto& [block, bytes] : stored.blocks) {
    if (block.starts_with("taskresult_"))
      broken("a result that nobody waits for is left", block + " at " + stored.executor.value);
    const std::optional<BlockId> id = parse_block_id(block);
    if (id && id->kind == BlockId::Kind::Rdd && app_.unpersisted.contains(RddId{id->owner}) &&
        !app_.cached_late.contains({stored.executor.value, block}))
      broken("a block of an unpersisted rdd is left", block + " at " + stored.executor.value);
    if (!id || !block.starts_with("shuffle_")) continue;
    const ShuffleId shuffle{id->owner};
    if (app_.forgotten.contains(shuffle) &&
        !app_.written_late.contains({stored.executor.value, shuffle}))
      broken("an output of a forgotten shuffle is left", block + " at " + stored.executor.value);
  }
}

/// What the map task computed; none: it is not known.
std::optional<uint64_t> Checks::made_by(ShuffleId shuffle, int32_t map, int64_t map_id) {
  const Node& node = *lineage_.shuffle(shuffle)->parent;
  if (indeterminate(node)) return app_.versions.output(shuffle, map_id);
  return lineage_.answer(node, map);
}

void Checks::right_output(const MapOutputTracker::Held& output, const Stored& stored) {
  const std::optional<uint64_t> value = made_by(output.shuffle, output.map, output.map_id);
  const std::string file = shuffle_data_file(output.shuffle, output.map_id);
  if (!value) broken("an output that nobody made", file);
  const int32_t reduces = lineage_.shuffle(output.shuffle)->num_reduces;
  for (int32_t r = 0; r < reduces; ++r) {
    const uint64_t piece = piece_of(output.shuffle, *value, r);
    const std::string name = shuffle_block(output.shuffle, output.map_id, r);
    if (piece_size(piece) == 0 || stored.lost.contains(name)) continue;
    const auto at = stored.blocks.find(name);
    if (at == stored.blocks.end())
      broken("an output is not where the driver says", name + " at " + stored.executor.value);
    if (at->second.view() != std::to_string(piece))
      broken("an output is not what was made", name + " at " + stored.executor.value);
  }
}

/// What comes while its rdd is unpersisted may be known though it is gone, as in Spark.
void Checks::right_block(const std::string& block, const Stored& stored) {
  const std::optional<BlockId> id = parse_block_id(block);
  if (app_.unpersisted.contains(RddId{id->owner})) return;
  const auto at = stored.blocks.find(block);
  if (at == stored.blocks.end())
    broken("a cached block is not where the driver says", block + " at " + stored.executor.value);
  const uint64_t value = std::stoull(std::string(at->second.view()));
  if (!app_.versions.knows({id->owner, id->part}, value))
    broken("a cached block is not what was made", block + " at " + stored.executor.value);
}

}  // namespace tinderbox::sim
