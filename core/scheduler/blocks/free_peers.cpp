#include "core/scheduler/blocks/free_peers.hpp"

namespace tinderbox::core {

bool FreePeers::may_take(int32_t slot) const {
  return executors_.host_alive(executors_.at(slot).host);
}

/// An executor that gets no more offers never gets any again.
FreePeers::At FreePeers::next_alive(At at) {
  while (at != slots_.end() && !executors_.alive(*at)) at = slots_.erase(at);
  return at;
}

bool FreePeers::any() {
  for (At at = next_alive(slots_.begin()); at != slots_.end(); at = next_alive(++at))
    if (may_take(*at)) return true;
  return false;
}

int32_t FreePeers::next(const Resting& resting, const std::set<int32_t>& holders, Time now) {
  const auto rests = [&](int32_t slot) {
    const auto rest = resting.find(slot);
    return rest != resting.end() && now < rest->second;
  };
  const auto first = [&](At at) {
    at = next_alive(at);
    while (at != slots_.end() && (!may_take(*at) || rests(*at) || holders.contains(*at)))
      at = next_alive(++at);
    return at;
  };
  At at = first(slots_.upper_bound(last_));
  if (at == slots_.end()) at = first(slots_.begin());
  if (at == slots_.end()) return -1;
  return last_ = *at;
}

}  // namespace tinderbox::core
