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
/// with strangers. A kill during a child's life counts for one child that ended by SIGKILL; what
/// was counted when another child ended otherwise did not mean those that live on.
class MemoryKills {
 public:
  /// `kills`: the group's count now.
  void started(uint64_t child, int64_t kills) { before_[child] = kills; }
  /// True: the child was one of them.
  bool ended(uint64_t child, bool by_sigkill, int64_t kills);

 private:
  std::map<uint64_t, int64_t> before_;  // kills that are not those of the child
};

}  // namespace tinderbox::net
