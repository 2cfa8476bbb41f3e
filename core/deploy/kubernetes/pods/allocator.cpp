#include "core/deploy/kubernetes/pods/allocator.hpp"

#include <algorithm>

#include "conf/keys.hpp"

namespace tinderbox::core::kubernetes {

AllocatorOptions allocator_options(const conf::Conf& conf) {
  const auto positive = [&](const conf::Key<int>& key) {
    const int value = conf.get(key);
    if (value < 1)
      throw conf::Error("'" + std::to_string(value) + "' in " + std::string(key.spec.name) +
                        " is invalid. It should be a positive integer");
    return value;
  };
  AllocatorOptions o;
  o.batch_size = positive(conf::kKubernetesBatchSize);
  o.batch_delay = conf.get(conf::kKubernetesBatchDelay);
  constexpr Duration kLeast = std::chrono::milliseconds(100);
  if (o.batch_delay <= kLeast)
    throw conf::Error("'" + std::to_string(o.batch_delay.count() / 1000) + "ms' in " +
                      std::string(conf::kKubernetesBatchDelay.spec.name) +
                      " is invalid. Allocation batch delay must be greater than 0.1s.");
  o.creation_timeout =
      std::max(o.batch_delay * 5, Duration(conf.get(conf::kKubernetesCreationTimeout)));
  o.idle_timeout = conf.get(conf::kAllocationIdleTimeout);
  o.max_pending = positive(conf::kKubernetesMaxPending);
  o.max_pending_per_profile = positive(conf::kKubernetesMaxPendingPerProfile);
  o.max_pods = positive(conf::kKubernetesMaxPods);
  return o;
}

void Allocator::seen(int64_t executor) {
  new_.erase(executor);
  last_ = std::max(last_, executor);
}

void Allocator::not_created(int64_t executor) { new_.erase(executor); }

void Allocator::not_asked(int64_t executor) {
  new_.erase(executor);
  if (executor == last_) --last_;
}

std::vector<int32_t> Allocator::split_slots(size_t wanted, int32_t slots) {
  std::vector<int32_t> shares;
  const auto n = static_cast<int32_t>(wanted);
  for (int32_t i = 0; i < n; ++i) shares.push_back(slots / n + (i < slots % n ? 1 : 0));
  return shares;
}

std::map<int32_t, Allocator::Count> Allocator::count(const PodTable& table) const {
  std::map<int32_t, Count> counts;
  for (const auto& [profile, total] : totals_) counts[profile];
  for (const auto& [id, pod] : table) {
    Count& c = counts[pod.profile];
    if (removed_.contains(id)) continue;
    if (pod.state == PodState::Running) ++c.running;
    if (pod.state != PodState::Pending) continue;
    if (known_.contains(id))
      ++c.known_pending;
    else
      c.unknown_pending.push_back(id);
  }
  for (const auto& [id, fresh] : new_)
    ++(known_.contains(id) ? counts[fresh.profile].known_fresh : counts[fresh.profile].fresh);
  return counts;
}

void Allocator::give_up_old(Step& step, Time now) {
  for (auto at = new_.begin(); at != new_.end();) {
    if (now - at->second.since <= options_.creation_timeout || known_.contains(at->first)) {
      ++at;
      continue;
    }
    step.give_up.push_back(at->first);
    removed_.insert(at->first);
    at = new_.erase(at);
  }
}

/// The youngest needs go first: what was only asked for, then what waits for a node.
void Allocator::remove_idle(const PodTable& table, Count& count, int32_t profile, int32_t excess,
                            Time now, Step& step) {
  std::vector<int64_t> chosen;
  const auto choose = [&](int64_t id, Time since) {
    if (now - since > options_.idle_timeout)
      chosen.push_back(id);
    else
      step.too_young = true;
  };
  for (const auto& [id, fresh] : new_)
    if (fresh.profile == profile && !known_.contains(id)) choose(id, fresh.since);
  for (const int64_t id : count.unknown_pending) choose(id, table.at(id).created);
  chosen.resize(std::min(chosen.size(), static_cast<size_t>(excess)));
  for (const int64_t id : chosen) {
    if (new_.erase(id))
      --count.fresh;
    else
      std::erase(count.unknown_pending, id);
    removed_.insert(id);
    step.remove.push_back(id);
  }
}

void Allocator::create(std::map<int32_t, Count>& counts, Time now, Step& step) {
  int64_t waiting = 0;
  for (const auto& [profile, c] : counts) waiting += c.waiting();
  std::vector<std::pair<int32_t, int32_t>> wanting;  // profile, missing
  for (const auto& [profile, total] : totals_) {
    const Count& c = counts[profile];
    const int32_t missing = total - c.running - c.waiting();
    // The batch before must have been seen.
    if (missing > 0 && c.fresh == 0) wanting.emplace_back(profile, missing);
  }
  if (wanting.empty() || options_.max_pending <= waiting) return;
  const auto shares =
      split_slots(wanting.size(), static_cast<int32_t>(options_.max_pending - waiting));
  for (size_t i = 0; i < wanting.size(); ++i) {
    const auto [profile, missing] = wanting[i];
    int32_t n = std::min({missing, options_.batch_size, shares[i],
                          options_.max_pending_per_profile - counts[profile].waiting()});
    for (; n > 0; --n) {
      if (last_ >= options_.max_pods) {
        step.exhausted = true;
        return;
      }
      step.create.push_back({++last_, profile});
      new_[last_] = {profile, now};
    }
  }
}

Allocator::Step Allocator::step(const PodTable& table, Time now) {
  Step step;
  give_up_old(step, now);
  std::map<int32_t, Count> counts = count(table);
  for (auto& [profile, c] : counts) {
    const auto total = totals_.find(profile);
    const int32_t wanted = total == totals_.end() ? 0 : total->second;
    const int32_t excess = c.running + c.waiting() - wanted;
    if (excess > 0) remove_idle(table, c, profile, excess, now, step);
  }
  create(counts, now, step);
  return step;
}

}  // namespace tinderbox::core::kubernetes
