// Endpoint over ZeroMQ: one ROUTER that listens, one DEALER for each connection out.
//
// Problem: ROUTER drops silently, knows no connections, and reports no loss. What we add:
// - a peer is a routing id seen on one descriptor (ZMQ_SRCFD); the socket monitor names the
// descriptor
//   whose connection ended, so that a killed peer is known within a millisecond;
// - shutdown() of that descriptor is the only way to drop a peer; what it had sent before is still
// in
//   ZeroMQ's queue, so a dropped peer is remembered, and ignored, until its connection has ended;
// - a DEALER never reconnects: each connection is one incarnation, a new try is a new PeerId.
// A descriptor may be reused before the monitor's event of its old connection was read: a message
// of a new routing id on a descriptor in use ends the old peer, and the event that follows is spent
// on it.
#include <sys/socket.h>
#include <zmq.h>

#include <cstring>
#include <map>
#include <string>
#include <unordered_map>

#include "net/log.hpp"
#include "net/names.hpp"
#include "net/transport/context.hpp"
#include "net/transport/endpoint.hpp"
#include "net/wire/frames.hpp"

namespace tinderbox::net {
namespace {

constexpr int kLingerMs = 500;
/// Messages that wait for one peer which does not read; one more and it is dropped.
constexpr int kMaxUnsent = 1 << 17;
/// Messages that are handled before timers and other sockets get a turn.
constexpr int kMaxTurn = 4096;
constexpr int kEnded = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                       ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                       ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

void set(void* socket, int option, int value) {
  zmq_setsockopt(socket, option, &value, sizeof value);
}

void set_common(void* socket, int64_t max_message_bytes) {
  zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max_message_bytes, sizeof max_message_bytes);
  set(socket, ZMQ_LINGER, kLingerMs);
  set(socket, ZMQ_SNDHWM, 0);  // what may be under way is bounded by slots and credit, not here
  set(socket, ZMQ_IPV6, 1);
  set(socket, ZMQ_TCP_KEEPALIVE, 1);
  set(socket, ZMQ_TCP_KEEPALIVE_IDLE, 60);
}

/// Reads one event of a socket monitor. 0: none there.
int next_monitor_event(void* monitor, int& value) {
  std::vector<Payload> frames;
  int fd;
  if (!receive_frames(monitor, frames, fd) || frames[0].size() < 6) return 0;
  uint16_t event;
  int32_t v;
  std::memcpy(&event, frames[0].view().data(), sizeof event);
  std::memcpy(&v, frames[0].view().data() + sizeof event, sizeof v);
  value = v;
  return event;
}

class RealSocketEndpoint final : public SocketEndpoint {
 public:
  explicit RealSocketEndpoint(PollLoop& loop) : loop_(loop), context_(socket_context()) {}
  ~RealSocketEndpoint() override {
    while (!dealers_.empty()) drop(dealers_.begin()->first);
    if (!router_) return;
    loop_.unwatch_socket(router_);
    loop_.unwatch_socket(router_monitor_);
    close_with_monitor(router_, router_monitor_);
  }

  void handle(Handler handler) override { handler_ = std::move(handler); }
  uint64_t rejected() const override { return rejected_; }

  Result<int> listen(const Listen& where) override {
    router_ = zmq_socket(context_.get(), ZMQ_ROUTER);
    set_common(router_, where.max_message_bytes);
    set(router_, ZMQ_ROUTER_MANDATORY, 1);
    set(router_, ZMQ_SNDHWM, kMaxUnsent);  // strangers may ask and never read
    set(router_, ZMQ_BACKLOG, 4096);
    router_monitor_ = monitor(router_, kEnded & ~ZMQ_EVENT_CLOSED);
    Result<int> port = bind(where);
    if (!port) {
      close_with_monitor(router_, router_monitor_);
      router_ = nullptr;
      return port;
    }
    loop_.watch_socket(router_, [this] { read_router(); });
    loop_.watch_socket(router_monitor_, [this] { read_router(); });
    return port;
  }

  bool send(PeerId to, Packet packet) override {
    if (auto d = dealers_.find(to); d != dealers_.end()) {
      loop_.used(d->second.socket);
      return send_packet(d->second.socket, {}, packet);
    }
    auto a = accepted_.find(to);
    if (a == accepted_.end() || a->second.dropped) return false;
    loop_.used(router_);
    if (send_packet(router_, a->second.route, packet)) return true;
    if (zmq_errno() == EAGAIN) {
      reject("it does not read what it is sent");
      drop(to);
    }
    lose_later(to);
    return false;
  }

