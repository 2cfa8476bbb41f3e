// Takes blocks over from executors that are decommissioned.
#include "core/storage/transfer/block_taker.hpp"

#include "core/storage/block_id.hpp"
#include "core/storage/map_outputs/map_output_store.hpp"

namespace tinderbox::core {

void BlockTaker::on(const Event& event, Time, Effects& out) {
  std::visit([&](const auto& e) { on(e, out); }, event);
}

void BlockTaker::on(const TakeBlock& e, Effects& out) {
  const std::optional<BlockId> id = parse_block_id(e.block);
  const bool output = id && id->kind == BlockId::Kind::ShuffleData;
  if (!output && !(id && id->kind == BlockId::Kind::Rdd)) {
    out.push_back(BlockTaken{e.request, false, e.block + " is no block that can be taken over"});
    return;
  }
  const auto [at, fresh] = taking_.try_emplace(e.request);
  if (!fresh) return;
  Taking& taking = at->second;
  taking.what = e;
  taking.output = output;
  if (output) {
    taking.shuffle = ShuffleId{id->owner};
    taking.map_id = id->number;
  }
  out.push_back(FetchPart{e.request, e.from,
                          output ? shuffle_index_file(taking.shuffle, taking.map_id) : e.block});
}

void BlockTaker::on(const PartFetched& e, Effects& out) {
  const auto at = taking_.find(e.request);
  if (at == taking_.end()) return;
  Taking& taking = at->second;
  if (!e.bytes) return end(e.request, e.bytes.error().message, out);
  if (!taking.output) {
    const StorageLevel level{.disk = taking.what.on_disk,
                             .memory = taking.what.in_memory,
                             .replication = std::max(taking.what.replication, 1)};
    out.push_back(KeepBlock{e.request, taking.what.block, level, *e.bytes});
  } else if (!taking.offsets.empty()) {
    keep_part(taking, *e.bytes, out);
  } else if (read_index(taking, e.bytes->view())) {
    next_part(taking, out);
  } else {
    end(e.request, "the index of " + taking.what.block + " is no list of offsets", out);
  }
}

bool BlockTaker::read_index(Taking& taking, std::string_view bytes) const {
  taking.offsets = map_output_offsets(bytes);
  return !taking.offsets.empty();
}

/// Empty runs need no fetch.
void BlockTaker::next_part(Taking& taking, Effects& out) {
  const std::vector<int64_t>& at = taking.offsets;
  taking.first = taking.last;
  while (taking.last + 1 < at.size() &&
         (taking.last == taking.first || at[taking.last + 1] - at[taking.first] <= max_part_))
    ++taking.last;
  if (at[taking.last] == at[taking.first]) return keep_part(taking, {}, out);
  const BlockId part{.kind = BlockId::Kind::ShuffleRange,
                     .owner = taking.shuffle.value,
                     .number = taking.map_id,
                     .part = static_cast<int32_t>(taking.first),
                     .part_end = static_cast<int32_t>(taking.last)};
  out.push_back(FetchPart{taking.what.request, taking.what.from, block_name(part)});
}

void BlockTaker::keep_part(const Taking& taking, Payload bytes, Effects& out) const {
  KeepPartitions keep{taking.what.request,
                      taking.shuffle,
                      taking.map_id,
                      static_cast<int32_t>(taking.offsets.size()) - 1,
                      static_cast<int32_t>(taking.first),
                      {},
                      std::move(bytes)};
  for (size_t r = taking.first; r < taking.last; ++r)
    keep.lengths.push_back(taking.offsets[r + 1] - taking.offsets[r]);
  out.push_back(std::move(keep));
}

void BlockTaker::on(const PartKept& e, Effects& out) {
  const auto at = taking_.find(e.request);
  if (at == taking_.end()) return;
  Taking& taking = at->second;
  if (!e.kept) return end(e.request, e.kept.error().message, out);
  if (taking.output && taking.last + 1 < taking.offsets.size()) return next_part(taking, out);
  end(e.request, {}, out);
}

void BlockTaker::end(uint64_t request, std::string error, Effects& out) {
  taking_.erase(request);
  const bool taken = error.empty();
  out.emplace_back(BlockTaken{request, taken, std::move(error)});
}

}  // namespace tinderbox::core
