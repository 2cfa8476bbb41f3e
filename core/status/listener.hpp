// What hears the events of an application.
#pragma once

#include <span>

#include "core/status/events.hpp"

namespace tinderbox::core {

/// Thread: one, the bus's. Must not post to its own bus and wait.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Events in the order of posting; at least one.
  virtual void on_events(std::span<const ListenerEvent> events) = 0;
};

}  // namespace tinderbox::core
