#include "net/wire/frames.hpp"

#include <zmq.h>

#include <cstring>
#include <optional>

namespace tinderbox::net {
namespace {

constexpr size_t kHeaderSize = 8;
constexpr size_t kCopyBelow = 1024;

struct OwnedMessage {
  zmq_msg_t msg;
  OwnedMessage() { zmq_msg_init(&msg); }
  ~OwnedMessage() { zmq_msg_close(&msg); }
  OwnedMessage(const OwnedMessage&) = delete;
  OwnedMessage& operator=(const OwnedMessage&) = delete;
};

bool send_copy(void* socket, std::string_view bytes, int flags) {
  return zmq_send(socket, bytes.data(), bytes.size(), flags) >= 0;
}

/// Hands the memory to ZeroMQ's I/O thread, which frees our share of it.
bool send_shared(void* socket, const Payload& payload, int flags) {
  if (payload.size() < kCopyBelow) return send_copy(socket, payload.view(), flags);
  auto* share = new Payload(payload);
  zmq_msg_t msg;
  zmq_msg_init_data(
      &msg, const_cast<char*>(payload.view().data()), payload.size(),
      [](void*, void* hint) { delete static_cast<Payload*>(hint); }, share);
  if (zmq_msg_send(&msg, socket, flags) >= 0) return true;
  zmq_msg_close(&msg);
  return false;
}

}  // namespace

bool receive_frames(void* socket, std::vector<Payload>& frames, int& fd) {
  frames.clear();
  fd = -1;
  for (bool more = true; more;) {
    auto owned = std::make_shared<OwnedMessage>();
    if (zmq_msg_recv(&owned->msg, socket, ZMQ_DONTWAIT) < 0) return false;
    more = zmq_msg_more(&owned->msg);
    if (fd < 0) fd = zmq_msg_get(&owned->msg, ZMQ_SRCFD);
    if (frames.size() >= kMaxFrames) continue;  // refused by parse_packet; read it off all the same
    std::string_view view(static_cast<const char*>(zmq_msg_data(&owned->msg)),
                          zmq_msg_size(&owned->msg));
    frames.emplace_back(std::move(owned), view);
  }
  return true;
}

std::optional<Packet> parse_packet(const std::vector<Payload>& frames, size_t first) {
  if (frames.size() < first + 2 || frames.size() >= kMaxFrames) return std::nullopt;
  std::string_view header = frames[first].view();
  if (header.size() != kHeaderSize || header[0] != 'T' || header[1] != 'B') return std::nullopt;
  if (static_cast<uint8_t>(header[2]) != kProtocolVersion) return std::nullopt;
  Packet packet;
  packet.conversation = static_cast<uint8_t>(header[3]);
  packet.tag =
      static_cast<uint16_t>(static_cast<uint8_t>(header[4]) | static_cast<uint8_t>(header[5]) << 8);
  packet.body = frames[first + 1];
  packet.frames.assign(frames.begin() + static_cast<long>(first) + 2, frames.end());
  return packet;
}

bool send_packet(void* socket, std::string_view route, const Packet& packet) {
  char header[kHeaderSize] = {'T',
                              'B',
                              static_cast<char>(kProtocolVersion),
                              static_cast<char>(packet.conversation),
                              static_cast<char>(packet.tag & 0xff),
                              static_cast<char>(packet.tag >> 8),
                              0,
                              0};
  constexpr int more = ZMQ_DONTWAIT | ZMQ_SNDMORE;
  if (!route.empty() && !send_copy(socket, route, more)) return false;
  if (!send_copy(socket, {header, kHeaderSize}, more)) return false;
  bool ok = send_shared(socket, packet.body, packet.frames.empty() ? ZMQ_DONTWAIT : more);
  for (size_t i = 0; ok && i < packet.frames.size(); ++i)
    ok = send_shared(socket, packet.frames[i], i + 1 < packet.frames.size() ? more : ZMQ_DONTWAIT);
  return ok;
}

}  // namespace tinderbox::net
