// Where the tasks of a barrier stage wait for each other.
#include "core/scheduler/dag/barrier_coordinator.hpp"

namespace tinderbox::core {

namespace {

std::string text(StageId stage, int32_t attempt) {
  return "Stage " + std::to_string(stage.value) + " (Attempt " + std::to_string(attempt) + ")";
}

std::string method(bool gathers) { return gathers ? "`ALL_GATHER`" : "`BARRIER`"; }

}  // namespace

void BarrierCoordinator::start(StageId stage, int32_t attempt, int32_t tasks) {
  State& state = stages_[stage] = {};
  state.attempt = attempt;
  state.waiting.resize(static_cast<size_t>(tasks));
}

/// Empty: it is a request for the barrier that the others wait at.
std::string BarrierCoordinator::why_not(const State* state, const BarrierSync& r) const {
  const std::string id = text(r.stage, r.stage_attempt);
  if (!state || state->attempt != r.stage_attempt || state->epoch != r.epoch)
    return "The request to sync of " + id + " with barrier epoch " + std::to_string(r.epoch) +
           " has already finished. Maybe task " + std::to_string(r.task.value) +
           " is not properly killed.";
  if (r.partition < 0 || static_cast<size_t>(r.partition) >= state->waiting.size())
    return "Number of tasks of " + id + " is " + std::to_string(state->waiting.size()) + ": task " +
           std::to_string(r.task.value) + " of partition " + std::to_string(r.partition) +
           " is none of them.";
  return {};
}

void BarrierCoordinator::sync(PeerId from, BarrierSync r, Turn& turn) {
  const auto it = stages_.find(r.stage);
  State* state = it == stages_.end() ? nullptr : &it->second;
  if (std::string error = why_not(state, r); !error.empty())
    return turn.send(from, BarrierReached{r.request, std::move(error), {}});
  if (state->arrived == 0) {
    state->gathers = r.gathers;
    state->deadline = turn.now + timeout_;
    set_timer(*state, turn);
  }
  std::optional<Waiter>& waiter = state->waiting[static_cast<size_t>(r.partition)];
  state->arrived += waiter ? 0 : 1;
  waiter = Waiter{from, r.request, std::move(r.message)};
  if (state->gathers != r.gathers)
    return fail(r.stage,
                text(r.stage, r.stage_attempt) + " tried to use requestMethod " +
                    method(r.gathers) + " during barrier epoch " + std::to_string(r.epoch) +
                    ", which does not match the current synchronized requestMethod " +
                    method(state->gathers),
                turn);
  if (state->arrived == state->waiting.size()) reach(*state, turn);
}

void BarrierCoordinator::reach(State& state, Turn& turn) {
  std::vector<std::string> messages;
  for (std::optional<Waiter>& w : state.waiting) messages.push_back(std::move(w->message));
  for (std::optional<Waiter>& w : state.waiting) {
    turn.send(w->peer, BarrierReached{w->request, {}, messages});
    w.reset();
  }
  state.arrived = 0;
  ++state.epoch;
}

/// The attempt is lost: its tasks fail with `error`.
void BarrierCoordinator::fail(StageId stage, const std::string& error, Turn& turn) {
  const auto it = stages_.find(stage);
  for (const std::optional<Waiter>& w : it->second.waiting)
    if (w) turn.send(w->peer, BarrierReached{w->request, error, {}});
  stages_.erase(it);
}

/// One at a time, however many barriers there are: it is set again when it comes too early.
void BarrierCoordinator::set_timer(State& state, Turn& turn) {
  if (state.timer >= 0) return;
  state.timer = next_timer_++;
  turn.after(state.deadline - turn.now, DriverTimer::Kind::BarrierSync, state.timer);
}

void BarrierCoordinator::timer(int64_t number, Turn& turn) {
  for (auto& [stage, state] : stages_) {
    if (state.timer != number) continue;
    state.timer = -1;
    if (state.arrived == 0) return;
    if (turn.now < state.deadline) return set_timer(state, turn);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout_).count();
    return fail(stage,
                "The coordinator didn't get all barrier sync requests for barrier epoch " +
                    std::to_string(state.epoch) + " from " + text(stage, state.attempt) +
                    " within " + std::to_string(seconds) + " second(s).",
                turn);
  }
}

}  // namespace tinderbox::core
