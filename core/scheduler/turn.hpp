// One event's turn through the Driver machine: the time, and where its effects go.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "core/scheduler/driver_io.hpp"

namespace tinderbox::core {

/// Shape: all listener events of a turn are one Publish, which stands where the first of them was
/// posted; so it precedes every result that those events announce.
class Turn {
 public:
  /// `number`: of this turn, different from all earlier ones.
  Turn(Time time, uint64_t number, DriverEffects& effects) : now(time), id(number), out(effects) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  const Time now;
  const uint64_t id;
  DriverEffects& out;

  /// Appends an event to fill in; valid until the next one.
  template <class E>
  E& post() {
    return std::get<E>(events().emplace_back(std::in_place_type<E>));
  }
  /// What was posted so far; null: nothing.
  const std::vector<ListenerEvent>* posted() const;
  /// About so many events will follow.
  void expect(size_t n) { expected_ = n; }

  void send(PeerId to, ToExecutor message);
  void after(Duration delay, DriverTimer::Kind kind, int64_t number = 0, std::string name = {});
  void log(Level level, std::string line);

 private:
  std::vector<ListenerEvent>& events();

  static constexpr size_t kNone = ~size_t{0};
  size_t publish_ = kNone;
  size_t expected_ = 8;
};

}  // namespace tinderbox::core
