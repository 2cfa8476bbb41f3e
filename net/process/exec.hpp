// Another program in place of this one, and the time of day for those who have no loop.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::net {

/// Descriptors of this process as paths: how settings are passed on to another process.
inline constexpr std::string_view kDescriptorPaths = "/proc/self/fd/";

/// Replaces this process's program; environment and open descriptors stay. Returns only when it
/// could not. Thread: main, while it is the only one. Shape: argv[0] is the name the program sees
/// of itself.
Error exec(const std::string& path, const std::vector<std::string>& argv);

/// Now, for roles that end before they would have a loop.
Time wall_clock();

}  // namespace tinderbox::net
