// Configuration files: reading them, and choosing the grammar.
#pragma once
#include <string>
#include <string_view>

#include "conf/conf.hpp"

namespace tinderbox::conf {

/// By the name: TOML when it ends in `.toml`, else properties.
/// Errors: conf::Error that names the file.
Pairs parse_file(std::string_view path, std::string_view text);

/// What a path holds.
struct FileText {
  enum class Kind { kMissing, kRegular, kDirectory, kOther, kUnreadable };
  Kind kind = Kind::kMissing;
  std::string text;   // of a regular file
  std::string error;  // of an unreadable one
};
/// Reads a whole file. `/proc/self/fd/N` and `/dev/fd/N` are read through the open descriptor N
/// from its start, which works without /proc and for memory files; it becomes close-on-exec.
FileText read_file(const std::string& path);

}  // namespace tinderbox::conf
