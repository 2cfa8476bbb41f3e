// Whether the kernel ended processes for memory, as the control group counts it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tinderbox::net {

/// The count `oom_kill` of a file memory.events (or memory.oom_control of the first version).
std::optional<int64_t> oom_kills_in(std::string_view text);
/// Processes of this one's control group that the kernel ended so far because the group ran out of
/// memory; nullopt: it can't be told here.
std::optional<int64_t> oom_kills();

}  // namespace tinderbox::net
