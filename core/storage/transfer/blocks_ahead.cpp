#include "core/storage/transfer/blocks_ahead.hpp"

namespace tinderbox::core {

bool BlocksAhead::begin(int64_t stage, uint64_t request, const std::string& block,
                        const std::string& from, int64_t size) {
  const int64_t weight = weight_of(size);
  if (weight > room_) return false;
  const auto [it, fresh] = blocks_.try_emplace(block);
  if (!fresh) return false;
  it->second.stage = stage;
  it->second.request = request;
  it->second.weight = weight;
  it->second.from = from;
  room_ -= weight;
  return true;
}

BlocksAhead::Blocks::iterator BlocksAhead::erase(Blocks::iterator block) {
  room_ += block->second.weight;
  return blocks_.erase(block);
}

BlocksAhead::Taken BlocksAhead::take(const std::string& block, const std::string& from,
                                     Reader reader) {
  const auto it = blocks_.find(block);
  if (it == blocks_.end() || it->second.reader) return {};
  if (!it->second.here) {
    if (it->second.from != from) return {};
    it->second.reader = reader;
    return {Taken::State::Coming, {}};
  }
  Taken taken{Taken::State::Here, std::move(it->second.bytes)};
  erase(it);
  return taken;
}

void BlocksAhead::leave(const std::string& block, Reader reader) {
  const auto it = blocks_.find(block);
  if (it == blocks_.end() || it->second.reader != reader) return;
  it->second.reader.reset();
  if (it->second.forgotten) erase(it);
}

/// For who waits, or nobody any more.
BlocksAhead::Blocks::iterator BlocksAhead::forget(Blocks::iterator block) {
  if (!block->second.reader) return erase(block);
  block->second.forgotten = true;
  return std::next(block);
}

std::optional<BlocksAhead::Reader> BlocksAhead::arrived(uint64_t request, const std::string& block,
                                                        const Result<Payload>& bytes) {
  const auto it = blocks_.find(block);
  if (it == blocks_.end() || it->second.here || it->second.request != request) return std::nullopt;
  const std::optional<Reader> reader = it->second.reader;
  if (reader || !bytes) {
    erase(it);
    return reader;
  }
  Block& kept = it->second;
  kept.here = true;
  kept.bytes = *bytes;
  const int64_t weight = weight_of(static_cast<int64_t>(bytes->size()));
  room_ += kept.weight - weight;
  kept.weight = weight;
  return std::nullopt;
}

void BlocksAhead::forget_stage(int64_t stage) {
  for (auto it = blocks_.begin(); it != blocks_.end();)
    it = it->second.stage == stage ? forget(it) : std::next(it);
}

void BlocksAhead::forget_shuffle(ShuffleId shuffle) {
  const std::string prefix = "shuffle_" + std::to_string(shuffle.value) + "_";
  for (auto it = blocks_.begin(); it != blocks_.end();)
    it = it->first.starts_with(prefix) ? forget(it) : std::next(it);
}

}  // namespace tinderbox::core
