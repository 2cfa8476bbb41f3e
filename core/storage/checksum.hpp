// The checksum of blocks on disk.
#pragma once

#include <cstdint>
#include <string_view>

#include "net/types.hpp"

namespace tinderbox::core {

/// XXH3 of `part` of `bytes`. Of a file that is mapped no more than a few megabytes are in this
/// process's memory meanwhile, and afterwards.
uint64_t checksum(const Payload& bytes, std::string_view part);
inline uint64_t checksum(const Payload& bytes) { return checksum(bytes, bytes.view()); }

}  // namespace tinderbox::core
