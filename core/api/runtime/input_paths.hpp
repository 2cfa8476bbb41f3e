// From what a user names (paths, globs, directories, comma lists) to byte ranges of files.
#pragma once

#include <string>
#include <vector>

#include "net/files/files.hpp"
#include "net/types.hpp"

namespace tinderbox::core {

struct InputFile {
  std::string path;
  int64_t size = 0;
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

/// A local path without `file:`, absolute. Errors: another scheme.
Result<std::string> local_path(const std::string& path);
/// Files in order of path. Hidden ones (`.x`, `_x`) in directories and globs don't count.
/// Errors: `Input path does not exist: file:/…`, and the like, one line; files compressed in
/// a way that is not read here (unless they are taken `as_they_are`), pipes and devices are none
/// that can be read.
Result<std::vector<InputFile>> list_inputs(net::Files& files, const std::string& paths,
                                           bool as_they_are = false);
/// Splits of about total/min_partitions bytes, at most 128 MiB; the last one of a file may be 10 %
/// longer. An empty file is one empty split, a compressed one a split of any length. Source: Hadoop
/// FileInputFormat.getSplits.
std::vector<InputSplit> split_inputs(const std::vector<InputFile>& files, int32_t min_partitions);

}  // namespace tinderbox::core
