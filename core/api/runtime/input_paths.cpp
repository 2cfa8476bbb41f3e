#include "core/api/runtime/input_paths.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "conf/values/resources.hpp"
#include "net/files/byte_source.hpp"

namespace tinderbox::core {
namespace {

constexpr double kSlop = 1.1;

bool hidden(const std::string& name) { return name.starts_with('.') || name.starts_with('_'); }
bool is_glob(std::string_view text) { return text.find_first_of("*?[{") != std::string_view::npos; }

/// Commas inside braces belong to a glob.
std::vector<std::string> split_list(const std::string& paths) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : paths) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ',' && depth <= 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// a{b,c}d → abd, acd.
std::vector<std::string> expand_braces(const std::string& pattern) {
  const size_t open = pattern.find('{');
  const size_t close = pattern.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return {pattern};
  std::vector<std::string> all;
  for (const auto& choice : split_list(pattern.substr(open + 1, close - open - 1))) {
    for (auto& rest : expand_braces(pattern.substr(0, open) + choice + pattern.substr(close + 1))) {
      all.push_back(std::move(rest));
    }
  }
  return all;
}

/// Paths that match an absolute pattern, one directory level after the other.
std::vector<std::string> match(net::Files& files, const std::string& pattern) {
  std::vector<std::string> found{""};
  for (const auto& part : std::filesystem::path(pattern).relative_path()) {
    std::vector<std::string> next;
    for (const auto& base : found) {
      if (!is_glob(part.native())) {
        const auto stat = files.stat(base + "/" + part.native());
        if (stat && *stat) next.push_back(base + "/" + part.native());
        continue;
      }
      const auto entries = files.list(base.empty() ? "/" : base);
      if (!entries) continue;
      for (const auto& entry : *entries) {
        if (!hidden(entry.name) && fnmatch(part.c_str(), entry.name.c_str(), FNM_PERIOD) == 0) {
          next.push_back(base + "/" + entry.name);
        }
      }
    }
    found = std::move(next);
  }
  return found;
}

Result<bool> add_file(net::Files& files, const std::string& path, int64_t size,
                      std::vector<InputFile>& out) {
  // Tasks would try in vain, again and again. A pipe and a device can't be opened either.
  if (const auto opened = files.open(path); !opened)
    return Error{"Input path cannot be read: " + opened.error().message +
                 "; give the user of driver and executors a regular file to read"};
  out.push_back({path, size});
  return true;
}

Result<bool> add(net::Files& files, const std::string& path, std::vector<InputFile>& out) {
  const auto stat = files.stat(path);
  if (!stat) return stat.error();
  if (!*stat)
    return Error{"Input path does not exist: file:" + path +
                 "; check the path, driver and executors must see the same files"};
  if (!(*stat)->directory) return add_file(files, path, (*stat)->size, out);
  const auto entries = files.list(path);
  if (!entries)
    return Error{"Input path cannot be read: " + entries.error().message +
                 "; check the permissions of the directory"};
  for (const auto& entry : *entries) {
    if (hidden(entry.name)) continue;
    if (entry.stat.directory)
      return Error{"Input path is not a file: file:" + path + "/" + entry.name +
                   "; directories are not read through, name the inner ones by a pattern"};
    if (auto added = add_file(files, path + "/" + entry.name, entry.stat.size, out); !added)
      return added;
  }
  return true;
}

Result<bool> add_named(net::Files& files, const std::string& named, std::vector<InputFile>& out) {
  const auto path = local_path(named);
  if (!path) return path.error();
  if (!is_glob(*path)) return add(files, *path, out);
  bool any = false;
  for (const auto& pattern : expand_braces(*path)) {
    for (const auto& found : match(files, pattern)) {
      any = true;
      if (auto added = add(files, found, out); !added) return added;
    }
  }
  if (!any) return Error{"Input Pattern file:" + *path + " matches 0 files; check the pattern"};
  return true;
}

}  // namespace

Result<std::string> local_path(const std::string& path) {
  std::string local = path;
  const size_t colon = path.find(':');
  if (colon != std::string::npos && path.find('/') > colon) {
    if (path.substr(0, colon) != "file") {
      return Error{"No FileSystem for scheme \"" + path.substr(0, colon) + "\" of " + path +
                   ": only file: is there"};
    }
    local = conf::without_this_host(std::string_view(path).substr(colon + 1));
    while (local.starts_with("//")) local.erase(0, 1);
  }
  if (local.empty())
    return Error{"Can not create a Path from an empty string: name a file or a directory"};
  std::string whole = std::filesystem::absolute(local).lexically_normal().native();
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

Result<std::vector<InputFile>> list_inputs(net::Files& files, const std::string& paths,
                                           bool as_they_are) {
  std::vector<InputFile> all;
  for (const auto& named : split_list(paths)) {
    if (auto added = add_named(files, named, all); !added) return added.error();
  }
  for (const auto& file : all)
    if (!as_they_are && !net::unreadable_suffix(file.path).empty())
      return Error{"Input path is compressed: file:" + file.path +
                   "; uncompress it first, of compressed "
                   "files only .gz, .zst and .deflate are read"};
  return all;
}

std::vector<InputSplit> split_inputs(const std::vector<InputFile>& files, int32_t min_partitions) {
  int64_t total = 0;
  for (const auto& file : files) total += file.size;
  const int64_t goal = total / std::max(min_partitions, 1);
  const int64_t size = std::max<int64_t>(1, std::min(goal, kMaxSplit));
  std::vector<InputSplit> splits;
  for (const auto& file : files) {
    if (net::compression_of(file.path) != net::Compression::None) {
      splits.push_back({file.path, 0, std::numeric_limits<int64_t>::max()});
      continue;
    }
    int64_t left = file.size;
    for (; static_cast<double>(left) / static_cast<double>(size) > kSlop; left -= size) {
      splits.push_back({file.path, file.size - left, size});
    }
    if (left > 0 || file.size == 0) splits.push_back({file.path, file.size - left, left});
  }
  return splits;
}

}  // namespace tinderbox::core
