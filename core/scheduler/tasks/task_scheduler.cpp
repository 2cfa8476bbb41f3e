// Task sets, executors and offers.
#include "core/scheduler/tasks/task_scheduler.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/scheduler/tasks/task_end.hpp"

namespace tinderbox::core {

TaskScheduler::TaskScheduler(const DriverOptions& options, const ProgramCodec& codec,
                             Executors& executors, StageProgress& progress)
    : options_(options),
      codec_(codec),
      executors_(executors),
      progress_(progress),
      pools_(options) {
  if (!profiles().needs(kDefaultProfile).resources.empty())
    resources_ = std::make_unique<TaskResources>(executors);
  if (options.exclusion.application)
    health_ = std::make_unique<HealthTracker>(options.exclusion, executors);
}

const TaskSet* TaskScheduler::task_set(StageId stage, int32_t attempt) const {
  for (const auto& set : queue_)
    if (set->spec().stage == stage && set->spec().attempt == attempt) return set.get();
  return nullptr;
}

void TaskScheduler::submit(TaskSetSpec spec, Turn& turn) {
  for (size_t i = queue_.size(); i-- > 0;)
    if (TaskSet& other = *queue_[i]; other.spec().stage == spec.stage) {
      other.make_zombie();
      finish_if_done(other, turn);
    }
  const auto rank = [](const TaskSetSpec& s) { return std::tuple(s.priority, s.stage, s.attempt); };
  const auto at =
      std::upper_bound(queue_.begin(), queue_.end(), rank(spec),
                       [&](const auto& key, const auto& set) { return key < rank(set->spec()); });
  if (spec.profile != kDefaultProfile) count_resources(spec.profile, turn);
  const int32_t pool = pools_.of(spec.properties, turn);
  const auto placed = queue_.insert(
      at,
      std::make_unique<TaskSet>(std::move(spec), executors_, options_, next_program_++, turn.now));
  (*placed)->place.pool = pool;
  pools_.touch(**placed);
  // By FIFO it goes before what later jobs have in queues already.
  if (!pools_.fair() &&
      std::any_of(placed + 1, queue_.end(), [](const auto& later) { return later->ahead > 0; }))
    take_all_back(turn);
  if (!submitted_any_ && !options_.is_local)
    turn.after(options_.starvation_timeout, DriverTimer::Kind::Starvation);
  submitted_any_ = true;
  start_speculation_timer(turn);
  offer_all_ = true;
}

void TaskScheduler::starvation(Turn& turn) {
  if (launched_any_) return;
  turn.log(Level::Warn,
           "Initial job has not accepted any resources; check your cluster UI to ensure that "
           "workers are registered and have sufficient resources" +
               (backend_status_.empty() ? "" : ": " + backend_status_));
  turn.after(options_.starvation_timeout, DriverTimer::Kind::Starvation);
}

void TaskScheduler::abort(TaskSet& set, const std::string& reason, Turn& turn) {
  if (set.retired) return;
  set.make_zombie();
  if (set.ahead > 0) take_all_back(turn);
  progress_.task_set_failed(set, reason, turn);
  finish_if_done(set, turn);
}

void TaskScheduler::finish_if_done(TaskSet& set, Turn& turn) {
  if (!set.zombie() || set.running() > 0 || set.retired) return;
  pools_.remove(set);
  set.retired = true;
  judge_executors(set, turn);
  unschedulable_.erase(set.program());
  set.each_sent([&](int32_t e) {
    if (executors_.alive(e)) turn.send(executors_.at(e).peer, ForgetProgram{set.program()});
  });
  const auto at =
      std::find_if(queue_.begin(), queue_.end(), [&](const auto& s) { return s.get() == &set; });
  retired_.push_back(std::move(*at));
  queue_.erase(at);
}

void TaskScheduler::cancel(StageId stage, const std::string& reason, bool interrupt, Turn& turn) {
  kill_attempts_of(stage, "Stage cancelled: " + reason, interrupt, turn);
  for (size_t i = queue_.size(); i-- > 0;)
    if (TaskSet& set = *queue_[i]; set.spec().stage == stage) {
      set.make_zombie();
      finish_if_done(set, turn);
    }
}

void TaskScheduler::kill_attempts_of(StageId stage, const std::string& reason, bool interrupt,
                                     Turn& turn) {
  const bool any = std::any_of(queue_.begin(), queue_.end(), [&](const auto& set) {
    return set->spec().stage == stage && set->running() > 0;
  });
  if (!any) return;
  attempts_.each([&](TaskId id, Attempt& a) {
    if (a.set->spec().stage == stage && !a.outrun)
      turn.send(executors_.at(a.executor).peer, KillTask{id, interrupt, reason});
  });
}

bool TaskScheduler::kill(TaskId task, bool interrupt, const std::string& reason, Turn& turn) {
  const Attempt* a = attempts_.find(task);
  if (a) turn.send(executors_.at(a->executor).peer, KillTask{task, interrupt, reason});
  return a;
}

void TaskScheduler::output_completed(StageId stage, int32_t output, Turn& turn) {
  for (size_t i = queue_.size(); i-- > 0;) {
    TaskSet& set = *queue_[i];
    if (set.spec().stage != stage) continue;
    if (const int32_t index = set.index_of(output); index >= 0) set.complete(index);
    finish_if_done(set, turn);
  }
}

// ---- executors ---------------------------------------------------------------------------------

void TaskScheduler::executor_ready(int32_t executor) {
  if (health_) update_excluded(executors_.at(executor));
  for (const auto& set : queue_) set->recompute_locality();
  update_idle(executor);
  offer_all_ = true;
}

void TaskScheduler::executor_suspended(int32_t executor) {
  update_idle(executor);
  for (const auto& set : queue_) set->recompute_locality();
}

void TaskScheduler::executor_draining(int32_t executor, Turn& turn) {
  executor_suspended(executor);
  Executor& e = executors_.at(executor);
  ask_back(e, e.ahead, turn);
}

bool TaskScheduler::busy(int32_t executor) {
  if (executors_.at(executor).running > 0) return true;
  return std::any_of(fetching_.begin(), fetching_.end(), [&](const auto& entry) {
    const Attempt* a = attempts_.find(entry.first);
    return a && a->executor == executor;
  });
}

namespace {

/// Whether the end of its executor counts against a task of that.
bool blamed(const ExecutorLoss& loss, TaskId id, const Attempt& a) {
  // A loss that was nobody's fault says nothing about the next one.
  if (!loss.caused_by_app) return false;
  if (loss.culprit.value >= 0) return id == loss.culprit;
  return a.running || (!a.ahead && a.set->lost_before_report(a.index));
}

}  // namespace

void TaskScheduler::executor_lost(int32_t executor, const ExecutorLoss& loss, Turn& turn) {
  update_idle(executor);
  if (health_) health_->executor_removed(executor);
  resubmit_lost(executor, turn);
  std::vector<TaskId> lost;
  attempts_.each([&](TaskId id, const Attempt& a) {
    if (a.executor == executor) lost.push_back(id);
  });
  for (const TaskId id : lost) {
    Attempt* a = attempts_.find(id);
    if (!a) continue;
    if (!a->announced && id != loss.culprit) {
      take_back(id, *a, turn);
      continue;
    }
    TaskEndReason reason = task_end(TaskEndKind::ExecutorLostFailure);
    reason.executor = executors_.at(executor).id;
    reason.exit_caused_by_app = blamed(loss, id, *a);
    reason.description = loss.reason;
    failed(id, std::move(reason), nullptr, turn);
  }
  if (resources_) resources_->executor_lost(executor);
  Executor& e = executors_.at(executor);
  e.asked.clear();
  e.ahead_queue.clear();
  for (const auto& set : queue_) set->recompute_locality();
  offer_all_ = true;
}

bool TaskScheduler::offerable(const Executor& e) const {
  return e.state == Executor::State::Active && !e.excluded && !e.killing;
}

void TaskScheduler::update_idle(int32_t executor) {
  Executor& e = executors_.at(executor);
  const int32_t free = resources_ ? resources_->free_slots(e) : e.free_slots();
  const int32_t slots = offerable(e) ? std::max(0, free) : 0;
  idle_slots_ += slots - e.idle_slots;
  e.idle_slots = slots;
  if (slots > 0 && e.idle_at < 0) {
    e.idle_at = static_cast<int32_t>(idle_.size());
    idle_.push_back(executor);
  } else if (slots == 0 && e.idle_at >= 0) {
    const int32_t last = idle_.back();
    idle_[static_cast<size_t>(e.idle_at)] = last;
    executors_.at(last).idle_at = e.idle_at;
    idle_.pop_back();
    e.idle_at = -1;
  }
}

void TaskScheduler::freed(int32_t executor, Turn& turn) {
  Executor& e = executors_.at(executor);
  if (std::exchange(e.freed_turn, turn.id) != turn.id) freed_.push_back(executor);
}

// ---- offers ------------------------------------------------------------------------------------

void TaskScheduler::collect_schedulable() {
  schedulable_.clear();
  for (const auto& set : queue_)
    if (set->wants_offers()) schedulable_.push_back(set.get());
}

/// Something that any one free slot could take.
bool TaskScheduler::anything_pending() const {
  return std::any_of(queue_.begin(), queue_.end(),
                     [](const auto& set) { return set->pending() > 0 && !set->barrier(); });
}

/// Copies of slow tasks too.
bool TaskScheduler::anything_to_offer() const {
  return std::any_of(queue_.begin(), queue_.end(),
                     [](const auto& set) { return set->wants_offers(); });
}

bool TaskScheduler::offer_level(Pass& pass, Locality level, std::vector<Offer>& offers, bool ahead,
                                Turn& turn) {
  TaskSet& set = *pass.set;
  bool launched = false;
  for (size_t i = 0; i < offers.size(); ++i) {
    Offer& offer = offers[i];
    if (offer.slots <= 0) continue;
    if (!set.wants_offers() || quota_ == 0) break;
    if (ahead && room_ahead(set, executors_.at(offer.executor)) <= 0) continue;
    if (resources_ && !resources_->room(set.spec().profile, executors_.at(offer.executor)))
      continue;
    bool rejected = false;
    const std::optional<TaskSet::Pick> pick = set.offer(offer.executor, level, turn.now, rejected);
    pass.rejects |= rejected;
    if (!pick) continue;
    if (set.barrier())
      reserve(pass, *pick, i, offer.executor);
    else if (!launch(set, *pick, offer.executor, ahead, turn))
      continue;
    one_taken(offer);
    --quota_;
    pass.best = std::min(pass.best, pick->locality);
    launched = true;
  }
  return launched;
}

void TaskScheduler::one_taken(Offer& offer) const {
  offer.slots =
      resources_ ? resources_->free_slots(executors_.at(offer.executor)) : offer.slots - 1;
}

void TaskScheduler::offer_set(Pass& pass, std::vector<Offer>& offers, bool ahead, Turn& turn) {
  if (pass.set->barrier()) {
    if (!ahead) offer_barrier(pass, offers, turn);
    return;
  }
  const TaskSet::Levels levels = pass.set->levels();
  for (const Locality level : levels)
    while (offer_level(pass, level, offers, ahead, turn)) pass.launched = true;
}

void TaskScheduler::reset_delay(const Pass& pass, bool all_free, Turn& turn) {
  TaskSet& set = *pass.set;
  if (options_.locality_legacy_reset) return;
  if (pass.rejects) {
    set.no_rejects_since_reset = false;
  } else if (pass.launched && (all_free || set.no_rejects_since_reset)) {
    set.reset_delay(turn.now, pass.best);
    set.no_rejects_since_reset = true;
  }
}

void TaskScheduler::resource_offers(std::vector<Offer> offers, bool all_free, bool ahead,
                                    Turn& turn) {
  if (health_) drop_excluded(offers, turn);
  if (pools_.fair())
    fair_offers(std::move(offers), all_free, ahead, turn);
  else
    fifo_offers(std::move(offers), all_free, ahead, turn);
  if (options_.exclusion.on() && !ahead) look_for_unschedulable(turn);
}

void TaskScheduler::fifo_offers(std::vector<Offer> offers, bool all_free, bool ahead, Turn& turn) {
  quota_ = std::numeric_limits<int32_t>::max();
  collect_schedulable();
  for (TaskSet* set : schedulable_) {
    Pass pass{set};
    offer_set(pass, offers, ahead, turn);
    // Slots ahead say nothing about whether the real ones were used well.
    if (!ahead) reset_delay(pass, all_free, turn);
    std::erase_if(offers, [](const Offer& o) { return o.slots <= 0; });
    if (offers.empty()) break;
  }
}

namespace {
/// No executor is always the first to be asked.
std::vector<TaskScheduler::Offer> rotated(std::vector<TaskScheduler::Offer> offers, size_t by) {
  if (offers.size() > 1)
    std::rotate(offers.begin(), offers.begin() + static_cast<std::ptrdiff_t>(by % offers.size()),
                offers.end());
  return offers;
}
}  // namespace

std::vector<TaskScheduler::Offer> TaskScheduler::real_offers() {
  std::vector<Offer> offers;
  const std::vector<int32_t>& from = offer_all_ ? idle_ : freed_;
  offers.reserve(from.size());
  for (const int32_t e : from)
    if (const int32_t slots = executors_.at(e).idle_slots; slots > 0) offers.push_back({e, slots});
  return rotated(std::move(offers), rotation_++);
}

/// Beyond `launch_ahead`, what waits is shared out by slots: the first executor that asks would get
/// all of the last tasks, and others would have to take them back from it. What travels with them
/// lies in its memory until they begin.
int32_t TaskScheduler::room_ahead(const TaskSet& set, const Executor& e) const {
  const int64_t waiting = int64_t{set.pending()} + set.ahead;
  const int64_t all_slots = std::max(executors_.active_slots(), 1);
  const auto share = static_cast<int32_t>((waiting * e.slots + all_slots - 1) / all_slots);
  constexpr int64_t kInputsAhead = 16 << 20;
  const auto fitting =
      static_cast<int32_t>(std::min<int64_t>(Pace::kMost, kInputsAhead / (set.largest_inputs + 1)));
  return std::min({set.pace.ahead(e.slots), std::max(share, options_.launch_ahead), fitting}) -
         e.ahead;
}

/// How many tasks each takes depends on whose they are.
std::vector<TaskScheduler::Offer> TaskScheduler::ahead_offers() {
  std::vector<Offer> offers;
  const std::vector<int32_t>& from = offer_all_ ? executors_.active() : freed_;
  offers.reserve(from.size());
  for (const int32_t slot : from) {
    const Executor& e = executors_.at(slot);
    if (offerable(e) && e.slots > 0) offers.push_back({slot, Pace::kMost});
  }
  return rotated(std::move(offers), rotation_++);
}

void TaskScheduler::settle(Turn& turn) {
  // What asks for all to be offered may have changed any set.
  pools_stale_ |= offer_all_;
  if (health_) readmit_excluded(turn);
  if ((offer_all_ || !freed_.empty()) && anything_to_offer()) {
    if (std::vector<Offer> offers = real_offers(); !offers.empty() || options_.exclusion.on())
      resource_offers(std::move(offers), offer_all_, false, turn);
    if (options_.launch_ahead > 0 && idle_.empty() && !resources_) {
      if (contested())
        take_all_back(turn);
      else if (std::vector<Offer> offers = ahead_offers(); !offers.empty())
        resource_offers(std::move(offers), false, true, turn);
    }
  }
  const bool all_offered = std::exchange(offer_all_, false);
  freed_.clear();
  // What is left although all was offered may not run on those that idle.
  if (!idle_.empty() && (all_offered || !anything_pending())) revoke_for_idle(turn);
  // Excluded executors come back only when somebody looks.
  const bool some_excluded = health_ && health_->any_excluded();
  if ((!idle_.empty() || some_excluded) && anything_to_offer()) set_revive_timer(turn);
  retired_.clear();
}

void TaskScheduler::set_revive_timer(Turn& turn) {
  if (std::exchange(revive_timer_set_, true)) return;
  turn.after(options_.revive_interval, DriverTimer::Kind::Revive);
}

}  // namespace tinderbox::core
