// Broadcast variables: cut into pieces by the driver, fetched piece by piece from whoever has them.
// Each stored piece has bytes of its own: one that goes to disk gives back its memory whatever
// becomes of the value and of the other pieces.
// Source: Spark TorrentBroadcast.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/executor/task_services.hpp"
#include "core/storage/block_id.hpp"
#include "net/wire/codec.hpp"

namespace tinderbox::core {

Result<bool> ExecutorServices::create_broadcast(BroadcastId id, Payload value) {
  BroadcastHeader header;
  header.size = value.size();
  header.piece_size = static_cast<uint64_t>(std::max<int64_t>(options_.broadcast_piece_size, 1));
  for (size_t start = 0; start < value.size(); start += header.piece_size) {
    const std::string_view piece = value.view().substr(start, header.piece_size);
    const auto number = static_cast<int32_t>(header.checksums.size());
    header.checksums.push_back(BroadcastHeader::checksum(piece));
    const std::string block = broadcast_piece_block(id, number);
    if (blocks_.put(block, kMemoryAndDisk, Payload(Bytes(piece)), true)) continue;
    remove_broadcast(id);
    return Error{"Failed to store " + block + " of " + broadcast_block(id)};
  }
  if (!blocks_.put(broadcast_block(id), kMemoryAndDisk, Payload(header.encode()), false)) {
    remove_broadcast(id);
    return Error{"Failed to store " + broadcast_block(id)};
  }
  return true;
}

void ExecutorServices::remove_broadcast(BroadcastId id) {
  {
    net::Lock lock(mutex_);
    const auto it = fetching_.find(id);
    if (it != fetching_.end()) it->second.removed = true;
  }
  shared_objects().erase(id);
  blocks_.remove_broadcast(id);
}

Result<Payload> ExecutorServices::broadcast(BroadcastId id) {
  {
    net::Lock lock(mutex_);
    while (fetching_.contains(id)) {
      if (std::optional<Error> why = why_not_wait()) return *why;
      changed_.wait(lock);
    }
    fetching_[id] = {};
  }
  FetchingBroadcast fetching{*this, id};
  return fetch_broadcast(id);
}

void ExecutorServices::end_fetching(BroadcastId id) {
  net::Lock lock(mutex_);
  if (fetching_[id].removed) {  // pieces came since
    lock.unlock();
    blocks_.remove_broadcast(id);
    lock.lock();
  }
  fetching_.erase(id);
  changed_.notify_all();
}

Result<BroadcastHeader> ExecutorServices::broadcast_header(BroadcastId id) {
  const std::string name = broadcast_block(id);
  Result<Payload> bytes = blocks_.read(name);
  if (!bytes && !options_.driver.executor.value.empty()) {
    bytes = fetch_one(options_.driver, name);
    if (bytes) (void)blocks_.put(name, kMemoryAndDisk, net::to_keep(*bytes), false);
  }
  if (!bytes) return Error{"Failed to get " + name + ": " + bytes.error().message};
  Result<BroadcastHeader> header = BroadcastHeader::decode(bytes->view());
  if (!header) return Error{"Failed to get " + name + ": " + header.error().message};
  return header;
}

Result<Payload> ExecutorServices::fetch_broadcast(BroadcastId id) {
  const Result<BroadcastHeader> header = broadcast_header(id);
  if (!header) return header.error();
  const std::shared_ptr<char[]> value = std::make_shared_for_overwrite<char[]>(header->size);
  std::vector<int32_t> missing;
  for (size_t piece = 0; piece < header->checksums.size(); ++piece) {
    const auto number = static_cast<int32_t>(piece);
    const auto [start, length] = header->span(piece);
    const std::optional<Payload> own = blocks_.get(broadcast_piece_block(id, number));
    if (own && own->size() == length)
      std::memcpy(value.get() + start, own->view().data(), length);
    else
      missing.push_back(number);
  }
  if (!missing.empty()) {
    if (Result<bool> got = fetch_pieces(id, *header, value, std::move(missing)); !got)
      return got.error();
  }
  return Payload(value, std::string_view(value.get(), header->size));
}

/// Pieces in random order, each from a holder that is tried in turn; what came is served to others.
Result<bool> ExecutorServices::fetch_pieces(BroadcastId id, const BroadcastHeader& header,
                                            const std::shared_ptr<char[]>& value,
                                            std::vector<int32_t> missing) {
  {
    net::Lock lock(mutex_);
    std::shuffle(missing.begin(), missing.end(), random_);
  }
  std::vector<std::string> names;
  for (const int32_t piece : missing) names.push_back(broadcast_piece_block(id, piece));
  Result<Locations> locations = ask_locations(names);
  if (!locations)
    return Error{"Failed to get " + broadcast_block(id) + ": " + locations.error().message};
  std::vector<std::vector<BlockManagerId>> holders;
  for (std::vector<BlockManagerId>& at : *locations)
    holders.push_back(in_trying_order(std::move(at), true));
  std::vector<size_t> tries(missing.size());
  std::vector<size_t> open(missing.size());  // positions in `missing`
  std::iota(open.begin(), open.end(), size_t{0});
  while (!open.empty()) {
    std::vector<BlockWant> wants;
    for (const size_t i : open)
      wants.push_back(
          {.from = holders[i][tries[i]],
           .block = names[i],
           .size = static_cast<int64_t>(header.span(static_cast<size_t>(missing[i])).second)});
    const std::unique_ptr<BlockStream> stream = transfer_.fetch(wants, kill_mark());
    std::vector<size_t> again;
    while (std::optional<FetchedBlock> fetched = stream->next()) {
      const size_t i = open[fetched->index];
      const auto piece = static_cast<size_t>(missing[i]);
      const auto [start, length] = header.span(piece);
      std::string why = fetched->bytes ? "" : fetched->bytes.error().message;
      if (fetched->bytes &&
          (fetched->bytes->size() != length ||
           BroadcastHeader::checksum(fetched->bytes->view()) != header.checksums[piece]))
        why = "corrupt remote block " + names[i] + " of " + broadcast_block(id);
      if (why.empty()) {
        std::memcpy(value.get() + start, fetched->bytes->view().data(), length);
        (void)blocks_.put(names[i], kMemoryAndDisk, Payload(Bytes(fetched->bytes->view())), true);
      } else if (++tries[i] < holders[i].size() && !kill_mark()) {
        again.push_back(i);
      } else {
        return Error{"Failed to get " + names[i] + " of " + broadcast_block(id) + ": " + why};
      }
    }
    open = std::move(again);
  }
  return true;
}

}  // namespace tinderbox::core
