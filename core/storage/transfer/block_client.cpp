// Fetches blocks from peers: bounded bytes in flight, retries, deadlines.
#include "core/storage/transfer/block_client.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "core/storage/block_id.hpp"

namespace tinderbox::core {
namespace {

/// Not more is set aside for a block before its bytes are there: its size is only what a peer says.
constexpr int64_t kReserve = 64 << 20;
/// Blocks that are asked for in one message; a server takes BlockServerOptions::max_wishes.
constexpr size_t kAskedTogether = 256;

int64_t weight(const WantedBlock& want) { return std::max<int64_t>(want.size, 1); }

}  // namespace

void BlockClient::on(Event event, Time now, Effects& out) {
  std::visit(overloaded{
                 [&](const Received<FromBlocks>& e) {
                   std::visit(overloaded{
                                  [&](const BlockChunks& m) {
                                    for (const BlockChunk& chunk : m.chunks)
                                      on_chunk(e.from, chunk, now, out);
                                  },
                                  [&](const BlockMissing& m) { on_missing(e.from, m, now, out); },
                              },
                              e.message);
                 },
                 [&](const PeerLost& e) { on_lost(e.peer, out); },
                 [&](const Connected& e) { on_connected(e, now, out); },
                 [&](FetchBlocks& e) { on_fetch(e, now, out); },
                 [&](const BlocksTaken& e) {
                   const auto request = requests_.find(e.request);
                   if (request == requests_.end()) return;
                   request->second.bytes -= e.bytes;
                   ask_more(e.request, request->second, now, out);
                 },
                 [&](const EndRequest& e) { on_end(e.request, out); },
                 [&](FileRead& e) { on_file_read(e, out); },
                 [&](const FileFailed& e) { on_file_failed(e, now, out); },
                 [&](const BlockClientTimer& e) { on_timer(e, now, out); },
             },
             event);
  for (const uint64_t id : std::exchange(may_want_more_, {}))
    if (const auto request = requests_.find(id); request != requests_.end())
      ask_more(id, request->second, now, out);
  for (const uint64_t id : std::exchange(have_room_, {})) open(links_.at(id), now, out);
}

// ---- what is asked for ----------------------------------------------------------------

void BlockClient::on_fetch(FetchBlocks& e, Time now, Effects& out) {
  Request& request = requests_[e.request];
  for (Waiting& next : in_turns(e.blocks, options_.seed + e.request))
    request.waiting.push_back(std::move(next));
  ask_more(e.request, request, now, out);
}

/// Addresses take turns, beginning with one that depends on the seed and the request, so that the
/// tasks of a stage don't all begin with the same peer.
std::deque<BlockClient::Waiting> BlockClient::in_turns(std::vector<WantedBlock>& blocks,
                                                       uint64_t turn) {
  std::map<std::string, std::deque<Waiting>> by_address;
  auto at = by_address.end();
  for (WantedBlock& block : blocks) {
    if (at == by_address.end() || at->first != block.address)
      at = by_address.try_emplace(block.address).first;
    const uint64_t link = at->second.empty() ? link_to(block.address) : at->second.front().link;
    at->second.push_back({link, std::move(block)});
  }
  std::vector<std::deque<Waiting>> queues;
  for (auto& [address, queue] : by_address) queues.push_back(std::move(queue));
  if (queues.size() == 1) return std::move(queues.front());
  if (!queues.empty())
    std::rotate(queues.begin(), queues.begin() + static_cast<int64_t>(turn % queues.size()),
                queues.end());
  std::deque<Waiting> ordered;
  while (!queues.empty()) {
    for (std::deque<Waiting>& queue : queues) {
      ordered.push_back(std::move(queue.front()));
      queue.pop_front();
    }
    std::erase_if(queues, [](const auto& queue) { return queue.empty(); });
  }
  return ordered;
}

bool BlockClient::may_ask(const Request& request, const WantedBlock& want) const {
  if (request.bytes == 0) return true;  // alone, whatever its size
  return request.asked < options_.max_requests &&
         request.bytes + weight(want) <= options_.max_in_flight;
}

/// Blocks wait behind an address that has enough to do; they go first when it has less.
void BlockClient::ask_more(uint64_t id, Request& request, Time now, Effects& out) {
  const auto full = [&](uint64_t link) {
    return request.per_link[link] >= options_.max_per_address;
  };
  std::vector<uint64_t> opening;  // links, in the order of their first streams
  const auto take = [&](Waiting next) {
    if (full(next.link)) return request.deferred[next.link].push_back(std::move(next.want));
    ++request.per_link[next.link];
    ++request.asked;
    request.bytes += weight(next.want);
    ask(id, std::move(next), opening, out);
  };
  for (auto& [link, blocks] : request.deferred)
    while (!blocks.empty() && !full(link) && may_ask(request, blocks.front())) {
      take({link, std::move(blocks.front())});
      blocks.pop_front();
    }
  std::erase_if(request.deferred, [](const auto& entry) { return entry.second.empty(); });
  while (!request.waiting.empty() && may_ask(request, request.waiting.front().want)) {
    take(std::move(request.waiting.front()));
    request.waiting.pop_front();
  }
  for (const uint64_t link : opening) {
    open(links_.at(link), now, out);
    watch(link, links_.at(link), out);
  }
}

void BlockClient::ask(uint64_t request, Waiting waiting, std::vector<uint64_t>& opening,
                      Effects& out) {
  const uint64_t number = next_stream_++;
  Link& link = links_.at(waiting.link);
  Stream& stream = streams_[number];
  stream.request = request;
  stream.link = waiting.link;
  stream.want = std::move(waiting.want);
  ++link.owed;
  // A link where others wait is in `opening` already, or has no room.
  if (link.state == Link::State::Open && link.opening.empty()) opening.push_back(waiting.link);
  link.opening.push_back(number);
  if (link.state != Link::State::Idle) return;
  link.state = Link::State::Connecting;
  out.push_back(Connect{waiting.link, link.address});
}

/// As many as there is room for: what is left goes on when one that was sent ends.
void BlockClient::open(Link& link, Time now, Effects& out) {
  // Silence counts from the first open request on.
  if (link.sent == 0) link.heard = now;
  OpenBlocks m{options_.who, {}, options_.chunk, options_.credit};
  while (!link.opening.empty() && link.sent < options_.max_open) {
    const uint64_t number = link.opening.front();
    link.opening.pop_front();
    const auto stream = streams_.find(number);
    if (stream == streams_.end()) continue;  // ended since
    stream->second.sent = true;
    ++link.sent;
    m.wishes.push_back({number, stream->second.want.block});
    if (m.wishes.size() < kAskedTogether) continue;
    out.push_back(Send<ToBlocks>{link.peer, m});
    m.wishes.clear();
  }
  if (!m.wishes.empty()) out.push_back(Send<ToBlocks>{link.peer, std::move(m)});
}

// ---- links ----------------------------------------------------------------------------

uint64_t BlockClient::link_to(const std::string& address) {
  const auto [it, fresh] = link_of_.try_emplace(address, next_link_);
  if (fresh) links_[next_link_++].address = address;
  return it->second;
}

void BlockClient::on_connected(const Connected& e, Time now, Effects& out) {
  const auto it = links_.find(e.ticket);
  if (it == links_.end() || it->second.state != Link::State::Connecting) {
    if (e.peer != 0) out.push_back(Disconnect{e.peer});
    return;
  }
  Link& link = it->second;
  if (e.peer == 0) return lose(e.ticket, link, "it cannot be reached", out);
  link.state = Link::State::Open;
  link.peer = e.peer;
  link.heard = now;
  ++link.incarnation;
  link.watched = false;
  link_of_peer_[e.peer] = e.ticket;
  open(link, now, out);
  watch(e.ticket, link, out);
}

void BlockClient::watch(uint64_t id, Link& link, Effects& out) {
  if (link.watched || link.owed == 0) return;
  link.watched = true;
  out.push_back(After<BlockClientTimer>{options_.silence,
                                        {BlockClientTimer::Kind::Silence, id, link.incarnation}});
}

void BlockClient::on_lost(PeerId peer, Effects& out) {
  const auto it = link_of_peer_.find(peer);
  if (it == link_of_peer_.end()) return;
  const uint64_t id = it->second;
  link_of_peer_.erase(it);
  lose(id, links_.at(id), "the connection was lost", out);
}

/// Numbers of the streams that `is` says yes to, the oldest first.
template <class Is>
std::vector<uint64_t> BlockClient::numbers_of(Is is) const {
  std::vector<uint64_t> numbers;
  for (const auto& [number, stream] : streams_)
    if (is(stream)) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// All blocks that the link owes are asked for again together, or given up.
void BlockClient::lose(uint64_t id, Link& link, const std::string& why, Effects& out) {
  link.peer = 0;
  ++link.incarnation;
  link.sent = 0;
  link.opening.clear();
  std::deque<uint64_t> given_up;
  for (const uint64_t old : numbers_of([id](const Stream& s) { return s.link == id; })) {
    auto node = streams_.extract(old);
    forget_received(old, node.mapped(), out);
    node.mapped().sent = false;
    const uint64_t number = node.key() = next_stream_++;
    const bool again = node.mapped().retries++ < options_.max_retries;
    (again ? link.opening : given_up).push_back(number);
    streams_.insert(std::move(node));
  }
  link.state = link.opening.empty() ? Link::State::Idle : Link::State::Waiting;
  if (link.state == Link::State::Waiting)
    out.push_back(After<BlockClientTimer>{options_.retry_wait,
                                          {BlockClientTimer::Kind::Retry, id, link.incarnation}});
  for (const uint64_t number : given_up) {
    const Stream& stream = streams_.at(number);
    const std::string tries = std::to_string(options_.max_retries + 1);
    finish(number,
           Error{"cannot fetch " + shown_block(stream.want.block) + " from " + link.address +
                 " in " + tries + " tries: " + why},
           out);
  }
}

void BlockClient::on_timer(const BlockClientTimer& e, Time now, Effects& out) {
  const auto it = links_.find(e.link);
  if (it == links_.end() || it->second.incarnation != e.incarnation) return;
  Link& link = it->second;
  if (e.kind == BlockClientTimer::Kind::Retry) {
    if (link.state != Link::State::Waiting) return;
    link.state = link.owed == 0 ? Link::State::Idle : Link::State::Connecting;
    if (link.owed > 0) return out.push_back(Connect{e.link, link.address});
    return link.opening.clear();
  }
  link.watched = false;
  if (link.state != Link::State::Open || link.owed == 0) return;
  if (const Duration silent = now - link.heard; silent < options_.silence) {
    link.watched = true;
    out.push_back(After<BlockClientTimer>{options_.silence - silent, e});
    return;
  }
  out.push_back(Disconnect{link.peer});
  link_of_peer_.erase(link.peer);
  lose(e.link, link, "it was silent for too long", out);
}

// ---- what comes back ------------------------------------------------------------------

BlockClient::Stream* BlockClient::find(PeerId from, uint64_t number, Time now) {
  const auto link_id = link_of_peer_.find(from);
  if (link_id == link_of_peer_.end()) return nullptr;
  links_.at(link_id->second).heard = now;
  const auto it = streams_.find(number);
  return it == streams_.end() || it->second.link != link_id->second ? nullptr : &it->second;
}

void BlockClient::on_missing(PeerId from, const BlockMissing& m, Time now, Effects& out) {
  Stream* stream = find(from, m.stream, now);
  if (!stream) return;
  finish(m.stream,
         Error{"cannot fetch " + shown_block(stream->want.block) + " from " + stream->want.address +
               ": " + m.reason},
         out);
}

void BlockClient::on_chunk(PeerId from, const BlockChunk& m, Time now, Effects& out) {
  Stream* stream = find(from, m.stream, now);
  if (!stream) return;
  const auto size = static_cast<int64_t>(m.bytes.size());
  const auto received = static_cast<int64_t>(stream->received.size()) + stream->in_file;
  const bool whole = received == 0 && size == m.total;
  if (m.offset != received || (stream->total >= 0 && m.total != stream->total) ||
      size > m.total - received || (size == 0 && !whole))
    return refetch(m.stream, "a chunk does not follow the one before it", now, out);
  if (XXH3_64bits(m.bytes.view().data(), m.bytes.size()) != m.checksum)
    return refetch(m.stream, "the checksum of a chunk is not the one sent", now, out);
  if (whole) return finish(m.stream, m.bytes, out);
  const bool to_file = m.total > options_.to_memory && !stream->no_file;
  if (stream->total < 0 && !to_file)
    stream->received.reserve(static_cast<size_t>(std::min(m.total, kReserve)));
  stream->total = m.total;
  if (to_file) {
    stream->in_file += size;
    out.push_back(KeepChunk{m.stream, m.bytes});
  } else {
    stream->received.append(m.bytes.view());
  }
  if (received + size == m.total)
    return to_file ? out.push_back(ReadBack{m.stream})
                   : finish(m.stream, Payload(std::move(stream->received)), out);
  stream->ungranted += size;
  if (stream->ungranted < options_.credit / 2) return;
  out.push_back(Send<ToBlocks>{from, GrantCredit{m.stream, std::exchange(stream->ungranted, 0)}});
}

/// What arrived is damaged: once more from the start, under another number.
void BlockClient::refetch(uint64_t old, const std::string& why, Time now, Effects& out) {
  Stream& stream = streams_.at(old);
  out.push_back(Send<ToBlocks>{links_.at(stream.link).peer, CancelStream{old}});
  const bool again = !std::exchange(stream.refetched, true);
  const std::string text = shown_block(stream.want.block) + " from " + stream.want.address +
                           " is corrupted due to NETWORK_ISSUE: " + why;
  if (!again) return finish(old, Error{text}, out);
  begin_anew(old, text + "; it is fetched again", now, out);
}

void BlockClient::begin_anew(uint64_t old, std::string warning, Time now, Effects& out) {
  Stream stream = std::move(streams_.at(old));
  Link& link = links_.at(stream.link);
  forget_received(old, stream, out);
  out.push_back(Log{Level::Warn, std::move(warning)});
  const uint64_t number = next_stream_++;
  release(stream);
  streams_.erase(old);
  streams_[number] = std::move(stream);
  link.opening.push_back(number);
  open(link, now, out);
}

void BlockClient::forget_received(uint64_t number, Stream& stream, Effects& out) {
  if (stream.in_file > 0) out.push_back(DropFile{number});
  stream.in_file = 0;
  stream.total = -1;
  stream.ungranted = 0;
  stream.received.clear();
}

void BlockClient::finish(uint64_t number, Result<Payload> bytes, Effects& out) {
  Stream& stream = streams_.at(number);
  forget_received(number, stream, out);
  out.push_back(DeliverBlock{stream.request, stream.want.index, std::move(bytes)});
  close(number);
}

void BlockClient::on_file_read(FileRead& e, Effects& out) {
  if (streams_.contains(e.stream)) finish(e.stream, std::move(e.bytes), out);
}

/// What came was good, and more would be of no use: the peer is told not to send it.
void BlockClient::on_file_failed(const FileFailed& e, Time now, Effects& out) {
  const auto found = streams_.find(e.stream);
  if (found == streams_.end()) return;  // ended since, or began anew with another file
  Stream& stream = found->second;
  if (stream.in_file < stream.total)
    out.push_back(Send<ToBlocks>{links_.at(stream.link).peer, CancelStream{e.stream}});
  if (stream.total > options_.without_file) return finish(e.stream, e.why, out);
  stream.no_file = true;
  begin_anew(e.stream,
             shown_block(stream.want.block) + " from " + stream.want.address +
                 " is fetched into memory: " + e.why.message,
             now, out);
}

void BlockClient::close(uint64_t number) {
  Stream stream = std::move(streams_.extract(number).mapped());
  --links_.at(stream.link).owed;
  release(stream);
  const auto request = requests_.find(stream.request);
  if (request == requests_.end()) return;
  --request->second.asked;
  --request->second.per_link[stream.link];
  may_want_more_.insert(stream.request);
}

/// It ended, or begins anew: its link has room for another one.
void BlockClient::release(Stream& stream) {
  if (!std::exchange(stream.sent, false)) return;
  Link& link = links_.at(stream.link);
  --link.sent;
  if (!link.opening.empty()) have_room_.insert(stream.link);
}

void BlockClient::on_end(uint64_t id, Effects& out) {
  const auto request = requests_.find(id);
  if (request == requests_.end()) return;
  const bool open = request->second.asked > 0;
  requests_.erase(request);
  if (!open) return;
  for (const uint64_t number : numbers_of([id](const Stream& s) { return s.request == id; })) {
    Stream stream = std::move(streams_.extract(number).mapped());
    Link& link = links_.at(stream.link);
    --link.owed;
    if (stream.sent) out.push_back(Send<ToBlocks>{link.peer, CancelStream{number}});
    release(stream);
    forget_received(number, stream, out);
  }
}

}  // namespace tinderbox::core
