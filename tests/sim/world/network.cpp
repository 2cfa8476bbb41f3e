#include "tests/sim/world/network.hpp"

#include <algorithm>

#include "tests/sim/world/repeats.hpp"
#include "tests/sim/world/trace.hpp"

namespace tinderbox::sim {

namespace {
constexpr int64_t kRepeated = 300;  // per mille of what may be, while anything is

std::pair<std::string, std::string> ordered(const std::string& a, const std::string& b) {
  return {std::min(a, b), std::max(a, b)};
}
}  // namespace

/// Asked for whatever is to pass between the two.
Time Network::blocked_until(const Process& a, const Process& b) {
  const auto it = blocked_.find(ordered(a.host, b.host));
  if (it == blocked_.end()) return Time{};
  if (it->second.until > world_.now()) strike(it->second.struck);
  return it->second.until;
}

Duration Network::delay(Process& a, Process& b, bool& tail) {
  Random& random = world_.random();
  Duration d = random.long_tailed(settings_.usual);
  tail = random.chance(settings_.tail);
  if (tail) d += random.between(Duration{0}, settings_.tail_delay);
  for (Process* p : {&a, &b}) {
    if (p->slow_until <= world_.now()) continue;
    d += random.between(Duration{0}, p->slowness);
    strike(p->slowed);
  }
  return d;
}

Network::LinkPtr Network::find(const SimEndpoint& endpoint, PeerId peer, int& side) const {
  const auto it = by_peer_.find({&endpoint, peer});
  if (it == by_peer_.end()) return nullptr;
  side = it->second.second;
  return it->second.first;
}

PeerId Network::connect(SimEndpoint& from, const std::string& address) {
  auto link = std::make_shared<Link>();
  link->ends[0].endpoint = &from;
  link->ends[0].peer = from.fresh_peer();
  link->ends[0].known = true;
  const PeerId peer = link->ends[0].peer;
  by_peer_[{&from, peer}] = {link, 0};
  const auto listener = listeners_.find(address);
  if (listener == listeners_.end() || !listener->second->process()->alive) {
    link->ends[1].open = false;
    break_end(link, 0, world_.random().between(500us, 20ms));
    return peer;
  }
  SimEndpoint& to = *listener->second;
  link->ends[1].endpoint = &to;
  link->ends[1].peer = to.fresh_peer();
  by_peer_[{&to, link->ends[1].peer}] = {link, 1};
  links_.push_back(link);
  if (blocked_until(*from.process(), *to.process()) > world_.now())
    lose_patience(link, 0,
                  world_.random().between(settings_.patience_low, settings_.patience_high));
  return peer;
}

bool Network::send(SimEndpoint& from, PeerId to, net::Packet packet) {
  int side = 0;
  const LinkPtr link = find(from, to, side);
  if (!link || !link->ends[side].open || !from.process()->alive) return false;
  const int other = 1 - side;
  End& target = link->ends[other];
  if (!target.open || !target.endpoint) return true;  // into the void: the loss is still to be told
  if (repeats_until_ > world_.now() && world_.random().chance(kRepeated) && may_repeat(packet))
    repeat_later(link, other, packet);
  put(link, other, std::move(packet));
  return true;
}

void Network::put(const LinkPtr& link, int side, net::Packet packet) {
  End& target = link->ends[side];
  const ProcessPtr& to = target.endpoint->process();
  bool tail = false;
  const Duration taken = delay(*link->ends[1 - side].endpoint->process(), *to, tail);
  target.last_ready = std::max(target.last_ready, world_.now() + taken);
  target.inbox.push_back({target.last_ready, world_.now(), tail, std::move(packet)});
  world_.after(to, target.last_ready - world_.now(), [this, link, side] { pump(link, side); });
}

/// As if its sender did not know whether it was heard.
void Network::repeat_later(const LinkPtr& link, int side, const net::Packet& packet) {
  world_.after(link->ends[1 - side].endpoint->process(),
               world_.random().between(Duration{0}, Duration{2s}), [this, link, side, packet] {
                 if (!link->ends[0].open || !link->ends[1].open) return;
                 strike(repeated_);
                 put(link, side, packet);
               });
}

void Network::pump(const LinkPtr& link, int side) {
  End& end = link->ends[side];
  while (end.open && !end.inbox.empty() && end.inbox.front().ready <= world_.now()) {
    const Time until =
        blocked_until(*end.endpoint->process(), *link->ends[1 - side].endpoint->process());
    if (until > world_.now()) {
      if (!std::exchange(end.waits_for_heal, true))
        world_.after(end.endpoint->process(), until - world_.now() + 1ms, [this, link, side] {
          link->ends[side].waits_for_heal = false;
          pump(link, side);
        });
      return;
    }
    came(*end.endpoint, *link->ends[1 - side].endpoint->process(), end.inbox.front());
    net::Packet packet = std::move(end.inbox.front().packet);
    end.inbox.pop_front();
    end.known = true;
    world_.note(packet.tag);
    if (world_.traced())
      if (const std::string line = describe(packet); !line.empty())
        world_.trace(end.endpoint->process()->name,
                     "← " + link->ends[1 - side].endpoint->process()->name + ": " + line);
    end.endpoint->handler().on_packet(end.peer, std::move(packet));
  }
}

void Network::came(const SimEndpoint& to, const Process& from, const Waiting& message) {
  if (message.delayed) strike(told_.delayed);
  Newest& newest = newest_[&to];
  if (message.sent < newest.sent && newest.from != &from) strike(told_.overtaken);
  if (message.sent > newest.sent) newest = {message.sent, &from};
}

void Network::close_end(Link& link, int side) {
  End& end = link.ends[side];
  end.open = false;
  if (!end.inbox.empty()) strike(told_.lost);
  end.inbox.clear();
  by_peer_.erase({end.endpoint, end.peer});
}

/// What is there by then is still delivered; the loss comes after it.
void Network::break_end(const LinkPtr& link, int side, Duration delay) {
  if (!link->ends[side].open || !link->ends[side].endpoint) return;
  world_.after(link->ends[side].endpoint->process(), delay, [this, link, side] {
    End& end = link->ends[side];
    if (!end.open) return;
    close_end(*link, side);
    break_end(link, 1 - side, world_.random().between(100us, 50ms));
    if (!end.known) return;
    world_.trace(end.endpoint->process()->name, "lost peer " + std::to_string(end.peer));
    end.endpoint->handler().on_lost(end.peer);
  });
}

void Network::drop(SimEndpoint& from, PeerId peer) {
  int side = 0;
  const LinkPtr link = find(from, peer, side);
  if (!link) return;
  close_end(*link, side);
  break_end(link, 1 - side, world_.random().between(100us, 50ms));
}

// ---- faults ------------------------------------------------------------------------------------

void Network::repeat(Duration length, std::function<void()> struck) {
  repeats_until_ = std::max(repeats_until_, world_.now() + length);
  repeated_ = std::move(struck);
}

void Network::process_died(const Process& process, bool silent) {
  for (const LinkPtr& link : links_)
    for (int side = 0; side < 2; ++side) {
      End& end = link->ends[side];
      if (!end.open || end.endpoint->process().get() != &process) continue;
      close_end(*link, side);
      const Duration noticed =
          silent ? world_.random().between(settings_.patience_low, settings_.patience_high)
                 : world_.random().between(100us, 50ms);
      break_end(link, 1 - side, noticed);
    }
  std::erase_if(links_, [](const LinkPtr& l) { return !l->ends[0].open && !l->ends[1].open; });
}

bool Network::cut(const Process& a, const Process& b) {
  bool any = false;
  for (const LinkPtr& link : std::vector<LinkPtr>(links_)) {
    if (!link->ends[0].open || !link->ends[1].open) continue;
    const Process* x = link->ends[0].endpoint->process().get();
    const Process* y = link->ends[1].endpoint->process().get();
    if (!((x == &a && y == &b) || (x == &b && y == &a))) continue;
    any = true;
    for (int side = 0; side < 2; ++side)
      break_end(link, side, world_.random().between(Duration{0}, Duration{2s}));
  }
  return any;
}

void Network::partition(const std::string& a, const std::string& b, Duration length,
                        std::function<void()> struck) {
  Block& block = blocked_[ordered(a, b)];
  block.until = std::max(block.until, world_.now() + length);
  block.struck = std::move(struck);
  for (const LinkPtr& link : links_) {
    if (!link->ends[0].open || !link->ends[1].open) continue;
    if (ordered(link->ends[0].endpoint->process()->host, link->ends[1].endpoint->process()->host) !=
        ordered(a, b))
      continue;
    for (int side = 0; side < 2; ++side)
      lose_patience(link, side,
                    world_.random().between(settings_.patience_low, settings_.patience_high));
  }
}

bool Network::partitioned(const std::string& a, const std::string& b) const {
  const auto it = blocked_.find(ordered(a, b));
  return it != blocked_.end() && it->second.until > world_.now() - 5s;
}

/// This end gives up if the peer is still out of reach then; the other learns when it can.
void Network::lose_patience(const LinkPtr& link, int side, Duration after) {
  world_.after(link->ends[side].endpoint->process(), after, [this, link, side] {
    End& end = link->ends[side];
    if (!end.open) return;
    const Time until =
        blocked_until(*end.endpoint->process(), *link->ends[1 - side].endpoint->process());
    if (until <= world_.now()) return;
    close_end(*link, side);
    End& other = link->ends[1 - side];
    if (other.open) break_end(link, 1 - side, until - world_.now() + 1ms);
    if (!end.known) return;
    world_.trace(end.endpoint->process()->name,
                 "lost patience with peer " + std::to_string(end.peer));
    end.endpoint->handler().on_lost(end.peer);
  });
}

}  // namespace tinderbox::sim
