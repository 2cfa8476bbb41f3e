// Whether the kernel ended processes for memory, as the control group counts it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace tinderbox::net {

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
