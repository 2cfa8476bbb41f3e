// A client that speaks ZMTP by hand, so that it can send what no library would.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::zmtp {

using Frames = std::vector<Bytes>;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(20);
/// A peer that takes nothing for so long has all that it has room for.
constexpr std::chrono::milliseconds kFull = std::chrono::seconds(2);

struct Port {
  std::string kind;
  int number = 0;
};

inline Bytes big_endian(uint64_t v, int bytes) {
  Bytes out;
  for (int i = bytes; i-- > 0;) out += static_cast<char>(v >> (8 * i));
  return out;
}

/// ZMTP 3: flags (1 more, 2 long, 4 command), size, bytes. `claimed`: the size that is told.
inline Bytes zmtp_frame(const Bytes& body, int flags, uint64_t claimed) {
  const bool is_long = claimed > 255;
  return Bytes(1, static_cast<char>(flags | (is_long ? 2 : 0))) +
         big_endian(claimed, is_long ? 8 : 1) + body;
}
inline Bytes zmtp_frame(const Bytes& body, int flags) {
  return zmtp_frame(body, flags, body.size());
}
inline Bytes zmtp_message(const Frames& frames) {
  Bytes out;
  for (size_t i = 0; i < frames.size(); ++i) out += zmtp_frame(frames[i], i + 1 < frames.size());
  return out;
}
inline Bytes greeting() {
  Bytes out = Bytes("\xff") + Bytes(8, '\0') + Bytes("\x7f\x03") + Bytes(1, '\0') + "NULL";
  out.resize(64, '\0');
  return out;
}
inline Bytes ready(const Bytes& socket_type, const Bytes& identity) {
  const auto property = [](const Bytes& name, const Bytes& value) {
    return static_cast<char>(name.size()) + name + big_endian(value.size(), 4) + value;
  };
  return zmtp_frame(
      "\x05READY" + property("Socket-Type", socket_type) + property("Identity", identity), 4);
}

class Connection {
 public:
  explicit Connection(const Port& port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port.number));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("cannot connect to " + port.kind + " port " +
                               std::to_string(port.number));
    fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// As a well-behaved DEALER begins: what comes before the peer's READY would be a fault of its
  /// own.
  Connection& handshake(const Bytes& socket_type = "DEALER", const Bytes& identity = "") {
    send(greeting() + ready(socket_type, identity));
    if (!hears("READY") && !ended_) throw std::runtime_error("no READY from a port");
    return *this;
  }
  /// False: the peer ended the connection, or takes nothing for a while. `reading`: what comes is
  /// taken meanwhile.
  bool send(const Bytes& bytes, bool reading = true) {
    for (size_t at = 0; at < bytes.size() && !ended_;) {
      const ssize_t n = ::send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (n > 0)
        at += static_cast<size_t>(n);
      else if (n < 0 && errno != EAGAIN)
        ended_ = true;
      else if (!wait(POLLOUT | (reading ? POLLIN : 0), reading ? kPatience : kFull))
        return false;
      if (reading) take();
    }
    return !ended_;
  }
  bool send(const Frames& frames) { return send(zmtp_message(frames)); }
  /// Whether the peer ends the connection in time.
  bool ends(std::chrono::milliseconds patience = kPatience) {
    until([] { return false; }, patience);
    return ended_;
  }
  /// Whether `text` comes in time.
  bool hears(const Bytes& text) {
    until([&] { return heard_.find(text) != Bytes::npos; }, kPatience);
    return heard_.find(text) != Bytes::npos;
  }
  const Bytes& heard() const { return heard_; }

 private:
  template <class F>
  void until(F done, std::chrono::milliseconds patience) {
    const auto limit = Clock::now() + patience;
    for (take(); !ended_ && !done() && Clock::now() < limit; take())
      wait(POLLIN, std::chrono::milliseconds(200));
  }
  bool wait(int events, std::chrono::milliseconds most) {
    pollfd p{fd_, static_cast<short>(events), 0};
    return poll(&p, 1, static_cast<int>(most.count())) > 0;
  }
  void take() {
    char buffer[65536];
    ssize_t n;
    while ((n = recv(fd_, buffer, sizeof buffer, 0)) > 0)
      if (heard_.size() < (1 << 20)) heard_.append(buffer, static_cast<size_t>(n));
    if (n == 0 || (errno != EAGAIN && errno != ENOTCONN)) ended_ = true;
  }

  int fd_;
  bool ended_ = false;
  Bytes heard_;
};

}  // namespace tinderbox::zmtp
