// A seeded network: connections that keep order and lose nothing until they break.
//
// As a real endpoint promises: every connection has fresh ids; when it breaks, what was on its way
// is lost and each side is told once, each at its own time. A partition only delays until one side
// loses patience; the other may believe in the connection for long after that.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/transport/endpoint.hpp"
#include "tests/sim/world/world.hpp"

namespace tinderbox::sim {

class SimEndpoint;

struct NetworkSettings {
  Duration usual{100us};  // of one message
  int64_t tail = 0;       // per mille of messages that take `tail_delay`
  Duration tail_delay{};
  Duration patience_low{5s}, patience_high{40s};  // with a silent peer
};

/// Each called once, when a message comes: that was in the tail; that was sent before one which
/// came to the same peer from another one; when one never comes, as its connection broke.
struct NetworkTold {
  std::function<void()> delayed, overtaken, lost;
};

class Network {
 public:
  Network(World& world, NetworkSettings settings) : world_(world), settings_(settings) {}

  void tell(NetworkTold told) { told_ = std::move(told); }
  void listen(const std::string& address, SimEndpoint& endpoint) {
    listeners_[address] = &endpoint;
  }
  PeerId connect(SimEndpoint& from, const std::string& address);
  bool send(SimEndpoint& from, PeerId to, net::Packet packet);
  void drop(SimEndpoint& from, PeerId peer);

  // ---- faults ----
  /// `silent`: nobody says goodbye for it.
  void process_died(const Process& process, bool silent);
  /// Breaks what connects the two, if anything does. False: nothing did.
  bool cut(const Process& a, const Process& b);
  /// Nothing passes between the hosts for so long. `struck`: called once, when a message or a
  /// connection is held up by it.
  void partition(const std::string& a, const std::string& b, Duration length,
                 std::function<void()> struck);
  /// Some of what may_repeat() comes twice for so long, the second time up to two seconds later.
  /// `struck`: called once, when something does.
  void repeat(Duration length, std::function<void()> struck);
  /// Now, or a moment ago.
  bool partitioned(const std::string& a, const std::string& b) const;

 private:
  struct Waiting {
    Time ready, sent;
    bool delayed = false;
    net::Packet packet;
  };
  struct Newest {
    Time sent{};
    const Process* from = nullptr;
  };
  struct End {
    SimEndpoint* endpoint = nullptr;
    PeerId peer = 0;  // how this end calls the other one
    bool open = true;
    bool known = false;  // this end has heard of the connection
    std::deque<Waiting> inbox;
    Time last_ready{};
    bool waits_for_heal = false;
  };
  struct Link {
    End ends[2];
  };
  using LinkPtr = std::shared_ptr<Link>;
  using Key = std::pair<const SimEndpoint*, PeerId>;

  struct Block {
    Time until{};
    std::function<void()> struck;
  };
  Time blocked_until(const Process& a, const Process& b);
  /// Sets `tail`: the message takes longer than messages do.
  Duration delay(Process& a, Process& b, bool& tail);
  void came(const SimEndpoint& to, const Process& from, const Waiting& message);
  void put(const LinkPtr& link, int side, net::Packet packet);
  void repeat_later(const LinkPtr& link, int side, const net::Packet& packet);
  void pump(const LinkPtr& link, int side);
  void break_end(const LinkPtr& link, int side, Duration delay);
  void close_end(Link& link, int side);
  void lose_patience(const LinkPtr& link, int side, Duration after);
  LinkPtr find(const SimEndpoint& endpoint, PeerId peer, int& side) const;

  World& world_;
  const NetworkSettings settings_;
  std::map<std::string, SimEndpoint*> listeners_;
  std::vector<LinkPtr> links_;
  std::map<Key, std::pair<LinkPtr, int>> by_peer_;
  std::map<std::pair<std::string, std::string>, Block> blocked_;
  Time repeats_until_{};
  std::function<void()> repeated_;
  NetworkTold told_;
  std::map<const SimEndpoint*, Newest> newest_;  // of what came there
};

/// Thread: the simulator's.
class SimEndpoint final : public net::Endpoint {
 public:
  /// `address` empty: nobody can connect to it.
  SimEndpoint(Network& network, ProcessPtr process, const std::string& address, PeerId first_peer)
      : network_(network), process_(std::move(process)), next_peer_(first_peer) {
    if (!address.empty()) network_.listen(address, *this);
  }
  void handle(Handler handler) override { handler_ = std::move(handler); }
  bool send(PeerId to, net::Packet packet) override {
    return network_.send(*this, to, std::move(packet));
  }
  Result<PeerId> connect(const std::string& address) override {
    return network_.connect(*this, address);
  }
  void drop(PeerId peer) override { network_.drop(*this, peer); }
  uint64_t rejected() const override { return 0; }

  const ProcessPtr& process() const { return process_; }
  PeerId fresh_peer() { return next_peer_++; }
  /// Changes with each connection, from here or from elsewhere.
  PeerId next_peer() const { return next_peer_; }
  const Handler& handler() const { return handler_; }

 private:
  Network& network_;
  const ProcessPtr process_;
  Handler handler_;
  PeerId next_peer_;
};

}  // namespace tinderbox::sim
