#include "core/shuffle/tables/hash.hpp"

#include <xxhash.h>

namespace tinderbox::core {

uint64_t hash_wide(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

uint32_t hash_long(std::string_view key) { return static_cast<uint32_t>(hash_wide(key) >> 32); }

}  // namespace tinderbox::core
