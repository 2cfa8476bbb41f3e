#include "net/process/control_group.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace tinderbox::net {
namespace {

/// From this on the first version means that there is no limit.
constexpr int64_t kNoLimit = int64_t{1} << 60;
constexpr const char *kGroups = "/proc/self/cgroup", *kRoot = "/sys/fs/cgroup";

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The process's path of the hierarchy whose line contains `mark`; empty: there is none.
std::string group_path(std::string_view groups, std::string_view mark) {
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
    if (const size_t at = line.find(mark); at != line.npos)
      return std::string(line.substr(at + mark.size()));
  }
  return {};
}

/// The number at the front; none for `max`, for −1 and for what is not there.
std::optional<int64_t> number_in(std::string_view text) {
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || n <= 0 || n >= kNoLimit) return std::nullopt;
  return n;
}

template <class T>
void keep_less(std::optional<T>& least, std::optional<T> other) {
  if (other) least = least ? std::min(*least, *other) : *other;
}

/// Time of processors in each period. `cpu.max` has both.
std::optional<double> processors_in(const std::string& group) {
  const std::string both = slurp(group + "/cpu.max");
  const size_t space = both.find(' ');
  auto time = number_in(both),
       period =
           number_in(std::string_view(both).substr(space == both.npos ? both.size() : space + 1));
  if (both.empty()) {
    time = number_in(slurp(group + "/cpu.cfs_quota_us"));
    period = number_in(slurp(group + "/cpu.cfs_period_us"));
  }
  if (!time || !period) return std::nullopt;
  return static_cast<double>(*time) / static_cast<double>(*period);
}

/// f(folder) for the group at `path` of a hierarchy, and for each above it.
template <class F>
void each_group(const std::string& hierarchy, std::string path, F&& f) {
  while (!path.empty() && path != "/") {
    f(hierarchy + path);
    path.erase(path.rfind('/'));
  }
  f(hierarchy);
}

}  // namespace

GroupLimits group_limits(std::string_view groups, const std::string& root) {
  GroupLimits limits;
  const auto memory = [&](const std::string& group) {
    keep_less(limits.memory, number_in(slurp(group + "/memory.max")));
    keep_less(limits.memory, number_in(slurp(group + "/memory.limit_in_bytes")));
  };
  const auto processors = [&](const std::string& group) {
    keep_less(limits.processors, processors_in(group));
  };
  each_group(root, group_path(groups, "0::"), [&](const std::string& group) {
    memory(group);
    processors(group);
  });
  each_group(root + "/memory", group_path(groups, ":memory:"), memory);
  each_group(root + "/cpu", group_path(groups, ":cpu:"), processors);
  each_group(root + "/cpu,cpuacct", group_path(groups, ":cpu,cpuacct:"), processors);
  return limits;
}

GroupLimits group_limits() { return group_limits(slurp(kGroups), kRoot); }

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
  const std::string groups = slurp(kGroups), root = kRoot;
  if (const auto n = oom_kills_in(slurp(root + group_path(groups, "0::") + "/memory.events")))
    return n;
  return oom_kills_in(
      slurp(root + "/memory" + group_path(groups, ":memory:") + "/memory.oom_control"));
}

}  // namespace tinderbox::net
