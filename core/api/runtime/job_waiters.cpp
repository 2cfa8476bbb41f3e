#include "core/api/runtime/job_waiters.hpp"

#include <utility>

namespace tinderbox::core {
namespace {

/// Events and logs say what Spark's do; an application would print a heading of nothing.
std::string without_heading(std::string error) {
  constexpr std::string_view kHeading = "\nDriver stacktrace:";
  if (!error.ends_with(kHeading)) return error;
  error.resize(error.size() - kHeading.size());
  while (error.ends_with('\n')) error.pop_back();
  return error;
}

}  // namespace

uint64_t JobWaiters::open() {
  net::Lock lock(mutex_);
  auto waiter = std::make_unique<Waiter>();
  waiter->taken.ended = !closed_.empty();
  waiter->taken.error = closed_;
  waiters_[++last_] = std::move(waiter);
  return last_;
}

void JobWaiters::close(const std::string& error) {
  net::Lock lock(mutex_);
  closed_ = error;
  for (auto& [ticket, waiter] : waiters_) {
    if (std::exchange(waiter->taken.ended, true)) continue;
    waiter->taken.error = error;
    waiter->changed.notify_one();
  }
}

void JobWaiters::wait_for_news(uint64_t ticket) {
  net::Lock lock(mutex_);
  Waiter& w = *waiters_.at(ticket);
  while (w.taken.results.empty() && !w.taken.ended) w.changed.wait(lock);
}

JobWaiters::Taken JobWaiters::wait(uint64_t ticket, const Merge& merge) {
  wait_for_news(ticket);
  net::Lock one_merges(merge_mutex_);
  std::vector<AccumulatorUpdate> updates;
  Taken taken;
  {
    net::Lock lock(mutex_);
    updates.swap(updates_);
    std::swap(taken, waiters_.at(ticket)->taken);
    if (taken.ended) waiters_.erase(ticket);
  }
  if (!updates.empty()) merge(updates);
  return taken;
}

void JobWaiters::merge_now(const Merge& merge) {
  net::Lock one_merges(merge_mutex_);
  std::vector<AccumulatorUpdate> updates;
  {
    net::Lock lock(mutex_);
    updates.swap(updates_);
  }
  if (!updates.empty()) merge(updates);
}

void JobWaiters::put(DeliverResult result) { results_of_turn_.push_back(std::move(result)); }
void JobWaiters::put(DeliverJobEnd end) { ends_of_turn_.push_back(std::move(end)); }
void JobWaiters::put(const ApplyAccumulators& a) {
  updates_of_turn_.insert(updates_of_turn_.end(), a.updates.begin(), a.updates.end());
}

void JobWaiters::end_of_updates() {
  if (updates_of_turn_.empty()) return;
  net::Lock lock(mutex_);
  std::move(updates_of_turn_.begin(), updates_of_turn_.end(), std::back_inserter(updates_));
  updates_of_turn_.clear();
}

void JobWaiters::end_of_turn() {
  end_of_updates();
  if (results_of_turn_.empty() && ends_of_turn_.empty()) return;
  net::Lock lock(mutex_);
  for (DeliverResult& r : results_of_turn_) {
    auto w = waiters_.find(r.ticket);
    if (w == waiters_.end()) continue;
    w->second->taken.results.push_back(std::move(r));
    if (w->second->taken.results.size() == 1) w->second->changed.notify_one();
  }
  results_of_turn_.clear();
  for (DeliverJobEnd& e : ends_of_turn_) {
    auto w = waiters_.find(e.ticket);
    if (w == waiters_.end()) continue;
    w->second->taken.ended = true;
    w->second->taken.error = without_heading(std::move(e.error));
    w->second->changed.notify_one();
  }
  ends_of_turn_.clear();
}

}  // namespace tinderbox::core
