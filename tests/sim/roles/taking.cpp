// What a simulated executor takes over from decommissioned ones, and how it serves what is taken.
#include "core/storage/block_id.hpp"
#include "core/storage/map_outputs/map_output_store.hpp"
#include "tests/sim/roles/executor.hpp"

namespace tinderbox::sim {

using namespace core;

// ---- taking over: as core/storage/transfer/block_transfer
// -----------------------------------------------

void SimExecutor::take(const TakeBlock& what) {
  if (current()) in_.checks.told_to_take(what);
  takes_[what.request] = what;
  taking_.feed(what);
}

void SimExecutor::apply(const FetchPart& e) {
  const uint64_t request = next_request_++;
  parts_[request] = e.request;
  fetching_.feed(FetchBlocks{request, {{0, e.from.address, e.block, 0}}});
}

/// False: it is something else that came.
bool SimExecutor::part_came(const DeliverBlock& e) {
  const auto part = parts_.extract(e.request);
  if (part.empty()) return false;
  fetching_.feed(EndRequest{e.request});
  taking_.feed(PartFetched{part.mapped(), e.bytes});
  return true;
}

void SimExecutor::apply(const KeepBlock& e) {
  const bool room = store_.contains(e.block) || !disk_full();
  if (room && !store_.contains(e.block)) store(e.block, Bytes(e.bytes.view()), true);
  taking_.feed(PartKept{e.request, room ? Result<bool>(true) : Error{"there is no room for it"}});
}

void SimExecutor::apply(const KeepPartitions& e) {
  after(in_.world.random().between(Duration{1us}, Duration{2ms}), [this, e] {
    taking_.feed(PartKept{e.request, keep(e)});
  });
}

Result<bool> SimExecutor::keep(const KeepPartitions& e) {
  if (disk_full()) return Error{"No space left on device"};
  std::vector<Bytes>& pieces = half_kept_[e.request];
  std::string_view rest = e.bytes.view();
  for (const int64_t length : e.lengths) {
    if (static_cast<size_t>(length) > rest.size()) return Error{"fewer bytes came than it has"};
    pieces.emplace_back(rest.substr(0, static_cast<size_t>(length)));
    rest.remove_prefix(static_cast<size_t>(length));
  }
  if (static_cast<int32_t>(pieces.size()) == e.num_reduces)
    store_output(e.shuffle, e.map_id, std::move(pieces));
  return true;
}

void SimExecutor::apply(const BlockTaken& e) {
  half_kept_.erase(e.request);
  const TakeBlock what = takes_.extract(e.request).mapped();
  if (current()) in_.checks.answered(what, e.taken);
  shell_.feed(ServiceRequest{e});
}

void SimExecutor::remove_blocks(const std::vector<std::string>& blocks) {
  for (const std::string& block : blocks) {
    if (store_.erase(block) == 0 || !block.starts_with("rdd_")) continue;
    if (current()) in_.checks.left(ExecutorId{id_}, block);
    shell_.feed(BlocksMoved{{{block}}});
  }
}

// ---- files -------------------------------------------------------------------------------------

/// As an index file, and one file for each reducer that gets something.
void SimExecutor::store_output(ShuffleId shuffle, int64_t map_id, std::vector<Bytes> pieces) {
  Bytes index(8, 0);
  uint64_t end = 0;
  for (size_t r = 0; r < pieces.size(); ++r) {
    end += pieces[r].size();
    for (int shift = 56; shift >= 0; shift -= 8) index.push_back(static_cast<char>(end >> shift));
    if (!pieces[r].empty())
      store(shuffle_block(shuffle, map_id, static_cast<int32_t>(r)), std::move(pieces[r]), false);
  }
  store(shuffle_index_file(shuffle, map_id), std::move(index), false);
}

Result<Payload> SimExecutor::read(const std::string& block) const {
  if (const auto it = store_.find(block); it != store_.end()) return it->second;
  const std::optional<BlockId> id = parse_block_id(block);
  if (id && id->kind == BlockId::Kind::ShuffleRange) return read_range(*id);
  return Error{"no block " + block};
}

Result<Payload> SimExecutor::read_range(const BlockId& id) const {
  const ShuffleId shuffle{id.owner};
  const Result<Payload> index = read(shuffle_index_file(shuffle, id.number));
  if (!index) return index;
  const std::vector<int64_t> at = map_output_offsets(index->view());
  Bytes bytes;
  for (int32_t r = id.part; r < id.part_end; ++r) {
    if (at.at(static_cast<size_t>(r)) == at.at(static_cast<size_t>(r) + 1)) continue;
    const Result<Payload> piece = read(shuffle_block(shuffle, id.number, r));
    if (!piece) return piece;
    bytes += piece->view();
  }
  return Payload(std::move(bytes));
}

}  // namespace tinderbox::sim
