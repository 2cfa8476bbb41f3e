// Custom resources of machines, executors and tasks.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tinderbox {

/// Which of a machine's GPUs and the like somebody has: addresses by the resource's name, in the
/// order in which they are handed out. Source: Spark ResourceInformation.
using ResourceAddresses = std::map<std::string, std::vector<std::string>>;
/// How many addresses of each resource somebody wants; above 0.
using ResourceAmounts = std::map<std::string, int32_t>;

/// What an executor must have of one custom resource. Source: Spark ExecutorResourceRequest.
struct ExecutorResource {
  int32_t amount = 0;
  std::string discovery_script;  // a program that prints the addresses; empty: none
  auto operator<=>(const ExecutorResource&) const = default;
};

}  // namespace tinderbox
