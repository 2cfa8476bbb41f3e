#include "core/deploy/worker/work_dirs.hpp"

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
    if (!entry.stat.directory || e.keep.contains(entry.name)) continue;
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
