// Scheduling modes and pools, as settings name them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tinderbox::conf {

enum class SchedulingMode : uint8_t { kFifo, kFair };

/// FIFO or FAIR in any case, blanks around it allowed; none for all else, NONE too.
std::optional<SchedulingMode> parse_scheduling_mode(std::string_view text);
std::string_view to_string(SchedulingMode mode);

/// The pool of jobs that name none.
inline constexpr std::string_view kDefaultPool = "default";

/// A pool of the fair scheduler; the values are those of a pool that nobody configured.
struct PoolSpec {
  std::string name;
  SchedulingMode mode = SchedulingMode::kFifo;  // of what is in it
  int32_t min_share = 0;                        // running tasks that it gets before others
  int32_t weight = 1;
  bool operator==(const PoolSpec&) const = default;
};
/// `schedulingMode: FIFO, minShare: 0, weight: 1`
std::string show(const PoolSpec& pool);

}  // namespace tinderbox::conf
