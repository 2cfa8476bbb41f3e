// httplib's server within bounds: what a connection may cost, in bytes, time, threads and memory.
#pragma once

#include <mutex>
#include <set>

#include "net/http/httplib.hpp"

namespace tinderbox::net {

// Of a request's path, and of its body. Unit: bytes.
inline constexpr size_t kMaxPath = 1024;
inline constexpr size_t kMaxBody = 1 << 20;

/// 16 connections at a time and 256 waiting, one request a connection, 10 s to read it, 30 s for
/// all of it. The bounds of what it serves are HttpServer's.
class BoundedServer final : public httplib::Server {
 public:
  BoundedServer();
  /// Wakes whoever waits for a peer.
  void end_connections();

 private:
  bool process_and_close_socket(socket_t sock) override;

  std::mutex mutex_;  // guards all below
  std::set<socket_t> open_;
  bool ending_ = false;
};

}  // namespace tinderbox::net
