// Blocks in files: where they lie, and whether what is read is what was written.
// Source: Spark DiskBlockManager and DiskStore 4.3.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "net/files/files.hpp"
#include "net/mutex.hpp"
#include "net/types.hpp"

namespace tinderbox::core {

/// The path of a file named `name` in a set of `blockmgr-…` directories: their order matters.
std::string block_path(const std::vector<std::string>& directories, size_t sub_directories,
                       std::string_view name);

/// Thread: any.
class DiskStore {
 public:
  struct Opened {
    std::vector<std::string> directories;  // `<local dir>/blockmgr-<name>`
    std::vector<std::string> skipped;      // one line for each local dir that can't be used
  };
  /// Makes `blockmgr-<unique_name>` in every local dir that can be written.
  /// Errors: none can (the executor ends with exit code 53).
  static Result<Opened> make_directories(net::Files& files,
                                         const std::vector<std::string>& local_dirs,
                                         const std::string& unique_name);

  DiskStore(net::Files& files, std::vector<std::string> directories, size_t sub_directories)
      : files_(files), directories_(std::move(directories)), sub_directories_(sub_directories) {}

  Result<bool> put(const std::string& block, const Payload& bytes);
  /// Errors: not there, can't be read, or its checksum is wrong.
  Result<Payload> get(const std::string& block);
  /// Size; negative: not there.
  int64_t size(const std::string& block) const;
  bool contains(const std::string& block) const { return size(block) >= 0; }
  bool remove(const std::string& block);
  std::vector<std::string> blocks() const;
  const std::vector<std::string>& directories() const { return directories_; }
  /// Where a file of that name belongs; its folder exists afterwards.
  Result<std::string> path_for_writing(const std::string& name);
  std::string path(std::string_view name) const {
    return block_path(directories_, sub_directories_, name);
  }
  /// Everything that it wrote goes.
  void remove_directories();

 private:
  struct Stored {
    int64_t size = 0;
    uint64_t checksum = 0;
  };
  net::Files& files_;
  const std::vector<std::string> directories_;
  const size_t sub_directories_;
  mutable net::Mutex mutex_;
  std::map<std::string, Stored> stored_ GUARDED_BY(mutex_);
  std::map<std::string, bool> folders_ GUARDED_BY(mutex_);
};

}  // namespace tinderbox::core
