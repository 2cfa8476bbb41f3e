// Which partitions coalesce() joins without a shuffle.
#pragma once

#include <string>
#include <vector>

#include "core/plan/lineage/lineage.hpp"

namespace tinderbox::core {

/// Groups of partitions, each ascending, and where each of them would rather be computed.
/// Shape: preferred is empty or as long as groups.
struct Coalesced {
  std::vector<std::vector<int32_t>> groups;
  std::vector<std::vector<std::string>> preferred;
};

/// min(n, hosts.size()) groups, none empty: runs of neighbours where nobody has a host; else each
/// has a host of its own, takes partitions that lie there, and none is a tenth larger than the
/// mean for that. Shape: hosts[p] are partition p's, the best first.
/// Source: Spark DefaultPartitionCoalescer, with a balance slack of 0.1.
Coalesced coalesced(const std::vector<std::vector<std::string>>& hosts, int32_t n);
/// Of a parent's partitions, by where their inputs lie.
Coalesced coalesced(const Node& parent, int32_t n);

}  // namespace tinderbox::core
