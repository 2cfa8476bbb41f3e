// Executors that could take a block now: thousands may leave at once, and each block that was taken
// asks who is next.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/scheduler/executors/executors.hpp"

namespace tinderbox::core {

class FreePeers {
 public:
  /// Peers that failed somebody, and until when they are left alone.
  using Resting = std::map<int32_t, Time>;

  /// What is given must outlive it.
  explicit FreePeers(const Executors& executors) : executors_(executors) {}

  /// It gets offers now, or took its block.
  void add(int32_t slot) { slots_.insert(slot); }
  void remove(int32_t slot) { slots_.erase(slot); }
  /// An executor that may take blocks: what its host's other executors take would have to move
  /// again when the host goes.
  bool may_take(int32_t slot) const;
  bool any();
  /// They take turns; none of `holders` (slots), who have it. −1: nobody.
  int32_t next(const Resting& resting, const std::set<int32_t>& holders, Time now);

 private:
  using At = std::set<int32_t>::iterator;
  At next_alive(At at);

  const Executors& executors_;
  std::set<int32_t> slots_;  // with some that get no offers any more
  int32_t last_ = -1;        // whose turn it was
};

}  // namespace tinderbox::core
