// Packets ↔ ZeroMQ frames. Private to net/.
//
// Frame 0 is 8 bytes: magic 'T' 'B', protocol version, conversation, tag (little endian 16 bits),
// two bytes reserved. Frame 1 is the msgpack body; further frames are payloads that the body refers
// to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/transport/endpoint.hpp"

namespace tinderbox::net {

inline constexpr uint8_t kProtocolVersion = 1;
inline constexpr size_t kMaxFrames = 1 << 16;

/// Reads one whole multipart message without waiting. `fd`: descriptor that it came over, or -1.
/// Shape: frames[0…] as they came. False: nothing there.
bool receive_frames(void* socket, std::vector<Payload>& frames, int& fd);

/// Frames from `first` on, checked; nullopt when they are no packet of ours.
std::optional<Packet> parse_packet(const std::vector<Payload>& frames, size_t first);

/// Sends `route` (when not empty) and the packet. Never waits. False: the socket refused it.
bool send_packet(void* socket, std::string_view route, const Packet& packet);

}  // namespace tinderbox::net