  Result<PeerId> connect(const std::string& address) override {
    Result<std::string> numeric = resolve_address(address);
    if (!numeric) return numeric.error();
    std::string url = "tcp://" + *numeric;
    void* socket = zmq_socket(context_.get(), ZMQ_DEALER);
    if (!socket) return Error{"no socket left: " + std::string(zmq_strerror(zmq_errno()))};
    set_common(socket, -1);
    set(socket, ZMQ_RECONNECT_IVL, -1);
    set(socket, ZMQ_CONNECT_TIMEOUT, 10'000);
    void* events = monitor(socket, kEnded);
    if (zmq_connect(socket, url.c_str()) != 0) {
      close_with_monitor(socket, events);
      return Error{"cannot connect to " + address + ": " + zmq_strerror(zmq_errno())};
    }
    PeerId id = ++last_peer_;
    dealers_[id] = {socket, events};
    loop_.watch_socket(socket, [this, id] { read_dealer(id); });
    loop_.watch_socket(events, [this, id] { read_dealer_monitor(id); });
    return id;
  }

  void drop(PeerId peer) override {
    if (auto d = dealers_.find(peer); d != dealers_.end()) {
      Dealer dealer = d->second;
      dealers_.erase(d);
      loop_.unwatch_socket(dealer.socket);
      loop_.unwatch_socket(dealer.monitor);
      close_with_monitor(dealer.socket, dealer.monitor);
    } else if (auto a = accepted_.find(peer); a != accepted_.end() && !a->second.dropped) {
      a->second.dropped = true;
      shut(peer, a->second);
    }
  }

 private:
  struct Dealer {
    void* socket;
    void* monitor;
  };
  struct Accepted {
    std::string route;
    int fd;
    bool dropped = false;  // its connection is about to end
  };

  /// The descriptor may belong to somebody else by now: the monitor knows.
  void shut(PeerId id, const Accepted& peer) {
    read_router_monitor();
    if (auto f = by_fd_.find(peer.fd); f != by_fd_.end() && f->second == id)
      ::shutdown(peer.fd, SHUT_RDWR);
  }

  void* monitor(void* socket, int events) {
    std::string name = "inproc://monitor-" + std::to_string(reinterpret_cast<uintptr_t>(socket)) +
                       "-" + std::to_string(++monitors_);
    zmq_socket_monitor(socket, name.c_str(), events);
    void* pair = zmq_socket(context_.get(), ZMQ_PAIR);
    set(pair, ZMQ_LINGER, 0);
    zmq_connect(pair, name.c_str());
    return pair;
  }
  static void close_with_monitor(void* socket, void* monitor) {
    zmq_socket_monitor(socket, nullptr, 0);
    zmq_close(monitor);
    zmq_close(socket);
  }

  /// ZeroMQ itself takes only numbers, and `*` for all addresses.
  Result<int> bind(const Listen& where) {
    std::string host = where.host;
    if (host != "*") {
      Result<std::vector<std::string>> addresses = resolve(host);
      if (!addresses) return addresses.error();
      host = bracketed(addresses->front());
    }
    for (int i = 0;; ++i) {
      int port = where.port == 0 ? 0 : 1024 + (where.port + i - 1024) % (65536 - 1024);
      std::string url = "tcp://" + host + ":" + (port == 0 ? "*" : std::to_string(port));
      if (zmq_bind(router_, url.c_str()) == 0) return bound_port();
      if (zmq_errno() != EADDRINUSE || i >= where.retries)
        return Error{"cannot listen on " + where.host + ":" + std::to_string(port) + ": " +
                     zmq_strerror(zmq_errno())};
    }
  }
  int bound_port() {
    char url[256];
    size_t size = sizeof url;
    zmq_getsockopt(router_, ZMQ_LAST_ENDPOINT, url, &size);
    return std::atoi(std::strrchr(url, ':') + 1);
  }

  /// Losses are read first but told last: what a peer sent before it went is still delivered.
  void read_router() {
    read_router_monitor();
    int fd;
    for (int n = 0; receive_frames(router_, frames_, fd); ++n) {
      deliver_accepted(fd);
      if (n == kMaxTurn) return loop_.used(router_);
    }
    loop_.drained(router_);
    read_router_monitor();
    tell_losses();
  }
  void read_router_monitor() {
    int fd;
    while (int event = next_monitor_event(router_monitor_, fd)) {
      auto spent = spent_.find(fd);
      if (event != ZMQ_EVENT_DISCONNECTED) {
        reject("no greeting of ours");
      } else if (spent != spent_.end()) {
        if (--spent->second == 0) spent_.erase(spent);
      } else if (auto p = by_fd_.find(fd); p != by_fd_.end()) {
        lost_.push_back(p->second);
        by_fd_.erase(p);
      }
    }
  }
  void deliver_accepted(int fd) {
    std::string route(frames_[0].view());
    auto known = by_route_.find(route);
    PeerId id = known != by_route_.end() ? known->second : learn(route, fd);
    if (accepted_.at(id).dropped) return;
    std::optional<Packet> packet = parse_packet(frames_, 1);
    if (packet) return handler_.on_packet(id, std::move(*packet));
    reject("frames that are no message of ours");
    drop(id);
    handler_.on_lost(id);
  }
  void reject(const char* why) {
    if (worth_a_line(++rejected_))
      log(Level::Warn, "Endpoint",
          "dropped a peer: " + std::string(why) + " (" + std::to_string(rejected_) + " so far)");
  }
  PeerId learn(const std::string& route, int fd) {
    if (auto old = by_fd_.find(fd); old != by_fd_.end()) {
      lost_.push_back(old->second);
      ++spent_[fd];
    }
    PeerId id = ++last_peer_;
    accepted_[id] = {route, fd};
    by_route_[route] = id;
    by_fd_[fd] = id;
    return id;
  }
  void lose_later(PeerId peer) {
    loop_.post([this, alive = std::weak_ptr<bool>(alive_), peer] {
      if (alive.expired()) return;
      if (auto a = accepted_.find(peer); a != accepted_.end() && a->second.dropped)
        return handler_.on_lost(peer);
      lost_.push_back(peer);
      tell_losses();
    });
  }
  void tell_losses() {
    std::vector<PeerId> lost;
    lost.swap(lost_);
    for (PeerId peer : lost) {
      auto a = accepted_.find(peer);
      if (a == accepted_.end()) continue;
      bool told = a->second.dropped;
      forget(a);
      if (!told) handler_.on_lost(peer);
    }
  }
  void forget(std::unordered_map<PeerId, Accepted>::iterator a) {
    if (auto r = by_route_.find(a->second.route); r != by_route_.end() && r->second == a->first)
      by_route_.erase(r);
    if (auto f = by_fd_.find(a->second.fd); f != by_fd_.end() && f->second == a->first)
      by_fd_.erase(f);
    accepted_.erase(a);
  }

  void read_dealer(PeerId id) {
    int fd;
    for (auto d = dealers_.find(id); d != dealers_.end(); d = dealers_.find(id)) {
      if (!receive_frames(d->second.socket, frames_, fd)) return loop_.drained(d->second.socket);
      std::optional<Packet> packet = parse_packet(frames_, 0);
      if (packet) {
        handler_.on_packet(id, std::move(*packet));
      } else {
        reject("frames that are no message of ours");
        drop(id);
        handler_.on_lost(id);
      }
    }
  }
  void read_dealer_monitor(PeerId id) {
    read_dealer(id);
    auto d = dealers_.find(id);
    int value;
    if (d == dealers_.end() || !next_monitor_event(d->second.monitor, value)) return;
    read_dealer(id);
    if (!dealers_.contains(id)) return;
    drop(id);
    handler_.on_lost(id);
  }

  PollLoop& loop_;
  std::shared_ptr<void> context_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Handler handler_;
  void* router_ = nullptr;
  void* router_monitor_ = nullptr;
  std::map<PeerId, Dealer> dealers_;
  std::unordered_map<PeerId, Accepted> accepted_;
  std::unordered_map<std::string, PeerId> by_route_;
  std::unordered_map<int, PeerId> by_fd_;
  std::unordered_map<int, int> spent_;  // monitor events of peers that were told lost already
  std::vector<PeerId> lost_;
  std::vector<Payload> frames_;
  PeerId last_peer_ = 0;
  uint64_t monitors_ = 0;
  uint64_t rejected_ = 0;
};

}  // namespace

std::unique_ptr<SocketEndpoint> make_socket_endpoint(PollLoop& loop) {
  return std::make_unique<RealSocketEndpoint>(loop);
}

}  // namespace tinderbox::net
