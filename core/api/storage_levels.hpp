// Where persisted partitions are kept.
#pragma once

#include "core/plan/lineage/lineage.hpp"

namespace tinderbox {

using core::StorageLevel;

// Source: Spark StorageLevel's constants. Partitions are always kept encoded, whatever the level
// says.
inline constexpr StorageLevel DISK_ONLY{true, false, false, false, 1};
inline constexpr StorageLevel DISK_ONLY_2{true, false, false, false, 2};
inline constexpr StorageLevel DISK_ONLY_3{true, false, false, false, 3};
inline constexpr StorageLevel MEMORY_ONLY{false, true, false, true, 1};
inline constexpr StorageLevel MEMORY_ONLY_2{false, true, false, true, 2};
inline constexpr StorageLevel MEMORY_ONLY_SER{false, true, false, false, 1};
inline constexpr StorageLevel MEMORY_ONLY_SER_2{false, true, false, false, 2};
inline constexpr StorageLevel MEMORY_AND_DISK{true, true, false, true, 1};
inline constexpr StorageLevel MEMORY_AND_DISK_2{true, true, false, true, 2};
inline constexpr StorageLevel MEMORY_AND_DISK_SER{true, true, false, false, 1};
inline constexpr StorageLevel MEMORY_AND_DISK_SER_2{true, true, false, false, 2};
inline constexpr StorageLevel OFF_HEAP{true, true, true, false, 1};

}  // namespace tinderbox
