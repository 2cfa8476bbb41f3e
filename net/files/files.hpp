// Files as core reaches them: a port, so that tests and the simulator can lose, tear or fill them,
// and so that object stores and web servers are reached by the same calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::net {

/// A file that is open for reading. Thread: any, several at once.
class ReadFile {
 public:
  virtual ~ReadFile() = default;
  /// Bytes read: `n`, or fewer only at the end of the file.
  virtual Result<size_t> read_at(int64_t offset, char* to, size_t n) = 0;
  /// Size when it was opened. Negative: only its end tells, read it front to back.
  virtual int64_t size() const = 0;
  /// What is read from now on is mostly [from, to), front to back: it may be fetched ahead.
  virtual void expect(int64_t /*from*/, int64_t /*to*/) {}
  /// `length` bytes at `offset` that stay valid while the payload lives. Errors: the file is
  /// shorter.
  virtual Result<Payload> view(int64_t offset, int64_t length) = 0;
};

/// A file that is being written. Thread: one at a time.
/// Closing it without commit() throws away what create() opened and keeps what append() opened.
class WriteFile {
 public:
  virtual ~WriteFile() = default;
  virtual Result<bool> append(std::string_view bytes) = 0;
  /// Everything appended so far is on the disk itself.
  virtual Result<bool> sync() = 0;
  /// Closes the file and makes it visible under its name, all at once. The last call.
  virtual Result<bool> commit() = 0;
  /// Bytes in the file so far.
  virtual int64_t size() const = 0;
};

struct FileStat {
  bool directory = false;
  int64_t size = 0;      // negative: as ReadFile::size()
  int64_t modified = 0;  // Unit: milliseconds since the Unix epoch
  bool operator==(const FileStat&) const = default;
};
struct FileEntry {
  std::string name;  // without its directory
  FileStat stat;
  bool operator==(const FileEntry&) const = default;
};

/// What kind of place a path names.
enum class Place : uint8_t {
  Disk,   // directories, renames: all paths without a scheme
  Store,  // s3a:, s3: keys, no renames, a file is there only once it is whole
  Web,    // http:, https: a file a URL, only to be read
};
Place place_of(std::string_view path);

/// Thread: any. Errors name the path and what the system said.
class Files {
 public:
  virtual ~Files() = default;
  virtual Result<std::unique_ptr<ReadFile>> open(const std::string& path) = 0;
  /// A new file, seen under `path` only after commit(); until then a hidden temporary beside it, or
  /// in an object store nothing.
  virtual Result<std::unique_ptr<WriteFile>> create(const std::string& path) = 0;
  /// Adds to the end of `path`, which is made when it is missing; seen at once.
  virtual Result<std::unique_ptr<WriteFile>> append(const std::string& path) = 0;
  /// False: there was no such file.
  virtual Result<bool> remove(const std::string& path) = 0;
  /// A directory and all that it holds, also while others remove it. False: there was no such
  /// directory.
  virtual Result<bool> remove_tree(const std::string& path) = 0;
  /// Replaces `to`.
  virtual Result<bool> rename(const std::string& from, const std::string& to) = 0;
  /// Sorted by name; hidden files too, links to nothing not.
  virtual Result<std::vector<FileEntry>> list(const std::string& directory) = 0;
  /// With its parents. False: it was there already.
  virtual Result<bool> make_directories(const std::string& path) = 0;
  /// Bytes that may still be written below `path`.
  virtual Result<int64_t> free_space(const std::string& path) = 0;
  /// nullopt: nothing has that name.
  virtual Result<std::optional<FileStat>> stat(const std::string& path) = 0;
  /// Throws away what was created in `directory` (of an object store: below it) and not committed,
  /// also by processes that are gone. Returns how much that was. Nobody may commit there any more.
  virtual Result<int64_t> discard_uncommitted(const std::string& /*directory*/) {
    return int64_t{0};
  }
};

/// The file system of this machine.
std::unique_ptr<Files> make_real_files();

/// The names in a directory of this machine, any order; empty when there is no such directory.
std::vector<std::string> names_in(const std::string& directory);

}  // namespace tinderbox::net
