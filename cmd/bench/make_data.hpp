// Text for the word count benchmark.
#pragma once

#include <cstdint>
#include <string>

#include "net/types.hpp"

namespace tinderbox::cmd {

/// Writes at least `megabytes` (10^6 bytes) of text: ten words a line, drawn from 200,000 different
/// words of 2 to 10 letters by Zipf's law with exponent 1.05. The same seed makes the same bytes
/// everywhere. Returns the xxh3 hash of the text. Errors: the file can't be written.
Result<uint64_t> make_text(const std::string& path, int64_t megabytes, uint64_t seed);

}  // namespace tinderbox::cmd
