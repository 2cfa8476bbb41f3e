// From what a user names (paths, globs, directories, comma lists) to byte ranges of files.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "net/files/files.hpp"
#include "net/types.hpp"

namespace tinderbox::core {

class Runtime;

struct InputFile {
  std::string path;  // absolute, or a URL of an object store or a web server
  int64_t size = 0;  // negative: only its end tells
  bool operator==(const InputFile&) const = default;
};
/// Lines that start in [offset, offset + length) of the file.
struct InputSplit {
  std::string path;
  int64_t offset = 0;
  int64_t length = 0;
  bool operator==(const InputSplit&) const = default;
};

/// Bytes of one split at most, or nearly.
inline constexpr int64_t kMaxSplit = int64_t{128} << 20;
/// The length of a split that ends where its file does.
inline constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

/// A local path without `file:`, absolute; a URL of an object store, its key without `//`, `/../`
/// and the like; a URL of a web server as it is. Errors: another scheme.
Result<std::string> file_path(const std::string& named);
/// A path of file_path() as a URL.
std::string url_of(const std::string& path);
/// The same for errors: without passwords and queries.
std::string shown_path(const std::string& path);
/// What list_inputs() is told besides.
struct Listing {
  bool as_they_are = false;  // compressed files in any way, as nothing will uncompress them
  bool recursive = false;    // directories in a directory, and in those
};
/// Files in order of path. Hidden ones (`.x`, `_x`) in directories and globs don't count.
/// Errors: `Input path does not exist: file:/…`, and the like, one line; files compressed in
/// a way that is not read here, pipes and devices are none
/// that can be read; a pattern for a web server. Source: Hadoop FileInputFormat.listStatus, where
/// HttpFileSystem can't list either.
Result<std::vector<InputFile>> list_inputs(net::Files& files, const std::string& paths,
                                           Listing listing = {});
/// The same by the application's settings. Errors: throws std::runtime_error.
std::vector<InputFile> inputs_of(Runtime& runtime, const std::string& paths,
                                 bool as_they_are = false);
/// Splits of about total/min_partitions bytes, at most 128 MiB; the last one of a file may be 10 %
/// longer. A compressed file, and one of unknown size, is a split of any length, an empty one an
/// empty split. Source: Hadoop FileInputFormat.getSplits.
std::vector<InputSplit> split_inputs(const std::vector<InputFile>& files, int32_t min_partitions);
/// The same of inputs_of(), without empty files unless the settings want them. Source: Spark
/// HadoopRDD.getPartitions. Errors: throws std::runtime_error.
std::vector<InputSplit> splits_of(Runtime& runtime, const std::string& paths,
                                  int32_t min_partitions, bool as_they_are = false);

}  // namespace tinderbox::core
