// Where the tasks of a barrier stage wait for each other. Source: Spark 4.3 BarrierCoordinator.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/scheduler/turn.hpp"

namespace tinderbox::core {

/// Of each barrier stage the attempt that runs, and who of its tasks has come to the barrier.
class BarrierCoordinator {
 public:
  /// `timeout`: from the first task's request to the last one's; must outlive this.
  explicit BarrierCoordinator(const Duration& timeout) : timeout_(timeout) {}

  void start(StageId stage, int32_t attempt, int32_t tasks);
  /// Tasks that wait are not answered: whoever ends an attempt early kills them.
  void end(StageId stage) { stages_.erase(stage); }
  /// Answers all tasks once the last one has asked; at once what does not belong to the barrier
  /// that they wait at.
  void sync(PeerId from, BarrierSync request, Turn& turn);
  void timer(int64_t number, Turn& turn);
  size_t size() const { return stages_.size(); }

 private:
  struct Waiter {
    PeerId peer = 0;
    uint64_t request = 0;
    std::string message;
  };
  struct State {
    int32_t attempt = 0;
    int32_t epoch = 0;                           // barriers passed
    std::vector<std::optional<Waiter>> waiting;  // by partition
    size_t arrived = 0;                          // of them
    bool gathers = false;                        // what the first one called
    Time deadline{};
    int64_t timer = -1;  // the number of the one timer that is set; −1: none
  };
  std::string why_not(const State* state, const BarrierSync& request) const;
  void set_timer(State& state, Turn& turn);
  static void reach(State& state, Turn& turn);
  void fail(StageId stage, const std::string& error, Turn& turn);

  const Duration& timeout_;
  std::map<StageId, State> stages_;
  int64_t next_timer_ = 0;
};

}  // namespace tinderbox::core
