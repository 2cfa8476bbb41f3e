// What the control group of this process, and those above it, allow, and whether the kernel ended
// processes for it. Both versions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tinderbox::net {

/// None: no limit.
struct GroupLimits {
  std::optional<int64_t> memory;     // bytes
  std::optional<double> processors;  // how many may be busy at once, on average
  bool operator==(const GroupLimits&) const = default;
};
/// The least of each. `groups`: the text of /proc/self/cgroup; `root`: where the hierarchies are
/// mounted. In a container the path may be one of the host, which is not there: then its parents
/// count, up to the root.
GroupLimits group_limits(std::string_view groups, const std::string& root);
/// Of this process.
GroupLimits group_limits();

/// The count `oom_kill` of a file memory.events (or memory.oom_control of the first version).
std::optional<int64_t> oom_kills_in(std::string_view text);
/// Processes of this one's control group that the kernel ended so far because the group ran out of
/// memory; nullopt: it can't be told here.
std::optional<int64_t> oom_kills();

/// Which children the kernel ended for memory: children share a control group with each other and
/// with strangers. A kill during a child's life counts for one child that ended by a SIGKILL that
/// nobody here sent. The kernel counts when it chooses a process, which may end seconds later.
class MemoryKills {
 public:
  /// `kills`: the group's count before it started; nullopt: it can't be told.
  void started(uint64_t child, std::optional<int64_t> kills) { before_[child] = kills; }
  /// True: the child was one of them. `by_sigkill`: and it was not sent from here.
  bool ended(uint64_t child, bool by_sigkill, std::optional<int64_t> kills);

 private:
  std::map<uint64_t, std::optional<int64_t>> before_;  // kills that are not those of the child
};

}  // namespace tinderbox::net
