// Serves blocks to peers in chunks with credit.
#include "core/storage/transfer/block_server.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace tinderbox::core {
namespace {

/// Chunks that go in one message: not many more bytes, not more of them, and none waits for long.
constexpr size_t kTogetherBytes = 64 << 10, kChunksTogether = 256;
constexpr Duration kTogetherTime = std::chrono::milliseconds(20);
/// Of what a stranger says, in an answer to each of its wishes.
constexpr size_t kNameShown = 64;

}  // namespace

void BlockServer::on(const Event& event, Time now, Effects& out) {
  now_ = now;
  std::visit(overloaded{
                 [&](const Received<ToBlocks>& e) {
                   std::visit(overloaded{
                                  [&](const OpenBlocks& m) { on_open(e.from, m, out); },
                                  [&](const GrantCredit& m) { on_grant(e.from, m, out); },
                                  [&](const CancelStream& m) { on_cancel(e.from, m.stream, out); },
                              },
                              e.message);
                 },
                 [&](const PeerLost& e) {
                   const auto peer = peers_.find(e.peer);
                   if (peer == peers_.end()) return;
                   open_ -= peer->second.streams.size();
                   peers_.erase(peer);
                 },
                 [&](const BlockReady& e) { on_ready(e, out); },
             },
             event);
}

int64_t BlockServer::held(PeerId peer) const {
  const auto it = peers_.find(peer);
  return it == peers_.end() ? 0 : it->second.held;
}

void BlockServer::drop(PeerId id, Effects& out) {
  if (const auto peer = peers_.find(id); peer != peers_.end()) {
    open_ -= peer->second.streams.size();
    peers_.erase(peer);
  }
  out.push_back(Disconnect{id});
}

void BlockServer::on_open(PeerId from, const OpenBlocks& m, Effects& out) {
  if (m.wishes.size() > options_.max_wishes) return drop(from, out);
  if (!options_.app.value.empty() && !m.who.app.value.empty() && m.who.app != options_.app) {
    for (const WishedBlock& wish : m.wishes)
      out.push_back(Send<FromBlocks>{
          from, BlockMissing{wish.stream, "this block server belongs to application " +
                                              options_.app.value + ", not " +
                                              m.who.app.value.substr(0, kNameShown)}});
    return;
  }
  Peer& peer = peers_[from];
  for (const WishedBlock& wish : m.wishes)
    if (!add(peer, m, wish)) return drop(from, out);
  read_more(from, peer, out);
}

/// False: it has too many already.
bool BlockServer::add(Peer& peer, const OpenBlocks& m, const WishedBlock& wish) {
  if (peer.streams.size() >= options_.max_streams) return false;
  const auto [it, fresh] = peer.streams.try_emplace(wish.stream);
  if (!fresh) return true;  // asked twice: answered once
  ++open_;
  Stream& stream = it->second;
  stream.wish = wish;
  stream.chunk = std::clamp(m.chunk, options_.min_chunk, options_.max_chunk);
  stream.credit = std::clamp<int64_t>(m.credit, 0, options_.max_credit);
  peer.waiting.push_back(wish.stream);
  return true;
}

void BlockServer::on_grant(PeerId from, const GrantCredit& m, Effects& out) {
  const auto peer = peers_.find(from);
  if (peer == peers_.end()) return;
  const auto stream = peer->second.streams.find(m.stream);
  if (stream == peer->second.streams.end()) return;
  const int64_t room = options_.max_credit - stream->second.credit;
  stream->second.credit += std::clamp<int64_t>(m.bytes, 0, room);
  send_more(from, peer->second, m.stream, out);
}

void BlockServer::on_cancel(PeerId from, uint64_t stream, Effects& out) {
  const auto peer = peers_.find(from);
  if (peer != peers_.end() && peer->second.streams.contains(stream))
    close(from, peer->second, stream, out);
}

void BlockServer::read_more(PeerId id, Peer& peer, Effects& out) {
  while (!peer.reading && !peer.waiting.empty() && peer.held < options_.max_held) {
    const uint64_t number = peer.waiting.front();
    peer.waiting.pop_front();
    const auto stream = peer.streams.find(number);
    if (stream == peer.streams.end()) continue;  // cancelled
    const uint64_t ticket = next_ticket_++;
    reading_[ticket] = {id, number};
    peer.reading = true;
    out.push_back(ReadBlock{ticket, stream->second.wish.block});
  }
  if (!peer.reading) flush(id, peer, out);
}

