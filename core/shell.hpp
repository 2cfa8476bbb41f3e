// The one interpreter of effects: feeds a machine what comes in, carries out what it asks for.
//
// A role has one Endpoint; several machines may share it (a driver speaks to executors and to a
// master), each for the conversations it declared. Switchboard sorts packets by conversation;
// Shell<Machine> runs one machine. Effects that only one role has are given to its Host, an object
// with `void apply(ThatEffect&)` for each, which may take what it holds, and if it likes `void
// end_of_turn()`, called when nothing waits any more, where it hands on in one go what it gathered.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <vector>

#include "core/machine.hpp"
#include "net/log.hpp"
#include "net/loop.hpp"
#include "net/transport/endpoint.hpp"
#include "net/wire/codec.hpp"

namespace tinderbox::core {

/// Hands an endpoint's packets to whoever speaks their conversation. Thread: the loop's.
class Switchboard {
 public:
  explicit Switchboard(net::Endpoint& endpoint) : endpoint_(endpoint) {
    endpoint_.handle({[this](PeerId from, net::Packet&& p) { route(from, p); },
                      [this](PeerId peer) {
                        for (auto& f : on_lost_) f(peer);
                      }});
  }
  /// Messages of variant M go to `handler`; one handler a variant.
  template <class M>
  void on_message(std::function<void(PeerId, M&&)> handler) {
    slot(net::conversation_of<M>()) = [this, handler = std::move(handler)](PeerId from,
                                                                           const net::Packet& p) {
      Result<M> message = net::decode<M>(p);
      if (message) return handler(from, std::move(*message));
      refuse(from, message.error().message);
    };
  }
  void on_lost(std::function<void(PeerId)> handler) { on_lost_.push_back(std::move(handler)); }
  net::Endpoint& endpoint() { return endpoint_; }
  /// Messages that were not understood; their senders were dropped.
  uint64_t refused() const { return refused_ + endpoint_.rejected(); }

 private:
  using Handler = std::function<void(PeerId, const net::Packet&)>;
  Handler& slot(net::Conversation c) {
    return handlers_[static_cast<size_t>(c) % handlers_.size()];
  }
  void route(PeerId from, const net::Packet& p) {
    if (p.conversation < handlers_.size() && handlers_[p.conversation])
      return handlers_[p.conversation](from, p);
    refuse(from, "conversation " + std::to_string(p.conversation) + " is not spoken here");
  }
  void refuse(PeerId from, const std::string& why) {
    if (net::worth_a_line(++refused_))
      net::log(net::Level::Warn, "Switchboard",
               "dropped a peer: " + why + " (" + std::to_string(refused_) + " so far)");
    endpoint_.drop(from);
    for (auto& f : on_lost_) f(from);
  }

  net::Endpoint& endpoint_;
  std::array<Handler, 16> handlers_;
  std::vector<std::function<void(PeerId)>> on_lost_;
  uint64_t refused_ = 0;
};

/// Runs one machine on one loop. `Host` carries out the machine's own effects.
/// Thread: the loop's, but for post().
template <class Machine, class Host>
class Shell {
 public:
  using Event = typename Machine::Event;
  using Effect = typename Machine::Effect;

  Shell(net::Loop& loop, Switchboard& board, Machine& machine, Host& host, const char* name)
      : loop_(loop), board_(board), machine_(machine), host_(host), name_(name) {}

  /// Messages of variant M and the loss of peers become events.
  template <class M>
  void listen() {
    board_.on_message<M>([this](PeerId from, M&& m) { feed(Received<M>{from, std::move(m)}); });
  }
  void listen_losses() {
    board_.on_lost([this](PeerId peer) { feed(PeerLost{peer}); });
  }
  /// Thread: any.
  void post(Event event) {
    auto shared = std::make_shared<Event>(std::move(event));
    loop_.post([this, shared] { feed(std::move(*shared)); });
  }
  /// Nothing more is carried out, of the present turn either: the host could not keep what its
  /// machine relies on.
  void halt() {
    halted_ = true;
    waiting_.clear();
  }
  /// An event that arises while effects are carried out waits for them to end.
  void feed(Event event) {
    if (halted_) return;
    waiting_.push_back(std::move(event));
    if (busy_) return;
    busy_ = true;
    while (!waiting_.empty()) {
      Event next = std::move(waiting_.front());
      waiting_.pop_front();
      machine_.on(std::move(next), loop_.now(), effects_);
      for (Effect& effect : effects_)
        if (!halted_) std::visit([this](auto& e) { this->carry_out(e); }, effect);
      effects_.clear();  // what was sent must not be held until something comes
    }
    if constexpr (requires { host_.end_of_turn(); }) host_.end_of_turn();
    busy_ = false;
  }

 private:
  template <class M>
  void carry_out(Send<M>& e) {
    board_.endpoint().send(e.to, net::encode(e.message));
  }
  void carry_out(Connect& e) {
    Result<PeerId> peer = board_.endpoint().connect(e.address);
    if (!peer) net::log(net::Level::Warn, name_, peer.error().message);
    if constexpr (std::is_constructible_v<Event, Connected>)
      feed(Connected{e.ticket, peer ? *peer : 0});
  }
  void carry_out(Disconnect& e) { board_.endpoint().drop(e.peer); }
  template <class E>
  void carry_out(After<E>& e) {
    loop_.after(e.delay, [this, event = e.event] { feed(event); });
  }
  void carry_out(Log& e) { net::log(static_cast<net::Level>(e.level), name_, e.line); }
  template <class E>
  void carry_out(E& e) {
    host_.apply(e);
  }

  net::Loop& loop_;
  Switchboard& board_;
  Machine& machine_;
  Host& host_;
  const char* name_;
  bool busy_ = false;
  bool halted_ = false;
  std::deque<Event> waiting_;
  std::vector<Effect> effects_;
};

}  // namespace tinderbox::core
