#include "core/deploy/master/placement.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tinderbox::core {
namespace {

/// Whether `free` is enough for `times` the wanted amounts.
bool covers(const ResourceAmounts& free, const ResourceAmounts& wanted, int64_t times) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& want) {
    const auto at = free.find(want.first);
    return at != free.end() && at->second >= want.second * times;
  });
}

/// The running state of one assignment.
class Assignment {
 public:
  Assignment(const ExecutorNeed& need, std::span<const WorkerOffer> offers)
      : need_(need),
        offers_(offers),
        step_(need.cores.value_or(1)),
        cores_(offers.size()),
        executors_(offers.size()) {
    int64_t supply = 0;
    for (const WorkerOffer& o : offers) supply += o.cores_free;
    to_assign_ = std::min<int64_t>(need.cores_left, supply);
  }

  bool can(size_t i) const {
    if (to_assign_ < step_ || offers_[i].cores_free - cores_[i] < step_) return false;
    bool grows = !need_.cores && executors_[i] > 0;
    if (grows) return true;
    return offers_[i].memory_free_mib - executors_[i] * need_.memory_mib >= need_.memory_mib &&
           need_.running + assigned_ < need_.limit &&
           covers(offers_[i].resources_free, need_.resources, executors_[i] + 1);
  }

  void give(size_t i) {
    to_assign_ -= step_;
    cores_[i] += step_;
    if (!need_.cores && executors_[i] > 0) return;
    ++executors_[i];
    ++assigned_;
  }

  std::vector<int32_t> take() { return std::move(cores_); }

 private:
  const ExecutorNeed& need_;
  std::span<const WorkerOffer> offers_;
  int32_t step_;
  int64_t to_assign_ = 0;
  int64_t assigned_ = 0;
  std::vector<int32_t> cores_;
  std::vector<int64_t> executors_;
};

bool fits(const WorkerOffer& o, int32_t cores, int64_t memory_mib,
          const ResourceAmounts& resources) {
  return o.cores_free >= cores && o.memory_free_mib >= memory_mib && has_resources(o, resources);
}

void place(WorkerOffer& on, const DriverNeed& driver) {
  on.cores_free -= driver.cores;
  on.memory_free_mib -= driver.memory_mib;
  on.idle = false;
  for (const auto& [name, amount] : driver.resources) on.resources_free[name] -= amount;
}

}  // namespace

bool has_resources(const WorkerOffer& offer, const ResourceAmounts& wanted) {
  return covers(offer.resources_free, wanted, 1);
}

std::vector<size_t> usable_workers(const ExecutorNeed& need, std::span<const WorkerOffer> offers,
                                   WorkerOrder order) {
  std::vector<size_t> usable;
  for (size_t i = 0; i < offers.size(); ++i)
    if (fits(offers[i], need.cores.value_or(1), need.memory_mib, need.resources))
      usable.push_back(i);
  auto sort_by = [&](auto key) {
    std::stable_sort(usable.begin(), usable.end(),
                     [&](size_t a, size_t b) { return key(offers[a]) < key(offers[b]); });
  };
  switch (order) {
    case WorkerOrder::kCoresFreeDesc:
      sort_by([](auto& o) { return -o.cores_free; });
      break;
    case WorkerOrder::kCoresFreeAsc:
      sort_by([](auto& o) { return o.cores_free; });
      break;
    case WorkerOrder::kMemoryFreeDesc:
      sort_by([](auto& o) { return -o.memory_free_mib; });
      break;
    case WorkerOrder::kMemoryFreeAsc:
      sort_by([](auto& o) { return o.memory_free_mib; });
      break;
    case WorkerOrder::kWorkerId:
      break;
  }
  return usable;
}

std::vector<int32_t> assign_cores(const ExecutorNeed& need, std::span<const WorkerOffer> offers,
                                  bool spread_out) {
  Assignment assignment(need, offers);
  auto cannot = [&](size_t i) { return !assignment.can(i); };
  std::vector<size_t> open(offers.size());
  std::iota(open.begin(), open.end(), size_t{0});
  std::erase_if(open, cannot);
  while (!open.empty()) {
    for (size_t i : open) {
      bool more = true;
      while (more && assignment.can(i)) {
        assignment.give(i);
        more = !spread_out;
      }
    }
    std::erase_if(open, cannot);
  }
  return assignment.take();
}

std::vector<DriverPlace> place_drivers(std::span<const DriverNeed> drivers,
                                       std::vector<WorkerOffer> workers, bool spread_out) {
  std::vector<DriverPlace> places(drivers.size());
  size_t next = 0;
  for (size_t d = 0; d < drivers.size(); ++d) {
    bool last_was_idle = false;
    if (!spread_out) next = 0;
    for (size_t visited = 0; visited < workers.size() && !places[d].worker; ++visited) {
      WorkerOffer& w = workers[next];
      last_was_idle = w.idle;
      if (fits(w, drivers[d].cores, drivers[d].memory_mib, drivers[d].resources)) {
        places[d].worker = next;
        place(w, drivers[d]);
      }
      next = (next + 1) % workers.size();
    }
    places[d].hopeless = !places[d].worker && last_was_idle;
  }
  return places;
}

std::vector<size_t> shuffled(size_t n, std::mt19937_64& random) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace tinderbox::core
