// Packets to and from peers. Two real kinds (a ROUTER that listens, DEALERs that connect), one in
// memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/loop.hpp"
#include "net/types.hpp"

namespace tinderbox::net {

/// What one message is on the wire: header, msgpack body, raw frames that the body refers to.
struct Packet {
  uint8_t conversation = 0;  // which variant of net/wire/messages.hpp the tag indexes
  uint16_t tag = 0;
  Payload body;
  std::vector<Payload> frames;
};

/// Thread: the loop's.
class Endpoint {
 public:
  struct Handler {
    std::function<void(PeerId, Packet&&)> on_packet;
    /// The peer's connection is gone; its id will not be seen again.
    std::function<void(PeerId)> on_lost;
  };
  virtual ~Endpoint() = default;
  virtual void handle(Handler handler) = 0;
  /// Never blocks. False: the peer is unknown or gone (on_lost tells that too, once).
  virtual bool send(PeerId to, Packet packet) = 0;
  /// A new incarnation of a connection to host:port (numeric or a name). The peer may turn out to
  /// be unreachable: then on_lost is called. Errors: an address that does not parse or resolve.
  virtual Result<PeerId> connect(const std::string& address) = 0;
  /// Ends the connection; on_lost is not called for it.
  virtual void drop(PeerId peer) = 0;
  /// Frames that were malformed, of an unknown tag, or from a peer that was dropped for them.
  virtual uint64_t rejected() const = 0;
};

/// What a listening endpoint binds: the first address of `host`, a number (IPv6 in brackets or not)
/// or a name. Port 0 takes a free one; a fixed port that is in use is tried upwards `retries` times
/// (Spark spark.port.maxRetries).
struct Listen {
  std::string host = "0.0.0.0";
  int port = 0;
  int retries = 16;
  int64_t max_message_bytes = 128 << 20;
};

/// An endpoint over ZeroMQ: listens when asked to, and can connect out. `port()` tells the bound
/// port.
class SocketEndpoint : public Endpoint {
 public:
  virtual Result<int> listen(const Listen& where) = 0;
};
std::unique_ptr<SocketEndpoint> make_socket_endpoint(PollLoop& loop);

/// How two in-memory endpoints know each other.
inline constexpr PeerId kMemoryPeer = 1;
/// Two endpoints of this process, one on each loop. Nothing is encoded twice: packets are handed
/// over.
std::pair<std::unique_ptr<Endpoint>, std::unique_ptr<Endpoint>> make_memory_endpoints(Loop& a,
                                                                                      Loop& b);

}  // namespace tinderbox::net
