// Whether the kernel ended processes for memory.
#include "net/process/memory_events.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace tinderbox::net {

namespace {

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// This process's path of the hierarchy whose line contains `mark`.
std::string group_path(std::string_view groups, std::string_view mark) {
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
    if (const size_t at = line.find(mark); at != line.npos)
      return std::string(line.substr(at + mark.size()));
  }
  return {};
}

}  // namespace

std::optional<int64_t> oom_kills_in(std::string_view text) {
  constexpr std::string_view kName = "oom_kill ";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(kName)) continue;
    int64_t count = 0;
    const char* end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + kName.size(), end, count);
    if (error == std::errc{} && stop == end) return count;
  }
  return std::nullopt;
}

bool MemoryKills::ended(uint64_t child, bool by_sigkill, std::optional<int64_t> kills) {
  const auto own = before_.extract(child);
  if (!by_sigkill || !kills || !own || !own.mapped() || *kills <= *own.mapped()) return false;
  for (auto& [other, before] : before_)
    if (before) before = std::max(*before, *own.mapped() + 1);
  return true;
}

std::optional<int64_t> oom_kills() {
  const std::string groups = slurp("/proc/self/cgroup");
  const std::string root = "/sys/fs/cgroup";
  if (const auto n = oom_kills_in(slurp(root + group_path(groups, "0::") + "/memory.events")))
    return n;
  return oom_kills_in(
      slurp(root + "/memory" + group_path(groups, ":memory:") + "/memory.oom_control"));
}

}  // namespace tinderbox::net
