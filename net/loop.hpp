// A loop is one thread that owns sockets, timers and child processes, and feeds one or more
// machines.
#pragma once

#include <functional>
#include <memory>

#include "net/types.hpp"

namespace tinderbox::net {

/// Thread: everything but post() and now() is called on the loop's own thread (or before run()).
class Loop {
 public:
  using Task = std::function<void()>;
  virtual ~Loop() = default;
  /// Thread: any. Never goes back.
  virtual Time now() const = 0;
  /// Runs `task` once, not before `delay` has passed. Timers are never cancelled.
  virtual void after(Duration delay, Task task) = 0;
  /// Thread: any. Runs `task` on the loop's thread, in the order of posting.
  virtual void post(Task task) = 0;
  /// Returns after stop() was called; may then be run again.
  virtual void run() = 0;
  /// Thread: any.
  virtual void stop() = 0;
};

/// The poll loop over real time: sockets, descriptors, timers and an inbox for other threads.
class PollLoop : public Loop {
 public:
  /// Calls `ready` on the loop's thread while `fd` is readable.
  virtual void watch(int fd, Task ready) = 0;
  virtual void unwatch(int fd) = 0;
  /// A ZeroMQ socket (void*): `ready` is called when it may have messages and must read until none
  /// is left, or say used().
  virtual void watch_socket(void* socket, Task ready) = 0;
  virtual void unwatch_socket(void* socket) = 0;
  /// Something was sent through a watched socket, which may have taken the signal that something
  /// came: it is looked at again before the loop waits.
  virtual void used(void* socket) = 0;
  /// It was read until none was left, since it was last used.
  virtual void drained(void* socket) = 0;
};

struct PollLoopOptions {
  /// A timer that is as late as this, or a wait as much too long, tells that the process was
  /// stopped: what peers sent meanwhile is read before a timer may call them silent.
  Duration stopped = std::chrono::seconds(1);
  /// For the threads of sockets to bring it.
  Duration catch_up = std::chrono::milliseconds(100);
};
std::unique_ptr<PollLoop> make_poll_loop(PollLoopOptions options = {});

}  // namespace tinderbox::net