void BlockServer::on_ready(const BlockReady& e, Effects& out) {
  const auto reading = reading_.find(e.ticket);
  if (reading == reading_.end()) return;
  const auto [id, number] = reading->second;
  reading_.erase(reading);
  const auto peer = peers_.find(id);
  if (peer == peers_.end()) return;
  peer->second.reading = false;
  begin(id, peer->second, number, e.bytes, out);
  read_more(id, peer->second, out);
}

bool BlockServer::is_full(const Peer& peer) const {
  return peer.outbox_bytes >= kTogetherBytes || peer.outbox.chunks.size() >= kChunksTogether ||
         now_ - peer.outbox_since >= kTogetherTime;
}

void BlockServer::flush(PeerId id, Peer& peer, Effects& out) {
  peer.outbox_bytes = 0;
  if (!peer.outbox.chunks.empty())
    out.push_back(Send<FromBlocks>{id, std::exchange(peer.outbox, {})});
}

void BlockServer::begin(PeerId id, Peer& peer, uint64_t number, const Result<Payload>& bytes,
                        Effects& out) {
  const auto it = peer.streams.find(number);
  if (it == peer.streams.end()) return;  // cancelled meanwhile
  Stream& stream = it->second;
  const WishedBlock& wish = stream.wish;
  std::string wrong = bytes ? "" : bytes.error().message;
  const auto size = bytes ? static_cast<int64_t>(bytes->size()) : 0;
  if (wrong.empty() && (wish.offset < 0 || wish.offset > size || wish.length > size - wish.offset))
    wrong = wish.block + " has only " + std::to_string(size) + " bytes, " +
            (wish.length < 0 ? "all" : std::to_string(wish.length)) + " from " +
            std::to_string(wish.offset) + " on were asked for";
  if (!wrong.empty()) {
    out.push_back(Send<FromBlocks>{id, BlockMissing{number, wrong}});
    close(id, peer, number, out);
    return;
  }
  stream.bytes = *bytes;
  stream.at = wish.offset;
  stream.end = wish.length < 0 ? size : wish.offset + wish.length;
  stream.ready = true;
  peer.held += size;
  send_more(id, peer, number, out);
}

/// What was sent of a large block, which may be a file that is mapped, is forgotten.
std::shared_ptr<const void> BlockServer::until_sent(const std::shared_ptr<const Payload>& block,
                                                    std::string_view part) {
  if (block->size() <= Payload::kForget) return block;
  return {block.get(), [block, part](const void*) { block->forget(part); }};
}

void BlockServer::send_more(PeerId id, Peer& peer, uint64_t number, Effects& out) {
  Stream& stream = peer.streams.at(number);
  if (!stream.ready) return;
  const int64_t first = stream.wish.offset;
  const int64_t total = stream.end - first;
  bool empty = total == 0;
  auto owner = std::make_shared<const Payload>(stream.bytes);
  while (empty || (stream.at < stream.end && stream.credit > 0)) {
    const int64_t n = std::min({stream.chunk, stream.credit, stream.end - stream.at});
    const std::string_view part =
        owner->view().substr(static_cast<size_t>(stream.at), static_cast<size_t>(empty ? 0 : n));
    peer.outbox.chunks.push_back({.stream = number,
                                  .offset = stream.at - first,
                                  .total = total,
                                  .checksum = XXH3_64bits(part.data(), part.size()),
                                  .bytes = Payload(until_sent(owner, part), part)});
    peer.outbox_bytes += part.size();
    if (peer.outbox.chunks.size() == 1) peer.outbox_since = now_;
    if (is_full(peer)) flush(id, peer, out);
    stream.at += static_cast<int64_t>(part.size());
    stream.credit -= static_cast<int64_t>(part.size());
    empty = false;
  }
  if (stream.at == stream.end) return close(id, peer, number, out);
  if (!peer.reading) flush(id, peer, out);
}

void BlockServer::close(PeerId id, Peer& peer, uint64_t number, Effects& out) {
  const auto stream = peer.streams.find(number);
  if (stream->second.ready) peer.held -= static_cast<int64_t>(stream->second.bytes.size());
  peer.streams.erase(stream);
  --open_;
  read_more(id, peer, out);
}

}  // namespace tinderbox::core
