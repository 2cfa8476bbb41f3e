// Offers to barrier sets: places are only reserved until there is one for every task.
// Source: Spark 4.3 TaskSchedulerImpl.resourceOffers.
#include "core/scheduler/tasks/task_scheduler.hpp"

namespace tinderbox::core {

namespace {
/// How often the log says that a set waits. Source: TaskSetManager.BARRIER_LOGGING_INTERVAL.
constexpr Duration kSayAgain = std::chrono::minutes(1);

std::string with_commas(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ",") + parts[i];
  return text;
}

/// Who holds what is reserved: attempts have no id yet. No task has a negative one.
TaskId stand_in(size_t reserved) { return TaskId{-1 - static_cast<int64_t>(reserved)}; }
}  // namespace

int32_t TaskScheduler::total_slots(int32_t profile) const {
  const Profiles& profiles = executors_.profiles();
  int32_t slots = 0;
  for (const int32_t slot : executors_.active()) {
    const Executor& e = executors_.at(slot);
    if (e.profile == profile)
      slots += e.slots;
    else if (profiles.may_run(profile, e.profile))
      slots += profiles.slots(profile, e.cores, e.resources);
  }
  return slots;
}

/// Tasks of the set that the offers have room for.
int32_t TaskScheduler::slots_for(const TaskSet& set, const std::vector<Offer>& offers) const {
  int32_t slots = 0;
  for (const Offer& offer : offers)
    slots += resources_ ? resources_->room(set.spec().profile, executors_.at(offer.executor))
                        : offer.slots;
  return slots;
}

void TaskScheduler::say_why_it_waits(TaskSet& set, std::string why, Turn& turn) {
  if (set.told_to_wait && turn.now - *set.told_to_wait < kSayAgain) return;
  set.told_to_wait = turn.now;
  turn.log(Level::Info, std::move(why));
}

/// What it needs is taken like that of a task that runs: the next one of the set finds the rest.
void TaskScheduler::reserve(Pass& pass, const TaskSet::Pick& pick, size_t offer, int32_t executor) {
  if (resources_) {
    Executor& e = executors_.at(executor);
    resources_->take(stand_in(pass.reserved.size()), pass.set->spec().profile, e);
    ++e.running;
  }
  pass.reserved.push_back({pick, pass.set->start(pick.index), offer});
}

void TaskScheduler::offer_barrier(Pass& pass, std::vector<Offer>& offers, Turn& turn) {
  TaskSet& set = *pass.set;
  pass.reserved.clear();
  const int32_t slots = slots_for(set, offers);
  const std::string stage = "barrier stage " + std::to_string(set.spec().stage.value);
  if (slots < set.size())
    return say_why_it_waits(
        set,
        "Skip current round of resource offers for " + stage +
            " because the barrier taskSet requires " + std::to_string(set.size()) +
            " slots, while the total number of available slots is " + std::to_string(slots) + ".",
        turn);
  const TaskSet::Levels levels = set.levels();
  for (const Locality level : levels)
    while (offer_level(pass, level, offers, false, turn)) pass.launched = true;
  const int32_t placed = static_cast<int32_t>(pass.reserved.size());
  if (placed == set.size()) return launch_together(pass, offers, turn);
  give_back(pass, offers);
  if (placed > 0 && options_.locality_legacy_reset)
    return abort(set,
                 "Fail resource offers for " + stage + " because only " + std::to_string(placed) +
                     " out of a total number of " + std::to_string(set.size()) +
                     " tasks got resource offers. We highly recommend you to use the non-legacy "
                     "delay scheduling by setting spark.locality.wait.legacyResetOnTaskLaunch to "
                     "false to get rid of this error.",
                 turn);
  if (placed > 0)
    say_why_it_waits(set,
                     "Releasing the assigned resource offers since only partial tasks can be "
                     "launched. Waiting for later round resource offers.",
                     turn);
}

/// What is taken back again and again, round by round, must leave nothing in the lists.
void TaskScheduler::give_back(Pass& pass, std::vector<Offer>& offers) {
  for (size_t i = 0; i < pass.reserved.size(); ++i) {
    const Pass::Reserved& r = pass.reserved[i];
    Offer& offer = offers[r.offer];
    pass.set->take_back(r.pick.index, r.number);
    ++quota_;
    ++offer.slots;
    if (!resources_) continue;
    Executor& e = executors_.at(offer.executor);
    resources_->give_back(stand_in(i));
    --e.running;
    offer.slots = resources_->free_slots(e);
  }
  pass.set->start_over();
}

void TaskScheduler::launch_together(Pass& pass, std::vector<Offer>& offers, Turn& turn) {
  TaskSet& set = *pass.set;
  give_back(pass, offers);
  std::vector<std::string> addresses(pass.reserved.size());
  for (const Pass::Reserved& r : pass.reserved)
    addresses.at(static_cast<size_t>(set.partition(r.pick.index))) =
        executors_.at(offers[r.offer].executor).address.address;
  set.addresses = with_commas(addresses);
  for (const Pass::Reserved& r : pass.reserved) {
    if (!launch(set, r.pick, offers[r.offer].executor, false, turn)) return;
    one_taken(offers[r.offer]);
    --quota_;
  }
}

}  // namespace tinderbox::core
