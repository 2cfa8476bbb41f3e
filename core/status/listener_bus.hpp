// Delivers listener events to listeners on a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/status/listener.hpp"

namespace tinderbox::core {

/// One queue, one thread, any number of listeners; each gets every event, in order. A listener that
/// throws misses the rest of that batch, the others don't notice. Source: Spark LiveListenerBus,
/// AsyncEventQueue.
class ListenerBus {
 public:
  struct Options {
    /// Events that may wait (spark.scheduler.listenerbus.eventqueue.capacity); more are dropped.
    /// 0: no bound, nothing is ever dropped.
    size_t capacity = 0;
    /// Called with one line when events were dropped, at most every 60 s, and when a listener
    /// throws. Thread: any.
    std::function<void(const std::string&)> warn;
    /// Clock of the 60 s.
    std::function<Time()> now;
    /// Called before each batch is delivered; must not throw. Thread: the bus's.
    std::function<void()> before_batch;
  };
  /// What went through the bus. Source: Spark LiveListenerBus metrics.
  struct Counters {
    uint64_t posted = 0;  // accepted and dropped ones
    uint64_t dropped = 0;
    uint64_t delivered = 0;  // to all listeners
    bool operator==(const Counters&) const = default;
  };

  explicit ListenerBus(Options options);
  /// stop().
  ~ListenerBus();

  /// It gets every event from the next batch on; all of them when it was added before start().
  /// Thread: any.
  void add(std::shared_ptr<Listener> listener);
  /// Events posted before are delivered now.
  void start();
  /// Never blocks. The batch is taken whole: it is dropped whole when the queue has no room for all
  /// of it. Dropped too once stopped. Thread: any.
  void post(std::vector<ListenerEvent> events);
  void post(ListenerEvent event);
  /// Waits until what was posted before was delivered. Thread: any but the bus's.
  void drain();
  /// Delivers what waits, then ends the thread. Idempotent.
  void stop();
  Counters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tinderbox::core
