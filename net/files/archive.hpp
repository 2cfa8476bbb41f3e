// Unpacking of tar archives.
#pragma once

#include <string>

#include "net/types.hpp"

namespace tinderbox::net {

/// Unpacks a .tar, plain or through gzip (told by its first bytes), into the existing `directory`:
/// files, directories, links that stay inside; modes are kept, owners and times are not. Returns
/// how many files there were. Thread: any; blocks. Errors, one line with the archive's name: not a
/// tar, cut short, damaged, an entry that leaves the directory, a device.
Result<int64_t> unpack_tar(const std::string& archive, const std::string& directory);

}  // namespace tinderbox::net
