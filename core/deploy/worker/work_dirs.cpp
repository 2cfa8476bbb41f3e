#include "core/deploy/worker/work_dirs.hpp"

#include <algorithm>
#include <string_view>

namespace tinderbox::core {
namespace {

/// When something in `directory` was last written, itself included. Unit: milliseconds.
int64_t newest(net::Files& files, const std::string& directory, int64_t own) {
  int64_t latest = own;
  Result<std::vector<net::FileEntry>> entries = files.list(directory);
  if (!entries) return latest;  // going away by itself
  for (const net::FileEntry& e : *entries) {
    int64_t changed = e.stat.directory ? newest(files, directory + "/" + e.name, e.stat.modified)
                                       : e.stat.modified;
    latest = std::max(latest, changed);
  }
  return latest;
}

/// `app-20261121084658-0000`, `driver-20261121084658-0000`: as masters name them by default. What
/// somebody else put here has another name.
bool is_of_application(std::string_view name) {
  constexpr const char* kDigits = "0123456789";
  constexpr size_t kDate = 14, kNumber = 4;
  const size_t dash = name.find('-');
  const std::string_view kind = name.substr(0, dash);
  if (kind != "app" && kind != "driver") return false;
  name.remove_prefix(std::min(name.size(), dash + 1));
  return name.find_first_not_of(kDigits) == kDate && name[kDate] == '-' &&
         name.size() > kDate + kNumber && name.find_first_not_of(kDigits, kDate + 1) == name.npos;
}

}  // namespace

WorkDirsCleaned clean_work_dirs(net::Files& files, const CleanWorkDirs& e, Time now) {
  WorkDirsCleaned result;
  Result<std::vector<net::FileEntry>> entries = files.list(e.work_dir);
  if (!entries) {
    result.error = entries.error().message;
    return result;
  }
  int64_t oldest = epoch_millis(now - e.ttl);
  for (const net::FileEntry& entry : *entries) {
    if (!entry.stat.directory || e.keep.contains(entry.name) || !is_of_application(entry.name))
      continue;
    std::string path = e.work_dir + "/" + entry.name;
    if (newest(files, path, entry.stat.modified) >= oldest) continue;
    Result<bool> removed = files.remove_tree(path);
    if (removed)
      result.removed.push_back(path);
    else
      result.error = removed.error().message;
  }
  return result;
}

}  // namespace tinderbox::core
