// Pools: their tree, and the order of task sets in it.
#include "core/scheduler/pools/pools.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace tinderbox::core {

using conf::SchedulingMode;

namespace {

constexpr const char* kPoolProperty = "spark.scheduler.pool";

/// Running tasks beyond the executors' own slots have no slot yet.
int32_t in_slots(const TaskSet& set) { return set.running() - set.ahead; }

bool fifo_before(const TaskSet* a, const TaskSet* b) {
  const auto rank = [](const TaskSetSpec& s) { return std::tie(s.priority, s.stage, s.attempt); };
  return rank(a->spec()) < rank(b->spec());
}
bool fair_before(const TaskSet* a, const TaskSet* b) {
  const auto order = fair_order({a->place.running}, {b->place.running});
  return order != 0 ? order < 0 : a->name() < b->name();
}

}  // namespace

std::weak_ordering fair_order(const FairShare& a, const FairShare& b) {
  const auto needy = [](const FairShare& s) { return s.running < s.min_share; };
  if (needy(a) != needy(b)) return needy(b) <=> needy(a);
  const auto ratio = [&](const FairShare& s) {
    if (needy(s)) return double(s.running) / std::max(s.min_share, 1);
    // Spark's 0 / 0 is greater than every number.
    return s.weight == 0 ? std::numeric_limits<double>::infinity() : double(s.running) / s.weight;
  };
  return std::weak_order(ratio(a), ratio(b));
}

Pools::Pools(const DriverOptions& options) {
  pools_.push_back({{"", options.scheduling_mode}});
  if (!fair()) return;
  for (const conf::PoolSpec& pool : options.pools) add(pool);
  if (!by_name_.contains(conf::kDefaultPool)) add({std::string(conf::kDefaultPool)});
}

int32_t Pools::add(conf::PoolSpec spec, int32_t parent) {
  const int32_t number = count();
  by_name_[spec.name] = number;
  pools_.push_back({std::move(spec), parent});
  at(parent).children.push_back(number);
  return number;
}

int32_t Pools::of(const PropertiesPtr& properties, Turn& turn) {
  if (!fair()) return kRoot;
  std::string name(conf::kDefaultPool);
  if (properties)
    if (const auto chosen = properties->find(kPoolProperty); chosen != properties->end())
      name = chosen->second;
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  const conf::PoolSpec made{name};
  turn.log(Level::Warn,
           "A job was submitted with scheduler pool " + name +
               ", which has not been configured. This can happen when the file that pools are "
               "read from isn't set, or when that file doesn't contain " +
               name + ". Created " + name + " with default configuration (" + show(made) + ")");
  return add(made);
}

// ---- what the sets add up to -------------------------------------------------------------------

void Pools::move(TaskSet& set, const TaskSet::Place& now) {
  TaskSet::Place& was = set.place;
  std::vector<TaskSet*>& ready = at(now.pool).sets;
  if (was.ready && !now.ready) std::erase(ready, &set);
  if (!was.ready && now.ready)
    ready.insert(std::upper_bound(ready.begin(), ready.end(), &set, fifo_before), &set);
  for (int32_t p = now.pool; p >= 0; p = at(p).parent) {
    at(p).running += now.running - was.running;
    at(p).ready += now.ready - was.ready;
    at(p).waiting += now.waiting - was.waiting;
  }
  was = now;
}

void Pools::count_anew(TaskSet& set) {
  if (set.retired || set.place.pool == kRoot) return;
  const bool ready = set.wants_offers();
  move(set, {set.place.pool, in_slots(set), ready, ready || set.ahead > 0, set.place.touched});
}

bool Pools::empty() const {
  return touched_.empty() && std::all_of(pools_.begin(), pools_.end(), [](const Pool& p) {
           return p.running == 0 && p.ready == 0 && p.waiting == 0 && p.sets.empty();
         });
}

void Pools::remove(TaskSet& set) {
  if (set.place.pool == kRoot) return;
  if (set.place.touched) std::erase(touched_, &set);
  move(set, {set.place.pool});
}

void Pools::refresh() {
  for (TaskSet* set : touched_) {
    set->place.touched = false;
    count_anew(*set);
  }
  touched_.clear();
}

void Pools::refresh(const std::vector<std::unique_ptr<TaskSet>>& queue) {
  for (const std::unique_ptr<TaskSet>& set : queue) touch(*set);
  refresh();
}

// ---- one round of offers -----------------------------------------------------------------------

void Pools::pass(TaskSet& set) {
  if (!set.place.ready) return;
  TaskSet::Place now = set.place;
  now.ready = false;
  move(set, now);
  touch(set);
}

bool Pools::before(const Pool& a, const Pool& b) const {
  const auto order = fair_order({a.running, a.spec.min_share, a.spec.weight},
                                {b.running, b.spec.min_share, b.spec.weight});
  return order != 0 ? order < 0 : a.spec.name < b.spec.name;
}

TaskSet* Pools::first(const Pool& pool) const {
  const bool is_fair = pool.spec.mode == SchedulingMode::kFair;
  if (!pool.sets.empty())
    return is_fair ? *std::min_element(pool.sets.begin(), pool.sets.end(), fair_before)
                   : pool.sets.front();
  const Pool* best = nullptr;
  for (const int32_t child : pool.children)
    if (at(child).ready > 0 && (!best || (is_fair && before(at(child), *best)))) best = &at(child);
  return best ? first(*best) : nullptr;
}

bool Pools::contested(const Pool& pool) const {
  if (pool.waiting < 2) return false;
  const bool is_fair = pool.spec.mode == SchedulingMode::kFair;
  if (pool.children.empty()) return is_fair;
  int32_t claimants = 0;
  for (const int32_t child : pool.children) {
    if (contested(at(child))) return true;
    claimants += at(child).waiting > 0;
  }
  return is_fair && claimants > 1;
}

}  // namespace tinderbox::core
