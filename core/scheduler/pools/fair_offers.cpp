// Offers in FAIR mode: each slot to the task set that is first when it is given.
#include <algorithm>
#include <utility>

#include "core/scheduler/tasks/task_scheduler.hpp"

namespace tinderbox::core {

namespace {
/// A round of many slots is given out in about so many portions, so that its cost grows with the
/// slots and not with their square. Up to here each slot is a portion.
constexpr int32_t kPortions = 64;
}  // namespace

void TaskScheduler::refresh_pools() {
  if (std::exchange(pools_stale_, false))
    pools_.refresh(queue_);
  else
    pools_.refresh();
}

bool TaskScheduler::contested() {
  if (!pools_.fair()) return false;
  refresh_pools();
  return pools_.contested();
}

/// What one set met in a round decides on its delay timer once, at the end, however many portions
/// it got.
TaskScheduler::Pass& TaskScheduler::pass_of(TaskSet& set) {
  for (Pass& pass : passes_)
    if (pass.set == &set) return pass;
  return passes_.emplace_back(Pass{&set});
}

void TaskScheduler::fair_offers(std::vector<Offer> offers, bool all_free, bool ahead, Turn& turn) {
  int32_t slots = 0;
  for (const Offer& offer : offers) slots += offer.slots;
  refresh_pools();
  const int32_t portion = pools_.contested() ? 1 + slots / kPortions : slots;
  passes_.clear();
  for (TaskSet* set = pools_.first(); set && !offers.empty(); set = pools_.first()) {
    const int32_t most = set->barrier() ? slots : portion;
    quota_ = most;
    offer_set(pass_of(*set), offers, ahead, turn);
    const int32_t launched = most - quota_;
    pools_.launched(*set);
    if (quota_ > 0) pools_.pass(*set);
    std::erase_if(offers, [](const Offer& o) { return o.slots <= 0; });
    // The next set starts where this one stopped: tasks spread over the executors.
    if (!offers.empty())
      std::rotate(offers.begin(),
                  offers.begin() + launched % static_cast<std::ptrdiff_t>(offers.size()),
                  offers.end());
  }
  if (ahead) return;
  for (const Pass& pass : passes_) reset_delay(pass, all_free, turn);
}

/// The next free slot may belong to another pool than the tasks ahead.
void TaskScheduler::take_all_back(Turn& turn) {
  for (const int32_t slot : executors_.active()) {
    Executor& e = executors_.at(slot);
    if (e.ahead > 0) ask_back(e, e.ahead, turn);
  }
}

}  // namespace tinderbox::core
