// What the user's thread asks of the driver: run a function over partitions of an Rdd.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/plan/lineage.hpp"

namespace tinderbox::core {

/// `ticket` names the waiting caller; results and the end of the job come back under it.
/// Shape: results come as (position in `partitions`, encoded value of `action` over that
/// partition).
struct JobRequest {
  uint64_t ticket = 0;
  NodePtr root;
  std::vector<int32_t> partitions;
  const Descriptor* action = nullptr;  // a terminal operation; null in machine tests
  Bytes action_captured;
  std::map<std::string, std::string> properties;  // local properties, a snapshot
  std::string call_site;
};

}  // namespace tinderbox::core
