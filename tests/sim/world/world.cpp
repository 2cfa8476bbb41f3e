#include "tests/sim/world/world.hpp"

#include <algorithm>
#include <cstdio>

namespace tinderbox::sim {

void World::push(Entry entry) {
  queue_.push_back(std::move(entry));
  std::push_heap(queue_.begin(), queue_.end());
}

void World::after(const ProcessPtr& process, Duration delay, Task task) {
  push({now_ + std::max(delay, Duration{0}), sequence_++, process, std::move(task)});
}

bool World::step(Time until) {
  if (queue_.empty() || queue_.front().at > until) {
    now_ = std::max(now_, until);
    return false;
  }
  std::pop_heap(queue_.begin(), queue_.end());
  Entry entry = std::move(queue_.back());
  queue_.pop_back();
  now_ = entry.at;
  if (entry.process && !entry.process->alive) return true;
  if (entry.process && entry.process->paused_until > now_) {
    entry.at = entry.process->paused_until;  // its sequence stays: so does the order
    strike(entry.process->held_up);
    push(std::move(entry));
    return true;
  }
  ++steps_;
  note(static_cast<uint64_t>(now_.time_since_epoch().count()));
  entry.task();
  return true;
}

void World::trace(std::string_view who, const std::string& line) {
  if (!traced_) return;
  const int64_t us = now_.time_since_epoch().count() - 1'000'000'000;
  std::fprintf(stderr, "%4lld.%06lld %-10.*s %s\n", static_cast<long long>(us / 1'000'000),
               static_cast<long long>(us % 1'000'000), static_cast<int>(who.size()), who.data(),
               line.c_str());
}

namespace {
constexpr int64_t kMillion = 1'000'000;
}  // namespace

Time SimLoop::now() const {
  const Duration elapsed = world_.now().time_since_epoch();
  return Time{elapsed + process_->skew + elapsed * process_->drift / kMillion};
}

/// Not before the process's own clock has passed `delay`.
void SimLoop::after(Duration delay, Task task) {
  const Duration real = delay * kMillion / (kMillion + process_->drift) + Duration{3};
  world_.after(process_, delay <= Duration{0} ? Duration{1} : real, std::move(task));
}

}  // namespace tinderbox::sim
