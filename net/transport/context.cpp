#include "net/transport/context.hpp"

#include <zmq.h>

#include "net/mutex.hpp"

namespace tinderbox::net {

std::shared_ptr<void> socket_context() {
  static Mutex mutex;
  static std::weak_ptr<void> shared;
  Lock lock(mutex);
  if (auto context = shared.lock()) return context;
  void* raw = zmq_ctx_new();
  zmq_ctx_set(raw, ZMQ_MAX_SOCKETS, 65535);
  zmq_ctx_set(raw, ZMQ_IPV6, 1);
  std::shared_ptr<void> context(raw, [](void* c) { zmq_ctx_term(c); });
  shared = context;
  return context;
}

}  // namespace tinderbox::net
