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

/// `app-20261121084658-0000`, `driver-20261121084658-0000`: as masters name them by default.
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

bool is_number(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

/// It holds what a process wrote that a worker started.
bool has_output(const std::vector<net::FileEntry>& entries) {
  const auto count = std::count_if(entries.begin(), entries.end(), [](const net::FileEntry& e) {
    return !e.stat.directory && (e.name == "stdout" || e.name == "stderr");
  });
  return count == 2;
}

/// Named so, or filled as workers fill them, whatever ids the master gives: with a driver's output,
/// or with nothing but directories of executors.
bool is_workers(net::Files& files, const std::string& path, std::string_view name) {
  if (is_of_application(name)) return true;
  const Result<std::vector<net::FileEntry>> entries = files.list(path);
  if (!entries || entries->empty()) return false;
  return has_output(*entries) ||
         std::all_of(entries->begin(), entries->end(), [&](const net::FileEntry& e) {
           if (!e.stat.directory || !is_number(e.name)) return false;
           const Result<std::vector<net::FileEntry>> executor = files.list(path + "/" + e.name);
           return executor && has_output(*executor);
         });
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
    if (!is_workers(files, path, entry.name)) continue;
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
