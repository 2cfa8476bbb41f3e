// Text ↔ scheduling modes and pools.
#include "conf/values/pools.hpp"

#include <algorithm>
#include <cctype>

#include "conf/values/units.hpp"

namespace tinderbox::conf {

std::optional<SchedulingMode> parse_scheduling_mode(std::string_view text) {
  std::string upper(trimmed(text));
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const SchedulingMode mode : {SchedulingMode::kFifo, SchedulingMode::kFair})
    if (upper == to_string(mode)) return mode;
  return std::nullopt;
}

std::string_view to_string(SchedulingMode mode) {
  return mode == SchedulingMode::kFifo ? "FIFO" : "FAIR";
}

std::string show(const PoolSpec& pool) {
  return "schedulingMode: " + std::string(to_string(pool.mode)) +
         ", minShare: " + std::to_string(pool.min_share) +
         ", weight: " + std::to_string(pool.weight);
}

}  // namespace tinderbox::conf
