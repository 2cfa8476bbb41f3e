// Blocks in files.
#include "core/storage/stores/disk_store.hpp"

#include "core/storage/block_id.hpp"
#include "core/storage/stores/checksum.hpp"

namespace tinderbox::core {

std::string block_path(const std::vector<std::string>& directories, size_t sub_directories,
                       std::string_view name) {
  const DiskPlace place = disk_place(name, directories.size(), sub_directories);
  std::string path = directories[place.directory];
  path.append("/").append(place.folder).append("/").append(name);
  return path;
}

Result<DiskStore::Opened> DiskStore::make_directories(net::Files& files,
                                                      const std::vector<std::string>& local_dirs,
                                                      const std::string& unique_name) {
  Opened opened;
  for (const std::string& local : local_dirs) {
    const std::string directory = local + "/blockmgr-" + unique_name;
    if (Result<bool> made = files.make_directories(directory); !made)
      opened.skipped.push_back("local directory " + local + " is skipped: " + made.error().message);
    else
      opened.directories.push_back(directory);
  }
  if (!opened.directories.empty()) return opened;
  std::string why = "no local directory can be used for blocks (set spark.local.dir)";
  for (const std::string& line : opened.skipped) why += "; " + line;
  return Error{why};
}

Result<std::string> DiskStore::path_for_writing(const std::string& name) {
  std::string whole = path(name);
  const std::string folder = whole.substr(0, whole.size() - name.size() - 1);
  {
    net::Lock lock(mutex_);
    if (folders_.contains(folder)) return whole;
  }
  if (Result<bool> made = files_.make_directories(folder); !made) return made.error();
  net::Lock lock(mutex_);
  folders_[folder] = true;
  return whole;
}

Result<bool> DiskStore::put(const std::string& block, const Payload& bytes) {
  Result<std::string> where = path_for_writing(block);
  if (!where) return where.error();
  Result<std::unique_ptr<net::WriteFile>> file = files_.create(*where);
  if (!file) return file.error();
  RunningChecksum sum;
  Result<bool> written = true;
  bytes.each_window(bytes.view(), [&](std::string_view window) {
    sum.add(window);
    if (written) written = (*file)->append(window);
  });
  if (!written) return written;
  if (Result<bool> committed = (*file)->commit(); !committed) return committed;
  net::Lock lock(mutex_);
  stored_[block] = {static_cast<int64_t>(bytes.size()), sum.value()};
  return true;
}

Result<Payload> DiskStore::get(const std::string& block) {
  Stored stored;
  {
    net::Lock lock(mutex_);
    const auto it = stored_.find(block);
    if (it == stored_.end()) return Error{block + " is not on disk"};
    stored = it->second;
  }
  Result<std::unique_ptr<net::ReadFile>> file = files_.open(path(block));
  if (!file) return file.error();
  if ((*file)->size() != stored.size)
    return Error{block + " is corrupted due to DISK_ISSUE: it has " +
                 std::to_string((*file)->size()) + " bytes, " + std::to_string(stored.size) +
                 " were written"};
  Result<Payload> bytes = (*file)->view(0, stored.size);
  if (bytes && checksum(*bytes) != stored.checksum)
    return Error{block + " is corrupted due to DISK_ISSUE: its checksum is not the one written"};
  return bytes;
}

int64_t DiskStore::size(const std::string& block) const {
  net::Lock lock(mutex_);
  const auto it = stored_.find(block);
  return it == stored_.end() ? -1 : it->second.size;
}

bool DiskStore::remove(const std::string& block) {
  {
    net::Lock lock(mutex_);
    if (stored_.erase(block) == 0) return false;
  }
  // A file that can't be removed now goes with its directory.
  const Result<bool> removed = files_.remove(path(block));
  return removed && *removed;
}

std::vector<std::string> DiskStore::blocks() const {
  net::Lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, stored] : stored_) names.push_back(name);
  return names;
}

void DiskStore::remove_directories() {
  net::Lock lock(mutex_);
  stored_.clear();
  folders_.clear();
  for (const std::string& directory : directories_) (void)files_.remove_tree(directory);
}

}  // namespace tinderbox::core
