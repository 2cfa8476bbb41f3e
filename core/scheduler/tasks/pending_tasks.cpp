// Tasks that wait for a slot, by where they would rather run.
#include "core/scheduler/tasks/pending_tasks.hpp"

#include <algorithm>

namespace tinderbox::core {

void Lists::expect(const std::vector<int32_t>& sizes) {
  lists_.resize(std::max(lists_.size(), sizes.size()));
  for (size_t key = 0; key < sizes.size(); ++key)
    lists_[key].stack.reserve(static_cast<size_t>(sizes[key]));
}

void Lists::push(int32_t key, int32_t index) {
  const auto at = static_cast<size_t>(key);
  if (at >= lists_.size()) lists_.resize(at + 1);
  lists_[at].listed = true;
  lists_[at].stack.push_back(index);
  first_ = std::min(first_, at);
}

size_t Lists::entries() const {
  size_t n = 0;
  for (const List& list : lists_) n += list.stack.size();
  return n;
}

PendingTasks::PendingTasks(const Places& places, Executors& executors, int32_t fresh)
    : places_(places), executors_(executors), fresh_(fresh), located_(places.any()) {
  start_over();
}

void PendingTasks::start_over() {
  for_executor_ = for_host_ = Lists();
  no_prefs_.clear();
  again_.clear();
  next_ = 0;
  if (!located_) return;
  expect_places();
  for (int32_t i = fresh_; i-- > 0;) list(i);
}

size_t PendingTasks::entries() const {
  return again_.size() + no_prefs_.size() + for_executor_.entries() + for_host_.entries();
}

/// Lists that grow as they are filled would have room for twice as much.
void PendingTasks::expect_places() {
  std::vector<int32_t> on_host;
  for (int32_t i = 0; i < fresh_; ++i)
    for (const Place& place : places_.of(i)) {
      const auto host = static_cast<size_t>(place.host);
      if (host >= on_host.size()) on_host.resize(host + 1);
      ++on_host[host];
    }
  for_host_.expect(on_host);
}

void PendingTasks::push(int32_t index) {
  if (located_) list(index);
  again_.push_back(index);
}

void PendingTasks::list(int32_t index) {
  const std::span<const Place> places = places_.of(index);
  if (places.empty()) no_prefs_.push_back(index);
  for (const Place& place : places) {
    if (place.executor >= 0) for_executor_.push(place.executor, index);
    if (place.executor == Place::kCached)
      for (const int32_t e : executors_.active())
        if (executors_.at(e).host == place.host) for_executor_.push(e, index);
    for_host_.push(place.host, index);
  }
}

std::span<const int32_t> PendingTasks::upcoming(int32_t executor) {
  constexpr size_t kSome = 8;
  const int32_t host = located_ ? executors_.at(executor).host : -1;
  const Stack* const stack = host < 0 ? nullptr : for_host_.at(host);
  if (!stack) return {};
  return std::span(*stack).last(std::min(kSome, stack->size()));
}

bool PendingTasks::executor_alive() const {
  return for_executor_.any_key([&](int32_t slot) { return executors_.alive(slot); });
}

bool PendingTasks::host_alive() const {
  return for_host_.any_key([&](int32_t host) { return executors_.host_alive(host); });
}

}  // namespace tinderbox::core
