// What an ELF file says of itself: may it run here, is it a tinderbox application, of which build?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::net {

struct ElfInfo {
  std::string machine;     // as `uname -m` names it
  std::string build_id;    // GNU build id in lower-case hex; empty: none
  bool tinderbox = false;  // it carries the library's note, so it has every role
  bool operator==(const ElfInfo&) const = default;
};

/// Reads the headers and notes only. Errors, each one line with the path: not found, a directory,
/// unreadable, not an ELF file, truncated. Thread: any.
Result<ElfInfo> read_elf(const std::string& path);

/// read_elf, and refuses what cannot be run as an application here: another machine, no build id,
/// not linked with the library, or a build other than `build_id` (empty: any).
Result<ElfInfo> read_application(const std::string& path, const std::string& build_id = {});

/// Of the running program; empty when it was linked without one.
const std::string& own_build_id();
/// xxh3 in hex over the program's own code and read-only segments; `strip` does not change it.
/// Computed once, at the first call, from its file, so that no page of it becomes resident.
/// Thread: any.
const std::string& own_code_hash();
/// The program's file; empty when neither /proc nor the kernel's hint tells it.
std::string own_path();

}  // namespace tinderbox::net
